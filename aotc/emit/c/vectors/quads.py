"""Vectors of four in generated C: what Arm's MVE (Helium) has instructions for and GCC's vector extension no operator,
or no way to one, and the same in plain C elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aotc.emit.c.vector_types import Variants, Vector

INTEGERS = "defined(__ARM_FEATURE_MVE)"
"""Whether there are vectors of integers."""
FLOATS = "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)"
"""Whether there are vectors of floats."""


def mve(v: Vector, name: str, arguments: str, condition: str = INTEGERS) -> Variants:
    """One intrinsic on registers of 16 bytes; `<x>` in `arguments` is a vector as it takes it."""
    if v.size != 16 or v.bits == 64:
        return []
    element = {"f": "float", "u": "uint", "i": "int"}[v.kind]
    suffix = f"{'s' if v.kind == 'i' else v.kind}{v.bits}"
    text = arguments.replace("<", f"({element}{v.bits}x{v.lanes}_t)(").replace(">", ")")
    return [(condition, f"(({v.name}){name}_{suffix}({text}))")]


def selected(v: Vector, symbol: str) -> Variants:
    """`a symbol b ? a : b` of floats."""
    if v.bits != 32:
        return []
    compare = f"vcmp{'gt' if symbol == '>' else 'lt'}q_f32((float32x4_t)(a), (float32x4_t)(b))"
    return mve(v, "vpselq", f"<a>, <b>, {compare}", FLOATS)


def of_integers(v: Vector) -> tuple[Sequence[str], Variants]:
    """Signed integers as floats, to nearest even."""
    signed = f"({v.signed})(x)"
    found: Variants = [(FLOATS, f"(({v.name})vcvtq_f32_s32((int32x4_t)(x)))")] if (v.size, v.bits) == (16, 32) else []
    return "x", [*found, ("", f"__builtin_convertvector({signed}, {v.name})")]


def of_lanes(v: Vector) -> tuple[Sequence[str], Variants]:
    """Four integers side by side; GCC would take them through memory."""
    moves = "vmov %q0[2], %q0[0], %1, %3\\n\\tvmov %q0[3], %q0[1], %2, %4"
    text = (
        f"(__extension__ ({{ {v.name} aotc_lanes; "
        f'__asm__("{moves}" : "=&w"(aotc_lanes) : "r"(a), "r"(b), "r"(c), "r"(d)); aotc_lanes; }}))'
    )
    plain = f"(({v.name}){{{', '.join(f'(uint32_t)({x})' for x in 'abcd')}}})"
    return "abcd", [(f"{INTEGERS} && !defined(__clang__)", text), ("", plain)]


def widened(is_signed: bool) -> Callable[[Vector, int], tuple[Sequence[str], Variants]]:
    """Narrow integers from memory, each in a lane; the count is their bits."""

    def build(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
        return "p", _widened(v, is_signed, bits, v.lanes)

    return build


def first_widened(is_signed: bool, bits: int) -> Callable[[Vector, int], tuple[Sequence[str], Variants]]:
    """The first few of them, zeros behind them."""

    def build(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
        return "p", _widened(v, is_signed, bits, count)

    return build


def _widened(v: Vector, is_signed: bool, bits: int, count: int) -> Variants:
    sign, memory = "s" if is_signed else "u", Vector("i" if is_signed else "u", bits, v.lanes)
    name = f"extended_{'' if is_signed else 'un'}signed{bits}"
    plain = f"{v.operation(name)}({memory.operation('load')}(p))"
    pointer, part = f"(const {memory.element} *)(p)", ""
    if count < v.lanes:
        pointer, part = f"{pointer}, vctp{v.bits}q({count}u)", "z_"
        plain = plain.replace("load", f"load{count}")
    found = [(INTEGERS, f"(({v.name})vldr{'b' if bits == 8 else 'h'}q_{part}{sign}{v.bits}({pointer}))")]
    return [*(found if v.size == 16 else []), ("", plain)]


def narrowed(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
    """The low bits of each lane to memory; the count is how many."""
    name, memory = f"vstr{'b' if bits == 8 else 'h'}q_u{v.bits}", Vector("u", bits, v.lanes)
    plain = f"{memory.operation('store')}(p, __builtin_convertvector(v, {memory.name}))"
    found = [(INTEGERS, f"{name}(({memory.element} *)(p), (uint{v.bits}x{v.lanes}_t)(v))")] if v.size == 16 else []
    return "pv", [*found, ("", plain)]


def first_lanes(v: Vector, count: int) -> Variants:
    """The first `count` lanes from memory, zeros behind them."""
    if v.size != 16 or v.kind == "f" or v.bits == 64:
        return []
    sign, letter = ("u", "uint") if v.kind == "u" else ("s", "int")
    name = {8: "b", 16: "h", 32: "w"}[v.bits]
    pointer = f"(const {letter}{v.bits}_t *)(p)"
    text = f"(({v.name})vldr{name}q_z_{sign}{v.bits}({pointer}, vctp{v.bits}q({count}u)))"
    return [(INTEGERS, text)]
