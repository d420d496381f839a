"""Requirements of quantised models on a reference.

onnxruntime computes a convolution between DequantizeLinear and QuantizeLinear on integers where tensors are unsigned;
of signed ones that two operators read, it leaves some in floating point, where results next to the middle of two steps
are rounded otherwise. The same model in unsigned integers has all of them on integers.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from google.protobuf.message import EncodeError

from aotc.frontend.onnx.bodies import used_names

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

_MOVING = frozenset(("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"))


def read_without_weights(model: ModelProto | os.PathLike[str] | str | bytes) -> ModelProto:
    """A model without what is beside its file."""
    import onnx

    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    return onnx.load_model(os.fspath(model), load_external_data=False)


def as_unsigned(model: os.PathLike[str] | str | bytes) -> bytes | None:
    """The model with unsigned tensors; None where it has no signed ones between operators, or is too large for one
    message."""
    import onnx

    found = read_without_weights(model)
    if not make_unsigned(found):
        return None
    if not isinstance(model, bytes):
        onnx.load_external_data_for_model(found, str(Path(model).parent))
    with suppress(EncodeError, ValueError):  # 2 GiB or more
        return found.SerializeToString()
    return None


def make_unsigned(model: ModelProto) -> bool:
    """Have int8 tensors between QuantizeLinear and DequantizeLinear be uint8, whose values are the same; whether there
    were any. A tensor that something else reads stays."""
    from onnx import TensorProto, numpy_helper

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    readers: dict[str, list[NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        for name in used_names(node):
            readers[name].append(node)
    kept = {value.name for value in model.graph.output}

    def is_signed(node: NodeProto) -> bool:
        zero = constants.get(node.input[2]) if len(node.input) > 2 else None
        return zero is not None and zero.data_type == TensorProto.INT8 and not zero.external_data

    taken = {*constants, *readers, *(name for node in model.graph.node for name in node.output)}
    points: dict[str, str] = {}

    def unsigned(point: str) -> str:
        if point not in points:
            name = f"{point}_of_uint8"
            while name in taken:
                name += "_"
            points[point] = name
            taken.add(name)
            value = numpy_helper.to_array(constants[point]).astype(np.int16) + 128
            model.graph.initializer.append(numpy_helper.from_array(value.astype(np.uint8), name))
        return points[point]

    changed = False
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear" or node.output[0] in kept or not is_signed(node):
            continue
        read = readers[node.output[0]]
        if not all(each.op_type == "DequantizeLinear" and is_signed(each) for each in read):
            continue
        for each in (node, *read):
            each.input[2] = unsigned(each.input[2])
        changed = True
    if changed:
        del model.graph.value_info[:]
    return changed


def steps(model: ModelProto) -> dict[str, float]:
    """For each value that is dequantised, perhaps moved since, what one step of its integers is."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    found: dict[str, float] = {}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and (scale := constants.get(node.input[1])) is not None:
            found[node.output[0]] = _most(scale)
        elif node.op_type in _MOVING and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    return found


def _most(scale: TensorProto) -> float:
    from onnx import numpy_helper

    return 0.0 if scale.external_data else float(numpy_helper.to_array(scale).astype(np.float64).max(initial=0.0))
