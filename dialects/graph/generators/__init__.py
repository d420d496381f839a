"""Tensors that are computed from nothing but attributes: random numbers."""
