"""Operations that move a window along the spatial axes of x, and what the positions of a convolution see there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.windows.sliding import (
    Residues,
    SlidingWindow,
    TransposedWindow,
    sliding_windows,
    transposed_windows,
)


@dataclass(frozen=True)
class Taps:
    """The taps of a position along one axis: step k in low..high is `at`(k), an element of x and a tap of the
    weight."""

    low: Scalar
    high: Scalar
    at: Callable[[Scalar], tuple[Scalar, Scalar]]


ReadBoth: TypeAlias = Callable[[list[Scalar], list[Scalar], Scalar], tuple[Scalar, Scalar]]
"""The elements of x and of the weight that are multiplied: given where in x a tap is, the tap, and which product it is
of those of the tap."""


def check_bias(bias: SSAValue | None, channels: int, lanes: int | None = None) -> None:
    """Raise ShapeError unless the bias, if there is one, is [channels]; with `lanes`, `channels` counts blocks of that
    many."""
    if bias is not None and shape_of(bias) != (channels * (1 if lanes is None else lanes),):
        of = f"{channels} channels" if lanes is None else f"{channels} blocks of {lanes}"
        raise ShapeError(f"the bias of {of} has shape {list(shape_of(bias))}")


class WindowedOp(ParallelOp, ABC):
    """A window that moves along the spatial axes: one value for each axis, two for pads."""

    strides = prop_def(DenseArrayBase)
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    dilations = prop_def(DenseArrayBase)


class ConvolutionalOp(WindowedOp, ABC):
    """Convolution or transposed convolution of x with a weight; only the spatial axes are the same for all of them.

    The optional bias is what sums start with.
    """

    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)

    def initial(self, b: Builder, reads: Sequence[Reader], place: Sequence[Scalar]) -> Scalar:
        """The initial value of a sum: the bias at `place`, or 0 where there is no bias."""
        return b.const(0, element_type_of(self.result)) if self.bias is None else reads[2](place)

    @abstractmethod
    def spatial(self) -> tuple[int, ...]:
        """The spatial extents of x."""

    @abstractmethod
    def kernel(self) -> tuple[int, ...]:
        """The extents of the kernel."""

    @abstractmethod
    def windows(self) -> Sequence[SlidingWindow | TransposedWindow]:
        """The window along each spatial axis; raises ShapeError."""

    def extents(self) -> list[int]:
        """The spatial extents of the result; raises ShapeError."""
        return [window.positions for window in self.windows()]

    @abstractmethod
    def meetings(self) -> Sequence[int]:
        """Spatial extents at each position of which all taps of the kernel are multiplied once."""

    @abstractmethod
    def taps(self, b: Builder, position: Sequence[Scalar]) -> list[Taps]:
        """The taps of a position along each of the first spatial axes."""

    def multiplied(self, b: Builder, *values: Scalar) -> Sequence[Scalar]:
        """Elements of x and of the weight as they are multiplied."""
        return values

    def sum_over_taps(
        self, b: Builder, position: Sequence[Scalar], start: Scalar, inner: int, read: ReadBoth
    ) -> Scalar:
        """`start` and the products of a position, of which each tap that it sees has `inner`."""
        axes = self.taps(b, position)

        def term(at: list[Scalar]) -> Scalar:
            *steps, number = at
            hits = [axis.at(k) for axis, k in zip(axes, steps, strict=True)]
            x, weight = self.multiplied(b, *read([place for place, _ in hits], [tap for _, tap in hits], number))
            return x * weight

        return b.sum([*((axis.low, axis.high) for axis in axes), (0, inner)], start, term)

    @abstractmethod
    def residues(self) -> list[Sequence[Residues]]:
        """The positions along each axis, as sliding windows."""


class SlidingAxes(ConvolutionalOp, ABC):
    """The spatial axes of a convolution."""

    def windows(self) -> list[SlidingWindow]:
        strides, pads, dilations = (self.ints(name) for name in ("strides", "pads", "dilations"))
        return sliding_windows(self.spatial(), self.kernel(), strides, pads, dilations)

    def meetings(self) -> Sequence[int]:
        return self.extents()

    def taps(self, b: Builder, position: Sequence[Scalar]) -> list[Taps]:
        def along(window: SlidingWindow, at: Scalar) -> Taps:
            return Taps(*window.taps(b, at), lambda k: (window.source(at, k), k))

        return [along(window, at) for window, at in zip(self.windows(), position, strict=False)]

    def residues(self) -> list[Sequence[Residues]]:
        return [[Residues(window)] for window in self.windows()]


class TransposedAxes(ConvolutionalOp, ABC):
    """The spatial axes of a transposed convolution: its result has `output_padding` more elements at their ends."""

    output_padding = prop_def(DenseArrayBase)

    def windows(self) -> list[TransposedWindow]:
        names = ("strides", "pads", "dilations", "output_padding")
        return transposed_windows(self.spatial(), self.kernel(), *(self.ints(name) for name in names))

    def meetings(self) -> Sequence[int]:
        return self.spatial()

    def taps(self, b: Builder, position: Sequence[Scalar]) -> list[Taps]:
        meetings = [window.meeting(b, at) for window, at in zip(self.windows(), position, strict=False)]
        return [Taps(m.low, m.high, lambda k, m=m: (m.source(k), m.tap(k))) for m in meetings]

    def residues(self) -> list[Sequence[Residues]]:
        return [window.residues() for window in self.windows()]
