"""Reductions over axes: sums, extrema, their positions, and running sums."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.dtypes import integer_range, is_float
from aotc.dialects.graph import arrays
from aotc.dialects.graph.arithmetic import Comparison
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import AnchorOp, Array, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.scalars import Number, Scalar
from aotc.dialects.graph.shapes import normalize_axis
from aotc.passes.kernel.builders.tile_builder import NotTileable
from aotc.passes.kernel.costs.rows import axis_of_lanes, reduction_schedule
from aotc.passes.kernel.nests.rows import Part, Row, Rows, lane_numbers

if TYPE_CHECKING:
    from aotc.dialects.aot.tiles import Reduction
    from aotc.dialects.graph.packed.channels import Blocked, ChannelsOf
    from aotc.dialects.graph.schedule import Machine, Schedule
    from aotc.passes.kernel.builders.tile_builder import TileBuilder
    from aotc.passes.kernel.layouts import Layouts

_FALSE = BoolAttr.from_bool(False)
_FEW = 4
"""Fewer elements than that are sooner added one by one than brought together out of the lanes of a register."""


def normalize_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front, ascending; raises ShapeError where one is out of range or there twice."""
    found = sorted(normalize_axis(axis, rank) for axis in axes)
    if len(set(found)) < len(found):
        raise ShapeError(f"axes {list(axes)} name an axis twice")
    return tuple(found)


def merge_index(rank: int, axes: Sequence[int], inner: Sequence[Scalar], outer: Sequence[Scalar]) -> list[Scalar]:
    """The index that is `inner` on `axes` (ascending) and `outer` on the other axes."""
    insides, outsides = iter(inner), iter(outer)
    return [next(insides) if axis in axes else next(outsides) for axis in range(rank)]


def rows(array: Array, axes: Sequence[int]) -> Array:
    """`array` with `axes` last and flattened to one: a row is what one result element reduces, in index order."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    count = int(np.prod([array.shape[axis] for axis in axes]))
    return array.transpose([*kept, *axes]).reshape([*(array.shape[axis] for axis in kept), count])


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> list[int]:
    """`shape` with the extents at `axes` 1 or, without `keepdims`, gone."""
    return [1 if axis in axes else extent for axis, extent in enumerate(shape) if keepdims or axis not in axes]


def outer_index(index: Sequence[Scalar], axes: Sequence[int], keepdims: bool) -> list[Scalar]:
    """The part of a result's `index` that belongs to the axes that are not reduced."""
    return [i for axis, i in enumerate(index) if axis not in axes] if keepdims else list(index)


@dataclass(frozen=True)
class Monoid:
    """An associative combination with its neutral element."""

    domain: Domain
    neutral: Callable[[Attribute], Number]
    combine: Callable[[LoopBuilder, Scalar, Scalar], Scalar]
    ufunc: np.ufunc


def _least(kind: Attribute) -> Number:
    return -np.inf if is_float(kind) else integer_range(kind)[0]


def _greatest(kind: Attribute) -> Number:
    return np.inf if is_float(kind) else integer_range(kind)[1]


_SUM = Monoid(Domain.NUMBER, lambda kind: 0, lambda b, x, y: x + y, np.add)
_PRODUCT = Monoid(Domain.NUMBER, lambda kind: 1, lambda b, x, y: x * y, np.multiply)
_MAXIMUM = Monoid(Domain.ANY, _least, lambda b, x, y: b.max(x, y), np.maximum)
_MINIMUM = Monoid(Domain.ANY, _greatest, lambda b, x, y: b.min(x, y), np.minimum)


def _monoid(kind: StringAttr, monoids: dict[str, Monoid], element_type: Attribute) -> Monoid:
    if kind.data not in monoids:
        raise ShapeError(f"kind is {kind.data!r}, expected one of {', '.join(monoids)}")
    monoids[kind.data].domain.require(element_type, "the operand")
    return monoids[kind.data]


