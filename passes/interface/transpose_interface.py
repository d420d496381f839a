"""Give inputs and outputs of the entry the layouts that its callers have.

The notes `aot.layout` say for which one, and with channels where; they stay for those who describe the entry.

Before:
```mlir
func.func @main(%x: tensor<1x3x8x9xi8> {aot.name = "x", aot.layout = "nhwc"}) -> (..)
```
After:
```mlir
func.func @main(%x: tensor<1x8x9x3xi8> {aot.name = "x", aot.layout = "nhwc"}) -> (..) {
  %0 = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x9x3xi8>) -> tensor<1x3x8x9xi8>
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import arguments_of, entries, results_of
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import TransposeOp
from aotc.model.conventions import from_model, to_model


class TransposeInterfacePass(ModulePass):
    name = "transpose-interface"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in entries(op):
            _inputs(function)
            _outputs(function)
            function.update_function_type()


def _inputs(function: FuncOp) -> None:
    block = function.body.block
    for value, given in zip(function.args, arguments_of(function), strict=True):
        if given.layout is not None:
            shape = [shape_of(value)[axis] for axis in from_model(given.layout)]
            value = Rewriter.replace_value_with_new_type(value, TensorType(element_type_of(value), shape))
            uses, transposed = list(value.uses), _transposed(value, to_model(given.layout))
            Rewriter.insert_op(transposed, InsertPoint.at_start(block))
            for use in uses:
                use.operation.operands[use.index] = transposed.result


def _outputs(function: FuncOp) -> None:
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    for place, given in enumerate(results_of(function)):
        if given.layout is not None:
            transposed = _transposed(end.arguments[place], from_model(given.layout))
            Rewriter.insert_op(transposed, InsertPoint.before(end))
            end.operands[place] = transposed.result


def _transposed(value: SSAValue, permutation: tuple[int, ...]) -> TransposeOp:
    return TransposeOp.get(value, permutation=permutation)
