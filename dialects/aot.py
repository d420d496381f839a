"""The aot dialect: what a compile unit has that tensors and loops do not.

Weights, the workspace, bare pointers, argument structures, status checks, and the attributes that record a calling
convention. Every operation here prints as one C construct and lowers to a few LLVM instructions; both emitters take all
of them, so a pass that changes a convention writes IR once for both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I1,
    I32,
    I64,
    AnyFloatConstr,
    ArrayAttr,
    BytesAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

# --- types -----------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """A C pointer to `pointee`: a scalar type, another `!aot.ptr`, or an `!aot.struct`. `!aot.ptr<i8>` is `void *`."""

    name = "aot.ptr"
    pointee: Attribute = param_def()


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """A C structure of the packed calling convention, by name; `STRUCTS` has the fields."""

    name = "aot.struct"
    struct: StringAttr = param_def()

    def __init__(self, struct: str | StringAttr) -> None:
        super().__init__(StringAttr(struct) if isinstance(struct, str) else struct)

    def verify(self) -> None:
        if self.struct.data not in STRUCTS:
            raise VerifyException(f"no structure named {self.struct.data}; there are {', '.join(sorted(STRUCTS))}")

    @property
    def fields(self) -> dict[str, Attribute]:
        """Field name to type, in memory order."""
        return STRUCTS[self.struct.data]


VOID_PTR = PtrType(i8)

STRUCTS: dict[str, dict[str, Attribute]] = {
    # DLPack's DLTensor; a dotted field is one of a nested structure, laid out in place.
    "DLTensor": {
        "data": VOID_PTR,
        "device.device_type": i32,
        "device.device_id": i32,
        "ndim": i32,
        "dtype.code": i8,
        "dtype.bits": i8,
        "dtype.lanes": i16,
        "shape": PtrType(i64),
        "strides": PtrType(i64),
        "byte_offset": i64,
    },
    # The 8-byte union of the packed convention; only its handle member is used.
    "AOTCValue": {"v_handle": VOID_PTR},
    # The descriptor of a model with a typed entry; its C type is aotc_NAME_model_t, for the sake of run_func's.
    "AOTCTypedModel": {"run_func": VOID_PTR, "num_input_tensors": i32, "num_output_tensors": i32},
    "AOTCModel": {
        "run_func": VOID_PTR,
        "num_input_tensors": i32,
        "num_output_tensors": i32,
        "caller_memory": i32,
        "metadata": VOID_PTR,
        "functions": VOID_PTR,
    },
    "AOTCFunctionEntry": {"name": VOID_PTR, "function": VOID_PTR},
    "AOTCParameterInfo": {
        "relay_name_hint": VOID_PTR,
        "tir_name_hint": VOID_PTR,
        "shape": PtrType(i64),
        "ndim": i64,
        "dtype.code": i8,
        "dtype.bits": i8,
        "dtype.lanes": i16,
    },
    "AOTCFunctionInfo": {
        "function_name": VOID_PTR,
        "params": VOID_PTR,
        "num_inputs": i32,
        "num_outputs": i32,
        "workspace_size_bytes": i64,
        "io_size_bytes": i64,
        "constant_size_bytes": i64,
    },
    "AOTCMetadata": {"version": i32, "functions": VOID_PTR, "module_name": VOID_PTR, "num_functions": i32},
}
"""Structures that generated code fills or reads: name -> {field: type}, laid out as C does (aotc/runtime, docs/abi.md).
AOTCValue is 8 bytes whatever the pointer size."""


# --- attributes ------------------------------------------------------------------------------------------------------


class Convention(StrEnum):
    """How a function takes its arguments. `micro`, `c` and `packed` are entries, the rest operators (docs/abi.md)."""

    UNPACKED = "unpacked"
    CPACKED = "cpacked"
    PACKED = "packed"
    C = "c"
    MICRO = "micro"
    PACKED_ENTRY = "packed_entry"


@irdl_attr_definition
class ConventionAttr(EnumAttribute[Convention], SpacedOpaqueSyntaxAttribute):
    """The convention of a function, on its func.func as `aot.convention`."""

    name = "aot.convention"


# --- memory ----------------------------------------------------------------------------------------------------------


@irdl_op_definition
class WeightOp(IRDLOperation):
    """The constant array `key` of the WeightStore as a read-only buffer: `aot.weight "conv1.w" : memref<8x3xf32>`."""

    name = "aot.weight"
    key = prop_def(StringAttr)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$key attr-dict `:` type($result)"

    def __init__(self, key: str, result_type: Attribute) -> None:
        super().__init__(properties={"key": StringAttr(key)}, result_types=[result_type])


@irdl_op_definition
class WorkspaceOp(IRDLOperation):
    """The model's arena, one per entry function: a static array of the file, or a pointer of the caller's."""

    name = "aot.workspace"
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int) -> None:
        super().__init__(result_types=[MemRefType(i8, [size])])


@irdl_op_definition
class WeightsOp(IRDLOperation):
    """All weights of the model as one read-only blob (pass `place-weights`): a symbol that the application links, or,
    once `buffers-to-pointers` has replaced it, a pointer of the caller's.

    `aot.weights "aotc_kws_weights" : memref<5120xi8>`
    """

    name = "aot.weights"
    symbol = prop_def(StringAttr)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, size: int) -> None:
        super().__init__(properties={"symbol": StringAttr(symbol)}, result_types=[MemRefType(i8, [size])])


@irdl_op_definition
class BufferOp(IRDLOperation):
    """A pointer seen as a contiguous buffer of static shape: `aot.buffer %p : !aot.ptr<f32> to memref<4x8xf32>`."""

    name = "aot.buffer"
    pointer = operand_def(PtrType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$pointer attr-dict `:` type($pointer) `to` type($result)"

    def __init__(self, pointer: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[pointer], result_types=[result_type])


@irdl_op_definition
class DataOp(IRDLOperation):
    """The address of a contiguous buffer's first element."""

    name = "aot.data"
    buffer = operand_def(MemRefType)
    result = result_def(PtrType)
    traits = traits_def(Pure())
    assembly_format = "$buffer attr-dict `:` type($buffer) `to` type($result)"

    def __init__(self, buffer: SSAValue) -> None:
        assert isinstance(buffer.type, MemRefType)
        super().__init__(operands=[buffer], result_types=[PtrType(buffer.type.get_element_type())])


