"""Canonicalisation of graph operations: simplifications that are right whatever the target.

One function for each simplification, registered with the classes it is tried on (see `patterns`). All of them keep
every bit of the result, and none looks at constants that are not inline in the IR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import BoolAttr, BytesAttr, DenseIntOrFPElementsAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.attributes import to_attribute
from aotc.dialects.dtypes import byte_width, is_float
from aotc.dialects.graph.conversion import AffineOp, CastOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AbsOp, AddOp, BinaryOp, DivOp, MulOp, NegOp, ReluOp, SubOp, UnaryOp
from aotc.dialects.graph.elementwise import BroadcastOp as BroadcastingOp
from aotc.dialects.graph.interfaces import ElementOp, GraphOp, ShapeError, element_type_of, is_view, producer, shape_of
from aotc.dialects.graph.logical import NotOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import BroadcastOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp, TriluOp
from aotc.dialects.graph.packed.convolution.regrouping import PADDING_LANE, RegroupChannelsOp, regrouped
from aotc.dialects.graph.packed.pack import UnpackOp
from aotc.dialects.graph.patterns import Simplified, simplifies
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.schedules import schedule_of
from aotc.dialects.graph.structure import ConstantOp

Op = TypeVar("Op", bound=GraphOp)

# --- views and movement ----------------------------------------------------------------------------------------------


@simplifies(ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, CastOp)
def nothing_changes(op: ReshapeOp | TransposeOp | BroadcastOp | SliceOp | PadOp | CastOp) -> Simplified:
    """A movement or cast whose result is its operand."""
    if op.x.type != op.result.type:
        return None
    if isinstance(op, TransposeOp) and list(op.ints("permutation")) != sorted(op.ints("permutation")):
        return None
    if isinstance(op, SliceOp) and any(
        step != 1 for step, extent in zip(op.ints("steps"), shape_of(op.x), strict=True) if extent > 1
    ):
        return None
    return op.x


@simplifies(ReshapeOp)
def reshape_of_reshape(op: ReshapeOp) -> Simplified:
    """reshape(reshape(x)) -> reshape(x)"""
    inner = producer(op.x, ReshapeOp)
    return None if inner is None else ReshapeOp.get(inner.x, shape=op.ints("shape"))


@simplifies(TransposeOp)
def transpose_of_transpose(op: TransposeOp) -> Simplified:
    """transpose(transpose(x)) -> transpose(x)"""
    inner = producer(op.x, TransposeOp)
    if inner is None:
        return None
    first = inner.ints("permutation")
    return TransposeOp.get(inner.x, permutation=[first[axis] for axis in op.ints("permutation")])


@simplifies(TransposeOp)
def transpose_of_unit_axes(op: TransposeOp) -> Simplified:
    """A transpose that only moves axes of extent 1 -> reshape"""
    return None if op.view_offset() is None else ReshapeOp.get(op.x, shape=shape_of(op.result))


@simplifies(TransposeOp)
def transpose_of_unpack(op: TransposeOp) -> Simplified:
    """transpose(unpack(x)) whose elements lie as those of x -> reshape(x)"""
    inner = producer(op.x, UnpackOp)
    if inner is None or inner.layout.data.parts or math.prod(shape_of(inner.x)) != math.prod(shape_of(op.x)):
        return None
    layout, shape = inner.layout.data.permuted(op.ints("permutation")), shape_of(op.result)
    return ReshapeOp.get(inner.x, shape=shape) if layout.keeps_order(shape) else None


@simplifies(SliceOp)
def slice_of_slice(op: SliceOp) -> Simplified:
    """slice(slice(x)) -> slice(x)"""
    inner = producer(op.x, SliceOp)
    if inner is None:
        return None
    outer = zip(op.ints("starts"), op.ints("steps"), inner.ints("starts"), inner.ints("steps"), strict=True)
    both = [(first + start * stride, step * stride) for start, step, first, stride in outer]
    starts, steps = [start for start, _ in both], [step for _, step in both]
    return SliceOp.get(inner.x, starts=starts, steps=steps, shape=op.ints("shape"))


@simplifies(SliceOp)
def slice_of_moved(op: SliceOp) -> Simplified:
    """slice(transpose(x)) -> transpose(slice(x)), and of a concatenation, where nothing else reads what moves; slice(
    reshape(x)) -> reshape(slice(x)) along axes that both shapes have."""
    starts, steps, shape = op.ints("starts"), op.ints("steps"), op.ints("shape")
    cuts = list(zip(starts, steps, shape, strict=True))
    inner = producer(op.x, ReshapeOp)
    if inner is not None and (axes := _common_axes(op, shape_of(inner.x))) is not None:
        whole = [(0, 1, extent) for extent in shape_of(inner.x)]
        for axis, own in axes.items():
            whole[own] = cuts[axis]
        cut = _sliced(inner.x, whole)
        return [cut, ReshapeOp.get(cut, shape=shape)]
    moved = producer(op.x, ElementOp)
    if moved is None or not op.x.has_one_use():
        return None
    if isinstance(moved, TransposeOp):
        permutation = moved.ints("permutation")
        cut = _sliced(moved.x, [cuts[permutation.index(axis)] for axis in range(len(cuts))])
        return [cut, TransposeOp.get(cut, permutation=permutation)]
    if isinstance(moved, ConcatOp) and cuts[moved.axis] == (0, 1, shape_of(op.x)[moved.axis]):
        axis = moved.axis
        parts = [_sliced(part, [*cuts[:axis], (0, 1, shape_of(part)[axis]), *cuts[axis + 1 :]]) for part in moved.parts]
        return [*parts, ConcatOp.get([part.result for part in parts], axis=axis)]
    return None


def _sliced(x: SSAValue, cuts: Sequence[tuple[int, int, int]]) -> SliceOp:
    """The slice with a start, a step and a count for each axis."""
    starts, steps, shape = zip(*cuts, strict=True)
    return SliceOp.get(x, starts=starts, steps=steps, shape=shape)


def _common_axes(op: SliceOp, source: Sequence[int]) -> dict[int, int] | None:
    """For each axis of its operand that a slice leaves something of: the same axis of a tensor of shape `source` with
    these elements; None where one is none there."""
    shape = shape_of(op.x)
    found: dict[int, int] = {}
    for axis, (start, step, count) in enumerate(
        zip(op.ints("starts"), op.ints("steps"), op.ints("shape"), strict=True)
    ):
        if (start, step, count) == (0, 1, shape[axis]):
            continue
        before = math.prod(shape[:axis])
        same = (own for own, extent in enumerate(source) if extent == shape[axis] and math.prod(source[:own]) == before)
        if (own := next(same, None)) is None or own in found.values():
            return None
        found[axis] = own
    return found


@simplifies(SliceOp)
def slice_of_states(op: SliceOp) -> Simplified:
    """y[last step] -> y_h of a recurrent layer, which then need not keep the states of all steps."""
    layer = producer(op.x, RecurrenceOp)
    if layer is None or (last := layer.last_step()) is None:
        return None
    if (op.ints("starts"), op.ints("shape")) != ((last, 0, 0), (1, *shape_of(op.x)[1:])):
        return None
    return ReshapeOp.get(layer.results[1], shape=op.ints("shape"))  # of its results only y has three axes


@simplifies(RegroupChannelsOp)
def regroup_of_regroup(op: RegroupChannelsOp) -> Simplified:
    """regroup(regroup(x)) -> regroup(x): lanes come directly from the source's source."""
    if not any(producer(part, RegroupChannelsOp) for part in op.parts):
        return None
    origins: list[tuple[SSAValue, int] | None] = []
    for part in op.parts:
        if (inner := producer(part, RegroupChannelsOp)) is not None:
            origins += inner.origins()
        else:
            origins += ((part, lane) for lane in range(shape_of(part)[1] * shape_of(part)[-1]))
    return regrouped([None if source == PADDING_LANE else origins[source] for source in op.ints("sources")], op)


