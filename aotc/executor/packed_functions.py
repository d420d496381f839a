"""The packed functions of a loaded model, for whoever calls its operators one by one: the virtual machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

from aotc.errors import UsageError
from aotc.executor.conventions import CONVENTIONS, Array
from aotc.executor.native import NativeModel
from aotc.executor.step import RunError


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
