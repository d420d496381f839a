"""Passes, a folder for each concern, and the kernels that they write."""
