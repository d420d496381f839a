"""Compute an anchor, and what is pointwise after it, strip by strip for the anchor that reads it: one kernel of stages.

That pays where the tensor between them is too large to stay in the cache, strips of it are not, and nothing is computed
twice: where an anchor says along which axes of its result strips share no work (`AnchorOp.strips`), and
the ones before can compute what a strip needs alone (`AnchorOp.cut_out`).

Before, with `fuse-stages{target=x86-64-v4}`:
```mlir
%0 = graph.packed_matmul %q, %k {..} : (tensor<12x256x64xf32>, tensor<12x8x64x32xf32>) -> tensor<12x256x256xf32>
%1 = graph.softmax %0 {axes = array<i64: 2>} : (tensor<12x256x256xf32>) -> tensor<12x256x256xf32>
%2 = graph.matmul %1, %v : (tensor<12x256x256xf32>, tensor<12x256x64xf32>) -> tensor<12x256x64xf32>
```
After:
```mlir
%2, %3, %4 = graph.staged (%a = %q : .., %b = %k : .., %c = %v : ..)
    -> (tensor<12x256x64xf32>, tensor<1x90x272xf32>, tensor<1x90x272xf32>) attributes {strip = array<i64: 1, 90, 64>} {
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
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.dtypes import byte_width, is_encoded
from aotc.dialects.graph.boxes import Box, Strips, size, whole
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.schedule import Machine, ScheduleAttr, schedule_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.staged import StagedOp
from aotc.dialects.graph.structure import YieldOp
from aotc.locations import fuse_locations
from aotc.passes.graph.choose_schedule import machine_of
from aotc.passes.graph.fusion_policy import MAX_BUFFERS, MAX_OPERATIONS, buffers
from aotc.passes.graph.groups import copy_group, entries
from aotc.passes.graph.tile_forms import Form, TileForms, is_tiled
from aotc.passes.graph.views import is_kernel
from aotc.weights import WeightStore

_STAYS, _MEMORY, _KEPT = 1 / 2, 1 / 4, 3 / 4
"""Shares of the second level of cache: what stays in it between two kernels, what strips may take for what is between
anchors, and for operands."""


@dataclass(frozen=True)
class FuseStagesPass(ModulePass):
    """Compute an anchor strip by strip for the anchor that reads it, in one kernel."""

    name = "fuse-stages"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(self.target)
        if machine is None:
            return
        forms = TileForms(WeightStore.of(ctx))
        for entry in entries(op):
            for anchor in reversed(list(entry.body.block.ops)):
                if isinstance(anchor, AnchorOp) and anchor.parent is entry.body.block:
                    _fuse(anchor, machine, forms)


@dataclass(frozen=True)
class _Link:
    """An anchor before another, and the operations on its result that the other reads, in order."""

    anchor: AnchorOp
    pointwise: tuple[ElementOp, ...]
    operand: int
    """Of the anchor after it."""


def _fuse(last: AnchorOp, machine: Machine, forms: TileForms) -> None:
    """Make one kernel of `last` and all anchors before it that are worth it."""
    schedule = schedule_of(last)
    if schedule is None or not _is_stage(last) or (strips := last.strips(schedule)) is None:
        return
    chain, strip = _Chain(last, strips), None
    while (link := _link(chain.first, forms)) is not None:
        longer = chain.with_link(link)
        if longer.stays(machine) or not longer.shares_nothing():
            break
        if (strip := longer.strip(machine)) is None:
            return  # what no strips keep in the cache streams through it: strips of the rest would only be in the way
        chain = longer
    if strip is None:
        return
    ops = [*(each for link in reversed(chain.links) for each in (link.anchor, *link.pointwise)), last]
    if len(ops) <= MAX_OPERATIONS and buffers(ops) <= MAX_BUFFERS:
        _replace(ops, last, strip, forms)


def _is_stage(op: AnchorOp) -> bool:
    return is_tiled(op) and len(op.results) == 1 and not any(map(is_encoded, map(element_type_of, op.operands)))


def _link(anchor: AnchorOp, forms: TileForms) -> _Link | None:
    """What computes an operand of `anchor` for it alone, if anything does; the first such operand's."""
    for place, operand in enumerate(anchor.operands):
        if (found := _producer(operand, forms)) is not None:
            return _Link(*found, place)
    return None


def _producer(value: SSAValue, forms: TileForms) -> tuple[AnchorOp, tuple[ElementOp, ...]] | None:
    """The anchor whose result becomes `value` by pointwise operations, used by nothing else, and these."""
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
        and forms.has_element(op)
    ):
        return None
    for operand in op.operands:
        if shape_of(operand) == shape_of(value) and (found := _producer(operand, forms)) is not None:
            anchor, pointwise = found
            return anchor, (*pointwise, op)
    return None


