"""Structured control flow on tensors: conditionals, and loops that carry values, take tensors apart and stack others.

Regions are isolated: each sees only its arguments, which are operands of the operation, so that a pass can treat the
block of a region as it treats the entry's (`graph_blocks`). Each ends in `graph.yield`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i1, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure

from aotc.dialects.aot.contract import entries
from aotc.dialects.attributes import to_attribute
from aotc.dialects.graph.interfaces import GraphOp, ShapeError, element_type_of, shape_of, tensor_type
from aotc.dialects.graph.structure import YieldOp
from aotc.dialects.properties import opt_int_prop

MOST_TRIPS = (1 << 31) - 1
"""The most iterations of a loop: what an index holds on every target."""


class ControlOp(GraphOp, ABC):
    """An operation that runs its regions. It is no kernel: kernels are in the regions."""

    traits = traits_def(Pure(), IsolatedFromAbove())

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of the regions, in order."""
        return [region.block for region in self.regions]

    @abstractmethod
    def argument_types(self) -> Sequence[TensorType]:
        """The types of the arguments of every region, which the operands give; raises ShapeError."""

    @abstractmethod
    def yielded_types(self) -> Sequence[TensorType]:
        """The types of the results, from what the regions yield; raises ShapeError."""

    def infer_types(self) -> Sequence[TensorType]:
        expected = list(self.argument_types())
        for region in self.regions:
            if len(region.blocks) != 1 or not isinstance(region.block.last_op, YieldOp):
                raise ShapeError("each region must be a block that ends in graph.yield")
            if (found := [argument.type for argument in region.block.args]) != expected:
                names = [", ".join(map(str, kinds)) for kinds in (found, expected)]
                raise ShapeError(f"a region has arguments of types {names[0]}, the operands give {names[1]}")
        return self.yielded_types()

    # Assembly: that of all graph operations, then the regions with their arguments

    def print(self, printer: Printer) -> None:
        super().print(printer)
        for region in self.regions:
            printer.print_string(" ")
            printer.print_region(region, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = super().parse(parser)
        for _ in cls.get_irdl_definition().regions:
            op.add_region(parser.parse_region())
        return op


def yield_of(block: Block) -> YieldOp:
    """The terminator of the block of a region."""
    end = block.last_op
    assert isinstance(end, YieldOp)
    return end


def _is_single(value: SSAValue) -> bool:
    return math.prod(shape_of(value)) == 1


@irdl_op_definition
class IfOp(ControlOp):
    """The values that the first region yields where the only element of `condition` holds, else those of the second.

    Both regions have the `captured` values as arguments and yield values of the same types.
    """

    name = "graph.if"
    condition = operand_def(TensorType)
    captured = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    then = region_def("single_block")
    otherwise = region_def("single_block")

    @classmethod
    def of(cls, condition: SSAValue, captured: Sequence[SSAValue], then: Region, otherwise: Region) -> IfOp:
        """The operation, with the results that the regions yield; raises ShapeError."""
        types = [value.type for value in yield_of(then.block).values]
        op = cls.create(operands=[condition, *captured], result_types=types, regions=[then, otherwise])
        op.infer_types()
        return op

    def argument_types(self) -> Sequence[TensorType]:
        if element_type_of(self.condition) != i1 or not _is_single(self.condition):
            raise ShapeError(f"the condition must be one boolean, found {self.condition.type}")
        return [tensor_type(value) for value in self.captured]

    def yielded_types(self) -> Sequence[TensorType]:
        sides = [[tensor_type(value) for value in yield_of(block).values] for block in self.blocks]
        if sides[0] != sides[1]:
            names = [", ".join(map(str, kinds)) or "nothing" for kinds in sides]
            raise ShapeError(f"one region yields {names[0]}, the other {names[1]}")
        return sides[0]


@irdl_op_definition
class LoopOp(ControlOp):
    """Runs its region again and again: `trips` times, or as often as the only element of `count` says, or without end.

    With a `condition`, only as long as its only element holds; the region yields the next one first, and `trips` or
    `count` is the most. The region's arguments are the number of the iteration (`tensor<i64>`), the carried values, a
    slice of each of the `scanned` tensors along the first axis, and the `captured` values. It yields, after the
    condition, the next carried values, then slices to be stacked along a new first axis. Results are the last carried
    values and the stacked tensors. What is scanned or stacked has `trips` slices; nothing is scanned with a condition,
    and what is stacked then is undefined from the slice on that has no iteration. `scanned_backward` and
    `stacked_backward` say for each tensor (1 or 0) whether the last slice comes first.
    """

    name = "graph.loop"
    count = opt_operand_def(TensorType)
    condition = opt_operand_def(TensorType)
    carried = var_operand_def(TensorType)
    scanned = var_operand_def(TensorType)
    captured = var_operand_def(TensorType)
    trips = opt_int_prop()
    """How often the region runs, with a condition at most; None where that is known at run time only."""
    scanned_backward = opt_prop_def(DenseArrayBase)
    stacked_backward = opt_prop_def(DenseArrayBase)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def of(
        cls,
        body: Region,
        *,
        count: SSAValue | int | None = None,
        condition: SSAValue | None = None,
        carried: Sequence[SSAValue] = (),
        scanned: Sequence[SSAValue] = (),
        captured: Sequence[SSAValue] = (),
        scanned_backward: Sequence[int] = (),
        stacked_backward: Sequence[int] = (),
    ) -> LoopOp:
        """The operation, with results of the types that the region gives; raises ShapeError."""
        flags = {"scanned_backward": scanned_backward, "stacked_backward": stacked_backward}
        properties = {name: to_attribute(list(map(int, given))) for name, given in flags.items() if any(given)}
        if isinstance(count, int):
            properties["trips"] = to_attribute(count)
        op = cls.build(
            operands=[count if isinstance(count, SSAValue) else None, condition, carried, scanned, captured],
            properties=properties,
            regions=[body],
            result_types=[[TensorType(i64, [])] * (len(yield_of(body.block).values) - (condition is not None))],
        )
        op.refine()
        return op

    # What is in it

    @property
    def block(self) -> Block:
        """The region's block."""
        return self.body.block

    @property
    def iteration(self) -> BlockArgument:
        """The number of the iteration, in the region."""
        return self.block.args[0]

    @property
    def carried_arguments(self) -> Sequence[BlockArgument]:
        """The carried values, in the region."""
        return self.block.args[1 : 1 + len(self.carried)]

    @property
    def slices(self) -> Sequence[BlockArgument]:
        """The slices of the scanned tensors, in the region."""
        start = 1 + len(self.carried)
        return self.block.args[start : start + len(self.scanned)]

    @property
    def captured_arguments(self) -> Sequence[BlockArgument]:
        """The captured values, in the region."""
        return self.block.args[1 + len(self.carried) + len(self.scanned) :]

    @property
    def next_slices(self) -> Sequence[SSAValue]:
        """The values of the region that are stacked."""
        return yield_of(self.block).values[int(self.condition is not None) + len(self.carried) :]

    @property
    def last_carried(self) -> Sequence[OpResult]:
        """The results that are the last carried values."""
        return self.results[: len(self.carried)]

    @property
    def stacked(self) -> Sequence[OpResult]:
        """The results that are stacked."""
        return self.results[len(self.carried) :]

    @property
    def carried_results(self) -> Sequence[OpResult | None]:
        """For each of the operands that are `overwritten` the result that is its last value; None for the condition."""
        return [*[None] * int(self.condition is not None), *self.last_carried]

    def carried_at(self, position: int) -> BlockArgument | None:
        """The carried value that what the region yields at `position` is the next of; None for the condition and for
        slices."""
        position -= int(self.condition is not None)
        return self.carried_arguments[position] if 0 <= position < len(self.carried) else None

    @property
    def overwritten(self) -> tuple[int, int]:
        """Where the operands begin that the loop writes the next ones over, and how many these are: the condition and
        the carried values."""
        first = int(self.count is not None)
        return first, int(self.condition is not None) + len(self.carried)

    def backward(self, name: str, count: int) -> Sequence[bool]:
        """The flags of `scanned_backward` or `stacked_backward`."""
        return [bool(flag) for flag in self.ints(name)] if name in self.properties else [False] * count

    def argument_types(self) -> Sequence[TensorType]:
        for name, value, kind in (("count", self.count, i64), ("condition", self.condition, i1)):
            if value is not None and (element_type_of(value) != kind or not _is_single(value)):
                raise ShapeError(f"the {name} must be one {kind}, found {value.type}")
        if self.count is not None and self.trips is not None:
            raise ShapeError("a loop has a count or a number of trips, not both")
        trips = self.trips
        if trips is not None and not 0 <= trips <= MOST_TRIPS:
            raise ShapeError(f"a loop has 0 to {MOST_TRIPS} trips, found {trips}")
        if self.scanned and self.condition is not None:
            raise ShapeError("a loop with a condition scans no tensor")
        for value in self.scanned:
            if trips is None or not shape_of(value) or shape_of(value)[0] != trips:
                raise ShapeError(f"a scanned tensor has a slice for each of {trips} trips, found {value.type}")
        slices = [TensorType(element_type_of(value), shape_of(value)[1:]) for value in self.scanned]
        fixed = [[tensor_type(value) for value in values] for values in (self.carried, self.captured)]
        return [TensorType(i64, []), *fixed[0], *slices, *fixed[1]]

    def yielded_types(self) -> Sequence[TensorType]:
        types = [tensor_type(value) for value in yield_of(self.block).values]
        if self.condition is not None:
            if not types or types[0] != self.condition.type:
                raise ShapeError(f"the region must yield a condition of type {self.condition.type} first")
            del types[0]
        carried, slices = types[: len(self.carried)], types[len(self.carried) :]
        for number, (kind, value) in enumerate(zip(carried, self.carried, strict=False)):
            if kind != value.type:
                raise ShapeError(f"carried value {number} begins as {value.type} and goes on as {kind}")
        if len(carried) < len(self.carried):
            raise ShapeError(f"{len(self.carried)} carried values, the region yields {len(carried)}")
        trips = self.trips
        if slices and trips is None:
            raise ShapeError("slices are stacked only where the number of trips, or the most, is known when compiling")
        for name, values in (("scanned_backward", self.scanned), ("stacked_backward", slices)):
            if name in self.properties and len(self.ints(name)) != len(values):
                raise ShapeError(f"{name} has {len(self.ints(name))} flags for {len(values)} tensors")
        return [*carried, *(TensorType(kind.get_element_type(), [trips or 0, *kind.get_shape()]) for kind in slices)]


def nested_blocks(block: Block) -> Iterator[Block]:
    """The block, and those of the regions of control flow in it, the outer ones first."""
    yield block
    for op in block.ops:
        if isinstance(op, ControlOp):
            for inner in op.blocks:
                yield from nested_blocks(inner)


def graph_blocks(module: ModuleOp) -> list[Block]:
    """All blocks of graph operations before they are in kernels: the entry's, and those of control flow in it."""
    return [block for function in entries(module) for block in nested_blocks(function.body.block)]


def graph_operations(module: ModuleOp) -> list[Operation]:
    """All operations in `graph_blocks`, block by block; what a pass adds while it goes through them is not among
    them."""
    return [op for block in graph_blocks(module) for op in block.ops]
