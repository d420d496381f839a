"""How the entry of each `--interface-api` is called from Python; docs/abi.md has the C side."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from aotc.model.dlpack import CPU, DLPACK_TYPES, HANDLE_CODE, TENSOR_CODE
from aotc.model.dlpack.exchange import Array, DLTensor

Arrays = Sequence[Array]


def address_of(array: Array) -> int:
    """Where the array's first element is."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):  # read-only, or empty; the general way takes five times as long
        return array.ctypes.data


Encode: TypeAlias = Callable[[Arrays, Arrays, Arrays], Sequence[Any]]
"""`encode(inputs, outputs, from_caller)` are the arguments of an entry as ctypes values, where `from_caller` are the
workspace and the weights it takes from its caller. They keep their own structures alive, not the arrays."""


def _pointers(arrays: Iterable[Array]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(address_of(array)) for array in arrays]


# `int32_t f(x0 *, ..., y0 *, ..., [void *workspace], [const void *weights])`


def _typed(inputs: Arrays, outputs: Arrays, from_caller: Arrays) -> Sequence[Any]:
    return _pointers((*inputs, *outputs, *from_caller))


# `int32_t f(void **inputs, void **outputs, void *resource_handle)`: what is the caller's stands behind the inputs


def _micro(inputs: Arrays, outputs: Arrays, from_caller: Arrays) -> Sequence[Any]:
    sides = (_pointers((*inputs, *from_caller)), _pointers(outputs))
    return *((ctypes.c_void_p * len(side))(*side) for side in sides), None


# `int32_t f(void *args, void *type_ids, int32_t num_args, void *ret_value, void *ret_tcode, void *resource_handle)`


def _dltensor(array: Array) -> DLTensor:
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    code, bits = DLPACK_TYPES[array.dtype.name]
    return DLTensor(address_of(array), CPU, 0, array.ndim, code, bits, 1, shape, None, 0)


def _packed(inputs: Arrays, outputs: Arrays, from_caller: Arrays) -> Sequence[Any]:
    tensors = [ctypes.pointer(_dltensor(array)) for array in (*inputs, *outputs)]
    handles = [ctypes.cast(pointer, ctypes.POINTER(DLTensor)) for pointer in _pointers(from_caller)]
    count = len(tensors) + len(handles)
    values = (ctypes.POINTER(DLTensor) * count)(*tensors, *handles)
    codes = (ctypes.c_int32 * count)(*[TENSOR_CODE] * len(tensors), *[HANDLE_CODE] * len(handles))
    return values, codes, count, ctypes.pointer(ctypes.c_int64()), ctypes.pointer(ctypes.c_int32()), None


CONVENTIONS: dict[str, Encode] = {"c": _typed, "micro": _micro, "packed": _packed}
"""By `--interface-api`."""
