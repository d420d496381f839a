"""What results and sizes are held against: budgets, recorded tensors, onnxruntime as the reference."""
