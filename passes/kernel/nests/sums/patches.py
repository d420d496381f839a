"""Convolution by patches: what a position sees is copied to one strip, which all outputs are computed from.

For short rows of a window, as those of a first layer with few channels: the patch fills vector registers, whatever the
rows are, and has the number in it that what lies outside counts as.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aotc.dialects.aot import LANES
from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.nests.sums.conv_sums_nest import ChannelsLastNest
from aotc.passes.kernel.nests.sums.position_axes import Span


@dataclass(frozen=True)
class PatchSums(ChannelsLastNest):
    """Convolution with the channels last: x [N, spatial.., W * C], patch [kernel.., C], result [N, 1, spatial.., M]."""

    def emit(self) -> None:
        """Emit the nest."""
        self.b.parallel_for([self.shape[0], *self.shape[2:-1]], self._position)

    def _position(self, index: list[Scalar]) -> None:
        b, (batch, *position) = self.b, index
        spans = [window.taps(b, at) for window, at in zip(self.windows, position, strict=True)]
        inside = whole = b.index(0)
        for (low, high), window in zip(spans, self.windows, strict=True):
            inside, whole = inside + (high - low), whole + window.size
        if inside.constant == whole.constant:
            self._copy(batch, position)
        else:

            def copied() -> list[Scalar]:
                self._copy(batch, position)
                return []

            def cut() -> list[Scalar]:
                self._fill()
                self._copy_cut(batch, position, spans)
                return []

            b.when(b.compare("eq", inside, whole), copied, cut)
        depth = b.index(self.depth)
        patched = replace(self, reads=(self.reads[-1], *self.reads[1:]))

        def at(_: Scalar, output: Scalar) -> list[Scalar]:
            return [batch, b.index(0), *position, output]

        def tile(output: Scalar, width: int) -> None:
            sums = self.start(output, width, 1)
            sums = patched.add(sums, [lambda e: [e]], self.begin(output, None, width), (b.index(0), depth))
            self.finish(sums, at, output, width)

        self.blocks(tile)

    @property
    def _rows(self) -> list[int]:
        """The extents of the window whose taps are not neighbours in memory."""
        last = self.windows[-1]
        return [window.size for window in self.windows[: -1 if last.dilation == 1 else None]]

    def _source(self, batch: Scalar, position: Sequence[Scalar], taps: Sequence[Scalar]) -> list[Scalar]:
        """The first element of x that some taps see, those of the others being 0."""
        b = self.b
        all_taps = [*taps, *[b.index(0)] * (len(self.windows) - len(taps))]
        *outer, last = (w.source(p, k) for w, p, k in zip(self.windows, position, all_taps, strict=True))
        return [batch, *outer, last * self.channels]

    def _target(self, taps: Sequence[Scalar]) -> Scalar:
        """Where a row is in the patch."""
        row = self.b.index(0)
        for tap, extent in zip(taps, self._rows, strict=True):
            row = row * extent + tap
        return row * (self.depth // math.prod(self._rows))

    def _copy(self, batch: Scalar, position: Sequence[Scalar]) -> None:
        """All rows of a window that lies in x, a register at a time."""
        b, length = self.b, self.depth // math.prod(self._rows)

        def row(taps: list[Scalar]) -> None:
            *outer, first = self._source(batch, position, taps)
            target = self._target(taps)
            for at in range(0, length, LANES):
                tile = Tile((LANES,), length - at if length - at < LANES else None)
                value = self.x.read([*outer, tile.index(b, first + at, {-1: 1})])
                self.writes[1]([tile.index(b, target + at, {-1: 1})], value)

        b.sequential_for(self._rows, row)

    def _fill(self) -> None:
        """The patch with what lies outside of x."""
        b, depth, kind = self.b, self.depth, self.x.dtype
        for at in range(0, depth, LANES):
            tile = Tile((LANES,), depth - at if depth - at < LANES else None)
            self.writes[1]([tile.index(b, at, {-1: 1})], b.const(self.op.beyond, kind))

    def _copy_cut(self, batch: Scalar, position: Sequence[Scalar], spans: Sequence[Span]) -> None:
        """The elements of a window that lie in x."""
        b, rows = self.b, len(self._rows)
        low, high = spans[-1] if rows < len(spans) else (b.index(0), b.index(1))

        def row(taps: list[Scalar], nothing: list[Scalar]) -> list[Scalar]:
            *outer, first = self._source(batch, position, taps)
            target = self._target(taps)
            b.sequential_range(
                low * self.channels,
                high * self.channels,
                1,
                lambda e: self.writes[1]([target + e], self.x.read([*outer, first + e])),
            )
            return nothing

        b.reduce(spans[:rows], [], row)
