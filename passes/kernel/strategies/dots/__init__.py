"""Strategies for sums of products of 8-bit integers: dot products of four neighbours."""
