"""Vector operations of generated C: an instruction where the compiler may use it, else the same in plain C.

`vectors.macros` makes the macros of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from aotc.emit.c.formulas import expression
from aotc.emit.c.instructions import intrinsics
from aotc.emit.c.vector_types import Variants, Vector, type_name
from aotc.emit.c.vectors.quads import (
    FLOATS,
    first_lanes,
    first_widened,
    mve,
    narrowed,
    of_integers,
    of_lanes,
    selected,
    widened,
)
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.floats import FUNCTIONS, Function
from aotc.machines.instructions.rows import Lanes

# --- which instructions ----------------------------------------------------------------------------------------------

_SUFFIXES = {("f", 32): "ps", ("f", 64): "pd"}


def _x86(vector: Vector, name: str, arguments: str, required: dict[int, str], suffix: str = "") -> Variants:
    """One intrinsic of x86 at each register width that `required` (bytes: condition) has."""
    if vector.size not in required:
        return []
    bits = vector.size * 8
    prefix = "_mm" if bits == 128 else f"_mm{bits}"
    if vector.kind == "f":
        suffix, register = _SUFFIXES["f", vector.bits], f"__m{bits}" + ("d" if vector.bits == 64 else "")
    else:
        register = f"__m{bits}i"
    text = arguments.replace("<", f"({register})(").replace(">", ")")
    return [(required[vector.size], f"(({vector.name}){prefix}_{name}_{suffix}({text}))")]


def _neon(vector: Vector, name: str, arguments: str, condition: str = "defined(__aarch64__)") -> Variants:
    """One intrinsic of NEON for floats in 128 bits."""
    if vector.kind != "f" or vector.size != 16:
        return []
    register = f"float{vector.bits}x{vector.lanes}_t"
    text = arguments.replace("<", f"({register})(").replace(">", ")")
    return [(condition, f"(({vector.name}){name}q_f{vector.bits}({text}))")]


_FLOATS = {64: "defined(__AVX512F__)", 32: "defined(__AVX__)", 16: "defined(__SSE2__)"}
_FUSES = {64: "defined(__AVX512F__)", 32: "defined(__FMA__)", 16: "defined(__FMA__)"}
_SCALAR_FMA = "defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA{F}) || defined(__riscv_flen)"


def _integer_extremes(vector: Vector) -> dict[int, str]:
    if vector.bits == 64:
        small = "defined(__AVX512VL__)"
        return {64: "defined(__AVX512F__)", 32: small, 16: small}
    first = (vector.kind, vector.bits) in (("i", 16), ("u", 8))
    return {
        64: "defined(__AVX512BW__)" if vector.bits < 32 else "defined(__AVX512F__)",
        32: "defined(__AVX2__)",
        16: "defined(__SSE2__)" if first else "defined(__SSE4_1__)",
    }


# --- operations ------------------------------------------------------------------------------------------------------

_Operation: TypeAlias = "Callable[[Vector], tuple[Sequence[str], Variants]]"


def _f(vector: Vector) -> str:
    """The suffix of libm's functions."""
    return "f" if vector.bits == 32 else ""


def _splat(v: Vector) -> tuple[Sequence[str], Variants]:
    item = "(x)" if v.kind == "f" else f"({v.element})(x)"
    return "x", [("", v.each(lambda _: item))]


def _load(v: Vector) -> tuple[Sequence[str], Variants]:
    return "p", [("", f"(*(const {v.operation('unaligned')} *)(p))")]


def _store(v: Vector) -> tuple[Sequence[str], Variants]:
    return "pv", [("", f"(*({v.operation('unaligned')} *)(p) = (v))")]


def _in_registers(v: Vector, operands: str, before: str = "") -> Variants:
    """`before`, then an empty statement whose operands must be in vector registers: for GCC on x86."""
    flags = {64: "__AVX512F__", 32: "__AVX__", 16: "__SSE2__"}
    if v.size not in flags:
        return []
    text = f'__asm__("" : {operands})'
    return [
        (f"defined({flags[v.size]}) && !defined(__clang__)", f"do {{ {before} {text}; }} while (0)" if before else text)
    ]


