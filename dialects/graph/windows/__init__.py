"""Sliding windows and resampling: axes, bounds, the phases of transposed convolution."""
