"""Linear algebra of whole matrices, beside products."""
