"""Facts about vectors in the IR: which values are some, how long they are, which operations are about them."""

from __future__ import annotations

from xdsl.dialects.builtin import FixedBitwidthType, VectorType
from xdsl.ir import Operation, SSAValue

from aotc.dialects import aot


def is_vector(value: SSAValue) -> bool:
    """Whether a value is one."""
    return type(value.type) is VectorType


def size(value: SSAValue) -> int:
    """Bytes of a vector; 0 of any other value."""
    if type(kind := value.type) is not VectorType:
        return 0
    element = kind.get_element_type()
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    return -(-bits // 8) * kind.get_shape()[-1]


def concerns(op: Operation) -> bool:
    """Whether an operation takes or makes vectors, or is about them only."""
    return isinstance(op, aot.PrefetchOp) or any(map(is_vector, (*op.operands, *op.results)))
