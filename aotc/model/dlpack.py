"""DLPack: types of elements, here by their user-visible names, devices, and tensors that Python packages hand to each
other without copying them. Here is also what tells tensors from bare pointers among packed arguments.

Both directions are here because numpy has them for its own element types only, while models also have bfloat16 and
floats of 8 bits and less. The structures are those of DLPack 1.1 and, for producers that know no versions, 0.8.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from aotc.model.arguments import checks_kinds

CPU: Final = 1
"""The device type of main memory, `kDLCPU`."""

HANDLE_CODE: Final = 3
"""The type code of a packed argument that is a bare pointer (kAOTCOpaqueHandle of aotc_packed.h)."""
TENSOR_CODE: Final = 7
"""The type code of a packed argument that is a DLTensor (kAOTCDLTensorHandle)."""

DLPACK_TYPES: Final[dict[str, tuple[int, int]]] = {
    **{f"int{bits}": (0, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    "bool": (6, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
"""Name -> type code (`DLDataTypeCode` of DLPack 1.1) and bits of an element.

Elements of fewer than 8 bits are padded to a byte each in memory, what DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED says
where there are flags.
"""


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type of a user-visible element type; what numpy does not have is of ml_dtypes."""
    if name in np.sctypeDict:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


_DEVICES = {
    "cpu": CPU,
    "cuda": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "mps": 8,
    "rocm": 10,
    "hip": 10,
    "oneapi": 14,
    "xpu": 14,
    "webgpu": 15,
    "hexagon": 16,
}
"""Types of devices (`DLDeviceType` of dlpack.h) as TVM and PyTorch call them."""


class Device(NamedTuple):
    """Where tensors are; a plain tuple, such as an array's `__dlpack_device__()`, serves as well."""

    device_type: int
    device_id: int = 0


@checks_kinds
def cpu(device_id: int = 0) -> Device:
    """Main memory."""
    return Device(CPU, device_id)


def device_of(given: Any) -> Device:
    """The device that is meant: by None main memory, by a number the processor of that number, by a text "cpu" or
    "cuda:1", or by a tuple, a device of apache-tvm-ffi or of PyTorch. Raises TypeError for anything else."""
    match given:
        case None:
            return cpu()
        case int():
            return cpu(given)
        case str():
            name, _, number = given.partition(":")
            if name in _DEVICES and (number or "0").isdecimal():
                return Device(_DEVICES[name], int(number or 0))
        case (int(kind), int(number)):
            return Device(kind, number)
        case _:
            if hasattr(given, "dlpack_device_type"):
                return Device(int(given.dlpack_device_type()), int(given.index))
            if isinstance(name := getattr(given, "type", None), str):
                return device_of(f"{name}:{getattr(given, 'index', None) or 0}")
    raise TypeError(f'{given!r} is no device: give None, "cpu", a tuple (type, number) as DLPack has it')


Array = np.ndarray[Any, Any]

_VERSION: Final = (1, 1)
_READ_ONLY, _PADDED = 1, 4
"""Flags: not to be written; elements of fewer than 8 bits take a byte each."""
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
"""The names of capsules that nobody has taken the tensor out of."""
_USED: Final = {name: b"used_" + name for name in (_PLAIN, _VERSIONED)}
"""Their name after that. A capsule does not copy its name."""
_NAMES: Final = {described: name for name, described in DLPACK_TYPES.items()}
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLTensor(ctypes.Structure):
    """DLPack's, with the members of its two small structures in line."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _VersionedManaged(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


def _python(name: str, result: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, ctypes.c_char_p)((name, ctypes.pythonapi))


_pointer_of = _python("PyCapsule_GetPointer", ctypes.c_void_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int)
_is_named = _python("PyCapsule_IsValid", ctypes.c_int)


def _in(capsule: object) -> tuple[bytes, _Managed | _VersionedManaged]:
    """The name of a capsule that nobody has taken the tensor out of, and its structure."""
    name, kind = (_VERSIONED, _VersionedManaged) if _is_named(capsule, _VERSIONED) else (_PLAIN, _Managed)
    return name, kind.from_address(_pointer_of(capsule, name))


# --- in --------------------------------------------------------------------------------------------------------------


class _Borrowed:
    """Memory of another package, as numpy's array interface; given back when the last array on it is gone."""

    def __init__(self, managed: _Managed | _VersionedManaged, shape: tuple[int, ...], width: int, writable: bool):
        tensor = managed.tensor
        strides = tuple(tensor.strides[i] * width for i in range(tensor.ndim)) if tensor.strides else None
        self._managed = managed
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": f"|V{width}",
            "data": (tensor.data + tensor.byte_offset, not writable),
            "strides": strides,
        }

    def __del__(self) -> None:
        _give_back(self._managed)


