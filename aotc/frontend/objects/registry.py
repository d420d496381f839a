"""From what is given for a model to a model: which source takes an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from onnx import ModelProto

from aotc.errors import Problem, UsageError
from aotc.frontend.objects.sources import (
    NO_EXAMPLES,
    Examples,
    ObjectSource,
    converting,
    installed,
    is_model,
    of_class,
    packages_of,
)
from aotc.model.model_file import Source

_OURS: Mapping[str, str] = {
    "torch": "torch_programs",
    "onnx_ir": "torch_programs",
    "sklearn": "estimators",
    "lightgbm": "boosted_trees",
    "xgboost": "boosted_trees",
    "catboost": "boosted_trees",
    "keras": "keras_models",
    "jax": "jax_functions",
    "jaxlib": "jax_functions",
    "flax": "jax_functions",
    "equinox": "jax_functions",
}
"""Package of objects -> the module here whose SOURCES take them; what other packages install for it is asked first."""

_HINTS: Mapping[tuple[str, str], str] = {
    ("io", "IOBase"): "give what its read() returns",
    ("_io", "_IOBase"): "give what its read() returns",
    ("builtins", "function"): "give a function of JAX with example_inputs that are arrays of JAX",
}
"""Advice for what no source takes, by the package and the name of its class or of a base class."""

_BY_HAND = "give a path, the bytes of a model, an onnx.ModelProto, or an object that `aotc.sources` knows"


class SourceError(UsageError, TypeError):
    """The source that is given is no model, and none can be made of it."""


def model_of(given: object, examples: Examples = NO_EXAMPLES) -> Source:
    """`given` where it is a path, bytes or a ModelProto; else the model that a source makes of the object.

    Raises UsageError where there are examples of what is a model already, and as `made_of`.
    """
    if not is_model(given):
        return made_of(given, examples)
    if examples.are_given:
        what = "example_inputs or dynamic_shapes of what is a model already"
        raise UsageError("option-conflict", what, "they are for objects that a model is made of", "leave them out")
    return bytes(given) if isinstance(given, bytearray | memoryview) else given


def made_of(given: object, examples: Examples) -> ModelProto:
    """The model that a source makes of an object.

    Raises SourceError, a TypeError, for what no source takes; UsageError where a package is missing; CompileError where
    the converter refuses the object.
    """
    if isinstance(proto := getattr(given, "model_proto", None), ModelProto):  # of torch's ONNXProgram
        return proto
    for package in packages_of(given, examples):
        for source in (*installed(package), *_ours(package)):
            if source.takes(given):
                with converting(of_class(given), type(source).__module__.partition(".")[0]):
                    return source.model_of(given, examples)
    named = ((base.__module__.partition(".")[0], base.__name__) for base in type(given).__mro__)
    fix = next((_HINTS[each] for each in named if each in _HINTS), _BY_HAND)
    raise SourceError(Problem("no-model-given", f"{of_class(given)} is no model", fix=fix))


def _ours(package: str) -> Iterator[ObjectSource]:
    if package in _OURS:
        yield from import_module(f"aotc.frontend.objects.{_OURS[package]}").SOURCES
