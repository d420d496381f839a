"""Facts of quantised tensors for `raise-quantization` and the passes after it."""