def _give_back(managed: _Managed | _VersionedManaged) -> None:
    if managed.deleter:
        _Deleter(managed.deleter)(ctypes.addressof(managed))


def from_dlpack(value: Any) -> Array:
    """An array on the memory of `value`, anything with `__dlpack__` that is in main memory. Nothing is copied.

    It is read-only where the producer says so, or is too old to say. Raises BufferError where `value` is elsewhere or
    will not be exported, TypeError for elements that numpy and ml_dtypes do not have.
    """
    where = Device(*(int(each) for each in value.__dlpack_device__()))
    if where != cpu():
        raise BufferError(f"a tensor on {where} cannot be read where it is; copy it to main memory, {cpu()}")
    try:
        capsule = value.__dlpack__(max_version=_VERSION)
    except TypeError:  # of before there were versions
        capsule = value.__dlpack__()
    name, managed = _in(capsule)
    if isinstance(managed, _VersionedManaged) and managed.major > _VERSION[0]:
        raise BufferError(f"a tensor of DLPack {managed.major}.{managed.minor}; aotc reads {_VERSION[0]}.x")
    flags = managed.flags if isinstance(managed, _VersionedManaged) else _READ_ONLY
    tensor = managed.tensor
    dtype = _element_type(tensor, flags)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    _rename(capsule, _USED[name])
    if 0 in shape:
        _give_back(managed)
        return np.empty(shape, dtype)
    return np.asarray(_Borrowed(managed, shape, dtype.itemsize, not flags & _READ_ONLY)).view(dtype)


def _element_type(tensor: DLTensor, flags: int) -> np.dtype[Any]:
    described = tensor.code, tensor.bits
    name = _NAMES.get(described)
    if name is None or tensor.lanes != 1:
        raise TypeError(f"elements of DLPack type code {described[0]}, {described[1]} bits, {tensor.lanes} lanes")
    if tensor.bits < 8 and not flags & _PADDED:
        raise TypeError(f"several elements of {name} in a byte; models take one to a byte")
    return dtype_of(name)


# --- out -------------------------------------------------------------------------------------------------------------


class ExportedArray:
    """An array with `__dlpack__` for every element type that models have; see `to_dlpack`."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return cpu()

    def __dlpack__(self, **asked: Any) -> object:
        """numpy's capsule of the bits as unsigned integers, with what they are written into it.

        Keywords are those of the protocol: `stream`, `max_version`, `dl_device`, `copy`.
        """
        code, bits = DLPACK_TYPES[self._array.dtype.name]
        integers = self._array.view(f"u{self._array.itemsize}")
        try:
            capsule = integers.__dlpack__(**asked)
        except TypeError:  # numpy 1, of before there were versions
            capsule = integers.__dlpack__(stream=asked.get("stream"))
        _, managed = _in(capsule)
        if bits < 8:
            if not isinstance(managed, _VersionedManaged):
                raise BufferError("how elements of fewer than 8 bits lie needs flags, which DLPack has from 1.0 on")
            managed.flags |= _PADDED
        managed.tensor.code, managed.tensor.bits = code, bits
        return capsule


@checks_kinds
def to_dlpack(array: Array) -> ExportedArray:
    """`array` for `torch.from_dlpack` and its like, without a copy: what a model returns, of any element type.

    numpy's own `__dlpack__` has no bfloat16 and no floats of 8 bits and less. The memory stays in use until the
    consumer is done with it. Raises TypeError for elements that DLPack does not describe.
    """
    if array.dtype.name not in DLPACK_TYPES:
        raise TypeError(f"DLPack has no elements of type {array.dtype}")
    return ExportedArray(array)
