"""Tile and fuse: compute an anchor, and what is pointwise after it, in spatial tiles for the anchor that reads it.

That pays where the tensor between them is too large to stay in cache, its tiles are not, and nothing is computed twice.
The strategy of the last anchor says along which axes its result is tiled (`KernelStrategy.spatial_tiling`), and those
of the anchors before it compute the boxes that a tile needs (`KernelStrategy.tiled_implementation`), except for rows
that were kept from the tile before.

Before, with `tile-and-fuse{target=x86-64-v4}`:
```mlir
%0 = graph.packed_matmul %q, %k {..} : (tensor<12x256x64xf32>, tensor<12x8x64x32xf32>) -> tensor<12x256x256xf32>
%1 = graph.softmax %0 {axes = array<i64: 2>} : (tensor<12x256x256xf32>) -> tensor<12x256x256xf32>
%2 = graph.matmul %1, %v : (tensor<12x256x256xf32>, tensor<12x256x64xf32>) -> tensor<12x256x64xf32>
```
After:
```mlir
%2, %3, %4 = graph.staged (%a = %q : .., %b = %k : .., %c = %v : ..)
    -> (tensor<12x256x64xf32>, tensor<1x90x272xf32>, tensor<1x90x272xf32>) attributes {tile = array<i64: 1, 90, 64>} {
  %5 = graph.packed_matmul %a, %b {..} : (tensor<12x256x64xf32>, tensor<12x8x64x32xf32>) -> tensor<12x256x256xf32>
  %6 = graph.softmax %5 {axes = array<i64: 2>} : (tensor<12x256x256xf32>) -> tensor<12x256x256xf32>
  %7 = graph.matmul %6, %c : (tensor<12x256x256xf32>, tensor<12x256x64xf32>) -> tensor<12x256x64xf32>
  graph.yield %7 : tensor<12x256x64xf32>
}
```
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.dtypes import byte_width, is_encoded
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.compound.staged import Stage, StagedOp, stages_of
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, ShapeError, element_type_of, is_kernel, shape_of
from aotc.dialects.graph.schedules import ScheduleAttr, schedule_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import YieldOp
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.fusion_policy import FusingPass, buffers
from aotc.passes.fuse.groups import copy_group
from aotc.passes.fuse.vectorizable import Form, VectorForms
from aotc.passes.kernel.nests.tile_walk import Plan, Slab, Walk
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, size, whole
from aotc.passes.kernel.strategy import is_vectorized, strategy_of

_EVEN = 1.04
"""By what factor the longest share of a thread may exceed the average before smaller tiles are tried. They gain little:
an attention of 3 x 197 rows takes two threads as long in tiles of 48 rows (1.01) as in tiles of 54 (1.03)."""
_SHARED_BY = 2
"""How many threads have tiles that they can share evenly. It is the same whatever their number: the rows of a tile
decide how results are rounded."""

_LOOKED_AT = 3
"""How many tiles are examined: the first ones compute more or less than those after them."""


@dataclass(frozen=True)
class TileAndFusePass(FusingPass):
    name = "tile-and-fuse"

    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(target_of(op))
        if machine is None:
            return
        forms = VectorForms(WeightStore.of(ctx))
        for block in graph_blocks(op):
            for anchor in reversed(list(block.ops)):
                if isinstance(anchor, AnchorOp) and anchor.parent is block:
                    _fuse(anchor, machine, forms, self.threads, self)


def _fuse(last: AnchorOp, machine: Machine, forms: VectorForms, threads: int, limits: FusingPass) -> None:
    """Make one kernel of `last` and all anchors before it for which that pays."""
    schedule = schedule_of(last)
    if schedule is None or not _is_stage(last) or (tiling := strategy_of(last).spatial_tiling(last, schedule)) is None:
        return
    chain = _Chain(tiling, (Stage(last, last.results[0], None),), (last,))
    found: list[tuple[_Chain, Box]] = []
    while (link := _link(chain.stages[0].anchor, forms)) is not None:
        chain = chain.with_link(*link)
        if not chain.pays(machine) or len(chain.ops) > limits.most_operations:
            break
        if not limits.has_room(chain.ops, buffers(chain.ops)):
            break
        if (tile := chain.tile(machine)) is not None:
            found.append((chain, tile))
        elif any(chain.rolls):
            break
        else:  # what no tile keeps in cache streams through it: tiling the others would cost time only
            return
    for chain, tile in reversed(found):
        if _replace(chain, tile, chain.parts(len(tile[chain.tiling.rows]), threads), forms):
            return


def _is_stage(op: AnchorOp) -> bool:
    return is_vectorized(op) and len(op.results) == 1 and not any(map(is_encoded, map(element_type_of, op.operands)))


def _link(anchor: AnchorOp, forms: VectorForms) -> tuple[AnchorOp, tuple[ElementOp, ...], int] | None:
    """The anchor that computes an operand of `anchor` and nothing else, the pointwise operations between, in order, and
    the position of the operand: the first such one."""
    for place, operand in enumerate(anchor.operands):
        if (found := _producer(operand, forms)) is not None:
            return *found, place
    return None


def _producer(value: SSAValue, forms: VectorForms) -> tuple[AnchorOp, tuple[ElementOp, ...]] | None:
    """The anchor from whose result pointwise operations compute `value`, used by nothing else, and these operations."""
    if not isinstance(value, OpResult) or not value.has_one_use():
        return None
    op = value.op
    if isinstance(op, AnchorOp):
        return (op, ()) if _is_stage(op) else None
    if not (
        isinstance(op, ElementOp)
        and is_kernel(op)
        and op.FUSION is Fusion.POINTWISE
        and not is_encoded(element_type_of(value))
        and forms.is_vectorizable(op)
    ):
        return None
    for operand in op.operands:
        if shape_of(operand) == shape_of(value) and (found := _producer(operand, forms)) is not None:
            anchor, pointwise = found
            return anchor, (*pointwise, op)
    return None


@dataclass(frozen=True)
class _Chain:
    """An anchor that is computed in spatial tiles, and the anchors before it that are fused into its kernel."""

    tiling: SpatialTiling
    stages: tuple[Stage, ...]
    ops: tuple[Operation, ...]
    """The anchors and the operations between them, in order."""

    def with_link(self, anchor: AnchorOp, pointwise: Sequence[ElementOp], operand: int) -> _Chain:
        """The chain with one more anchor, before the others."""
        first, *rest = self.stages
        before = Stage(anchor, first.anchor.operands[operand], None)
        after = replace(first, chained=operand)
        return _Chain(self.tiling, (before, after, *rest), (anchor, *pointwise, *self.ops))

    @property
    def last(self) -> AnchorOp:
        """The anchor that is computed last."""
        return self.stages[-1].anchor

    def pays(self, machine: Machine) -> bool:
        """Whether tiling computes nothing twice, and avoids a tensor that would not stay in cache between two
        kernels."""
        needs, value = self._needs(self.tiling.multiple), self.stages[0].value
        if needs is None or needs.repeats:
            return False
        share = machine.shares.line_buffers if needs.rolls[0] else machine.shares.between_kernels
        return _bytes(value, whole(value)) > machine.l2 * share

    @property
    def rolls(self) -> Sequence[bool]:
        """For the result of each anchor, whether some of it is kept from tile to tile."""
        needs = self._needs(self.tiling.multiple)
        return () if needs is None else needs.rolls

    def tile(self, machine: Machine) -> Box | None:
        """The first of the largest tiles that stay in cache, all about equal, or of smaller ones that threads share
        more evenly; None where none does."""
        multiple, shares = self.tiling.multiple, machine.shares
        extent = shape_of(self.last.results[0])[self.tiling.rows]

        def is_too_large(multiples: int) -> bool:
            needs = self._needs(multiples * multiple)
            if needs is None or needs.memory > machine.l2 * shares.stages:
                return True
            return needs.operands > machine.l2 * shares.operands

        most = multiple * bisect_left(range(1, ceil_div(extent, multiple) + 1), True, key=is_too_large)
        if most == 0:
            return None
        largest = ceil_div(extent, ceil_div(extent, most) * multiple) * multiple
        options = range(largest, largest // 2, -multiple)
        even = next((rows for rows in options if self._longest_share(rows) <= _EVEN), None)
        return self._box(even or min(options, key=self._longest_share))

    def parts(self, rows: int, threads: int) -> list[int]:
        """How many tiles of `rows` rows, one after the other, each of several threads computes, so that no thread waits
        for another: their rows are as near to equal numbers as whole tiles can be."""
        done = list(accumulate(self._tiles(rows)))
        cuts = [min(done, key=lambda rows: abs(rows - done[-1] * part / threads)) for part in range(1, threads)]
        ends = sorted({*map(done.index, cuts), len(done) - 1})
        return [end - start for start, end in pairwise([-1, *ends])]

    def _tiles(self, rows: int) -> list[int]:
        """The rows of all tiles, in row-major order."""
        shape = shape_of(self.last.results[0])
        extent = shape[self.tiling.rows]
        return [min(rows, extent - start) for start in range(0, extent, rows)] * prod(
            shape[i] for i in self.tiling.single
        )

    def _longest_share(self, rows: int) -> float:
        """By what factor the greatest number of rows of `_SHARED_BY` threads exceeds the average."""
        tiles, parts = self._tiles(rows), self.parts(rows, _SHARED_BY)
        shares = [sum(tiles[start:end]) for start, end in pairwise(accumulate(parts, initial=0))]
        return max(shares) * _SHARED_BY / sum(tiles)

    def _box(self, rows: int, number: int = 0) -> Box:
        """Tile `number` of those with `rows` rows; the last one where there are fewer."""
        everything = whole(self.last.results[0])
        extent = len(everything[self.tiling.rows])
        number = min(number, (extent - 1) // rows)
        place = range(number * rows, min((number + 1) * rows, extent))
        axes = enumerate(everything)
        return tuple(
            range(1) if axis in self.tiling.single else place if axis == self.tiling.rows else part
            for axis, part in axes
        )

    def _needs(self, rows: int) -> _Needs | None:
        """Requirements of tiles of `rows` rows; None where an anchor has no tiled implementation for one."""
        walk, operands = Walk(self.stages), 0
        for number in range(_LOOKED_AT):
            try:
                tile = walk.tile(self._box(rows, number))
            except ShapeError:
                return None
            operands = max(operands, sum(map(_operands, self.stages, tile)))
        values = [stage.value for stage in self.stages[:-1]]
        memory = sum(_bytes(value, tuple(map(range, shape))) for value, shape in zip(values, walk.extents, strict=True))
        return _Needs(operands, memory, walk.repeats, [axis is not None for axis in walk.rolling])


@dataclass(frozen=True)
class _Needs:
    """The memory that tiles need."""

    operands: int
    """Bytes of operands that a tile reads."""
    memory: int
    """Bytes of scratch buffers between the anchors."""
    repeats: bool
    """Whether any of that is computed twice."""
    rolls: Sequence[bool]
    """For each value between the anchors, whether some of it is kept from one tile to the next."""


def _operands(stage: Stage, slab: Slab | None) -> int:
    """Bytes that a slab reads, except those of the stage before."""
    if slab is None:
        return 0
    read = zip(stage.anchor.operands, slab.implementation.boxes, strict=True)
    return sum(_bytes(value, box) for place, (value, box) in enumerate(read) if place != stage.chained)


def _bytes(value: SSAValue, box: Box) -> int:
    return size(box) * byte_width(element_type_of(value))


def _replace(chain: _Chain, tile: Box, parts: Sequence[int], forms: VectorForms) -> bool:
    """Replace a chain by a staged operation, if that is vectorizable."""
    ops, last = chain.ops, chain.last
    block, inputs, inside = copy_group(ops)
    block.add_op(YieldOp([inside[last.results[0]]]))
    extents = [len(axis) for axis in tile]
    try:
        plan = Plan(stages_of(block), extents, parts)
    except ShapeError:  # some tile cannot be computed like that, such as one that reads nothing but padding
        return False
    staged = StagedOp.of(inputs, Region(block), extents, parts if len(parts) > 1 else None, plan.scratch)
    staged.attributes[ScheduleAttr.KEY] = last.attributes[ScheduleAttr.KEY]
    staged.location = fuse_locations(op.location for op in ops)
    Rewriter.insert_op(staged, InsertPoint.before(last))
    if forms.of([staged], [staged.result]) is Form.NONE:
        Rewriter.erase_op(staged)
        return False
    last.results[0].replace_all_uses_with(staged.result)
    for op in reversed(ops):
        Rewriter.erase_op(op)
    return True
