"""The packed calling convention, in one place: filling argument structures, and taking them apart with their checks.

A packed function has the C type `int32_t (void *args, void *arg_type_ids, int32_t num_args, void *out_ret_value,
void *out_ret_tcode, void *resource_handle)`; `args` is an array of AOTCValue, `arg_type_ids` one of int32_t. To measure
what the structures cost, the operators of a model can be given less: data pointers instead of tensors (`values`), and
bare pointers instead of AOTCValue, too (`pointers`): without the union there is nothing to tag, so type codes and the
place for a returned AOTCValue are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, IntegerType, MemRefType, i1, i8, i16, i32, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects import aot
from aotc.dialects.aot.structures import field_type
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.operations import make
from aotc.dialects.properties import integer, number, string
from aotc.errors import CompileError
from aotc.model.conventions import CALL_PACKED
from aotc.model.dlpack import CPU, DLPACK_TYPES, HANDLE_CODE, TENSOR_CODE
from aotc.passes.interface.buffer_attributes import said_shape

PACKED_TYPES: Final[tuple[Attribute, ...]] = (aot.VOID_PTR, aot.VOID_PTR, i32, aot.VOID_PTR, aot.VOID_PTR, aot.VOID_PTR)
"""The argument types of every packed function; it returns an i32 status."""

PACKED_NAMES: Final = ("args", "arg_type_ids", "num_args", "out_ret_value", "out_ret_tcode", "resource_handle")

_EQUAL = integer(0)  # of arith.cmpi
_VALUE, _TENSOR, _FUNCTION = (
    aot.StructType("AOTCValue"),
    aot.StructType("DLTensor"),
    aot.StructType("AOTCFunctionEntry"),
)


@dataclass(frozen=True)
class DLType:
    """DLPack's description of an element type."""

    code: int
    bits: int
    lanes: int = 1

    @staticmethod
    def of(kind: Attribute | str) -> DLType:
        """The description of an element type or a dtype name; integers of storage types, which are signless, count as
        signed."""
        return DLType(*DLPACK_TYPES[kind if isinstance(kind, str) else dtype_name(kind)])


# --- the caller's side -----------------------------------------------------------------------------------------------


class Packer:
    """Packs calls in one function: its structures stand at the head of the function, sized for the largest call."""

    def __init__(self, block: Block, calls: Sequence[CallOp], arguments: str = "tensors") -> None:
        self._arguments = arguments
        buffers = [[cast(MemRefType[Attribute], value.type) for value in call.operands] for call in calls]
        most = max(map(len, buffers))
        extents = max(sum(kind.get_num_dims() for kind in kinds) for kinds in buffers)
        self._head = Builder(InsertPoint.at_start(block))
        tagged = arguments != "pointers"
        self._values = self._array("values", most, _VALUE if tagged else aot.VOID_PTR)
        self._codes = self._array("type_codes", most, i32) if tagged else None
        if arguments == "tensors":
            self._tensors = self._array("tensors", most, _TENSOR)
            self._shapes = self._array("shapes", max(extents, 1), i64)
        self._returned = self._array("ret_value", 1, _VALUE) if tagged else None
        self._returned_code = self._array("ret_tcode", 1, i32) if tagged else None

    def _array(self, name: str, count: int, element: Attribute) -> SSAValue:
        array = self._head.insert(aot.AllocaOp(count, element)).result
        array.name_hint = name
        return array

    def call(
        self, build: Builder, call: CallOp, dtypes: Sequence[DLType], handle: SSAValue | None, registry: str | None
    ) -> SSAValue:
        """Write the packed form of `call` with `build`: direct, or by name through `registry`; returns the status.

        `dtypes` are the element types of its operands as users see them.
        """
        extent = 0
        for position, operand in enumerate(call.operands):
            kind = operand.type
            assert isinstance(kind, MemRefType)
            code = HANDLE_CODE
            if self._arguments == "tensors":
                given, code = self._tensor(build, position, operand, dtypes[position], extent), TENSOR_CODE
                extent += kind.get_num_dims()
            else:
                given = build.insert(aot.DataOp(operand)).result
            handle_or_data = _as_void(build, given)
            if self._codes is None:
                build.insert(aot.SetElementOp(self._values, position, handle_or_data))
            else:
                build.insert(aot.SetFieldOp(self._values, position, "v_handle", handle_or_data))
                build.insert(aot.SetElementOp(self._codes, position, _constant(build, code, i32)))
        packed = [
            _as_void(build, self._values),
            _as_void(build, self._codes),
            _constant(build, len(call.operands), i32),
            _as_void(build, self._returned),
            _as_void(build, self._returned_code),
            _as_void(build, handle),
        ]
        symbol = call.callee.string_value()
        if registry is None:
            return build.insert(CallOp(symbol, packed, [i32])).results[0]
        functions = build.insert(aot.SymbolOp(registry, aot.PtrType(_FUNCTION))).result
        name = build.insert(aot.StringOp(symbol)).result
        return build.insert(CallOp(CALL_PACKED, [functions, name, *packed], [i32])).results[0]

    def _tensor(self, build: Builder, position: int, buffer: SSAValue, dtype: DLType, extent: int) -> SSAValue:
        """Describe `buffer` in structure `position`, its shape from element `extent` of the shapes on."""
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        for dimension, size in enumerate(kind.get_shape()):
            properties = {"position": integer(extent + dimension)}
            build.insert(
                make(aot.SetElementOp, (self._shapes, _extent(build, buffer, dimension, size)), None, properties)
            )

        def put(field: str, value: SSAValue) -> None:
            properties = {"position": integer(position), "field": string(field)}
            build.insert(make(aot.SetFieldOp, (self._tensors, value), None, properties))

        put("data", _as_void(build, build.insert(aot.DataOp(buffer)).result))
        put("device.device_type", _constant(build, CPU, i32))
        put("device.device_id", _constant(build, 0, i32))
        put("ndim", _constant(build, kind.get_num_dims(), i32))
        put("dtype.code", _constant(build, dtype.code, i8))
        put("dtype.bits", _constant(build, dtype.bits, i8))
        put("dtype.lanes", _constant(build, dtype.lanes, i16))
        put("shape", build.insert(aot.AddressOp(self._shapes, extent)).result)
        put("strides", build.insert(aot.NullOp(aot.PtrType(i64))).result)
        put("byte_offset", _constant(build, 0, i64))
        return build.insert(aot.AddressOp(self._tensors, position)).result