@irdl_op_definition
class PtrCastOp(IRDLOperation):
    """Change what a pointer points to."""

    name = "aot.ptr_cast"
    pointer = operand_def(PtrType)
    result = result_def(PtrType)
    traits = traits_def(Pure())
    assembly_format = "$pointer attr-dict `:` type($pointer) `to` type($result)"

    def __init__(self, pointer: SSAValue, result_type: PtrType) -> None:
        super().__init__(operands=[pointer], result_types=[result_type])


@irdl_op_definition
class NullOp(IRDLOperation):
    """The null pointer."""

    name = "aot.null"
    result = result_def(PtrType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: PtrType = VOID_PTR) -> None:
        super().__init__(result_types=[result_type])


@irdl_op_definition
class StringOp(IRDLOperation):
    """A constant C string."""

    name = "aot.string"
    value = prop_def(StringAttr)
    result = result_def(PtrType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: str) -> None:
        super().__init__(properties={"value": StringAttr(value)}, result_types=[VOID_PTR])


# --- argument structures ---------------------------------------------------------------------------------------------


@irdl_op_definition
class AllocaOp(IRDLOperation):
    """An array of `count` scalars, pointers or structures on the stack: `aot.alloca 2 : !aot.ptr<i64>`."""

    name = "aot.alloca"
    count = prop_def(IntegerAttr[I64])
    result = result_def(PtrType)
    assembly_format = "$count attr-dict `:` type($result)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, count: int, pointee: Attribute) -> None:
        super().__init__(properties={"count": IntegerAttr(count, i64)}, result_types=[PtrType(pointee)])


