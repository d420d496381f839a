"""Linear algebra: products of matrices, determinants, inverses."""
