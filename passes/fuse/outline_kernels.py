"""Move every group, and every operation that is in none, into a private function; identical ones are one function.

Views (reshapes, contiguous slices) and constants stay in the entry, and so do concatenations whose parts kernels can
write in their places (`part_offsets`). An output of the model that is an input, a constant
or another output is copied. `aot.in_place` says for each result which operands' buffers it may take over. What a code
generator from outside computes becomes a declaration, which `aot.external` is about.

Before:
```mlir
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {aot.entry} {
  %0 = graph.fused (%p = %x : tensor<1x4xf32>) -> (tensor<1x4xf32>) {
    %2 = graph.exp %p : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %3 = graph.relu %2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
    graph.yield %3 : tensor<1x4xf32>
  }
  %1 = graph.neg %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}
```
After:
```mlir
func.func private @exp_relu_0(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {aot.kernel, aot.in_place = [[0]]} {
  %0 = graph.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = graph.relu %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}
func.func private @neg_0(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {aot.kernel, aot.in_place = [[0]]} {...}
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {aot.entry} {
  %0 = func.call @exp_relu_0(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = func.call @neg_0(%0) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import EXTERNAL, External, entries, mark_kernel
from aotc.dialects.graph.external import ExternalOp
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    GraphOp,
    is_join,
    is_kernel,
    is_view,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.structure import ConstantOp, CopyOp, FusedOp, YieldOp
from aotc.errors import CompileError, Problem
from aotc.model.locations import fuse_locations, node_names
from aotc.passes.fuse.groups import make_group
from aotc.passes.fuse.reads import in_place
from aotc.passes.kernel.signature import block_signature

NAME_PARTS = 4
"""The most operators that a kernel's symbol names."""


@dataclass(frozen=True)
class OutlineKernelsPass(ModulePass):
    """Move groups and lone operations into private functions, one for all that are identical."""

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: dict[object, FuncOp] = {}
        locations: dict[FuncOp, list[LocationAttr]] = {}
        numbers: Counter[str] = Counter(_stem(f.sym_name.data) for f in op.body.block.ops if isinstance(f, FuncOp))
        for entry in list(entries(op)):
            block = entry.body.block
            _separate_outputs(block)
            _group_lone_operations(block, _joins(block))
            for group in [each for each in block.ops if isinstance(each, FusedOp | ExternalOp)]:
                key = _key(group)
                if (kernel := kernels.get(key)) is None:
                    base = _kernel_name(group)
                    kernel = kernels[key] = _make_kernel(group, f"{base}_{numbers[base]}")
                    numbers[base] += 1
                    op.body.block.insert_op_before(kernel, entry)
                locations.setdefault(kernel, []).append(group.location)
                call = CallOp(kernel.sym_name.data, group.inputs, kernel.function_type.outputs.data)
                call.location = group.location
                unused = [None] * (len(group.results) - len(call.results))  # scratch, which `bufferize` allocates
                Rewriter.replace_op(group, call, [*call.results, *unused])
        for kernel, places in locations.items():
            kernel.location = fuse_locations(places)


def _key(op: FusedOp | ExternalOp) -> object:
    """All that decides which kernel computes a group."""
    if isinstance(op, FusedOp):
        return block_signature(op.block)
    return tuple(sorted(op.properties.items())), tuple(value.type for value in (*op.operands, *op.results))


def _is_computed(value: SSAValue) -> bool:
    """Whether a kernel computes a value."""
    return isinstance(value, OpResult) and (is_kernel(value.op) or isinstance(value.op, FusedOp | ExternalOp))


def _separate_outputs(block: Block) -> None:
    """Copy outputs that are shared or that no kernel computes, so that every output is a result of its own of one
    kernel."""
    end = block.last_op
    assert isinstance(end, ReturnOp)
    taken: set[SSAValue] = set()
    for position, value in enumerate(end.operands):
        source = viewed_whole(value)
        if _is_computed(source) and source not in taken:
            taken.add(source)
            continue
        copy = CopyOp.get(value)
        if isinstance(value, OpResult):
            copy.location = value.op.location
        block.insert_op_before(copy, end)
        end.operands[position] = copy.result


