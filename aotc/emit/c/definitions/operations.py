"""Vector operations of generated C: an instruction where the compiler may use it, else the same in plain C.

`definitions.macros` makes the macros of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from aotc.emit.c.definitions.instructions import X86_VECTORS, Variants, in_registers, intrinsics
from aotc.emit.c.definitions.meanings import expression
from aotc.emit.c.syntax.c_types import VectorCType, type_name, vector_of
from aotc.machines.instructions import INSTRUCTIONS, computing, moving
from aotc.machines.instructions.floats import DIVISIONS, FUNCTIONS, Function
from aotc.machines.instructions.rows import Lanes

_Macro: TypeAlias = tuple[Sequence[str], Variants]
"""Parameters and expansions."""
_Operation: TypeAlias = Callable[[VectorCType], _Macro]

# --- which instructions ----------------------------------------------------------------------------------------------


def _intrinsic(v: VectorCType, condition: str, function: str, register: str, arguments: str) -> Variants:
    """`<x>` in `arguments` is a vector as the intrinsic takes it."""
    text = arguments.replace("<", f"({register})(").replace(">", ")")
    return [(condition, f"(({v.text}){function}({text}))")]


def _x86(v: VectorCType, name: str, arguments: str, required: dict[int, str], suffix: str = "") -> Variants:
    """One intrinsic of x86 at each register width that `required` (bytes: condition) has."""
    if v.size not in required:
        return []
    bits = v.size * 8
    prefix, letter = "_mm" if bits == 128 else f"_mm{bits}", "i"
    if v.letter == "f":
        suffix, letter = ("ps", "") if v.bits == 32 else ("pd", "d")
    return _intrinsic(v, required[v.size], f"{prefix}_{name}_{suffix}", f"__m{bits}{letter}", arguments)


def _arm(v: VectorCType, name: str, arguments: str, condition: str) -> Variants:
    """One intrinsic of NEON or MVE on registers of 16 bytes."""
    if v.size != 16:
        return []
    kind, letter = {"f": ("float", "f"), "u": ("uint", "u"), "i": ("int", "s")}[v.letter]
    return _intrinsic(v, condition, f"{name}_{letter}{v.bits}", f"{kind}{v.bits}x{v.lanes}_t", arguments)


_FUSES = {64: "defined(__AVX512F__)", 32: "defined(__FMA__)", 16: "defined(__FMA__)"}
_SCALAR_FMA = "defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA{F}) || defined(__riscv_flen)"
_NEON = "defined(__aarch64__)"
_MVE = "defined(__ARM_FEATURE_MVE)"
"""Whether there are vectors of integers of Helium."""
_MVE_FLOATS = "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)"
"""Whether there are vectors of floats."""


def _integer_extremes(vector: VectorCType) -> dict[int, str]:
    if vector.bits == 64:
        small = "defined(__AVX512VL__)"
        return {64: "defined(__AVX512F__)", 32: small, 16: small}
    first = (vector.letter, vector.bits) in (("i", 16), ("u", 8))
    return {
        64: "defined(__AVX512BW__)" if vector.bits < 32 else "defined(__AVX512F__)",
        32: "defined(__AVX2__)",
        16: "defined(__SSE2__)" if first else "defined(__SSE4_1__)",
    }


# --- operations ------------------------------------------------------------------------------------------------------


def _plain(parameters: Sequence[str], text: Callable[[VectorCType], str]) -> _Operation:
    """An operation that has no instruction, or is one anyway."""
    return lambda v: (parameters, [("", text(v))])


def _f(vector: VectorCType) -> str:
    """The suffix of libm's functions."""
    return "f" if vector.bits == 32 else ""


def _keep_in_register(v: VectorCType) -> _Macro:
    """No instruction; GCC keeps the vector in a register, where it would load it again for every use."""
    return "v", [*in_registers(v.size, '"+v"(v)'), ("", "((void)0)")]


