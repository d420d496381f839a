"""What `raise-quantization` and the passes after it know of quantised tensors."""