@irdl_op_definition
class ElementOp(IRDLOperation):
    """The value of element `position` of a pointer to scalars or pointers: `p[2]`."""

    name = "aot.element"
    pointer = operand_def(PtrType)
    position = prop_def(IntegerAttr[I64])
    result = result_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` attr-dict `:` type($pointer) `->` type($result)"

    def __init__(self, pointer: SSAValue, position: int) -> None:
        assert isinstance(pointer.type, PtrType)
        super().__init__(
            operands=[pointer], properties={"position": IntegerAttr(position, i64)}, result_types=[pointer.type.pointee]
        )


@irdl_op_definition
class SetElementOp(IRDLOperation):
    """`p[2] = value`."""

    name = "aot.set_element"
    pointer = operand_def(PtrType)
    position = prop_def(IntegerAttr[I64])
    value = operand_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` `,` $value attr-dict `:` type($pointer) `,` type($value)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, pointer: SSAValue, position: int, value: SSAValue) -> None:
        super().__init__(operands=[pointer, value], properties={"position": IntegerAttr(position, i64)})


@irdl_op_definition
class FieldOp(IRDLOperation):
    """The value of a field of structure `position` of an array: `p[2].ndim`."""

    name = "aot.field"
    pointer = operand_def(PtrType)
    position = prop_def(IntegerAttr[I64])
    field = prop_def(StringAttr)
    result = result_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` $field attr-dict `:` type($pointer) `->` type($result)"

    def __init__(self, pointer: SSAValue, position: int, field: str) -> None:
        super().__init__(
            operands=[pointer],
            properties={"position": IntegerAttr(position, i64), "field": StringAttr(field)},
            result_types=[_field_type(pointer, field)],
        )

    def verify_(self) -> None:
        if _field_type(self.pointer, self.field.data) != self.result.type:
            raise VerifyException(f"the result has not the type of field {self.field.data}")


@irdl_op_definition
class SetFieldOp(IRDLOperation):
    """`p[2].ndim = value`."""

    name = "aot.set_field"
    pointer = operand_def(PtrType)
    position = prop_def(IntegerAttr[I64])
    field = prop_def(StringAttr)
    value = operand_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` $field `,` $value attr-dict `:` type($pointer) `,` type($value)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, pointer: SSAValue, position: int, field: str, value: SSAValue) -> None:
        super().__init__(
            operands=[pointer, value], properties={"position": IntegerAttr(position, i64), "field": StringAttr(field)}
        )

    def verify_(self) -> None:
        if _field_type(self.pointer, self.field.data) != self.value.type:
            raise VerifyException(f"the value has not the type of field {self.field.data}")


@irdl_op_definition
class AddressOp(IRDLOperation):
    """The address of element `position` of an array of scalars, pointers or structures: `&p[2]`."""

    name = "aot.address"
    T: ClassVar = VarConstraint("T", BaseAttr(PtrType))
    pointer = operand_def(T)
    position = prop_def(IntegerAttr[I64])
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$pointer `[` $position `]` attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue, position: int) -> None:
        super().__init__(
            operands=[pointer], properties={"position": IntegerAttr(position, i64)}, result_types=[pointer.type]
        )


def _field_type(pointer: SSAValue, field: str) -> Attribute:
    if not isinstance(pointer.type, PtrType) or not isinstance(pointer.type.pointee, StructType):
        raise VerifyException("the operand must point to a structure")
    fields = pointer.type.pointee.fields
    if field not in fields:
        raise VerifyException(f"{pointer.type.pointee.struct.data} has no field {field}")
    return fields[field]


