"""Inputs that become constants of the model: what `--constant` says of shapes, axes and whatever else may be known; and
the other way round."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from onnx import TensorProto, ValueInfoProto

from aotc.dialects.dtypes import number_kind
from aotc.errors import CompileError, Problem, UsageError
from aotc.frontend.onnx.dims import OpenShapesError, contradicts, declared_shape, shape_text
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.tensors import TensorError, dtype_of, raw_size, read_tensor
from aotc.model.known_tensors import KnownTensor
from aotc.model.weight_store import Array


def freeze(model: Model, constants: Mapping[str, KnownTensor | Literal["any"]]) -> Model:
    """The model with the inputs `constants`, by name, as initializers of these values.

    Raises UsageError where there is no such input, or it has another type or shape; OpenShapesError where one is meant
    to be a constant whose value is not known yet.
    """
    if not constants:
        return model
    graph = model.proto.graph
    known = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in known}
    problems: list[Problem] = []
    waiting: list[str] = []
    tensors: list[TensorProto] = []
    payloads = dict(model.payloads)
    for name, constant in constants.items():
        if name not in inputs:
            what = f"--constant {name}: there is no such input"
            problems.append(Problem("unknown-input", what, fix=f"there are {', '.join(inputs)}"))
            continue
        if not isinstance(constant, KnownTensor):
            waiting.append(name)
            continue
        try:
            array = _typed(constant, inputs[name])
        except TensorError as error:
            problems.append(Problem("mismatched-constant", f"--constant {name}: {error}"))
            continue
        code = inputs[name].type.tensor_type.elem_type
        tensors.append(TensorProto(name=name, data_type=code, dims=array.shape))
        payloads[name] = array.tobytes()
    if problems:
        raise UsageError(problems)
    if waiting:
        options = " ".join(f"--constant {name}=VALUE" for name in waiting)
        problem = Problem("open-values", f"the values of {', '.join(waiting)} are open", fix=f"fix them with {options}")
        raise OpenShapesError(problem, waiting)
    proto = type(model.proto)()
    proto.CopyFrom(model.proto)
    proto.graph.initializer.extend(tensors)
    return replace(model, proto=proto, payloads=payloads)


def release(model: Model, names: Collection[str]) -> tuple[Model, dict[str, Array]]:
    """The model where those of `names` that are inputs and initializers at once are inputs only, and their values.

    Raises CompileError where such a value cannot be read.
    """
    inputs = {value.name for value in model.proto.graph.input}
    found: dict[str, Array] = {}
    for tensor in model.proto.graph.initializer:
        if tensor.name in inputs and tensor.name in names:
            try:
                found[tensor.name] = read_tensor(tensor, model.folder, model.payloads.get(tensor.name))
            except TensorError as error:
                raise CompileError("invalid-data", f"the initializer {tensor.name!r}: {error}") from error
    if not found:
        return model, found
    proto = type(model.proto)()
    proto.CopyFrom(model.proto)
    remaining = [tensor for tensor in proto.graph.initializer if tensor.name not in found]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(remaining)
    return replace(model, proto=proto), found


def _typed(constant: KnownTensor, value: ValueInfoProto) -> Array:
    """The array for the input `value`; raises TensorError where it cannot be that."""
    dtype = dtype_of(value.type.tensor_type.elem_type)
    if raw_size(dtype, 2) != 2 * dtype.itemsize:
        raise TensorError(f"inputs of type {dtype.name} cannot be given")
    try:
        given = np.array(constant.values).reshape(constant.shape)
        with np.errstate(all="ignore"):
            array = given.astype(dtype) if given.size else np.empty(constant.shape, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise TensorError(f"it is not of {dtype.name}: {error}") from None
    if number_kind(dtype) != "f" and given.size and not np.array_equal(array.astype(given.dtype), given):
        raise TensorError(f"its values are not {dtype.name}")
    declared = declared_shape(value)
    if contradicts(declared, array.shape):
        raise TensorError(f"its shape is {list(array.shape)}, that of the input {shape_text(declared)}")
    return array


__all__ = ["freeze", "release"]
