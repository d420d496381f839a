"""Builds llvm dialect operations fast: one insertion block, constants shared by a function; scalars and vectors alike.

Models have many thousands of operations, so they are made without checking arguments (the verifier at the end of the
phase looks at all of them) and attributes that recur are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from aotc.dialects import llvm_ext
from aotc.dialects.aot import PtrType, StructType
from aotc.dialects.operations import append, make
from aotc.dialects.properties import number
from aotc.errors import CompileError

PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()
UNIT = UnitAttr()
NSW = IntegerAttr(1, i32)
"""overflowFlags of the llvm dialect: 1 = nsw, 2 = nuw."""
NO_FAST_MATH = llvm.FastMathAttr(None)
_C_CALL = llvm.CallingConventionAttr("ccc")
_NO_TAIL_CALL = llvm.TailCallKindAttr(llvm.TailCallKind.NONE)
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_PLAIN = IntegerAttr(0, i64)

ICMP = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.ICmpPredicateFlag}
FCMP = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.FCmpPredicateFlag}


@cache
def integer(width: int) -> IntegerType:
    """The signless integer type of `width` bits."""
    return IntegerType(width)


@lru_cache(maxsize=4096)
def segments(*sizes: int) -> DenseArrayBase:
    """Operand segment sizes."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def alignment(size: int) -> IntegerAttr:
    """An alignment in bytes as an attribute."""
    return IntegerAttr(size, i64)


def element(kind: Attribute) -> Attribute:
    """The type of the lanes of a vector; a scalar type itself."""
    return kind.element_type if type(kind) is VectorType else kind


def like(kind: Attribute, scalar: Attribute) -> Attribute:
    """`scalar`, or the vector of it with as many lanes as the vector type `kind` has."""
    return _vector(scalar, kind.get_shape()[0]) if isinstance(kind, VectorType) else scalar


@cache
def _vector(scalar: Attribute, lanes: int) -> Attribute:
    return VectorType(scalar, [lanes])


def width(kind: Attribute) -> int:
    """Bits of a scalar type, of one lane of a vector type."""
    return cast(FixedBitwidthType, element(kind)).bitwidth


@cache
def _intrinsic(name: str, operands: int, flags: Attribute) -> dict[str, Attribute]:
    return {
        "intrin": StringAttr(name),
        "fastmathFlags": flags,
        "op_bundle_sizes": _NO_BUNDLES,
        "operandSegmentSizes": segments(operands, 0),
    }


def _number(value: float, kind: Attribute) -> Attribute:
    if isinstance(kind, VectorType):
        return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [value])
    return number(value, cast(IntegerType, kind)) if isinstance(value, int) else FloatAttr(value, cast(AnyFloat, kind))


