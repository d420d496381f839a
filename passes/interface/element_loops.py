"""Memory and loops over its elements, for functions beside the entry; written where an `ImplicitBuilder` is."""

from collections.abc import Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, i8
from xdsl.ir import Block, Region, SSAValue

from aotc.dialects.aot import BufferOp, WorkspaceOp


def index_constant(value: int) -> SSAValue:
    """A constant index."""
    return arith.ConstantOp.from_int_and_width(value, IndexType()).result


def workspace(size: int, given: SSAValue | None, pool: str = "") -> SSAValue:
    """The workspace of so many bytes, or that in a pool: the model's own, or what the caller has `given`."""
    return (WorkspaceOp(size, pool) if given is None else BufferOp(given, MemRefType(i8, [size]))).result


def buffer_at(arena: SSAValue, offset: int, kind: MemRefType) -> SSAValue:
    """The buffer at an offset of the workspace."""
    return memref.ViewOp(arena, index_constant(offset), [], kind).result


def element_loop(count: int, initial: Sequence[SSAValue] = ()) -> scf.ForOp:
    """A loop over `count` elements; the caller fills its body, and ends it with a yield."""
    low, high, step = map(index_constant, (0, count, 1))
    return scf.ForOp(low, high, step, initial, Region(Block(arg_types=[low.type, *(value.type for value in initial)])))


def copy_elements(source: SSAValue, destination: SSAValue, count: int) -> None:
    """Copy `count` elements from one flat buffer to another."""
    with ImplicitBuilder(element_loop(count).body) as (place,):
        memref.StoreOp.get(memref.LoadOp.get(source, [place]), destination, [place])
        scf.YieldOp()
