"""Write exp, log, log1p, tanh, erf, sin and cos of f32 as polynomials, in vectorised kernels.

Tiles need it because there is no library function for a vector register. Single elements in such kernels are expanded,
too, so that a function has the same value wherever in a kernel it is evaluated. Other kernels keep the functions of the
math dialect, which become calls of libm.

Before:
```mlir
%y = math.exp %x : vector<4x16xf32>
```
After (`exponential` below):
```mlir
%low = arith.constant dense<-104.0> : vector<4x16xf32>
%0 = aot.tile_compare "olt" %x, %low : vector<4x16xf32> -> vector<4x16xi1>
%1 = aot.tile_select %0, %low, %x : vector<4x16xf32>
..
%y = arith.mulf %30, %31 : vector<4x16xf32>
```
Every operation rounds once (products that are added are `math.fma`), so all targets compute the same bits. The
polynomials are minimax fits to the relative error (Remez' algorithm); what holds of each function is in its docstring,
with errors measured over all 2^32 arguments, in units of the last place (ulp) of the exact result. Of x / c or c x with
a constant c, erf and tanh have that in their coefficients, which is at most one ulp further off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, nan, pi, prod
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, ModuleOp, VectorType, f32, f64, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import NONPOSITIVE
from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.builder import Scalar
from aotc.dialects.operations import walk
from aotc.passes.kernel.builders.tile_builder import TileBuilder

Function: TypeAlias = Callable[[TileBuilder, Scalar], Scalar]

AT_A_TIME = 4
"""The most registers of a tile that one polynomial works on, so that its intermediate results stay in registers,
too."""


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Write exp, log, log1p, tanh, erf, sin and cos of f32 as polynomials, in vectorised kernels."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration and _has_tiles(function):
                _expand(function)


def _has_tiles(function: FuncOp) -> bool:
    return any(isinstance(value.type, VectorType) for op in walk(function) for value in (*op.results, *op.operands))


def _expand(function: FuncOp) -> None:
    builder = TileBuilder(function.body.block)
    for op in list(walk(function)):
        if (expansion := _function(op)) is not None and _element(op) == f32:
            _replace(op, expansion, builder)


def _function(op: Operation) -> Function | None:
    if isinstance(op, math.ExpOp) and NONPOSITIVE.on(op):
        return _exponential_of_nonpositive
    return _FUNCTIONS.get(type(op))


def _replace(op: Operation, expansion: Function, b: TileBuilder) -> None:
    written, result = Block(), op.results[0]

    def write() -> None:
        function, x = _applied(op, expansion)
        value = _in_pieces(b, function, Scalar(b, f32, x)).ssa
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)

    b.within(written, write)
    block = op.parent
    assert block is not None
    new = list(written.ops)
    for each in new:
        each.detach()
        each.location = op.location
    block.insert_ops_before(new, op)
    given = op.operands[0].owner
    op.detach()
    op.erase()
    if isinstance(given, arith.DivfOp | arith.MulfOp) and not given.result.uses:
        given.detach()
        given.erase()


def _applied(op: Operation, expansion: Function) -> tuple[Function, SSAValue]:
    """The function that computes `op`, and its argument; a constant factor of the operand goes into the
    coefficients."""
    scaled, product = _SCALED.get(type(op)), _product(op.operands[0])
    if scaled is None or product is None:
        return expansion, op.operands[0]
    x, factor = product
    return lambda b, value: scaled(b, value, factor), x


def _product(value: SSAValue) -> tuple[SSAValue, float] | None:
    """x and a constant factor of which `value` is the product; None where it is none or the factor is far from 1."""
    op = value.owner
    if not isinstance(op, arith.DivfOp | arith.MulfOp):
        return None
    sides = [(op.lhs, op.rhs)] if isinstance(op, arith.DivfOp) else [(op.lhs, op.rhs), (op.rhs, op.lhs)]
    for x, other in sides:
        if (number := _constant(other)) is not None and 1 / _MOST_FACTOR <= number <= _MOST_FACTOR:
            return x, 1 / number if isinstance(op, arith.DivfOp) else number
    return None


def _constant(value: SSAValue) -> float | None:
    """The number that is `value`, or every element of it."""
    attribute = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    if isinstance(attribute, DenseIntOrFPElementsAttr) and attribute.is_splat():
        return float(np.asarray(attribute.get_values()[0]))
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _element(op: Operation) -> Attribute:
    kind = op.results[0].type
    return kind.element_type if isinstance(kind, VectorType) else kind


def _in_pieces(b: TileBuilder, function: Function, x: Scalar) -> Scalar:
    """`function` of x, at most `AT_A_TIME` registers at once."""
    sizes = tile_shape(x.ssa)[:-1]
    if prod(sizes) <= AT_A_TIME:
        return function(b, x)
    axis = next(axis for axis, extent in enumerate(sizes) if extent > 1)
    step = max(AT_A_TIME // prod(sizes[axis + 1 :]), 1)
    result = x
    for start in range(0, sizes[axis], step):
        offsets = [0] * axis + [start] + [0] * (len(sizes) - axis - 1)
        part = b.slice(x, offsets, [*sizes[:axis], min(step, sizes[axis] - start), *sizes[axis + 1 :]])
        result = b.replace(_in_pieces(b, function, part), result, offsets)
    return result


# --- the parts of floats, and polynomials ----------------------------------------------------------------------------


def _reinterpret(b: TileBuilder, x: Scalar, dtype: Attribute) -> Scalar:
    shape = tile_shape(x.ssa)
    return Scalar(b, dtype, b.emit(arith.BitcastOp(x.ssa, tile_type(shape, dtype) if shape else dtype)))


def _bits(b: TileBuilder, x: Scalar) -> Scalar:
    return _reinterpret(b, x, i32)


def _bits_of(value: float) -> int:
    """The bits of a number as f32."""
    return int(np.float32(value).view(np.int32))


def _float(b: TileBuilder, x: Scalar) -> Scalar:
    return _reinterpret(b, x, f32)


def _number(b: TileBuilder, value: float) -> Scalar:
    return b.const(value, f32)


def _polynomial(b: TileBuilder, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """The sum of coefficients[k] * x^k, by Horner's rule."""
    value = _number(b, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = b.fma(x, value, _number(b, coefficient))
    return value


def _with_sign(b: TileBuilder, magnitude: Scalar, sign: Scalar) -> Scalar:
    return Scalar(b, f32, b.emit(math.CopySignOp(magnitude.ssa, sign.ssa)))


_ONE = 127 << 23
"""The bits of 1.0; 2^n is n << 23 more."""
_LOG2_E = 1.442695040888963
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.121944400546905e-4
"""ln 2 in two parts: a multiple of the first with ten bits is exact in f32 (Cody and Waite)."""
_LEAST_LOG = -126 / _LOG2_E
"""The logarithm of the least normal number."""
_ROUNDER = 1.5 * 2.0**23
"""Added to a small number, it leaves that rounded to an integer in the low bits of the sum."""


def _reduce(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, r) such that x = n ln 2 + r with |r| <= ln 2 / 2 for |x| < 200; n is in the low bits of an integer."""
    shifted = b.fma(x, _number(b, _LOG2_E), _number(b, _ROUNDER))
    n = shifted - _ROUNDER
    r = b.fma(n, _number(b, -_LN2_LOW), b.fma(n, _number(b, -_LN2_HIGH), x))
    return _bits(b, shifted), r


# (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2; e^r has relative error 3.1e-9
_EXP = (0.49999993432, 0.166665203987, 0.0416683908113, 0.00836874513761, 0.00138145390305)


# --- the functions ---------------------------------------------------------------------------------------------------


def exponential(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x to 0.9 ulp, subnormal results too; overflow is inf, NaN stays NaN.

    x = n ln 2 + r (Cody and Waite); 2^n is applied as two factors, each of which is a normal number.
    """
    x = b.min(b.max(x, -104.0), 89.0)
    n, r = _reduce(b, x)
    power = _polynomial(b, r, (1.0, 1.0, *_EXP))
    half = b.shift_left(n, b.const(22, i32)) & -(1 << 23)  # (n >> 1) << 23
    rest = b.shift_left(n, b.const(23, i32)) - half
    return power * _float(b, half + _ONE) * _float(b, rest + _ONE)


def _exponential_of_nonpositive(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x for x <= 0 to 0.9 ulp, 0 where that is less than 2^-126; NaN stays NaN."""
    n, r = _reduce(b, x)
    scale = _float(b, b.shift_left(n, b.const(23, i32)) + _ONE)
    power = _polynomial(b, r, (1.0, 1.0, *_EXP)) * scale
    return b.select(b.compare("lt", x, _LEAST_LOG), _number(b, 0.0), power)


def _exponential_minus_1(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x - 1 for -80 <= x <= 0."""
    n, r = _reduce(b, x)
    power = b.fma(_polynomial(b, r, _EXP) * r, r, r)
    scale = _float(b, b.shift_left(n, b.const(23, i32)) + _ONE)
    return b.fma(scale, power, scale - 1)


# (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2); log(1 + f) has relative error 5.8e-9
_LOG = (
    *(0.333333317078, -0.250008210304, 0.200012268684, -0.166233574573),
    *(0.142017582368, -0.131601816857, 0.127615752271, -0.0763449593516),
)
_LEAST_NORMAL = 2.0**-126
_SQRT_HALF = 0x3F3504F3
"""The bits of sqrt(1/2)."""


def logarithm(b: TileBuilder, x: Scalar) -> Scalar:
    """ln x to 0.87 ulp, of subnormal numbers too; ln 0 = -inf, ln inf = inf, NaN of negative numbers and NaN.

    Subnormal numbers are scaled to normal ones.
    """
    small = b.compare("lt", x, _LEAST_NORMAL)
    shifted, f = _log_parts(b, b.select(small, x * 2.0**23, x))
    n = b.cast(b.shift_right(shifted, b.const(23, i32)), f32) + b.select(small, _number(b, -23.0), 0.0)
    return _log_special(b, x, x, _log_sum(b, n, f))


def logarithm_of_1_plus(b: TileBuilder, x: Scalar) -> Scalar:
    """ln(1 + x) to 1.5 ulp, with the sign of x; of -1 it is -inf, of inf inf, of less and of NaN NaN.

    As ln u of u = 1 + x, rounded, where f takes what was rounded off.
    """
    u = x + 1.0
    shifted, f = _log_parts(b, u)
    scale = _float(b, b.max(_ONE - shifted, 0))  # 2^-n; where it is 0, no rest counts
    n = b.cast(b.shift_right(shifted, b.const(23, i32)), f32)
    value = _log_sum(b, n, b.fma(x - (u - 1.0), scale, f))
    return _log_special(b, x, u, _with_sign(b, value, x))


def _log_parts(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, f) such that x = 2^n (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for normal x; n is shifted by 23 bits."""
    bits = _bits(b, x)
    shifted = (bits - _SQRT_HALF) & -(1 << 23)
    return shifted, _float(b, bits - shifted) - 1


def _log_sum(b: TileBuilder, n: Scalar, f: Scalar) -> Scalar:
    """n ln 2 + ln(1 + f) = n ln 2 + f - f^2 / 2 + f^3 P(f)."""
    square = f * f
    tail = b.fma(n, _number(b, _LN2_LOW), f * square * _polynomial(b, f, _LOG))
    return b.fma(n, _number(b, _LN2_HIGH), f + b.fma(square, _number(b, -0.5), tail))


def _log_special(b: TileBuilder, x: Scalar, u: Scalar, value: Scalar) -> Scalar:
    """`value`, ln u, but for what is no positive finite u; infinity and NaN are x."""
    value = b.select(b.compare("lt", x, inf), value, x)
    value = b.select(b.compare("lt", u, 0.0), _number(b, nan), value)
    return b.select(b.compare("eq", u, 0.0), _number(b, -inf), value)


def hyperbolic_tangent(b: TileBuilder, x: Scalar, factor: float = 1.0) -> Scalar:
    """tanh factor x to 2.5 ulp (3.5 with a factor), never beyond 1: |tanh x| = -e / (2 + e), e = exp(-2 |x|) - 1."""
    e = _exponential_minus_1(b, b.min(b.abs(x), 10.0 / factor) * (-2.0 * factor))
    return _with_sign(b, e / (e + 2.0), x)


# erf(x) / x = P(x^2) / Q(x^2) to relative error 1.4e-8 up to _ERF_END, from where on erf rounds to 1 or the number
# before; P and Q are scaled by the common factor for which their rounded coefficients are best
_ERF_P = (0.950079322, 0.157640606, 0.0441284031, 0.00307304529, 0.000240793699, 1.78944413e-06)
_ERF_Q = (0.841985881, 0.420366943, 0.0950333923, 0.0124079315, 0.000960852019, 3.27719717e-05)
_ERF_END = 3.83


def error_function(b: TileBuilder, x: Scalar, factor: float = 1.0) -> Scalar:
    """erf factor x to 5.6 ulp (6.1 with a factor), never beyond 1: x times a rational function of x^2 (weighted least
    squares, reweighted to the least maximum as Lawson did)."""
    x = b.min(b.max(x, -_ERF_END / factor), _ERF_END / factor)
    square = x * x
    p = [coefficient * factor ** (2 * k + 1) for k, coefficient in enumerate(_ERF_P)]
    q = [coefficient * factor ** (2 * k) for k, coefficient in enumerate(_ERF_Q)]
    ratio = x * _polynomial(b, square, p) / _polynomial(b, square, q)
    return b.min(b.max(ratio, -1.0), 1.0)


_HALF_PI = (1.5703125, 4.837512969970703e-4, 7.549533620476723e-8, 2.5633440682570896e-12)
"""pi / 2 in parts: a multiple of each but the last with thirteen bits is exact in f32 (Cody and Waite)."""
_FAR = 12800.0
"""Up to where multiples of pi / 2 have thirteen bits: those below 2^13."""
_TURNS = (
    *(0.15915494272485375, 3.6704158115630214e-10, 5.690025167992954e-19),
    *(1.4703036846932608e-27, 2.5867171752090537e-36, 9.458140970740169e-46),
)
"""1 / (2 pi) in parts of 29 bits, so that a multiple of each with 24 bits is exact in f64, and a last one of 53."""
# (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in powers of r^2 for |r| <= pi / 4; the relative errors of
# sin r and cos r are 3.9e-9 and 1.2e-10
_SIN = (-0.166666543897, 0.00833214659504, -0.000195133273652)
_COS = (0.0416666452955, -0.00138872970327, 2.44309225967e-05)


def _quadrants(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, r) such that x = n pi / 2 + r with |r| <= pi / 4, a little more at most; n is in the low bits of an integer.

    Of x >= 0 and finite. The rare numbers beyond `_FAR` are reduced apart, if any element of x is one.
    """
    shifted = b.fma(x, _number(b, 2 / pi), _number(b, _ROUNDER))
    n = shifted - _ROUNDER
    first, second, third, fourth = (_number(b, -part) for part in _HALF_PI)
    above = b.fma(n, second, b.fma(n, first, x))  # exact, and so is what the next sum rounds off
    r = b.fma(n, third, above)
    r = r + b.fma(n, fourth, b.fma(n, third, above - r))
    near, bits = [_bits(b, shifted), r], _bits(b, x)

    def with_far() -> list[Scalar]:
        far = b.compare("gt", x, _FAR)
        return [b.select(far, each, other) for each, other in zip(_far_quadrants(b, x), near, strict=True)]

    greatest = b.total("max", bits) if tile_shape(x.ssa) else bits
    n, r = b.when(b.compare("gt", greatest, _bits_of(_FAR)), with_far, lambda: near)
    return n, r


def _far_quadrants(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """The same for every x >= 0, in f64: x / (2 pi) modulo 1, from each part of the factor.

    Every sum for r is exact until it has as few bits as r: whole turns cancel in the first parts that are not whole.
    """
    wide = b.cast(x, f64)
    *heads, tail = (wide * part for part in _TURNS)
    rests = [*(head - b.math("roundeven", head) for head in heads), tail]
    n = b.math("roundeven", reduce(b.add, rests) * 4.0)
    r = reduce(b.add, rests, n * -0.25) * (2 * pi)
    return _bits(b, b.cast(n, f32) + _ROUNDER), b.cast(r, f32)


def _sine(b: TileBuilder, n: Scalar, r: Scalar, sign: Scalar) -> Scalar:
    """sin(n pi / 2 + r) for |r| <= pi / 4, negated where the sign bit of `sign` is set."""
    square = r * r
    odd = b.fma(square, b.fma(square, _polynomial(b, square, _COS), _number(b, -0.5)), _number(b, 1.0))
    even = b.fma(square * r, _polynomial(b, square, _SIN), r)
    value = b.select(b.compare("ne", n & 1, 0), odd, even)
    return _float(b, _bits(b, value) ^ ((b.shift_left(n, b.const(30, i32)) ^ sign) & -(1 << 31)))


def sine(b: TileBuilder, x: Scalar) -> Scalar:
    """sin x to 1.6 ulp, never beyond 1, of every finite x; NaN of infinity and NaN."""
    n, r = _quadrants(b, b.abs(x))
    return _sine(b, n, r, _bits(b, x))


def cosine(b: TileBuilder, x: Scalar) -> Scalar:
    """cos x to 1.6 ulp, never beyond 1, of every finite x; NaN of infinity and NaN."""
    n, r = _quadrants(b, b.abs(x))
    return _sine(b, n + 1, r, b.const(0, i32))


_SCALED: dict[type[Operation], Callable[[TileBuilder, Scalar, float], Scalar]] = {
    math.ErfOp: error_function,
    math.TanhOp: hyperbolic_tangent,
}
"""Functions that accept a factor of the argument. As |x f'(x)| <= |f(x)|, an error of the factor is no larger in the
result."""
_MOST_FACTOR = 16.0
"""The greatest factor; its reciprocal is the least: powers of it in coefficients stay normal numbers."""

_FUNCTIONS: dict[type[Operation], Function] = {
    math.ExpOp: exponential,
    math.LogOp: logarithm,
    math.Log1pOp: logarithm_of_1_plus,
    math.TanhOp: hyperbolic_tangent,
    math.ErfOp: error_function,
    math.SinOp: sine,
    math.CosOp: cosine,
}
