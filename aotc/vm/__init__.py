"""The virtual machine: executables in bytecode, their builder, what runs them. Nothing here needs the compiler.

ib = ExecBuilder()
with ib.function("main", num_inputs=2):
    ib.emit_call("vm.builtin.add", [ib.r(0), ib.r(1)], dst=ib.r(2))
    ib.emit_ret(ib.r(2))
VirtualMachine(ib.get())["main"](3, 4)      7
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aotc.model.dlpack import DLPACK_TYPES, dtype_of
from aotc.vm.builder import ExecBuilder, Label
from aotc.vm.builtins import register
from aotc.vm.errors import OperandError, UnusedInputWarning, VMError
from aotc.vm.executable import Executable, VMFunction
from aotc.vm.machine import VirtualMachine
from aotc.vm.values import Allocator, Place, ShapeTuple, Storage, VMState

__all__ = [
    "Allocator",
    "ExecBuilder",
    "Executable",
    "Label",
    "OperandError",
    "Place",
    "ShapeTuple",
    "Storage",
    "UnusedInputWarning",
    "VMError",
    "VMFunction",
    "VMState",
    "VirtualMachine",
    "dtype",
    "place",
    "register",
    "tensor",
]


def dtype(name: str) -> np.dtype[Any]:
    """A data type by name, also one that only ml_dtypes has. Raises ValueError."""
    if name not in DLPACK_TYPES:
        raise ValueError(f"no data type {name!r}; there are {', '.join(DLPACK_TYPES)}")
    return dtype_of(name)


def place(offset: int, name: str, shape: Sequence[int]) -> Place:
    """A tensor at byte `offset` of the workspace. Raises ValueError."""
    kind = dtype(name)
    if offset < 0 or offset % kind.itemsize:
        raise ValueError(f"byte {offset} of the workspace is no place for {name}")
    return Place(offset, kind, ShapeTuple(shape))


def tensor(name: str, shape: Sequence[int], content: str) -> np.ndarray[Any, Any]:
    """A tensor of its bytes in hexadecimal, as `Executable.aspython` writes it."""
    return np.frombuffer(bytes.fromhex(content), np.uint8).view(dtype(name)).reshape(shape)