@simplifies(SliceOp)
def slice_of_regroup(op: SliceOp) -> Simplified:
    """slice(regroup(x)) -> regroup(x) of the sliced blocks only."""
    inner = producer(op.x, RegroupChannelsOp)
    if inner is None or any(not isinstance(use.operation, SliceOp | RegroupChannelsOp) for use in op.x.uses):
        return None
    whole, shape, lanes = shape_of(op.x), shape_of(op.result), shape_of(op.x)[-1]
    if (*shape[:1], *shape[2:]) != (*whole[:1], *whole[2:]) or any(step != 1 for step in op.ints("steps")):
        return None
    first = op.ints("starts")[1] * lanes
    return regrouped(inner.origins()[first : first + shape[1] * lanes], inner)


@simplifies(ConcatOp)
def concat_of_one(op: ConcatOp) -> Simplified:
    """concat(x) -> x; parts without elements are removed."""
    parts = [part for part in op.parts if shape_of(part)[op.axis] > 0]
    if len(parts) == 1:
        return parts[0]
    return ConcatOp.get(parts, axis=op.axis) if 0 < len(parts) < len(op.parts) else None


@simplifies(ConcatOp)
def concat_of_an_earlier_one(op: ConcatOp) -> Simplified:
    """concat(x, y, z) -> concat(concat(x, y), z) where concat(x, y) is there already and need not be moved."""
    if op.part_offsets() is None:
        return None
    parts = list(op.parts)
    for first, part in enumerate(parts):
        for other in (use.operation for use in part.uses):
            if not isinstance(other, ConcatOp) or other.axis != op.axis or len(other.parts) < 2:
                continue
            end = first + len(other.parts)
            shared = parts[first:end] == list(other.parts) and len(other.parts) < len(parts)
            if shared and other.parent is op.parent and other.is_before_in_block(op):
                return ConcatOp.get([*parts[:first], other.result, *parts[end:]], axis=op.axis)
    return None


