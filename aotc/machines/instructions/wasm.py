"""Instructions of WebAssembly on vectors of 128 bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotc.machines.instructions.rows import Architecture, Instruction, Spelling, dot_alone
from aotc.machines.instructions.values import Group, Value, packed, saturated_sum

_BITS = 128
WASM32 = Architecture("wasm32", (), lambda feature: f"defined(__wasm_{feature}__)", None, others=("simd128",))


def _found(table: Group[Value], numbers: Group[Value]) -> Sequence[Value]:
    """0 by numbers that are beyond."""
    return numbers.each(lambda n: (n < 16).select((n & 15).among(table), n.number(0, n.dtype)))


def _narrowings() -> Iterator[Instruction]:
    for name, signature, llvm, function in (
        ("i16x8.narrow_i32x4_s", "s32x4, s32x4 -> s16x8", "wasm.narrow.signed.v8i16.v4i32", "narrow_s_i16x8_i32x4"),
        ("i8x16.narrow_i16x8_s", "s16x8, s16x8 -> s8x16", "wasm.narrow.signed.v16i8.v8i16", "narrow_s_i8x16_i16x8"),
        ("i8x16.narrow_i16x8_u", "s16x8, s16x8 -> u8x16", "wasm.narrow.unsigned.v16i8.v8i16", "narrow_u_i8x16_i16x8"),
    ):
        spellings = (Spelling(("simd128",), f"__builtin_wasm_{function}"),)
        yield Instruction(name, WASM32, signature, _BITS, packed(signature), f"llvm.{llvm}", spellings)
    spellings = (Spelling(("simd128",), "wasm_i16x8_add_sat"),)
    llvm = "llvm.sadd.sat.v8i16"
    yield Instruction("i16x8.add_sat_s", WASM32, "s16, s16 -> s16", _BITS, saturated_sum, llvm, spellings)


ROWS = (
    *_narrowings(),
    Instruction(
        "i32x4.dot_i16x8_s",
        WASM32,
        "s16x2, s16x2 -> s32",
        _BITS,
        dot_alone,
        "llvm.wasm.dot",
        (Spelling(("simd128",), "__builtin_wasm_dot_s_i32x4_i16x8"),),
    ),
    Instruction(
        "i8x16.swizzle",
        WASM32,
        "u8x16, u8x16 -> u8x16",
        _BITS,
        _found,
        "llvm.wasm.swizzle",
        (Spelling(("simd128",), "__builtin_wasm_swizzle_i8x16"),),
    ),
)
