"""Leave the quantization of inputs and the dequantization of outputs to the caller.

Where all that reads a float input quantizes it alike, per tensor, the entry is given the integers; where a float output
is dequantized per tensor, it gives the integers. Their scale and zero point are noted, as of any quantised tensor.

Before:
```mlir
func.func @main(%x: tensor<1x4xf32> {aot.name = "x", aot.dtype = "float32"}) -> (tensor<1x4xf32> {..}) {
  %0 = graph.quantize %x, %scale, %zero {to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  ..
  func.return %y : tensor<1x4xf32>
}
```
After:
```mlir
func.func @main(%x: tensor<1x4xi8> {aot.name = "x", aot.dtype = "int8", aot.scale = .., aot.zero_point = ..}) -> (..)
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import Argument, arguments_of, entries, results_of, set_arguments, set_results
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import number_kind, numpy_dtype
from aotc.dialects.graph.conversion import AffineOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.interfaces import element_type_of, producer
from aotc.model.weight_store import WeightStore


class QuantizeInterfacePass(ModulePass):
    name = "quantize-interface"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for function in entries(op):
            _inputs(function, store)
            _outputs(function, store)
            function.update_function_type()


def _inputs(function: FuncOp, store: WeightStore) -> None:
    """Let the caller quantize inputs."""
    arguments = arguments_of(function)
    states = {each.state_of for each in results_of(function)}
    for place, (value, given) in enumerate(zip(function.args, arguments, strict=True)):
        readers = [use.operation for use in value.uses if use.index == 0]
        quantizations = [each for each in readers if isinstance(each, QuantizeOp)]
        found = {(each.to, _parameters(each, store)) for each in quantizations}
        if place in states or len(quantizations) != len(list(value.uses)) or len(found) != 1:
            continue
        ((_, parameters),) = found
        if parameters is None:
            continue
        value = Rewriter.replace_value_with_new_type(value, quantizations[0].result.type)
        for each in quantizations:
            Rewriter.replace_op(each, [], [value])
        _note(given, value, *parameters)
    set_arguments(function, arguments)


def _outputs(function: FuncOp, store: WeightStore) -> None:
    """Let the caller dequantize outputs."""
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    results = results_of(function)
    for place, given in enumerate(results):
        op = producer(end.arguments[place], DequantizeOp)
        parameters = None if op is None else _parameters(op, store)
        if op is None or parameters is None or given.state_of is not None:
            continue
        end.operands[place] = op.x
        if op.result.first_use is None:
            Rewriter.erase_op(op)
        _note(given, end.arguments[place], *parameters)
    set_results(function, results)


def _parameters(op: AffineOp, store: WeightStore) -> tuple[float, int] | None:
    """Scale and zero point of integers; None where they are not constants for a whole tensor."""
    integers = op.result if isinstance(op, QuantizeOp) else op.x
    scale = known_array(op.scale, store)
    point = None if op.zero_point is None else known_array(op.zero_point, store)
    if number_kind(numpy_dtype(element_type_of(integers))) not in "iu" or scale is None or scale.size != 1:
        return None
    if op.zero_point is not None and point is None:
        return None
    return float(scale.item()), 0 if point is None else int(point.item())


def _note(given: Argument, value: SSAValue, scale: float, zero_point: int) -> None:
    given.dtype, given.scale, given.zero_point = numpy_dtype(element_type_of(value)).name, scale, zero_point
