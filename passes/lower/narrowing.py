"""Bytes of wider lanes: x86's packing with saturation of four registers at once, else lane by lane.

x86 rounds floats to i32 (`cvtps2dq`, to even as its control register says), packs pairs of registers to 16 bits
(`packssdw`) and these to 8 (`packsswb`, `packuswb`), saturating. A zero point is added in between, saturating too: what
is beyond 16 bits then stays beyond 8. Packing takes 16 bytes of each register in turn, so that wider ones are put in
order at last. One register alone is clamped as i32, which LLVM has instructions for.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, f32, i8, i16, i32
from xdsl.ir import SSAValue

from aotc.dialects.aot.narrowing import PARTS, TileNarrowOp
from aotc.dialects.aot.tiles import tile_shape
from aotc.passes.lower.builder import LLVMBuilder, element
from aotc.passes.lower.function import FunctionLowering, Lowerings

_PREFIX = {128: "llvm.x86.sse2", 256: "llvm.x86.avx2", 512: "llvm.x86.avx512"}
_ROUNDING = 3.0 * 2**22
_ROUNDING_BITS = 0x4B400000
"""What rounds a float that is added, and its bits (`TileBuilder.rounded`)."""
_AS_CONTROLLED = 4
"""How AVX-512's instruction rounds: as the control register says."""


def _narrow(f: FunctionLowering, op: TileNarrowOp) -> None:
    parts, bits = [f.get(part) for part in op.parts], 32 * tile_shape(op.parts[0])[0]
    if len(parts) == PARTS and bits in _PREFIX and f"pmaddwd.{bits}" in f.module.dots:
        f.set(op.result, _packed(f.b, op, parts))
        return
    whole = [_clamped(f.b, op, part) for part in parts]
    while len(whole) > 1:
        size = 2 * tile_shape(whole[0])[0]
        whole = [f.b.shuffle(a, c, tuple(range(size))) for a, c in zip(whole[::2], whole[1::2], strict=True)]
    f.set(op.result, whole[0])


def _packed(b: LLVMBuilder, op: TileNarrowOp, parts: Sequence[SSAValue]) -> SSAValue:
    """Of four registers at once."""
    (lanes,) = tile_shape(parts[0])
    prefix, suffix = _PREFIX[32 * lanes], ".512" if lanes == 16 else ".128" if lanes == 4 else ""
    point, low, high = op.numbers
    words, bytes_ = VectorType(i16, [2 * lanes]), VectorType(i8, [4 * lanes])
    whole = {part: _rounded(b, part) for part in dict.fromkeys(parts)}
    halves: list[SSAValue] = []
    for first, second in zip(parts[::2], parts[1::2], strict=True):
        half = b.intrinsic(f"{prefix}.packssdw{suffix}", (whole[first], whole[second]), words)
        if point:
            half = b.intrinsic(f"llvm.sadd.sat.v{2 * lanes}i16", (half, b.constant(point, words)), words)
        halves.append(half)
    packs, sign = ("packsswb", "s") if op.unsigned is None else ("packuswb", "u")
    result = b.intrinsic(f"{prefix}.{packs}{suffix}", halves, bytes_)
    for bound, end, name in ((low, op.range[0], "max"), (high, op.range[1], "min")):
        if bound != end:
            result = b.intrinsic(f"llvm.{sign}{name}.v{4 * lanes}i8", (result, b.constant(bound, bytes_)), bytes_)
    order = tuple(
        first + byte
        for part in range(PARTS)
        for group in range(lanes // PARTS)
        for first in (16 * group + PARTS * part,)
        for byte in range(PARTS)
    )
    return b.shuffle(result, result, order) if lanes > PARTS else result


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
