"""Functions of JAX, modules of Flax and Equinox, through jax2onnx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import ModelProto

from aotc.errors import UsageError
from aotc.frontend.objects.sources import Examples, converting, needed, of_class


class _Functions:
    """Whatever can be called and is of JAX: functions that are jitted, modules, and functions of Python whose example
    inputs are arrays of JAX."""

    def takes(self, given: object) -> bool:
        """Whether it can be called."""
        return callable(given)

    def model_of(self, given: Any, examples: Examples) -> ModelProto:
        """The model that jax2onnx makes of a call with inputs like the examples."""
        what = of_class(given)
        if examples.inputs is None:
            fix = "give example_inputs=(array, ...), as the function is called"
            raise UsageError("missing-example", f"{what} without example_inputs", "JAX traces a call of it", fix)
        if examples.named:
            why = "jax2onnx takes inputs in order"
            raise UsageError("wrong-argument", f"example_inputs of {what} is a mapping", why, "give a tuple")
        jax2onnx = needed("jax2onnx", what)
        with converting(what, "jax2onnx"):
            inputs = [_like(each, axes) for each, axes in zip(examples.positional, examples.axes, strict=True)]
            return jax2onnx.to_onnx(given, inputs, return_mode="proto")


def _like(example: Any, axes: Mapping[int, str]) -> Any:
    """An input as jax2onnx is told of it: its shape and element type."""
    jax: Any = needed("jax", "a function of JAX")
    shape = tuple(axes.get(axis, extent) for axis, extent in enumerate(example.shape))
    return shape if axes and str(example.dtype) == "float32" else jax.ShapeDtypeStruct(shape, example.dtype)


SOURCES = (_Functions(),)
