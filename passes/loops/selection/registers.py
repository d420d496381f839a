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
from aotc.dialects.properties import word
from aotc.machines.instructions import INSTRUCTIONS, values
from aotc.machines.instructions.values import BOOLEAN, Value, bits_of, is_signed
from aotc.passes.loops.selection.processor import Processor

_BINARY: dict[values.Operation, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "shl": arith.ShLIOp,
}
_SIGNED: dict[tuple[values.Operation, bool], type[Operation]] = {
    ("shr", True): arith.ShRSIOp,
    ("shr", False): arith.ShRUIOp,
    ("min", True): arith.MinSIOp,
    ("min", False): arith.MinUIOp,
    ("max", True): arith.MaxSIOp,
    ("max", False): arith.MaxUIOp,
}
"""Of integers, by whether they have a sign."""
_CONVERSIONS = {"trunci": arith.TruncIOp, "extsi": arith.ExtSIOp, "extui": arith.ExtUIOp}
"""Of one number."""
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
        if (binary := _BINARY.get(name) or _SIGNED.get((name, is_signed(self.dtype)))) is not None:
            ssa = write(binary, given, kind)
        elif name in _COMPARISONS:
            predicate = name if name in ("eq", "ne") else ("s" if is_signed(self.dtype) else "u") + name
            ssa = self._compared(predicate, given, kind)
        elif name == "select":
            ssa = write(TileSelectOp if self._is_vector else arith.SelectOp, given, kind)
        elif name == "abs":
            ssa = write(math.AbsIOp, given, kind)
        elif name == "reinterpret":
            if self._is_vector:
                kind = tile_type([self.lanes * bits_of(self.dtype) // bits_of(dtype)], element_type(dtype))
            ssa = self.ssa if kind == self.ssa.type else write(vector.BitcastOp, given, kind)
        else:
            ssa = self._converted(dtype, kind)
        return type(self)(self._writer, ssa, dtype)

    def _compared(self, predicate: str, given: Sequence[SSAValue], kind: Attribute) -> SSAValue:
        if self._is_vector:
            return self._writer.write(TileCompareOp, given, kind, {"predicate": word(predicate)})
        number = IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(predicate), 64)
        return self._writer.write(arith.CmpiOp, given, kind, {"predicate": number})

    def _converted(self, dtype: str, kind: Attribute) -> SSAValue:
        if kind == self.ssa.type:
            return self.ssa
        longer = bits_of(dtype) > bits_of(self.dtype)
        how = "trunci" if not longer else "extsi" if is_signed(self.dtype) else "extui"
        if not self._is_vector:
            return self._writer.write(_CONVERSIONS[how], [self.ssa], kind)
        return self._writer.write(TileConvertOp, [self.ssa], kind, {"kind": word(how)})

    def number(self, value: float, dtype: str) -> Self:
        return type(self)(self._writer, self._writer.constant(value, self._type(dtype)), dtype)

    def shuffle(self, lanes: Sequence[int]) -> Self:
        if [*lanes] == [*range(self.lanes)]:
            return self
        kind = tile_type([len(lanes)], element_type(self.dtype))
        ssa = self._writer.write(vector.ShuffleOp, (self.ssa, self.ssa), kind, {"mask": int_array(tuple(lanes))})
        return type(self)(self._writer, ssa, self.dtype)

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
        ssa = self.write(InstructionOp, [each.ssa for each in operands], result, {"instruction": word(name)})
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
            return IntegerAttr(value, scalar)
    return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [value])
