"""C types and literals: what the C emitter writes for a type and for a constant.

Generated C assumes `int` of at least 32 bits, two's complement, IEEE floats; `f16` and `bf16` live in `uint16_t`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute

from aotc.dialects.aot import PtrType, StructType
from aotc.errors import CompileError

Kind: TypeAlias = Literal["bool", "signed", "unsigned", "float", "half", "void", "struct", "pointer", "vector", "mask"]


@dataclass(frozen=True)
class CType:
    """A C type: its spelling, what it is, its width in bits, and for a pointer the target and whether it is const."""

    text: str
    kind: Kind
    bits: int = 0
    pointee: CType | None = None
    const: bool = False

    @property
    def is_integer(self) -> bool:
        """True for bool and for every integer type."""
        return self.kind in ("bool", "signed", "unsigned")

    def declare(self, name: str) -> str:
        """A declarator: `float x`, `const float *x`."""
        return self.text + ("" if self.text.endswith("*") else " ") + name


@dataclass(frozen=True)
class VectorCType(CType):
    """A vector of `lanes` elements of `bits` bits; a mask has booleans, each all ones or all zeros."""

    element: CType = field(kw_only=True)
    lanes: int = field(kw_only=True)

    @property
    def letter(self) -> str:
        """Of the name: f (floats), u (unsigned integers) or i (signed ones)."""
        return self.text[len("aotc_")]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits * self.lanes // 8

    def operation(self, name: str) -> str:
        """`aotc_fma_f32x16`."""
        return self.text.replace("_", f"_{name}_", 1)

    def named(self, letter: str) -> str:
        """The type of the same bits as signed (i) or unsigned (u) integers."""
        return type_name(letter, self.bits, self.lanes)

    def each(self, lane: Callable[[int], str]) -> str:
        """A vector, lane by lane."""
        return f"(({self.text}){{{', '.join(lane(i) for i in range(self.lanes))}}})"


def type_name(letter: str, bits: int, lanes: int) -> str:
    """`aotc_f32x16`."""
    return f"aotc_{letter}{bits}x{lanes}"


BOOL = CType("bool", "bool", 1)
INT = CType("int", "signed", 32)
"""The type that C's integer promotions make of a narrower one."""
SIGNED = {bits: CType(f"int{bits}_t", "signed", bits) for bits in (8, 16, 32, 64)}
UNSIGNED = {bits: CType(f"uint{bits}_t", "unsigned", bits) for bits in (8, 16, 32, 64)}
UINTPTR = CType("uintptr_t", "unsigned", 64)
F32 = CType("float", "float", 32)
F64 = CType("double", "float", 64)
F16 = CType("uint16_t", "half", 16)
BF16 = CType("uint16_t", "half", 17)
"""A kind of its own, so that it is never mistaken for f16; 16 bits in memory."""
VOID = CType("void", "void", 8)

_BY_DTYPE = {
    "float32": F32,
    "float64": F64,
    "float16": F16,
    "bfloat16": BF16,
    "bool": BOOL,
    **{f"int{bits}": kind for bits, kind in SIGNED.items()},
    **{f"uint{bits}": kind for bits, kind in UNSIGNED.items()},
    **{f"int{bits}": SIGNED[8] for bits in (2, 4)},
    **{f"uint{bits}": UNSIGNED[8] for bits in (2, 4)},
}


def dtype_ctype(dtype: str) -> CType:
    """The C type of elements of a dtype by its user-visible name ("float32", "uint8", "bool", ...)."""
    return _BY_DTYPE.get(dtype) or UNSIGNED[8]  # the encoding of a float of at most 8 bits


def pointer_to(pointee: CType, const: bool = False) -> CType:
    """`pointee *`, or `const pointee *`; const is what is pointed to."""
    qualifier = "const " if const and not pointee.text.startswith("const ") else ""
    if pointee.kind == "pointer":
        text = f"{pointee.text}{'const ' if const else ''}*"
    else:
        text = f"{qualifier}{pointee.text} *"
    return CType(text, "pointer", 0, pointee, const)


def ctype_of(kind: Attribute, index: CType, unsigned: bool = False) -> CType:
    """The C type of a value or an element of IR type `kind`; `index` is what an index is."""
    match kind:
        case builtin.IndexType():
            return index
        case builtin.IntegerType() if kind.width.data == 1:
            return BOOL
        case builtin.IntegerType() if kind.width.data in SIGNED:
            return (UNSIGNED if unsigned else SIGNED)[kind.width.data]
        case builtin.Float32Type():
            return F32
        case builtin.Float64Type():
            return F64
        case builtin.Float16Type():
            return F16
        case builtin.BFloat16Type():
            return BF16
        case builtin.VectorType():
            return vector_ctype(ctype_of(kind.get_element_type(), index, True), kind.get_shape()[-1])
        case PtrType() if kind.pointee == builtin.IntegerType(8):
            return pointer_to(VOID)
        case PtrType():
            return pointer_to(ctype_of(kind.pointee, index))
        case StructType():
            return CType(kind.struct.data, "struct")
        case _:
            raise CompileError("no-form-in-c", f"there is no C type for {kind}")


def vector_ctype(element: CType, lanes: int) -> VectorCType:
    """The type of vectors of an element type, as `definitions.macros` defines it; of booleans, masks of 32 bits."""
    if element == BOOL:
        return mask_ctype(32, lanes)
    letter = {"float": "f", "signed": "i"}.get(element.kind, "u")
    bits = 16 if element.kind == "half" else element.bits
    return VectorCType(type_name(letter, bits, lanes), "vector", bits, element=element, lanes=lanes)


RESERVED = frozenset(
    type_name(kind, bits, 1 << power) for kind in "fui" for bits in (8, 16, 32, 64) for power in range(11)
)
"""Names of types of vectors, which no variable may take."""


def vector_of(letter: str, bits: int, lanes: int) -> VectorCType:
    """The type that `type_name` names."""
    elements = {"f": {F32.bits: F32, F64.bits: F64}, "i": SIGNED, "u": UNSIGNED}
    return vector_ctype(elements[letter][bits], lanes)


def mask_ctype(bits: int, lanes: int) -> VectorCType:
    """The type of booleans beside vectors of elements of `bits` bits."""
    return VectorCType(type_name("i", bits, lanes), "mask", bits, element=BOOL, lanes=lanes)


# --- literals --------------------------------------------------------------------------------------------------------


def integer_literal(value: int) -> str:
    """A decimal literal of a signed type that holds `value`."""
    if value == -(2**31):
        return "INT32_MIN"
    if value == -(2**63):
        return "INT64_MIN"
    if -(2**31) <= value < 2**31:
        return str(value)
    return f"INT64_C({value})"


def unsigned_literal(value: int, bits: int) -> str:
    """A literal of the unsigned type of `bits` (32 or 64), equal to `value` modulo 2^bits."""
    value %= 1 << bits
    return f"{value}u" if bits <= 32 else f"UINT64_C({value})"


def float_literal(value: float, kind: CType) -> str:
    """The shortest decimal that reads back as exactly `value`; `INFINITY` and `NAN` need math.h."""
    if kind in (F16, BF16):
        narrow = np.float16(value) if kind == F16 else np.array(value, ml_dtypes.bfloat16)
        return f"0x{int(narrow.view(np.uint16)):04x}u"
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = str(np.float32(value)) if kind == F32 else repr(float(value))
    if "." not in text and "e" not in text:
        text += ".0"
    return text + ("f" if kind == F32 else "")
