"""Compiled models in Python: calls, bound calls, the module-based runtime interface, timing."""

from aotc.executor.loading import compiled_in_process, load
from aotc.executor.model import CompiledModel
from aotc.executor.native import NativeModel
from aotc.executor.step import RunError, Step
from aotc.executor.timing import Timing
from aotc.model.dlpack import Device, cpu, to_dlpack

__all__ = [
    "CompiledModel",
    "Device",
    "NativeModel",
    "RunError",
    "Step",
    "Timing",
    "compiled_in_process",
    "cpu",
    "load",
    "to_dlpack",
]
