"""The metadata of a module's functions, as `get_model_metadata` of a packed library returns it (docs/abi.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aotc.errors import UsageError
from aotc.executor.native import CONVENTIONS, Array, NativeModel
from aotc.executor.step import RunError
from aotc.model.conventions import model_symbol
from aotc.model.dlpack import DLPACK_TYPES, HANDLE_CODE
from aotc.model.metadata import METADATA_VERSION, BufferArgument, KernelInfo, ModelInfo, PlanInfo, TensorInfo

_NAMES: Final = {described: name for name, described in DLPACK_TYPES.items()}


@dataclass(frozen=True)
class ParameterInfo:
    """An input or output: its name in the ONNX model, for an operator in its C; the same as a C identifier, shape and
    dtype."""

    relay_name_hint: str
    tir_name_hint: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class FunctionInfo:
    """A function: its symbol, its parameters (inputs, then outputs; those of an operator with its scratch memory, and
    none where it serves calls of several shapes), and sizes in bytes of its workspace, of its inputs and outputs, and
    of its constants."""

    function_name: str
    params: tuple[ParameterInfo, ...]
    num_inputs: int
    num_outputs: int
    workspace_size_bytes: int
    io_size_bytes: int
    constant_size_bytes: int


@dataclass(frozen=True)
class ModuleMetadata:
    """A module: the version of this structure, its functions (the entry, then the operators), its name."""

    version: int
    functions: tuple[FunctionInfo, ...]
    module_name: str

    @property
    def name(self) -> str:
        """The model's name."""
        return self.module_name

    @property
    def inputs(self) -> tuple[ParameterInfo, ...]:
        """The inputs of the entry."""
        return self.functions[0].params[: self.functions[0].num_inputs]

    @property
    def outputs(self) -> tuple[ParameterInfo, ...]:
        """The outputs of the entry."""
        return self.functions[0].params[self.functions[0].num_inputs :]


def module_metadata(native: NativeModel) -> ModuleMetadata:
    """The metadata of a model: of a packed library what it returns itself. Raises RunError where it fails at that,
    UsageError where that is of another version."""
    descriptor = native.symbol(model_symbol(native.info.name, "packed"))
    return described(native.info) if descriptor is None else _returned(native.info.name, descriptor)


def described(info: ModelInfo) -> ModuleMetadata:
    """The metadata as the model's JSON has it."""
    params = tuple(ParameterInfo(t.name, t.symbol, t.shape, t.dtype) for t in info.tensors)
    sizes = info.workspace_bytes, info.io_bytes, info.weights_bytes
    symbol = info.entry()
    functions = [FunctionInfo(symbol, params, len(info.inputs), len(info.outputs), *sizes)]
    for kernel in info.kernels:
        buffers = *kernel.inputs, *kernel.outputs
        params = tuple(ParameterInfo(each.name, each.name, each.shape, each.dtype) for each in buffers)
        sizes = kernel.workspace_bytes, kernel.io_bytes, kernel.constant_bytes
        functions.append(FunctionInfo(kernel.symbol, params, len(kernel.inputs), len(kernel.outputs), *sizes))
    return ModuleMetadata(METADATA_VERSION, tuple(functions), info.name)


_CALLER_WORKSPACE, _CALLER_WEIGHTS = 1, 2
"""Bits of a descriptor's `caller_memory`."""
_CACHE_LINE: Final = 64
"""The alignment of memory for a model that does not say which it wants."""


def info_of(descriptor: int) -> ModelInfo:
    """The metadata in the tables of a packed model, without NAME.json: not its plan, nodes and quantisation.

    Raises RunError where its `get_model_metadata` fails, UsageError where they are of another version.
    """
    head = _Model.from_address(descriptor)
    found = _returned("the model", descriptor)
    entry, *operators = found.functions

    def tensors(params: Sequence[ParameterInfo]) -> tuple[TensorInfo, ...]:
        return tuple(TensorInfo(each.relay_name_hint, each.tir_name_hint, each.dtype, each.shape) for each in params)

    named = {function.function_name for function in operators} & set(_names(head))
    return ModelInfo(
        name=found.module_name,
        inputs=tensors(found.inputs),
        outputs=tensors(found.outputs),
        interface_api="packed",
        operator_api="packed" if named else "unpacked",
        workspace="caller" if head.caller_memory & _CALLER_WORKSPACE else "internal",
        weights="caller" if head.caller_memory & _CALLER_WEIGHTS else "embedded",
        workspace_bytes=entry.workspace_size_bytes,
        workspace_alignment=_CACHE_LINE,
        weights_bytes=entry.constant_size_bytes,
        io_bytes=entry.io_size_bytes,
        kernels=tuple(_kernel(each) for each in operators),
        plan=PlanInfo(entry.workspace_size_bytes, 0, False, _CACHE_LINE, (), ()),
    )


