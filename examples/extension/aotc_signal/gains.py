"""A loader and an inspector of artefacts: gains, kept as JSON, that become packed functions by name."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from math import prod
from typing import Any

from aotc import Artifact

PACKED = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, ctypes.c_int32, *[ctypes.c_void_p] * 3)
"""`int32_t f(args, type_codes, n, ret_value, ret_code, resource_handle)`"""


class _Tensor(ctypes.Structure):
    """The head of a DLTensor."""

    _fields_ = (
        ("data", ctypes.POINTER(ctypes.c_float)),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    )


def load(artifacts: Sequence[Artifact]) -> dict[str, Any]:
    """A function for each gain, which multiplies the elements of one float32 tensor in place."""
    gains = {name: gain for artifact in artifacts for name, gain in json.loads(artifact.read()).items()}
    return {name: _function(gain) for name, gain in gains.items()}


def _function(gain: float) -> Any:
    def scale(args: int, codes: int, count: int, value: int, code: int, handle: int) -> int:
        if count != 1:
            return -1
        tensor = ctypes.cast(args, ctypes.POINTER(ctypes.POINTER(_Tensor)))[0][0]
        for index in range(prod(tensor.shape[: tensor.ndim])):
            tensor.data[index] *= gain
        return 0

    return PACKED(scale)


def show(artifact: Artifact) -> str:
    """One gain a line, in decibels."""
    from math import log10

    return "\n".join(f"{name} {20 * log10(gain):+.1f} dB" for name, gain in json.loads(artifact.read()).items())
