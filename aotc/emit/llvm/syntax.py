"""Types, constants, names and attributes in LLVM's syntax."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects import builtin, llvm
from xdsl.ir import Attribute, Operation

from aotc.dialects.aot import is_splat
from aotc.errors import CompileError

_FLOAT_NAMES = {
    builtin.Float16Type: "half",
    builtin.BFloat16Type: "bfloat",
    builtin.Float32Type: "float",
    builtin.Float64Type: "double",
}


@lru_cache(maxsize=4096)
def type_text(kind: Attribute) -> str:
    """A type in LLVM's syntax."""
    match kind:
        case builtin.IntegerType():
            return f"i{kind.width.data}"
        case llvm.LLVMPointerType():
            return f"ptr addrspace({kind.addr_space.data})" if isinstance(kind.addr_space, builtin.IntAttr) else "ptr"
        case llvm.LLVMVoidType():
            return "void"
        case llvm.LLVMArrayType():
            return f"[{kind.size.data} x {type_text(kind.type)}]"
        case llvm.LLVMStructType():
            return "{ " + ", ".join(type_text(each) for each in kind.types) + " }"
        case llvm.LLVMFunctionType():
            inputs = [*map(type_text, kind.inputs), *(["..."] if kind.is_variadic else [])]
            return f"{type_text(kind.output)} ({', '.join(inputs)})"
        case builtin.VectorType():
            return f"<{kind.get_shape()[0]} x {type_text(kind.element_type)}>"
        case _ if (name := _FLOAT_NAMES.get(cast(Any, type(kind)))) is not None:
            return name
        case _:
            raise CompileError("no-form-in-llvm", f"type {kind} has no LLVM text")


def float_text(value: float, kind: Attribute) -> str:
    """A float constant, exact: short decimals where they are, else the bits."""
    if isinstance(kind, builtin.Float16Type):
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if isinstance(kind, builtin.BFloat16Type):
        return f"0xR{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    if isinstance(kind, builtin.Float32Type):
        value = struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 3.5e38 else value
    if abs(value) < 1e6 and (text := f"{value:.6e}") and float(text) == value:
        return text
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constant_text(value: Attribute, kind: Attribute) -> str:
    """A constant of type `kind` as LLVM text, without its type. Raises CompileError for one that has none."""
    match value:
        case builtin.IntegerAttr():
            number = value.value.data
            if isinstance(kind, llvm.LLVMArrayType):
                assert number == 0
                return "zeroinitializer"
            return ("true" if number else "false") if kind == builtin.i1 else str(number)
        case builtin.FloatAttr():
            return float_text(value.value.data, kind)
        case builtin.DenseIntOrFPElementsAttr() if isinstance(kind, builtin.VectorType):
            element = kind.element_type
            values = cast("tuple[float, ...]", value.get_values())
            whole = isinstance(element, builtin.IntegerType)
            if is_splat(value):
                first = str(int(values[0])) if whole else float_text(float(values[0]), element)
                return f"splat ({type_text(element)} {first})" if any(value.data.data) else "zeroinitializer"
            items = [str(int(each)) if whole else float_text(float(each), element) for each in values]
            return "<" + ", ".join(f"{type_text(element)} {item}" for item in items) + ">"
        case builtin.StringAttr():
            return bytes_text(value.data.encode())
        case builtin.BytesAttr():
            return bytes_text(value.data)
        case _:
            raise CompileError("no-form-in-llvm", f"constant {value} has no LLVM text")


def bytes_text(content: bytes) -> str:
    """An array of bytes as `c"..."`."""
    return 'c"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in content) + '"'


def string_text(text: str) -> str:
    """A text in quotes, as metadata, sections and symbols have it."""
    return bytes_text(text.encode())[1:]


def one_line(text: str) -> str:
    """A name of a node in a comment or a listing: ASCII, line breaks and the like escaped."""
    return text.encode("unicode_escape").decode("ascii")


_PLAIN_NAME = re.compile(r"[A-Za-z$._-][A-Za-z$._0-9-]*")


def quoted(name: str) -> str:
    """A name of a symbol, in quotes where LLVM needs them."""
    return name if _PLAIN_NAME.fullmatch(name) else string_text(name)


def symbol(name: str) -> str:
    """A reference to a symbol: `@name`."""
    return f"@{quoted(name)}"


