"""Importers of the domain com.microsoft: what onnxruntime's quantiser and optimiser, and exporters for it, write."""
