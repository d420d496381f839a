"""Operators of signals, random numbers, and selections of data-dependent extents."""