def _keep_in_register(v: Vector) -> tuple[Sequence[str], Variants]:
    """No instruction; GCC keeps the vector in a register, where it would load it again for every use."""
    return "v", [*_in_registers(v, '"+v"(v)'), ("", "((void)0)")]


def _accumulate(v: Vector) -> tuple[Sequence[str], Variants]:
    """`c += a * b` in the register of `c`: GCC would take that of a factor which is not used again, and run short."""
    sum_ = f"(c) = {v.operation('fma')}(a, b, c)"
    return "cab", [*_in_registers(v, '"+v"(c) : "v"(a), "v"(b)', f"{sum_};"), ("", f"({sum_})")]


def _add_to(v: Vector) -> tuple[Sequence[str], Variants]:
    """`c += x` at once: GCC would add up several x first, and run short of registers."""
    return "cx", [*_in_registers(v, '"+v"(c)', "(c) += (x);"), ("", "((c) += (x))")]


def _masked(v: Vector) -> str:
    """The condition for masked loads and stores with a mask register."""
    parts = ["defined(__AVX512BW__)"] if v.bits < 32 else ["defined(__AVX512F__)"]
    if v.size < 64:
        parts.append("defined(__AVX512VL__)")
    return " && ".join(parts)


def _mask_literal(v: Vector, count: int) -> str:
    return f"(__mmask{max(v.lanes, 8)}){hex((1 << count) - 1)}" + ("u" if v.lanes <= 32 else "ull")


