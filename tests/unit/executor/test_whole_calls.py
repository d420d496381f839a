"""Bound calls that are one step of the interpreter: when they are, and that they never meet calls that are not.

The model is written in C: it counts who is inside, waits there when told to, and says the most it saw."""

import ctypes
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

import aotc.executor as executor
from aotc.executor import native, step
from aotc.model.metadata import KernelInfo, ModelInfo, PlanInfo, StateInfo, TensorInfo

SOURCE = """
#include <stdatomic.h>
#include <stdint.h>
static atomic_int inside;
int32_t aotc_busy_run(const int32_t *spin, int32_t *most, int32_t *workspace)
{
    int32_t here = ++inside;
    for (volatile int32_t i = 0; i < *spin; i++) { }
    *most = inside > here ? inside : here;
    workspace[0]++;
    inside--;
    return *spin < 0 ? 7 : 0;
}
int32_t aotc_busy_reset(void *workspace) { *(int32_t *)workspace = 0; return 0; }
"""

INFO = ModelInfo(
    name="busy",
    inputs=(TensorInfo("spin", "spin", "int32", ()),),
    outputs=(TensorInfo("most", "most", "int32", ()),),
    interface_api="c",
    operator_api="unpacked",
    workspace="caller",
    weights="embedded",
    workspace_bytes=64,
    workspace_alignment=64,
    weights_bytes=0,
    io_bytes=8,
    kernels=(KernelInfo("busy_0", ("Busy",), 1),),
    plan=PlanInfo(64, 64, True, 64, (), ()),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("busy")
    (folder / "busy.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(folder / "busy.c"), "-o", str(folder / "busy.so")], check=True)
    return ctypes.CDLL(str(folder / "busy.so"))


def native_model(library: ctypes.CDLL, info: ModelInfo = INFO) -> executor.NativeModel:
    address = ctypes.cast(library.aotc_busy_run, ctypes.c_void_p).value or 0
    reset = ctypes.cast(library.aotc_busy_reset, ctypes.c_void_p).value if info.states else None
    return executor.NativeModel(info, address, owner=library, reset=reset)


def is_whole(bound: step.Step) -> bool:
    return bound._now is not None  # pyright: ignore[reportPrivateUsage]


def spin(count: int) -> np.ndarray:
    return np.array(count, np.int32)


def test_short_calls_are_whole_from_the_second_on(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    model = executor.CompiledModel(native_model(library))
    monkeypatch.setattr(step, "SHORT", float("inf"))
    bound = model.bind(spin(0))
    assert not is_whole(bound)
    assert bound()["most"] == 1 and is_whole(bound)
    assert bound() is bound.outputs and is_whole(bound)
    failing = model.bind(spin(-1))
    for _ in range(2):
        with pytest.raises(executor.RunError, match="failed-run"):
            failing()
    monkeypatch.setattr(step, "SHORT", 0.0)
    bound = model.bind(spin(0))
    bound()
    bound()
    assert not is_whole(bound)


def test_whole_calls_of_many_threads(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SHORT", float("inf"))
    bound = executor.CompiledModel(native_model(library)).bind(spin(20000))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: int(bound()["most"]), range(80))) == {1}
    assert is_whole(bound)


class Entrance:
    """A lock that says when somebody waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.awaited = threading.Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.awaited.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_call_that_waited_is_whole_if_calls_are_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SHORT", float("inf"))
    entrance = Entrance()
    made: list[str] = []

    def in_turn() -> int:
        made.append("in turn")
        return 0 if entrance.awaited.wait(600) else 1

    def whole() -> int:
        made.append("whole")
        return 0

    model, workspaces = Mock(spec=executor.NativeModel), Mock()
    model.info, workspaces.lend.return_value = INFO, (None, entrance)
    model.call_on.return_value, model.whole_call_on.return_value = in_turn, whole
    bound = step.Step(model, workspaces, [spin(0)], [spin(0)], [])
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: bound(), range(2)))
    assert made == ["in turn", "whole"]


STATE = StateInfo("h", "h", "int32", (), offset=0, output="h_next")
OTHERS = {
    "states are one for all calls of the model": replace(INFO, states=(STATE,)),
    "functions found by name may call Python": replace(INFO, operator_api="packed"),
    "kernels from outside may call Python": replace(INFO, kernels=(KernelInfo("k", ("K",), 1, codegen="blas"),)),
    "a static workspace is one for all calls": replace(INFO, workspace="internal"),
}


@pytest.mark.parametrize("why", OTHERS)
def test_calls_that_are_never_whole(library: ctypes.CDLL, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SHORT", float("inf"))
    info = OTHERS[why]
    kept = np.zeros(16, np.int32)
    model = native_model(library, info)
    if info.workspace == "internal":  # the function takes it all the same
        object.__setattr__(model, "_function", Mock(return_value=0))
    workspace = kept.view(np.uint8) if info.workspace == "caller" else None
    if not info.states:
        assert model.whole_call_on([spin(0)], [spin(0)], workspace) is None
    bound = executor.CompiledModel(model).bind(spin(0))
    bound()
    bound()
    assert not is_whole(bound)


def test_copied_inputs_are_copied_while_nobody_runs(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SHORT", float("inf"))
    unaligned = np.zeros(5, np.uint8)[1:].view(np.int32).reshape(())
    bound = executor.CompiledModel(native_model(library)).bind(unaligned)
    bound()
    bound()
    assert not is_whole(bound)


def test_an_interpreter_without_a_lock_has_no_whole_calls(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, workspace = native_model(library), np.zeros(64, np.uint8)
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        assert model.whole_call_on([spin(0)], [spin(0)], workspace) is None
        return
    assert model.whole_call_on([spin(0)], [spin(0)], workspace) is not None
    monkeypatch.setattr(native, "_ONE_AT_A_TIME", False)
    assert model.whole_call_on([spin(0)], [spin(0)], workspace) is None
