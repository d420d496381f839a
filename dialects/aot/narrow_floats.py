"""f16 and bf16 where kernels are loops: memory holds them, and arithmetic is in f32."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import Attribute, Operation

from aotc.dialects.aot.tiles import TileCompareOp, TileConvertOp
from aotc.dialects.dtypes import is_narrow_float

_MOVES = (arith.ConstantOp, arith.SelectOp, arith.BitcastOp)
_CONVERSIONS = (arith.ExtFOp, arith.TruncFOp, TileConvertOp)


def computes_narrow(op: Operation) -> bool:
    """Whether an operation does anything with f16 or bf16 but move them, and convert them from f32 and to it."""
    if not op.name.startswith(("arith.", "math.")) and not isinstance(op, TileCompareOp | TileConvertOp):
        return False
    kinds = [_element(value.type) for value in (*op.operands, *op.results)]
    if not any(map(is_narrow_float, kinds)) or isinstance(op, _MOVES):
        return False
    return not isinstance(op, _CONVERSIONS) or f32 not in kinds


def _element(kind: Attribute) -> Attribute:
    return kind.element_type if isinstance(kind, VectorType) else kind