def _load_part(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
    """The first `count` lanes from memory, zeros behind them."""
    plain = f"(({v.name}){{{', '.join(f'((const {v.element} *)(p))[{i}]' for i in range(count))}}})"
    masked = _masked_access(v, "maskz_loadu", f"{_mask_literal(v, count)}, (const void *)(p)")
    return "p", [*masked, *_load_half(v, count), *_load_selected(v, count), *first_lanes(v, count), ("", plain)]


def _load_half(v: Vector, count: int) -> Variants:
    """The lower half of a register, which clears the upper one."""
    if 2 * count != v.lanes or v.size not in (16, 32):
        return []
    if v.size == 16:
        return [("defined(__SSE2__)", f"(({v.name})_mm_loadl_epi64((const void *)(p)))")]
    return [("defined(__AVX__)", f"(({v.name})_mm256_zextps128_ps256(_mm_loadu_ps((const void *)(p))))")]


def _load_selected(v: Vector, count: int) -> Variants:
    """With AVX, lanes whose mask is negative."""
    if v.size not in (16, 32) or (v.kind == "f" and v.bits not in (32, 64)) or (v.kind != "f" and v.bits != 32):
        return []
    prefix = "_mm" if v.size == 16 else "_mm256"
    lanes = ", ".join("-1" if 4 * i < count * v.bits // 8 else "0" for i in range(v.size // 4))
    mask = f"{prefix}_setr_epi32({lanes})"
    if v.kind == "f":
        suffix = "ps" if v.bits == 32 else "pd"
        return [("defined(__AVX__)", f"(({v.name}){prefix}_maskload_{suffix}((const void *)(p), {mask}))")]
    return [("defined(__AVX2__)", f"(({v.name}){prefix}_maskload_epi32((const void *)(p), {mask}))")]


def _store_part(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
    """The first `count` lanes to memory."""
    size = count * v.bits // 8
    plain = f"do {{ const {v.name} aotc_part = (v); memcpy((p), &aotc_part, {size}); }} while (0)"
    arguments = f"(void *)(p), {_mask_literal(v, count)}, <v>"
    return "pv", [*_masked_access(v, "mask_storeu", arguments), ("", plain)]


def _masked_access(v: Vector, name: str, arguments: str) -> Variants:
    if v.size not in (16, 32, 64):
        return []
    text = _x86(v, name, arguments, {v.size: _masked(v)}, f"epi{v.bits}")
    return text if "load" in name else [(c, t.removeprefix(f"(({v.name})").removesuffix(")")) for c, t in text]


def _repeat_part(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
    """The first `count` elements at p, and zeros to 32 bits, over and over."""
    start = "uint32_t aotc_word" + ("" if count * v.bits == 32 else " = 0")
    splat = type_name("u", 32, v.size // 4).replace("_", "_splat_", 1)
    text = f"{start}; memcpy(&aotc_word, (p), {count * v.bits // 8}); ({v.name}){splat}(aotc_word);"
    return "p", [("", f"(__extension__({{ {text} }}))")]


def _gather_part(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
    items = ", ".join(f"((const {v.element} *)(p))[{i} * (s)]" for i in range(count))
    return "ps", [("", f"(({v.name}){{{items}}})")]


def _scatter_part(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
    items = ", ".join(f"(({v.element} *)(p))[{i} * (s)] = (v)[{i}]" for i in range(count))
    return "psv", [("", f"((void)({items}))")]


def _fma(v: Vector) -> tuple[Sequence[str], Variants]:
    suffix = _f(v)
    lanes = v.each(lambda i: f"__builtin_fma{suffix}((a)[{i}], (b)[{i}], (c)[{i}])")
    return "abc", [
        *_x86(v, "fmadd", "<a>, <b>, <c>", _FUSES),
        *_neon(v, "vfma", "<c>, <a>, <b>", "defined(__aarch64__)"),
        (_SCALAR_FMA.replace("{F}", suffix.upper()), lanes),
        ("", "((a) * (b) + (c))"),
    ]


def _sqrt(v: Vector) -> tuple[Sequence[str], Variants]:
    lanes = v.each(lambda i: f"sqrt{_f(v)}((x)[{i}])")
    return "x", [*_x86(v, "sqrt", "<x>", _FLOATS), *_neon(v, "vsqrt", "<x>"), ("", lanes)]


def _bits(v: Vector, text: str) -> str:
    return f"(({v.name})({text}))"


def _sign(v: Vector) -> str:
    return "0x80000000u" if v.bits == 32 else "UINT64_C(0x8000000000000000)"


def _abs(v: Vector) -> tuple[Sequence[str], Variants]:
    if v.kind == "f":
        return "x", [("", _bits(v, f"({v.unsigned})(x) & ~{_sign(v)}"))]
    mask = f"({v.unsigned})((x) < 0)"
    required = {**_integer_extremes(v), 16: "defined(__SSSE3__)" if v.bits < 64 else "defined(__AVX512VL__)"}
    return "x", [
        *_x86(v, "abs", "<x>", required, f"epi{v.bits}"),
        ("", _bits(v, f"(({v.unsigned})(x) ^ {mask}) - {mask}")),
    ]


def _copysign(v: Vector) -> tuple[Sequence[str], Variants]:
    text = f"(({v.unsigned})(a) & ~{_sign(v)}) | (({v.unsigned})(b) & {_sign(v)})"
    return "ab", [("", _bits(v, text))]


def _select(v: Vector) -> tuple[Sequence[str], Variants]:
    return "mab", [("", _bits(v, f"((m) & ({v.signed})(a)) | (~(m) & ({v.signed})(b))"))]


def _extreme(symbol: str, name: str) -> _Operation:
    """`a symbol b ? a : b`, which is what x86 does with NaN and zeros, too."""

    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        required = _FLOATS if v.kind == "f" else _integer_extremes(v)
        plain = f"{v.operation('select')}(({v.signed})((a) {symbol} (b)), a, b)"
        suffix = f"ep{'u' if v.kind == 'u' else 'i'}{v.bits}"
        arm = mve(v, f"v{name}q", "<a>, <b>") if v.kind != "f" else selected(v, symbol)
        return "ab", [*_x86(v, name, "<a>, <b>", required, suffix), *arm, ("", plain)]

    return build


def _number(name: str) -> _Operation:
    """The greater or lesser of x and a number."""

    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        arm = mve(v, f"v{name}nmq", "<a>, <b>", FLOATS) if v.kind == "f" else []
        return "ab", [*arm, ("", f"{v.operation(name)}(a, b)")]

    return build


def _floordiv(v: Vector) -> tuple[Sequence[str], Variants]:
    return "ab", [("", "((a) / (b) + (((a) % (b) != 0) & (((a) ^ (b)) < 0)))")]


def _ceildiv(v: Vector) -> tuple[Sequence[str], Variants]:
    carry = "((a) % (b) != 0)" if v.kind == "u" else "(((a) % (b) != 0) & (((a) ^ (b)) >= 0))"
    return "ab", [("", f"((a) / (b) - ({v.name}){carry})")]


def _function(function: Function) -> _Operation:
    """The instructions that there are for vectors of this size, else the meaning."""

    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        dtype = f"f{v.bits}" if function.is_of_any else "f32"
        parameters, plain = expression(function, dtype, v.lanes)
        result = Lanes(f"{v.kind}{v.bits}", v.lanes)
        rows = [row for row in INSTRUCTIONS.values() if row.meaning is function.meaning and row.result == result]
        return parameters, [*(each for row in rows for each in intrinsics(row, parameters)), ("", plain)]

    return build


def _extended(is_signed: bool) -> Callable[[Vector, int], tuple[Sequence[str], Variants]]:
    """Integers of so many bits as those of v; GCC 12 would convert some of them one by one."""
    kind = "i" if is_signed else "u"

    def build(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
        narrow = Vector(kind, bits, v.lanes)
        plain = f"(({v.name})__builtin_convertvector(({narrow.name})(x), {type_name(kind, v.bits, v.lanes)}))"
        needed = {64: "defined(__AVX512BW__)", 32: "defined(__AVX2__)", 16: "defined(__SSE4_1__)"}
        part = {4: "_mm_cvtsi32_si128((int)(x))", 8: "_mm_cvtsi64_si128((long long)(x))"}
        register = part.get(narrow.size) or (f"(__m{8 * narrow.size}i)(x)" if narrow.size in needed else None)
        found = [] if register is None else _x86(v, f"cvtep{kind}{bits}", register, needed, f"epi{v.bits}")
        return "x", [*found, ("", plain)]

    return build


OPERATIONS: dict[str, _Operation] = {
    "abs": _abs,
    "accumulate": _accumulate,
    "add_to": _add_to,
    "ceildiv": _ceildiv,
    "copysign": _copysign,
    "above": _number("max"),
    "below": _number("min"),
    "of_integers": of_integers,
    "of_lanes": of_lanes,
    "floordiv": _floordiv,
    "fma": _fma,
    "gather": lambda v: _gather_part(v, v.lanes),
    "keep_in_register": _keep_in_register,
    "load": _load,
    "max": _extreme(">", "max"),
    "min": _extreme("<", "min"),
    "scatter": lambda v: _scatter_part(v, v.lanes),
    "select": _select,
    "splat": _splat,
    "sqrt": _sqrt,
    "store": _store,
    **{function.name: _function(function) for function in FUNCTIONS.values()},
}
"""Of whole vectors; generated C defines the macros in this order."""

PARTIAL: dict[str, Callable[[Vector, int], tuple[Sequence[str], Variants]]] = {
    "extended_signed": _extended(True),
    "extended_unsigned": _extended(False),
    "load": _load_part,
    "narrowed": narrowed,
    "widened_signed": widened(True),
    "widened_unsigned": widened(False),
    "widened_signed8_first": first_widened(True, 8),
    "widened_unsigned8_first": first_widened(False, 8),
    "store": _store_part,
    "gather": _gather_part,
    "repeat": _repeat_part,
    "scatter": _scatter_part,
}
"""Of the first lanes of vectors: the macro's name has their number behind the operation's."""
