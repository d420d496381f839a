"""A process that forks while another thread is inside a call: calls in the child do not wait for that thread."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.compiler.dynamic.model import DynamicModel
from aotc.executor import CompiledModel
from aotc.executor.turns import reentrant_turn

MODEL = onnx.parser.parse_model(
    """<ir_version: 9, opset_import: ["" : 17]> g (float[2, 2] x, float[2, 2] h) => (float[2, 2] y, float[2, 2] next)
    { s = Add(x, h) t = MatMul(s, s) next = MatMul(t, x) y = Neg(next) }"""
)
GIVEN = {"x": np.arange(4, dtype=np.float32).reshape(2, 2), "h": np.ones((2, 2), np.float32)}
SECONDS = 30
"""A child that takes longer hangs."""


def compiled(kind: str, folder: Path) -> tuple[CompiledModel, str]:
    """A model whose calls take turns, and the field of its code that a call is in."""
    match kind:
        case "vm":
            return aotc.compile(MODEL, executor="vm"), "_main"
        case "states":
            return aotc.compile(MODEL, state={"next": "h"}), "_function"
        case "static states":
            aotc.compile_to(MODEL, folder, name="m", emit="shared", state={"next": "h"})
        case _:
            aotc.compile_to(MODEL, folder, name="m", emit="shared")
    return aotc.load(folder / "m.so"), "_function"


def by_call(model: CompiledModel) -> Callable[[], np.ndarray]:
    inputs = {info.name: GIVEN[info.name] for info in model.inputs}
    return lambda: model(inputs)["y"]


def by_run(model: CompiledModel) -> Callable[[], np.ndarray]:
    def call() -> np.ndarray:
        model.set_input(**{info.name: GIVEN[info.name] for info in model.inputs})
        model.run()
        return model.get_output("y")

    return call


def by_step(model: CompiledModel) -> Callable[[], np.ndarray]:
    step = model.bind({info.name: GIVEN[info.name] for info in model.inputs})
    return lambda: step()["y"]


def in_child(check: Callable[[], bool]) -> int:
    """The status in which a child ends that only looks whether something holds."""
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("way", [by_call, by_run, by_step])
@pytest.mark.parametrize("kind", ["vm", "states", "static states", "internal"])
def test_a_child_does_not_wait_for_a_call_in_flight(
    kind: str, way: Callable[[CompiledModel], Callable[[], np.ndarray]], tmp_path: Path
) -> None:
    """States have their first values in it, since those of the call are half written."""
    model, field = compiled(kind, tmp_path)
    native: Any = model._native  # pyright: ignore[reportPrivateUsage]
    entered, go_on, right = threading.Event(), threading.Event(), getattr(native, field)

    def slow(*arguments: Any) -> Any:
        entered.set()
        go_on.wait(SECONDS)
        return right(*arguments)

    both = GIVEN["x"] + (0 if "states" in kind else GIVEN["h"])
    expected = -(both @ both @ GIVEN["x"])
    assert model.metadata.workspace_bytes > 0, "which calls take turns with"
    by_call(model)()  # states have other values than the first
    object.__setattr__(native, field, slow)
    call = way(model)
    thread = threading.Thread(target=call)
    thread.start()
    try:
        assert entered.wait(SECONDS)

        def answers() -> bool:
            go_on.set()
            return np.allclose(call(), expected, rtol=1e-5)

        assert in_child(answers) == 0
    finally:
        go_on.set()
        thread.join()
    if "states" in kind:
        model.reset()
    assert np.allclose(call(), expected, rtol=1e-5), "the parent goes on"


def test_a_lock_of_the_thread_that_forks_stays_its_own() -> None:
    """A compilation for new shapes may fork in `on_compile`."""
    lock = reentrant_turn()
    with lock:
        assert in_child(lambda: lock.acquire(blocking=False) and lock.release() is None and lock.release() is None) == 0


def test_a_child_compiles_for_a_shape_while_another_thread_does() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[n] x) => (float[n] y) { y = Neg(x) }'
    )
    entered, go_on = threading.Event(), threading.Event()

    dynamic = DynamicModel(model)
    dispatcher: Any = dynamic._dispatcher  # pyright: ignore[reportPrivateUsage]
    right = dispatcher._compiled

    def slow(*arguments: Any) -> Any:
        entered.set()
        go_on.wait(SECONDS)
        return right(*arguments)

    dispatcher._compiled = slow
    thread = threading.Thread(target=lambda: dynamic(np.ones(2, np.float32)))
    thread.start()
    try:
        assert entered.wait(SECONDS)

        def answers() -> bool:
            go_on.set()
            return dynamic(np.ones(3, np.float32))["y"].tolist() == [-1, -1, -1]

        assert in_child(answers) == 0
    finally:
        go_on.set()
        thread.join()
