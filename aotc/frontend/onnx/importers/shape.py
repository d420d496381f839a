"""Constants, shapes and the operators that only give a tensor another shape."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.elements import Element, elements, extents
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.frontend.onnx.tensors import dtype_of


@onnx_op("Constant")
def constant(node: Node) -> SSAValue:
    if (value := node.attr("value")) is not None:
        return node.given(value)
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if (value := node.attr(name)) is not None:
            return node.given(np.asarray(value, dtype))
    what = f"no value the compiler knows (attributes: {list(node.attributes)})"
    node.fail("unsupported-type", what, "strings and sparse tensors have no element type")


@onnx_op("ConstantOfShape")
def constant_of_shape(node: Node) -> SSAValue:
    shape, bound = extents(node, 0, "the shape")
    value = node.attr("value")
    one = node.constant(np.zeros((), np.float32) if value is None else value.reshape(()))
    result = one if not shape else node.emit("broadcast", one, shape=shape)
    return result if bound is None else node.bounded(result, bound)


@onnx_op("Shape")
def shape(node: Node) -> SSAValue:
    return node.constant(node.shape(0)[node.attr("start", 0) : node.attr("end")], np.int64)


@onnx_op("Size")
def size(node: Node) -> SSAValue:
    return node.constant(np.array(math.prod(node.shape(0)), np.int64))


@onnx_op("Range")
def range_(node: Node) -> SSAValue:
    dtype = numpy_dtype(node.element_type(0))
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype  # which is exact for integers as short
    first, step = node.known(0), node.known(2)
    if dtype == np.int64 and first is not None and step is not None and not first.any() and (step == 1).all():
        # to a number of parts
        match elements(node, node.input(1)):
            case [Element(SSAValue() as count, _, 0)] if (most := node.most(count)) is not None:
                return node.bounded(node.constant(node.numbers(most)), node.as_many(0, count))
            case _:
                pass
    names = ("the start", "the limit", "the delta")
    start, limit, delta = (node.constant_input(i, what).reshape(()).astype(wide) for i, what in enumerate(names))
    if delta == 0:
        node.fail("invalid-value", "delta is 0")
    if dtype.kind in "iu":  # of any size: the distance may be beyond the type that all elements fit in
        first, last, by = (int(each) for each in (start, limit, delta))
        count = max(-((first - last) // by), 0)
    else:
        count = max(math.ceil((limit - start).item() / delta.item()), 0)
    return node.constant((start + delta * node.numbers(count).astype(wide)).astype(dtype))


@onnx_op("EyeLike")
def eye_like(node: Node) -> SSAValue:
    if len(node.shape(0)) != 2:
        node.fail("invalid-shape", f"the operand must be a matrix, found {list(node.shape(0))}")
    dtype = node.attr("dtype")
    kind = numpy_dtype(node.element_type(0)) if dtype is None else dtype_of(dtype)
    one, diagonal = node.constant(np.ones((), kind)), node.constant(np.array(node.attr("k", 0), np.int64))
    return node.emit("trilu", one, diagonal, upper=True, alone=True, shape=node.shape(0))


@onnx_op("Reshape")
def reshape_(node: Node) -> Tensor:
    source = node.shape(0)
    given = node.attr("shape") if node.opset < 5 else node.constant_input(1, "the shape")
    target = [int(extent) for extent in given]
    if not node.attr("allowzero", 0):
        if any(extent == 0 and axis >= len(source) for axis, extent in enumerate(target)):
            node.fail("invalid-value", f"shape {target} copies an axis that {list(source)} does not have")
        target = [source[axis] if extent == 0 else extent for axis, extent in enumerate(target)]
    if target.count(-1) > 1:
        node.fail("invalid-value", f"shape {target} leaves more than one axis open")
    if -1 in target:
        others = math.prod(extent for extent in target if extent != -1)
        if others == 0 or math.prod(source) % others:
            what = f"{math.prod(source)} elements of shape {list(source)} do not divide into {target}"
            node.fail("invalid-value", what)
        target[target.index(-1)] = math.prod(source) // others
    return node.tensor(0).reshape(target)


@onnx_op("Flatten")
def flatten(node: Node) -> Tensor:
    shape, axis = node.shape(0), node.attr("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        node.fail("invalid-attribute", f"axis {axis} is out of range for rank {len(shape)}")
    axis += len(shape) if axis < 0 else 0
    return node.tensor(0).reshape([math.prod(shape[:axis]), math.prod(shape[axis:])])


def _axes(node: Node) -> list[int] | None:
    if node.opset < 13:
        return node.attr("axes")
    return None if node.optional(1) is None else [int(a) for a in node.constant_input(1, "the axes").reshape(-1)]


@onnx_op("Squeeze")
def squeeze(node: Node) -> Tensor:
    shape, given = node.shape(0), _axes(node)
    if given is None:
        axes = {axis for axis, extent in enumerate(shape) if extent == 1}
    else:
        axes = {normalize_axis(axis, len(shape)) for axis in given}
    if any(shape[axis] != 1 for axis in axes):
        node.fail("invalid-value", f"axes {sorted(axes)} of {list(shape)} are not all of extent 1")
    return node.tensor(0).reshape([extent for axis, extent in enumerate(shape) if axis not in axes])


@onnx_op("Unsqueeze")
def unsqueeze(node: Node) -> Tensor:
    shape, given = node.shape(0), _axes(node)
    if given is None:
        node.fail("missing-input", "the axes are missing", "the operator requires them")
    rank = len(shape) + len(given)
    axes = {normalize_axis(axis, rank) for axis in given}
    if len(axes) != len(given):
        node.fail("invalid-value", f"axes {given} repeat")
    rest = iter(shape)
    return node.tensor(0).reshape([1 if axis in axes else next(rest) for axis in range(rank)])
