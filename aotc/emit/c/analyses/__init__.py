"""Analyses of a function for C: its buffers, the ranges of its integers, its vectors."""
