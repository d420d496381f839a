"""Argument structures: arrays of scalars, pointers and structures, and their fields."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.types import PtrType, StructType
from aotc.dialects.operations import PureOp
from aotc.dialects.properties import int_prop, integer


@irdl_op_definition
class AllocaOp(IRDLOperation):
    """An array of `count` scalars, pointers or structures on the stack: `aot.alloca 2 : !aot.ptr<i64>`."""

    name = "aot.alloca"
    count = int_prop()
    result = result_def(PtrType)
    assembly_format = "$count attr-dict `:` type($result)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, count: int, pointee: Attribute) -> None:
        super().__init__(properties={"count": integer(count)}, result_types=[PtrType(pointee)])


@irdl_op_definition
class ElementOp(IRDLOperation):
    """The value of element `position` of a pointer to scalars or pointers: `p[2]`."""

    name = "aot.element"
    pointer = operand_def(PtrType)
    position = int_prop()
    result = result_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` attr-dict `:` type($pointer) `->` type($result)"

    def __init__(self, pointer: SSAValue, position: int) -> None:
        assert isinstance(pointer.type, PtrType)
        super().__init__(
            operands=[pointer], properties={"position": integer(position)}, result_types=[pointer.type.pointee]
        )


@irdl_op_definition
class SetElementOp(IRDLOperation):
    """`p[2] = value`."""

    name = "aot.set_element"
    pointer = operand_def(PtrType)
    position = int_prop()
    value = operand_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` `,` $value attr-dict `:` type($pointer) `,` type($value)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, pointer: SSAValue, position: int, value: SSAValue) -> None:
        super().__init__(operands=[pointer, value], properties={"position": integer(position)})


@irdl_op_definition
class FieldOp(IRDLOperation):
    """The value of a field of structure `position` of an array: `p[2].ndim`."""

    name = "aot.field"
    pointer = operand_def(PtrType)
    position = int_prop()
    field = prop_def(StringAttr)
    result = result_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` $field attr-dict `:` type($pointer) `->` type($result)"

    def __init__(self, pointer: SSAValue, position: int, field: str) -> None:
        super().__init__(
            operands=[pointer],
            properties={"position": integer(position), "field": StringAttr(field)},
            result_types=[field_type(pointer, field)],
        )

    def verify_(self) -> None:
        if field_type(self.pointer, self.field.data) != self.result.type:
            raise VerifyException(f"the result has not the type of field {self.field.data}")


@irdl_op_definition
class SetFieldOp(IRDLOperation):
    """`p[2].ndim = value`."""

    name = "aot.set_field"
    pointer = operand_def(PtrType)
    position = int_prop()
    field = prop_def(StringAttr)
    value = operand_def(PtrType | IntegerType)
    assembly_format = "$pointer `[` $position `]` $field `,` $value attr-dict `:` type($pointer) `,` type($value)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, pointer: SSAValue, position: int, field: str, value: SSAValue) -> None:
        super().__init__(
            operands=[pointer, value], properties={"position": integer(position), "field": StringAttr(field)}
        )

    def verify_(self) -> None:
        if field_type(self.pointer, self.field.data) != self.value.type:
            raise VerifyException(f"the value has not the type of field {self.field.data}")


@irdl_op_definition
class AddressOp(PureOp):
    """The address of element `position` of an array of scalars, pointers or structures: `&p[2]`."""

    name = "aot.address"
    T: ClassVar = VarConstraint("T", BaseAttr(PtrType))
    pointer = operand_def(T)
    position = int_prop()
    result = result_def(T)
    assembly_format = "$pointer `[` $position `]` attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue, position: int) -> None:
        super().__init__(operands=[pointer], properties={"position": integer(position)}, result_types=[pointer.type])


def field_type(pointer: SSAValue, field: str) -> Attribute:
    if not isinstance(pointer.type, PtrType) or not isinstance(pointer.type.pointee, StructType):
        raise VerifyException("the operand must point to a structure")
    fields = pointer.type.pointee.fields
    if field not in fields:
        raise VerifyException(f"{pointer.type.pointee.struct.data} has no field {field}")
    return fields[field]
