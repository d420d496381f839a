"""Move every group, and every operation that is in none, into a private function; identical ones are one function.

Views (reshapes, contiguous slices) and constants stay in the entry, and so do concatenations whose parts kernels can
write in their places (`part_offsets`, `part_starts`). An output of the model that is an input, a constant or another
output is copied; so it is in every region of control flow, where outputs are what it yields. What a loop carries, and a
state that the entry keeps, is computed after the last read of what it was before, or copied (`carried`). `aot.in_place`
says for each result which operands' buffers it may take over, `aot.trails` which ones it may overlap. What a code
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

import re
from collections import Counter
from collections.abc import Collection, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import BRANCHES, EXTERNAL, TRAILS, WITHIN, External, entries, functions, mark_kernel
from aotc.dialects.graph.compound.control_flow import ControlOp, IfOp, LoopOp, graph_blocks
from aotc.dialects.graph.compound.external_kernel import ExternalOp
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ConstantPackerOp,
    ElementOp,
    GraphOp,
    is_join,
    is_kernel,
    is_view,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.errors import CompileError
from aotc.model.locations import fuse_locations, node_names
from aotc.passes.fuse.carried import carried_at, copy_operand, is_read_once, settle_control_flow
from aotc.passes.fuse.groups import group_lone_kernels, make_group
from aotc.passes.fuse.reads import in_place, trailing
from aotc.passes.kernel.signature import block_signature

NAME_PARTS = 4
"""The most operators that a kernel's symbol names."""


class OutlineKernelsPass(ModulePass):
    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: dict[object, FuncOp] = {}
        locations: dict[FuncOp, list[LocationAttr]] = {}
        numbers: Counter[str] = Counter(re.sub(r"_\d+$", "", f.sym_name.data) for f in functions(op))
        blocks = graph_blocks(op)
        for block in reversed(blocks):
            group_lone_kernels(block)
            _group_others(block, _joins(block, _separate_carried(block, _separate_outputs(block))))
        settle_control_flow(blocks)
        for block in blocks:
            for group in [each for each in block.ops if isinstance(each, FusedOp | ExternalOp)]:
                key = _key(group)
                if (kernel := kernels.get(key)) is None:
                    base = _kernel_name(group)
                    kernel = kernels[key] = _make_kernel(group, f"{base}_{numbers[base]}")
                    numbers[base] += 1
                    op.body.block.insert_op_before(kernel, next(entries(op)))
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
        return block_signature(op.block), op.attributes.get(WITHIN.name)
    return tuple(sorted(op.properties.items())), tuple(value.type for value in (*op.operands, *op.results))


def _separate_outputs(block: Block) -> set[SSAValue]:
    """Copy outputs that are shared or that no kernel computes, so that every output is a result of its own of one
    operation; returns those results. What a loop carries on as it is stays, and so does what a conditional hands on, of
    which `settle_control_flow` knows more."""
    end, parent = block.last_op, block.parent_op()
    assert end is not None
    taken: set[SSAValue] = set()
    for position, value in enumerate(end.operands):
        source = viewed_whole(value)
        if _is_computed(source) and source not in taken:
            taken.add(source)
            continue
        if source is carried_at(block, position):
            continue
        if not (isinstance(parent, IfOp) and isinstance(source, BlockArgument)):
            copy_operand(end, position)
    return taken


def _is_computed(value: SSAValue) -> bool:
    """Whether an operation writes `value` into a buffer: a kernel, or control flow."""
    groups = FusedOp | ExternalOp | ControlOp
    return isinstance(value, OpResult) and (is_kernel(value.op) or isinstance(value.op, groups))


def _separate_carried(block: Block, taken: set[SSAValue]) -> set[SSAValue]:
    """Copy what loops begin with where anything else reads it, too: its buffer is that of the carried value.

    Returns all results that have places now: those in `taken` and what loops begin with.
    """
    taken = set(taken)
    for loop in [op for op in block.ops if isinstance(op, LoopOp)]:
        first, count = loop.overwritten
        for place in range(first, first + count):
            value = loop.operands[place]
            source = viewed_whole(value)
            if not _is_computed(source) or not is_read_once(value):
                source = copy_operand(loop, place).result
            taken.add(source)
    return taken


