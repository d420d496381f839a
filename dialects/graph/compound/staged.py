"""Several anchors in one kernel, each reading what the one before computes: one spatial tile after the other.

    for each spatial tile of the result:
      the first anchor on what the tile needs, and the pointwise operations after it -> scratch buffer of a tile
      the next one on that -> the next scratch buffer
      ...
      the last one -> the tile

So what is between them never exists as a whole, and is read while it is in the cache: the rows of scores that a softmax
makes weights of and a product sums up, the rows of a depthwise convolution that a pointwise one mixes. (Tile and fuse,
as MLIR's; for convolutions, "fused-layer" of Alwani et al., MICRO 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from aotc.dialects.attributes import to_attribute
from aotc.dialects.dtypes import is_encoded
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ElementOp,
    Fusion,
    GraphOp,
    ShapeError,
    element_type_of,
    shape_of,
    tensor_type,
)
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp, YieldOp, parse_group, print_group


@dataclass(frozen=True)
class Stage:
    """An anchor, and the pointwise operations on its result before the next one reads it."""

    anchor: AnchorOp
    value: SSAValue
    """The value that the next stage reads, computed pointwise from the anchor's result; of the last stage, that
    result."""
    chained: int | None
    """The operand of the anchor that is the value of the stage before; None in the first stage."""


@irdl_op_definition
class StagedOp(AnchorOp):
    """The value that the region yields, the result of its last anchor, computed in spatial tiles of `tile` positions.

    The region sees only its arguments, which are the inputs. It has at least two anchors; each reads, in one operand,
    what is pointwise from the result of the one before, and nobody else does. Elements are numbers as memory holds
    them. The other results are scratch buffers: of each stage but the last, what a tile needs, its axes perhaps longer,
    one after the other along the first axis for all parts. Which parts of its operands a stage needs is known to its
    kernel strategy: who makes the operation gives the types of the buffers.
    """

    name = "graph.staged"
    inputs = var_operand_def(TensorType)
    tile = prop_def(DenseArrayBase)
    """The extents of a tile along every axis of the result; the last tiles may be smaller."""
    parts = opt_prop_def(DenseArrayBase)
    """The numbers of tiles that follow each other, in row-major order, in each of several independent parts; absent:
    all tiles are one."""
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    memory = var_result_def(TensorType)
    body = region_def("single_block")

    @classmethod
    def of(
        cls,
        inputs: Sequence[SSAValue],
        body: Region,
        tile: Sequence[int],
        parts: Sequence[int] | None,
        scratch: Sequence[TensorType],
    ) -> StagedOp:
        """The operation with scratch buffers of these types; raises ShapeError."""
        properties = {"tile": to_attribute(list(tile))}
        if parts is not None:
            properties["parts"] = to_attribute(list(parts))
        types = [_yielded(body.block).type, *scratch]
        op = cls.create(operands=inputs, result_types=types, properties=properties, regions=[body])
        try:
            op.infer_types()
        except ShapeError:
            op.erase()
            raise
        return op

    # What is in it

    @property
    def block(self) -> Block:
        """The region's block."""
        return self.body.block

    def infer_types(self) -> Sequence[TensorType]:
        yielded = _yielded(self.block)
        if [arg.type for arg in self.block.args] != [value.type for value in self.inputs]:
            raise ShapeError("the region's arguments must have the types of the inputs")
        for op in self.block.ops:
            if isinstance(op, ConstantOp) and op.key is not None:
                raise ShapeError("a constant in the region must be an inline one")
            if not isinstance(op, GraphOp | YieldOp):
                raise ShapeError(f"{op.name} cannot be part of a stage")
            if any(is_encoded(element_type_of(value)) for value in (*op.operands, *op.results)):
                raise ShapeError(f"{op.name} works on encoded elements")
        stages = stages_of(self.block)
        if yielded is not stages[-1].value:
            raise ShapeError("the region must yield the result of the last anchor")
        shape = shape_of(yielded)
        if len(tile := self.ints("tile")) != len(shape) or any(extent < 1 for extent in tile):
            raise ShapeError(f"a tile {list(tile)} does not fit the result {list(shape)}")
        tiles = prod(map(ceil_div, shape, tile))
        if self.parts and (sum(parts := self.ints("parts")) != tiles or any(count < 1 for count in parts)):
            raise ShapeError(f"{tiles} tiles do not divide into parts of {list(parts)}")
        if len(self.memory) != len(stages) - 1:
            raise ShapeError(f"{len(stages)} stages need {len(stages) - 1} scratch buffers, found {len(self.memory)}")
        for stage, buffer in zip(stages, self.memory, strict=False):
            kind, extents = element_type_of(stage.value), shape_of(buffer)
            if kind != element_type_of(buffer) or len(extents) != len(shape_of(stage.value)) or 0 in extents:
                raise ShapeError(f"a buffer {buffer.type} does not hold tiles of {stage.value.type}")
        return [tensor_type(yielded), *(tensor_type(buffer) for buffer in self.memory)]

    def operations(self) -> int:
        return sum(op.operations() for op in self.block.ops if isinstance(op, GraphOp))

    # Assembly: `graph.staged (%a = %x : t, ...) -> (t, ...) attributes {tile = ..} { ... graph.yield }`

    def print(self, printer: Printer) -> None:
        print_group(printer, self, {**self.properties, **self.attributes})

    @classmethod
    def parse(cls, parser: Parser) -> StagedOp:
        operands, results, given, region = parse_group(parser)
        if "tile" not in given or not results:
            parser.raise_error("a staged operation has a result and a tile")
        properties = {name: given.pop(name) for name in ("tile", "parts") if name in given}
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=given, regions=[region]
        )


