"""Instructions of WebAssembly on vectors of 128 bits."""

from __future__ import annotations

from collections.abc import Sequence

from aotc.machines.instructions.rows import Architecture, Instruction, Spelling
from aotc.machines.instructions.values import Group, Value, products

_BITS = 128
WASM32 = Architecture("wasm32", (), lambda feature: f"defined(__wasm_{feature}__)", None, others=("simd128",))


def _pairs(a: Group[Value], b: Group[Value]) -> Value:
    return products(a, b, "s32")


def _found(table: Group[Value], numbers: Group[Value]) -> Sequence[Value]:
    """0 by numbers that are beyond."""
    return numbers.each(lambda n: (n < 16).select((n & 15).among(table), n.number(0, n.dtype)))


ROWS = (
    Instruction(
        "i32x4.dot_i16x8_s",
        WASM32,
        "s16x2, s16x2 -> s32",
        _BITS,
        _pairs,
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
