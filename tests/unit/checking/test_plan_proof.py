"""The proof of memory plans: it holds for what is compiled, and finds every fault that is planted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_cases import CASES
from harness import SCALAR
from onnx import numpy_helper, parser

from aotc.compiler.checking.c_calls import checked_plan, source_of
from aotc.compiler.checking.plan_proof import faults_of, span_of
from aotc.compiler.driver import lower
from aotc.errors import UsageError
from aotc.model.metadata import AccessInfo, BufferInfo, ModelInfo, PlanInfo, TaskInfo, TrailInfo, ValueInfo
from aotc.pipeline.options import CompileOptions


def compiled(model: bytes, **options: Any) -> tuple[ModelInfo, str]:
    given: dict[str, Any] = {"target": SCALAR, **options}
    compilation = lower(model, CompileOptions.of(**given))
    source = source_of(compilation)
    assert source is not None
    return compilation.info(), source


@cache
def residual(**options: Any) -> tuple[ModelInfo, str]:
    """Convolutions in a row, an addition that is in place, and a mean."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1, 4, 12, 10] x) => (float[1, 4, 1, 1] y) <float[4, 4, 3, 3] w> {
            a = Conv<pads = [1, 1, 1, 1]>(x, w)
            b = Conv<pads = [1, 1, 1, 1]>(a, w)
            c = Conv<pads = [1, 1, 1, 1]>(b, w)
            d = Add(c, a)
            e = Conv<pads = [1, 1, 1, 1]>(d, w)
            f = GlobalAveragePool(e)
            y = Tanh(f)
        }"""
    model = parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w"))
    return compiled(model.SerializeToString(), **options)


@pytest.mark.parametrize("options", [{}, {"ram": "min"}, {"io": "workspace", "workspace": "caller"}, {"optimize": "s"}])
def test_what_is_compiled_is_safe(options: dict[str, Any]) -> None:
    info, source = residual(**options)
    calls, faults = checked_plan(info, source)
    assert faults == [] and calls == sum(task.kind == "call" for task in info.plan.tasks) > 0


def test_threads_are_handed_what_the_entry_is_given() -> None:
    """By a table."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[256, 256] x) => (float[256, 256] y) { a = MatMul(x, x) b = MatMul(a, x) y = Softmax(b) }"""
    info, source = compiled(parser.parse_model(text).SerializeToString(), threads=2, workspace="caller")
    assert "arguments[2] = " in source and checked_plan(info, source) == (len(info.plan.tasks), [])
    moved = re.sub(r"(arguments\[\d\]) = workspace;", r"\1 = y;", source)
    assert moved != source and checked_plan(info, moved)[1] != []


def test_outputs_are_known_by_their_places() -> None:
    """C has other names for some of them."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[4] X) => (float[4] Y, float[4] b) { b = Relu(X) Y = Tanh(b) }"""
    info, source = compiled(parser.parse_model(text).SerializeToString())
    assert "*restrict Y" not in source and checked_plan(info, source)[1] == []


def test_an_output_of_no_elements_has_a_byte() -> None:
    """So that it has an address of its own."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[4, 3] x) => (float[4, 3] y, float[0, 3] z) <int64[1] at = {4}, int64[1] n = {9}> {
            a = Relu(x) y = Exp(a) z = Slice(a, at, n) }"""
    info, source = compiled(parser.parse_model(text).SerializeToString())
    assert [each.shape for each in info.outputs] == [(4, 3), (0, 3)] and checked_plan(info, source)[1] == []


def test_a_self_test_has_buffers_more(tmp_path: Path) -> None:
    """In the arena, so that outputs come behind them."""
    np.savez(tmp_path / "in.npz", x=np.ones((1, 4, 12, 10), np.float32))
    info, source = residual(selftest=tmp_path / "in.npz")
    assert [each.name for each in info.plan.buffers if each.name.startswith("selftest_")] == ["selftest_y"]
    assert checked_plan(info, source)[1] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_control_flow_is_safe(case: Any) -> None:
    info, source = compiled(case.model.SerializeToString())
    calls, faults = checked_plan(info, source)
    assert faults == [] and calls > 0


Change = Callable[[PlanInfo], PlanInfo]


def change(name: str, number: int, **members: Any) -> Change:
    """A plan whose buffer, value or task of that number has other members; functions are given what it is."""

    def changed(plan: PlanInfo) -> PlanInfo:
        all_of = list(getattr(plan, name))
        old = all_of[number]
        new = {key: value(old) if callable(value) else value for key, value in members.items()}
        all_of[number] = replace(old, **new)
        return replace(plan, **{name: tuple(all_of)})

    return changed


