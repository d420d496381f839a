"""Exact remainders of tiles of f32.

What a multiply-add leaves of a dividend by its quotient, rounded to 24 bits, is exact, and but for the last step at
most 2^-23 of it (R. Brent and P. Zimmermann, Modern Computer Arithmetic, section 1.4). Nearly always the first quotient
is the only one.
"""

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32

from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder

_STEPS = 16
"""Quotients of any two numbers: 24 bits each of 277."""
_SCALE = 2.0**100
"""No quotient by the divisor times a power of this overflows."""


def remainder(b: TileBuilder, dividend: Scalar, divisor: Scalar) -> Scalar:
    """C's `fmod` of tiles of f32; multiply-adds must round once."""
    x, m = b.abs(dividend), b.abs(divisor)

    def step(left: Scalar, by: Scalar) -> Scalar:
        return b.fma(-b.math("trunc", left / by), by, left)

    def scaled_step(_index: Scalar, carried: list[Scalar]) -> list[Scalar]:
        (left,), by = carried, m
        for _ in range(2):
            by = b.select(b.compare("ge", b.abs(left), by * _SCALE), by * _SCALE, by)
        return [step(left, by)]

    once = step(x, m)
    is_whole = b.select(b.compare("lt", x, m), b.const(1, i32), 0)  # also where the divisor is infinite
    is_done = b.select(b.compare("lt", b.abs(once), m), b.const(1, i32), is_whole)
    all_done = b.compare("ne", b.total("min", is_done), 0)
    (left,) = b.when(all_done, lambda: [once], lambda: b.loop(0, _STEPS, 1, [x], scaled_step))
    left = b.select(b.compare("lt", left, 0), left + m, left)
    left = b.select(b.compare("lt", x, m), x, left)
    return Scalar(b, f32, b.emit(math.CopySignOp(left.ssa, dividend.ssa)))
