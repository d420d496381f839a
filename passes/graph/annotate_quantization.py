"""Note on the entry's arguments and results the scale and zero point by which their integers stand for real numbers.

Where an argument is only dequantized, per tensor, or a result comes from a quantization; element movement in between
changes neither. Users of the compiled model read them in its header.

Before:
```mlir
func.func @main(%x: tensor<1x4xi8> {aot.name = "x"}) -> (tensor<4x1xf32> {aot.name = "y"}) attributes {aot.entry} {
  %scale = graph.constant dense<5.000000e-01> : tensor<f32>
  %zero = graph.constant dense<-1> : tensor<i8>
  %0 = graph.transpose %x ...
  %1 = graph.dequantize %0, %scale, %zero ...
  func.return %1 : tensor<4x1xf32>
}
```
After:
```mlir
func.func @main(%x: tensor<1x4xi8> {aot.name = "x", aot.scale = 5.000000e-01 : f64, aot.zero_point = -1 : i64}) -> ...
```
"""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import Argument, arguments_of, entries, results_of, set_arguments, set_results
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import number_kind
from aotc.dialects.graph.interfaces import ElementOp, GraphOp, Quantization, producer
from aotc.model.weight_store import WeightStore


class AnnotateQuantizationPass(ModulePass):
    name = "annotate-quantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for function in entries(op):
            block = function.body.block
            terminator = block.last_op
            assert isinstance(terminator, ReturnOp)
            inputs = [_of_argument(argument, store) for argument in block.args]
            outputs = [_of_result(value, store) for value in terminator.arguments]
            set_arguments(function, _noted(arguments_of(function), inputs))
            set_results(function, _noted(results_of(function), outputs))


_Parameters: TypeAlias = tuple[float, int]
"""Scale and zero point."""


def _of_argument(value: SSAValue, store: WeightStore) -> _Parameters | None:
    """The quantization of a value that nothing but dequantizations read, all by the same parameters."""
    found: list[_Parameters | None] = []
    for use in value.uses:
        reader = use.operation
        if _moves(reader):
            found.append(_of_argument(reader.results[0], store))
        elif isinstance(reader, GraphOp) and use.index == 0:
            found.append(_parameters(reader.operand_quantization(), store))
        else:
            return None
    return found[0] if found and all(other == found[0] for other in found) else None


def _of_result(value: SSAValue, store: WeightStore) -> _Parameters | None:
    """The quantization that a value comes from."""
    while isinstance(value, OpResult) and _moves(value.op):
        value = value.op.operands[0]
    maker = producer(value, GraphOp)
    return None if maker is None else _parameters(maker.result_quantization(), store)


def _moves(op: Operation) -> bool:
    """Whether the elements of the result are those of the only operand, at other places."""
    return isinstance(op, ElementOp) and op.MOVES and len(op.operands) == 1


def _parameters(quantization: Quantization | None, store: WeightStore) -> _Parameters | None:
    """Scale and zero point; None where they are not constant or not one for the whole tensor."""
    if quantization is None:
        return None
    scale = known_array(quantization.scale, store)
    zero_point = None if quantization.zero_point is None else known_array(quantization.zero_point, store)
    if scale is None or scale.size != 1 or (quantization.zero_point is not None and zero_point is None):
        return None
    if zero_point is not None and number_kind(zero_point.dtype) == "f" and zero_point.any():
        return None  # there is no integer for it
    offset = 0 if zero_point is None else int(zero_point.item())
    return float(scale.item()), offset


def _noted(given: Sequence[Argument], found: Sequence[_Parameters | None]) -> Sequence[Argument]:
    for each, quantization in zip(given, found, strict=True):
        if quantization is not None:
            each.scale, each.zero_point = quantization
    return given
