"""Convolution of 8-bit integers whose steps are taken in an order of each panel, most of them two at a time.

Where two steps of a reduction keep to the bounds of `step_pairing`, some processors add them up in fewer instructions.
Which steps those are depends on the weights of a panel. So each panel has an order of its own, and a table says where
the elements of its steps are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i8, i32
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, ParallelOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.dialects.graph.quantized.bytes import FLIPPED, UI8
from aotc.dialects.properties import int_prop, unit_prop
from aotc.mathematics.step_pairing import check_pairing, pair_steps

KINDS = 2
"""Of pairs: plain ones, complemented ones."""


@irdl_op_definition
class PairStepsOp(ConstantPackerOp):
    """The steps of each panel of a constant weight in pairs, as `paired_dot_conv` wants them.

    The weight, i8, is [panels, axes of steps.., width * 4], `start`, i32 [panels * width], what sums start with where x
    is multiplied as it is, `unsigned` says that x has no sign, `pitches` has the distance in x of neighbouring steps
    along each of their axes, in elements. Results are the weight [panels, steps, width * 4], the `places` [panels,
    steps] of its steps, the `counts` [panels, 2] of pairs, and what sums start with: less what products by complements
    are too large.
    """

    name = "graph.pair_steps"
    weight = operand_def(TensorType)
    start = operand_def(TensorType)
    pitches = prop_def(DenseArrayBase)
    unsigned = unit_prop()
    paired = result_def(TensorType)
    places = result_def(TensorType)
    counts = result_def(TensorType)
    sums = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        at, weight = expect(self, weight="panels steps .. width i8"), shape_of(self.weight)
        if at["width"] % GROUP or len(self.ints("pitches")) != len(weight) - 2:
            raise ShapeError(f"a weight {list(weight)} with pitches {list(self.ints('pitches'))}")
        expect(self, start=f"{at['panels'] * at['width'] // GROUP} i32")
        panels, steps = at["panels"], math.prod(weight[1:-1])
        return [
            TensorType(i8, [panels, steps, weight[-1]]),
            TensorType(i32, [panels, steps]),
            TensorType(i32, [panels, KINDS]),
            TensorType(i32, shape_of(self.start)),
        ]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        weight, start = operands
        panels, *axes, width = weight.shape
        split = weight.reshape(panels, -1, width // GROUP, GROUP)
        pitches = np.array(self.ints("pitches"))
        distances = np.indices(axes).reshape(len(axes), -1).T @ pitches
        paired, places = np.empty_like(split), np.empty(split.shape[:2], np.int32)
        counts, sums = np.empty((panels, KINDS), np.int32), start.astype(np.int64).reshape(panels, -1)
        pairings = pair_steps(split, plain=self.unsigned)
        for panel, (steps, pairing) in enumerate(zip(split, pairings, strict=True)):
            paired[panel], places[panel] = steps[pairing.order], distances[pairing.order]
            counts[panel] = pairing.plain, pairing.complemented
            check_pairing(paired[panel], pairing.plain, pairing.complemented)
            complemented = paired[panel][2 * pairing.plain :]
            sums[panel] -= _of_lanes(np.minimum(complemented, 0))
            if self.unsigned:
                sums[panel] += FLIPPED * _of_lanes(complemented)
        shape = (panels, split.shape[1], width)
        return [paired.reshape(shape), places, counts, sums.reshape(-1).astype(np.int32)]


def _of_lanes(steps: Array) -> Array:
    """The sum of all elements of a lane in `steps` [steps, lanes, 4]."""
    count, lanes, group = steps.shape
    return steps.reshape(count, lanes * group).sum(axis=0, dtype=np.int64).reshape(lanes, group).sum(axis=1)


@irdl_op_definition
class PairedDotConvOp(ParallelOp):
    """Convolution of blocked 8-bit integers, padded, in the order of `pair_steps`: a blocked result of sums in i32.

    x is [N, blocks, spatial.., B], the weight, i8, [panels, steps, width * 4], in which each four elements belong to a
    lane; the result is [N, panels, extents.., width]. The elements of a step are four neighbours, `places` [panels,
    steps] further in memory than those of the first channel at a position; so the last index of x goes beyond its
    extent. Sums start with `bias` [panels * width].

    The first 2 * `counts` [panels, 2] steps of a panel are pairs of both kinds (`step_pairing`). All but the plain ones
    are multiplied by magnitudes of weights, complements of x where these are negative (`aot.tile_dot`), x without sign
    being 128 less: a product x * w is more by w where w is negative, and by -128 * w. Sums start with so much less.
    """

    name = "graph.paired_dot_conv"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    places = operand_def(TensorType)
    counts = operand_def(TensorType)
    bias = operand_def(TensorType)
    strides = prop_def(DenseArrayBase)
    extents = prop_def(DenseArrayBase)
    """Positions along each spatial axis."""
    products = int_prop()
    """Of a result: not those of weights that fill up steps."""

    def infer_types(self) -> Sequence[TensorType]:
        tables = {"places": "panels steps i32", "counts": f"panels {KINDS} i32", "bias": "sums i32"}
        at = expect(self, x="N blocks spatial.. B byte", weight="panels steps width i8", **tables)
        x, extents, strides = shape_of(self.x), self.ints("extents"), self.ints("strides")
        panels, lanes = at["panels"], at["width"] // GROUP
        if at["width"] % GROUP or not len(x) - 3 == len(extents) == len(strides):
            raise ShapeError(f"operand {list(x)} and weight {list(shape_of(self.weight))} do not fit {list(extents)}")
        expect(self, bias=f"{panels * lanes}")
        for extent, positions, stride in zip(x[2:-1], extents, strides, strict=True):
            if positions < 1 or (positions - 1) * stride >= extent:
                raise ShapeError(f"{positions} positions with stride {stride} do not fit an extent of {extent}")
        return [TensorType(i32, [x[0], panels, *extents, lanes])]

    @property
    def is_unsigned(self) -> bool:
        """Whether x has no sign."""
        return element_type_of(self.x) == UI8

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * self.products

    def source(self, batch: Scalar, position: Sequence[Scalar], place: Scalar) -> list[Scalar]:
        """Where in x the elements of a step at `place` are."""
        spatial = [at * stride for at, stride in zip(position, self.ints("strides"), strict=True)]
        return [batch, batch.b.index(0), *spatial, place]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        steps, (batch, panel, *position, lane) = shape_of(self.weight)[1], index
        plain = b.cast(reads[3]([panel, b.index(0)]), INDEX) * 2

        def term(at: list[Scalar]) -> Scalar:
            number, element = at
            place = b.cast(reads[2]([panel, number]), INDEX) + element
            x = b.cast(reads[0](self.source(batch, position, place)), i32)
            weight = b.cast(reads[1]([panel, number, lane * GROUP + element]), i32)
            shifted = x - FLIPPED if self.is_unsigned else x
            factor = b.select(b.compare("lt", number, plain), x, shifted - b.shift_right(weight, b.const(31, i32)))
            return factor * weight

        start = reads[4]([panel * shape_of(self.result)[-1] + lane])
        return b.sum([(0, steps), (0, GROUP)], start, term)
