"""Kernels as loops: from tensor operations to scalars, tiles and shares of threads."""