def _extent(build: Builder, buffer: SSAValue, dimension: int, size: int) -> SSAValue:
    if size != DYNAMIC_INDEX:
        return _constant(build, size, i64)
    index = build.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(dimension)))
    return build.insert(arith.IndexCastOp(build.insert(memref.DimOp(buffer, index)), i64)).result


# --- the callee's side -----------------------------------------------------------------------------------------------


class Unpacker:
    """Takes the arguments of a packed function apart; every check that fails makes the function return -1."""

    def __init__(
        self, build: Builder, arguments: Sequence[SSAValue], count: int, operator_arguments: str = "tensors"
    ) -> None:
        args, type_ids, num_args = arguments[:3]
        self._build = build
        self._require_equal(num_args, count)
        self._require_some(args)
        self._arguments = operator_arguments
        tagged = operator_arguments != "pointers"
        if tagged:
            self._require_some(type_ids)
        self._values = build.insert(aot.PtrCastOp(args, aot.PtrType(_VALUE if tagged else aot.VOID_PTR))).result
        self._codes = build.insert(aot.PtrCastOp(type_ids, aot.PtrType(i32))).result if tagged else None

    def tensor(
        self, position: int, shape: Sequence[int], dtype: DLType, pointee: Attribute, extents: Sequence[int] = ()
    ) -> tuple[SSAValue, dict[int, SSAValue]]:
        """Check that argument `position` is a DLTensor of this shape, -1 where it is open; returns its data pointer and
        the `extents` asked for, which must be below 2^31."""
        build = self._build
        tensor = build.insert(aot.PtrCastOp(self._handle(position, TENSOR_CODE), aot.PtrType(_TENSOR))).result

        def field(name: str) -> SSAValue:
            properties = {"position": integer(0), "field": string(name)}
            return _value_of(build, aot.FieldOp, (tensor,), field_type(tensor, name), properties)

        self._require_equal(field("ndim"), len(shape))
        self._require_equal(field("dtype.code"), dtype.code)
        self._require_equal(field("dtype.bits"), dtype.bits)
        self._require_equal(field("dtype.lanes"), dtype.lanes)
        self._require_equal(field("device.device_type"), CPU)
        self._require_equal(field("device.device_id"), 0)
        build.insert(aot.RequireOp(build.insert(aot.IsNullOp(field("strides")))))
        self._require_equal(field("byte_offset"), 0)
        sizes: dict[int, SSAValue] = {}
        if shape:
            given = field("shape")
            self._require_some(given)
            for dimension, size in enumerate(shape):
                if size >= 0:
                    element = _value_of(build, aot.ElementOp, (given,), i64, {"position": integer(dimension)})
                    self._require_equal(element, size)
                elif dimension in extents:
                    element = build.insert(aot.ElementOp(given, dimension)).result
                    above = _constant(build, 2**31, i64)  # before it is an index, which may be narrower
                    build.insert(aot.RequireOp(build.insert(arith.CmpiOp(element, above, "ult"))))
                    sizes[dimension] = build.insert(arith.IndexCastOp(element, IndexType())).result
        data = field("data")
        if 0 not in shape:
            self._require_some(data)
        return build.insert(aot.PtrCastOp(data, aot.PtrType(pointee))).result, sizes

    def buffer(
        self, position: int, kind: MemRefType, dtype: DLType, extents: Sequence[int]
    ) -> tuple[SSAValue, dict[int, SSAValue]]:
        """The data pointer of argument `position`, an operator's buffer, and the `extents` asked for."""
        if self._arguments == "tensors":
            return self.tensor(position, said_shape(kind), dtype, kind.element_type, extents)
        if extents:
            raise CompileError("open-shapes", "an argument of dynamic shape", "only a DLTensor carries its extents")
        data = self._handle(position, HANDLE_CODE)
        return self._build.insert(aot.PtrCastOp(data, aot.PtrType(kind.element_type))).result, {}

    def pointer(self, position: int, alignment: int) -> SSAValue:
        """Check that argument `position` is a bare pointer to what is so aligned, and return it."""
        handle = self._handle(position, HANDLE_CODE)
        self._build.insert(aot.RequireOp(self._build.insert(aot.IsAlignedOp(handle, alignment))))
        return handle

    def _handle(self, position: int, code: int) -> SSAValue:
        if self._codes is None:
            read = aot.ElementOp(self._values, position)
        else:
            self._require_equal(self._build.insert(aot.ElementOp(self._codes, position)).result, code)
            read = aot.FieldOp(self._values, position, "v_handle")
        handle = self._build.insert(read).result
        self._require_some(handle)
        return handle

    def _require_equal(self, value: SSAValue, expected: int) -> None:
        constant = _constant(self._build, expected, value.type)
        equal = _value_of(self._build, arith.CmpiOp, (value, constant), i1, {"predicate": _EQUAL})
        self._build.insert(make(aot.RequireOp, (equal,)))

    def _require_some(self, pointer: SSAValue) -> None:
        build = self._build
        absent = _value_of(build, aot.IsNullOp, (pointer,), i1)
        present = _value_of(build, arith.XOrIOp, (absent, _constant(build, 1, i1)), i1)
        build.insert(make(aot.RequireOp, (present,)))