class RowwiseOp(AnchorOp, ABC):
    """Works on the rows of x, the elements along `axes`."""

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)

    def along(self) -> tuple[int, ...]:
        """The axes, counted from the front."""
        return normalize_axes(self.ints("axes"), len(shape_of(self.x)))

    def lay_out(self, layouts: Layouts) -> Blocked | None:
        """Rows that lie within channels are the same in blocks of these."""
        x, axes = layouts.computed(self.x), self.along()
        return None if x is None or min(axes, default=2) < 2 else layouts.on_blocks(self, x, axes=axes)

    def block_starts(self, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if min(self.along(), default=2) >= 2 else ()


@irdl_op_definition
class ReduceOp(RowwiseOp):
    """The `kind` (sum mean prod max min) of x over `axes`, in index order; f16 and bf16 accumulate in f32.

    Of no elements: 0, 1, or the extreme of the type; the mean is 0. Integer means truncate.
    """

    name = "graph.reduce"
    kind = prop_def(StringAttr)
    keepdims = prop_def(BoolAttr, default_value=_FALSE)
    result = result_def(TensorType)

    MONOIDS: ClassVar = {"sum": _SUM, "mean": _SUM, "prod": _PRODUCT, "max": _MAXIMUM, "min": _MINIMUM}
    LANES: ClassVar[dict[str, Reduction]] = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}
    """How the lanes of a register are reduced."""

    def _monoid(self) -> Monoid:
        return _monoid(self.kind, self.MONOIDS, element_type_of(self.x))

    def _count(self) -> int:
        """What the sum is divided by for the mean."""
        return max(1, int(np.prod([shape_of(self.x)[axis] for axis in self.along()])))

    def infer_types(self) -> Sequence[TensorType]:
        self._monoid()
        shape = reduced_shape(shape_of(self.x), self.along(), self.flag("keepdims"))
        return [TensorType(element_type_of(self.x), shape)]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axes, monoid = shape_of(self.x), self.along(), self._monoid()
        kind = element_type_of(self.x)

        def each(index: list[Scalar]) -> None:
            outer = outer_index(index, axes, self.flag("keepdims"))

            def step(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                return [monoid.combine(b, carried[0], reads[0](merge_index(len(shape), axes, inner, outer)))]

            (total,) = b.reduce([(0, shape[axis]) for axis in axes], [b.const(monoid.neutral(kind), kind)], step)
            writes[0](index, total / self._count() if self.kind.data == "mean" else total)

        b.for_each(shape_of(self.result), each)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        shape, axes = shape_of(self.x), self.along()
        if axis_of_lanes(shape) in axes and np.prod([shape[axis] for axis in axes]) < _FEW:
            return None
        return reduction_schedule(machine, element_type_of(self.x), shape, axes)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        shape, axes, monoid = shape_of(self.x), self.along(), self._monoid()
        kind = element_type_of(self.x)
        neutral = monoid.neutral(kind)

        def value(part: Part) -> Scalar:
            return part.masked(reads[0](part.index), neutral)

        def each(row: Row) -> None:
            total = row.fold(self.LANES[self.kind.data], neutral, kind, value, lambda x, y: monoid.combine(b, x, y))
            kept = [axis for axis in range(len(shape)) if self.flag("keepdims") or axis not in axes]
            writes[0](row.result_index(kept), total / self._count() if self.kind.data == "mean" else total)

        Rows(b, shape, axes, schedule).for_each(each)

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        axes, monoid = self.along(), self._monoid()
        wide = arrays.widen(operands[0])
        neutral = np.array(monoid.neutral(element_type_of(self.x))).astype(wide.dtype)
        flat = rows(wide, axes)
        with np.errstate(all="ignore"):
            # accumulate, unlike reduce, adds in index order, as the kernel does
            start = np.broadcast_to(neutral, (*flat.shape[:-1], 1))
            total = monoid.ufunc.accumulate(np.concatenate([start, flat], -1), -1, dtype=wide.dtype)[..., -1]
            if self.kind.data == "mean":
                total = arrays.divide(total, np.array(self._count()).astype(wide.dtype))
        return [arrays.convert(total.reshape(shape_of(self.result)), operands[0].dtype)]


@irdl_op_definition
class ArgReduceOp(AnchorOp):
    """The index (i64) along `axis` of the greatest (`kind` "max") or least ("min") element of x.

    Of equal ones the first, with `last` the last; NaN counts only at index 0.
    """

    name = "graph.arg_reduce"
    x = operand_def(TensorType)
    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr[I64])
    keepdims = prop_def(BoolAttr, default_value=_FALSE)
    last = prop_def(BoolAttr, default_value=_FALSE)
    result = result_def(TensorType)

    def _axes(self) -> tuple[int, ...]:
        return (normalize_axis(self.axis.value.data, len(shape_of(self.x))),)

    def _better(self) -> Comparison:
        strict = {"max": "gt", "min": "lt"}[self.kind.data]
        return cast(Comparison, strict.replace("t", "e") if self.flag("last") else strict)

    def infer_types(self) -> Sequence[TensorType]:
        if self.kind.data not in ("max", "min"):
            raise ShapeError(f"kind is {self.kind.data!r}, expected max or min")
        Domain.NUMBER.require(element_type_of(self.x), "the operand")
        shape, axes = shape_of(self.x), self._axes()
        if shape[axes[0]] == 0:
            raise ShapeError(f"axis {axes[0]} has no elements")
        return [TensorType(i64, reduced_shape(shape, axes, self.flag("keepdims")))]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axes = shape_of(self.x), self._axes()

        def each(index: list[Scalar]) -> None:
            outer = outer_index(index, axes, self.flag("keepdims"))

            def at(position: Scalar) -> Scalar:
                return reads[0](merge_index(len(shape), axes, [position], outer))

            def step(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                value = at(inner[0])
                better = b.compare(self._better(), value, carried[0])
                return [b.select(better, value, carried[0]), b.select(better, inner[0], carried[1])]

            start = [at(b.index(0)), b.index(0)]
            _, position = b.reduce([(1, shape[axes[0]])], start, step)
            writes[0](index, b.cast(position, i64))

        b.for_each(shape_of(self.result), each)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        schedule = reduction_schedule(machine, element_type_of(self.x), shape_of(self.x), self._axes())
        return None if schedule is None else replace(schedule, unroll=1)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        (axis,) = self._axes()
        shape, kind = shape_of(self.x), element_type_of(self.x)
        rows = Rows(b, shape, (axis,), replace(schedule, unroll=1))

        def better(value: Scalar, position: Scalar, carried: Sequence[Scalar]) -> list[Scalar]:
            wins = b.compare(self._better(), value, carried[0])
            return [b.select(wins, value, carried[0]), b.select(wins, position, carried[1])]

        def each(row: Row) -> None:
            first = row.first(axis)
            numbers = lane_numbers(b, first.tile.shape, kind)
            start = b.splat(reads[0](first.index), first.tile, kind)

            def step(part: Part, carried: list[Scalar]) -> list[Scalar]:
                sizes = part.tile.shape[:-1]
                position = b.splat(b.cast(part.base(axis), numbers.dtype), part.tile)
                if rows.across:
                    position = position + b.slice(numbers, [0, 0], sizes)
                value = part.masked(reads[0](part.index), np.nan)  # NaN is never better
                mine = [b.slice(each, [0, 0], sizes) for each in carried]
                now = better(value, position, mine)
                return [b.replace(new, old, [0, 0]) for new, old in zip(now, carried, strict=True)]

            best, position = row.walk([start, b.splat(0, first.tile, numbers.dtype)], step)
            if rows.across:
                position = self._best_lane(b, best, position)
            kept = [k for k in range(len(shape)) if self.flag("keepdims") or k != axis]
            writes[0](row.result_index(kept), b.cast(position, i64))

        rows.for_each(each)

    def _best_lane(self, b: TileBuilder, best: Scalar, position: Scalar) -> Scalar:
        """Of all lanes with the best value, the first (or last) position; where x starts with NaN, no lane left 0."""
        greatest = self.kind.data == "max"
        top = b.total("max" if greatest else "min", best)
        worse = b.compare("lt" if greatest else "gt", best, top)
        never = -1 if self.flag("last") else integer_range(position.dtype)[1]
        return b.total("max" if self.flag("last") else "min", b.select(worse, b.const(never, position.dtype), position))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        flat = rows(arrays.widen(operands[0]), self._axes())
        better = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}[self._better()]
        best = flat[..., 0]
        position = np.zeros(best.shape, np.int64)
        for i in range(1, flat.shape[-1]):
            take = better(flat[..., i], best)
            best, position = np.where(take, flat[..., i], best), np.where(take, i, position)
        return [position.reshape(shape_of(self.result))]


