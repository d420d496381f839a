"""Budgets as goals: forms of kernels, and layers row by row, for which a model fits."""
