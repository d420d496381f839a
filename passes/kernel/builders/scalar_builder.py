"""Building kernel bodies: arithmetic on typed scalars.

Indices are folded, and f16 and bf16 are computed in f32 (memory keeps the narrow type, arithmetic does not).
`encodings` decodes and encodes minifloats and sub-byte integers; `loop_builder` adds memory, loops and conditionals.
"""

import math as pymath
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import cast

from xdsl.builder import Builder as OpBuilder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerType,
    VectorType,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects import aot
from aotc.dialects.aot.contract import NONPOSITIVE
from aotc.dialects.aot.tiles import CONVERSIONS
from aotc.dialects.builder import INDEX, Bitwise, Comparison, Number, Reader, Scalar, ScalarLike
from aotc.dialects.dtypes import ELEMENT_TYPES, compute_type, is_float, is_narrow_float, is_unsigned, storage_type, wrap
from aotc.dialects.libm import MATH
from aotc.dialects.operations import make
from aotc.dialects.properties import number
from aotc.passes.kernel.builders.encodings import EncodingBuilder


def binary(kind: type[Operation], a: SSAValue, c: SSAValue) -> Operation:
    """The operation `kind` on two numbers, whose result has the type of `a`."""
    return make(kind, (a, c), a.type)


def predicate(how: Comparison, dtype: Attribute) -> str:
    """The predicate of arith for a comparison of numbers of `dtype`."""
    if is_float(dtype):
        return "une" if how == "ne" else "o" + how
    return how if how in ("eq", "ne") else ("u" if is_unsigned(dtype) else "s") + how


def conversion(source: Attribute, dtype: Attribute) -> str | None:
    """The conversion of arith from numbers of `source` to `dtype`, another type; None where no bit changes."""
    if is_float(source) and is_float(dtype):
        return "extf" if isinstance(dtype, Float64Type) else "truncf"
    if is_float(source):
        return "fptoui" if is_unsigned(dtype) else "fptosi"
    if is_float(dtype):
        return "uitofp" if is_unsigned(source) else "sitofp"
    target = storage_type(dtype)
    assert isinstance(source, IntegerType) and isinstance(target, IntegerType)
    if target.width.data < source.width.data:
        return "trunci"
    if target.width.data > source.width.data:
        return "extui" if is_unsigned(source) else "extsi"
    return None


def quotient(a: int, c: int) -> int:
    """a / c, towards zero."""
    return int(Fraction(a, c))


_UI8 = ELEMENT_TYPES["uint8"]
_BITWISE: Mapping[Bitwise, type[arith.AndIOp | arith.OrIOp | arith.XOrIOp]] = {
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}


