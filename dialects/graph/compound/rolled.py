"""Several groups in one kernel, which compute some rows at a time: what is between them never exists as a whole.

    for each step:
      the first group: the next rows -> a ring of rows
      the next one: as many rows as can be computed from the rows that there are -> its ring
      ...

A row is all that a tensor has at one position along its first axis of more than one: of an image with the channels last
the pixels beside each other. Nothing is computed twice: a ring has the rows that are read again. (Image pipelines call
that a rolling line buffer; for convolutions, "fused-layer" of Alwani et al., MICRO 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from aotc.dialects.graph.interfaces import AnchorOp, ShapeError, is_join, is_view, tensor_type
from aotc.dialects.graph.structure import FusedOp, YieldOp, parse_group, print_group


@irdl_op_definition
class RolledOp(AnchorOp):
    """The values that the region yields, computed by its groups, some rows at a time.

    The region sees only its arguments, which are the inputs, and has groups, joins, and views between them. The
    results behind those values are scratch buffers: those with rings of the values that later groups and joins read,
    then for each group, in order, partial results of a reduction and the buffers of its anchor. Which rows a group
    reads is known to kernel strategies: who makes the operation gives the types of the buffers.

    With `streamed` the input of that number comes by rows: one call after the other goes on with the next ones, the
    first of which is at the first row's place. The last input then are `COUNTS`: how many rows had come before a call,
    and with it; the third is not for the kernel.
    """

    name = "graph.rolled"
    COUNTS: ClassVar[TensorType] = TensorType(i32, [3])
    inputs = var_operand_def(TensorType)
    values = var_result_def(TensorType)
    body = region_def("single_block")

    @classmethod
    def of(cls, inputs: Sequence[SSAValue], body: Region, scratch: Sequence[TensorType]) -> RolledOp:
        """The operation with scratch buffers of these types."""
        end = body.block.last_op
        assert isinstance(end, YieldOp)
        return cls(operands=[inputs], result_types=[[*map(tensor_type, end.values), *scratch]], regions=[body])

    @property
    def streamed(self) -> int | None:
        """The number of the input that comes by rows."""
        found = self.attributes.get("streamed")
        return found.value.data if isinstance(found, IntegerAttr) else None

    @property
    def block(self) -> Block:
        """The region's block."""
        return self.body.block

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The values that become results."""
        end = self.block.last_op
        return end.values if isinstance(end, YieldOp) else ()

    @property
    def stages(self) -> list[Operation]:
        """The groups and joins, in order."""
        return [op for op in self.block.ops if isinstance(op, FusedOp) or is_join(op)]

    def scratch(self) -> Sequence[OpResult]:
        return self.results[len(self.yielded) :]

    def infer_types(self) -> Sequence[TensorType]:
        if [arg.type for arg in self.block.args] != [value.type for value in self.inputs]:
            raise ShapeError("the region's arguments must have the types of the inputs")
        if not self.yielded:
            raise ShapeError("the region must yield values")
        place, kinds = self.streamed, [value.type for value in self.inputs]
        if place is not None and not (kinds[-1:] == [self.COUNTS] and 0 <= place < len(kinds) - 1):
            raise ShapeError("what comes by rows must be an input, and the last input say how many have come")
        for op in self.block.ops:
            if not isinstance(op, FusedOp | YieldOp) and not is_view(op) and not is_join(op):
                raise ShapeError(f"{op.name} is neither a group nor a join or a view")
        if any(not isinstance(value, OpResult) or is_view(value.op) for value in self.yielded):
            raise ShapeError("the region must yield what its groups and joins compute")
        return [*map(tensor_type, self.yielded), *map(tensor_type, self.scratch())]

    def operations(self) -> int:
        groups = [op for op in self.stages if isinstance(op, FusedOp)]
        return sum(op.operations() for group in groups for op in group.block.ops if isinstance(op, AnchorOp))

    # Assembly: `graph.rolled (%a = %x : t, ...) -> (t, ...) { ... graph.yield }`

    def print(self, printer: Printer) -> None:
        print_group(printer, self, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> RolledOp:
        operands, results, given, region = parse_group(parser)
        op = cls(operands=[operands], result_types=[results], regions=[region])
        op.attributes |= given
        return op
