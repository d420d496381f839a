"""Operators that move elements without computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.shapes import broadcast, normalize_axis
from aotc.frontend.onnx.elements import Element, elements, extents, settled
from aotc.frontend.onnx.node import Bound, Tensor, joined
from aotc.frontend.onnx.registry import Node, onnx_op

_TO_THE_END = (2**31 - 1, 2**63 - 1)
"""Ends that mean the end of the axis in the direction of the step."""


@onnx_op("Transpose")
def transpose(node: Node) -> SSAValue:
    rank = len(node.shape(0))
    permutation = [normalize_axis(axis, rank) for axis in node.attr("perm", list(range(rank))[::-1])]
    if permutation == list(range(rank)):
        return node.input(0)
    return node.emit("transpose", node.input(0), permutation=permutation)


@onnx_op("Expand")
def expand(node: Node) -> SSAValue:
    given, bound = extents(node, 1, "the shape")
    shape = broadcast(node.shape(0), given)
    if bound is not None and len(node.shape(0)) >= (place := len(given) - bound.axis) and node.shape(0)[-place] != 1:
        node.fail("invalid-value", "the operand has a fixed number of parts, and the shape a data-dependent one")
    result = node.input(0) if shape == node.shape(0) else node.emit("broadcast", node.input(0), shape=shape)
    return result if bound is None else node.bounded(result, replace(bound, axis=len(shape) - len(given) + bound.axis))


@onnx_op("Tile")
def tile(node: Node) -> Tensor:
    x, shape = node.tensor(0), node.shape(0)
    if node.opset < 6:  # one axis
        axis = normalize_axis(int(node.constant_input(2, "the axis").reshape(())), len(shape))
        count = int(node.constant_input(1, "the number of tiles").reshape(()))
        repeats = [count if each == axis else 1 for each in range(len(shape))]
    else:
        repeats = [int(count) for count in node.constant_input(1, "the repeats")]
    if len(repeats) != len(shape) or any(count < 0 for count in repeats):
        node.fail("invalid-value", f"repeats {repeats} must be one count for each axis of {list(shape)}")
    if all(count == 1 for count in repeats):
        return x
    single: list[int] = []
    tiled: list[int] = []
    for extent, count in zip(shape, repeats, strict=True):
        if extent == 1 or count == 1:  # the axis itself repeats, or does not
            single.append(extent)
            tiled.append(extent * count)
        else:
            single += [1, extent]
            tiled += [count, extent]
    x = x.reshape(single).emit("broadcast", shape=tiled)
    return x.reshape([extent * count for extent, count in zip(shape, repeats, strict=True)])


@onnx_op("Concat")
def concat(node: Node) -> Tensor:
    parts = [node.tensor(position) for position in range(len(node.inputs))]
    return joined(parts, node.axis(1))


@onnx_op("Split")
def split(node: Node) -> list[Tensor | None]:
    shape = node.shape(0)
    axis = node.axis(0)
    extent, count = shape[axis], len(node.outputs)
    sizes: list[int] | None = node.attr("split")
    if node.optional(1) is not None:
        sizes = [int(size) for size in node.constant_input(1, "the sizes")]
    if sizes is None:
        if node.attr("num_outputs", count) != count:
            node.fail("invalid-attribute", f"num_outputs is {node.attr('num_outputs')}, the node has {count} outputs")
        chunk = -(-extent // count)
        sizes = [chunk] * (count - 1) + [extent - chunk * (count - 1)]
        if sizes[-1] < 0 or (node.opset < 18 and sizes[-1] != chunk):
            node.fail("invalid-shape", f"axis {axis} of {extent} elements does not divide into {count} outputs")
    if len(sizes) != count or sum(sizes) != extent or any(size < 0 for size in sizes):
        node.fail("invalid-value", f"sizes {sizes} do not cut axis {axis} of {extent} elements into {count} outputs")
    starts = np.cumsum([0, *sizes])
    return [
        cut(node.tensor(0), {axis: (int(start), 1, size)}) if name else None
        for name, start, size in zip(node.outputs, starts, sizes, strict=False)
    ]


def cut(x: Tensor, ranges: dict[int, tuple[int, int, int]]) -> Tensor:
    """The slice of `x` with (start, step, count) along the axes of `ranges` and the whole of the others."""
    full = [ranges.get(axis, (0, 1, extent)) for axis, extent in enumerate(x.shape)]
    if full == [(0, 1, extent) for extent in x.shape]:
        return x
    starts, steps, counts = zip(*full, strict=True)
    return settled(x.emit("slice", starts=starts, steps=steps, shape=counts))


@onnx_op("Slice")
def slice_(node: Node) -> Tensor:
    shape = node.shape(0)
    ranges: dict[int, tuple[int, int, int]] = {}
    moving: list[tuple[Cut, int]] = []  # and how far behind the start the end is
    open_: list[Cut] = []
    for each in cuts(node):
        if each.known:
            ranges[each.axis] = each.range(shape[each.axis])
        elif (distance := each.end.beyond(each.start)) is not None:
            moving.append((each, distance))
        else:
            first = each.start.unknown is not None
            position, what = (1, "the starts") if first else (2, "the ends")
            if open_ or each.step < 1:
                node.fail_unknown(position, what)
            open_.append(each)
    result = cut(node.tensor(0), ranges)
    for each, distance in moving:
        result = _moving_cut(result, each, distance)
    for each in open_:
        every = Bound(each.axis, node.constant(shape[each.axis], np.int64), asked=True)
        result = counted_cut(result, each, every)
    return result


@dataclass(frozen=True)
class Cut:
    """The range of a slice along one axis; `place` is that of its start among the starts."""

    axis: int
    start: Element
    end: Element
    step: int
    place: int

    @property
    def known(self) -> bool:
        return self.start.unknown is None and self.end.unknown is None

    def range(self, extent: int) -> tuple[int, int, int]:
        """(start, step, count) where start and end are known."""
        return _clamped_range(self.start.number, self.end.number, self.step, extent)


def cuts(node: Node) -> list[Cut]:
    """The part that a Slice takes along each axis that it names."""
    if node.opset < 10:
        starts, ends = ([Element(None, 0, number) for number in node.attr(name)] for name in ("starts", "ends"))
        axes, steps = node.attr("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        starts, ends = (elements(node, node.input(position)) for position in (1, 2))
        axes = list(range(len(starts))) if node.optional(3) is None else node.constant_input(3, "the axes").tolist()
        steps = [1] * len(starts) if node.optional(4) is None else node.constant_input(4, "the steps").tolist()
    if not len(starts) == len(ends) == len(axes) == len(steps):
        what = f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps must be as many"
        node.fail("invalid-value", what)
    axes = [normalize_axis(axis, len(node.shape(0))) for axis in axes]
    if len(set(axes)) != len(axes):
        node.fail("invalid-value", f"axes {axes} repeat")
    if 0 in steps:
        node.fail("invalid-value", f"steps {steps} must not be 0")
    every = zip(axes, starts, ends, steps, strict=True)
    return [Cut(axis, start, end, step, place) for place, (axis, start, end, step) in enumerate(every)]


def counted_cut(x: Tensor, each: Cut, bound: Bound) -> Tensor:
    """Of the first parts of x that `bound` counts those from a start to an end that are perhaps data-dependent, a
    positive step apart: as many as there can be, with how many there are noted."""
    node, extent, step, count = x.node, x.shape[each.axis], each.step, Tensor(x.node, bound.count)
    if each.known and each.range(extent) == (0, 1, extent):  # all, however many
        return Tensor(node, node.bounded(x.value, bound))
    first, last = (
        _limit(element, position, each.place, count) for element, position in ((each.start, 1), (each.end, 2))
    )
    number = (last - first).at_least(0)
    if step > 1:
        number = (number + (step - 1)) / step
    most = _most_between(each, extent)
    if each.start.unknown is None and each.start.number >= 0:
        result = cut(x, {each.axis: (min(each.start.number, extent), step, most)})
    else:
        places = first + node.constant(step * node.numbers(most))
        result = x.emit("gather", places.at_most(extent - 1), axis=each.axis)
    return Tensor(node, node.bounded(result.value, replace(bound, count=number.value)))


def _most_between(each: Cut, extent: int) -> int:
    """The most parts that a cut can take, of at most `extent`."""
    most = extent
    start, end = each.start, each.end
    if end.unknown is None and end.number >= 0:
        most = min(most, end.number)
    elif end.unknown is None:
        most += end.number
    if start.unknown is None:
        most = most - start.number if start.number >= 0 else min(most, -start.number)
    return max(-(-most // each.step), 0)


def _limit(element: Element, position: int, place: int, count: Tensor) -> Tensor:
    """A start or an end within 0 and `count`: from the end where it is negative. i64, rank 0."""
    if element.unknown is None:
        number = count.scalar(element.number)
        return number.at_most(count) if element.number >= 0 else (number + count).at_least(0)
    number = cut(count.node.tensor(position), {0: (place, 1, 1)}).cast(i64).reshape([])
    behind = number + count
    return (number < 0).choose(behind, number).at_least(0).at_most(count)


def _moving_cut(x: Tensor, each: Cut, distance: int) -> Tensor:
    """The elements along an axis from a data-dependent one on, to one at a distance behind it."""
    node, axis, extent = x.node, each.axis, x.shape[each.axis]
    count = max(-(-distance // each.step), 0)
    if count > extent:
        node.fail("invalid-value", f"it takes {count} elements of axis {axis}, which has {extent}")
    if count == 0:
        return cut(x, {axis: (0, 1, 0)})
    start = cut(node.tensor(1), {0: (each.place, 1, 1)}).cast(i64)
    places = start.emit("slice_places", extent=extent, distance=distance, step=each.step)
    return x.emit("gather", places, axis=axis)


def _clamped_range(start: int, end: int, step: int, extent: int) -> tuple[int, int, int]:
    """(start, step, count) of a slice as ONNX clamps it; not as Python does: a start before the axis counts as 0."""
    first = max(start + extent, 0) if start < 0 else start
    found = range(extent)[first : None if end in _TO_THE_END else end : step]
    return (found.start, step, len(found)) if found else (0, 1, 0)


@onnx_op("Pad")
def pad(node: Node) -> Tensor:
    x, shape, mode = node.tensor(0), node.shape(0), node.attr("mode", "constant")
    if node.opset < 11:
        value = node.constant(node.attr("value", 0.0), numpy_dtype(node.element_type(0)))
    else:
        value = node.optional(2)
    begins, ends = padding(node)
    slices = {
        axis: (max(-begin, 0), 1, extent + min(begin, 0) + min(end, 0))
        for axis, (extent, begin, end) in enumerate(zip(shape, begins, ends, strict=True))
    }
    if any(count < 0 for _, _, count in slices.values()):
        node.fail("invalid-value", f"pads {[*begins, *ends]} remove more than there is of {list(shape)}")
    x = cut(x, slices)
    pads = [max(amount, 0) for amount in (*begins, *ends)]
    return x.emit("pad", value if mode == "constant" else None, pads=pads, mode=mode) if any(pads) else x


def padding(node: Node) -> tuple[list[int], list[int]]:
    """How many elements a Pad adds before and behind along each axis; negative where it removes some."""
    rank = len(node.shape(0))
    axes = list(range(rank))
    if node.opset < 11:
        given: list[int] = node.attr("pads", []) if node.opset >= 2 else node.attr("paddings", [])
    else:
        given = [int(amount) for amount in node.constant_input(1, "the pads").reshape(-1)]
        if node.optional(3) is not None:
            axes = [normalize_axis(int(axis), rank) for axis in node.constant_input(3, "the axes")]
    if len(given) != 2 * len(axes) or len(set(axes)) != len(axes):
        node.fail("invalid-value", f"pads {given} must be a begin and an end for each of the axes {axes}")
    begins, ends = [0] * rank, [0] * rank
    for axis, begin, end in zip(axes, given[: len(axes)], given[len(axes) :], strict=True):
        begins[axis], ends[axis] = begin, end
    return begins, ends


@onnx_op("CenterCropPad")
def center_crop_pad(node: Node) -> Tensor:
    source = node.shape(0)
    target = [int(extent) for extent in node.constant_input(1, "the shape").reshape(-1)]
    axes = [normalize_axis(axis, len(source)) for axis in node.attr("axes", list(range(len(source))))]
    if len(target) != len(axes) or len(set(axes)) != len(axes) or any(extent < 0 for extent in target):
        node.fail("invalid-value", f"shape {target} must be an extent for each of the axes {axes}")
    slices: dict[int, tuple[int, int, int]] = {}
    begins, ends = [0] * len(source), [0] * len(source)
    for axis, extent in zip(axes, target, strict=True):
        more = extent - source[axis]
        slices[axis] = (max(-more, 0) // 2, 1, min(extent, source[axis]))
        begins[axis] = max(more, 0) // 2
        ends[axis] = max(more, 0) - begins[axis]
    x = cut(node.tensor(0), slices)
    pads = [*begins, *ends]
    return x.emit("pad", None, pads=pads, mode="constant") if any(pads) else x


@onnx_op("DepthToSpace")
def depth_to_space(node: Node) -> Tensor:
    n, c, h, w, block = _image(node)
    if c % (block * block):
        node.fail("invalid-shape", f"{c} channels do not divide into blocks of {block} x {block}")
    depth = c // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        shape, permutation = [n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2]
    else:
        shape, permutation = [n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3]
    return _rearrange(node, shape, permutation, [n, depth, h * block, w * block])


@onnx_op("SpaceToDepth")
def space_to_depth(node: Node) -> Tensor:
    n, c, h, w, block = _image(node)
    if h % block or w % block:
        node.fail("invalid-shape", f"a picture of {h} x {w} does not divide into blocks of {block} x {block}")
    permutation = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    shape = [n, c, h // block, block, w // block, block]
    return _rearrange(node, shape, permutation, [n, c * block * block, h // block, w // block])


def _image(node: Node) -> tuple[int, int, int, int, int]:
    block = node.attr("blocksize")
    if len(node.shape(0)) != 4 or block < 1:
        what = f"needs [N, C, H, W] and a positive block size, found {list(node.shape(0))} and {block}"
        node.fail("invalid-shape", what)
    n, c, h, w = node.shape(0)
    return n, c, h, w, block


def _rearrange(node: Node, shape: Sequence[int], permutation: Sequence[int], result: Sequence[int]) -> Tensor:
    return node.tensor(0).reshape(shape).transpose(permutation).reshape(result)


@onnx_op("Trilu")
def trilu(node: Node) -> SSAValue:
    diagonal = node.optional(1)
    if diagonal is None:
        diagonal = node.constant(np.zeros((), np.int64))
    return node.emit("trilu", node.input(0), diagonal, upper=bool(node.attr("upper", 1)))
