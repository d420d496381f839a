"""Vectors in C: which operation on `vector<L x T>` is which expression of GCC's vector extension.

Operators do what C has operators for, macros (`definitions.macros`) the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import copysign
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from aotc.dialects import aot
from aotc.emit.c.analyses.values import is_vector
from aotc.emit.c.definitions.instructions import macro_name
from aotc.emit.c.expressions.vector_memory import VectorMemory, number_expr
from aotc.emit.c.syntax.c_types import (
    BOOL,
    F32,
    F64,
    SIGNED,
    UNSIGNED,
    VectorCType,
    ctype_of,
    float_literal,
    mask_ctype,
    unsigned_literal,
    vector_ctype,
)
from aotc.emit.c.syntax.expr import OPERATORS, Expr, Level, binary, call, cast_expr, converted, unary

Printer: TypeAlias = "Callable[[Vectors, Any], Expr]"
"""Writes the result of an operation."""

_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def supports(op: Operation) -> bool:
    """Whether there is an expression for operations of this class on vectors."""
    return type(op) in _PRINTERS


class Vectors(VectorMemory):
    """Vector operations as expressions within a function."""

    def build(self, op: Operation) -> Expr:
        """The expression of the result of a supported operation."""
        return _PRINTERS[type(op)](self, op)

    # Making vectors and taking them apart

    def constant(self, op: arith.ConstantOp) -> Expr:
        """All lanes the same, or one by one."""
        ctype = self.ctype(op.result)
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        values = [cast(float, value) for value in op.value.get_values()]
        if aot.is_splat(op.value):
            return replace(self.macro("splat", ctype, self._item(values[0], ctype)), literal=values[0])
        values *= ctype.lanes // len(values)
        items = ", ".join(self._item(value, ctype).text for value in values)
        return Expr(f"(({ctype.text}){{{items}}})", Level.PRIMARY, ctype)

    def _item(self, value: float, ctype: VectorCType) -> Expr:
        element = ctype.element
        if ctype.kind == "mask":
            return number_expr(-(int(value) & 1))
        if element.kind in ("float", "half"):
            text = float_literal(float(value), element)
            if text.endswith(("NAN", "INFINITY")):
                self.scope.include("math.h")
            return Expr(text, Level.UNARY, element, literal=value)
        if ctype.bits < 32:
            return number_expr(int(value) % (1 << ctype.bits))
        return Expr(unsigned_literal(int(value), ctype.bits), Level.PRIMARY, UNSIGNED[ctype.bits])

    def broadcast(self, op: vector.BroadcastOp) -> Expr:
        """A scalar in all lanes."""
        ctype = self.ctype(op.vector)
        if is_vector(op.source):
            return self.scope.operand(op.source)
        e = self.scope.atom(op.source)
        if ctype.kind == "mask":
            e = unary("-", e, SIGNED[32])
        return self.macro("splat", ctype, e)

    def quad(self, op: aot.QuadOp) -> Expr:
        """Four integers side by side."""
        return self.macro("of_lanes", self.ctype(op.result), *map(self.scope.operand, op.lanes))

    def extract(self, op: vector.ExtractOp) -> Expr:
        """One lane."""
        e = self.scope.atom(op.vector)
        text = f"{e.text}[{op.static_position.get_values()[-1]}]"
        element = e.vector.element
        if element == BOOL:
            return binary("!=", Expr(text, Level.PRIMARY, SIGNED[32]), number_expr(0), BOOL)
        return Expr(text, Level.PRIMARY, element, unsigned=element.kind == "unsigned")

    def shuffle(self, op: vector.ShuffleOp) -> Expr:
        """Lanes of two vectors."""
        a, b = self.scope.operand(op.v1), self.scope.operand(op.v2)
        if a.ctype.kind == "mask":
            b = self.mask(b, a.ctype.bits)
        lanes = [int(lane) for lane in op.mask.get_values()]
        element = a.vector.element
        ctype = mask_ctype(a.ctype.bits, len(lanes)) if element == BOOL else vector_ctype(element, len(lanes))
        return call("__builtin_shufflevector", a, b, *map(number_expr, lanes), ctype=ctype)

    # Arithmetic

    def float_arithmetic(self, op: Any) -> Expr:
        """+ - * / of IEEE 754."""
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        return binary(OPERATORS[type(op)], a, b, a.ctype)

    def negate(self, op: arith.NegfOp) -> Expr:
        """-x."""
        e = self.scope.operand(op.operand)
        return unary("-", e, e.ctype)

    def floats(self, op: Operation) -> Expr:
        """A macro that takes and makes floats; it may mention them lane by lane."""
        name = op.name.partition(".")[2].removesuffix("f")
        return self.macro(name, self.ctype(op.results[0]), *map(self.scope.atom, op.operands))

    def integers(self, op: Any) -> Expr:
        """An operator on integers modulo 2^bits, or on their signed readings."""
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        if op.name.endswith("si"):
            a, b = self.signed(a), self.signed(b)
        return self.unsigned(binary(OPERATORS[type(op)], a, b, a.ctype))

    def shift_right(self, op: arith.ShRSIOp) -> Expr:
        """The sign everywhere is a comparison, for which there is an instruction whatever the width."""
        x, by = self.signed(self.scope.operand(op.lhs)), self.scope.operand(op.rhs)
        if by.literal != x.ctype.bits - 1:
            return self.integers(op)
        zero = self.signed(self.macro("splat", self.ctype(op.result), number_expr(0)))
        return self.unsigned(binary("<", x, zero, x.ctype))

    def bitwise(self, op: Any) -> Expr:
        """And, or, exclusive or, of integers and of masks."""
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        if a.ctype.kind == "mask":
            b = self.mask(b, a.ctype.bits)
        return binary(OPERATORS[type(op)], a, b, a.ctype)

    def integer_macro(self, op: Any) -> Expr:
        """A macro of two integers."""
        a, b = self.scope.atom(op.lhs), self.scope.atom(op.rhs)
        if op.name.endswith("si"):
            a, b = self.signed(a), self.signed(b)
        return self.unsigned(self.macro(op.name.removeprefix("arith.")[:-2], a.vector, a, b))

    def instruction(self, op: aot.InstructionOp) -> Expr:
        """One instruction."""
        ctype = ctype_of(op.result.type, self.scope.index)
        return call(macro_name(op.row), *map(self.scope.atom, op.arguments), ctype=ctype)

    def absolute(self, op: math.AbsIOp) -> Expr:
        """|x| of integers with a sign."""
        e = self.signed(self.scope.atom(op.operand))
        return self.unsigned(self.macro("abs", e.vector, e))

    # Comparisons

    def compare(self, op: aot.TileCompareOp) -> Expr:
        """A mask."""
        predicate = op.predicate.data
        if op.lhs is op.rhs and not predicate.startswith("o") and predicate != "une":  # compilers warn of it
            mask = self.ctype(op.result)
            e = self.macro("splat", mask, number_expr(-int(predicate in ("eq", "sle", "sge", "ule", "uge"))))
            return replace(e, literal=0)
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        if predicate in ("slt", "sle", "sgt", "sge"):
            a, b = self.signed(a), self.signed(b)
        if a.ctype.kind == "mask":
            b = self.mask(b, a.ctype.bits)
            if predicate not in ("eq", "ne") and predicate[0] == "u":
                a, b = self.unsigned(a), self.unsigned(b)
        symbol = _SYMBOLS[predicate if predicate in ("eq", "ne") else predicate[1:]]
        return cast_expr(binary(symbol, a, b, a.ctype), mask_ctype(a.ctype.bits, a.vector.lanes))

    def select(self, op: aot.TileSelectOp) -> Expr:
        """One or the other, lane by lane."""
        if (extreme := self._greater_or_lesser(op)) is not None:
            return extreme
        ctype = self.ctype(op.result)
        a, b = self.scope.atom(op.lhs), self.scope.atom(op.rhs)
        if ctype.kind == "mask":
            ctype = a.vector
            b = self.mask(b, ctype.bits)
        condition = self.mask(self.scope.atom(op.condition), ctype.bits)
        return replace(self.macro("select", ctype, condition, a, b), ctype=ctype)

    def _greater_or_lesser(self, op: aot.TileSelectOp) -> Expr | None:
        """`a > b ? a : b`: one instruction where it is known for what it is."""
        owner = op.condition.owner
        if not isinstance(owner, aot.TileCompareOp) or owner.predicate.data not in ("ogt", "olt"):
            return None
        chosen = (op.lhs, op.rhs)
        if chosen not in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)) or self.ctype(op.result).element not in (
            F32,
            F64,
        ):
            return None
        greater = (owner.predicate.data == "ogt") == (chosen[0] is owner.lhs)
        a, b = (self.scope.atom(value) for value in chosen)
        number, ctype = b.literal, self.ctype(op.result)
        is_number = number is not None and number == number and (number != 0 or greater == (copysign(1, number) == 1))
        if is_number and (ctype.bits, ctype.lanes) == (32, 4):
            return self.macro("above" if greater else "below", ctype, a, b)
        return self.macro("max" if greater else "min", ctype, a, b)

    # Conversions

    def convert(self, op: aot.TileConvertOp) -> Expr:
        """Between types of numbers."""
        e, target, kind = self.scope.operand(op.tile), self.ctype(op.result), op.kind.data
        match kind:
            case "extf" | "truncf" if "f16" in (name := f"{_scalar(op.tile)}_to_{_scalar(op.result)}"):
                return self.macro(name, target, self.scope.atom(op.tile))
            case "fptosi" | "fptoui":
                return self._to_integer(e, target, kind == "fptosi")
            case "sitofp" | "uitofp":
                return self._to_float(e, target, kind == "sitofp")
            case "extsi" | "extui" if e.ctype.kind == "mask":
                return self.unsigned(self.mask(e, target.bits)) if kind == "extsi" else self.mask_bits(e, target.bits)
            case "extsi" | "extui":
                return self._extended(e, target, kind == "extsi")
            case "trunci" if target.kind == "mask":
                one = self.macro("splat", e.vector, number_expr(1))
                return self._is_nonzero(binary("&", e, one, e.ctype))
            case _:
                return converted(e, target)

    def _extended(self, e: Expr, target: VectorCType, is_signed: bool) -> Expr:
        """Integers as wider ones."""
        return self.macro(f"extended_{'signed' if is_signed else 'unsigned'}{e.ctype.bits}", target, e)

    def _is_nonzero(self, e: Expr) -> Expr:
        """`e != 0`."""
        zero = self.macro("splat", e.vector, number_expr(0))
        return cast_expr(binary("!=", e, zero, e.ctype), mask_ctype(e.ctype.bits, e.vector.lanes))

    def _to_integer(self, e: Expr, target: VectorCType, is_signed: bool) -> Expr:
        """Towards zero; by way of 32 bits, for which there are instructions."""
        if target.kind == "mask" or target.bits < 32:
            e = converted(e, vector_ctype(SIGNED[32], target.lanes))
            if target.kind == "mask":
                return self._is_nonzero(self.unsigned(e))
            # signed to signed: of a cast in between GCC 12 makes a conversion lane by lane
            return cast_expr(converted(e, vector_ctype(SIGNED[target.bits], target.lanes)), target)
        if not is_signed:
            return converted(e, target)
        return cast_expr(converted(e, vector_ctype(SIGNED[target.bits], target.lanes)), target)

    def _to_float(self, e: Expr, target: VectorCType, is_signed: bool) -> Expr:
        """To nearest even."""
        if e.ctype.kind == "mask":
            e = self.mask(e, 32) if is_signed else self.signed(self.mask_bits(e, 32))
        elif e.ctype.bits < 32:
            e = self.signed(self._extended(e, vector_ctype(UNSIGNED[32], target.lanes), is_signed))
        elif is_signed:
            e = self.signed(e)
        if target.element == F32 and is_signed and e.ctype.bits == 32 and target.lanes == 4:
            return self.macro("of_integers", target, e)
        return converted(e, target)

    def bitcast(self, op: arith.BitcastOp | vector.BitcastOp) -> Expr:
        """The same bits as another type of that width."""
        e, target = self.scope.operand(op.operands[0]), self.ctype(op.results[0])
        return replace(e, ctype=target) if e.ctype.text == target.text else cast_expr(e, target)


def _scalar(value: SSAValue) -> str:
    """The name of a vector's elements, as functions of floats have it."""
    return str(cast(Any, value.type).element_type)


