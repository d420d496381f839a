"""Types of the interface phase as llvm dialect types, for one index width and one way to hold narrow floats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i8,
    i16,
    i64,
)
from xdsl.ir import Attribute

from aotc.dialects.aot import PtrType, StructType
from aotc.errors import CompileError
from aotc.passes.lower.llvm_builder import PTR, element, integer, like, width


@dataclass
class TypeConverter:
    """Value types, memory types and structure layouts.

    bf16 is held as i16 everywhere, and f16 too unless `half` says that the target converts it by itself: what cannot
    be computed natively is only loaded, stored, moved and converted.
    """

    index_bitwidth: int = 64
    half: bool = False
    _values: dict[int, tuple[Attribute, Attribute]] = field(default_factory=dict[int, tuple[Attribute, Attribute]])
    """By the identity of a type, which is kept: its value type, and itself."""
    _structs: dict[str, tuple[Attribute, dict[str, tuple[int, ...]]]] = field(
        default_factory=dict[str, tuple[Attribute, dict[str, tuple[int, ...]]]]
    )

    @property
    def index(self) -> IntegerType:
        """The integer that an index is."""
        return integer(self.index_bitwidth)

    def value(self, kind: Attribute) -> Attribute:
        """The type of an SSA value."""
        known = self._values.get(id(kind))
        if known is None:  # types recur, and hashing one means hashing all that is in it
            known = self._values[id(kind)] = (self._convert(kind), kind)
        return known[0]

    def _convert(self, kind: Attribute) -> Attribute:
        match kind:
            case IndexType():
                return self.index
            case PtrType() | MemRefType() | llvm.LLVMPointerType():
                return PTR
            case BFloat16Type():
                return i16
            case Float16Type():
                return kind if self.half else i16
            case IntegerType() | Float32Type() | Float64Type():
                return integer(kind.width.data) if isinstance(kind, IntegerType) else kind
            case StructType():
                return self.struct(kind)[0]
            case VectorType() if kind.get_num_dims() == 1:
                return like(kind, self.value(element(kind)))
            case _:
                raise CompileError("no-form-in-llvm", f"type {kind} has no LLVM counterpart")

    def memory(self, kind: Attribute) -> Attribute:
        """The type of a value in memory: a boolean takes a byte."""
        return like(kind, i8) if element(kind) == i1 else self.value(kind)

    def size(self, kind: Attribute) -> int:
        """Bytes of a scalar, or of an element of a vector, in memory; also its alignment."""
        memory = self.memory(kind)
        return (self.index_bitwidth if memory == PTR else width(memory)) // 8

    def struct(self, kind: StructType) -> tuple[Attribute, dict[str, tuple[int, ...]]]:
        """A structure and the path of member numbers to each of its fields.

        Dotted fields with one prefix are a nested structure. AOTCValue is a union of 8 bytes, whose alignment is that
        of its largest member, so it is an i64 here and its handle lies at the beginning.
        """
        name = kind.struct.data
        if name not in self._structs:
            if name == "AOTCValue":
                self._structs[name] = (llvm.LLVMStructType.from_type_list([i64]), {"v_handle": (0,)})
            else:
                self._structs[name] = self._layout(kind.fields)
        return self._structs[name]

    def _layout(self, fields: dict[str, Attribute]) -> tuple[Attribute, dict[str, tuple[int, ...]]]:
        members: list[Attribute] = []
        paths: dict[str, tuple[int, ...]] = {}
        names = list(fields)
        while names:
            prefix, dot, _ = names[0].partition(".")
            if dot:
                nested = {name: fields[name] for name in names if name.startswith(f"{prefix}.")}
                inner, inner_paths = self._layout({name[len(prefix) + 1 :]: kind for name, kind in nested.items()})
                paths |= {f"{prefix}.{name}": (len(members), *path) for name, path in inner_paths.items()}
                members.append(inner)
                names = names[len(nested) :]
            else:
                paths[names[0]] = (len(members),)
                members.append(self.value(fields[names[0]]))
                names = names[1:]
        return llvm.LLVMStructType.from_type_list(members), paths


def strides_and_offset(kind: MemRefType[Attribute]) -> tuple[tuple[int, ...], int]:
    """Static strides and offset, in elements, of a buffer; CompileError where one is dynamic."""
    strides, offset = kind.get_strides(), kind.get_offset()
    if strides is None or offset is None or any(each is None for each in strides):
        raise CompileError("no-form-in-llvm", f"a buffer of type {kind} has no static layout")
    return cast("tuple[int, ...]", tuple(strides)), offset
