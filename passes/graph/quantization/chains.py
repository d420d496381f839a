"""Chains of functions, element by element, of one tensor of 8-bit integers: functions of 256 arguments."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.conversion import AffineOp
from aotc.dialects.graph.interfaces import Array, ElementOp, element_type_of, producer, shape_of
from aotc.model.weight_store import WeightStore


class Chain:
    """Operations that compute a tensor element by element from one of 8 bits, in order."""

    def __init__(self, store: WeightStore) -> None:
        self._store = store
        self.ops: list[ElementOp] = []
        self.source: SSAValue | None = None
        """The integers of 8 bits."""

    def take(self, op: ElementOp) -> bool:
        """Take in `op` and what its operands are computed by; False where more than one tensor is read."""
        if op in self.ops:
            return True
        if not is_pointwise(op):
            return False
        for value in op.operands:
            if is_number(value, self._store):
                continue
            if shape_of(value) != shape_of(op.results[0]):
                return False
            before, source = list(self.ops), self.source
            inner = producer(value, ElementOp)
            if inner is not None and self.take(inner):
                continue
            self.ops, self.source = before, source
            if not is_byte(value) or self.source not in (None, value):
                return False
            self.source = value
        self.ops.append(op)
        return True

    def table(self, result: SSAValue) -> Array | None:
        """The value of `result` for each integer by its bits; None where an operation does not fold."""
        assert self.source is not None
        return evaluated(self.ops, {self.source: self.arguments()}, self._store).get(result)

    def arguments(self) -> Array:
        """All integers of the source's type, by their bits."""
        assert self.source is not None
        return np.arange(256, dtype=np.uint8).view(numpy_dtype(element_type_of(self.source)))


def evaluated(ops: Sequence[ElementOp], values: dict[SSAValue, Array], store: WeightStore) -> dict[SSAValue, Array]:
    """Results of pointwise operations, in order, on arrays of one shape; what else they read are constants of one
    element. Results from the first operation on that does not fold are missing."""
    values = dict(values)
    shape = next(iter(values.values())).shape
    for op in ops:
        computed = op.evaluate_places([_operand(value, values, store) for value in op.operands])
        if computed is None or computed.shape != shape:
            break
        values[op.results[0]] = computed
    return values


def _operand(value: SSAValue, values: dict[SSAValue, Array], store: WeightStore) -> Array:
    if value in values:
        return values[value]
    constant = computed_array(value, store)
    assert constant is not None
    return constant.reshape(())


def is_number(value: SSAValue, store: WeightStore) -> bool:
    """Whether `value` is a constant of one element, as it is or dequantised."""
    return math.prod(shape_of(value)) == 1 and computed_array(value, store) is not None


def is_byte(value: SSAValue) -> bool:
    """Whether the elements are integers of 8 bits."""
    kind = element_type_of(value)
    return isinstance(kind, IntegerType) and kind.width.data == 8


def is_pointwise(op: ElementOp) -> bool:
    """Whether an element of the result depends on the elements at its own place, and on constants, alone."""
    return op.BROADCASTS or isinstance(op, AffineOp)