def alignment(attribute: Attribute | None) -> str:
    """`, align N`, or nothing."""
    return f", align {attribute.value.data}" if isinstance(attribute, builtin.IntegerAttr) else ""


# --- attributes ------------------------------------------------------------------------------------------------------

_PARAMETER_FLAGS = ("noalias", "readonly", "writeonly", "nonnull", "noundef", "signext", "zeroext", "inreg", "returned")
_PARAMETER_FORMATS: dict[str, str] = {
    **{f"llvm.{flag}": flag for flag in _PARAMETER_FLAGS},
    "llvm.nocapture": "captures(none)",
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}
_FUNCTION_FLAGS = {"no_unwind": "nounwind", "no_inline": "noinline", "optimize_none": "optnone"}
_BARE_FUNCTION_ATTRIBUTES = {
    *("alwaysinline", "cold", "convergent", "hot", "inlinehint", "minsize", "mustprogress", "naked", "nobuiltin"),
    *("nofree", "noinline", "norecurse", "noreturn", "nosync", "nounwind", "optnone", "optsize", "speculatable"),
    *("willreturn", "uwtable"),
}


def parameter_attributes(attributes: Mapping[str, Attribute]) -> str:
    """The attributes of a parameter, sorted, a space before each. Raises CompileError for one without LLVM text."""
    written: list[str] = []
    for name, value in sorted(attributes.items()):
        if (form := _PARAMETER_FORMATS.get(name)) is None:
            raise CompileError("no-form-in-llvm", f"parameter attribute {name} has no LLVM text")
        written.append(form.format(value.value.data if isinstance(value, builtin.IntegerAttr) else ""))
    return "".join(f" {one}" for one in written)


def function_attributes(op: llvm.FuncOp) -> str:
    """The attributes of a function; its parser files under attributes what its constructor takes as properties."""
    given = {**op.attributes, **op.properties}
    written = [spelling for name, spelling in _FUNCTION_FLAGS.items() if name in given]
    passthrough = given.get("passthrough")
    for each in passthrough if isinstance(passthrough, builtin.ArrayAttr) else ():
        if isinstance(each, builtin.StringAttr):
            written.append(each.data if each.data in _BARE_FUNCTION_ATTRIBUTES else f'"{each.data}"')
        elif isinstance(each, builtin.ArrayAttr):
            key, value = (cast(builtin.StringAttr, item).data for item in each)
            written.append(f"memory({value})" if key == "memory" else f'"{key}"="{value}"')
    if isinstance(kind := given.get("frame_pointer"), llvm.FramePointerKindAttr):
        written.append(f'"frame-pointer"="{kind.data.value}"')
    for name in ("target_cpu", "tune_cpu"):
        if isinstance(cpu := given.get(name), builtin.StringAttr):
            written.append(f'"{name.replace("_", "-")}"="{cpu.data}"')
    if isinstance(features := given.get("target_features"), llvm.TargetFeaturesAttr):
        written.append(f'"target-features"="{",".join(each.data for each in features.features)}"')
    return " ".join(written)


_FAST_MATH_NAMES = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


def fast_math(op: Operation) -> str:
    """The fast-math flags of an operation, a space after each."""
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    names = {flag.value for flag in flags.data}
    return "fast " if len(names) == len(_FAST_MATH_NAMES) else "".join(f"{n} " for n in _FAST_MATH_NAMES if n in names)


UNNAMED_ADDR = {1: "local_unnamed_addr", 2: "unnamed_addr"}
VISIBILITY = {1: "hidden", 2: "protected"}


def keyword(table: Mapping[int, str], attribute: Attribute | None) -> str:
    """The keyword of an enumeration's value, or nothing."""
    return table.get(attribute.value.data, "") if isinstance(attribute, builtin.IntegerAttr) else ""


def inline_text(op: Operation) -> str | None:
    """Values that LLVM writes as an operand and the dialect as an operation."""
    if type(op) not in INLINE:
        return None
    match op:
        case llvm.ConstantOp():
            return constant_text(op.value, op.result.type)
        case llvm.AddressOfOp():
            return symbol(op.global_name.string_value())
        case llvm.ZeroOp():
            return "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer"
        case llvm.UndefOp():
            return "undef"
        case _:
            return None


INLINE = frozenset({llvm.ConstantOp, llvm.AddressOfOp, llvm.ZeroOp, llvm.UndefOp})
"""The operations of `inline_text`."""
