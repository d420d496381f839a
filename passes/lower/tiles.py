"""Vectors of one dimension, as `unroll-tiles` leaves them: loaded, stored, compared, converted and shuffled.

Contiguous elements are one load, the first few of them a masked load. Those that fill words are loaded as words,
whatever the target: masked loads of narrower elements LLVM writes element by element on most. Elements that are not
contiguous are loaded one by one. Vectors at one base are displacements of one pointer, so that addresses fold into
instructions.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import IntegerType, VectorType, i1, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects import llvm_ext
from aotc.dialects.aot import (
    InstructionOp,
    PrefetchOp,
    TileCompareOp,
    TileConvertOp,
    TileLoadOp,
    TileSelectOp,
    TileStoreOp,
)
from aotc.errors import CompileError
from aotc.passes.lower.arith import CONVERSION, compare, convert
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.helpers import instruction
from aotc.passes.lower.llvm_builder import alignment, integer, like, width
from aotc.passes.lower.memory import element_address, read, write

_WORD = 32
"""Bits of the elements that a masked load of narrower ones is written with."""


def _lanes(kind: Attribute) -> int:
    (lanes,) = cast("VectorType[Attribute]", kind).get_shape()
    return lanes


class _Place:
    """Where a vector is in memory."""

    def __init__(self, f: FunctionLowering, op: TileLoadOp | TileStoreOp, kind: VectorType[Attribute]) -> None:
        if kind.get_num_dims() != 1:
            raise CompileError("no-form-in-llvm", f"{op.name} of {kind} has not been unrolled")
        key = (f.b.block, op.buffer, tuple(op.indices))
        if (base := f.bases.get(key)) is None:
            base = f.bases[key] = element_address(f, op.buffer, op.indices)
        self._f = f
        self.scalar = kind.element_type
        self._base = base
        self._displacement = op.displacement()
        (self.stride,) = op.element_strides()
        self.lanes = _lanes(kind)
        self.count = op.count() or self.lanes
        """Lanes that are in memory."""
        self.align = f.types.size(self.scalar)
        self.kind = kind

    def address(self, lane: int = 0, stride: int | None = None) -> SSAValue:
        """Of the element in `lane`; `stride` instead of the stride."""
        place = self._displacement + lane * (self.stride if stride is None else stride)
        return self._f.b.offset(self._base, self._f.types.memory(self.scalar), place)

    def mask(self) -> SSAValue:
        """The lanes that are in memory."""
        bits = bytes(lane < self.count for lane in range(self.lanes))
        return self._f.b.dense(bits, like(self.kind, i1))

    def properties(self) -> dict[str, Attribute]:
        """Of a masked access."""
        return {"alignment": alignment(self.align)}


def _load(f: FunctionLowering, op: TileLoadOp) -> None:
    place = _Place(f, op, op.in_memory(op.result.type))
    value = _loaded(f, place) if op.group is None else _repeated(f, place, op.repeated())
    if op.row is not None:
        value = instruction(f.b, op.row.intrinsic, [value], f.types.value(op.result.type))
    f.set(op.result, value)


def _repeated(f: FunctionLowering, place: _Place, group: int) -> SSAValue:
    """Every `group` lanes the same neighbouring elements: one number that holds all of them, in every lane of that
    width."""
    b, bits = f.b, width(place.scalar)
    word = integer(group * bits)
    if place.count >= group:
        number = b.load(place.address(), word, place.align)
    else:
        number = b.constant(0, word)
        for at in range(place.count):
            field = b.convert(llvm.ZExtOp, b.load(place.address(at, stride=1), place.scalar, place.align), word)
            shifted = b.integer_op(llvm.ShlOp, field, b.constant(at * bits, word))
            number = b.integer_op(llvm.OrOp, number, shifted)
    wide = b.splat(number, VectorType(word, [place.lanes // group]))
    return b.convert(llvm.BitcastOp, wide, f.types.value(place.kind))


def _loaded(f: FunctionLowering, place: _Place) -> SSAValue:
    b, kind, scalar = f.b, place.kind, place.kind.element_type
    if place.stride == 0:
        return b.splat(read(f, place.address(), scalar), f.types.value(kind))
    if place.stride != 1:
        value = b.constant(0, f.types.value(kind))
        for lane in range(place.count):
            value = b.insert(value, read(f, place.address(lane), scalar), lane)
        return value
    if place.count == place.lanes:
        return read(f, place.address(), kind)
    memory = f.types.memory(kind)
    per_word = _WORD // width(memory)
    if scalar != i1 and isinstance(scalar, IntegerType) and per_word > 1 and place.count % per_word == 0:
        return b.convert(llvm.BitcastOp, _loaded_words(f, place, per_word), f.types.value(kind))
    zero = b.constant(0, memory)
    operands = (place.address(), place.mask(), zero)
    value = b.op(llvm_ext.MaskedLoadOp, operands, memory, place.properties())
    return b.icmp("ne", value, zero) if scalar == i1 else value


def _loaded_words(f: FunctionLowering, place: _Place, per_word: int) -> SSAValue:
    """The elements that are in memory as words, and zeros; a power of two of words is one shorter vector."""
    b, count, lanes = f.b, place.count // per_word, place.lanes // per_word
    if count.bit_count() == 1:
        short = VectorType(integer(_WORD), [count])
        loaded = b.load(place.address(), short, place.align)
        return b.shuffle(loaded, b.constant(0, short), (*range(count), *([count] * (lanes - count))))
    kind = VectorType(integer(_WORD), [lanes])
    mask = b.dense(bytes(lane < count for lane in range(lanes)), like(kind, i1))
    return b.op(llvm_ext.MaskedLoadOp, (place.address(), mask, b.constant(0, kind)), kind, place.properties())


def _store(f: FunctionLowering, op: TileStoreOp) -> None:
    b, kind, value = f.b, op.in_memory(op.tile.type), f.get(op.tile)
    if op.row is not None:
        value = instruction(b, op.row.intrinsic, [value], f.types.value(kind))
    place, scalar = _Place(f, op, kind), kind.element_type
    if place.stride != 1 or place.count == 1:  # of one lane of narrowed integers LLVM 22 stores it as it was before
        for lane in range(place.count):
            write(f, b.extract(value, lane), place.address(lane), scalar)
    elif place.count == place.lanes:
        write(f, value, place.address(), kind)
    else:
        if scalar == i1:
            value = b.convert(llvm.ZExtOp, value, f.types.memory(kind))
        b.effect(llvm_ext.MaskedStoreOp, (value, place.address(), place.mask()), place.properties())


def _prefetch(f: FunctionLowering, op: PrefetchOp) -> None:
    """For reading, into L2: what is read soon is more than L1 holds."""
    address = element_address(f, op.buffer, op.indices, inbounds=False)
    flags = (f.b.constant(value, i32) for value in (0, 2, 1))
    f.b.intrinsic_effect("llvm.prefetch.p0", (address, *flags))


def _shuffle(f: FunctionLowering, op: vector.ShuffleOp) -> None:
    lanes = tuple(int(lane) for lane in op.mask.get_values())
    f.set(op.result, f.b.shuffle(f.get(op.v1), f.get(op.v2), lanes))


def _extract(f: FunctionLowering, op: vector.ExtractOp) -> None:
    if op.dynamic_position or isinstance(op.result.type, VectorType):
        raise CompileError("no-form-in-llvm", "vector.extract of anything but one static lane has no LLVM counterpart")
    (lane,) = op.static_position.get_values()
    f.set(op.result, f.b.extract(f.get(op.vector), int(lane)))


def _instruction(f: FunctionLowering, op: InstructionOp) -> None:
    operands = [f.get(each) for each in op.arguments]
    f.set(op.result, instruction(f.b, op.row.intrinsic, operands, f.types.value(op.result.type)))


_KINDS = {kind.name.removeprefix("arith."): kind for kind in CONVERSION}


LOWERINGS: Lowerings = {
    TileLoadOp: _load,
    TileStoreOp: _store,
    PrefetchOp: _prefetch,
    vector.BroadcastOp: lambda f, op: f.set(op.vector, f.b.splat(f.get(op.source), f.types.value(op.vector.type))),
    vector.ShuffleOp: _shuffle,
    vector.ExtractOp: _extract,
    InstructionOp: _instruction,
    TileCompareOp: lambda f, op: f.set(op.result, compare(f, op.predicate.data, op.lhs, op.rhs)),
    TileSelectOp: lambda f, op: f.set(op.result, f.b.select(f.get(op.condition), f.get(op.lhs), f.get(op.rhs))),
    TileConvertOp: lambda f, op: f.set(op.result, convert(f, _KINDS[op.kind.data], op.tile, op.result.type)),
}
