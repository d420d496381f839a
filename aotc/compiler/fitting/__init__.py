"""Budgets as goals: forms of kernels for which a model fits."""
