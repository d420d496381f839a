"""Write the functions of the math dialect, of f32, as polynomials, in vectorised kernels.

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

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import VectorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import NONPOSITIVE
from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Scalar
from aotc.dialects.operations import walk
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.loops import exponentials
from aotc.passes.loops.angles import arc_cosine, arc_sine, arc_tangent, cosine, sine, tangent
from aotc.passes.loops.float_parts import constant_number
from aotc.passes.loops.function_pass import FunctionPass

Function: TypeAlias = Callable[[TileBuilder, Scalar], Scalar]

AT_A_TIME = 4
"""The most registers of a tile that one polynomial works on, so that its intermediate results stay in registers,
too."""


class ExpandMathPass(FunctionPass):
    name = "expand-math"

    def function(self, ctx: Context, function: FuncOp) -> None:
        ops = list(walk(function))
        if any(isinstance(value.type, VectorType) for op in ops for value in (*op.results, *op.operands)):
            builder = TileBuilder(function.body.block)
            for op in ops:
                if (expansion := _function(op)) is not None and _element(op) == f32:
                    _replace(op, expansion, builder)


def _function(op: Operation) -> Function | None:
    if NONPOSITIVE.on(op):
        return exponentials.exponential_of_nonpositive
    return _FUNCTIONS.get(type(op))


def _replace(op: Operation, expansion: Function, b: TileBuilder) -> None:
    written, result = Block(), op.results[0]

    def write() -> None:
        function, x = _applied(op, expansion)
        value = _in_pieces(b, function, Scalar(b, f32, x)).ssa
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)

    b.within(written, write)
    for each in written.ops:
        each.location = op.location
    Rewriter.inline_block(written, InsertPoint.before(op))
    given = op.operands[0].owner
    Rewriter.erase_op(op)
    if isinstance(given, arith.DivfOp | arith.MulfOp) and not given.result.uses:
        Rewriter.erase_op(given)


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
        if (number := constant_number(other)) is not None and 1 / _MOST_FACTOR <= number <= _MOST_FACTOR:
            return x, 1 / number if isinstance(op, arith.DivfOp) else number
    return None


def _element(op: Operation) -> Attribute:
    kind = op.results[0].type
    return kind.element_type if isinstance(kind, VectorType) else kind


def _in_pieces(b: TileBuilder, function: Function, x: Scalar) -> Scalar:
    """`function` of x, at most `AT_A_TIME` registers at once."""
    sizes = tile_shape(x.ssa)[:-1]
    if prod(sizes) <= AT_A_TIME:
        return function(b, x)
    axis = next(axis for axis, extent in enumerate(sizes) if extent > 1)
    most = max(AT_A_TIME // prod(sizes[axis + 1 :]), 1)
    result = x
    for start in range(0, sizes[axis], most):
        offsets = [0] * axis + [start] + [0] * (len(sizes) - axis - 1)
        part = b.slice(x, offsets, [*sizes[:axis], min(most, sizes[axis] - start), *sizes[axis + 1 :]])
        result = b.replace(_in_pieces(b, function, part), result, offsets)
    return result


_SCALED: dict[type[Operation], Callable[[TileBuilder, Scalar, float], Scalar]] = {
    math.ErfOp: exponentials.error_function,
    math.TanhOp: exponentials.hyperbolic_tangent,
}
"""Functions that accept a factor of the argument. As |x f'(x)| <= |f(x)|, an error of the factor is no larger in the
result."""
_MOST_FACTOR = 16.0
"""The greatest factor; its reciprocal is the least: powers of it in coefficients stay normal numbers."""

_FUNCTIONS: dict[type[Operation], Function] = {
    math.ExpOp: exponentials.exponential,
    math.LogOp: exponentials.logarithm,
    math.Log1pOp: exponentials.logarithm_of_1_plus,
    math.TanhOp: exponentials.hyperbolic_tangent,
    math.ErfOp: exponentials.error_function,
    math.SinhOp: exponentials.hyperbolic_sine,
    math.CoshOp: exponentials.hyperbolic_cosine,
    math.AsinhOp: exponentials.inverse_hyperbolic_sine,
    math.AcoshOp: exponentials.inverse_hyperbolic_cosine,
    math.AtanhOp: exponentials.inverse_hyperbolic_tangent,
    math.SinOp: sine,
    math.CosOp: cosine,
    math.TanOp: tangent,
    math.AsinOp: arc_sine,
    math.AcosOp: arc_cosine,
    math.AtanOp: arc_tangent,
}