@irdl_op_definition
class CumulativeOp(AnchorOp):
    """The running `kind` (sum prod) of x along `axis`, from the end with `reverse`, up to the element before with
    `exclusive`; f16 and bf16 accumulate in f32."""

    name = "graph.cumulative"
    x = operand_def(TensorType)
    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr[I64])
    exclusive = prop_def(BoolAttr, default_value=_FALSE)
    reverse = prop_def(BoolAttr, default_value=_FALSE)
    result = result_def(TensorType)

    MONOIDS: ClassVar = {"sum": _SUM, "prod": _PRODUCT}

    def _monoid(self) -> Monoid:
        return _monoid(self.kind, self.MONOIDS, element_type_of(self.x))

    def _axis(self) -> int:
        return normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    def infer_types(self) -> Sequence[TensorType]:
        self._monoid()
        self._axis()
        return [TensorType(element_type_of(self.x), shape_of(self.x))]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axis, monoid = shape_of(self.x), self._axis(), self._monoid()
        kind = element_type_of(self.x)

        def each(outer: list[Scalar]) -> None:
            def step(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                place = b.index(shape[axis] - 1) - inner[0] if self.flag("reverse") else inner[0]
                index = merge_index(len(shape), (axis,), [place], outer)
                total = monoid.combine(b, carried[0], reads[0](index))
                writes[0](index, carried[0] if self.flag("exclusive") else total)
                return [total]

            b.reduce([(0, shape[axis])], [b.const(monoid.neutral(kind), kind)], step)

        b.for_each(reduced_shape(shape, (axis,), keepdims=False), each)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        shape, axis = shape_of(self.x), self._axis()
        if not shape or axis_of_lanes(shape) == axis:
            return None
        schedule = reduction_schedule(machine, element_type_of(self.x), shape, (axis,))
        return None if schedule is None else replace(schedule, unroll=1)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        shape, axis, monoid = shape_of(self.x), self._axis(), self._monoid()
        kind = element_type_of(self.x)
        if axis_of_lanes(shape) == axis:
            raise NotTileable("a running total along the lanes of registers")

        def each(row: Row) -> None:
            def step(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
                place = b.index(shape[axis] - 1) - i if self.flag("reverse") else i
                part = row.at(axis, place)
                total = monoid.combine(b, carried[0], reads[0](part.index))
                writes[0](part.index, carried[0] if self.flag("exclusive") else total)
                return [total]

            b.loop(0, shape[axis], 1, [b.splat(monoid.neutral(kind), row.at(axis, b.index(0)).tile, kind)], step)

        Rows(b, shape, (axis,), replace(schedule, unroll=1)).for_each(each)

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        axis, monoid = self._axis(), self._monoid()
        wide = arrays.widen(operands[0])
        wide = np.flip(wide, axis) if self.flag("reverse") else wide
        shape = list(wide.shape)
        shape[axis] = 1
        start = np.full(shape, monoid.neutral(element_type_of(self.x)), wide.dtype)
        with np.errstate(all="ignore"):
            running = monoid.ufunc.accumulate(np.concatenate([start, wide], axis), axis, dtype=wide.dtype)
        running = np.delete(running, -1 if self.flag("exclusive") else 0, axis)
        running = np.flip(running, axis) if self.flag("reverse") else running
        return [arrays.convert(running, operands[0].dtype)]
