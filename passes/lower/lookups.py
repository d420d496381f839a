"""Bytes looked up in a table that lies in registers: the permutations of bytes that the target has, else one by one.

Each intrinsic is chosen by `Target.instructions`. What permutes 16 bytes by four bits of each number gives 0 where the
number is beyond them, and the table is rows of 16. On x86 the numbers go down by 16 from row to row, saturating, and
what counts is their sign: each adds, exclusively, what its row differs by from the row before,
as long as its number is not below 0; numbers without sign so in two halves (W. Mula's tables of many registers).
"""

from __future__ import annotations

from functools import reduce

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i64
from xdsl.ir import SSAValue

from aotc.dialects.aot.tile_lookups import ENTRIES, TileLookupOp
from aotc.dialects.aot.tiles import tile_shape
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import LLVMBuilder, integer

_ROW = 16
"""Bytes that are permuted among themselves."""
_BY_NIBBLE = {16: "llvm.x86.ssse3.pshuf.b.128", 32: "llvm.x86.avx2.pshuf.b"}


def _lookup(f: FunctionLowering, op: TileLookupOp) -> None:
    x, table = f.get(op.x), [f.get(each) for each in op.table]
    lanes, row, bits = tile_shape(op.x)[0], tile_shape(op.table[0])[0], 8 * tile_shape(op.x)[0]
    native = f.module.instructions
    if (lanes, row) == (64, 64) and "vpermi2b.512" in native:
        result = _of_registers(f.b, x, table)
    elif (lanes, row) == (64, 64) and "vpermi2w.512" in native:
        result = _of_words(f.b, x, table)
    elif row == _ROW and f"pshufb.{bits}" in native and lanes in _BY_NIBBLE:
        result = _by_differences(f.b, x, table, _BY_NIBBLE[lanes])
    elif (lanes, row) == (_ROW, _ROW) and "tbl4" in native:
        result = _of_four(f.b, x, table)
    elif (lanes, row) == (_ROW, _ROW) and "i8x16.swizzle" in native:
        result = _by_rows(f.b, x, table)
    else:
        result = _one_by_one(f.b, x, table, lanes)
    f.set(op.result, result)


def _of_registers(b: LLVMBuilder, x: SSAValue, table: list[SSAValue]) -> SSAValue:
    """AVX-512 VBMI: of two registers each, by seven bits; the eighth is the sign."""
    low, high = (
        b.intrinsic("llvm.x86.avx512.vpermi2var.qi.512", (first, x, second), x.type)
        for first, second in zip(table[::2], table[1::2], strict=True)
    )
    return b.select(b.icmp("slt", x, b.constant(0, x.type)), high, low)


def _of_words(b: LLVMBuilder, x: SSAValue, table: list[SSAValue]) -> SSAValue:
    """AVX-512 BW: pairs of bytes, by the bits of the number but the last, which says which of the two: for the bytes
    with even and for those with odd places."""
    kind = VectorType(integer(16), [32])
    words = b.convert(llvm.BitcastOp, x, kind)
    pairs = [b.convert(llvm.BitcastOp, each, kind) for each in table]

    def by(count: int) -> SSAValue:
        return b.constant(count, kind)

    def found(numbers: SSAValue) -> SSAValue:
        """Of numbers of 8 bits in lanes of 16."""
        place = b.integer_op(llvm.LShrOp, numbers, by(1))
        low, high = (
            b.intrinsic("llvm.x86.avx512.vpermi2var.hi.512", (first, place, second), kind)
            for first, second in zip(pairs[::2], pairs[1::2], strict=True)
        )
        pair = b.select(b.icmp("ugt", numbers, by(127)), high, low)
        odd = b.icmp("ne", b.integer_op(llvm.AndOp, numbers, by(1)), by(0))
        return b.select(odd, b.integer_op(llvm.LShrOp, pair, by(8)), pair)

    even = b.integer_op(llvm.AndOp, found(b.integer_op(llvm.AndOp, words, by(255))), by(255))
    odd = b.integer_op(llvm.ShlOp, found(b.integer_op(llvm.LShrOp, words, by(8))), by(8))
    return b.convert(llvm.BitcastOp, b.integer_op(llvm.OrOp, even, odd), x.type)


def _by_differences(b: LLVMBuilder, x: SSAValue, table: list[SSAValue], name: str) -> SSAValue:
    """SSSE3 and AVX2, see the module."""
    lanes = range(tile_shape(x)[0])
    rows = [b.shuffle(each, each, tuple(lane % _ROW for lane in lanes)) for each in table]
    terms: list[SSAValue] = []
    for numbers, half in ((x, rows[:8]), (b.integer_op(llvm.XOrOp, x, b.constant(128, x.type)), rows[8:])):
        before: SSAValue | None = None
        for row in half:
            if before is not None:
                numbers = b.intrinsic(f"llvm.ssub.sat.v{len(lanes)}i8", (numbers, b.constant(_ROW, x.type)), x.type)
            difference = row if before is None else b.integer_op(llvm.XOrOp, row, before)
            terms.append(b.intrinsic(name, (difference, numbers), x.type))
            before = row
    return reduce(lambda a, c: b.integer_op(llvm.XOrOp, a, c), terms)


def _of_four(b: LLVMBuilder, x: SSAValue, table: list[SSAValue]) -> SSAValue:
    """NEON of AArch64: of four registers, by the numbers that are in them; the others stay what they are."""
    result = b.intrinsic("llvm.aarch64.neon.tbl4.v16i8", (*table[:4], x), x.type)
    for first in range(4, 16, 4):
        numbers = b.integer_op(llvm.SubOp, x, b.constant(first * _ROW, x.type))
        some = table[first : first + 4]
        result = b.intrinsic("llvm.aarch64.neon.tbx4.v16i8", (result, *some, numbers), x.type)
    return result


def _by_rows(b: LLVMBuilder, x: SSAValue, table: list[SSAValue]) -> SSAValue:
    """WebAssembly: 0 where a number is beyond its row."""
    terms = [
        b.intrinsic(
            "llvm.wasm.swizzle",
            (row, b.integer_op(llvm.SubOp, x, b.constant(number * _ROW, x.type)) if number else x),
            x.type,
        )
        for number, row in enumerate(table)
    ]
    return reduce(lambda a, c: b.integer_op(llvm.OrOp, a, c), terms)


def _one_by_one(b: LLVMBuilder, x: SSAValue, table: list[SSAValue], lanes: int) -> SSAValue:
    """All of the table as one vector, whose lanes are picked."""
    whole = list(table)
    while len(whole) > 1:
        size = 2 * ENTRIES // len(whole)
        whole = [b.shuffle(low, high, tuple(range(size))) for low, high in zip(whole[::2], whole[1::2], strict=True)]
    result = b.constant(0, x.type)
    for lane in range(lanes):
        number = b.convert(llvm.ZExtOp, b.extract(x, lane), i64)
        result = b.insert(result, b.extract(whole[0], number), lane)
    return result


LOWERINGS: Lowerings = {TileLookupOp: _lookup}