class ScalarBuilder(EncodingBuilder):
    """Writes arithmetic into one function's body, at an insertion point."""

    def __init__(self, entry: Block) -> None:
        self._entry = entry
        self._builder = OpBuilder(InsertPoint.at_end(entry))
        self._constants: dict[tuple[Number | str, Attribute], SSAValue] = {}
        self._last_constant: Operation | None = None
        self._ends: dict[SSAValue | None, int] = {}
        """The number below which the index of a loop that begins at 0 or later is, where that is a constant."""
        self.guards = False
        """Whether input data is checked."""

    def insert(self, op: Operation) -> SSAValue:
        return self.emit(op)

    def guard(self, condition: Callable[[], Scalar]) -> None:
        if self.guards:
            self.require(self.single(condition()))

    def require(self, condition: Scalar) -> None:
        self.effect(aot.RequireOp(condition.ssa))

    def single(self, condition: Scalar) -> Scalar:
        """A condition that is one value."""
        return condition

    def emit(self, op: Operation) -> SSAValue:
        """Insert `op`, return its only result. For builders; operations call `insert`."""
        self._builder.insert(op)
        return op.results[0]

    def effect(self, op: Operation) -> None:
        """Insert `op` for its effect."""
        self._builder.insert(op)

    def scalar(self, value: SSAValue, dtype: Attribute) -> Scalar:
        return Scalar(self, dtype, value)

    def materialize(self, constant: Number, dtype: Attribute) -> SSAValue:
        """An arith.constant at the head of the function, shared by all uses."""
        kind = storage_type(dtype)
        # repr, because 0.0 == -0.0, and because a NaN does not equal itself
        key = (repr(constant) if isinstance(constant, float) else constant, kind)
        if key not in self._constants:
            if isinstance(kind, IndexType | IntegerType):
                bits = wrap(int(constant), kind) if isinstance(kind, IntegerType) else int(constant)
                op = arith.ConstantOp(number(bits, kind))
            else:
                op = arith.ConstantOp(FloatAttr(float(constant), cast(AnyFloat, kind)))
            self._head(op, key)
        return self._constants[key]

    def _head(self, op: arith.ConstantOp, key: tuple[Number | str, Attribute]) -> None:
        """Put a constant at the head of the function, after those before it, and remember it."""
        if self._last_constant is not None:
            self._entry.insert_op_after(op, self._last_constant)
        elif (first := self._entry.first_op) is not None:
            self._entry.insert_op_before(op, first)
        else:
            self._entry.add_op(op)
        self._last_constant = op
        self._constants[key] = op.result

    # Constants

    def const(self, value: Number, dtype: Attribute) -> Scalar:
        return Scalar(self, compute_type(dtype), constant=value)

    def index(self, value: int) -> Scalar:
        return Scalar(self, INDEX, constant=value)

    # Arithmetic

    def _fold(self, a: Scalar, c: Scalar, fold: Callable[[int, int], int]) -> Scalar | None:
        if a.constant is None or c.constant is None or not isinstance(a.dtype, IndexType | IntegerType):
            return None
        value = fold(int(a.constant), int(c.constant))
        return Scalar(self, a.dtype, constant=wrap(value, a.dtype) if isinstance(a.dtype, IntegerType) else value)

    def _binary(self, a: Scalar, c: Scalar, of_float: type[Operation], of_int: type[Operation]) -> Scalar:
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        op = of_float if is_float(a.dtype) else of_int
        return Scalar(self, a.dtype, self.emit(binary(op, a.ssa, c.ssa)))

    def add(self, a: Scalar, c: Scalar) -> Scalar:
        if (folded := self._fold(a, c, lambda x, y: x + y)) is not None:
            return folded
        if not is_float(a.dtype):
            if c.constant == 0:
                return a
            if a.constant == 0:
                return c
        return self._binary(a, c, arith.AddfOp, arith.AddiOp)

    def sub(self, a: Scalar, c: Scalar) -> Scalar:
        if (folded := self._fold(a, c, lambda x, y: x - y)) is not None:
            return folded
        if not is_float(a.dtype) and c.constant == 0:
            return a
        return self._binary(a, c, arith.SubfOp, arith.SubiOp)

    def mul(self, a: Scalar, c: Scalar) -> Scalar:
        if (folded := self._fold(a, c, lambda x, y: x * y)) is not None:
            return folded
        if not is_float(a.dtype):
            if a.constant == 1 or c.constant == 0:
                return c
            if c.constant == 1 or a.constant == 0:
                return a
        return self._binary(a, c, arith.MulfOp, arith.MuliOp)

    def div(self, a: Scalar, c: Scalar) -> Scalar:
        if not is_float(a.dtype) and c.constant == 1:
            return a
        if self._is_below(a, c):
            return Scalar(self, a.dtype, constant=0)
        if c.constant != 0 and (folded := self._fold(a, c, quotient)) is not None:
            return folded
        unsigned = is_unsigned(a.dtype) or a.dtype == INDEX
        return self._binary(a, c, arith.DivfOp, arith.DivUIOp if unsigned else arith.DivSIOp)

    def rem(self, a: Scalar, c: Scalar) -> Scalar:
        if not is_float(a.dtype) and c.constant == 1:
            return Scalar(self, a.dtype, constant=0)
        if self._is_below(a, c):
            return a
        if c.constant != 0 and (folded := self._fold(a, c, lambda x, y: x - quotient(x, y) * y)) is not None:
            return folded
        unsigned = is_unsigned(a.dtype) or a.dtype == INDEX
        return self._binary(a, c, aot.FModOp, arith.RemUIOp if unsigned else arith.RemSIOp)

    def _is_below(self, index: Scalar, bound: Scalar) -> bool:
        """Whether the index of a loop is less than a constant whenever the loop runs."""
        end = self._ends.get(index.value)
        return end is not None and bound.constant is not None and end <= bound.constant

    def neg(self, a: Scalar) -> Scalar:
        if is_float(a.dtype):
            if a.constant is not None:
                return Scalar(self, a.dtype, constant=-float(a.constant))
            return Scalar(self, a.dtype, self.emit(arith.NegfOp(a.ssa)))
        return self.sub(self.const(0, a.dtype), a)

    def abs(self, a: Scalar) -> Scalar:
        if is_float(a.dtype):
            return self.math("absf", a)
        return a if is_unsigned(a.dtype) else self.max(a, self.neg(a))

    def _operands(self, *scalars: Scalar) -> list[SSAValue]:
        """The SSA operands of an operation on all of them, of one type."""
        return [scalar.ssa for scalar in scalars]

    def _on(self, kind: type[Operation], a: Scalar, c: Scalar) -> Scalar:
        x, y = self._operands(a, c)
        return Scalar(self, a.dtype, self.emit(binary(kind, x, y)))

    def bitwise(self, how: Bitwise, a: Scalar, c: Scalar) -> Scalar:
        return self._on(_BITWISE[how], a, c)

    def shift_left(self, a: Scalar, by: Scalar) -> Scalar:
        return self._on(arith.ShLIOp, a, by)

    def shift_right(self, a: Scalar, by: Scalar) -> Scalar:
        return self._on(arith.ShRUIOp if is_unsigned(a.dtype) else arith.ShRSIOp, a, by)

    def bitcast(self, a: Scalar, dtype: Attribute) -> Scalar:
        target = storage_type(dtype)
        if target == storage_type(a.dtype):
            return Scalar(self, dtype, a.ssa)
        return Scalar(self, dtype, self.insert(cast(Operation, arith.BitcastOp(a.ssa, target))))

    def from_bits(self, a: Scalar) -> Scalar:
        source = a.ssa.type
        target = VectorType(f32, source.get_shape()) if isinstance(source, VectorType) else f32
        return Scalar(self, f32, self.emit(arith.BitcastOp(a.ssa, target)))

    def max(self, a: Scalar, c: ScalarLike) -> Scalar:
        of_int = arith.MaxUIOp if is_unsigned(a.dtype) else arith.MaxSIOp
        return self._extreme(a, a.typed(c), max, "lt", arith.MaximumfOp, of_int)

    def min(self, a: Scalar, c: ScalarLike) -> Scalar:
        of_int = arith.MinUIOp if is_unsigned(a.dtype) else arith.MinSIOp
        return self._extreme(a, a.typed(c), min, "gt", arith.MinimumfOp, of_int)

    def _extreme(
        self,
        a: Scalar,
        c: Scalar,
        fold: Callable[[int, int], int],
        worse: Comparison,
        of_float: type[Operation],
        of_int: type[Operation],
    ) -> Scalar:
        if (folded := self._fold(a, c, fold)) is not None:
            return folded
        if is_float(a.dtype) and c.constant is not None and not pymath.isnan(c.constant):
            return self.select(self.compare(worse, a, c), c, a)  # one machine instruction, and NaN is kept
        return self._binary(a, c, of_float, of_int)

    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        op = arith.CmpfOp if is_float(a.dtype) else arith.CmpiOp
        return Scalar(self, i1, self.emit(op(a.ssa, c.ssa, predicate(how, a.dtype))))

    def select(self, condition: Scalar, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        return Scalar(self, a.dtype, self.emit(arith.SelectOp(condition.ssa, a.ssa, c.ssa)))

    def math(self, name: str, a: Scalar) -> Scalar:
        return Scalar(self, a.dtype, self.emit(cast("Callable[[SSAValue], Operation]", MATH[name])(a.ssa)))

    def exp_of_nonpositive(self, a: Scalar) -> Scalar:
        result = self.math("exp", a)
        NONPOSITIVE.set(cast(Operation, result.ssa.owner))
        return result

    def pow(self, a: Scalar, exponent: Scalar) -> Scalar:
        if exponent.constant in (2, 3):
            return a * a if exponent.constant == 2 else a * a * a
        return Scalar(self, a.dtype, self.emit(math.PowFOp(a.ssa, exponent.ssa)))

    def lookup(self, x: Scalar, table: Reader, registers: tuple[int, int] | None = None) -> Scalar:
        return table([self.cast(self.cast(x, _UI8), INDEX)])

    def opaque(self, a: Scalar) -> Scalar:
        return Scalar(self, a.dtype, self.insert(aot.OpaqueOp(a.ssa)))

    def round_product(self, x: Scalar, factor: Scalar, above: Scalar, shift: int, *, near: bool = False) -> Scalar:
        return Scalar(self, i32, self.insert(aot.RoundProductOp(x.ssa, factor.ssa, above.ssa, shift, near=near)))

    # Conversion

    def convert(self, a: Scalar, dtype: Attribute) -> Scalar:
        if not is_float(a.dtype) or not isinstance(dtype, IntegerType) or dtype == i1:
            return self.cast(a, dtype)
        width = max(32, dtype.width.data)
        least, half = -(2 ** (width - 1)), 2.0 ** (width - 1)
        signed = IntegerType(width)
        big = self.compare("ge", a, half) if is_unsigned(dtype) and dtype.width.data == width else None
        if big is not None:
            a = self.select(big, a - half, a)
        inside = self.compare("lt", self.math("absf", a), half)
        whole = self.select(inside, self.cast(self.select(inside, a, 0), signed), least)
        if big is not None:
            whole = self.select(big, whole ^ least, whole)
        return self.cast(whole, dtype)

    def rounded(self, a: Scalar) -> Scalar:
        return self.cast(self.math("roundeven", a), i32)

    def cast(self, a: Scalar, dtype: Attribute) -> Scalar:
        if dtype == i1 and a.dtype != i1:
            return self.compare("ne", a, 0)
        if is_narrow_float(dtype):
            narrow = self._converted("truncf", self.cast(a, f32).ssa, dtype)
            return Scalar(self, f32, self._converted("extf", narrow, f32))
        if a.dtype == dtype:
            return a
        if dtype == INDEX and a.index is not None:
            return a.index
        if a.constant is not None and not is_float(a.dtype) and is_float(dtype):
            return Scalar(self, dtype, constant=float(a.constant))
        return Scalar(self, dtype, self._convert(a, dtype))

    def _convert(self, a: Scalar, dtype: Attribute) -> SSAValue:
        target, source = storage_type(dtype), a.dtype
        if source == INDEX or dtype == INDEX:
            if is_float(dtype) or is_float(source):
                return self.cast(self.cast(a, i32), dtype).ssa
            if is_unsigned(source):
                a = self.cast(a, IntegerType(64))
            return self.emit(arith.IndexCastOp(a.ssa, target))
        kind = conversion(source, dtype)
        return a.ssa if kind is None else self._converted(kind, a.ssa, target)

    def _converted(self, kind: str, value: SSAValue, target: Attribute) -> SSAValue:
        return self.emit(CONVERSIONS[kind](value, target))
