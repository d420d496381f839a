"""Models of Keras 3, through `model.export(path, format="onnx")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnx import ModelProto

from aotc.errors import UsageError
from aotc.frontend.objects.sources import ByClass, Examples, converting, needed, of_class, open_axes


def _model_of(given: Any, examples: Examples) -> ModelProto:
    what = of_class(given)
    keras = needed("keras", what)
    signature = _signature(keras, examples) if examples.inputs is not None else _own_signature(keras, given)
    with TemporaryDirectory() as folder, converting(what, "keras.Model.export"):
        path = Path(folder, "model.onnx")
        given.export(str(path), format="onnx", verbose=False, input_signature=signature)
        return ModelProto.FromString(path.read_bytes())


def _own_signature(keras: Any, given: Any) -> Any:
    """The structure of the inputs that the model was built with. Raises UsageError where it was not."""
    inputs = getattr(given, "inputs", None)
    if not inputs:
        fix = "give example_inputs=(array, ...), as the model is called"
        what = f"{of_class(given)} without example_inputs"
        raise UsageError("missing-example", what, "the shapes of its inputs are not known", fix)
    return [keras.InputSpec(dtype=each.dtype, shape=each.shape) for each in inputs]


def _signature(keras: Any, examples: Examples) -> Any:
    """The structure of the inputs. Where nothing is said of open axes, the first one is, the batch, as in Keras."""
    if examples.named:
        shapes = examples.shapes or dict.fromkeys(examples.named, _BATCH)
        return [{name: _spec(keras, each, open_axes(shapes.get(name))) for name, each in examples.named.items()}]
    axes = [_BATCH for _ in examples.positional] if examples.shapes is None else examples.axes
    return [_spec(keras, each, names) for each, names in zip(examples.positional, axes, strict=True)]


_BATCH = {0: "batch"}


def _spec(keras: Any, example: Any, axes: Mapping[int, str]) -> Any:
    tensor = keras.ops.convert_to_tensor(example)
    shape = tuple(None if axis in axes else int(extent) for axis, extent in enumerate(tensor.shape))
    return keras.InputSpec(dtype=keras.backend.standardize_dtype(tensor.dtype), shape=shape)


SOURCES = (ByClass("keras", ("Model", "Layer"), _model_of),)
