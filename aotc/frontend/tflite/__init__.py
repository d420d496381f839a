"""TensorFlow Lite in: reading a file, every offset of it checked, and giving each operator its meaning.

`load_model` and `import_model` are the way in; `importers/` holds one function for each operator.
"""

from aotc.frontend.tflite.file import Model, content_of, load_model
from aotc.frontend.tflite.importer import import_model, names_of, summarize
from aotc.frontend.tflite.interface import leave_quantization

__all__ = ["Model", "content_of", "import_model", "leave_quantization", "load_model", "names_of", "summarize"]
