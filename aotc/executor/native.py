"""Native code of a model, wherever it came from: an entry address, what it computes, and what keeps it in memory."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from aotc.errors import UsageError
from aotc.executor.turns import turn
from aotc.model.dlpack import CPU, DLPACK_TYPES, HANDLE_CODE, TENSOR_CODE, Array, DLTensor
from aotc.model.metadata import ModelInfo

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


Call = Callable[[], int]
"""Runs the model once on fixed buffers; returns its status, 0 when done."""

CACHE_LINE = 64

MOST_ARGUMENTS = 1024
"""Of a function that ctypes calls."""


def aligned_bytes(size: int, alignment: int = CACHE_LINE) -> Array:
    """`size` uninitialised bytes at an address that is a multiple of `alignment` and of a cache line."""
    alignment = max(alignment, CACHE_LINE)
    memory = np.empty(size + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + size]


def _aligned(size: int, alignment: int) -> int:
    """As many bytes, 1 at least, as a multiple of the alignment."""
    return -(-max(1, size) // alignment) * alignment


_ONE_AT_A_TIME: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether the interpreter runs one Python thread at a time."""

_LOCKS: WeakValueDictionary[int, threading.Lock] = WeakValueDictionary()
"""By entry address, as long as somebody may call it: a library that is loaded twice still has one static workspace."""

_NOTHING = aligned_bytes(1)
"""Stands for weights where there are none."""


