"""ONNX in: reading and checking a model, giving each node its meaning, and what can be said about a model before that.

`load_model` and `import_model` are the way in; `importers/` holds one function for each operator.
"""

from aotc.frontend.onnx.dims import OpenShapesError, freeze, release
from aotc.frontend.onnx.importer import import_model
from aotc.frontend.onnx.load import Model, external_files, load_model
from aotc.frontend.onnx.support import Support, summarize, support, supported_operators, text_of
from aotc.frontend.onnx.symbolic.graphs import open_interface

__all__ = [
    "Model",
    "OpenShapesError",
    "Support",
    "external_files",
    "freeze",
    "import_model",
    "load_model",
    "open_interface",
    "release",
    "summarize",
    "support",
    "supported_operators",
    "text_of",
]