@simplifies(BroadcastingOp)
def broadcast_twice(op: BroadcastingOp) -> Simplified:
    """add(x, broadcast(y)) -> add(x, y) where the other operands give the shape."""
    for position, operand in enumerate(op.operands):
        inner = producer(operand, BroadcastOp)
        if inner is not None and (new := _with_operands(op, {position: inner.x})) is not None:
            return new
    return None


@simplifies(TriluOp)
def triangle_of_one_number(op: TriluOp) -> Simplified:
    """trilu(broadcast(x)) -> trilu(x) of that shape: a condition on two indices, which takes no memory."""
    inner = producer(op.x, BroadcastOp)
    if inner is None or math.prod(shape_of(inner.x)) != 1:
        return None
    return TriluOp.get(inner.x, op.diagonal, upper=op.upper, alone=op.alone, shape=shape_of(op.result))


@simplifies(ReshapeOp, SliceOp)
def view_of_widened(op: ReshapeOp | SliceOp) -> Simplified:
    """view(dequantize(x)) -> dequantize(view(x)): what is stored is narrow, and is widened where it is read.

    On a constant the view folds, whatever the operation.
    """
    inner = producer(op.x, ElementOp)
    if inner is None or not inner.is_movable or op.view_offset() is None:
        return None
    sources = [place for place, value in enumerate(inner.operands) if math.prod(shape_of(value)) != 1]
    if len(sources) != 1:
        return None
    source = inner.operands[sources[0]]
    widens = byte_width(element_type_of(op.x)) > byte_width(element_type_of(source))
    if not widens and producer(source, ConstantOp) is None:
        return None
    if shape_of(source) != shape_of(op.x) or not all(is_view(use.operation) for use in op.x.uses):
        return None
    view = op.clone({op.x: source})
    view.refine()
    new = _with_operands(inner, {sources[0]: view.result}, shape_of(op.result))
    if new is None:
        view.erase()
        return None
    return [view, new]


@simplifies(ElementOp)
def narrowed_view(op: ElementOp) -> Simplified:
    """quantize(relu(view(x))) -> view(quantize(relu(x))): what computes x narrows it, too."""
    shape = shape_of(op.results[0])
    views = {place: view for place, value in enumerate(op.operands) if (view := producer(value, ReshapeOp)) is not None}
    views = {place: view for place, view in views.items() if shape_of(view.result) == shape}
    if len({view.x.type for view in views.values()}) != 1:
        return None
    first = next(iter(views.values()))
    others = [value for place, value in enumerate(op.operands) if place not in views]
    if not all(_broadcasts_alike(op, value, shape_of(first.x), shape) for value in others):
        return None
    if producer(first.x, ConstantOp) is not None or not _is_narrowed(op, first.result):
        return None
    new = _with_operands(op, {place: view.x for place, view in views.items()}, shape_of(first.x))
    return None if new is None else [new, ReshapeOp.get(new.results[0], shape=shape)]


