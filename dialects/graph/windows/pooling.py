"""Pooling: reductions over a window that slides along the spatial axes of x [N, C, spatial...].

Padding takes no part, except in an average with `include_pad`. Where x is blocked (see `blocked`), so is the result: it
is the kernel that says how many axes are spatial, and a last one more is that of the lanes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Number, Reader, Scalar
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.gradual import GradualOp, GradualSlices
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.dialects.graph.reduction import least
from aotc.dialects.graph.shapes import ceil_div, linearize
from aotc.dialects.graph.windows.axes import WindowedOp
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.dialects.properties import int_prop, opt_bool_prop, opt_int_prop


class WindowOp(WindowedOp, GradualOp, ABC):
    """One result element per window position; `ceil` admits a last, incomplete window."""

    x = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase)
    ceil = opt_bool_prop()

    BLOCKED: ClassVar[bool] = True
    """Whether x may be blocked."""
    IN_PARTS: ClassVar[bool] = False
    """Whether parts of a window may be reduced first, and their results like elements."""

    @property
    def neutral(self) -> Number | None:
        """An element that changes no reduction; None where there is none, or where it matters which element it is."""
        return None

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
            self.ceil,
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

    def initial(self, b: Builder) -> list[Scalar]:
        """The initial values of the reduction over one window."""
        return [b.const(self.neutral or 0, element_type_of(self.x))]

    @abstractmethod
    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        """The reduction after the element `value` of x, which is at index `source`."""

    def finish(self, b: Builder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        """The result element; `count` emits how many taps count for it, in the type of the elements."""
        return carried[0]

    def counted(self, b: Builder, window: SlidingWindow, position: Scalar) -> Scalar:
        """How many taps along one axis count at `position`: those that read an element; at least 1."""
        low, high = window.taps(b, position)
        return high - low if window.never_empty else b.max(high - low, 1)

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        bounds = self.bounds(b, index)
        return WindowOp.total(
            self, b, index, reads, b.reduce(bounds, self.initial(b), lambda i, c: self._step(b, index, i, reads, c))
        )

    def bounds(self, b: Builder, index: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
        """The taps along each spatial axis that the element at `index` reduces."""
        return [w.taps(b, p) for w, p in zip(self.windows(), index[2 : 2 + self.rank], strict=True)]

    def source(self, index: Sequence[Scalar], taps: Sequence[Scalar]) -> list[Scalar]:
        """The index in x that taps see for the element at `index`."""
        end = 2 + self.rank
        sources = (w.source(p, tap) for w, p, tap in zip(self.windows(), index[2:end], taps, strict=True))
        return [*index[:2], *sources, *index[end:]]

    def _step(
        self, b: Builder, index: Sequence[Scalar], taps: list[Scalar], reads: Sequence[Reader], carried: list[Scalar]
    ) -> list[Scalar]:
        source = self.source(index, taps)
        return self.combine(b, source, reads[0](source), carried)

    # Slice after slice

    def slices(self) -> GradualSlices | None:
        """Along the first spatial axis of more than one position, where the result has one."""
        found = next(((axis, window) for axis, window in enumerate(self.windows()) if window.extent > 1), None)
        if found is None or found[1].positions > 1:
            return None
        axis, window = found
        low = ceil_div(max(window.before, 0), window.dilation)
        count = min(ceil_div(window.extent + window.before, window.dilation), window.size) - low
        return (
            GradualSlices(2 + axis, low * window.dilation - window.before, window.dilation, count)
            if count > 0
            else None
        )

    def start(self, b: Builder) -> list[Scalar]:
        return self.initial(b)

    def after(
        self, b: Builder, index: Sequence[Scalar], number: Scalar, reads: Sequence[Reader], partial: list[Scalar]
    ) -> list[Scalar]:
        return self.reduced(b, index, number, partial, lambda taps, now: self._step(b, index, taps, reads, now))

    def reduced(
        self,
        b: Builder,
        index: Sequence[Scalar],
        number: Scalar,
        partial: list[Scalar],
        step: Callable[[list[Scalar], list[Scalar]], list[Scalar]],
    ) -> list[Scalar]:
        """The values that a reduction by `step` of taps carries after the slice with a number."""
        slices = self.slices()
        assert slices is not None, "there are slices"
        axis, bounds = slices.axis - 2, self.bounds(b, index)
        low, _ = bounds.pop(axis)
        return b.reduce(bounds, partial, lambda i, now: step([*i[:axis], low + number, *i[axis:]], now))

    def total(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], partial: list[Scalar]) -> Scalar:
        def count() -> Scalar:
            position = index[2 : 2 + self.rank]
            counts = [self.counted(b, w, p) for w, p in zip(self.windows(), position, strict=True)]
            return b.cast(product(b, counts), element_type_of(self.x))

        return self.finish(b, count, partial)


def product(b: Builder, factors: Sequence[Scalar]) -> Scalar:
    """The product of indices."""
    result = b.index(1)
    for factor in factors:
        result = result * factor
    return result


@irdl_op_definition
class MaxPoolOp(WindowOp):
    """The greatest element of each window; NaN if it holds one."""

    name = "graph.max_pool"
    IN_PARTS: ClassVar[bool] = True

    @property
    def neutral(self) -> Number:
        return least(element_type_of(self.x))

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return [b.max(carried[0], value)]


@irdl_op_definition
class MaxPoolIndicesOp(WindowOp):
    """Where in x, flattened, the (first) greatest element of each window is: i64.

    `column_major` flattens the spatial axes with the first one fastest; N and C stay the slowest.
    """

    name = "graph.max_pool_indices"
    column_major = opt_bool_prop()
    BLOCKED: ClassVar[bool] = False

    def result_element_type(self) -> Attribute:
        return i64

    def initial(self, b: Builder) -> list[Scalar]:
        return [b.const(least(kind := element_type_of(self.x)), kind), b.const(-1, i64)]

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        best, where = carried
        axes = list(range(len(source)))
        if self.column_major:
            axes[2:] = reversed(axes[2:])
        x = shape_of(self.x)
        flat = linearize(b, [source[axis] for axis in axes], [x[axis] for axis in axes])
        better = b.compare("gt", value, best) | b.compare("lt", where, 0)
        return [b.select(better, value, best), b.select(better, b.cast(flat, i64), where)]

    def finish(self, b: Builder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        return carried[1]


@irdl_op_definition
class AveragePoolOp(WindowOp):
    """The mean of each window; with `include_pad` its padding counts as zeros. An empty window gives 0."""

    name = "graph.average_pool"
    include_pad = opt_bool_prop()

    @property
    def neutral(self) -> Number:
        return 0

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. float")
        return super().infer_types()

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return [carried[0] + value]

    def counted(self, b: Builder, window: SlidingWindow, position: Scalar) -> Scalar:
        return window.padded_taps(b, position) if self.include_pad else super().counted(b, window, position)

    def finish(self, b: Builder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        return carried[0] / count()


@irdl_op_definition
class SumPoolOp(WindowOp):
    """The sum of each window of narrow integers less their zero point, in i32."""

    name = "graph.sum_pool"
    x_zero_point = opt_int_prop()
    BLOCKED: ClassVar[bool] = False

    @property
    def neutral(self) -> Number:
        return self.x_zero_point or 0

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. narrow")
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return i32

    def initial(self, b: Builder) -> list[Scalar]:
        return [b.const(0, i32)]

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        point = self.x_zero_point or 0
        return [carried[0] + (b.cast(value, i32) - point)]


@irdl_op_definition
class LpPoolOp(WindowOp):
    """The p-norm of each window: (sum of |x|^p)^(1/p)."""

    name = "graph.lp_pool"
    p = int_prop()

    @property
    def neutral(self) -> Number:
        return 0

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. float")
        expect_within(self, "p", 1)
        return super().infer_types()

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        if self.p == 2:
            return [carried[0] + value * value]
        size = b.math("absf", value)
        return [carried[0] + (size if self.p == 1 else b.pow(size, b.const(float(self.p), size.dtype)))]

    def finish(self, b: Builder, count: Callable[[], Scalar], carried: list[Scalar]) -> Scalar:
        (total,) = carried
        if self.p == 1:
            return total
        if self.p == 2:
            return b.math("sqrt", total)
        return b.pow(total, b.const(1 / self.p, total.dtype))
