"""Operators of signals, random numbers, and sets of what the data say."""