def _joins(block: Block) -> set[Operation]:
    """The operations whose operands can be written where their results begin, so that nothing remains to be computed.

    An operand must be computed by a kernel, be no output, and belong to one such result only. If any operand is, the
    others are copied.
    """
    end = block.last_op
    assert end is not None
    taken = {viewed_whole(value) for value in end.operands}
    joins: set[Operation] = set()
    for op in list(block.ops):
        if not is_join(op) or op.results[0] in taken or op.results[0].first_use is None:
            continue
        copied: list[int] = []
        for place, value in enumerate(op.operands):
            source = viewed_whole(value)
            if _is_computed(source) and source not in taken:
                taken.add(source)
            else:
                copied.append(place)
        if len(copied) < len(op.operands):
            joins.add(op)
            for place in copied:
                copy = CopyOp.get(op.operands[place])
                copy.location = op.location
                block.insert_op_before(copy, op)
                op.operands[place] = copy.result
    return joins


def _group_lone_operations(block: Block, joins: Collection[Operation]) -> None:
    """Make a group of each operation that is in none, except those in `joins`; erase unused operations."""
    for op in reversed(list(block.ops)):
        if isinstance(op, ReturnOp):
            continue
        used = [result for result in op.results if result.first_use is not None]
        if not used:
            op.detach()
            op.erase()
        elif op in joins:
            continue
        elif is_kernel(op):
            make_group([op], used)
        elif not (isinstance(op, FusedOp | ExternalOp | ConstantOp) or is_view(op)):
            node = ", ".join(node_names(op.location))
            raise CompileError(
                Problem(f"{op.name} has no kernel", node, why="it is neither an ElementOp nor an AnchorOp")
            )


def _make_kernel(group: FusedOp | ExternalOp, name: str) -> FuncOp:
    """A private function with the group's operations, which are moved out of the group's region; of what is computed
    outside a declaration."""
    if isinstance(group, ExternalOp):
        kernel = FuncOp.external(name, [value.type for value in group.inputs], [group.result.type])
        mark_kernel(kernel, [[]])
        (scratch_bytes,) = shape_of(group.scratch[0]) if group.scratch else (0,)
        made = External(group.codegen.data, group.kernel.data, group.settings, group.by_name is not None, scratch_bytes)
        EXTERNAL.set(kernel, made)
        return kernel
    inner = group.body.detach_block(group.block)
    end = inner.last_op
    assert isinstance(end, YieldOp)
    values = list(end.values)
    end.detach()
    end.erase()
    placement = in_place(inner, values)
    inner.add_op(ReturnOp(*values))
    _name_arguments(inner)
    signature = ([arg.type for arg in inner.args], [value.type for value in values])
    kernel = FuncOp(name, signature, Region(inner), "private")
    mark_kernel(kernel, placement)
    group.body.add_block(Block())
    return kernel


def _name_arguments(block: Block) -> None:
    """Name every argument after the operand as which it is used first, `%x` or `%bias`; the model's tensor names are
    dropped."""
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        value.name_hint = None
    for op in block.ops:
        for operand in op.operands:
            if operand.owner is block and operand.name_hint is None:
                operand.name_hint = _operand_name(op, operand)


def _operand_name(op: Operation, value: SSAValue) -> str | None:
    """The name that the operation, or the first one in its region that uses it, has for an operand."""
    for region in op.regions:
        argument = region.block.args[list(op.operands).index(value)]
        return next((_operand_name(inner, argument) for inner in region.block.ops if argument in inner.operands), None)
    if isinstance(op, GraphOp):
        for name, _ in op.get_irdl_definition().operands:
            operand = getattr(op, name)
            if operand is value or (isinstance(operand, Sequence) and value in operand):
                return name
    return None


def _kernel_name(group: FusedOp | ExternalOp) -> str:
    """The operators in order; of many, the first from the anchor on, and the number of the others. Of what is computed
    outside by whom, and the kind of kernel."""
    if isinstance(group, ExternalOp):
        return re.sub(r"[^A-Za-z0-9_]", "_", f"{group.codegen.data}_{group.kernel.data}")
    ops = [op for op in group.block.walk() if not op.regions and not isinstance(op, ConstantOp | YieldOp)]
    names = [re.sub(r"[^A-Za-z0-9_]", "_", op.name.rsplit(".", 1)[-1]) for op in ops]
    if len(names) > NAME_PARTS:
        anchor = next((place for place, op in enumerate(ops) if isinstance(op, AnchorOp)), 0)
        shown = names[anchor : anchor + NAME_PARTS]
        names = [*shown, f"and_{len(names) - len(shown)}"]
    return "_".join(names)


def _stem(symbol: str) -> str:
    return re.sub(r"_\d+$", "", symbol)
