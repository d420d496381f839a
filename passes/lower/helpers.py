"""Helper functions that the module defines where the target has no instruction and may have no library.

Functions of floats are their meanings (`aotc.machines.instructions.floats`). Each is an internal function, emitted when
first used, for LLVM to inline. Names are those of the helpers in C:
`aotc.f32_to_bf16` of scalars, `aotc.f32_to_bf16.v8` of eight lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, Self

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, StringAttr, VectorType, f16, f32, f64, i1, i16, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.aot.instruction import constant_type
from aotc.dialects.llvm_ext import suffix
from aotc.machines.instructions import computing, rows, values
from aotc.machines.instructions.floats import FUNCTIONS, ROUNDINGS, Function
from aotc.machines.instructions.rows import Call, Lanes
from aotc.machines.instructions.values import BOOLEAN, Value, bits_of
from aotc.passes.lower.llvm_builder import LLVMBuilder, element, integer, like

_IN_PLACE = ("bf16_to_f32",)
"""Functions of so few operations that they are written where they are used."""


class Helpers:
    """Emits uses of the helper functions, which get the properties `base`; `functions` are those used so far.

    `instructions` are the names of those that the target has.
    """

    def __init__(self, instructions: Collection[str], base: Mapping[str, Attribute | None]) -> None:
        self._instructions = instructions
        self.functions: dict[str, llvm.FuncOp] = {}
        self._base = base

    def _call(
        self,
        b: LLVMBuilder,
        name: str,
        a: Sequence[SSAValue],
        to: Attribute,
        body: Callable[..., SSAValue],
        attributes: Sequence[str] = (),
        names: Sequence[str] = ("x", "y"),
    ) -> SSAValue:
        if name not in self.functions:
            inputs = [each.type for each in a]
            block = Block(arg_types=inputs)
            for argument, hint in zip(block.args, names, strict=False):
                argument.name_hint = hint
            inner = LLVMBuilder(block)
            inner.ret(body(inner, *block.args))
            if isinstance(to, VectorType):  # a call would spill every vector register
                attributes = ("alwaysinline",)
            properties = dict(self._base)
            if attributes:
                given = properties.get("passthrough")
                given_names = given.data if isinstance(given, ArrayAttr) else ()
                properties["passthrough"] = ArrayAttr([*given_names, *map(StringAttr, attributes)])
            kind = llvm.LLVMFunctionType(inputs, to)
            self.functions[name] = llvm.FuncOp(name, kind, body=inner.finish(), other_props=properties)
        return b.call(name, a, to)[0]

    def apply(self, b: LLVMBuilder, name: str, *operands: SSAValue) -> SSAValue:
        """A function of `FUNCTIONS`, by the target's instruction where it has one; f16 and bf16 are their bits."""
        kind, function = operands[0].type, FUNCTIONS[name]
        types, result = function.types(suffix(element(kind)))
        to = like(kind, {"f32": f32, "u16": i16}.get(result) or element(kind))
        found = computing(function, Lanes(result, kind.get_shape()[0] if isinstance(kind, VectorType) else 1))
        if (row := next((each for each in found if each.name in self._instructions), None)) is not None:
            return instruction(b, row.intrinsic, operands, to)
        body = partial(meaning, function, types)
        if name in _IN_PLACE:
            return body(b, *operands)
        where = f".{suffix(kind)}" if function.is_of_any else _lanes(operands[0])
        return self._call(b, f"aotc.{name}{where}", operands, to, body)

    def rounding(self, b: LLVMBuilder, name: str, *operands: SSAValue) -> SSAValue:
        """A function of `ROUNDINGS`."""
        function = ROUNDINGS[name]
        types, _ = function.types("s32")
        body = partial(meaning, function, types)
        return self._call(b, f"aotc.{name}", operands, i32, body, ("noinline", "cold"), function.names)


