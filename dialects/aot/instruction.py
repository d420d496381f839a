"""Instructions of processors in the IR."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, StringAttr, f32, f64, i32
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import tile_type
from aotc.dialects.operations import PureOp
from aotc.dialects.properties import string
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.evaluation import evaluate
from aotc.machines.instructions.rows import Instruction, Lanes
from aotc.machines.instructions.values import bits_of


@irdl_op_definition
class InstructionOp(PureOp, HasFolderInterface):
    """One instruction of a processor: a row of `INSTRUCTIONS`, which says what it computes.

    `aot.instruction "vpdpbusd.512" %sums, %x, %w : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>`
    What is on words may stand in any kernel: `select-instructions` writes its meaning where the target has it not.
    """

    name = "aot.instruction"
    instruction = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$instruction $arguments attr-dict `:` type($arguments) `->` type($result)"

    def __init__(self, name: str, arguments: Sequence[SSAValue]) -> None:
        _, result = types_of(name)
        super().__init__(operands=[arguments], result_types=[result], properties={"instruction": string(name)})

    @property
    def row(self) -> Instruction:
        """The kind of the instruction."""
        return INSTRUCTIONS[self.instruction.data]

    def verify_(self) -> None:
        name = self.instruction.data
        if name not in INSTRUCTIONS:
            raise VerifyException(f'there is no instruction "{name}"')
        operands, result = types_of(name)
        found = tuple(value.type for value in self.arguments), self.result.type
        if found != (operands, result):
            takes = f"{', '.join(map(str, operands))} -> {result}"
            raise VerifyException(f"{name} is {takes}, found {', '.join(map(str, found[0]))} -> {found[1]}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        arrays = [_constant(value, lanes) for value, lanes in zip(self.arguments, self.row.operands, strict=True)]
        given = [array for array in arrays if array is not None]
        if len(given) < len(arrays):
            return None
        kind = cast(Any, self.result.type)
        return (DenseIntOrFPElementsAttr(kind, BytesAttr(evaluate(self.row, given).tobytes())),)


def _constant(value: SSAValue, lanes: Lanes) -> np.ndarray[Any, Any] | None:
    """The lanes of a constant register."""
    if not isinstance(op := value.owner, arith.ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return None
    data = op.value.data.data
    size = bits_of(lanes.dtype) // 8
    return np.frombuffer(data * (lanes.count * size // len(data)), f"u{size}")


@lru_cache(maxsize=1024)
def types_of(name: str) -> tuple[tuple[Attribute, ...], Attribute]:
    """The types of an instruction's operands and of its result."""
    row = INSTRUCTIONS[name]

    def kind(lanes: Lanes) -> Attribute:
        return i32 if row.is_word(lanes) else constant_type(lanes)

    return tuple(map(kind, row.operands)), kind(row.result)


def constant_type(lanes: Lanes) -> Attribute:
    """The type of an operand, or of one of an instruction's constants: of one lane a scalar."""
    return element_type(lanes.dtype) if lanes.count == 1 else _vector(lanes)


def _vector(lanes: Lanes) -> Attribute:
    return tile_type([lanes.count], element_type(lanes.dtype))


@lru_cache(maxsize=1024)
def element_type(dtype: str) -> Attribute:
    """The IR's type of a lane, which says nothing of signs."""
    return {"f32": f32, "f64": f64}.get(dtype) or IntegerType(bits_of(dtype))