@dataclass(frozen=True)
class _Chain:
    """The last anchor and some before it, its links from the last one on."""

    last: AnchorOp
    strips: Strips
    links: tuple[_Link, ...] = ()

    def with_link(self, link: _Link) -> _Chain:
        """One anchor more, before the others."""
        return _Chain(self.last, self.strips, (*self.links, link))

    @property
    def first(self) -> AnchorOp:
        """What is computed first."""
        return self.links[-1].anchor if self.links else self.last

    @property
    def value(self) -> SSAValue:
        """What the first anchor computes for the one after it."""
        *nearer, first = self.links
        reader = nearer[-1].anchor if nearer else self.last
        return reader.operands[first.operand]

    def stays(self, machine: Machine) -> bool:
        """Whether that stays in the cache from one kernel to the next."""
        return _bytes(self.value, whole(self.value)) <= machine.l2 * _STAYS

    def shares_nothing(self) -> bool:
        """Whether each strip needs another part of it."""
        first, second = (self._seen(self._box(self.strips.multiple, number)) for number in (1, 2))
        if first is None or second is None:
            return False
        parts = zip(first.between[-1], second.between[-1], strict=True)
        return first == second or any(a.stop <= b.start for a, b in parts)

    def strip(self, machine: Machine) -> Box | None:
        """The first of the largest strips that stay in the cache, all about equal; None where no strip does."""
        step = self.strips.multiple
        extent = shape_of(self.last.results[0])[self.strips.rows]

        def is_too_large(steps: int) -> bool:
            seen = self._seen(self._box(steps * step))
            return seen is None or seen.memory > machine.l2 * _MEMORY or seen.kept > machine.l2 * _KEPT

        most = step * bisect_left(range(1, ceil_div(extent, step) + 1), True, key=is_too_large)
        if most == 0:
            return None
        parts = ceil_div(extent, most)
        return self._box(ceil_div(extent, parts * step) * step)

    def _box(self, rows: int, number: int = 0) -> Box:
        """The strip of so many rows with a number, or the last one."""
        everything = whole(self.last.results[0])
        extent = len(everything[self.strips.rows])
        number = min(number, (extent - 1) // rows)
        place = range(number * rows, min((number + 1) * rows, extent))
        axes = enumerate(everything)
        return tuple(
            range(1) if axis in self.strips.single else place if axis == self.strips.rows else part
            for axis, part in axes
        )

    def _seen(self, box: Box) -> _Seen | None:
        """What a box of the result needs; None where an anchor does not compute such a part alone."""
        anchor, kept, between = self.last, 0, list[Box]()
        memory = 0
        for link in (*self.links, None):
            if (cutout := anchor.cut_out(box)) is None:
                return None
            sizes = [_bytes(operand, seen) for operand, seen in zip(anchor.operands, cutout.boxes, strict=True)]
            kept += sum(sizes)
            if link is not None:
                kept -= sizes[link.operand]
                memory += sizes[link.operand]
                box = cutout.boxes[link.operand]
                between.append(box)
                anchor = link.anchor
        return _Seen(kept, memory, between)


@dataclass(frozen=True)
class _Seen:
    """What a strip needs."""

    kept: int
    """Bytes of operands."""
    memory: int
    """Bytes of what is between the anchors."""
    between: Sequence[Box]
    """That, the last first."""


def _bytes(value: SSAValue, box: Box) -> int:
    return size(box) * byte_width(element_type_of(value))


def _replace(ops: Sequence[Operation], last: AnchorOp, strip: Box, forms: TileForms) -> None:
    """Put `ops` into a staged operation in place of the last one, if that has a form on tiles."""
    block, inputs, inside = copy_group(ops)
    block.add_op(YieldOp([inside[last.results[0]]]))
    try:
        staged = StagedOp.of(inputs, Region(block), [len(axis) for axis in strip])
    except ShapeError:  # some strip, as one that sees nothing but padding, is not computed like that
        return
    staged.attributes[ScheduleAttr.KEY] = last.attributes[ScheduleAttr.KEY]
    staged.location = fuse_locations(op.location for op in ops)
    parent = last.parent
    assert parent is not None
    parent.insert_op_before(staged, last)
    if forms.of([staged], [staged.result]) is Form.NONE:
        staged.detach()
        staged.erase()
        return
    staged.result.name_hint = last.results[0].name_hint
    last.results[0].replace_all_uses_with(staged.result)
    for op in reversed(ops):
        op.detach()
        op.erase()
