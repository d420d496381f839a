"""Weights, the workspace, and pointers seen as buffers and back."""

from xdsl.dialects.builtin import MemRefType, StringAttr, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.aot.types import VOID_PTR, PtrType
from aotc.dialects.operations import PureOp


@irdl_op_definition
class WeightOp(PureOp):
    """The constant array `key` of the WeightStore as a read-only buffer: `aot.weight "conv1.w" : memref<8x3xf32>`."""

    name = "aot.weight"
    key = prop_def(StringAttr)
    result = result_def(MemRefType)
    assembly_format = "$key attr-dict `:` type($result)"

    def __init__(self, key: str, result_type: Attribute) -> None:
        super().__init__(properties={"key": StringAttr(key)}, result_types=[result_type])


@irdl_op_definition
class WorkspaceOp(PureOp):
    """The model's arena, one per entry function: a static array of the file, or a pointer of the caller's; of an arena
    in pools, that in one of them.

    `aot.workspace : memref<256xi8>`, `aot.workspace "dtcm" : memref<256xi8>`
    """

    name = "aot.workspace"
    pool = opt_prop_def(StringAttr)
    result = result_def(MemRefType)
    assembly_format = "($pool^)? attr-dict `:` type($result)"

    def __init__(self, size: int, pool: str = "") -> None:
        properties = {"pool": StringAttr(pool)} if pool else {}
        super().__init__(properties=properties, result_types=[MemRefType(i8, [size])])

    @property
    def pool_name(self) -> str:
        """The pool it is in; empty where there is one arena."""
        return "" if self.pool is None else self.pool.data


@irdl_op_definition
class WeightsOp(PureOp):
    """All weights of the model as one read-only blob (pass `place-weights`): a symbol that the application links, or,
    once `buffers-to-pointers` has replaced it, a pointer of the caller's.

    `aot.weights "aotc_kws_weights" : memref<5120xi8>`
    """

    name = "aot.weights"
    symbol = prop_def(StringAttr)
    result = result_def(MemRefType)
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, size: int) -> None:
        super().__init__(properties={"symbol": StringAttr(symbol)}, result_types=[MemRefType(i8, [size])])


@irdl_op_definition
class BufferOp(PureOp):
    """A pointer seen as a contiguous buffer: `aot.buffer %p : !aot.ptr<f32> to memref<4x8xf32>`.

    Its shape is static, or one axis of unknown extent.
    """

    name = "aot.buffer"
    pointer = operand_def(PtrType)
    result = result_def(MemRefType)
    assembly_format = "$pointer attr-dict `:` type($pointer) `to` type($result)"

    def __init__(self, pointer: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[pointer], result_types=[result_type])


@irdl_op_definition
class DataOp(PureOp):
    """The address of a contiguous buffer's first element."""

    name = "aot.data"
    buffer = operand_def(MemRefType)
    result = result_def(PtrType)
    assembly_format = "$buffer attr-dict `:` type($buffer) `to` type($result)"

    def __init__(self, buffer: SSAValue) -> None:
        assert isinstance(buffer.type, MemRefType)
        super().__init__(operands=[buffer], result_types=[PtrType(buffer.type.get_element_type())])


@irdl_op_definition
class PtrCastOp(PureOp):
    """Change what a pointer points to."""

    name = "aot.ptr_cast"
    pointer = operand_def(PtrType)
    result = result_def(PtrType)
    assembly_format = "$pointer attr-dict `:` type($pointer) `to` type($result)"

    def __init__(self, pointer: SSAValue, result_type: PtrType) -> None:
        super().__init__(operands=[pointer], result_types=[result_type])


@irdl_op_definition
class NullOp(PureOp):
    """The null pointer."""

    name = "aot.null"
    result = result_def(PtrType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: PtrType = VOID_PTR) -> None:
        super().__init__(result_types=[result_type])


@irdl_op_definition
class StringOp(PureOp):
    """A constant C string."""

    name = "aot.string"
    value = prop_def(StringAttr)
    result = result_def(PtrType)
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: str) -> None:
        super().__init__(properties={"value": StringAttr(value)}, result_types=[VOID_PTR])
