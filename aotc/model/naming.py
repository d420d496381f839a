"""Names that come from a model, made safe for C and for IR text.

A model may call its tensors anything. Nothing of that reaches generated code except through `c_identifier`, and no
WeightStore key is anything but a `bare_identifier`, because MLIR's `dense_resource<key>` takes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

MAX_LENGTH = 128
"""Longer identifiers are cut: some tools stop comparing well before."""

_KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char
char8_t char16_t char32_t class co_await co_return co_yield compl complex concept const const_cast consteval constexpr
constinit continue contract_assert decltype default delete do double dynamic_cast else enum explicit export extern
false far float for fortran friend goto if imaginary import inline int interrupt long module mutable namespace near new
noexcept noreturn not not_eq nullptr operator or or_eq override pre post private protected public reflexpr register
reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch
synchronized template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned
using virtual void volatile wchar_t while xor xor_eq
"""
"""Keywords of C (to C23) and C++ (to C++26), alternative tokens, and what embedded compilers add."""

_LIBRARY = """
abort abs assert calloc div errno exit free i386 labs ldiv linux llabs lldiv main malloc memcmp memcpy memmove memset
offsetof printf puts realloc signgam stderr stdin stdout strcmp strlen time unix vax y0 y1 yn j0 j1 jn
ptrdiff_t size_t ssize_t max_align_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t
uintptr_t intmax_t uintmax_t int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t
uint_fast32_t uint_fast64_t int_least8_t int_least16_t int_least32_t int_least64_t uint_least8_t uint_least16_t
uint_least32_t uint_least64_t float_t double_t
BUFSIZ CHAR_BIT CHAR_MAX CHAR_MIN DOMAIN EDOM EILSEQ EOF ERANGE EXIT_FAILURE EXIT_SUCCESS FILE HUGE HUGE_VAL HUGE_VALF
HUGE_VALL I INFINITY INT_MAX INT_MIN LONG_MAX LONG_MIN NAN NDEBUG NULL OVERFLOW PLOSS RAND_MAX SHRT_MAX SHRT_MIN SING
SIZE_MAX SSIZE_MAX TLOSS UCHAR_MAX UINT_MAX ULONG_MAX UNDERFLOW USHRT_MAX
"""
"""Macros, types and functions of the C library, and predefined macros, that generated code may meet."""

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor fma
fmax fmin fmod frexp gamma hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan
nearbyint nextafter nexttoward pow remainder remquo rint round roundeven scalbln scalbn signbit significand sin sincos
sinh sqrt tan tanh tgamma trunc fpclassify isfinite isinf isnan isnormal isgreater isgreaterequal isless islessequal
islessgreater isunordered
"""

RESERVED = (
    frozenset(_KEYWORDS.split())
    | frozenset(_LIBRARY.split())
    | frozenset(name + suffix for name in _MATH.split() for suffix in ("", "f", "l"))
)
"""Identifiers no model may take."""

_LIMITS = re.compile(r"U?INT(_FAST|_LEAST)?(8|16|32|64|PTR|MAX)_(MAX|MIN|C)|(FLT|DBL|LDBL|M|FP|PRI|SCN)_?[A-Z0-9_]*")
"""Macros of stdint.h, float.h, math.h and inttypes.h."""


def c_identifier(name: str, taken: Container[str] = ()) -> str:
    """A C and C++ identifier made of `name`: no keyword, nothing reserved, and not in `taken`.

    Always the same for the same arguments; starts with a letter; at most `MAX_LENGTH` characters before the number that
    keeps it apart from the taken ones.
    """
    base = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:MAX_LENGTH] or "unnamed"
    if not base[0].isalpha():
        base = f"n{base}"
    if base in RESERVED or _LIMITS.fullmatch(base):
        base += "_"
    return _numbered(base, taken)


def c_variable(name: str, taken: Container[str] = ()) -> str:
    """As `c_identifier`, for parameters and variables: a name of capitals alone, as macros of an application have
    (`UART`), is in small letters."""
    return c_identifier(name.lower() if name.upper() == name else name, taken)


def bare_identifier(name: str) -> str:
    """`name` as an MLIR bare identifier: letters, digits, `_`, `.` and `$`, the first a letter or `_`."""
    bare = re.sub(r"[^A-Za-z0-9_.$]", "_", name) or "unnamed"
    return bare if bare[0].isalpha() or bare[0] == "_" else f"_{bare}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names of outputs, in which one that is there again has a number that keeps it apart from all others."""
    taken = set(names)
    found: list[str] = []
    for name in names:
        found.append(_numbered(name, taken) if name in found else name)
        taken.add(found[-1])
    return found


def _numbered(base: str, taken: Container[str]) -> str:
    number, candidate = 0, base
    while candidate in taken:
        number += 1
        candidate = f"{base.rstrip('_')}_{number}"
    return candidate
