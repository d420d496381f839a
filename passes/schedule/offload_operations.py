"""Leave to code generators from outside what they claim, each claim as one operation that only its generator knows.

What a claim reads in another order of axes is transposed, and so is its result back; `canonicalize` removes both
between one kernel and the next, and `fold-constants` does what is constant. Code generators are asked in the order
given, about the last operations first, so that a claim for a requantisation takes the convolution before it along.

`offload-operations{codegens="cmsis-nn" target="cortex-m4f"}`, before:
```mlir
%0 = graph.conv %x, %w, %b {.., accumulator = i32} : (tensor<1x8x6x6xi8>, tensor<4x8x1x1xi8>, tensor<4xi32>) -> ..
%1 = graph.fixed_requantize %0, %m {..} : (tensor<1x4x6x6xi32>, tensor<4xi32>) -> tensor<1x4x6x6xi8>
```
After:
```mlir
%2 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x6xi8>) -> tensor<1x6x6x8xi8>
%3 = graph.transpose %w {permutation = array<i64: 0, 2, 3, 1>} : (tensor<4x8x1x1xi8>) -> tensor<4x1x1x8xi8>
%4 = graph.external %2, %3, %b, %multiplier, %shift {codegen = "cmsis-nn", kernel = "conv", settings = {..}} : ..
%1 = graph.transpose %4 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x6x4xi8>) -> tensor<1x4x6x6xi8>
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import entries, target_of
from aotc.dialects.constants import constant_op
from aotc.dialects.graph.compound.external_kernel import ExternalOp
from aotc.dialects.graph.interfaces import GraphOp, shape_of, tensor_type
from aotc.dialects.graph.movement import TransposeOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.codegens import Claim, CodeGenerator, Operand, code_generator
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore


@dataclass(frozen=True)
class OffloadOperationsPass(ModulePass):
    name = "offload-operations"

    codegens: str = ""
    """Their names, separated by commas."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        generators = {name: code_generator(name) for name in self.codegens.split(",") if name}
        for entry in entries(op):
            _offload(entry.body.block, generators, target_of(op), ctx)


def _offload(block: Block, generators: dict[str, CodeGenerator], target: str, ctx: Context) -> None:
    for op in reversed(list(block.ops)):
        if not isinstance(op, GraphOp):
            continue
        if all(result.first_use is None for result in op.results):  # another claim took it along
            Rewriter.erase_op(op)
            continue
        if len(op.results) != 1 or isinstance(op, ConstantOp):
            continue
        for name, generator in generators.items():
            if (claim := generator.claim(op, target, ctx)) is not None:
                _replace(op, name, claim, not generator.linkable, WeightStore.of(ctx))
                break


def _replace(op: GraphOp, codegen: str, claim: Claim, by_name: bool, store: WeightStore) -> None:
    """Put the operation of a claim in place of `op`, between transposes where the claim wants other layouts."""
    added: list[GraphOp] = []

    def add(new: GraphOp) -> SSAValue:
        new.location = fuse_locations(taken)
        added.append(new)
        return new.results[0]

    def operand(given: Operand) -> SSAValue:
        value = given.value
        if not isinstance(value, SSAValue):
            value = add(constant_op(value, f"{claim.kernel}_constant", store))
        return value if _is_plain(given.permutation) else add(TransposeOp.get(value, permutation=given.permutation))

    values = {each.value for each in claim.operands if isinstance(each.value, SSAValue)}
    taken = [each.location for each in _between(op, values)]
    inputs = [operand(each) for each in claim.operands]
    kind, order = tensor_type(op.results[0]), None if _is_plain(claim.permutation) else claim.permutation
    if order is not None:
        shape = shape_of(op.results[0])
        kind = TensorType(kind.get_element_type(), [shape[axis] for axis in order])
    scratch = claim.scratch_bytes
    new = ExternalOp.make(codegen, claim.kernel, inputs, kind, claim.settings, scratch_bytes=scratch, by_name=by_name)
    result = add(new)
    result.name_hint = op.results[0].name_hint
    if order is not None:
        result = add(TransposeOp.get(result, permutation=tuple(order.index(axis) for axis in range(len(order)))))
    Rewriter.insert_op(added, InsertPoint.before(op))
    Rewriter.replace_op(op, [], [result])


def _is_plain(permutation: Sequence[int] | None) -> bool:
    return permutation is None or list(permutation) == sorted(permutation)


def _between(last: Operation, values: set[SSAValue]) -> list[Operation]:
    """The operations from those that read `values` to `last`, in order."""
    found: dict[Operation, None] = {last: None}
    pending = [last]
    while pending:
        for value in pending.pop().operands:
            owner = value.owner
            if value in values or not isinstance(owner, GraphOp) or isinstance(owner, ConstantOp) or owner in found:
                continue
            found[owner] = None
            pending.append(owner)
    return list(reversed(found))
