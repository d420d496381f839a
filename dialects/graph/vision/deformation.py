"""Windows whose elements are read at offsets of their own (deformable convolution, arXiv:1703.06211, 1811.11168)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import delinearize
from aotc.dialects.graph.vision.sampling import bilinear


@irdl_op_definition
class DeformOp(ParallelOp):
    """The elements of the windows of x [N, C, D1, .., Dk]: result [N, C, taps, o1, .., ok], the taps row-major.

    A tap reads x linearly at the place that a convolution reads, plus `offsets` [N, groups * taps * k, o1, .., ok],
    times `mask` [N, groups * taps, o1, .., ok] if there is one; outside x is zero. Channels are in as many groups as
    the offsets are for, one after the other.
    """

    name = "graph.deform"
    x = operand_def(TensorType)
    offsets = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))

    @property
    def groups(self) -> int:
        """Groups of channels with offsets of their own."""
        return shape_of(self.offsets)[1] // (math.prod(self.ints("kernel")) * len(self.ints("kernel")))

    def infer_types(self) -> Sequence[TensorType]:
        x, offsets, kernel = shape_of(self.x), shape_of(self.offsets), self.ints("kernel")
        axes, taps = len(kernel), math.prod(kernel)
        lists = [self.ints(name) for name in ("strides", "dilations")]
        if len(x) != axes + 2 or any(len(each) != axes or min(each) < 1 for each in (kernel, *lists)):
            raise ShapeError(f"kernel {list(kernel)}, strides and dilations must have a positive number for each axis")
        pads = self.ints("pads")
        if len(pads) != 2 * axes:
            raise ShapeError(f"pads {list(pads)} must be a begin and an end for each of {axes} axes")
        outer = [
            (extent + pads[i] + pads[axes + i] - (kernel[i] - 1) * lists[1][i] - 1) // lists[0][i] + 1
            for i, extent in enumerate(x[2:])
        ]
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
