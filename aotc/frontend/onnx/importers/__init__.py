"""One importer for each ONNX operator, a module for each family."""
