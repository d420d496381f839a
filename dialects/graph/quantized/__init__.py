"""Operators on quantised tensors: sums of products of narrow integers, requantisation, tables of functions."""
