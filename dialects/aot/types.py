"""Pointers, the structures of the packed convention, and the attribute that names a convention."""

from typing import Self

from xdsl.dialects.builtin import StringAttr, i8, i16, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


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


class Convention(StrEnum):
    """How a function takes its arguments. `micro`, `c` and `packed` are entries, the rest operators (docs/abi.md)."""

    UNPACKED = "unpacked"
    CPACKED = "cpacked"
    PACKED = "packed"
    C = "c"
    MICRO = "micro"
    PACKED_ENTRY = "packed_entry"

    @classmethod
    def of_entry(cls, interface_api: str) -> Self:
        """That of an entry with `--interface-api`; ValueError for a name that is none of its choices."""
        return cls("packed_entry" if interface_api == "packed" else interface_api)


@irdl_attr_definition
class ConventionAttr(EnumAttribute[Convention], SpacedOpaqueSyntaxAttribute):
    """The convention of a function, on its func.func as `aot.convention`."""

    name = "aot.convention"
