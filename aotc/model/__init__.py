"""The description of a compiled model in plain values: names, weights, conventions, metadata; no IR."""