FAULTS = {
    "an offset": (change("buffers", 1, offset=lambda old: old.offset - 16), "overlap"),
    "an offset that is not aligned": (change("buffers", 0, offset=4), "not aligned"),
    "an offset behind the arena": (change("buffers", 1, offset=1 << 20), "outside of its memory"),
    "a life that ends early": (change("buffers", 0, last=lambda old: old.last - 1), "is in use in tasks"),
    "a life that begins late": (change("buffers", 1, first=lambda old: old.first + 1), "is in use in tasks"),
    "a buffer that is too small": (change("buffers", 0, size=lambda old: old.size - 4), "which has"),
    "a value that is too small": (change("values", 0, size=lambda old: old.size - 4), "which has"),
    "a result over a value that is read later": (change("tasks", 1, in_place=(0,)), "in place"),
    "another order": (lambda plan: replace(plan, tasks=(*plan.tasks[1::-1], *plan.tasks[2:])), "nothing is there yet"),
    "a task that is not there": (lambda plan: replace(plan, tasks=plan.tasks[1:]), "are described"),
    "a value without a buffer": (change("values", 0, buffer=99), "in buffer 99"),
    "a value that nobody writes": (change("tasks", 0, writes=()), "nothing is there yet"),
    "more than the output has": (change("outputs", 0, size=lambda old: old.size + 16), "of y, which has"),
    "a larger arena": (lambda plan: replace(plan, peak_bytes=plan.peak_bytes + 16), "the arena has"),
    "no such kind": (change("tasks", 0, kind="jump"), "of the kind jump"),
    "a branch without tasks": (change("tasks", 0, kind="if"), "has regions of []"),
    "a loop of fewer tasks than none": (change("tasks", 0, kind="loop", regions=(-1,)), "has regions of [-1]"),
    "a trail of nothing": (change("tasks", 0, trails=(TrailInfo(9, 0, 0),)), "behind what it does not read"),
    "a trail above": (
        change("tasks", 1, trails=lambda old: (TrailInfo(0, old.reads[0].value, -64),)),
        "behind what it does not read",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    info, _ = residual()
    changed, says = FAULTS[fault]
    assert any(says in found for found in faults_of(replace(info, plan=changed(info.plan))))


@pytest.mark.parametrize("members", [{"rows": lambda ring: ring.rows + 1}, {"buffer": lambda _: "no"}])
def test_a_ring_that_its_buffer_has_no_room_for_is_found(members: dict[str, Any]) -> None:
    info, _ = residual(ram="min")
    roll = info.plan.rolls[0]
    largest = max(roll.rings, key=lambda ring: ring.rows * ring.row_bytes)
    changed = replace(largest, **{key: value(largest) for key, value in members.items()})
    rings = tuple(changed if ring is largest else ring for ring in roll.rings)
    plan = replace(info.plan, rolls=(replace(roll, rings=rings), *info.plan.rolls[1:]))
    assert any("rows of" in each for each in faults_of(replace(info, plan=plan)))


def test_a_value_that_is_overwritten_is_found() -> None:
    """The addition's result may not take over what a later task reads."""
    info, _ = residual()
    plan = info.plan
    (number,) = [number for number, task in enumerate(plan.tasks) if task.in_place]
    (first,) = [
        read for read in plan.tasks[number].reads if span_of(plan, read) == span_of(plan, plan.tasks[number].writes[0])
    ]
    later = replace(plan.tasks[number + 1], reads=(*plan.tasks[number + 1].reads, first))
    tasks = (*plan.tasks[: number + 1], later, *plan.tasks[number + 2 :])
    buffer = plan.values[first.value].buffer
    lives = change("buffers", buffer, last=number + 1)(replace(plan, tasks=tasks))
    found = faults_of(replace(info, plan=lives))
    assert any("is there" in each or "overlap" in each for each in found), found


@pytest.mark.parametrize(
    ("trails", "says"), [([32], []), ([48], ["overlap", "writes over"]), ([], ["overlap", "over"])]
)
def test_a_result_may_trail_what_is_read_and_no_more(trails: list[int], says: list[str]) -> None:
    """It begins 32 bytes below."""
    buffers = BufferInfo("a", 32, 64, 0, 1, ()), BufferInfo("b", 0, 64, 1, 2, ())
    both = AccessInfo(0, 0, 64), AccessInfo(1, 0, 64)
    behind = tuple(TrailInfo(0, 0, below) for below in trails)
    tasks = TaskInfo((), both[:1]), TaskInfo(both[:1], both[1:], trails=behind), TaskInfo(both[1:])
    values = ValueInfo(0, 64), ValueInfo(1, 64)
    plan = PlanInfo(96, 96, True, 16, ("", "", ""), buffers, values=values, tasks=tasks)
    info, _ = residual()
    found = faults_of(replace(info, plan=plan, workspace_bytes=plan.peak_bytes))
    assert len(found) == len(says) and all(why in each for why, each in zip(says, found, strict=True)), found


def _in_a_loop(*inside: TaskInfo, last: TaskInfo) -> list[str]:
    """Faults of a plan whose values 0, 1 and 2 are in the same place, of which 0 is written, then a loop has tasks, and
    there is one more behind it; but that values overlap."""
    ends = len(inside) + 2
    buffers = tuple(BufferInfo(name, 0, 16, 0, ends, ()) for name in "abc")
    tasks = (TaskInfo((), (_A,)), TaskInfo(kind="loop", regions=(len(inside),)), *inside, last)
    values = tuple(ValueInfo(number, 16) for number in range(3))
    plan = PlanInfo(16, 16, True, 16, ("",) * len(tasks), buffers, values=values, tasks=tasks)
    info, _ = residual()
    found = faults_of(replace(info, plan=plan, outputs=(), workspace_bytes=plan.peak_bytes))
    return [each for each in found if "overlap" not in each]


_A, _B, _C = (AccessInfo(number, 0, 16) for number in range(3))


def test_what_a_loop_overwrites_is_found() -> None:
    """Behind it, and in the next iteration; but what only an iteration has is new in each, and it may have none."""
    writes = TaskInfo((), (_B,)), TaskInfo((_B,), ()), TaskInfo((), (_C,)), TaskInfo((_C,), ())
    assert _in_a_loop(*writes, last=TaskInfo()) == []
    assert _in_a_loop(*writes[:2], last=TaskInfo((_B,), ())) == []
    assert _in_a_loop(*writes, last=TaskInfo((_A,), ())) == ["task 6 reads value 0 of a: value 2 of c is there"]
    assert _in_a_loop(*writes, last=TaskInfo((_B,), ())) != []
    again = TaskInfo((_A,), ()), TaskInfo((), (_B,)), TaskInfo((_B,), ())
    assert _in_a_loop(*again, last=TaskInfo()) == ["task 2 reads value 0 of a: another value is there"]


def test_two_results_in_one_place_are_found() -> None:
    """But where both are parts of one value."""
    both = _in_a_loop(TaskInfo((), (_A, _B)), last=TaskInfo())
    assert both == ["task 2 writes two results to one place"]
    assert _in_a_loop(TaskInfo((), (_B, _B)), last=TaskInfo()) == []


def _moved(source: str, info: ModelInfo) -> str:
    """Another offset of the last buffer that has one."""
    offset = max(buffer.offset for buffer in info.plan.buffers)
    assert f"workspace[{offset}]" in source
    return source.replace(f"workspace[{offset}]", f"workspace[{offset - 16}]")


C_FAULTS: dict[str, tuple[Callable[[str, ModelInfo], str], str]] = {
    "an offset": (_moved, "the plan says the arena at"),
    "an array that is too small": (
        lambda text, info: text.replace(
            f"workspace[{info.workspace_bytes}];", f"workspace[{info.workspace_bytes - 4}];"
        ),
        "in C, the plan takes",
    ),
    "an array that is less aligned": (
        lambda text, _: re.sub(r"AOTC_ALIGNED\(\d+\) uint8_t", "AOTC_ALIGNED(4) uint8_t", text),
        "in C, the plan takes",
    ),
    "pointers that are promised to be alone": (
        lambda text, _: re.sub(r"float \*(?=\w)", "float *restrict ", text),
        "do not overlap",
    ),
    "a result that is constant": (
        lambda text, _: text.replace("float *restrict out", "const float *restrict out"),
        "places",
    ),
}


@pytest.mark.parametrize("fault", C_FAULTS)
def test_a_fault_in_the_c_is_found(fault: str) -> None:
    info, source = residual()
    planted, says = C_FAULTS[fault]
    text = planted(source, info)
    assert text != source
    assert any(says in found for found in checked_plan(info, text)[1])


def test_a_kernel_that_touches_more_than_the_plan_has_is_found() -> None:
    info, source = residual()
    first = info.kernels[0]
    grown = replace(first, outputs=(replace(first.outputs[0], shape=(*first.outputs[0].shape, 2)), *first.outputs[1:]))
    found = checked_plan(replace(info, kernels=(grown, *info.kernels[1:])), source)[1]
    assert any("the plan has" in each for each in found)


def test_the_c_of_another_model_is_refused() -> None:
    info, _ = residual()
    with pytest.raises(UsageError, match=r"is not that of the plan.*\[invalid-file\]"):
        checked_plan(info, "int f(void)\n{\n}\n")
