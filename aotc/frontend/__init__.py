"""Models in, one package for each format, and one for objects of other packages that become ONNX models."""
