"""Devices as DLPack counts them; there is one."""

from __future__ import annotations

from typing import NamedTuple

from aotc.model.dlpack import CPU


class Device(NamedTuple):
    """Where tensors are; a plain pair, such as an array's `__dlpack_device__()`, serves as well."""

    device_type: int
    device_id: int = 0


def cpu(device_id: int = 0) -> Device:
    """Main memory."""
    return Device(CPU, device_id)