def _accumulate(v: VectorCType) -> _Macro:
    """`c += a * b` in the register of `c`: GCC would take that of a factor which is not used again, and run short."""
    sum_ = f"(c) = {v.operation('fma')}(a, b, c)"
    return "cab", [*in_registers(v.size, '"+v"(c) : "v"(a), "v"(b)', f"{sum_};"), ("", f"({sum_})")]


def _add_to(v: VectorCType) -> _Macro:
    """`c += x` at once, in the register of `c`: GCC would add up several x first, and run short of registers."""
    sum_ = f"const {v.text} aotc_x = (x); (c) += aotc_x;"
    return "cx", [*in_registers(v.size, '"+v"(c) : "v"(aotc_x)', sum_), ("", "((c) += (x))")]


def _masked(v: VectorCType) -> str:
    """The condition for masked loads and stores with a mask register."""
    parts = ["defined(__AVX512BW__)"] if v.bits < 32 else ["defined(__AVX512F__)"]
    if v.size < 64:
        parts.append("defined(__AVX512VL__)")
    return " && ".join(parts)


def _mask_literal(v: VectorCType, count: int) -> str:
    return f"(__mmask{max(v.lanes, 8)}){hex((1 << count) - 1)}" + ("u" if v.lanes <= 32 else "ull")


def _load_part(v: VectorCType, count: int) -> _Macro:
    """The first `count` lanes from memory, zeros behind them."""
    plain = f"(({v.text}){{{', '.join(f'((const {v.element.text} *)(p))[{i}]' for i in range(count))}}})"
    masked = _masked_access(v, "maskz_loadu", f"{_mask_literal(v, count)}, (const void *)(p)")
    return "p", [
        *_narrower(v, count)[0],
        *masked,
        *_load_selected(v, count),
        *_moved(v, v.letter, v.bits, count, "loaded"),
        ("", plain),
    ]


def _narrower(v: VectorCType, count: int) -> tuple[Variants, Variants]:
    """A load and a store of the first `count` lanes where they are a narrower register of x86: no mask is needed, and
    the load clears the rest of the whole register."""
    size = count * v.bits // 8
    names = {
        8: ("_mm_loadl_epi64", "_mm_storel_epi64"),
        16: ("_mm_loadu_si128", "_mm_storeu_si128"),
        32: ("_mm256_loadu_si256", "_mm256_storeu_si256"),
    }
    if v.size not in X86_VECTORS or size not in names or size >= v.size:
        return [], []
    load, store = names[size]
    loaded, stored = f"{load}((const void *)(p))", f"(__m{v.size * 8}i)(v)"
    if (whole := v.size * 8) > 128:
        low = max(size * 8, 128)
        loaded, stored = f"_mm{whole}_zextsi{low}_si{whole}({loaded})", f"_mm{whole}_castsi{whole}_si{low}({stored})"
    condition = X86_VECTORS[v.size]
    return [(condition, f"(({v.text}){loaded})")], [(condition, f"{store}((void *)(p), {stored})")]