def _kernel(operator: FunctionInfo) -> KernelInfo:
    buffers = tuple(BufferArgument(each.tir_name_hint, each.dtype, each.shape) for each in operator.params)
    sizes = operator.workspace_size_bytes, operator.io_size_bytes, operator.constant_size_bytes
    first_output = operator.num_inputs
    return KernelInfo(
        operator.function_name, (), 0, *sizes, inputs=buffers[:first_output], outputs=buffers[first_output:]
    )


# --- the tables of aotc_packed.h -------------------------------------------------------------------------------------


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("symbol", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Function(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("params", ctypes.POINTER(_Parameter)),
        ("num_inputs", ctypes.c_int32),
        ("num_outputs", ctypes.c_int32),
        ("workspace", ctypes.c_int64),
        ("io", ctypes.c_int64),
        ("constants", ctypes.c_int64),
    )


class _Metadata(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int32),
        ("functions", ctypes.POINTER(_Function)),
        ("name", ctypes.c_char_p),
        ("num_functions", ctypes.c_int32),
    )


class _Entry(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p))


class _Model(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("num_inputs", ctypes.c_uint32),
        ("num_outputs", ctypes.c_uint32),
        ("caller_memory", ctypes.c_uint32),
        ("metadata", ctypes.POINTER(_Metadata)),
        ("functions", ctypes.POINTER(_Entry)),
    )


_Packed = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32),
    *(ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int32), ctypes.c_void_p),
)
_GETTER: Final = b"get_model_metadata"


def _returned(name: str, descriptor: int) -> ModuleMetadata:
    """The result of the packed function `get_model_metadata` in the table of `descriptor`."""
    head = _Model.from_address(descriptor)
    names = _names(head)
    if _GETTER.decode() not in names:
        raise RunError("not-callable", f"{name} has no packed function {_GETTER.decode()}")
    table, place = head.functions, names.index(_GETTER.decode())
    value, code = ctypes.c_void_p(), ctypes.c_int32(-1)
    status = _Packed(table[place].function)(None, None, 0, ctypes.byref(value), ctypes.byref(code), None)
    if status or code.value != HANDLE_CODE or not value.value:
        raise RunError("failed-run", f"{_GETTER.decode()} of {name} returned {status}, type code {code.value}")
    found = _Metadata.from_address(value.value)
    if found.version != METADATA_VERSION:
        what, why = (
            f"the metadata of {name} have version {found.version}",
            f"this aotc reads version {METADATA_VERSION}",
        )
        raise UsageError("unsupported-version", what, why, "compile the model again")
    functions = tuple(_function(found.functions[i]) for i in range(found.num_functions))
    return ModuleMetadata(found.version, functions, found.name.decode())


def _names(model: _Model) -> list[str]:
    """The names in the table of packed functions, in order."""
    names: list[str] = []
    while (name := model.functions[len(names)].name) is not None:
        names.append(name.decode())
    return names


def _function(row: Any) -> FunctionInfo:
    count = row.num_inputs + row.num_outputs if row.params else 0
    params = tuple(_parameter(row.params[i]) for i in range(count))
    sizes = row.workspace, row.io, row.constants
    return FunctionInfo(row.name.decode(), params, row.num_inputs, row.num_outputs, *sizes)


def _parameter(row: Any) -> ParameterInfo:
    shape = tuple(row.shape[i] for i in range(row.ndim))
    return ParameterInfo(row.name.decode(), row.symbol.decode(), shape, _NAMES[row.code, row.bits])


def packed_functions(native: NativeModel) -> dict[str, Callable[..., None]]:
    """Each exported operator of a model with packed ones, by its symbol; it takes tensors, its results last, and raises
    RunError where they are not what it was compiled for. Raises UsageError where there are none."""
    found: dict[str, Callable[..., None]] = {}
    for kernel in native.info.kernels:
        address = native.symbol(kernel.symbol)
        if address is not None and native.info.operator_api in ("cpacked", "packed"):
            found[kernel.symbol] = partial(_call, native, kernel.symbol, ctypes.CFUNCTYPE(ctypes.c_int32)(address))
    if not found:
        why = "its operators are not packed, or not exported"
        fix = "compile it with interface_api='packed', operator_api='cpacked', export_operators=True"
        raise UsageError("not-callable", f"{native.info.name} has no packed functions", why, fix)
    return found


def _call(native: NativeModel, name: str, function: Callable[..., int], *tensors: Array) -> None:
    """Call `function`, which is in the library of `native`."""
    if wrong := [each for each in tensors if not each.flags.c_contiguous]:
        raise ValueError(f"{name} takes contiguous tensors, not one with strides {wrong[0].strides}")
    if status := function(*CONVENTIONS["packed"](tensors, (), ())):
        given = ", ".join(f"{each.dtype}{list(each.shape)}" for each in tensors)
        raise RunError("failed-run", f"{name} returned {status}", f"it was given {given}")
