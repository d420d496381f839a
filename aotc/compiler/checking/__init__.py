"""References for results and sizes: budgets, recorded tensors, onnxruntime as the reference."""
