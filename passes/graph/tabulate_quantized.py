"""Make one table of what a graph computes between an integer of 8 bits and the next quantisation.

A chain of functions, element by element, of one tensor of i8 or ui8 is a function of 256 arguments: it is evaluated for
all of them, as constants are folded, and becomes `graph.lookup`. For cores without vectors; on vectors the functions
are computed in registers.

Before:
```mlir
%0 = graph.dequantize %x, %scale, %zero {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%1 = graph.sigmoid %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
%2 = graph.mul %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
%3 = graph.quantize %2, %s, %z {to = i8, ..} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
```
After:
```mlir
%3 = graph.lookup %x, %table : (tensor<1x4xi8>, tensor<256xi8>) -> tensor<1x4xi8>
```
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import entries
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.conversion import AffineOp, QuantizeOp
from aotc.dialects.graph.interfaces import Array, ElementOp, element_type_of, producer, shape_of
from aotc.dialects.graph.quantized.lookup import LookupOp
from aotc.model.locations import fuse_locations
from aotc.model.weights import WeightStore
from aotc.passes.graph.quantization.sums import Constants


@dataclass(frozen=True)
class TabulateQuantizedPass(ModulePass):
    """Make one table of what a graph computes between an integer of 8 bits and the next quantisation."""

    name = "tabulate-quantized"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for entry in entries(op):
            constants = Constants(entry.body.block, store)
            for each in reversed(list(entry.body.block.ops)):
                if isinstance(each, QuantizeOp) and isinstance(each.to, IntegerType) and each.result.uses:
                    _tabulate(each, constants)


def _tabulate(op: QuantizeOp, constants: Constants) -> None:
    chain = _Chain(constants.store)
    if not chain.take(op) or (source := chain.source) is None:
        return
    table = chain.table(op.result)
    if table is None:
        return
    new = LookupOp.get(source, constants.of(table, "table"))
    new.location = fuse_locations(each.location for each in chain.ops)
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [new])


class _Chain:
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
        if not _is_pointwise(op):
            return False
        for value in op.operands:
            known = known_array(value, self._store)
            if known is not None and known.size == 1:
                continue
            if shape_of(value) != shape_of(op.results[0]):
                return False
            before, source = list(self.ops), self.source
            inner = producer(value, ElementOp)
            if inner is not None and self.take(inner):
                continue
            self.ops, self.source = before, source
            if not _is_byte(value) or self.source not in (None, value):
                return False
            self.source = value
        self.ops.append(op)
        return True

    def table(self, result: SSAValue) -> Array | None:
        """The value of `result` for each integer by its bits; None where an operation does not fold."""
        assert self.source is not None
        bits = np.arange(256, dtype=np.uint8)
        values: dict[SSAValue, Array] = {self.source: bits.view(numpy_dtype(element_type_of(self.source)))}
        with np.errstate(all="ignore"):
            for op in self.ops:
                operands = [self._operand(value, values) for value in op.operands]
                computed = op.evaluate(operands)
                if computed is None or computed[0].shape != bits.shape:
                    return None
                values[op.results[0]] = computed[0]
        return values[result]

    def _operand(self, value: SSAValue, values: dict[SSAValue, Array]) -> Array:
        if value in values:
            return values[value]
        constant = known_array(value, self._store)
        assert constant is not None
        return constant.reshape(())


def _is_byte(value: SSAValue) -> bool:
    kind = element_type_of(value)
    return isinstance(kind, IntegerType) and kind.width.data == 8


def _is_pointwise(op: ElementOp) -> bool:
    """Whether an element of the result depends on the elements at its own place, and on constants, alone."""
    return op.BROADCASTS or isinstance(op, AffineOp)
