"""Devices as DLPack counts them; there is one."""

from __future__ import annotations

from typing import Any, NamedTuple

from aotc.model.arguments import checks_kinds
from aotc.model.dlpack import CPU

_NAMES = {
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
            if name in _NAMES and (number or "0").isdecimal():
                return Device(_NAMES[name], int(number or 0))
        case (int(kind), int(number)):
            return Device(kind, number)
        case _:
            if hasattr(given, "dlpack_device_type"):
                return Device(int(given.dlpack_device_type()), int(given.index))
            if isinstance(name := getattr(given, "type", None), str):
                return device_of(f"{name}:{getattr(given, 'index', None) or 0}")
    raise TypeError(f'{given!r} is no device: give None, "cpu", a tuple (type, number) as DLPack has it')