_PRINTERS: dict[type[Operation], Printer] = {
    aot.TileLoadOp: Vectors.load,
    aot.TileCompareOp: Vectors.compare,
    aot.InstructionOp: Vectors.instruction,
    aot.TileSelectOp: Vectors.select,
    aot.TileConvertOp: Vectors.convert,
    aot.QuadOp: Vectors.quad,
    vector.BroadcastOp: Vectors.broadcast,
    vector.BitcastOp: Vectors.bitcast,
    vector.ExtractOp: Vectors.extract,
    vector.ShuffleOp: Vectors.shuffle,
    arith.ConstantOp: Vectors.constant,
    arith.BitcastOp: Vectors.bitcast,
    **dict.fromkeys((arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp), Vectors.float_arithmetic),
    arith.NegfOp: Vectors.negate,
    **dict.fromkeys((arith.MaximumfOp, arith.MinimumfOp, math.FmaOp, math.SqrtOp, math.AbsFOp), Vectors.floats),
    **dict.fromkeys((math.CopySignOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp), Vectors.floats),
    math.AbsIOp: Vectors.absolute,
    **dict.fromkeys((arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivUIOp, arith.RemUIOp), Vectors.integers),
    **dict.fromkeys((arith.DivSIOp, arith.RemSIOp, arith.ShLIOp, arith.ShRUIOp), Vectors.integers),
    arith.ShRSIOp: Vectors.shift_right,
    **dict.fromkeys((arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp), Vectors.integer_macro),
    **dict.fromkeys((arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp), Vectors.integer_macro),
    **dict.fromkeys((arith.AndIOp, arith.OrIOp, arith.XOrIOp), Vectors.bitwise),
}