@dataclass(frozen=True)
class NativeModel:
    """The state that all instances of a model share: code and weights. Immutable, safe to share between threads.

    `address` is the entry function in the convention of `info.interface_api`; `weights` the blob, or with
    `info.weight_offsets` the table of addresses, that a model with `info.weights == "caller"` is given at each call;
    `owner` keeps the code (an engine, a library) in memory; `added` are functions that the code calls and nobody else
    keeps; `reset` is the address of the function that resets what the workspace keeps, if it keeps anything;
    `find` has the addresses of exported symbols, and raises KeyError for any other.
    """

    info: ModelInfo
    address: int
    weights: Array | None = None
    owner: object = None
    added: Sequence[object] = ()
    reset: int | None = None
    find: Callable[[str], int] = dict[str, int]().__getitem__
    _function: Callable[..., int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        info = self.info
        if info.interface_api not in CONVENTIONS:
            known = ", ".join(CONVENTIONS)
            raise ValueError(f"{info.name} has a {info.interface_api!r} entry; the executor calls {known}")
        if info.io != "caller":
            why = "the executor has no way to its inputs and outputs, which are in its workspace"
            raise ValueError(f"{info.name} cannot be called: {why}; compile it with io='caller'")
        count = len(info.inputs) + len(info.outputs) + 2
        if info.interface_api == "c" and count > MOST_ARGUMENTS:
            why = f"its entry has an argument for each input and output, and Python passes {MOST_ARGUMENTS} at most"
            fix = 'aotc.build(.., interface_api="micro").load() passes them in two arrays'
            raise UsageError("not-callable", f"{info.name} cannot be called", why, fix)
        # Without argument types: `encode` makes ctypes values, and converting each at each call takes longer.
        object.__setattr__(self, "_function", ctypes.CFUNCTYPE(ctypes.c_int32)(self.address))
        if (self.reset is None) == info.is_stateful:
            raise ValueError(f"{info.name} has a function that resets what is kept just where nothing is")
        given = 0 if self.weights is None else self.weights.nbytes
        if info.weights == "caller" and not info.weight_offsets and given < info.weights_bytes:
            raise ValueError(f"{info.name} takes {info.weights_bytes} bytes of weights from its caller, got {given}")

    def symbol(self, name: str) -> int | None:
        """The address of an exported symbol; None for any other."""
        try:
            return self.find(name)
        except KeyError:
            return None

    def new_workspace(self) -> Array | None:
        """Memory for one instance's intermediate values, where the model takes it from its caller."""
        if self.info.workspace != "caller":
            return None
        alignment = self.info.workspace_alignment
        return aligned_bytes(sum(_aligned(size, alignment) for size in self._arenas), alignment)

    @property
    def _arenas(self) -> Sequence[int]:
        """The bytes of each pointer by which the model is given its workspace."""
        return list(self.info.plan.arenas.values()) if self.info.plan.pools else [self.info.workspace_bytes]

    def _arrays_in(self, workspace: Array) -> list[Array]:
        """The workspace, or of one in pools each of these."""
        found: list[Array] = []
        for size in self._arenas:
            end = _aligned(size, self.info.workspace_alignment)
            found.append(workspace[:end])
            workspace = workspace[end:]
        return found

    def call_on(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> Call:
        """A call on these buffers, which must stay alive as long as it does. One thread at a time per workspace. What
        comes by rows is handed over so."""
        if self.info.streamed is None:
            return self._on(self._function, self._arguments(inputs, outputs, workspace), workspace)
        return self._on(self._pushed(inputs, outputs, workspace), (), workspace)

    def push_on(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> Call:
        """As `call_on`, where of the input that comes by rows there are the next ones; its status is 1 where outputs
        are there."""
        return self._on(self._function, self._arguments(inputs, outputs, workspace), workspace)

    def _pushed(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> Call:
        """All rows of the input that comes by rows, one push after the other."""
        streamed = self.info.streamed
        assert streamed is not None and streamed.rows is not None
        rows = streamed.rows
        place = self.info.inputs.index(streamed)
        whole = inputs[place].reshape((rows.count, -1))
        leading, row = streamed.shape[: rows.axis], streamed.shape[rows.axis + 1 :]
        pushes: list[Call] = []
        for first in range(0, rows.count, rows.most):
            some = whole[first : first + rows.most]
            given = [*inputs[:place], some.reshape((*leading, len(some), *row)), *inputs[place + 1 :]]
            pushes.append(partial(self._function, *self._arguments(given, outputs, workspace)))

        def call() -> int:
            status = 1
            for push in pushes:
                if (status := push()) not in (0, 1):
                    return status
            return status - 1

        return call

    def whole_call_on(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> Call | None:
        """`call_on` as one step of the interpreter: no other Python thread runs until it returns, so that calls need no
        lock. None where the interpreter has no lock, where all calls share a static workspace, and where
        functions from outside are called, which may call Python."""
        info = self.info
        outside = info.operator_api == "packed" or any(kernel.codegen for kernel in info.kernels)
        if not _ONE_AT_A_TIME or outside or info.streamed is not None or (workspace is None and info.workspace_bytes):
            return None
        function = ctypes.PYFUNCTYPE(ctypes.c_int32)(self.address)
        return partial(function, *self._arguments(inputs, outputs, workspace))

    def _arguments(
        self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None
    ) -> Sequence[ctypes.c_void_p]:
        from_caller = [] if workspace is None else self._arrays_in(workspace)
        if self.info.weights == "caller":
            from_caller.append(_NOTHING if self.weights is None else self.weights)
        encoded = CONVENTIONS[self.info.interface_api](inputs, outputs, from_caller)
        if (
            self.info.interface_api == "c"
            and (streamed := self.info.streamed) is not None
            and streamed.rows is not None
        ):
            place = self.info.inputs.index(streamed)
            rows = ctypes.c_int32(inputs[place].shape[streamed.rows.axis])
            encoded = [*encoded[: place + 1], rows, *encoded[place + 1 :]]
        return encoded

    def reset_on(self, workspace: Array | None) -> Call:
        """A call that resets what a workspace keeps. Only where it keeps something."""
        assert self.reset is not None
        function = ctypes.CFUNCTYPE(ctypes.c_int32)(self.reset)
        return self._on(function, [] if workspace is None else _pointers(self._arrays_in(workspace)), workspace)

    def _on(self, function: Callable[..., int], arguments: Sequence[Any], workspace: Array | None) -> Call:
        if workspace is not None or self.info.workspace_bytes == 0:
            return partial(function, *arguments)
        return _alone(function, arguments, _LOCKS.setdefault(self.address, turn()))


def _alone(function: Callable[..., int], arguments: Sequence[Any], lock: threading.Lock) -> Call:
    """A call while no other instance runs: the model's own workspace is one static array."""
    acquire, release = lock.acquire, lock.release  # `with lock` takes twice as long

    def call() -> int:
        acquire()
        try:
            return function(*arguments)
        finally:
            release()

    return call