class LLVMBuilder:
    """Appends to `block`; blocks are added to `region` in the order in which they are started."""

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.block = entry
        self.region = Region(entry)
        self._constants: dict[tuple[str | bytes, Attribute], SSAValue] = {}
        self._head: list[Operation] = []

    def start(self, block: Block) -> None:
        """Go on in `block`, which is new."""
        self.region.add_block(block)
        self.block = block

    def finish(self) -> Region:
        """The body: constants and stack slots go to the head of the entry block."""
        if self._head:
            if (first := self.entry.first_op) is None:
                self.entry.add_ops(self._head)
            else:
                self.entry.insert_ops_before(self._head, first)
            self._head = []
        return self.region

    # Operations

    def op(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append an operation of one result."""
        op = make(kind, operands, result, properties)
        append(self.block, op)
        return op.results[0]

    def effect(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue] = (),
        properties: dict[str, Attribute] | None = None,
        successors: Sequence[Block] = (),
    ) -> Operation:
        """Append an operation without result."""
        op = make(kind, operands, None, properties, successors)
        append(self.block, op)
        return op

    def constant(self, value: int | float, kind: Attribute) -> SSAValue:
        """A constant, in every lane of a vector; one per function and value. Integers wrap to their width."""
        scalar = element(kind)
        if isinstance(scalar, IntegerType):
            bits = scalar.width.data
            value = int(value) & ((1 << bits) - 1)
            if value >> (bits - 1):
                value -= 1 << bits
        else:
            value = float(value)
        key = (repr(value), kind)  # tells 0.0 from -0.0
        return self._once(key, llvm.ConstantOp, lambda: {"value": _number(value, kind)})

    def dense(self, data: bytes, kind: Attribute) -> SSAValue:
        """A constant vector, its lanes one after the other in memory."""
        made = DenseIntOrFPElementsAttr(cast(Any, kind), BytesAttr(data))
        return self._once((data, kind), llvm.ConstantOp, lambda: {"value": made})

    def address(self, symbol: str) -> SSAValue:
        """The address of a global or function."""
        return self._once((symbol, PTR), llvm.AddressOfOp, lambda: {"global_name": SymbolRefAttr(symbol)})

    def _once(
        self, key: tuple[str | bytes, Attribute], kind: type[Operation], properties: Callable[[], dict[str, Attribute]]
    ) -> SSAValue:
        """A constant of the type in `key`, by which it is found again."""
        if (found := self._constants.get(key)) is None:
            op = make(kind, (), key[1], properties())
            self._head.append(op)
            found = self._constants[key] = op.results[0]
        return found

    def stack(self, count: int, kind: Attribute, align: int | None = None) -> SSAValue:
        """`count` values of type `kind` on the stack, allocated once at function entry."""
        properties: dict[str, Attribute] = {"elem_type": kind}
        if align is not None:
            properties["alignment"] = alignment(align)
        op = make(llvm.AllocaOp, (self.constant(count, i32),), PTR, properties)
        self._head.append(op)
        return op.results[0]

    def integer_op(self, kind: type[Operation], a: SSAValue, b: SSAValue, flags: IntegerAttr | None = None) -> SSAValue:
        """Integer arithmetic, `flags` as `overflowFlags`."""
        return self.op(kind, (a, b), a.type, {"overflowFlags": flags} if flags is not None else None)

    def float_op(self, kind: type[Operation], *operands: SSAValue, flags: Attribute = NO_FAST_MATH) -> SSAValue:
        """Float arithmetic of one type."""
        return self.op(kind, operands, operands[0].type, {"fastmathFlags": flags})

    def convert(self, kind: type[Operation], a: SSAValue, to: Attribute) -> SSAValue:
        """A cast; nothing where the type already is `to`."""
        return a if a.type == to else self.op(kind, (a,), to)

    def icmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare integers."""
        return self.op(llvm.ICmpOp, (a, b), like(a.type, i1), {"predicate": ICMP[predicate]})

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue, flags: Attribute = NO_FAST_MATH) -> SSAValue:
        """Compare floats."""
        kind = llvm_ext.FCmpOp if isinstance(a.type, VectorType) else llvm.FCmpOp
        return self.op(kind, (a, b), like(a.type, i1), {"predicate": FCMP[predicate], "fastmathFlags": flags})

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a if condition else b; lane by lane if the condition is a vector."""
        kind = llvm_ext.SelectOp if isinstance(condition.type, VectorType) else llvm.SelectOp
        return self.op(kind, (condition, a, b), a.type, {"fastmathFlags": NO_FAST_MATH})

    def intrinsic(
        self, name: str, operands: Sequence[SSAValue], result: Attribute, flags: Attribute = NO_FAST_MATH
    ) -> SSAValue:
        """Call `llvm.NAME`, the full name with its type suffixes."""
        return self.op(llvm.CallIntrinsicOp, operands, result, _intrinsic(name, len(operands), flags))

    def intrinsic_effect(self, name: str, operands: Sequence[SSAValue]) -> None:
        """Call `llvm.NAME`, which has no result."""
        self.effect(llvm.CallIntrinsicOp, operands, _intrinsic(name, len(operands), NO_FAST_MATH))

    def call(
        self, callee: str, operands: Sequence[SSAValue], result: Attribute | None, flags: Attribute = NO_FAST_MATH
    ) -> Sequence[SSAValue]:
        """Call a function of the module."""
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee),
            "fastmathFlags": flags,
            "CConv": _C_CALL,
            "TailCallKind": _NO_TAIL_CALL,
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": segments(len(operands), 0),
        }
        op = make(llvm.CallOp, operands, result, properties)
        append(self.block, op)
        return op.results

    # Vectors

    def insert(self, vector: SSAValue, scalar: SSAValue, lane: int) -> SSAValue:
        """`vector` with another scalar in one lane."""
        return self.op(llvm.InsertElementOp, (vector, scalar, self.constant(lane, i64)), vector.type)

    def extract(self, vector: SSAValue, lane: int | SSAValue) -> SSAValue:
        """One lane."""
        operands = (vector, self.constant(lane, i64) if isinstance(lane, int) else lane)
        return self.op(llvm_ext.ExtractElementOp, operands, element(vector.type))

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: tuple[int, ...]) -> SSAValue:
        """These lanes of a and b, numbered from the first of a to the last of b."""
        kind = _vector(element(a.type), len(lanes))
        return self.op(llvm.ShuffleVectorOp, (a, b), kind, {"mask": segments(*lanes)})

    def splat(self, scalar: SSAValue, kind: Attribute) -> SSAValue:
        """The vector of type `kind` with `scalar` in each lane."""
        first = self.insert(self.constant(0, kind), scalar, 0)
        return self.shuffle(first, first, (0,) * cast("VectorType[Attribute]", kind).get_shape()[0])

    # Memory

    def offset(self, pointer: SSAValue, kind: Attribute, *indices: int | SSAValue, inbounds: bool = True) -> SSAValue:
        """Address arithmetic, inside one object if so promised: `&((kind *)pointer)[i0].f1[i2]...`."""
        if indices == (0,):
            return pointer
        properties: dict[str, Attribute] = {"inbounds": UNIT} if inbounds else {}
        indices = tuple(self._index(index) for index in indices)
        raw = [index if isinstance(index, int) else llvm.GEP_USE_SSA_VAL for index in indices]
        return self.op(
            llvm.GEPOp,
            (pointer, *(index for index in indices if not isinstance(index, int))),
            PTR,
            {
                "elem_type": kind,
                "rawConstantIndices": segments(*raw),
                "noWrapFlags": _NO_WRAP_FLAGS,
                **properties,
            },
        )

    def _index(self, index: int | SSAValue) -> int | SSAValue:
        """A value where the constant is too large for an index of llvm.getelementptr."""
        return index if isinstance(index, SSAValue) or -(2**31) < index < 2**31 else self.constant(index, i64)

    def load(self, pointer: SSAValue, kind: Attribute, align: int) -> SSAValue:
        """Read a value."""
        return self.op(llvm.LoadOp, (pointer,), kind, {"ordering": _PLAIN, "alignment": alignment(align)})

    def store(self, value: SSAValue, pointer: SSAValue, align: int) -> None:
        """Write a value."""
        self.effect(llvm.StoreOp, (value, pointer), {"ordering": _PLAIN, "alignment": alignment(align)})

    # Control

    def branch(self, target: Block, arguments: Sequence[SSAValue] = ()) -> Operation:
        """Go to `target`."""
        return self.effect(llvm.BrOp, arguments, successors=(target,))

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        otherwise: Block,
        then_arguments: Sequence[SSAValue] = (),
        otherwise_arguments: Sequence[SSAValue] = (),
    ) -> None:
        """Go to `then` if the condition holds, else to `otherwise`."""
        self.effect(
            llvm.CondBrOp,
            (condition, *then_arguments, *otherwise_arguments),
            {"operandSegmentSizes": segments(1, len(then_arguments), len(otherwise_arguments))},
            (then, otherwise),
        )

    def ret(self, value: SSAValue | None = None) -> None:
        """Return from the function."""
        self.effect(llvm.ReturnOp, () if value is None else (value,))


# --- types of the interface phase as llvm dialect types --------------------------------------------------------------


@dataclass
class TypeConverter:
    """Value types, memory types and structure layouts.

    f16 and bf16 are held as i16: they are only loaded, stored, moved and converted.
    """

    index_bitwidth: int = 64
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
            case BFloat16Type() | Float16Type():
                return i16
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