def instruction(b: LLVMBuilder, call: Call, operands: Sequence[SSAValue], result: Attribute) -> SSAValue:
    """The result of an instruction, as LLVM calls it."""
    given = [
        operands[each]
        if isinstance(each, int)
        else instruction(b, each, operands, i32)
        if isinstance(each, Call)
        else b.constant(each.value, constant_type(each.lanes))
        for each in call.operands
    ]
    match call.name:
        case rows.ADD:
            return b.integer_op(llvm.AddOp, given[0], given[1])
        case rows.WIDEN:
            return b.convert(llvm.FPExtOp, b.convert(llvm.BitcastOp, given[0], like(result, f16)), result)
        case rows.NARROW:
            return b.convert(llvm.BitcastOp, b.convert(llvm.FPTruncOp, given[0], like(result, f16)), result)
        case name:
            return b.intrinsic(name, given, result)


def meaning(function: Function, types: Sequence[str], b: LLVMBuilder, *operands: SSAValue) -> SSAValue:
    """The operations of a function of operands of these types, where it is used."""
    found = function.meaning(*(LLVMValue(b, *each) for each in zip(operands, types, strict=True)))
    assert isinstance(found, LLVMValue)
    return found.ssa


def _lanes(value: SSAValue) -> str:
    """The suffix of a helper's name: its lanes; nothing for scalars."""
    return f".v{value.type.get_shape()[0]}" if isinstance(value.type, VectorType) else ""


# --- meanings --------------------------------------------------------------------------------------------------------

_INTEGER: Final[dict[values.Operation, type[Operation]]] = {
    "add": llvm.AddOp,
    "sub": llvm.SubOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
    "shl": llvm.ShlOp,
    "shr": llvm.LShrOp,
}
_DIVISIONS: Final[dict[tuple[values.Operation, str], type[Operation]]] = {
    ("div", "s"): llvm.SDivOp,
    ("div", "u"): llvm.UDivOp,
    ("rem", "s"): llvm.SRemOp,
    ("rem", "u"): llvm.URemOp,
}
_FLOAT: Final[dict[values.Operation, type[Operation]]] = {
    "add": llvm.FAddOp,
    "sub": llvm.FSubOp,
}


class LLVMValue(Value):
    """A value of LLVM."""

    def __init__(self, b: LLVMBuilder, ssa: SSAValue, dtype: str) -> None:
        super().__init__(dtype)
        self._b = b
        self.ssa = ssa

    @property
    def lanes(self) -> int:
        shape = getattr(self.ssa.type, "get_shape", tuple[int, ...])()
        return shape[0] if shape else 1

    def number(self, value: float, dtype: str) -> Self:
        return type(self)(self._b, self._b.constant(value, self._type(dtype)), dtype)

    def is_nan(self) -> Self:
        return type(self)(self._b, self._b.fcmp("uno", self.ssa, self.ssa), BOOLEAN)

    def made(self, name: values.Operation, dtype: str, *operands: Self) -> Self:
        return type(self)(self._b, self._computed(name, dtype, [each.ssa for each in operands]), dtype)

    def _computed(self, name: values.Operation, dtype: str, given: list[SSAValue]) -> SSAValue:
        b, is_float = self._b, self.dtype[0] == "f"
        first, sign = given[0], "s" if self.dtype[0] == "s" else "u"
        match name:
            case "select":
                return b.select(first, given[1], given[2])
            case "reinterpret":
                return b.convert(llvm.BitcastOp, first, self._type(dtype))
            case "convert":
                kind = (
                    llvm.TruncOp if bits_of(dtype) < bits_of(self.dtype) else {"s": llvm.SExtOp}.get(sign, llvm.ZExtOp)
                )
                return b.convert(kind, first, self._type(dtype))
            case "eq" | "ne" if not is_float:
                return b.icmp(name, first, given[1])
            case "eq" | "lt" | "le" | "gt" | "ge":
                return b.fcmp(f"o{name}", first, given[1]) if is_float else b.icmp(f"{sign}{name}", first, given[1])
            case "shr" if sign == "s":
                return b.integer_op(llvm.AShrOp, first, given[1])
            case "div" | "rem":
                return b.integer_op(_DIVISIONS[name, sign], first, given[1])
            case _ if is_float:
                return b.float_op(_FLOAT[name], *given)
            case _:
                return b.integer_op(_INTEGER[name], first, given[1])

    def _type(self, dtype: str) -> Attribute:
        """As many lanes of another type."""
        scalar = i1 if dtype == BOOLEAN else {"f32": f32, "f64": f64}.get(dtype) or integer(bits_of(dtype))
        return like(self.ssa.type, scalar)
