"""Values that write operations of the IR: arith on registers, and instructions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Self, cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.aot import InstructionOp, TileCompareOp, TileConvertOp, TileSelectOp, tile_shape, tile_type
from aotc.dialects.aot.instruction import element_type, types_of
from aotc.dialects.aot.tiles import int_array
from aotc.dialects.operations import make
from aotc.dialects.properties import string
from aotc.machines.expansions.vocabulary import Processor
from aotc.machines.instructions import INSTRUCTIONS, values
from aotc.machines.instructions.values import BOOLEAN, Value, bits_of, is_signed

_INTEGERS: dict[values.Operation, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "shl": arith.ShLIOp,
}
_SIGNED: dict[values.Operation, type[Operation]] = {
    **_INTEGERS,
    "shr": arith.ShRSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
    "abs": math.AbsIOp,
}
_UNSIGNED: dict[values.Operation, type[Operation]] = {
    **_INTEGERS,
    "shr": arith.ShRUIOp,
    "min": arith.MinUIOp,
    "max": arith.MaxUIOp,
}
_FLOATS: dict[values.Operation, type[Operation]] = {"add": arith.AddfOp, "sub": arith.SubfOp, "mul": arith.MulfOp}
_ARITHMETIC = {"s": _SIGNED, "u": _UNSIGNED, "f": _FLOATS, "b": _UNSIGNED}
"""By the letter of a type."""
_OF_ONE = {"fptosi": arith.FPToSIOp, "trunci": arith.TruncIOp, "extsi": arith.ExtSIOp, "extui": arith.ExtUIOp}
"""Conversions of one number."""
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Register(Value):
    """A vector of one dimension, whose lanes are read as `dtype`, or one number."""

    def __init__(self, writer: Writer, ssa: SSAValue, dtype: str) -> None:
        super().__init__(dtype)
        self._writer = writer
        self.ssa = ssa

    @property
    def lanes(self) -> int:
        return tile_shape(self.ssa)[0] if self._is_vector else 1

    @property
    def _is_vector(self) -> bool:
        return isinstance(self.ssa.type, VectorType)

    def made(self, name: values.Operation, dtype: str, *operands: Self) -> Self:
        given, kind = [each.ssa for each in operands], self._type(dtype)
        write = self._writer.write
        if (arithmetic := _ARITHMETIC[self.dtype[0]].get(name)) is not None:
            ssa = write(arithmetic, given, kind)
        elif name in _COMPARISONS:
            ssa = self._comparison(self._predicate(name), given, kind)
        elif name == "select":
            ssa = write(TileSelectOp if self._is_vector else arith.SelectOp, given, kind)
        elif name == "reinterpret":
            if self._is_vector:
                kind = tile_type([self.lanes * bits_of(self.dtype) // bits_of(dtype)], element_type(dtype))
            ssa = self.ssa if kind == self.ssa.type else write(vector.BitcastOp, given, kind)
        else:
            ssa = self._converted(dtype, kind)
        return type(self)(self._writer, ssa, dtype)

    def _predicate(self, comparison: str) -> str:
        """As the IR says it; of floats false where one is NaN, but where it asks whether they differ."""
        if self.dtype[0] == "f":
            return f"{'u' if comparison == 'ne' else 'o'}{comparison}"
        return comparison if comparison in ("eq", "ne") else ("s" if is_signed(self.dtype) else "u") + comparison

    def _comparison(self, predicate: str, given: Sequence[SSAValue], kind: Attribute) -> SSAValue:
        if self._is_vector:
            return self._writer.write(TileCompareOp, given, kind, {"predicate": string(predicate)})
        is_float = self.dtype[0] == "f"
        names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(names.index(predicate), 64)}
        if is_float:
            properties["fastmath"] = arith.FastMathFlagsAttr("none")
        return self._writer.write(arith.CmpfOp if is_float else arith.CmpiOp, given, kind, properties)

    def _converted(self, dtype: str, kind: Attribute) -> SSAValue:
        if kind == self.ssa.type:
            return self.ssa
        assert dtype[0] != "f" and not (self.dtype[0] == "f" and not is_signed(dtype))
        if self.dtype[0] == "f":
            how = "fptosi"
        elif bits_of(dtype) < bits_of(self.dtype):
            how = "trunci"
        else:
            how = "extsi" if is_signed(self.dtype) else "extui"
        if not self._is_vector:
            return self._writer.write(_OF_ONE[how], [self.ssa], kind)
        return self._writer.write(TileConvertOp, [self.ssa], kind, {"kind": string(how)})

    def number(self, value: float, dtype: str) -> Self:
        return type(self)(self._writer, self._writer.constant(value, self._type(dtype)), dtype)

    def shuffle(self, lanes: Sequence[int], other: Self | None = None) -> Self:
        if [*lanes] == [*range(self.lanes)]:
            return self
        kind, operands = tile_type([len(lanes)], element_type(self.dtype)), (self.ssa, (other or self).ssa)
        ssa = self._writer.write(vector.ShuffleOp, operands, kind, {"mask": int_array(tuple(lanes))})
        return type(self)(self._writer, ssa, self.dtype)

    def split(self, dtype: str, count: int) -> Sequence[Self]:
        if not self._is_vector:
            return super().split(dtype, count)
        kind, places = element_type(dtype), (int_array((lane,)) for lane in range(count))
        lanes = (self._writer.write(vector.ExtractOp, [self.ssa], kind, {"static_position": place}) for place in places)
        return [type(self)(self._writer, lane, dtype) for lane in lanes]

    def _type(self, dtype: str) -> Attribute:
        """As many lanes of another type."""
        element = IntegerType(1) if dtype == BOOLEAN else element_type(dtype)
        return tile_type([self.lanes], element) if self._is_vector else element


class Writer(Processor[Register]):
    """Writes operations in place of others of one block, equal ones once; `new` are those for the current one."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self.new: list[Operation] = []
        self._known: dict[object, SSAValue] = {}

    def start(self) -> None:
        """Go on in another block."""
        self._known = {}

    def value(self, ssa: SSAValue, dtype: str) -> Register:
        """A register of the function."""
        return Register(self, ssa, dtype)

    def apply(self, name: str, *operands: Register) -> Register:
        _, result = types_of(name)
        ssa = self.write(InstructionOp, [each.ssa for each in operands], result, {"instruction": string(name)})
        return Register(self, ssa, INSTRUCTIONS[name].result.dtype)

    def constant(self, value: float, kind: Attribute) -> SSAValue:
        """A number, or one in all lanes."""
        return self.write(arith.ConstantOp, (), kind, {"value": _splat(value, kind)})

    def write(
        self,
        kind: type[Operation],
        operands: Collection[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """The result of an operation."""
        key = kind, tuple(operands), result, None if properties is None else tuple(properties.values())
        if (found := self._known.get(key)) is None:
            op = make(kind, operands, result, properties)
            self.new.append(op)
            self._known[key] = found = op.results[0]
        return found


@lru_cache(maxsize=1024)
def _splat(value: float, kind: Attribute) -> DenseIntOrFPElementsAttr | IntegerAttr:
    scalar = kind.element_type if isinstance(kind, VectorType) else kind
    if isinstance(scalar, IntegerType):
        bits = scalar.width.data
        value = (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        if scalar is kind:
            return IntegerAttr(int(value), scalar)
    return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [value])
