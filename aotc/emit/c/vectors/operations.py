"""Vector operations of generated C: an instruction where the compiler may use it, else the same in plain C.

`vectors.macros` makes the macros of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from aotc.emit.c.vector_types import Variants, Vector, type_name
from aotc.emit.c.vectors.quads import (
    FLOATS,
    first_lanes,
    lane_dot,
    lane_dot_alone,
    lane_sum,
    lane_sum_alone,
    mve,
    narrowed,
    of_integers,
    of_lanes,
    quantized,
    rescaled,
    selected,
    widened,
)

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
_ROUNDS = {64: "defined(__AVX512F__)", 32: "defined(__AVX__)", 16: "defined(__SSE4_1__)"}
_FUSES = {64: "defined(__AVX512F__)", 32: "defined(__FMA__)", 16: "defined(__FMA__)"}
_RANGES = {
    64: "defined(__AVX512DQ__)",
    32: "defined(__AVX512DQ__) && defined(__AVX512VL__)",
    16: "defined(__AVX512DQ__) && defined(__AVX512VL__)",
}
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
        item, suffix = ("float", "ps") if v.bits == 32 else ("double", "pd")
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


def _rounding(scalar: str, mode: int, neon: str) -> _Operation:
    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        lanes = v.each(lambda i: f"{scalar}{_f(v)}((x)[{i}])")
        name = "roundscale" if v.size == 64 else "round"
        return "x", [*_x86(v, name, f"<x>, {mode | 8}", _ROUNDS), *_neon(v, neon, "<x>"), ("", lanes)]

    return build


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


def _ieee_extreme(name: str) -> _Operation:
    """NaN where either is NaN, and -0 less than +0."""
    is_maximum = name == "maximum"
    short, join, code = ("max", "&", 5) if is_maximum else ("min", "|", 4)

    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        equal = f"({v.name})(({v.signed})(a) {join} ({v.signed})(b))"
        inner = f"{v.operation('select')}(({v.signed})((a) == (b)), {equal}, {v.operation(short)}(a, b))"
        plain = f"{v.operation('select')}(({v.signed})((a) != (a)), a, {inner})"
        ranged = _x86(v, "mask_add", f"RANGE(<a>, <b>, {code}), NAN(<a>, <b>, 3), <a>, <b>", _RANGES)
        return "ab", [*(_ranged(v, item) for item in ranged), *_neon(v, f"v{short}", "<a>, <b>"), ("", plain)]

    return build


def _ranged(v: Vector, variant: tuple[str, str]) -> tuple[str, str]:
    prefix = "_mm" if v.size == 16 else f"_mm{v.size * 8}"
    suffix = _SUFFIXES["f", v.bits]
    condition, text = variant
    return condition, text.replace("RANGE", f"{prefix}_range_{suffix}").replace("NAN", f"{prefix}_cmp_{suffix}_mask")


def _number_extreme(name: str) -> _Operation:
    """The other one where one is NaN."""

    def build(v: Vector) -> tuple[Sequence[str], Variants]:
        return "ab", [("", f"{v.operation('select')}(({v.signed})((b) != (b)), a, {v.operation(name)}(a, b))")]

    return build


def _floordiv(v: Vector) -> tuple[Sequence[str], Variants]:
    return "ab", [("", "((a) / (b) + (((a) % (b) != 0) & (((a) ^ (b)) < 0)))")]


def _ceildiv(v: Vector) -> tuple[Sequence[str], Variants]:
    step = "((a) % (b) != 0)" if v.kind == "u" else "(((a) % (b) != 0) & (((a) ^ (b)) >= 0))"
    return "ab", [("", f"((a) / (b) - ({v.name}){step})")]


# Conversions between f32 and 16 bits, which other names of vectors of as many lanes appear in.


def _like(v: Vector, kind: str, bits: int) -> Vector:
    return Vector(kind, bits, v.lanes)


def _block(result: str, *locals_: str) -> str:
    """An expression with variables: `locals_` are their definitions."""
    return f"(__extension__ ({{ {' '.join(f'const {each};' for each in locals_)} {result}; }}))"


def _f16_to_f32(v: Vector) -> tuple[Sequence[str], Variants]:
    """Exact; NaN becomes quiet. Without an instruction exponent and mantissa are shifted into place and rebiased;
    subnormal numbers are normalised by a subtraction."""
    u, select = _like(v, "u", 32), _like(v, "u", 32).operation("select")
    exact = f"({u.name})(({v.name})(aotc_s + 0x38800000u) - ({v.name}){u.operation('splat')}(0x38800000u))"
    special = f"(aotc_s + 0x70000000u) | ({u.name})(({u.signed})(aotc_s > 0x0f800000u) & 0x400000)"
    plain = _block(
        f"({v.name})(aotc_n | (aotc_w & 0x8000u) << 16)",
        f"{u.name} aotc_w = __builtin_convertvector(x, {u.name})",
        f"{u.name} aotc_s = (aotc_w & 0x7fffu) << 13",
        f"{u.name} aotc_t = {exact}",
        f"{u.name} aotc_f = {select}(({u.signed})(aotc_s < 0x800000u), aotc_t, aotc_s + 0x38000000u)",
        f"{u.name} aotc_e = {special}",
        f"{u.name} aotc_n = {select}(({u.signed})(aotc_s >= 0x0f800000u), aotc_e, aotc_f)",
    )
    wide = {32: ("defined(__F16C__)", "_mm256_cvtph_ps((__m128i)(x))")}
    wide[64] = ("defined(__AVX512F__)", "_mm512_cvtph_ps((__m256i)(x))")
    wide[16] = ("defined(__aarch64__)", "vcvt_f32_f16((float16x4_t)(x))")
    return "x", [*_by_instruction(v, wide), ("", plain)]


def _by_instruction(v: Vector, instructions: dict[int, tuple[str, str]]) -> Variants:
    """The variant for vectors of this size in bytes, a condition and a text, if there is one."""
    found = instructions.get(v.size)
    return [] if found is None else [(found[0], f"(({v.name}){found[1]})")]


def _f32_to_f16(v: Vector) -> tuple[Sequence[str], Variants]:
    """To nearest even. Without an instruction normal numbers round in integer arithmetic, subnormal ones by adding
    0.5, whose last bit is theirs."""
    f, u, select = _like(v, "f", 32), _like(v, "u", 32), _like(v, "u", 32).operation("select")
    low = f"({u.name})(({f.name})aotc_s + 0.5f) - 0x3f000000u"
    high = "(aotc_s - 0x38000000u + 0xfffu + ((aotc_s >> 13) & 1u)) >> 13"
    nan = "((aotc_s >> 13) & 0x3ffu) | 0x7e00u"
    plain = _block(
        f"__builtin_convertvector(aotc_n | ((aotc_w >> 16) & 0x8000u), {v.name})",
        f"{u.name} aotc_w = ({u.name})(x)",
        f"{u.name} aotc_s = aotc_w & 0x7fffffffu",
        f"{u.name} aotc_f = {select}(({u.signed})(aotc_s < 0x38800000u), {low}, {high})",
        f"{u.name} aotc_e = {select}(({u.signed})(aotc_s > 0x7f800000u), {nan}, {u.operation('splat')}(0x7c00u))",
        f"{u.name} aotc_n = {select}(({u.signed})(aotc_s < 0x47800000u), aotc_f, aotc_e)",
    )
    wide = {16: ("defined(__F16C__)", "_mm256_cvtps_ph((__m256)(x), 8)")}
    wide[32] = ("defined(__AVX512F__)", "_mm512_cvtps_ph((__m512)(x), 8)")
    wide[8] = ("defined(__aarch64__)", "vcvt_f16_f32((float32x4_t)(x))")
    return "x", [*_by_instruction(v, wide), ("", plain)]


def _bf16_to_f32(v: Vector) -> tuple[Sequence[str], Variants]:
    """Exact: the upper half of the bits."""
    u = _like(v, "u", 32)
    wide = {32: ("defined(__AVX2__)", "_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)(x)), 16)")}
    wide[64] = ("defined(__AVX512F__)", "_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)(x)), 16)")
    return "x", [*_by_instruction(v, wide), ("", f"(({v.name})(__builtin_convertvector(x, {u.name}) << 16))")]


def _f32_to_bf16(v: Vector) -> tuple[Sequence[str], Variants]:
    """To nearest even; NaN becomes quiet. Not by the instruction of AVX512_BF16, which takes subnormal numbers for
    0."""
    u = _like(v, "u", 32)
    rounded = "(aotc_w + 0x7fffu + ((aotc_w >> 16) & 1u)) >> 16"
    chosen = f"{u.operation('select')}(({u.signed})((x) != (x)), (aotc_w >> 16) | 0x40u, {rounded})"
    text = _block(f"__builtin_convertvector({chosen}, {v.name})", f"{u.name} aotc_w = ({u.name})(x)")
    return "x", [("", text)]


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
    "f32_to_bf16": _f32_to_bf16,
    "ceil": _rounding("ceil", 2, "vrndp"),
    "ceildiv": _ceildiv,
    "copysign": _copysign,
    "above": _number("max"),
    "below": _number("min"),
    "lane_dot": lane_dot,
    "lane_sum": lane_sum,
    "lane_dot_alone": lane_dot_alone,
    "lane_sum_alone": lane_sum_alone,
    "of_integers": of_integers,
    "of_lanes": of_lanes,
    "floor": _rounding("floor", 1, "vrndm"),
    "floordiv": _floordiv,
    "fma": _fma,
    "gather": lambda v: _gather_part(v, v.lanes),
    "f32_to_f16": _f32_to_f16,
    "keep_in_register": _keep_in_register,
    "load": _load,
    "max": _extreme(">", "max"),
    "maximum": _ieee_extreme("maximum"),
    "maxnum": _number_extreme("max"),
    "min": _extreme("<", "min"),
    "minimum": _ieee_extreme("minimum"),
    "minnum": _number_extreme("min"),
    "f64_to_f32_odd": lambda v: ("x", [("", v.each(lambda i: f"aotc_f64_to_f32_odd((x)[{i}])"))]),
    "bf16_to_f32": _bf16_to_f32,
    "f16_to_f32": _f16_to_f32,
    "rescaled": rescaled,
    "roundeven": _rounding("aotc_roundeven", 0, "vrndn"),
    "scatter": lambda v: _scatter_part(v, v.lanes),
    "select": _select,
    "splat": _splat,
    "sqrt": _sqrt,
    "store": _store,
    "trunc": _rounding("trunc", 3, "vrnd"),
}
"""Of whole vectors; generated C defines the macros in this order."""

PARTIAL: dict[str, Callable[[Vector, int], tuple[Sequence[str], Variants]]] = {
    "extended_signed": _extended(True),
    "extended_unsigned": _extended(False),
    "load": _load_part,
    "narrowed": narrowed,
    "quantized_signed": quantized(True),
    "quantized_unsigned": quantized(False),
    "widened_signed": widened(True),
    "widened_unsigned": widened(False),
    "store": _store_part,
    "gather": _gather_part,
    "repeat": _repeat_part,
    "scatter": _scatter_part,
}
"""Of the first lanes of vectors: the macro's name has their number behind the operation's."""