@simplifies(ElementOp)
def narrowed_padding(op: ElementOp) -> Simplified:
    """quantize(pad(x, y)) -> pad(quantize(x), quantize(y)): what is added is narrow, too."""
    wide = [place for place, value in enumerate(op.operands) if math.prod(shape_of(value)) != 1]
    pad = producer(op.operands[wide[0]], PadOp) if len(wide) == 1 else None
    if pad is None or not pad.result.has_one_use() or not _is_narrowed(op, pad.result):
        return None
    if (new := _with_operands(op, {wide[0]: pad.x}, shape_of(pad.x))) is None:
        return None
    attributes = {"pads": pad.ints("pads"), "mode": pad.mode}
    if pad.mode != StringAttr("constant"):
        return [new, PadOp.get(new.results[0], **attributes)]
    zero = None if pad.value is not None else _zero(element_type_of(pad.x))
    value = pad.value if zero is None else zero.result
    assert value is not None
    added = _with_operands(op, {wide[0]: value}, shape_of(value))
    if added is None:
        return None
    return [*([] if zero is None else [zero]), new, added, PadOp.get(new.results[0], added.results[0], **attributes)]


def _is_narrowed(op: ElementOp, value: SSAValue) -> bool:
    """Whether `op`, which reads `value`, makes its elements narrower, or what alone follows it element by element does,
    and `op` does not make them wider: that goes up."""
    width = byte_width(element_type_of(value))
    following: Operation | None = op
    while (
        isinstance(following, ElementOp)
        and following.is_movable
        and shape_of(following.results[0]) == shape_of(value)
        and byte_width(element_type_of(following.results[0])) <= width
    ):
        if byte_width(element_type_of(following.results[0])) < width:
            return True
        following = following.results[0].get_user_of_unique_use()
    return False


