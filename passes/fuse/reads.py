"""How a kernel's body reads its values: how often, and whether only at the index that it writes.

Fusion and in-place execution need to know this about operations; it follows from their interfaces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from aotc.dialects.aot.contract import InPlace
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, bytes_of, element_type_of, shape_of
from aotc.passes.kernel.rolling.stages import Rolling
from aotc.passes.kernel.rolling.trails import trail
from aotc.passes.kernel.scalar_cost import anchor_reads


@dataclass(frozen=True)
class Reads:
    """How one value is read in a run of the kernel."""

    count: float
    """The number of elements read in total; infinite where unknown."""
    aligned: bool
    """Whether every read is at the index being written."""
    outputs: frozenset[int]
    """The positions of the outputs that depend on it."""

    def merge(self, other: Reads | None) -> Reads:
        """The union of both reads; two aligned reads of an element count once."""
        if other is None:
            return self
        aligned = self.aligned and other.aligned
        count = max(self.count, other.count) if aligned else self.count + other.count
        return Reads(count, aligned, self.outputs | other.outputs)


def reads_of(ops: Sequence[Operation], outputs: Sequence[SSAValue], *, counted: bool = True) -> dict[SSAValue, Reads]:
    """How `outputs`, computed by `ops` (in order, as one kernel), read every value they need.

    Unless `counted`, how many elements anchors read is unknown: finding out takes writing their loops.
    """
    reads: dict[SSAValue, Reads] = {}

    def add(value: SSAValue, new: Reads) -> None:
        reads[value] = new.merge(reads.get(value))

    for position, output in enumerate(outputs):
        add(output, Reads(math.prod(shape_of(output)), True, frozenset([position])))
    for op in reversed(ops):
        needed = [reads[result] for result in op.results if result in reads]
        if not needed:
            continue
        if isinstance(op, ElementOp):
            for operand in op.operands:
                add(operand, operand_reads(op, operand, needed[0]))
        elif isinstance(op, AnchorOp):
            needing = frozenset[int]().union(*(each.outputs for each in needed))
            counts = anchor_reads(op) if counted else [math.inf] * len(op.operands)
            for count, operand in zip(counts, op.operands, strict=True):
                add(operand, Reads(count, False, needing))
    return reads


def operand_reads(op: ElementOp, operand: SSAValue, result: Reads) -> Reads:
    """How `op` reads an operand when its own result is read as in `result`."""
    target, source = shape_of(op.results[0]), shape_of(operand)
    share = math.prod(source) / max(math.prod(target), 1)
    count = result.count * min(share, 1) if op.reads_once() else result.count
    same_index = op.FUSION is Fusion.POINTWISE and source == target
    return Reads(count, result.aligned and same_index, result.outputs)


def in_place(block: Block, outputs: Sequence[SSAValue]) -> InPlace:
    """For each output the positions of the block arguments whose buffer it may take over.

    Each element of such an argument is read only while the same element of the output is computed, or an anchor that
    has its result there says that it may be overwritten. Outputs are stored together only when they are written by one
    nest, so all that read the argument must be.
    """
    reads = reads_of(list(block.ops), outputs, counted=False)
    anchors = [op for op in block.ops if isinstance(op, AnchorOp)]
    overwritten = {
        (op.operands[operand], op.results[result])
        for op in anchors
        for result, operand in op.overwrites().items()
        if op.operands[operand].has_one_use()
    }
    nests = [_nest(block, output) for output in outputs]

    def fits(arg: SSAValue, position: int) -> bool:
        how, output = reads.get(arg), outputs[position]
        return (
            how is not None
            and shape_of(arg) == shape_of(output)
            and byte_width(element_type_of(arg)) == byte_width(element_type_of(output))
            and (
                (how.aligned and all(nests[other] == nests[position] for other in how.outputs))
                or (arg, output) in overwritten
            )
        )

    return [[arg.index for arg in block.args if fits(arg, position)] for position in range(len(outputs))]


def trailing(block: Block, outputs: Sequence[SSAValue]) -> Sequence[Sequence[int]]:
    """For each output and each block argument by how many bytes the output must begin below the argument, as
    `aot.trails` says it: where groups in one kernel go on row by row."""
    found = [[-1] * len(block.args) for _ in outputs]
    for op in block.ops:
        if not isinstance(op, RolledOp):
            continue
        rolling = Rolling.of(op)
        for place, output in enumerate(outputs):
            if output not in op.results[: len(op.yielded)]:
                continue
            value = op.yielded[op.results.index(output)]
            for argument, operand in zip(op.block.args, op.inputs, strict=True):
                distance = trail(rolling, value, argument)
                if distance is not None and distance < bytes_of(output) and isinstance(operand, BlockArgument):
                    found[place][operand.index] = distance
    return found


def _nest(block: Block, output: SSAValue) -> tuple[SSAValue | None, tuple[int, ...]]:
    """A key for the loop nest that writes `output`: the anchor result that it depends on, and its shape."""
    depends = {output}
    anchor_result: SSAValue | None = None
    for op in reversed(list(block.ops)):
        for result in op.results:
            if result in depends:
                if isinstance(op, AnchorOp):
                    anchor_result = result
                else:
                    depends.update(op.operands)
    return anchor_result, shape_of(output)
