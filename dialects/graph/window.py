"""Pooling: reductions over a window that slides along the spatial axes of x [N, C, spatial...].

Padding takes no part, except in an average with `include_pad`. Where x is blocked (see `blocked`), so is the result: it
is the kernel that says how many axes are spatial, and a last one more is that of the lanes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.dtypes import integer_range, is_float
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Machine, Schedule
from aotc.dialects.graph.shapes import linearize
from aotc.dialects.graph.windows.axes import WindowedOp
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.passes.kernel.builders.tile_builder import NotTileable, Tile, TileBuilder
from aotc.passes.kernel.costs.windows import window_schedule
from aotc.passes.kernel.nests.window import Part, WindowNest, WindowReduction
from aotc.passes.kernel.spatial_tiling import Box, Cutout, Strips, cut_out_windows, window_strips

if TYPE_CHECKING:
    from aotc.dialects.graph.packed.channels import Blocked, ChannelsOf
    from aotc.passes.kernel.layouts import Layouts


class WindowOp(WindowedOp, ABC):
    """One result element per window position; `ceil` admits a last, incomplete window."""

    x = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase)
    ceil = opt_prop_def(BoolAttr)
    result = result_def(TensorType)

    BLOCKED: ClassVar[bool] = True
    """Whether x may be blocked."""

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.ints("kernel"))

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(
            shape_of(self.x)[2 : 2 + self.rank],
            self.ints("kernel"),
            self.ints("strides"),
            self.ints("pads"),
            self.ints("dilations"),
            self.flag("ceil"),
        )

    def operations(self) -> int:
        return math.prod(shape_of(self.result)) * math.prod(self.ints("kernel"))

    def result_element_type(self) -> Attribute:
        """The result's element type."""
        return element_type_of(self.x)

    def infer_types(self) -> Sequence[TensorType]:
        x, rank = shape_of(self.x), self.rank
        if rank < 1 or len(x) not in (2 + rank, 2 + rank + self.BLOCKED):
            raise ShapeError(f"the operand must be [N, C, spatial...] with {rank} spatial axes, found {list(x)}")
        shape = [*x[:2], *(window.positions for window in self.windows()), *x[2 + rank :]]
        return [TensorType(self.result_element_type(), shape)]

    @abstractmethod
    def initial(self, b: LoopBuilder) -> list[Scalar]:
        """What the reduction over one window starts with."""

    @abstractmethod
    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        """The reduction after the element `value` of x, which is at index `source`."""

    def finish(self, b: LoopBuilder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        """The result element; `count` emits how many taps count for it, in the type of the elements."""
        return carried[0]

    def counted(self, b: LoopBuilder, window: SlidingWindow, position: Scalar) -> Scalar:
        """How many taps along one axis count at `position`: those that see an element, and never none."""
        low, high = window.taps(b, position)
        return high - low if window.never_empty else b.max(high - low, 1)

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        windows, end = self.windows(), 2 + self.rank

        def body(index: list[Scalar]) -> None:
            position = index[2:end]

            def step(taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                seen = (w.source(p, tap) for w, p, tap in zip(windows, position, taps, strict=True))
                source = [*index[:2], *seen, *index[end:]]
                return self.combine(b, source, reads[0](source), carried)

            def count() -> Scalar:
                counts = [self.counted(b, w, p) for w, p in zip(windows, position, strict=True)]
                return b.cast(_product(b, counts), element_type_of(self.x))

            bounds = [w.taps(b, p) for w, p in zip(windows, position, strict=True)]
            carried = b.reduce(bounds, self.initial(b), step)
            writes[0](index, self.finish(b, count, carried))

        b.for_each(shape_of(self.result), body)

    def lay_out(self, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(self.x) if self.BLOCKED else None
        return None if x is None else layouts.on_blocks(self, x)

    def block_starts(self, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if self.BLOCKED else ()

    def cut_out(self, box: Box) -> Cutout | None:
        blocked = self.BLOCKED and len(box) > 2 + self.rank
        return cut_out_windows(self, self.windows(), box) if blocked else None

    def strips(self, schedule: Schedule) -> Strips | None:
        return window_strips(self, schedule)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        x = shape_of(self.x)
        return window_schedule(machine, element_type_of(self.x), x[-1]) if len(x) > 2 + self.rank else None

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        x = shape_of(self.x)
        if len(x) == 2 + self.rank:
            raise NotTileable("the operand is not blocked")
        pool = _Pool(self, b, writes[0])
        nest = WindowNest(b, schedule, x[:2], self.windows(), x[-1], reads[0], pool)
        nest.run()


def _product(b: LoopBuilder, factors: Sequence[Scalar]) -> Scalar:
    product = b.index(1)
    for factor in factors:
        product = product * factor
    return product


@dataclass(frozen=True)
class _Pool(WindowReduction):
    op: WindowOp
    b: TileBuilder
    write: Writer

    def initial(self, part: Part) -> list[Scalar]:
        return [self.b.splat(value, part.tile) for value in self.op.initial(self.b)]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return self.op.combine(self.b, part.index, value, carried)

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        self.write(part.index, self.op.finish(self.b, lambda: self._count(part), carried))

    def _count(self, part: Part) -> Scalar:
        """How many taps count for each position of a part: one number, or a tile where they differ."""
        b, windows, places = self.b, self.op.windows(), part.index[2:-1]
        window, place = windows.pop(part.across), places.pop(part.across)
        rows = _product(b, [self.op.counted(b, w, p) for w, p in zip(windows, places, strict=True)])

        def count(columns: Scalar) -> Scalar:
            return b.cast(rows * columns, element_type_of(self.op.x))

        if part.example is None:
            return count(self.op.counted(b, window, place))
        size, lanes = part.tile.shape
        columns = [self.op.counted(b, window, b.index(part.example + number)) for number in range(size)]
        alike = [list(group) for _, group in groupby(range(size), lambda number: columns[number].constant)]
        if len(alike) == 1:
            return count(columns[0])
        counts = b.splat(count(columns[0]), part.tile)
        for first, *more in alike[1:]:
            counts = b.replace(b.splat(count(columns[first]), Tile((1 + len(more), lanes))), counts, [first])
        return counts


def _least(b: LoopBuilder, dtype: Attribute) -> Scalar:
    return b.const(float("-inf") if is_float(dtype) else integer_range(dtype)[0], dtype)


@irdl_op_definition
class MaxPoolOp(WindowOp):
    """The greatest element of each window; NaN if it holds one."""

    name = "graph.max_pool"

    def initial(self, b: LoopBuilder) -> list[Scalar]:
        return [_least(b, element_type_of(self.x))]

    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return [b.max(carried[0], value)]


@irdl_op_definition
class MaxPoolIndicesOp(WindowOp):
    """Where in x, flattened, the (first) greatest element of each window is: i64.

    `column_major` flattens the spatial axes with the first one fastest; N and C stay the slowest.
    """

    name = "graph.max_pool_indices"
    column_major = opt_prop_def(BoolAttr)
    BLOCKED: ClassVar[bool] = False

    def result_element_type(self) -> Attribute:
        return i64

    def initial(self, b: LoopBuilder) -> list[Scalar]:
        return [_least(b, element_type_of(self.x)), b.const(-1, i64)]

    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        best, where = carried
        axes = list(range(len(source)))
        if self.flag("column_major"):
            axes[2:] = reversed(axes[2:])
        x = shape_of(self.x)
        flat = linearize(b, [source[axis] for axis in axes], [x[axis] for axis in axes])
        better = b.compare("gt", value, best) | b.compare("lt", where, 0)
        return [b.select(better, value, best), b.select(better, b.cast(flat, i64), where)]

    def finish(self, b: LoopBuilder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        return carried[1]


@irdl_op_definition
class AveragePoolOp(WindowOp):
    """The mean of each window; with `include_pad` its padding counts as zeros. An empty window gives 0."""

    name = "graph.average_pool"
    include_pad = opt_prop_def(BoolAttr)

    def infer_types(self) -> Sequence[TensorType]:
        if not is_float(element_type_of(self.x)):
            raise ShapeError(f"the elements must be floats, found {element_type_of(self.x)}")
        return super().infer_types()

    def initial(self, b: LoopBuilder) -> list[Scalar]:
        return [b.const(0.0, element_type_of(self.x))]

    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return [carried[0] + value]

    def counted(self, b: LoopBuilder, window: SlidingWindow, position: Scalar) -> Scalar:
        return window.padded_taps(b, position) if self.flag("include_pad") else super().counted(b, window, position)

    def finish(self, b: LoopBuilder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        return carried[0] / count()


@irdl_op_definition
class LpPoolOp(WindowOp):
    """The p-norm of each window: (sum of |x|^p)^(1/p)."""

    name = "graph.lp_pool"
    p = prop_def(IntegerAttr[I64])

    def infer_types(self) -> Sequence[TensorType]:
        if not is_float(element_type_of(self.x)):
            raise ShapeError(f"the elements must be floats, found {element_type_of(self.x)}")
        if self.exponent < 1:
            raise ShapeError(f"p must be positive, found {self.exponent}")
        return super().infer_types()

    @property
    def exponent(self) -> int:
        """p."""
        return self.p.value.data

    def initial(self, b: LoopBuilder) -> list[Scalar]:
        return [b.const(0.0, element_type_of(self.x))]

    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        if self.exponent == 2:
            return [carried[0] + value * value]
        size = b.math("absf", value)
        return [carried[0] + (size if self.exponent == 1 else b.pow(size, b.const(float(self.exponent), size.dtype)))]

    def finish(self, b: LoopBuilder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        (total,) = carried
        if self.exponent == 1:
            return total
        if self.exponent == 2:
            return b.math("sqrt", total)
        return b.pow(total, b.const(1 / self.exponent, total.dtype))