def _load_selected(v: VectorCType, count: int) -> Variants:
    """With AVX, lanes whose mask is negative."""
    if v.size not in (16, 32) or (v.letter == "f" and v.bits not in (32, 64)) or (v.letter != "f" and v.bits != 32):
        return []
    prefix = "_mm" if v.size == 16 else "_mm256"
    lanes = ", ".join("-1" if 4 * i < count * v.bits // 8 else "0" for i in range(v.size // 4))
    mask = f"{prefix}_setr_epi32({lanes})"
    if v.letter == "f":
        suffix = "ps" if v.bits == 32 else "pd"
        return [("defined(__AVX__)", f"(({v.text}){prefix}_maskload_{suffix}((const void *)(p), {mask}))")]
    return [("defined(__AVX2__)", f"(({v.text}){prefix}_maskload_epi32((const void *)(p), {mask}))")]


def _store_part(v: VectorCType, count: int) -> _Macro:
    """The first `count` lanes to memory."""
    size = count * v.bits // 8
    plain = f"do {{ const {v.text} aotc_part = (v); memcpy((p), &aotc_part, {size}); }} while (0)"
    arguments = f"(void *)(p), {_mask_literal(v, count)}, <v>"
    return "pv", [*_narrower(v, count)[1], *_masked_access(v, "mask_storeu", arguments), ("", plain)]


def _masked_access(v: VectorCType, name: str, arguments: str) -> Variants:
    if v.size not in (16, 32, 64):
        return []
    text = _x86(v, name, arguments, {v.size: _masked(v)}, f"epi{v.bits}")
    return text if "load" in name else [(c, t.removeprefix(f"(({v.text})").removesuffix(")")) for c, t in text]


def _repeat_part(v: VectorCType, count: int) -> _Macro:
    """The first `count` elements at p, and zeros to 32 bits, over and over."""
    start = "uint32_t aotc_word" + ("" if count * v.bits == 32 else " = 0")
    splat = type_name("u", 32, v.size // 4).replace("_", "_splat_", 1)
    text = f"{start}; memcpy(&aotc_word, (p), {count * v.bits // 8}); ({v.text}){splat}(aotc_word);"
    return "p", [("", f"(__extension__({{ {text} }}))")]


def _fma(v: VectorCType) -> _Macro:
    suffix = _f(v)
    lanes = v.each(lambda i: f"__builtin_fma{suffix}((a)[{i}], (b)[{i}], (c)[{i}])")
    return "abc", [
        *_x86(v, "fmadd", "<a>, <b>, <c>", _FUSES),
        *_arm(v, "vfmaq", "<c>, <a>, <b>", _NEON),
        (_SCALAR_FMA.replace("{F}", suffix.upper()), lanes),
        ("", "((a) * (b) + (c))"),
    ]


def _sqrt(v: VectorCType) -> _Macro:
    lanes = v.each(lambda i: f"sqrt{_f(v)}((x)[{i}])")
    return "x", [*_x86(v, "sqrt", "<x>", X86_VECTORS), *_arm(v, "vsqrtq", "<x>", _NEON), ("", lanes)]


def _bits(v: VectorCType, text: str) -> str:
    return f"(({v.text})({text}))"


def _sign(v: VectorCType) -> str:
    return "0x80000000u" if v.bits == 32 else "UINT64_C(0x8000000000000000)"


def _abs(v: VectorCType) -> _Macro:
    if v.letter == "f":
        return "x", [("", _bits(v, f"({v.named('u')})(x) & ~{_sign(v)}"))]
    mask = f"({v.named('u')})((x) < 0)"
    required = {**_integer_extremes(v), 16: "defined(__SSSE3__)" if v.bits < 64 else "defined(__AVX512VL__)"}
    return "x", [
        *_x86(v, "abs", "<x>", required, f"epi{v.bits}"),
        ("", _bits(v, f"(({v.named('u')})(x) ^ {mask}) - {mask}")),
    ]


def _function(function: Function) -> _Operation:
    """The instructions that there are for vectors of this size, else the meaning."""

    def build(v: VectorCType) -> _Macro:
        dtype = f"{function.dtypes[0][0]}{v.bits}" if function.is_of_any else "f32"
        parameters, plain = expression(function, dtype, v.lanes)
        rows = computing(function, Lanes(f"{v.letter}{v.bits}", v.lanes))
        return parameters, [*(each for row in rows for each in intrinsics(row, parameters)), ("", plain)]

    return build


def _extreme(symbol: str, name: str) -> _Operation:
    """`a symbol b ? a : b`, which is what x86 does with NaN and zeros, too."""

    def build(v: VectorCType) -> _Macro:
        plain = f"{v.operation('select')}(({v.named('i')})((a) {symbol} (b)), a, b)"
        suffix, arm = f"ep{'u' if v.letter == 'u' else 'i'}{v.bits}", Variants()
        row = INSTRUCTIONS.get(f"v{name}p{'s' if v.bits == 32 else 'd'}.{8 * v.size}") if v.letter == "f" else None
        x86 = [] if v.letter == "f" else _x86(v, name, "<a>, <b>", _integer_extremes(v), suffix)
        if v.letter != "f" and v.bits < 64:
            arm = _arm(v, f"v{name}q", "<a>, <b>", _MVE)
        elif v.bits == 32:
            compare = f"vcmp{'gt' if symbol == '>' else 'lt'}q_f32((float32x4_t)(a), (float32x4_t)(b))"
            arm = _arm(v, "vpselq", f"<a>, <b>, {compare}", _MVE_FLOATS)
        return "ab", [*(x86 if row is None else intrinsics(row, "ab")), *arm, ("", plain)]

    return build


def _number(name: str) -> _Operation:
    """The greater or lesser of x and a number."""

    def build(v: VectorCType) -> _Macro:
        arm = _arm(v, f"v{name}nmq", "<a>, <b>", _MVE_FLOATS) if (v.letter, v.bits) == ("f", 32) else []
        return "ab", [*arm, ("", f"{v.operation(name)}(a, b)")]

    return build


def _of_integers(v: VectorCType) -> _Macro:
    """Signed integers as floats, to nearest even."""
    found = _intrinsic(v, _MVE_FLOATS, "vcvtq_f32_s32", "int32x4_t", "<x>") if (v.size, v.bits) == (16, 32) else []
    return "x", [*found, ("", f"__builtin_convertvector(({v.named('i')})(x), {v.text})")]


def _of_lanes(v: VectorCType) -> _Macro:
    """Four integers side by side; GCC would take them through memory."""
    moves = "vmov %q0[2], %q0[0], %1, %3\\n\\tvmov %q0[3], %q0[1], %2, %4"
    text = (
        f"(__extension__ ({{ {v.text} aotc_lanes; "
        f'__asm__("{moves}" : "=&w"(aotc_lanes) : "r"(a), "r"(b), "r"(c), "r"(d)); aotc_lanes; }}))'
    )
    plain = f"(({v.text}){{{', '.join(f'(uint32_t)({x})' for x in 'abcd')}}})"
    return "abcd", [(f"{_MVE} && !defined(__clang__)", text), ("", plain)]


def _extended(v: VectorCType, letter: str, bits: int) -> _Macro:
    """Integers of so many bits as those of v; GCC 12 would convert some of them one by one."""
    narrow = vector_of(letter, bits, v.lanes)
    plain = f"(({v.text})__builtin_convertvector(({narrow.text})(x), {v.named(letter)}))"
    needed = {64: "defined(__AVX512BW__)", 32: "defined(__AVX2__)", 16: "defined(__SSE4_1__)"}
    part = {4: "_mm_cvtsi32_si128((int)(x))", 8: "_mm_cvtsi64_si128((long long)(x))"}
    register = part.get(narrow.size) or (f"(__m{8 * narrow.size}i)(x)" if narrow.size in needed else None)
    found = [] if register is None else _x86(v, f"cvtep{letter}{bits}", register, needed, f"epi{v.bits}")
    return "x", [*found, ("", plain)]


def _moved(v: VectorCType, sign: str, bits: int, count: int, how: Literal["loaded", "stored"]) -> Variants:
    """By instructions for integers of so many bits, each in a lane; a load of some has zeros behind them."""
    pointer = f"({'const ' if how == 'loaded' else ''}{vector_of(sign, bits, v.lanes).element.text} *)(p)"
    letter, found = "u" if sign == "u" else "s", Variants()
    for row in moving(Lanes(f"{letter}{bits}", v.lanes), Lanes(f"{letter}{v.bits}", v.lanes), how):
        for each in row.spellings:
            text = each.function if count == v.lanes else each.first
            called = text.format(pointer, "v" if how == "stored" else count)
            found.append((row.condition(each), called if how == "stored" else f"(({v.text}){called})"))
    return found


def _widened(v: VectorCType, letter: str, bits: int, count: int) -> _Macro:
    """The first few integers of so many bits from memory, each in a lane, zeros behind them."""
    extended = v.operation(f"extended_{'' if letter == 'i' else 'un'}signed{bits}")
    load = vector_of(letter, bits, v.lanes).operation(f"load{'' if count == v.lanes else count}")
    return "p", [*_moved(v, letter, bits, count, "loaded"), ("", f"{extended}({load}(p))")]


def _narrowed(v: VectorCType, bits: int) -> _Macro:
    """The low bits of each lane to memory."""
    memory = vector_of("u", bits, v.lanes)
    plain = f"{memory.operation('store')}(p, __builtin_convertvector(v, {memory.text}))"
    return "pv", [*_moved(v, "u", bits, v.lanes, "stored"), ("", plain)]


def _gather(v: VectorCType, count: int) -> _Macro:
    items = ", ".join(f"((const {v.element.text} *)(p))[{i} * (s)]" for i in range(count))
    return "ps", [("", f"(({v.text}){{{items}}})")]


def _scatter(v: VectorCType, count: int) -> _Macro:
    items = ", ".join(f"(({v.element.text} *)(p))[{i} * (s)] = (v)[{i}]" for i in range(count))
    return "psv", [("", f"((void)({items}))")]


def _copied_sign(v: VectorCType) -> str:
    return _bits(v, f"(({v.named('u')})(a) & ~{_sign(v)}) | (({v.named('u')})(b) & {_sign(v)})")


OPERATIONS: dict[str, _Operation] = {
    "abs": _abs,
    "accumulate": _accumulate,
    "add_to": _add_to,
    "ceildiv": lambda v: _function(DIVISIONS["ceildivu" if v.letter == "u" else "ceildiv"])(v),
    "copysign": _plain("ab", _copied_sign),
    "above": _number("max"),
    "below": _number("min"),
    "of_integers": _of_integers,
    "of_lanes": _of_lanes,
    "floordiv": _function(DIVISIONS["floordiv"]),
    "fma": _fma,
    "gather": lambda v: _gather(v, v.lanes),
    "keep_in_register": _keep_in_register,
    "load": _plain("p", lambda v: f"(*(const {v.operation('unaligned')} *)(p))"),
    "max": _extreme(">", "max"),
    "min": _extreme("<", "min"),
    "scatter": lambda v: _scatter(v, v.lanes),
    "select": _plain("mab", lambda v: _bits(v, f"((m) & ({v.named('i')})(a)) | (~(m) & ({v.named('i')})(b))")),
    "splat": _plain("x", lambda v: v.each(lambda _: "(x)" if v.letter == "f" else f"({v.element.text})(x)")),
    "sqrt": _sqrt,
    "store": _plain("pv", lambda v: f"(*({v.operation('unaligned')} *)(p) = (v))"),
    **{function.name: _function(function) for function in FUNCTIONS.values()},
}
"""Of whole vectors; generated C defines the macros in this order."""

PARTIAL: dict[str, Callable[[VectorCType, int], _Macro]] = {
    "extended_signed": lambda v, bits: _extended(v, "i", bits),
    "extended_unsigned": lambda v, bits: _extended(v, "u", bits),
    "load": _load_part,
    "narrowed": _narrowed,
    "widened_signed": lambda v, bits: _widened(v, "i", bits, v.lanes),
    "widened_unsigned": lambda v, bits: _widened(v, "u", bits, v.lanes),
    "widened_signed8_first": lambda v, count: _widened(v, "i", 8, count),
    "widened_unsigned8_first": lambda v, count: _widened(v, "u", 8, count),
    "widened_signed16_first": lambda v, count: _widened(v, "i", 16, count),
    "widened_unsigned16_first": lambda v, count: _widened(v, "u", 16, count),
    "store": _store_part,
    "gather": _gather,
    "repeat": _repeat_part,
    "scatter": _scatter,
}
"""Of the first lanes of vectors: the macro's name has their number behind the operation's."""
