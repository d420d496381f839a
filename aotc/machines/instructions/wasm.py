"""Instructions of WebAssembly on vectors of 128 bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotc.machines.instructions import floats
from aotc.machines.instructions.rows import Architecture, Instruction, Spelling, dot_alone, of_floats
from aotc.machines.instructions.values import Group, Meaning, Value, packed, saturated_sum

_BITS = 128
WASM32 = Architecture("wasm32", ("mvp",), lambda feature: f"defined(__wasm_{feature}__)", None, others=("simd128",))


def _found(table: Group[Value], numbers: Group[Value]) -> Sequence[Value]:
    """0 by numbers that are beyond."""
    return numbers.each(lambda n: (n < 16).select((n & 15).among(table), n.number(0, n.dtype)))


def _row(name: str, signature: str, meaning: Meaning, llvm: str, function: str) -> Instruction:
    spellings = (Spelling(("simd128",), function),)
    return Instruction(name, WASM32, signature, _BITS, meaning, f"llvm.{llvm}", spellings)


def _narrowings() -> Iterator[Instruction]:
    for name, signature, llvm, function in (
        ("i16x8.narrow_i32x4_s", "s32x4, s32x4 -> s16x8", "signed.v8i16.v4i32", "s_i16x8_i32x4"),
        ("i8x16.narrow_i16x8_s", "s16x8, s16x8 -> s8x16", "signed.v16i8.v8i16", "s_i8x16_i16x8"),
        ("i8x16.narrow_i16x8_u", "s16x8, s16x8 -> u8x16", "unsigned.v16i8.v8i16", "u_i8x16_i16x8"),
    ):
        yield _row(name, signature, packed(signature), f"wasm.narrow.{llvm}", f"__builtin_wasm_narrow_{function}")


def _floats() -> Iterator[Instruction]:
    functions = zip(
        (*floats.ROUNDS, *floats.EXTREMES), ("nearest", "floor", "ceil", "trunc", "max", "min"), strict=True
    )
    for function, name in functions:
        for dtype, lanes in (("f32", 4), ("f64", 2)):
            yield of_floats(f"{dtype}.{name}", WASM32, function, dtype, 1, Spelling(("mvp",)))
            yield of_floats(f"{dtype}x{lanes}.{name}", WASM32, function, dtype, lanes, Spelling(("simd128",)))


_DOT, _SWIZZLE = "__builtin_wasm_dot_s_i32x4_i16x8", "__builtin_wasm_swizzle_i8x16"
ROWS = (
    *_narrowings(),
    *_floats(),
    _row("i16x8.add_sat_s", "s16, s16 -> s16", saturated_sum, "sadd.sat.v8i16", "wasm_i16x8_add_sat"),
    _row("i32x4.dot_i16x8_s", "s16x2, s16x2 -> s32", dot_alone, "wasm.dot", _DOT),
    _row("i8x16.swizzle", "u8x16, u8x16 -> u8x16", _found, "wasm.swizzle", _SWIZZLE),
)
