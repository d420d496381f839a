"""What positions of a convolution see along its spatial axes, for operations on blocked tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aotc.dialects.graph.loops import LoopBuilder, Scalar
from aotc.dialects.graph.sliding import SlidingWindow, sliding_windows
from aotc.dialects.graph.transposed import Phases, TransposedWindow, transposed_windows


@dataclass(frozen=True)
class Taps:
    """What a position along one axis sees: step k in low..high is `at`(k), an element of x and a tap of the weight."""

    low: Scalar
    high: Scalar
    at: Callable[[Scalar], tuple[Scalar, Scalar]]


class ConvolutionAxes(ABC):
    """The spatial axes of a convolution."""

    @abstractmethod
    def ints(self, name: str) -> tuple[int, ...]:
        """An attribute of the operation, one value (of pads: two) for each axis."""

    @abstractmethod
    def spatial(self) -> tuple[int, ...]:
        """The spatial extents of x."""

    @abstractmethod
    def kernel(self) -> tuple[int, ...]:
        """The extents of the kernel."""

    @abstractmethod
    def extents(self) -> list[int]:
        """The spatial extents of the result; raises ShapeError."""

    @abstractmethod
    def meetings(self) -> Sequence[int]:
        """Spatial extents at each position of which all taps of the kernel are multiplied once."""

    @abstractmethod
    def taps(self, b: LoopBuilder, position: Sequence[Scalar]) -> list[Taps]:
        """What a position sees along the first spatial axes."""

    @abstractmethod
    def phases(self) -> list[Sequence[Phases]]:
        """The positions along each axis, as sliding windows."""


class SlidingAxes(ConvolutionAxes):
    """Of a convolution."""

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        strides, pads, dilations = (self.ints(name) for name in ("strides", "pads", "dilations"))
        return sliding_windows(self.spatial(), self.kernel(), strides, pads, dilations)

    def extents(self) -> list[int]:
        return [window.positions for window in self.windows()]

    def meetings(self) -> Sequence[int]:
        return self.extents()

    def taps(self, b: LoopBuilder, position: Sequence[Scalar]) -> list[Taps]:
        def along(window: SlidingWindow, at: Scalar) -> Taps:
            return Taps(*window.taps(b, at), lambda k: (window.source(at, k), k))

        return [along(window, at) for window, at in zip(self.windows(), position, strict=False)]

    def phases(self) -> list[Sequence[Phases]]:
        return [[Phases(window)] for window in self.windows()]


class TransposedAxes(ConvolutionAxes):
    """Of a transposed convolution, with the attribute output_padding."""

    def windows(self) -> list[TransposedWindow]:
        """The window along each spatial axis; raises ShapeError."""
        names = ("strides", "pads", "dilations", "output_padding")
        return transposed_windows(self.spatial(), self.kernel(), *(self.ints(name) for name in names))

    def extents(self) -> list[int]:
        return [window.positions for window in self.windows()]

    def meetings(self) -> Sequence[int]:
        return self.spatial()

    def taps(self, b: LoopBuilder, position: Sequence[Scalar]) -> list[Taps]:
        meetings = [window.meeting(b, at) for window, at in zip(self.windows(), position, strict=False)]
        return [Taps(m.low, m.high, lambda k, m=m: (m.source(k), m.tap(k))) for m in meetings]

    def phases(self) -> list[Sequence[Phases]]:
        return [window.phases() for window in self.windows()]
