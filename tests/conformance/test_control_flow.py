"""If, Loop and Scan by every route, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from control_cases import CASES, Case
from harness import assert_close, assert_same_bits, by_every_route, reference
from onnx import save
from onnx.parser import parse_model
from quick_c import open_quickly
from random_control import random_model

import aotc
from aotc.measuring.profiling import compile_profiled
from aotc.model.metadata import BufferInfo
from aotc.pipeline.options import CompileOptions


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_onnxruntime(case: Case, tmp_path: Path) -> None:
    proto = case.model
    ways = by_every_route(proto, tmp_path)
    for feed in case.feeds:
        expected = reference(proto, feed)
        assert expected is not None
        found = {how: compiled(feed) for how, compiled in ways.items()}
        for how, outputs in found.items():
            for (name, value), wanted in zip(outputs.items(), expected, strict=True):
                assert_close(f"{name} {how}", value, wanted)
        assert_same_bits(found)


ENDED_BY_DATA = """<ir_version: 10, opset_import: ["" : 17]>
g (float[4] a, float limit) => (float[N, 4] all, float[4] last) <bool yes = {1}, int64 most = {9}> {
    last, all = Loop (most, yes, a) <
        body = b (int64 i, bool k, float[4] v) => (bool k2, float[4] w, float[4] s) {
            w = Add(v, a)  t = ReduceSum<keepdims=0>(w)  k2 = Less(t, limit)  s = Neg(w)
        }
    >
}"""


def test_what_a_loop_stacks_that_data_end(tmp_path: Path) -> None:
    proto = parse_model(ENDED_BY_DATA)
    ways = by_every_route(proto, tmp_path)
    for limit in (1000, 22.5, 9, -1):  # what the longest left behind is not read
        feed = {"a": np.array([0.5, 1, 1.5, 2], np.float32), "limit": np.array(limit, np.float32)}
        expected = reference(proto, feed)
        assert expected is not None
        found = {how: compiled(feed) for how, compiled in ways.items()}
        for how, outputs in found.items():
            count = int(outputs["all_count"])
            assert_close(f"all {how}", outputs["all"][:count], expected[0])
            assert_close(f"last {how}", outputs["last"], expected[1])
            assert not outputs["all"][count:].any()
        assert_same_bits(found)


@pytest.mark.parametrize(
    "options",
    [
        {"interface_api": "packed", "operator_api": "packed", "workspace": "caller", "weights": "caller"},
        {"interface_api": "packed", "operator_api": "cpacked"},
        {"interface_api": "micro"},
        {"resource_handle": True, "workspace": "caller"},
        {"interface_api": "packed", "operator_api": "unpacked", "threads": 2},
        {"optimize": "s", "export_operators": True},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
@pytest.mark.parametrize("route", ["shared", "c"])
def test_by_every_convention(options: dict[str, object], route: str, tmp_path: Path) -> None:
    case = next(each for each in CASES if each.name == "everything at once")
    save(case.model, tmp_path / "model.onnx")
    compiled = open_quickly(str(tmp_path / "model.onnx"), route, CompileOptions.of(**options))
    for feed in case.feeds:
        expected = reference(case.model, feed)
        assert expected is not None
        for (name, value), wanted in zip(compiled(feed).items(), expected, strict=True):
            assert_close(name, value, wanted)


def test_profiles_count_the_calls_of_iterations() -> None:
    case = next(each for each in CASES if each.name == "loop with a count at run time")
    profiled = compile_profiled(case.model, CompileOptions())
    for count in (0, 7):
        profiled.counters[:] = 0
        profiled.model({"n": np.array(count), "x": np.ones(5, np.float32)})
        copy, *inside = profiled.times()
        assert copy == 1 and inside and set(inside) == {count}
        assert all((ticks > 0) == (count > 0) for ticks in profiled.counters[1 : len(profiled.calls)])


def test_the_plan_has_the_steps_of_regions() -> None:
    case = next(each for each in CASES if each.name == "if with captures")
    plan = aotc.compile(case.model, optimize=0).metadata.plan
    (branch,) = (number for number, step in enumerate(plan.order) if step == "If_1")
    inside = [step for step in plan.order if step.startswith("If_1/")]
    assert inside and plan.order.index(inside[0]) == branch + 1
    for one in plan.buffers:
        for other in plan.buffers:
            apart = one.last < other.first or other.last < one.first
            assert one is other or apart or not _overlap(one, other)


def _overlap(one: BufferInfo, other: BufferInfo) -> bool:
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size


@pytest.mark.parametrize("seed", range(8))
def test_random_control_flow(seed: int, tmp_path: Path) -> None:
    proto, feeds = random_model(seed)
    save(proto, tmp_path / "model.onnx")
    ways = {
        "by definition": aotc.compile(proto, optimize=0),
        "in the workspace": aotc.compile(proto, io="workspace"),
        "by threads": aotc.compile(proto, threads=2),
        "by C": open_quickly(str(tmp_path / "model.onnx"), "c", CompileOptions.of(optimize="s")),
    }
    for feed in feeds:
        expected = reference(proto, feed)
        assert expected is not None
        for how, compiled in ways.items():
            known = {tensor.name for tensor in compiled.inputs}
            found = compiled({name: value for name, value in feed.items() if name in known})
            for (name, value), wanted in zip(found.items(), expected, strict=True):
                np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4, err_msg=f"{name} {how}")
