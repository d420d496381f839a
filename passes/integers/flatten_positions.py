"""Make the positions of convolutions with windows of one tap one axis, where rows of the image are short.

A register tile is neighbouring positions of a row. Of a window of one tap, without padding and strides, all positions
are neighbours, so that tiles need not end where rows do. What follows the convolution element by element works on one
axis, too; reshapes take no time. Floats keep the axes of the image where tiles of rows may be computed together with
another operation (`tile-and-fuse`), because what is between does not stay in cache.

Before, with `flatten-positions{target=x86-64-v3}`:
```mlir
%0 = graph.conv %x, %w {accumulator = i32, ..} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> ..
%1 = graph.requantize %0, %m {..} : (tensor<1x64x25x5xi32>, tensor<64xf32>) -> tensor<1x64x25x5xi8>
```
After:
```mlir
%2 = graph.reshape %x {shape = array<i64: 1, 64, 125>} : (tensor<1x64x25x5xi8>) -> tensor<1x64x125xi8>
%3 = graph.reshape %w {shape = array<i64: 64, 64, 1>} : ..
%0 = graph.conv %2, %3 {accumulator = i32, ..} : (tensor<1x64x125xi8>, tensor<64x64x1xi8>) -> ..
%4 = graph.requantize %0, %m {..} : (tensor<1x64x125xi32>, tensor<64xf32>) -> tensor<1x64x125xi8>
%1 = graph.reshape %4 {shape = array<i64: 1, 64, 25, 5>} : ..
```
"""

import math
from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, GraphOp, element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.schedules import ScheduleAttr
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.passes.kernel.strategy import least_cycles


class FlattenPositionsPass(ModulePass):
    name = "flatten-positions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(target_of(op))
        if machine is None:
            return
        for each in list(graph_operations(op)):
            if ScheduleAttr.KEY not in each.attributes and _is_flat(each, machine):
                assert isinstance(each, ConvOp)
                if each.sums_integers or not _may_be_fused(each, machine):
                    _flatten(each, machine)


def _is_flat(op: Operation, machine: Machine) -> bool:
    """Whether it is a convolution of which a position, in rows shorter than there are registers, sees just what is at
    the same place in x."""
    if not isinstance(op, ConvOp) or op.spatial()[-1] >= machine.registers:
        return False
    return all((w.size, w.stride, w.before, w.after) == (1, 1, 0, 0) for w in op.windows())


def _may_be_fused(op: ConvOp, machine: Machine) -> bool:
    """Whether a tensor between `op` and another anchor, which needs the axes of the image, does not stay in L2."""

    def size(value: SSAValue) -> int:
        return math.prod(shape_of(value)) * byte_width(element_type_of(value))

    beside = [(op.x, each) for each in _producers(op.x)] + [(op.result, _reader(op.result))]
    return any(
        isinstance(each, AnchorOp)
        and not _is_flat(each, machine)
        and size(value) > machine.l2 * machine.shares.between_kernels
        for value, each in beside
    )


def _producers(value: SSAValue) -> Iterator[Operation]:
    """Operations that compute `value`, if it has no other reader, or the operands it is computed of by elements."""
    if isinstance(value, OpResult) and value.has_one_use():
        if not _is_pointwise(value.op):
            yield value.op
            return
        for each in value.op.operands:
            if shape_of(each) == shape_of(value):
                yield from _producers(each)


def _reader(value: SSAValue) -> Operation | None:
    """The only operation that reads `value`, or that which reads what is computed of it element by element."""
    while (reader := value.get_user_of_unique_use()) is not None and _is_pointwise(reader):
        value = reader.results[0]
    return reader


def _is_pointwise(op: Operation) -> bool:
    return isinstance(op, ElementOp) and op.FUSION is Fusion.POINTWISE


def _flatten(op: ConvOp, machine: Machine) -> None:
    """Insert `op` along one axis, and what follows it, behind it; where that is not faster, nothing."""
    x, weight = (_reshaped(value, shape_of(value)) for value in (op.x, op.weight))
    window = {"strides": [1], "pads": [0, 0], "dilations": [1]}
    flat: GraphOp = ConvOp.get(x.result, weight.result, *op.operands[2:], **(op.properties | window))
    made = [x, weight, flat]
    if least_cycles(flat, machine) >= least_cycles(op, machine):
        for each in reversed(made):
            each.erase()
        return
    last: GraphOp = op
    replaced: list[GraphOp] = [op]
    for new in made:
        new.location = op.location
    Rewriter.insert_op(made, InsertPoint.after(last))
    while (reader := last.results[0].get_user_of_unique_use()) is not None and isinstance(reader, ElementOp):
        operands = _followed(reader, last.results[0])
        if operands is None:
            break
        added = [each for each in operands if isinstance(each, ReshapeOp)]
        new = reader.clone()
        new.operands = [
            flat.results[0] if value is last.results[0] else each.result if isinstance(each, ReshapeOp) else each
            for value, each in zip(reader.operands, operands, strict=True)
        ]
        new.refine()
        for each in (*added, new):
            each.location = reader.location
        Rewriter.insert_op([*added, new], InsertPoint.after(reader))
        replaced.append(reader)
        last, flat = reader, new
    back = ReshapeOp.get(flat.results[0], shape=shape_of(last.results[0]))
    back.location, back.result.name_hint = last.location, last.results[0].name_hint
    Rewriter.insert_op(back, InsertPoint.after(flat))
    last.results[0].replace_all_uses_with(back.result)
    for each in reversed(replaced):
        Rewriter.erase_op(each)


def _reshaped(value: SSAValue, shape: Sequence[int]) -> ReshapeOp:
    """`value` with the one spatial axis of a shape [N, C, spatial..]."""
    return ReshapeOp.get(value, shape=[*shape[:2], math.prod(shape[2:])])


def _followed(op: ElementOp, x: SSAValue) -> Sequence[SSAValue | ReshapeOp] | None:
    """The operands of `op`, which reads x, for results along one spatial axis; None where positions do not stay what
    they are."""
    shape = shape_of(x)
    along: set[int] = set()
    for axis in range(2, len(shape)):
        axes = op.operand_axes(axis)
        if axes is None:
            return None
        along.update(axes)
    found: list[SSAValue | ReshapeOp] = []
    for place, value in enumerate(op.operands):
        own = shape_of(value)
        if own == shape:
            found.append(value if value is x else _reshaped(value, shape))
        elif place in along:
            return None
        elif len(own) == len(shape):
            found.append(_reshaped(value, own))
        elif not _counts_axes_from_the_end(op):
            found.append(value)
        else:
            return None
    return found


def _counts_axes_from_the_end(op: GraphOp) -> bool:
    """Whether parameters belong to other axes where there are fewer of these."""
    axis = op.properties.get("axis")
    return not isinstance(axis, IntegerAttr) or axis.value.data not in (0, 1)