def _yielded(block: Block) -> SSAValue:
    end = block.last_op
    if not isinstance(end, YieldOp) or len(end.values) != 1:
        raise ShapeError("the region must yield one value")
    return end.values[0]


def stages_of(block: Block) -> list[Stage]:
    """The stages of a region, in order; raises ShapeError where it is not a chain of stages."""
    ops = list(block.ops)
    anchors = [op for op in ops if isinstance(op, AnchorOp)]
    if len(anchors) < 2:
        raise ShapeError(f"there must be two anchors or more, found {len(anchors)}")
    if any(len(anchor.results) > 1 for anchor in anchors):
        raise ShapeError("an anchor must have one result")
    found: list[Stage] = []
    chained: int | None = None
    for anchor, following in zip(anchors, [*anchors[1:], None], strict=True):
        if following is None:
            found.append(Stage(anchor, anchor.results[0], chained))
            break
        values = _pointwise(anchor)
        read = [place for place, operand in enumerate(following.operands) if operand in values]
        if len(read) != 1:
            raise ShapeError(f"{following.name} must read the result of {anchor.name} in one operand")
        (place,) = read
        found.append(Stage(anchor, following.operands[place], chained))
        chained = place
    return found


def _pointwise(anchor: AnchorOp) -> set[SSAValue]:
    """The anchor's result and what is computed from it, pointwise; raises ShapeError where it is used otherwise."""
    values: set[SSAValue] = {anchor.results[0]}
    pending: list[SSAValue] = [anchor.results[0]]
    readers = 0
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, AnchorOp):
                readers += 1
            elif (
                isinstance(op, ElementOp)
                and op.FUSION is Fusion.POINTWISE
                and shape_of(op.results[0]) == shape_of(anchor.results[0])
            ):
                if op.results[0] not in values:
                    values.add(op.results[0])
                    pending.append(op.results[0])
            else:
                raise ShapeError(f"what is made of the result of {anchor.name} is used by {op.name}")
    if readers != 1:
        raise ShapeError(f"the result of {anchor.name} must be for one other anchor")
    return values