# --- constant tables -------------------------------------------------------------------------------------------------


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A constant table of scalars, or of structures with their fields in order; private means static.

    `aot.global @shapes : i64 = [1, 8] {sym_visibility = "private"}`;
    `aot.global @aotc_kws_model_packed : !aot.struct<"AOTCModel"> = [[@aotc_kws_run_packed, 1, 1, @metadata]]`.
    A scalar is an integer; a pointer is a string, a symbol (a function, or a table's first element), or `unit`: null.
    """

    name = "aot.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(SymbolNameConstraint())
    element = prop_def(StructType | IntegerType)
    values = prop_def(ArrayAttr[Attribute])
    traits = traits_def(SymbolOpInterface())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `:` $element `=` $values attr-dict"

    def __init__(
        self,
        symbol: str,
        element: StructType | IntegerType,
        values: Sequence[Attribute],
        visibility: str | None = "private",
    ) -> None:
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(symbol),
            "element": element,
            "values": ArrayAttr(values),
        }
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        super().__init__(properties=properties)

    def verify_(self) -> None:
        for value in self.values:
            if isinstance(self.element, IntegerType):
                if not isinstance(value, IntegerAttr):
                    raise VerifyException(f"{value} is not an integer")
                continue
            kinds = self.element.fields.items()
            if not isinstance(value, ArrayAttr) or len(value) != len(kinds):
                raise VerifyException(f"{value} has not the {len(kinds)} fields of {self.element.struct.data}")
            for given, (field, kind) in zip(value, kinds, strict=True):
                pointer = isinstance(given, StringAttr | BytesAttr | SymbolRefAttr | UnitAttr)
                if not (pointer if isinstance(kind, PtrType) else isinstance(given, IntegerAttr)):
                    raise VerifyException(f"{given} is no value for the field {field} of {self.element.struct.data}")


def integers(kind: IntegerType, *values: int) -> list[Attribute]:
    """Integers of one type, as `aot.global` takes them."""
    return [IntegerAttr(value, kind) for value in values]


@irdl_op_definition
class SymbolOp(IRDLOperation):
    """The address of a table's first element: `aot.symbol @functions : !aot.ptr<!aot.struct<"AOTCFunctionEntry">>`."""

    name = "aot.symbol"
    symbol = prop_def(SymbolRefAttr)
    result = result_def(PtrType)
    traits = traits_def(Pure())
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, result_type: PtrType) -> None:
        super().__init__(properties={"symbol": SymbolRefAttr(symbol)}, result_types=[result_type])


# --- status ----------------------------------------------------------------------------------------------------------


@irdl_op_definition
class IsNullOp(IRDLOperation):
    """Whether a pointer is null."""

    name = "aot.is_null"
    pointer = operand_def(PtrType)
    result = result_def(I1)
    traits = traits_def(Pure())
    assembly_format = "$pointer attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue) -> None:
        super().__init__(operands=[pointer], result_types=[i1])


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Return `status` from the function at once if it is not zero."""

    name = "aot.check"
    status = operand_def(I32)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$status attr-dict"

    def __init__(self, status: SSAValue | Operation) -> None:
        super().__init__(operands=[status])


@irdl_op_definition
class RequireOp(IRDLOperation):
    """Return -1 from the function at once if `condition` does not hold."""

    name = "aot.require"
    condition = operand_def(I1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition attr-dict"

    def __init__(self, condition: SSAValue | Operation) -> None:
        super().__init__(operands=[condition])


# --- arithmetic ------------------------------------------------------------------------------------------------------


@irdl_op_definition
class FModOp(IRDLOperation):
    """The exact remainder of floats with the sign of the dividend, C's `fmod`, which arith lacks."""

    name = "aot.fmod"
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


AOT = Dialect(
    "aot",
    [
        WeightOp,
        WorkspaceOp,
        WeightsOp,
        BufferOp,
        DataOp,
        PtrCastOp,
        NullOp,
        StringOp,
        AllocaOp,
        ElementOp,
        SetElementOp,
        FieldOp,
        SetFieldOp,
        AddressOp,
        GlobalOp,
        SymbolOp,
        IsNullOp,
        CheckOp,
        RequireOp,
        FModOp,
    ],
    [PtrType, StructType, ConventionAttr],
)