def _joins(block: Block, taken: set[SSAValue]) -> set[Operation]:
    """The operations whose operands can be written where their results begin, so that nothing remains to be computed.

    An operand must be computed by a kernel, have no other place (it is none of `taken`), and belong to one such result
    only. If any operand is, the others are copied. Where the elements of an operand are apart in the result, nothing
    else may read it.
    """
    taken = set(taken)
    joins: set[Operation] = set()
    for op in list(block.ops):
        if not is_join(op) or op.results[0] in taken or op.results[0].first_use is None:
            continue
        assert isinstance(op, GraphOp)
        copied: list[int] = []
        apart = op.part_starts()
        for place, value in enumerate(op.operands):
            source = viewed_whole(value)
            if apart is not None and not _may_be_apart(value):
                copied.append(place)
            elif _is_computed(source) and source not in taken:
                taken.add(source)
            else:
                copied.append(place)
        if len(copied) < len(op.operands):
            joins.add(op)
            for place in copied:
                copy_operand(op, place)
            if apart is not None:
                _write_apart(op, *apart)
    return joins


def _may_be_apart(value: SSAValue) -> bool:
    """Whether the kernel that computes `value` may leave room between its elements: one of ours, for one reader."""
    return isinstance(value, OpResult) and value.has_one_use() and isinstance(value.op, FusedOp)


def _write_apart(op: GraphOp, axis: int, starts: Sequence[int]) -> None:
    """Say of the groups that compute the operands of `op` where along `axis` of its result they write them."""
    for value, start in zip(list(op.operands), starts, strict=True):
        assert isinstance(value, OpResult)
        group = value.op if isinstance(value.op, FusedOp) else make_group([value.op], [value])  # of a copy
        within = list(WITHIN.get(group) or [()] * len(group.results))
        within[value.index] = (axis, start, shape_of(op.results[0])[axis])
        WITHIN.set(group, within)


def _group_others(block: Block, joins: Collection[Operation]) -> None:
    """Make groups of copies, and of joins that are none of `joins`. Raises CompileError where anything else is left
    that has no kernel."""
    for op in list(block.ops):
        if isinstance(op, ReturnOp | YieldOp) or op in joins:
            continue
        if is_kernel(op):
            make_group([op], op.results)
        elif not (isinstance(op, FusedOp | ExternalOp | ConstantOp | ControlOp) or is_view(op)):
            node = ", ".join(node_names(op.location))
            packs = isinstance(op, ConstantPackerOp)
            why = "it packs constants, and is given others" if packs else "it is neither an ElementOp nor an AnchorOp"
            raise CompileError("no-kernel", f"{op.name} has no kernel", why, node=node)


def _make_kernel(group: FusedOp | ExternalOp, name: str) -> FuncOp:
    """A private function with the group's operations, which are moved out of the group's region; of what is computed
    outside a declaration."""
    if isinstance(group, ExternalOp):
        kernel = FuncOp.external(name, [value.type for value in group.inputs], [group.result.type])
        mark_kernel(kernel, [[]])
        (scratch_bytes,) = shape_of(group.scratch[0]) if group.scratch else (0,)
        made = External(group.codegen.data, group.kernel.data, group.settings, group.by_name, scratch_bytes)
        EXTERNAL.set(kernel, made)
        return kernel
    inner = group.body.detach_block(group.block)
    end = inner.last_op
    assert isinstance(end, YieldOp)
    values = list(end.values)
    Rewriter.erase_op(end)
    placement, trails = in_place(inner, values), trailing(inner, values)
    inner.add_op(ReturnOp(*values))
    _name_arguments(inner)
    signature = ([arg.type for arg in inner.args], [value.type for value in values])
    kernel = FuncOp(name, signature, Region(inner), "private")
    within = WITHIN.get(group) or [()] * len(values)
    mark_kernel(kernel, [() if apart else places for places, apart in zip(placement, within, strict=True)])
    WITHIN.set(kernel, WITHIN.get(group))
    trails = [[-1] * len(each) if apart else each for each, apart in zip(trails, within, strict=True)]
    TRAILS.set(kernel, trails if any(distance >= 0 for each in trails for distance in each) else None)
    BRANCHES.set(kernel, any(isinstance(op, ElementOp) and op.BRANCHES for op in kernel.body.block.ops))
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
    walked = (op for op in group.block.walk() if isinstance(op, GraphOp))
    ops = [op for op in walked if not op.regions and not isinstance(op, ConstantOp)]
    names = [re.sub(r"[^A-Za-z0-9_]", "_", op.label) for op in ops]
    if len(names) > NAME_PARTS:
        anchor = next((place for place, op in enumerate(ops) if isinstance(op, AnchorOp)), 0)
        shown = names[anchor : anchor + NAME_PARTS]
        names = [*shown, f"and_{len(names) - len(shown)}"]
    return "_".join(names)
