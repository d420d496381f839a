"""Put weights in the order in which calls read them; gather those that are not embedded into one blob.

A kernel can then prefetch the weights of the next one. Emitters lay out embedded weights in this order.

```mlir
%w = aot.weight "conv.w" : memref<8x3xf32>
```
becomes, where the module says `aot.weights = "external"` or `"caller"`,
```mlir
%weights = aot.weights "aotc_kws_weights" : memref<96xi8>
%c0 = arith.constant 0 : index
%w = memref.view %weights[%c0][] : memref<96xi8> to memref<8x3xf32>
```
and the module gets `aot.weight_layout = {size = 96, alignment = 8, offsets = {"conv.w" = 0}}`, by which
`WeightStore.blob` puts the bytes together. A kernel that reads a weight of its own gets it as an argument: only the
entry knows the blob.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot import WeightOp, WeightsOp, contract
from aotc.dialects.dtypes import byte_width
from aotc.model.conventions import weights_symbol


@dataclass(frozen=True)
class PlaceWeightsPass(ModulePass):
    name = "place-weights"

    alignment: int = 8
    """Bytes that every weight in the blob, and the blob itself, is aligned to; 8 is enough for every element type."""
    apart: bool = False
    """The caller gives a table of addresses, one for each weight, so that models can have weights in common:
    `buffers-to-pointers` makes loads of the table of the views of the blob."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        _order(main.body.block)
        if contract.WEIGHTS.require(op) == "embedded":
            return
        _pass_to_kernels(op)
        offsets: dict[str, int] = {}
        end = 0
        uses = [weight for weight in main.walk() if isinstance(weight, WeightOp)]
        for weight in uses:
            if weight.key.data not in offsets:
                offsets[weight.key.data] = start = -(-end // self.alignment) * self.alignment
                kind = weight.result.type
                end = start + kind.element_count() * byte_width(kind.element_type)
        contract.WEIGHT_LAYOUT.set(op, contract.WeightLayout(end, self.alignment, offsets, self.apart))
        if not uses:
            return
        block = main.body.block
        blob = WeightsOp(weights_symbol(contract.model_name(op)), end)
        blob.result.name_hint = "weights"
        Rewriter.insert_op(blob, InsertPoint.at_start(block))
        for weight in uses:
            offset = arith.ConstantOp(IntegerAttr.from_index_int_value(offsets[weight.key.data]))
            view = memref.ViewOp(blob.result, offset, [], weight.result.type)
            Rewriter.insert_op(offset, InsertPoint.before(weight))
            Rewriter.replace_op(weight, view)


def _order(block: Block) -> None:
    """Move the weights of the entry to its head, in the order in which they are used, whatever views stand between."""
    weights = [op for op in block.ops if isinstance(op, WeightOp)]
    position = {op: number for number, op in enumerate(block.ops)}

    def first_use(value: SSAValue) -> int:
        users = [use.operation for use in value.uses if use.operation in position]
        places = (min(map(first_use, user.results), default=position[user]) for user in users)
        return min(places, default=len(position))

    ordered = sorted(weights, key=lambda weight: first_use(weight.result))
    for weight in weights:
        weight.detach()
    if block.first_op is not None:
        block.insert_ops_before(ordered, block.first_op)


def _pass_to_kernels(module: ModuleOp) -> None:
    """Turn each weight inside a kernel into a last operand of the kernel, before its results, and of all its calls."""
    calls: dict[str, list[CallOp]] = {}
    for call in module.walk():
        if isinstance(call, CallOp):
            calls.setdefault(call.callee.string_value(), []).append(call)
    for kernel in contract.kernels(module):
        for weight in [each for each in kernel.walk() if isinstance(each, WeightOp)]:
            place = contract.first_output(kernel)
            hint = weight.result.name_hint or "weight"
            argument = contract.insert_argument(kernel, place, weight.result.type, contract.Argument(), hint)
            weight.result.replace_all_uses_with(argument)
            weight.detach()
            for call in calls.get(kernel.sym_name.data, ()):
                copy = weight.clone()
                Rewriter.insert_op(copy, InsertPoint.before(call))
                call.operands = [*call.operands[:place], copy.result, *call.operands[place:]]
            weight.erase()
