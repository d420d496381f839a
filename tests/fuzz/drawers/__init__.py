"""Drawers of operators, one module for each family: `DRAWERS`, operator -> drawer."""
