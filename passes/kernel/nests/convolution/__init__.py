"""Loop nests of what windows slide for: convolution, pooling."""
