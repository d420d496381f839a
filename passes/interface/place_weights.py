"""Gather the weights that are not embedded into one blob, each at an offset.

```mlir
%w = aot.weight "conv.w" : memref<8x3xf32>
```
becomes, where the module says `aot.weights = "external"` or `"caller"`,
```mlir
%weights = aot.weights "aotc_kws_weights" : memref<96xi8>
%c0 = arith.constant 0 : index
%w = memref.view %weights[%c0][] : memref<96xi8> to memref<8x3xf32>
```
and the module gets `aot.weight_layout = {size = 96, alignment = 8, offsets = {"conv.w" = 0}}`, from which
`weights_blob` makes the bytes. A kernel that reads a weight of its own gets it as an argument: only the entry knows
the blob.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass

from aotc.conventions import weights_symbol
from aotc.dialects.aot import WeightOp, WeightsOp
from aotc.dialects.dtypes import byte_width
from aotc.passes.interface.signature import append_argument, entry, kernels, model_name, option
from aotc.weights import WeightStore

WEIGHT_ALIGNMENT: Final = 8
"""Bytes; enough for every element type. The application aligns the blob to it."""


@dataclass(frozen=True)
class PlaceWeightsPass(ModulePass):
    """See the module."""

    name = "place-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if option(op, "aot.weights") == "embedded":
            return
        main = entry(op)
        _pass_to_kernels(op)
        offsets: dict[str, int] = {}
        end = 0
        uses = [weight for weight in main.walk() if isinstance(weight, WeightOp)]
        for weight in uses:
            if weight.key.data not in offsets:
                offsets[weight.key.data] = start = _aligned(end)
                kind = weight.result.type
                end = start + kind.element_count() * byte_width(kind.element_type)
        op.attributes["aot.weight_layout"] = DictionaryAttr(
            {
                "size": IntegerAttr(end, i64),
                "alignment": IntegerAttr(WEIGHT_ALIGNMENT, i64),
                "offsets": DictionaryAttr({key: IntegerAttr(offset, i64) for key, offset in offsets.items()}),
            }
        )
        if not uses:
            return
        block = main.body.block
        blob = WeightsOp(weights_symbol(model_name(op)), end)
        blob.result.name_hint = "weights"
        assert block.first_op is not None
        block.insert_op_before(blob, block.first_op)
        for weight in uses:
            offset = arith.ConstantOp(IntegerAttr.from_index_int_value(offsets[weight.key.data]))
            view = memref.ViewOp(blob.result, offset, [], weight.result.type)
            view.result.name_hint = weight.result.name_hint
            owner = weight.parent
            assert owner is not None
            owner.insert_ops_before([offset, view], weight)
            weight.result.replace_all_uses_with(view.result)
            weight.detach()
            weight.erase()


def weight_sizes(module: ModuleOp) -> dict[str, int]:
    """Bytes of each weight of the model that is embedded, by key."""
    uses = [op for function in (entry(module), *kernels(module)) for op in function.walk() if isinstance(op, WeightOp)]
    kinds = {op.key.data: op.result.type for op in uses}
    return {key: kind.element_count() * byte_width(kind.element_type) for key, kind in kinds.items()}


def weight_offsets(module: ModuleOp) -> dict[str, int]:
    """Where in the blob of a module after `place-weights` each weight is, by key; nothing where they are embedded."""
    layout = module.attributes.get("aot.weight_layout")
    offsets = layout.data["offsets"] if isinstance(layout, DictionaryAttr) else DictionaryAttr({})
    assert isinstance(offsets, DictionaryAttr)
    return {key: offset.value.data for key, offset in offsets.data.items() if isinstance(offset, IntegerAttr)}


def weights_blob(module: ModuleOp, store: WeightStore) -> bytes:
    """The bytes behind the weights symbol or pointer of a module after `place-weights`; empty where embedded."""
    offsets = weight_offsets(module)
    blob = bytearray(max((offset + store[key].nbytes for key, offset in offsets.items()), default=0))
    for key, offset in offsets.items():
        content = store[key].tobytes()
        blob[offset : offset + len(content)] = content
    return bytes(blob)


def _aligned(offset: int) -> int:
    return -(-offset // WEIGHT_ALIGNMENT) * WEIGHT_ALIGNMENT


def _pass_to_kernels(module: ModuleOp) -> None:
    """Turn each weight inside a kernel into a last argument of the kernel and of all its calls."""
    calls: dict[str, list[CallOp]] = {}
    for call in module.walk():
        if isinstance(call, CallOp):
            calls.setdefault(call.callee.string_value(), []).append(call)
    for kernel in kernels(module):
        for weight in [each for each in kernel.walk() if isinstance(each, WeightOp)]:
            argument = append_argument(kernel, weight.result.type, {}, weight.result.name_hint or "weight")
            weight.result.replace_all_uses_with(argument)
            weight.detach()
            for call in calls.get(kernel.sym_name.data, ()):
                block = call.parent
                assert block is not None
                copy = weight.clone()
                block.insert_op_before(copy, call)
                call.operands = [*call.operands, copy.result]
            weight.erase()
