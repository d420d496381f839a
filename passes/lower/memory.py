"""memref and aot operations as llvm operations: addresses, loads, stores, argument structures, words, roundings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import IntegerType, MemRefType, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects import aot
from aotc.errors import CompileError
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import NSW, PTR, LLVMBuilder, element, strides_and_offset

Buffer = MemRefType[Attribute]


def _index_term(b: LLVMBuilder, index: SSAValue, stride: int) -> SSAValue:
    if stride == 1:
        return index
    return b.integer_op(llvm.MulOp, index, b.constant(stride, index.type), NSW)


def element_address(
    f: FunctionLowering, buffer: SSAValue, indices: Sequence[SSAValue], *, inbounds: bool = True
) -> SSAValue:
    """The address of an element, `inbounds` where it is one of the buffer. Constant indices fold into one offset."""
    kind = cast(Buffer, buffer.type)
    strides, constant = strides_and_offset(kind)
    linear: SSAValue | None = None
    for index, stride in zip(indices, strides, strict=True):
        if (known := f.known.get(index)) is not None:
            constant += known * stride
        elif stride:
            term = _index_term(f.b, f.get(index), stride)
            linear = term if linear is None else f.b.integer_op(llvm.AddOp, linear, term, NSW)
    offset: int | SSAValue = constant
    if linear is not None:
        offset = linear
        if constant:
            offset = f.b.integer_op(llvm.AddOp, linear, f.b.constant(constant, linear.type), NSW)
    return f.b.offset(f.get(buffer), f.types.memory(kind.element_type), offset, inbounds=inbounds)


def read(f: FunctionLowering, address: SSAValue, kind: Attribute) -> SSAValue:
    """The value of type `kind`, scalar or vector, at an address."""
    value = f.b.load(address, f.types.memory(kind), f.types.size(kind))
    return f.b.icmp("ne", value, f.b.constant(0, value.type)) if element(kind) == i1 else value


def write(f: FunctionLowering, value: SSAValue, address: SSAValue, kind: Attribute) -> None:
    """Store a value of type `kind`, scalar or vector."""
    stored = f.b.convert(llvm.ZExtOp, value, f.types.memory(kind)) if element(kind) == i1 else value
    f.b.store(stored, address, f.types.size(kind))


def _view(f: FunctionLowering, op: memref.ViewOp) -> None:
    known = f.known.get(op.byte_shift)
    f.set(op.result, f.b.offset(f.get(op.source), i8, known if known is not None else f.get(op.byte_shift)))


def _reinterpret(f: FunctionLowering, op: memref.ReinterpretCastOp) -> None:
    """A buffer's pointer is that of its allocation; the offset that its type does not say is added here."""
    (start,) = op.static_offsets.get_values()
    kind = op.result.type
    _, offset = strides_and_offset(kind)
    place = f.get(op.offsets[0]) if op.offsets else start - offset
    f.set(op.result, f.b.offset(f.get(op.source), f.types.memory(kind.element_type), place))


def _allocate(f: FunctionLowering, op: memref.AllocaOp) -> None:
    kind = op.memref.type
    if not kind.has_static_shape():
        raise CompileError("no-form-in-llvm", "memref.alloca of a size known at run time only")
    size = f.types.size(kind.element_type)
    f.set(op.memref, f.b.stack(kind.element_count(), f.types.memory(kind.element_type), size))


def _same(f: FunctionLowering, op: Operation) -> None:
    f.set(op.results[0], f.get(op.operands[0]))


def _data(f: FunctionLowering, op: aot.DataOp) -> None:
    kind = cast(Buffer, op.buffer.type)
    _, offset = strides_and_offset(kind)
    f.set(op.result, f.b.offset(f.get(op.buffer), f.types.memory(kind.element_type), offset))


def _weight(f: FunctionLowering, op: aot.WeightOp) -> None:
    kind = op.result.type
    size = f.types.size(kind.element_type)
    blob, offset = f.module.weight(op.key.data, kind.element_count() * size, size)
    f.set(op.result, f.b.offset(f.b.address(blob), i8, offset))


def _weights(f: FunctionLowering, op: aot.WeightsOp) -> None:
    f.module.external_weights(op.symbol.data, op.result.type.element_count())
    f.set(op.result, f.b.address(op.symbol.data))


def _workspace(f: FunctionLowering, op: aot.WorkspaceOp) -> None:
    f.set(op.result, f.b.address(f.module.workspace(op.result.type.element_count(), op.pool_name)))


def _counters(f: FunctionLowering, op: aot.CountersOp) -> None:
    f.module.counters(op.symbol.data, op.result.type.element_count())
    f.set(op.result, f.b.address(op.symbol.data))


# --- words ----------------------------------------------------------------------------------------------------------


