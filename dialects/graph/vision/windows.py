"""Windows that are read at offsets of their own (deformable convolution, arXiv:1703.06211, 1811.11168), and columns of
windows that are put together to a picture."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import delinearize, linearize
from aotc.dialects.graph.vision.sampling import bilinear
from aotc.dialects.graph.windows.sliding import TransposedWindow, check_counts


class PatchesOp(ParallelOp, ABC):
    """Windows of shape `kernel`, which lie in a padded picture by `strides` and `dilations`."""

    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))

    def counts(self, extents: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis of a picture of these extents; raises ShapeError."""
        names, pads, axes = ("kernel", "strides", "dilations"), self.ints("pads"), len(extents)
        lists = [self.ints(name) for name in names]
        check_counts(axes, pads, dict(zip(names, lists, strict=True)))
        if any(value < 1 for each in lists for value in each):
            raise ShapeError("kernel, strides and dilations must be positive")
        return tuple(
            (extent + before + after - (size - 1) * dilation - 1) // stride + 1
            for extent, before, after, size, stride, dilation in zip(
                extents, pads[:axes], pads[axes:], *lists, strict=True
            )
        )


@irdl_op_definition
class DeformOp(PatchesOp):
    """The elements of the windows of x [N, C, D1, .., Dk]: result [N, C, taps, o1, .., ok], the taps row-major.

    A tap reads x linearly at the place that a convolution reads, plus `offsets` [N, groups * taps * k, o1, .., ok],
    times `mask` [N, groups * taps, o1, .., ok] if there is one; outside x is zero. Channels are in as many groups as
    the offsets are for, one after the other.
    """

    name = "graph.deform"
    x = operand_def(TensorType)
    offsets = operand_def(TensorType)
    mask = opt_operand_def(TensorType)

    @property
    def groups(self) -> int:
        """Groups of channels with offsets of their own."""
        return shape_of(self.offsets)[1] // (math.prod(self.ints("kernel")) * len(self.ints("kernel")))

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="N C D ..")
        x, offsets, kernel = shape_of(self.x), shape_of(self.offsets), self.ints("kernel")
        outer, axes, taps = self.counts(x[2:]), len(kernel), math.prod(kernel)
        expect(self, offsets=f"{x[0]} offsets {' '.join(map(str, outer))}")
        if not offsets[1] or offsets[1] % (taps * axes) or x[1] % self.groups:
            raise ShapeError(f"{offsets[1]} offsets are not for groups of {taps} taps that divide {x[1]} channels")
        expect(self, mask=f"{x[0]} {self.groups * taps} {' '.join(map(str, outer))}")
        kind = common_element_type(*self.operands)
        Domain.FLOAT.require(kind, "x")
        return [TensorType(kind, [*x[:2], taps, *outer])]

    def operations(self) -> int:
        return 2 ** (len(self.ints("kernel")) + 1) * math.prod(shape_of(self.result))

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, kernel, pads = shape_of(self.x), self.ints("kernel"), self.ints("pads")
        strides, dilations = self.ints("strides"), self.ints("dilations")
        axes, taps = len(kernel), math.prod(kernel)
        kind = compute_type(element_type_of(self.x))
        batch, channel, tap, *at = index
        group = channel / (x[1] // self.groups)
        first = group * taps + tap
        places: list[Scalar] = []
        for axis, within in enumerate(delinearize(b, tap, kernel)):
            start = b.cast(b.cast(at[axis] * strides[axis] + within * dilations[axis], i64) - pads[axis], kind)
            places.append(start + reads[1]([batch, first * axes + axis, *at]))
        value = bilinear(b, lambda where: reads[0]([batch, channel, *where]), places, x[2:])
        return value if self.mask is None else value * reads[2]([batch, first, *at])


@irdl_op_definition
class FoldOp(PatchesOp):
    """Columns [N, C * taps, windows] added up where they come from: result [N, C, image...].

    Windows of shape `kernel` lie in the padded image by `strides` and `dilations`, row-major, as do the taps of each.
    """

    name = "graph.fold"
    x = operand_def(TensorType)
    image = prop_def(DenseArrayBase.constr(i64))

    def windows(self) -> tuple[int, ...]:
        """How many windows there are along each axis; raises ShapeError."""
        return self.counts(self.ints("image"))

    def infer_types(self) -> Sequence[TensorType]:
        x, taps, windows = shape_of(self.x), math.prod(self.ints("kernel")), self.windows()
        if not windows:
            raise ShapeError("the image has no axes")
        Domain.NUMBER.require(element_type_of(self.x), "x")
        if len(x) != 3 or x[1] % taps or min(windows) < 0 or x[2] != math.prod(windows):
            raise ShapeError(f"x must be [N, C * {taps}, {math.prod(windows)}], found {list(x)}")
        return [TensorType(element_type_of(self.x), [x[0], x[1] // taps, *self.ints("image")])]

    def operations(self) -> int:
        return math.prod(shape_of(self.x))

    def axes(self) -> list[TransposedWindow]:
        """How windows lie along each axis of the image."""
        image, pads = self.ints("image"), self.ints("pads")
        names = [self.ints(name) for name in ("kernel", "strides", "dilations")]
        each = zip(self.windows(), *names, pads[: len(image)], pads[len(image) :], strict=True)
        whole = [TransposedWindow(*axis, more=0) for axis in each]
        return [replace(each, more=extent - each.positions) for each, extent in zip(whole, image, strict=True)]

    def source(
        self, b: Builder, index: Sequence[Scalar], taps: Sequence[Scalar], windows: Sequence[Scalar]
    ) -> list[Scalar]:
        """Where in x the element is that a tap of a window adds at an index of the result."""
        kernel = self.ints("kernel")
        row = index[1] * math.prod(kernel) + linearize(b, taps, kernel)
        return [index[0], row, linearize(b, windows, self.windows())]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        meetings = [axis.meeting(b, place) for axis, place in zip(self.axes(), index[2:], strict=True)]

        def add(steps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            hits = list(zip(meetings, steps, strict=True))
            taps, windows = [each.tap(step) for each, step in hits], [each.source(step) for each, step in hits]
            return [carried[0] + reads[0](self.source(b, index, taps, windows))]

        zero = b.const(0, compute_type(element_type_of(self.x)))
        return b.reduce([(each.low, each.high) for each in meetings], [zero], add)[0]
