"""Objects in: modules of torch, estimators, boosted trees, Keras models, functions of JAX, through the ONNX exports of
their own projects.

`model_of` is the way in. Each source (`aotc.model.sources`) is imported when there is an object for it, and imports the
packages that it needs then.
"""

from aotc.frontend.objects.registry import SourceError, made_of, model_of

__all__ = ["SourceError", "made_of", "model_of"]
