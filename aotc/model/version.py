"""The version of the compiler, which what it makes says."""

VERSION = "0.1.0"
