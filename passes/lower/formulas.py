"""Meanings (`aotc.machines.instructions`) evaluated to llvm operations, of scalars and of vectors."""

from __future__ import annotations

from typing import Final, Self

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.machines.instructions import values
from aotc.machines.instructions.values import BOOLEAN, Value, bits_of
from aotc.passes.lower.llvm_builder import LLVMBuilder, integer, like

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
            case "convert" if first.type == self._type(dtype):
                return first
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
            case _ if is_float:
                return b.float_op(_FLOAT[name], *given)
            case _:
                return b.integer_op(_INTEGER[name], first, given[1])

    def _type(self, dtype: str) -> Attribute:
        """As many lanes of another type."""
        scalar = i1 if dtype == BOOLEAN else {"f32": f32, "f64": f64}.get(dtype) or integer(bits_of(dtype))
        return like(self.ssa.type, scalar)
