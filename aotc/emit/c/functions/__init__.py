"""Functions in C: statements and control flow."""
