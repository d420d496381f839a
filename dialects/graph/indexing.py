"""Reading at indices that are tensors themselves.

A negative index counts from the end. One known only at run time may be out of range: it is clamped into it, so that
nothing outside the operand is read. Where indices are checked (`Builder.guard`), the kernel fails instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerType, TensorType, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.arrays import Array
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width, integer_range, is_unsigned
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import (
    GraphOp,
    LoopNestOp,
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.movement import MovingOp
from aotc.dialects.graph.shapes import require_axis
from aotc.dialects.properties import int_array, int_prop, ints, opt_bool_prop


def require_indices(value: SSAValue) -> None:
    """Raise ShapeError unless `value` has elements that can be indices."""
    kind = element_type_of(value)
    if not isinstance(kind, IntegerType) or kind == i1:
        raise ShapeError(f"indices must be integers, found {kind}")


def from_front(b: Builder, index: Scalar, extent: int) -> Scalar:
    """A signed i64 `index` into `extent` elements, counted from the front where it is negative, and checked."""
    index = b.cast(index, i64)
    index = b.select(b.compare("lt", index, 0), index + extent, index)
    b.guard(lambda: b.compare("ge", index, 0) & b.compare("lt", index, extent))
    return index


def clamped(b: Builder, index: Scalar, extent: int) -> Scalar:
    """An index into an axis of `extent` elements that is safe to read at."""
    if is_unsigned(index.dtype) and byte_width(index.dtype) <= 2:  # 64 bits would take several registers of small cores
        place = b.cast(index, INDEX)
        b.guard(lambda: b.compare("lt", place, extent))
        return place if extent > integer_range(index.dtype)[1] else b.min(place, extent - 1)
    return b.cast(b.min(b.max(from_front(b, index, extent), 0), extent - 1), INDEX)


class PlacedOp(GraphOp, ABC):
    """Reads the first operand along an axis at places that another one says: one, or several, for each position."""

    READS: ClassVar[str] = "reads"
    """The attribute that says what is known of places that are constant: stride, per, low and high of `AxisReads`."""

    @abstractmethod
    def placed(self) -> tuple[SSAValue, int]:
        """The operand with places, and the axis."""

    def note_reads(self, places: Array) -> None:
        """Say what is known of these places."""
        _, axis = self.placed()
        extent = shape_of(self.operands[0])[axis]
        inside = np.clip(np.where(places < 0, places + extent, places), 0, max(extent - 1, 0))
        each = inside.reshape(len(inside), -1).astype(np.int64)
        bounds = zip(each.min(1).tolist(), each.max(1).tolist(), strict=True)
        found = AxisReads.covering(axis, extent, list(bounds))
        self.attributes[self.READS] = int_array((found.stride, found.per, found.low, found.high))

    def known_reads(self) -> AxisReads | None:
        """The reads at places that are known; None: they are not."""
        known = self.attributes.get(self.READS)
        return None if known is None else AxisReads(self.placed()[1], *ints(cast(DenseArrayBase[I64], known)))


class AxisGatherOp(MovingOp, ABC):
    """Elements of x at run-time `indices` along one `axis`."""

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = int_prop()


@irdl_op_definition
class GatherOp(AxisGatherOp, PlacedOp):
    """Slices of x along `axis`: result[a..., i..., b...] = x[a..., indices[i...], b...]."""

    name = "graph.gather"

    def infer_types(self) -> Sequence[TensorType]:
        x, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis
        require_axis(axis, len(x))
        require_indices(self.indices)
        shape = [*x[:axis], *indices, *x[axis + 1 :]]
        if x[axis] == 0 and 0 not in shape:
            raise ShapeError(f"axis {axis} of {list(x)} has no element to gather")
        return [TensorType(element_type_of(self.x), shape)]

    def placed(self) -> tuple[SSAValue, int]:
        return self.indices, self.axis

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        own, rank = self.axis, len(shape_of(self.indices))
        if axis < own:
            return {0: AxisReads(axis)}
        if axis >= own + rank:
            return {0: AxisReads(axis - rank + 1)}
        reads = self.known_reads()
        return None if reads is None or rank != 1 else {0: reads, 1: AxisReads(0)}

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis, rank = self.axis, len(shape_of(self.indices))
        picked = clamped(b, reads[1](index[axis : axis + rank]), shape_of(self.x)[axis])
        return reads[0]([*index[:axis], picked, *index[axis + rank :]])


@irdl_op_definition
class SlicePlacesOp(LoopNestOp):
    """The places [count] of all elements that ONNX's Slice takes of an axis of `extent` elements: from `start` [1] on,
    to `distance` behind it, `step` apart, each end counted from that of the axis where it is negative and clamped into
    it. The kernel fails where these are fewer, as from -2 to 1."""

    name = "graph.slice_places"
    start = operand_def(TensorType)
    result = result_def(TensorType)
    extent = int_prop()
    distance = int_prop()
    step = int_prop()

    @property
    def count(self) -> int:
        """How many elements there are between unclamped ends."""
        return max(-(-self.distance // self.step), 0)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, start="1 i64")
        if self.step == 0 or not 0 < self.count <= self.extent:
            raise ShapeError(f"{self.count} elements, {self.step} apart, of an axis of {self.extent}")
        return [TensorType(i64, [self.count])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        extent, step, given = self.extent, self.step, reads[0]([b.index(0)])

        def limit(place: Scalar) -> Scalar:
            place = b.select(b.compare("lt", place, 0), place + extent, place)
            return b.min(b.max(place, 0 if step > 0 else -1), extent if step > 0 else extent - 1)

        first = b.max(limit(given), 0)
        span = limit(given + self.distance) - first
        b.require(b.compare("gt", span if step > 0 else 0 - span, (self.count - 1) * abs(step)))
        b.parallel_for([self.count], lambda index: writes[0](index, first + b.cast(index[0], i64) * step))


@irdl_op_definition
class GatherElementsOp(AxisGatherOp):
    """Element by element along `axis`: result[i...] = x[i... with i[axis] = indices[i...]]."""

    name = "graph.gather_elements"

    def infer_types(self) -> Sequence[TensorType]:
        x, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis
        require_axis(axis, len(x))
        require_indices(self.indices)
        if len(x) != len(indices):
            raise ShapeError(f"operand and indices must have one rank, found {list(x)} and {list(indices)}")
        if 0 not in indices:
            require_covered(x, indices, axis)
            if x[axis] == 0:
                raise ShapeError(f"axis {axis} of {list(x)} has no element to gather")
        return [TensorType(element_type_of(self.x), indices)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis = self.axis
        picked = clamped(b, reads[1](index), shape_of(self.x)[axis])
        return reads[0]([*index[:axis], picked, *index[axis + 1 :]])


def require_covered(x: Sequence[int], indices: Sequence[int], axis: int) -> None:
    """Raise ShapeError where indices of that shape go beyond x along another axis than `axis`."""
    if any(i > extent for a, (i, extent) in enumerate(zip(indices, x, strict=True)) if a != axis):
        raise ShapeError(f"indices {list(indices)} reach beyond {list(x)} off axis {axis}")


@irdl_op_definition
class GatherNdOp(MovingOp):
    """Slices at whole index tuples: result[b..., i..., s...] = x[b..., indices[b..., i..., :]..., s...].

    The first `batch_dims` axes b of both operands go together; the last axis of indices holds the tuples.
    """

    name = "graph.gather_nd"
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    batch_dims = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, indices, batch = shape_of(self.x), shape_of(self.indices), self.batch_dims
        require_indices(self.indices)
        if not 0 <= batch < min(len(x), len(indices)):
            raise ShapeError(f"batch_dims {batch} must be below the ranks of {list(x)} and {list(indices)}")
        if x[:batch] != indices[:batch]:
            raise ShapeError(f"the first {batch} axes of {list(x)} and {list(indices)} differ")
        depth = indices[-1]
        if not 1 <= depth <= len(x) - batch:
            raise ShapeError(f"tuples of {depth} do not index the {len(x) - batch} axes behind the batch of {list(x)}")
        shape = [*indices[:-1], *x[batch + depth :]]
        if 0 in x[batch : batch + depth] and 0 not in shape:
            raise ShapeError(f"{list(x)} has no element to gather")
        return [TensorType(element_type_of(self.x), shape)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, indices, batch = shape_of(self.x), shape_of(self.indices), self.batch_dims
        outer, inner = index[: len(indices) - 1], index[len(indices) - 1 :]
        picked = [clamped(b, reads[1]([*outer, b.index(axis)]), x[batch + axis]) for axis in range(indices[-1])]
        return reads[0]([*index[:batch], *picked, *inner])


@irdl_op_definition
class ReverseSequenceOp(MovingOp):
    """x with the first elements along `time`, as many as `lengths` [batches] says for each index of `batch`, in
    reverse. A length is taken as at most what there is."""

    name = "graph.reverse_sequence"
    x = operand_def(TensorType)
    lengths = operand_def(TensorType)
    batch = int_prop()
    time = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, batch, time = shape_of(self.x), self.batch, self.time
        require_axis(batch, len(x))
        require_axis(time, len(x))
        expect(self, lengths=f"{x[batch]} index")
        if batch == time:
            raise ShapeError(f"lengths are for another axis than {time}")
        return [TensorType(element_type_of(self.x), x)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        time, extent = self.time, shape_of(self.x)[self.time]
        given = b.cast(reads[1]([index[self.batch]]), i64)
        b.guard(lambda: b.compare("ge", given, 0) & b.compare("le", given, extent))
        length, at = b.min(b.max(given, 0), extent), b.cast(index[time], i64)
        place = b.cast(b.select(b.compare("lt", at, length), length - 1 - at, at), INDEX)
        return reads[0]([*index[:time], place, *index[time + 1 :]])


@irdl_op_definition
class UpdateCacheOp(MovingOp):
    """x with `update` written along `axis`, from the place on that `starts` [batches] says for each index of the first
    axis; what goes beyond the end is left out, or, with `circular`, goes on at the front."""

    name = "graph.update_cache"
    x = operand_def(TensorType)
    update = operand_def(TensorType)
    starts = operand_def(TensorType)
    axis = int_prop()
    circular = opt_bool_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, update, axis = shape_of(self.x), shape_of(self.update), self.axis
        require_axis(axis, len(x))
        others = (*x[:axis], *update[axis : axis + 1], *x[axis + 1 :])
        if axis == 0 or update != others or update[axis] > x[axis]:
            raise ShapeError(f"an update {list(update)} along axis {axis} does not go into {list(x)}")
        expect(self, starts=f"{x[0]} index")
        return [TensorType(common_element_type(self.x, self.update), x)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis = self.axis
        extent, written = shape_of(self.x)[axis], shape_of(self.update)[axis]
        given = b.cast(reads[2]([index[0]]), i64)
        b.guard(lambda: b.compare("ge", given, 0) & b.compare("lt", given, extent))
        offset = b.cast(index[axis], i64) - given
        if self.circular:
            offset = b.select(b.compare("lt", offset, 0), offset + extent, offset)
        new = b.compare("ge", offset, 0) & b.compare("lt", offset, written)

        def update() -> list[Scalar]:
            return [reads[1]([*index[:axis], b.cast(offset, INDEX), *index[axis + 1 :]])]

        return b.when(new, update, lambda: [reads[0](index)])[0]
