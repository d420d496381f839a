"""Bytes of wider lanes: x86's packing with saturation of four registers at once, else lane by lane.

x86 rounds floats to i32 (`cvtps2dq`, to even as its control register says), packs pairs of registers to 16 bits
(`packssdw`) and these to 8 (`packsswb`, `packuswb`), saturating. A zero point is added in between, saturating too: what
is beyond 16 bits then stays beyond 8. Packing takes 16 bytes of each register in turn, so that wider ones are put in
order at last. One register alone is packed in halves; one of AVX-512 is clamped as i32, and has an instruction then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, f32, i8, i16, i32
from xdsl.ir import SSAValue

from aotc.dialects.aot.tile_narrowing import PARTS, TileNarrowOp
from aotc.dialects.aot.tiles import tile_shape
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import LLVMBuilder, element

_PREFIX = {128: "llvm.x86.sse2", 256: "llvm.x86.avx2", 512: "llvm.x86.avx512"}
_HALVED = (128, 256)
"""Bits of registers one of which is best packed alone."""
_ROUNDING = 3.0 * 2**22
_ROUNDING_BITS = 0x4B400000
"""A float whose addition rounds, and its bits (`TileBuilder.rounded`)."""
_AS_CONTROLLED = 4
"""How AVX-512's instruction rounds: as the control register says."""


def _narrow(f: FunctionLowering, op: TileNarrowOp) -> None:
    parts, bits = [f.get(part) for part in op.parts], 32 * tile_shape(op.parts[0])[0]
    if bits in _PREFIX and f"pmaddwd.{bits}" in f.module.instructions:
        if len(parts) == PARTS:
            f.set(op.result, _packed(f.b, op, parts))
            return
        if len(parts) == 1 and bits in _HALVED:
            f.set(op.result, _packed_alone(f.b, op, parts[0]))
            return
    whole = [_clamped(f.b, op, part) for part in parts]
    while len(whole) > 1:
        size = 2 * tile_shape(whole[0])[0]
        whole = [f.b.shuffle(a, c, tuple(range(size))) for a, c in zip(whole[::2], whole[1::2], strict=True)]
    f.set(op.result, whole[0])


def _packed(b: LLVMBuilder, op: TileNarrowOp, parts: Sequence[SSAValue]) -> SSAValue:
    """Of four registers at once."""
    (lanes,) = tile_shape(parts[0])
    whole = {part: _rounded(b, part) for part in dict.fromkeys(parts)}
    halves = [_words(b, op, whole[first], whole[second]) for first, second in zip(parts[::2], parts[1::2], strict=True)]
    result = _bytes(b, op, halves)
    order = tuple(
        first + byte
        for part in range(PARTS)
        for group in range(lanes // PARTS)
        for first in (16 * group + PARTS * part,)
        for byte in range(PARTS)
    )
    return b.shuffle(result, result, order) if lanes > PARTS else result


def _packed_alone(b: LLVMBuilder, op: TileNarrowOp, part: SSAValue) -> SSAValue:
    """Of one register, of which those of 128 bits are packed with themselves, and halves of others with each other."""
    (lanes,), whole = tile_shape(part), _rounded(b, part)
    size = min(lanes, PARTS)
    first, second = (b.shuffle(whole, whole, tuple(range(start, start + size))) for start in (0, lanes - size))
    words = _words(b, op, first, second)
    result = _bytes(b, op, [words, words])
    return b.shuffle(result, result, tuple(range(lanes)))


def _words(b: LLVMBuilder, op: TileNarrowOp, first: SSAValue, second: SSAValue) -> SSAValue:
    """Two registers of i32 as one of i16, with the zero point."""
    (lanes,), (point, _, _) = tile_shape(first), op.numbers
    words = VectorType(i16, [2 * lanes])
    half = b.intrinsic(_name("packssdw", lanes), (first, second), words)
    if not point:
        return half
    return b.intrinsic(f"llvm.sadd.sat.v{2 * lanes}i16", (half, b.constant(point, words)), words)


def _bytes(b: LLVMBuilder, op: TileNarrowOp, halves: Sequence[SSAValue]) -> SSAValue:
    """Two registers of i16 as one of clamped bytes."""
    lanes, (_, low, high) = tile_shape(halves[0])[0] // 2, op.numbers
    bytes_ = VectorType(i8, [4 * lanes])
    packs, sign = ("packsswb", "s") if not op.unsigned else ("packuswb", "u")
    result = b.intrinsic(_name(packs, lanes), halves, bytes_)
    for bound, end, name in ((low, op.range[0], "max"), (high, op.range[1], "min")):
        if bound != end:
            result = b.intrinsic(f"llvm.{sign}{name}.v{4 * lanes}i8", (result, b.constant(bound, bytes_)), bytes_)
    return result


def _name(packing: str, lanes: int) -> str:
    """Of the intrinsic that packs registers of so many lanes of 32 bits."""
    return f"{_PREFIX[32 * lanes]}.{packing}{'.512' if lanes == 16 else '.128' if lanes == 4 else ''}"


def _rounded(b: LLVMBuilder, part: SSAValue) -> SSAValue:
    """The nearest i32, by x86's instruction."""
    if element(part.type) != f32:
        return part
    (lanes,) = tile_shape(part)
    kind = VectorType(i32, [lanes])
    if lanes == 16:
        rest = b.constant(0, kind), b.constant(-1, i16), b.constant(_AS_CONTROLLED, i32)
        return b.intrinsic("llvm.x86.avx512.mask.cvtps2dq.512", (part, *rest), kind)
    name = "llvm.x86.avx.cvt.ps2dq.256" if lanes == 8 else "llvm.x86.sse2.cvtps2dq"
    return b.intrinsic(name, (part,), kind)


def _clamped(b: LLVMBuilder, op: TileNarrowOp, part: SSAValue) -> SSAValue:
    """One register, clamped before it is rounded and a zero point added."""
    point, low, high = op.numbers
    (lanes,) = tile_shape(part)
    kind, value = VectorType(i32, [lanes]), part
    for bound, name, predicate in ((low - point, "smax", "ogt"), (high - point, "smin", "olt")):
        end = b.constant(bound, part.type)
        if element(part.type) == f32:
            value = b.select(b.fcmp(predicate, value, end), value, end)
        else:
            value = b.intrinsic(f"llvm.{name}.v{lanes}i32", (value, end), kind)
    if element(part.type) == f32:
        shifted = b.float_op(llvm.FAddOp, value, b.constant(_ROUNDING, part.type))
        value = b.integer_op(llvm.SubOp, b.convert(llvm.BitcastOp, shifted, kind), b.constant(_ROUNDING_BITS, kind))
    if point:
        value = b.integer_op(llvm.AddOp, value, b.constant(point, kind))
    return b.convert(llvm.TruncOp, value, VectorType(i8, [lanes]))


LOWERINGS: Lowerings = {TileNarrowOp: _narrow}