def _broadcasts_alike(op: ElementOp, value: SSAValue, one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether `op` reads the same elements of `value` for the elements of a result of either shape, in row-major
    order."""
    given = shape_of(value)
    while given and given[0] == 1:
        given = given[1:]
    if not given:
        return True
    return op.BROADCASTS and tuple(one[-len(given) :]) == tuple(other[-len(given) :])


def _zero(kind: Attribute) -> ConstantOp:
    value = DenseIntOrFPElementsAttr(TensorType(kind, []), BytesAttr(bytes(byte_width(kind))))  # pyright: ignore[reportArgumentType]
    return ConstantOp(value)


def _with_operands(op: Op, given: Mapping[int, SSAValue], shape: Sequence[int] | None = None) -> Op | None:
    """A copy of `op` with other operands; None where its result would not have the given shape (that of `op`)."""
    new = op.clone()
    for position, value in given.items():
        new.operands[position] = value
    try:
        new.refine()
    except ShapeError:
        new.erase()
        return None
    if shape_of(new.results[0]) == tuple(shape_of(op.results[0]) if shape is None else shape):
        return new
    new.erase()
    return None


# --- arithmetic ------------------------------------------------------------------------------------------------------


def _is_all(value: SSAValue, number: float) -> bool:
    """Whether `value` is a constant, all of whose elements are `number` (with its sign, if it is zero)."""
    constant = producer(value, ConstantOp)
    if constant is None or not isinstance(constant.value, DenseIntOrFPElementsAttr):
        return False
    array = constant.inline_array()
    if array.size == 0 or array.dtype == np.bool_:
        return False
    wide = array.astype(np.float64)
    return bool((wide == number).all() and (np.signbit(wide) == np.signbit(np.float64(number))).all())


@simplifies(AddOp, SubOp, MulOp, DivOp)
def neutral_operand(op: BinaryOp) -> Simplified:
    """x + 0 -> x (on floats x + -0.0), x - 0 -> x, x * 1 -> x, x / 1 -> x"""
    zero = -0.0 if type(op) is AddOp and is_float(element_type_of(op.lhs)) else 0.0  # 0.0 would make 0.0 of -0.0
    neutral = zero if type(op) in (AddOp, SubOp) else 1.0
    sides = [(op.lhs, op.rhs), (op.rhs, op.lhs)][: 2 if type(op) in (AddOp, MulOp) else 1]
    unchanged = (value for value, other in sides if value.type == op.result.type and _is_all(other, neutral))
    return next(unchanged, None)


@simplifies(NegOp, NotOp)
def twice_undone(op: UnaryOp) -> Simplified:
    """neg(neg(x)) -> x, not(not(x)) -> x"""
    inner = producer(op.x, type(op))
    return None if inner is None else inner.x


@simplifies(ReluOp, AbsOp)
def twice_the_same(op: UnaryOp) -> Simplified:
    """relu(relu(x)) -> relu(x), abs(abs(x)) -> abs(x)"""
    inner = producer(op.x, type(op))
    return None if inner is None else inner.result


@simplifies(AffineOp)
def zero_zero_point(op: AffineOp) -> Simplified:
    """A zero point of 0 -> no zero point."""
    if op.zero_point is None or not _is_all(op.zero_point, 0.0):
        return None
    given = {name: value for name, value in op.properties.items() if name in type(op).get_irdl_definition().properties}
    return type(op).get(op.x, op.scale, None, **given)


# --- anchors ---------------------------------------------------------------------------------------------------------


@simplifies(MatMulOp)
def matmul_of_transpose(op: MatMulOp) -> Simplified:
    """matmul(x, transpose(y)) -> matmul(x, y) {transpose_rhs}, where the two matrix axes are swapped."""
    for position, flag in enumerate(("transpose_lhs", "transpose_rhs")):
        inner = producer(op.operands[position], TransposeOp)
        if inner is None:
            continue
        *batch, row, column = inner.ints("permutation")
        rank = len(batch) + 2
        if batch == list(range(rank - 2)) and (row, column) == (rank - 1, rank - 2):
            new = op.clone()
            new.operands[position] = inner.x
            new.properties[flag] = BoolAttr.from_bool(not getattr(op, flag))
            return new
    return None


@simplifies(ConvOp)
def conv_of_pad(op: ConvOp) -> Simplified:
    """conv(pad(x)) -> conv(x) with larger pads, where what counts as zero was added along spatial axes; not of one that
    is scheduled, which may want it there."""
    inner = producer(op.x, PadOp)
    if (
        inner is None
        or schedule_of(op) is not None
        or inner.mode != StringAttr("constant")
        or not _counts_as_zero(inner.value, op.zero_points[0])
    ):
        return None
    if (pads := op.pads_with(inner.ints("pads"))) is None:
        return None
    new = op.clone()
    new.operands[0] = inner.x
    new.properties["pads"] = to_attribute(pads)
    return new


@simplifies(ReshapeOp)
def conv_along_fewer_axes(op: ReshapeOp) -> Simplified:
    """reshape(conv(x)) -> conv(reshape(x)), where it drops a last axis of one element that the kernel has one tap for.

    So one-dimensional convolutions come from frameworks that have only those of images; kernels work on neighbours
    along the last axis.
    """
    conv = producer(op.x, ConvOp)
    if conv is None or conv.result.get_user_of_unique_use() is None or schedule_of(conv) is not None:
        return None
    *others, last = conv.windows()
    if not others or (last.extent, last.size, last.before, last.after) != (1, 1, 0, 0):
        return None
    if shape_of(op.result) != shape_of(conv.result)[:-1]:
        return None
    x, weight = (ReshapeOp.get(value, shape=shape_of(value)[:-1]) for value in conv.operands[:2])
    new = conv.clone()
    new.operands[0], new.operands[1] = x.result, weight.result
    pads = [*(window.before for window in others), *(window.after for window in others)]
    for name, values in (
        ("strides", [window.stride for window in others]),
        ("dilations", [window.dilation for window in others]),
        ("pads", pads),
    ):
        new.properties[name] = to_attribute(values)
    new.refine()
    return [x, weight, new]


def _counts_as_zero(value: SSAValue | None, zero_point: int) -> bool:
    if value is None:
        return zero_point == 0
    return _is_all(value, float(zero_point)) or (zero_point == 0 and _is_all(value, -0.0))
