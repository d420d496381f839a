"""Sliding windows and resampling: axes, bounds, the residues of transposed convolution."""