def return_handle(build: Builder, arguments: Sequence[SSAValue], pointer: SSAValue) -> None:
    """Let the packed function of these arguments return a bare pointer."""
    value = build.insert(aot.PtrCastOp(arguments[3], aot.PtrType(_VALUE))).result
    code = build.insert(aot.PtrCastOp(arguments[4], aot.PtrType(i32))).result
    build.insert(aot.SetFieldOp(value, 0, "v_handle", _as_void(build, pointer)))
    build.insert(aot.SetElementOp(code, 0, _constant(build, HANDLE_CODE, i32)))


def _value_of(
    build: Builder,
    kind: type[Operation],
    operands: Sequence[SSAValue],
    result: Attribute,
    properties: Mapping[str, Attribute] | None = None,
) -> SSAValue:
    """The result of an operation that `build` inserts: a model has hundreds of these for each operator."""
    return build.insert(make(kind, operands, result, properties)).results[0]


def _constant(build: Builder, value: int, kind: Attribute) -> SSAValue:
    assert isinstance(kind, IntegerType)
    return _value_of(build, arith.ConstantOp, (), kind, {"value": number(value, kind)})


def _as_void(build: Builder, pointer: SSAValue | None) -> SSAValue:
    if pointer is None:
        return build.insert(aot.NullOp()).result
    return pointer if pointer.type == aot.VOID_PTR else build.insert(aot.PtrCastOp(pointer, aot.VOID_PTR)).result
