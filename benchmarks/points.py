"""Points of a sweep: models with inputs, and what makes models of one node."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Point:
    """A model, what is special about it, and inputs."""

    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Array]


def drawn(name: str, shape: Sequence[int], kind: str = "float32") -> Array:
    """Values of an input, always the same for a name: normally distributed, or all integers of 8 bits, or few."""
    random, dtype = np.random.default_rng(zlib.crc32(name.encode())), np.dtype(kind)
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    info = np.iinfo(dtype)
    return random.integers(max(info.min, -1000), min(info.max, 1000), shape, dtype, endpoint=True)


def single(
    name: str,
    kind: str,
    inputs: Sequence[Array | None],
    constants: Mapping[int, Array] | None = None,
    *,
    outputs: int = 1,
    opset: int = 20,
    domain: str = "",
    **attributes: Any,
) -> Point:
    """A model of one node: its inputs in order, None for one that is absent or among `constants`, by place."""
    known = constants or {}
    count = max([len(inputs), *(place + 1 for place in known)])
    given = {f"x{place}": each for place, each in enumerate(inputs) if each is not None}
    weights = {f"x{place}": each for place, each in known.items()}
    names = [each if (each := f"x{place}") in given or each in weights else "" for place in range(count)]
    results = [f"y{number}" for number in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(kind, names, results, domain=domain, **attributes)],
        kind,
        [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for key, value in given.items()
        ],
        [helper.make_empty_tensor_value_info(result) for result in results],
        [numpy_helper.from_array(value, key) for key, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return Point(name, inferred(helper.make_model(graph, opset_imports=opsets, ir_version=9)), given)


def inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with types of its outputs; of what the standard's inference does not know, floats."""
    model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if not output.type.HasField("tensor_type"):
            output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, None))
    return model
