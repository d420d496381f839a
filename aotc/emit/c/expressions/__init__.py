"""Scalar expressions in C: arithmetic, ranges of integers, reads of memory, names in scope."""
