"""Buffers instead of tensors, and where they lie."""
