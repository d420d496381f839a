"""Loops over the elements of flat buffers, for functions beside the entry."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint


def element_loop(build: Builder, count: int, initial: Sequence[SSAValue]) -> tuple[scf.ForOp, Builder]:
    """A loop over `count` elements, and where its body is built; the caller ends it with a yield."""
    bounds = [build.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(n))).result for n in (0, count, 1)]
    block = Block(arg_types=[bounds[0].type, *(value.type for value in initial)])
    loop = build.insert(scf.ForOp(bounds[0], bounds[1], bounds[2], initial, Region(block)))
    return loop, Builder(InsertPoint.at_end(block))


def copy_elements(build: Builder, source: SSAValue, destination: SSAValue, count: int) -> None:
    """Copy `count` elements from one flat buffer to another."""
    loop, body = element_loop(build, count, [])
    index = loop.body.block.args[0]
    value = body.insert(memref.LoadOp.get(source, [index])).res
    body.insert(memref.StoreOp.get(value, destination, [index]))
    body.insert(scf.YieldOp())


def fill_elements(build: Builder, value: SSAValue, destination: SSAValue, count: int) -> None:
    """Store `value` in `count` elements of a flat buffer."""
    loop, body = element_loop(build, count, [])
    body.insert(memref.StoreOp.get(value, destination, [loop.body.block.args[0]]))
    body.insert(scf.YieldOp())
