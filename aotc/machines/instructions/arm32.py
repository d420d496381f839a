"""Instructions of 32-bit Arm on floats: on numbers those of every core, on vectors of 128 bits NEON's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from aotc.machines.instructions import floats
from aotc.machines.instructions.rows import Architecture, Instruction, Lanes, Spelling, of_floats

_V8 = "(defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)) && defined(__ARM_FP) && (__ARM_FP & {})"
MACROS: Final = {
    "fpregs": "defined(__ARM_FP)",
    "fp16": "defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'",
    "fp-armv8d16sp": _V8.format(4),
    "fp-armv8d16": _V8.format(8),
}
"""Of features: registers of floats, conversions of halves, which Cortex-M with such registers have though GCC's
`__ARM_FP` does not say so, and roundings of f32 and of f64."""


def _no_register(lanes: Lanes) -> str:
    raise AssertionError(f"C has no name for instructions on {lanes}")


ARM = Architecture("arm", (), MACROS.__getitem__, _no_register, others=("neon", *MACROS))
_ROUND = '{0} aotc_r; __asm__("{1} %{2}0, %{2}1" : "={3}"(aotc_r) : "{3}"({{0}}))'
_CONVERT = (
    'float aotc_r; __asm__("vmov %0, %1\\n\\tvcvtb.f32.f16 %0, %0" : "=t"(aotc_r) : "r"((uint32_t)({0})))',
    'uint32_t aotc_w; float aotc_t; __asm__("vcvtb.f16.f32 %1, %2\\n\\tvmov %0, %1"'
    ' : "=r"(aotc_w), "=t"(aotc_t) : "t"({0})); uint16_t aotc_r = (uint16_t)(aotc_w & 0xffffu)',
)
"""Between a general register, in which halves are, and one of floats; compilers convert a type of their own only."""


def _spelling(architecture: Architecture, features: Sequence[str], statements: str) -> Spelling:
    """Statements that leave the result in `aotc_r`, for Cortex-M."""
    text = f"(__extension__ ({{{{ {statements}; aotc_r; }}}}))"
    return Spelling((*features,), text if architecture.word else "")


def of_numbers(architecture: Architecture) -> Iterator[Instruction]:
    """Roundings, and conversions of halves."""
    prefix = "" if architecture.word else "arm."
    for dtype, feature, kind, registers in (
        ("f32", "fp-armv8d16sp", "float", ("", "t")),
        ("f64", "fp-armv8d16", "double", ("P", "w")),
    ):
        for function, letter in zip(floats.ROUNDS, "nmpz", strict=True):
            name = f"vrint{letter}.{dtype}"
            spelling = _spelling(architecture, [feature], _ROUND.format(kind, name, *registers))
            yield of_floats(f"{prefix}{name}", architecture, function, dtype, 1, spelling)
    for function, name, text in zip(floats.HALVES, ("vcvtb.f32.f16", "vcvtb.f16.f32"), _CONVERT, strict=True):
        spelling = _spelling(architecture, ["fpregs", "fp16"], text)
        yield of_floats(f"{prefix}{name}", architecture, function, "f32", 1, spelling)


def _of_vectors() -> Iterator[Instruction]:
    for function, letter in zip(floats.ROUNDS, "nmpz", strict=True):
        spelling = Spelling(("neon", "fp-armv8d16sp"))
        yield of_floats(f"arm.vrint{letter}.f32x4", ARM, function, "f32", 4, spelling)
    for function, name in zip(floats.HALVES, ("vcvt.f32.f16", "vcvt.f16.f32"), strict=True):
        yield of_floats(f"arm.{name}", ARM, function, "f32", 4, Spelling(("neon", "fp16")))


ROWS = (*of_numbers(ARM), *_of_vectors())
