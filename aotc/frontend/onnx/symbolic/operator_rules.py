"""Rules of constants, of what moves elements, of integers computed element by element, for shapes are made of these; of
windows, recurrent layers, and what else has extents of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from onnx import TensorProto

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.symbolic.rules import Fact, NotKnown, Shape, SymbolicNode, array_of, broadcast, known, rule
from aotc.model.extents import Size, divided, exact_quotient, is_natural, product_of
from aotc.model.weight_store import Array

_INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)


def count_of(shape: Shape) -> Size:
    """How many elements a shape has. Raises NotKnown."""
    return product_of(_all(shape))


def _all(shape: Shape) -> list[Size]:
    if any(extent is None for extent in shape):
        raise NotKnown
    return [extent for extent in shape if extent is not None]


# --- constants -------------------------------------------------------------------------------------------------------


@rule("Constant")
def constant(node: SymbolicNode) -> Fact:
    for name in ("value", "value_int", "value_ints"):
        if (value := node.attr(name)) is not None:
            return of_array(np.asarray(value))
    raise NotKnown


def of_array(array: Array) -> Fact:
    """Facts known of a constant."""
    if array.dtype.kind in "iub" and array.dtype.itemsize <= 8:
        return known(array.astype(np.int64).astype(object)) if array.size <= 256 else Fact(array.shape)
    return Fact(array.shape)


@rule("Shape")
def shape(node: SymbolicNode) -> Fact:
    found = node.shape(0)[node.attr("start", 0) : node.attr("end")]
    return known(array_of(_all(found))) if None not in found else Fact((len(found),))


@rule("Size")
def size(node: SymbolicNode) -> Fact:
    return known(array_of(count_of(node.shape(0))))


@rule("ConstantOfShape")
def constant_of_shape(node: SymbolicNode) -> Fact:
    target = tuple(node.elements(0).tolist())
    value = np.asarray(node.attr("value", np.zeros(1, np.float32)))
    if value.dtype.kind in "iub" and all(isinstance(extent, int) for extent in target) and math.prod(target) <= 256:
        return known(np.full(target, int(value.reshape(())), object))
    return Fact(target)


@rule("Range")
def range_(node: SymbolicNode) -> Fact:
    start, limit, step = (node.elements(place).reshape(()).item() for place in range(3))
    if step != 1 or not is_natural(limit - start):
        raise NotKnown
    return Fact((limit - start,))


@rule("Identity", "Cast", "Squeeze", "Unsqueeze")
def as_it_is(node: SymbolicNode) -> Fact:
    """The elements; of whatever is not cast to integers the import may make others."""
    target = node.inferred.shape
    if target is None or (node.op_type == "Cast" and node.attr("to") not in _INTEGERS):
        raise NotKnown
    return _viewed(node, target)


# --- integers --------------------------------------------------------------------------------------------------------


def _divided(a: Size, b: Size) -> Size:
    """As ONNX divides integers, towards zero: the same as downwards where neither is negative."""
    if not is_natural(a) or not is_natural(b) or b == 0:
        raise NotKnown
    return divided(a, b)


def _equal(a: Size, b: Size) -> bool:
    if a == b:
        return True
    difference = a - b
    if isinstance(difference, int):
        return False
    if is_natural(difference - 1) or is_natural(-difference - 1):  # one is greater, whatever the extents are
        return False
    raise NotKnown


_OF_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divided,
    "Equal": lambda a, b: int(_equal(a, b)),
}


@rule("Add", "Sub", "Mul", "Div", "Equal")
def arithmetic(node: SymbolicNode) -> Fact:
    a, b = node.elements(0), node.elements(1)
    return known(np.asarray(np.frompyfunc(_OF_INTEGERS[node.op_type], 2, 1)(a, b), object))


@rule("Neg")
def negative(node: SymbolicNode) -> Fact:
    return known(np.asarray(-node.elements(0), object))


@rule("Where")
def where(node: SymbolicNode) -> Fact:
    numbers = np.array(node.numbers(0), bool).reshape(node.elements(0).shape)
    return known(np.where(numbers, node.elements(1), node.elements(2)))


# --- movement --------------------------------------------------------------------------------------------------------


@rule("Reshape")
def reshape(node: SymbolicNode) -> Fact:
    source = node.shape(0)
    wanted: list[Size | None] = node.attr("shape") if node.opset < 5 else node.elements(1).reshape(-1).tolist()
    if not node.attr("allowzero", 0):
        wanted = [source[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)]
    # What may be less than 0 may be -1, which has a meaning of its own.
    others = [extent for extent in wanted if extent != -1]
    if any(extent is None or not is_natural(extent) for extent in others):
        return Fact(tuple(extent if extent is not None and is_natural(extent) else None for extent in wanted))
    if len(others) < len(wanted):
        rest = None if None in source else exact_quotient(count_of(source), count_of(tuple(others)))
        wanted = [rest if extent == -1 else extent for extent in wanted]
    return _viewed(node, tuple(wanted))


def _viewed(node: SymbolicNode, target: Shape) -> Fact:
    """The elements of input 0, as far as they are known, in another shape."""
    fact = node.inputs[0]
    if fact is None or fact.elements is None or not all(isinstance(extent, int) for extent in target):
        return Fact(target)
    return known(fact.elements.reshape([extent for extent in target if isinstance(extent, int)]))


@rule("Flatten")
def flatten(node: SymbolicNode) -> Fact:
    source, axis = node.shape(0), node.attr("axis", 1)
    axis += len(source) if axis < 0 else 0
    halves = source[:axis], source[axis:]
    return Fact(tuple(None if None in half else count_of(half) for half in halves))


@rule("Concat")
def concat(node: SymbolicNode) -> Fact:
    shapes = [node.shape(place) for place in range(len(node.inputs))]
    axis = normalize_axis(node.attr("axis"), len(shapes[0]))
    joined: list[Size | None] = [_same(each) for each in zip(*shapes, strict=True)]
    along = [shape[axis] for shape in shapes]
    joined[axis] = None if None in along else sum(_all(tuple(along)), start=cast(Size, 0))
    try:
        return known(np.concatenate([node.elements(place) for place in range(len(shapes))], axis))
    except NotKnown:
        return Fact(tuple(joined))


def _same(extents: Sequence[Size | None]) -> Size | None:
    """The extent of all of them, which are equal."""
    numbers = [extent for extent in extents if isinstance(extent, int)]
    return numbers[0] if numbers else next((extent for extent in extents if extent is not None), None)


@rule("Split")
def split(node: SymbolicNode) -> list[Fact]:
    source = node.shape(0)
    axis = normalize_axis(node.attr("axis", 0), len(source))
    parts = node.given("split", 1, 13)
    extent = source[axis]
    if parts is None:
        each = None if extent is None else exact_quotient(extent, node.outputs)
        return [Fact((*source[:axis], each, *source[axis + 1 :]))] * node.outputs
    return [Fact((*source[:axis], part, *source[axis + 1 :])) for part in parts]


@rule("Gather")
def gather(node: SymbolicNode) -> Fact:
    axis = normalize_axis(node.attr("axis", 0), len(node.shape(0)))
    taken = np.array(node.numbers(1), np.int64).reshape(node.elements(1).shape)
    return known(np.asarray(np.take(node.elements(0), taken, axis), object))


@rule("Expand")
def expand(node: SymbolicNode) -> Fact:
    return Fact(broadcast([node.shape(0), tuple(node.elements(1).tolist())]))


@rule("Tile")
def tile(node: SymbolicNode) -> Fact:
    repeats = zip(node.shape(0), node.elements(1).tolist(), strict=True)
    return Fact(tuple(None if extent is None else extent * times for extent, times in repeats))


@rule("Pad")
def pad(node: SymbolicNode) -> Fact:
    source = node.shape(0)
    pads = node.attr("pads") if node.opset < 11 else node.elements(1).tolist()
    axes = [normalize_axis(axis, len(source)) for axis in node.numbers(3)] if node.has(3) else range(len(source))
    padded = list(source)
    for place, axis in enumerate(axes):
        extent = source[axis]
        padded[axis] = None if extent is None else extent + pads[place] + pads[place + len(axes)]
    return Fact(tuple(padded))


@rule("Slice")
def slice_(node: SymbolicNode) -> Fact:
    source = node.shape(0)
    if node.opset < 10:
        starts, ends = node.attr("starts"), node.attr("ends")
        axes, steps = node.attr("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        starts, ends = node.elements(1).tolist(), node.elements(2).tolist()
        axes = node.numbers(3) if node.has(3) else list(range(len(starts)))
        steps = node.numbers(4) if node.has(4) else [1] * len(starts)
    found = list(source)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        place = normalize_axis(axis, len(source))
        found[place] = _cut(source[place], start, end, step)
    fact = node.inputs[0]
    numbers = all(isinstance(each, int) for each in (*starts, *ends))
    if fact is not None and fact.elements is not None and numbers:
        index = [slice(None)] * len(source)
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            index[normalize_axis(axis, len(source))] = slice(start, end, step)
        return known(fact.elements[tuple(index)])
    return Fact(tuple(found))


_FAR = 1 << 31
"""An end from here on stands for the end of the tensor."""


def _cut(extent: Size | None, start: Size, end: Size, step: int) -> Size | None:
    """How many elements a slice takes of `extent`; None where that depends on what is greater."""
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*slice(start, end, step).indices(extent)))
    if extent is None or step < 1:
        return None
    first = _place(extent, start)
    last = extent if isinstance(end, int) and end >= _FAR - 1 else _place(extent, end)
    if first is None or last is None or not is_natural(last - first):
        return None
    return divided(last - first + (step - 1), step)


def _place(extent: Size, index: Size) -> Size | None:
    """Where in 0 to `extent` an index is; None where that depends on what the extents are."""
    if not is_natural(index):
        index = index + extent
    return index if is_natural(index) and is_natural(extent - index) else None


@rule("GroupNormalization", "MeanVarianceNormalization")
def as_input(node: SymbolicNode) -> Fact:
    return Fact(node.shape(0))


@rule("Attention")
def not_inferred(node: SymbolicNode) -> list[Fact]:
    """ONNX takes open extents for 0 where it multiplies them."""
    return [Fact()] * node.outputs


# --- windows ---------------------------------------------------------------------------------------------------------


@rule("Conv", "ConvInteger")
def conv(node: SymbolicNode) -> Fact:
    return _convolved(node, node.shape(1))


@rule("QLinearConv")
def quantized_conv(node: SymbolicNode) -> Fact:
    return _convolved(node, node.shape(3))


def _convolved(node: SymbolicNode, weight: Shape) -> Fact:
    x = node.shape(0)
    kernel = node.attr("kernel_shape", list(weight[2:]))
    return Fact((x[0], weight[0], *_windows(node, x[2:], kernel)))


@rule("AveragePool", "LpPool", "MaxPool")
def pool(node: SymbolicNode) -> list[Fact]:
    x = node.shape(0)
    return [Fact((*x[:2], *_windows(node, x[2:], node.attr("kernel_shape"))))] * node.outputs


def _windows(node: SymbolicNode, extents: Sequence[Size | None], kernel: Sequence[Any]) -> list[Size | None]:
    """How many windows there are along each axis."""
    ones = [1] * len(extents)
    strides, dilations = node.attr("strides", ones), node.attr("dilations", ones)
    pads = node.attr("pads", [0] * 2 * len(extents))
    auto, up = node.attr("auto_pad") or "NOTSET", node.attr("ceil_mode", 0)
    if up:
        raise NotKnown
    found: list[Size | None] = []
    for axis, (extent, window) in enumerate(zip(extents, kernel, strict=True)):
        stride = strides[axis]
        if extent is None or not isinstance(window, int):
            found.append(None)
        elif auto.startswith("SAME"):
            found.append(divided(extent + (stride - 1), stride))
        else:
            padding = pads[axis] + pads[axis + len(extents)] if auto == "NOTSET" else 0
            found.append(divided(extent + (padding - dilations[axis] * (window - 1) - 1), stride) + 1)
    return found


@rule("DepthToSpace")
def depth_to_space(node: SymbolicNode) -> Fact:
    n, c, h, w = node.shape(0)
    block = node.attr("blocksize")
    if not isinstance(c, int):
        raise NotKnown
    return Fact((n, c // block**2, *(None if each is None else each * block for each in (h, w))))


@rule("SpaceToDepth")
def space_to_depth(node: SymbolicNode) -> Fact:
    n, c, h, w = node.shape(0)
    block = node.attr("blocksize")
    if not isinstance(c, int):
        raise NotKnown
    return Fact((n, c * block**2, *(None if each is None else divided(each, block) for each in (h, w))))


@rule("Resize", "Upsample")
def resize(node: SymbolicNode) -> Fact:
    """Where the sizes are given; with scales extents are rounded as floats are."""
    source = node.shape(0)
    if node.opset < 11 or not node.has(3):
        raise NotKnown
    sizes = node.elements(3).tolist()
    if len(sizes) != len(source) or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotKnown
    return Fact(tuple(sizes))


# --- reductions ------------------------------------------------------------------------------------------------------


@rule("ReduceProd")
def product(node: SymbolicNode) -> Fact:
    """Of the elements of a vector."""
    elements = node.elements(0)
    if elements.ndim != 1 or node.attr("noop_with_empty_axes", 0):
        raise NotKnown
    found = count_of(tuple(elements.tolist()))
    return known(array_of([found] if node.attr("keepdims", 1) else found))


@rule("TopK")
def top_k(node: SymbolicNode) -> list[Fact]:
    source = node.shape(0)
    axis = normalize_axis(node.attr("axis", -1), len(source))
    (count,) = node.elements(1).reshape(-1).tolist() if node.opset >= 10 else (node.attr("k"),)
    return [Fact((*source[:axis], count, *source[axis + 1 :]))] * 2


@rule("GRU", "LSTM", "RNN")
def recurrent(node: SymbolicNode) -> list[Fact]:
    x, recurrence = node.shape(0), node.shape(2)
    directions, hidden = recurrence[0], recurrence[2]
    if node.attr("layout", 0):
        state: Shape = (x[0], directions, hidden)
        return [Fact((x[0], x[1], directions, hidden)), Fact(state), Fact(state)][: node.outputs]
    state = (directions, x[1], hidden)
    return [Fact((x[0], directions, x[1], hidden)), Fact(state), Fact(state)][: node.outputs]