def _quad(f: FunctionLowering, op: aot.QuadOp) -> None:
    value = f.b.constant(0, op.result.type)
    for lane, each in enumerate(op.lanes):
        value = f.b.insert(value, f.get(each), lane)
    f.set(op.result, value)


def _round_product(f: FunctionLowering, op: aot.RoundProductOp) -> None:
    name = "round_product" if not op.near else "round_near_product"
    operands = *map(f.get, op.operands), f.b.constant(op.shift, i32)
    f.set(op.result, f.module.helpers.rounding(f.b, name, *operands))


# --- argument structures ---------------------------------------------------------------------------------------------


def _pointee(pointer: SSAValue) -> Attribute:
    assert isinstance(pointer.type, aot.PtrType)
    return pointer.type.pointee


def _place(f: FunctionLowering, op: aot.AddressOp | aot.ElementOp | aot.SetElementOp) -> SSAValue:
    return f.b.offset(f.get(op.pointer), f.types.memory(_pointee(op.pointer)), op.position)


def _field_address(f: FunctionLowering, op: aot.FieldOp | aot.SetFieldOp) -> SSAValue:
    kind = _pointee(op.pointer)
    assert isinstance(kind, aot.StructType)
    layout, paths = f.types.struct(kind)
    return f.b.offset(f.get(op.pointer), layout, op.position, *paths[op.field.data])


def _is_null(f: FunctionLowering, op: aot.IsNullOp) -> None:
    address = f.b.convert(llvm.PtrToIntOp, f.get(op.pointer), f.types.index)  # xDSL's icmp takes no pointers
    f.set(op.result, f.b.icmp("eq", address, f.b.constant(0, f.types.index)))


def _is_aligned(f: FunctionLowering, op: aot.IsAlignedOp) -> None:
    address = f.b.convert(llvm.PtrToIntOp, f.get(op.pointer), f.types.index)
    rest = f.b.integer_op(llvm.AndOp, address, f.b.constant(op.alignment - 1, f.types.index), None)
    f.set(op.result, f.b.icmp("eq", rest, f.b.constant(0, f.types.index)))


# --- status ----------------------------------------------------------------------------------------------------------


def _check(f: FunctionLowering, op: aot.CheckOp) -> None:
    status = f.get(op.status)
    f.leave(f.b.icmp("ne", status, f.b.constant(0, cast(IntegerType, status.type))), status)


LOWERINGS: Lowerings = {
    memref.LoadOp: lambda f, op: f.set(op.res, read(f, element_address(f, op.memref, op.indices), op.res.type)),
    memref.StoreOp: lambda f, op: write(f, f.get(op.value), element_address(f, op.memref, op.indices), op.value.type),
    memref.ViewOp: _view,
    memref.ReinterpretCastOp: _reinterpret,
    memref.AllocaOp: _allocate,
    aot.WordLoadOp: lambda f, op: f.set(
        op.result, f.b.load(element_address(f, op.buffer, op.indices), i32, 1 if op.aligned is None else 4)
    ),
    aot.WordStoreOp: lambda f, op: f.b.store(f.get(op.value), element_address(f, op.buffer, op.indices), 4),
    aot.QuadOp: _quad,
    aot.RoundProductOp: _round_product,
    aot.WeightOp: _weight,
    aot.WeightsOp: _weights,
    aot.WorkspaceOp: _workspace,
    aot.CountersOp: _counters,
    aot.TicksOp: lambda f, op: f.set(op.result, f.b.intrinsic("llvm.readcyclecounter", (), i64)),
    **dict.fromkeys((aot.BufferOp, aot.PtrCastOp, aot.OpaqueOp), _same),
    aot.DataOp: _data,
    aot.SymbolOp: lambda f, op: f.set(op.result, f.b.address(op.symbol.string_value())),
    aot.NullOp: lambda f, op: f.set(op.result, f.b.op(llvm.ZeroOp, (), PTR)),
    aot.StringOp: lambda f, op: f.set(op.result, f.b.address(f.module.string(op.value.data))),
    aot.AllocaOp: lambda f, op: f.set(op.result, f.b.stack(op.count, f.types.memory(_pointee(op.result)))),
    aot.AddressOp: lambda f, op: f.set(op.result, _place(f, op)),
    aot.ElementOp: lambda f, op: f.set(op.result, read(f, _place(f, op), _pointee(op.pointer))),
    aot.SetElementOp: lambda f, op: write(f, f.get(op.value), _place(f, op), _pointee(op.pointer)),
    aot.FieldOp: lambda f, op: f.set(op.result, read(f, _field_address(f, op), op.result.type)),
    aot.SetFieldOp: lambda f, op: write(f, f.get(op.value), _field_address(f, op), op.value.type),
    aot.IsNullOp: _is_null,
    aot.IsAlignedOp: _is_aligned,
    aot.CheckOp: _check,
    aot.RequireOp: lambda f, op: f.leave(f.get(op.condition), f.b.constant(-1, i32), where=False),
}
