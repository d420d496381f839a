"""Pooling: reductions over a window that slides along the spatial axes of x [N, C, spatial...].

Padding takes no part, except in an average with `include_pad`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.graph.interfaces import AnchorOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Scalar, Writer, integer_range, is_float
from aotc.dialects.graph.sliding import SlidingWindow, sliding_windows


class WindowOp(AnchorOp, ABC):
    """One result element per window position; `ceil` admits a last, incomplete window."""

    x = operand_def(TensorType)
    kernel = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    dilations = prop_def(DenseArrayBase)
    ceil = opt_prop_def(BoolAttr)
    result = result_def(TensorType)

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(
            shape_of(self.x)[2:],
            self.ints("kernel"),
            self.ints("strides"),
            self.ints("pads"),
            self.ints("dilations"),
            self.flag("ceil"),
        )

    def result_element_type(self) -> Attribute:
        """The result's element type."""
        return element_type_of(self.x)

    def infer_types(self) -> Sequence[TensorType]:
        x = shape_of(self.x)
        if len(x) < 3:
            raise ShapeError(f"the operand must be [N, C, spatial...], found {list(x)}")
        return [TensorType(self.result_element_type(), [*x[:2], *(w.positions for w in self.windows())])]

    @abstractmethod
    def initial(self, b: LoopBuilder) -> list[Scalar]:
        """What the reduction over one window starts with."""

    @abstractmethod
    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        """The reduction after the element `value` of x, which is at index `source`."""

    @abstractmethod
    def finish(self, b: LoopBuilder, position: Sequence[Scalar], carried: list[Scalar]) -> Scalar:
        """The result element at the spatial index `position`."""

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        windows = self.windows()

        def body(index: list[Scalar]) -> None:
            outer, position = index[:2], index[2:]

            def step(taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                source = [*outer, *(w.source(p, tap) for w, p, tap in zip(windows, position, taps, strict=True))]
                return self.combine(b, source, reads[0](source), carried)

            bounds = [w.taps(b, p) for w, p in zip(windows, position, strict=True)]
            carried = b.reduce(bounds, self.initial(b), step)
            writes[0](index, self.finish(b, position, carried))

        b.for_each(shape_of(self.result), body)


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

    def finish(self, b: LoopBuilder, position: Sequence[Scalar], carried: list[Scalar]) -> Scalar:
        return carried[0]


@irdl_op_definition
class MaxPoolIndicesOp(WindowOp):
    """Where in x, flattened, the (first) greatest element of each window is: i64.

    `column_major` flattens the spatial axes with the first one fastest; N and C stay the slowest.
    """

    name = "graph.max_pool_indices"
    column_major = opt_prop_def(BoolAttr)

    def result_element_type(self) -> Attribute:
        return i64

    def initial(self, b: LoopBuilder) -> list[Scalar]:
        return [_least(b, element_type_of(self.x)), b.const(-1, i64)]

    def combine(self, b: LoopBuilder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        best, where = carried
        axes = list(range(len(source)))
        if self.flag("column_major"):
            axes[2:] = reversed(axes[2:])
        flat = b.index(0)
        for axis in axes:
            flat = flat * shape_of(self.x)[axis] + source[axis]
        better = b.compare("gt", value, best) | b.compare("lt", where, 0)
        return [b.select(better, value, best), b.select(better, b.cast(flat, i64), where)]

    def finish(self, b: LoopBuilder, position: Sequence[Scalar], carried: list[Scalar]) -> Scalar:
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

    def finish(self, b: LoopBuilder, position: Sequence[Scalar], carried: list[Scalar]) -> Scalar:
        count = b.index(1)
        for window, p in zip(self.windows(), position, strict=True):
            if self.flag("include_pad"):
                count = count * window.padded_taps(b, p)
            else:
                low, high = window.taps(b, p)
                seen = high - low
                count = count * (seen if window.never_empty else b.max(seen, 1))
        return carried[0] / b.cast(count, carried[0].dtype)


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

    def finish(self, b: LoopBuilder, position: Sequence[Scalar], carried: list[Scalar]) -> Scalar:
        (total,) = carried
        if self.exponent == 1:
            return total
        if self.exponent == 2:
            return b.math("sqrt", total)
        return b.pow(total, b.const(1 / self.exponent, total.dtype))
