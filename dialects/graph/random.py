"""Random numbers from a counter: element i is a function of the seed and of i alone, the same by every route.

The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), whose state
after n steps is seed + n * gamma, so that any element can be computed first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, StringAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, compute_type, is_float
from aotc.dialects.graph.checks import expect_choice
from aotc.dialects.graph.interfaces import ElementOp, ShapeError
from aotc.dialects.graph.shapes import linearize
from aotc.dialects.properties import float_prop, int_prop

GAMMA = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST = 31
_UINT64 = ELEMENT_TYPES["uint64"]


def bits_of(b: Builder, seed: int, number: Scalar) -> Scalar:
    """Number `number`, from 0 on, of the sequence of 64-bit integers that `seed` begins."""
    value = (b.cast(b.cast(number, i64), _UINT64) + 1) * GAMMA + seed % 2**64
    for shift, factor in _MIX:
        value = (value ^ b.shift_right(value, b.const(shift, _UINT64))) * factor
    return value ^ b.shift_right(value, b.const(_LAST, _UINT64))


def unit(b: Builder, bits: Scalar, kind: Attribute) -> Scalar:
    """The upper bits of one as a float of `kind` in [0, 1)."""
    width = 53 if isinstance(kind, Float64Type) else 24
    upper = b.shift_right(bits, b.const(64 - width, _UINT64))
    return b.cast(b.cast(upper, i64), kind) * 2.0**-width


@irdl_op_definition
class RandomOp(ElementOp):
    """Random numbers of element type `to` and shape `shape`.

    `distribution` is uniform, from `low` on and below `high`; or normal, of mean `low` and standard deviation `high`
    (Box and Muller, 1958: two integers an element). A float of 64 bits has 53 random bits, others have 24.
    """

    name = "graph.random"
    distribution = prop_def(StringAttr)
    seed = int_prop()
    low = float_prop()
    high = float_prop()
    shape = prop_def(DenseArrayBase.constr(i64))
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        expect_choice(self, "distribution", ("uniform", "normal"))
        if not is_float(self.to) or any(extent < 0 for extent in self.ints("shape")):
            raise ShapeError(f"random numbers are floats of some shape, found {self.to}, {list(self.ints('shape'))}")
        return [TensorType(self.to, self.ints("shape"))]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        kind, seed = compute_type(self.to), self.seed
        low, high = self.low, self.high
        position = linearize(b, index, self.ints("shape"))
        if self.distribution.data == "uniform":
            return unit(b, bits_of(b, seed, position), kind) * (high - low) + low
        radius = b.math("sqrt", b.math("log", 1 - unit(b, bits_of(b, seed, position * 2), kind)) * -2.0)
        angle = unit(b, bits_of(b, seed, position * 2 + 1), kind) * (2 * math.pi)
        return radius * b.math("cos", angle) * high + low
