"""Objects in: modules of torch, estimators, boosted trees, Keras models, functions of JAX, by their own ONNX exports.

`model_of` of `registry.py` is the way in. Each source (`sources.py`) is imported when there is an object for it, and
imports the packages that it needs then.
"""
