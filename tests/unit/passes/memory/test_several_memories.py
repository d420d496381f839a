"""Buffers in several memories: options, results by every route, and what files say of them."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR, by_c_and_llvm
from onnx import ModelProto, numpy_helper, parser

import aotc
from aotc.compiler.checking.c_calls import checked_plan, source_of
from aotc.compiler.checking.plan_proof import faults_of
from aotc.compiler.driver import lower
from aotc.errors import BudgetError, UsageError
from aotc.model.metadata import ModelInfo
from aotc.pipeline.options import CompileOptions

POOLS = {"fast": 2048, "slow": "8K,speed=4,section=.psram"}


def network() -> ModelProto:
    """Convolutions with a residual sum, a branch, and a state."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1, 4, 12, 10] x, float[1, 4, 6, 5] h) => (float[1, 4, 6, 5] y, float[1, 4, 6, 5] hn)
        <float[4, 4, 3, 3] w> {
            a = Conv<pads = [1, 1, 1, 1]>(x, w)
            b = Conv<pads = [1, 1, 1, 1]>(a, w)
            c = Add(b, a)
            d = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
            e = Conv<pads = [1, 1, 1, 1]>(d, w)
            hn = Add(e, h)
            f = Conv<pads = [1, 1, 1, 1]>(hn, w)
            y = Tanh(f)
        }"""
    )
    for node in model.graph.node:
        node.name = node.output[0]
    weight = np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype(np.float32) / 4
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    return model


def planned(**options: Any) -> tuple[ModelInfo, str]:
    given: dict[str, Any] = {"target": SCALAR, "pools": POOLS, **options}
    compilation = lower(network(), CompileOptions.of(**given))
    source = source_of(compilation)
    assert source is not None
    return compilation.info(), source


def test_results_are_those_of_one_arena(tmp_path: Path) -> None:
    """To the bit, by C and by LLVM, from call to call."""
    rng = np.random.default_rng(2)
    steps = [{"x": rng.standard_normal((1, 4, 12, 10)).astype(np.float32)} for _ in range(2)]
    state: dict[str, Any] = {"state": {"hn": "h"}}
    whole = aotc.compile(network(), **state)
    want = [whole(step)["y"].tobytes() for step in steps]
    for model in by_c_and_llvm(network(), tmp_path, CompileOptions.of(pools=POOLS, **state)):
        assert {each.pool for each in model.metadata.plan.buffers} == {"fast", "slow"}
        assert [model(step)["y"].tobytes() for step in steps] == want
        model.reset()
        assert model(steps[0])["y"].tobytes() == want[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"workspace": "caller", "state": {"hn": "h"}},
        {"io": "workspace", "state": {"hn": "h"}, "workspace": "caller"},
        {"io": "workspace"},
        {"ram": "min"},
        {"optimize": "s", "interface_api": "micro", "workspace": "caller"},
    ],
)
def test_plans_are_safe(options: dict[str, Any]) -> None:
    info, source = planned(**options)
    calls, faults = checked_plan(info, source)
    assert faults == [] and calls > 0
    assert all(0 <= each.peak_bytes <= each.size for each in info.plan.pools)
    assert info.workspace_bytes == sum(each.peak_bytes for each in info.plan.pools)


def test_a_buffer_that_is_elsewhere_in_c_is_found() -> None:
    info, source = planned()
    assert checked_plan(info, source)[1] == []
    moved = source.replace(")aotc_model_pool_fast;", ")aotc_model_pool_slow;", 1)
    assert moved != source
    assert any("the pool slow at" in each and "the pool fast at" in each for each in checked_plan(info, moved)[1])


def test_planted_faults_of_plans_are_found() -> None:
    info, _ = planned()
    plan = info.plan
    fast, slow = plan.pools
    in_slow = next(number for number, each in enumerate(plan.buffers) if each.pool == "slow")

    def faults(**members: Any) -> list[str]:
        return faults_of(replace(info, plan=replace(plan, **members)))

    def buffers(**members: Any) -> list[str]:
        changed = list(plan.buffers)
        changed[in_slow] = replace(changed[in_slow], **members)
        return faults(buffers=tuple(changed))

    assert any("overlap" in each for each in buffers(pool="fast"))
    assert any("there is not" in each for each in buffers(pool="third"))
    assert any("there is not" in each for each in buffers(pool=""))
    assert any("outside of its memory" in each for each in buffers(offset=1 << 20))
    assert any("the plan takes" in each for each in faults(pools=(replace(fast, size=16), slow)))
    assert any("together" in each for each in faults(pools=(fast,)))
    assert any("together" in each for each in faults(pools=(fast, replace(slow, peak_bytes=slow.peak_bytes + 16))))


def test_files_say_what_is_where(tmp_path: Path) -> None:
    options: dict[str, Any] = {"emit": "c,mlf,object", "target": "cortex-m4", "state": {"hn": "h"}}
    aotc.compile_to(network(), tmp_path, name="m", pools=POOLS, **options)
    header, source = ((tmp_path / f"m.{end}").read_text() for end in "hc")
    plan = json.loads((tmp_path / "m.json").read_text())["plan"]
    sizes = {each["name"]: each["peak_bytes"] for each in plan["pools"]}
    assert all(f"#define AOTC_M_POOL_{name.upper()}_SIZE {size}\n" in header for name, size in sizes.items())
    assert "AOTC_M_WORKSPACE_SIZE" not in header and "AOTC_M_STATE_0_POOL" in header
    assert "#define AOTC_POOL_FAST\n" in source
    assert '#define AOTC_POOL_SLOW __attribute__((section(".psram")))\n' in source
    assert f"static AOTC_POOL_SLOW AOTC_ALIGNED(16) uint8_t aotc_m_pool_slow[{sizes['slow']}];" in source
    assert b".psram" in (tmp_path / "m.o").read_bytes()
    with tarfile.open(tmp_path / "m.tar") as archive:
        member = archive.extractfile("metadata.json")
        assert member is not None
        (main,) = json.load(member)["modules"]["m"]["memory"]["functions"]["main"]
    slow = {"pool": "slow", "speed": 4.0, "size_bytes": 8192, "workspace_size_bytes": sizes["slow"]}
    assert main["workspace_pools"][1].items() >= (slow | {"section": ".psram"}).items()
    assert main["states"]["h"]["pool"] in POOLS


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pools": {"a": "0"}}, "out-of-range"),
        ({"pools": {"a": "1K,speed=0"}}, "out-of-range"),
        ({"pools": {"a": "1K,speed=fast"}}, "invalid-option"),
        ({"pools": {"a": "1K,colour=red"}}, "invalid-option"),
        ({"pools": {"a": "many"}}, "invalid-option"),
        ({"pools": {"2nd": "1K"}}, "invalid-name"),
        ({"pools": {"a-b": "1K"}}, "invalid-name"),
        ({"pools": {"a": "1K", "A": "1K"}}, "option-conflict"),
        ({"pools": POOLS, "threads": 2}, "option-conflict"),
        ({"pools": POOLS, "executor": "vm", "runtime": "host"}, "option-conflict"),
        ({"pools": POOLS, "interface_api": "packed", "workspace": "caller"}, "option-conflict"),
        ({"pools": POOLS, "workspace_section": ".ccm", "emit": "object"}, "option-conflict"),
        ({"pools": POOLS, "selftest": "in.npz"}, "option-conflict"),
        ({"pools": POOLS, "pins": {"a": "third"}}, "option-conflict"),
        ({"pins": {"a": "fast"}}, "option-conflict"),
        ({"weights_pool": "q-spi"}, "option-conflict"),
        ({"weights_pool": "qspi", "weights": "caller"}, "option-conflict"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        CompileOptions.of(**options)
    assert [each.id for each in error.value.problems] == [problem]


def test_pools_that_are_too_small_are_refused_with_what_is_missing() -> None:
    with pytest.raises(BudgetError, match="pool-exceeded") as error:
        planned(pools={"fast": 2048, "slow": 1000})
    (problem,) = error.value.problems
    missing = int(problem.what.split(" bytes more of ")[0].split()[-1].replace(",", ""))
    name = problem.what.split()[-1]
    pools = {"fast": 2048, "slow": 1000}
    planned(pools=pools | {name: pools[name] + missing})
    with pytest.raises(BudgetError):
        planned(pools=pools | {name: pools[name] + missing - 16})


def test_buffers_are_where_they_are_pinned() -> None:
    """By their names, or by those of nodes."""
    before = {each.name: each.pool for each in planned()[0].plan.buffers}
    other = {"fast": "slow", "slow": "fast"}
    homes = {name: other[pool] for name, pool in before.items() if name != "e"}
    info, source = planned(pins=homes | {"b": homes["c"]})
    assert {each.name: each.pool for each in info.plan.buffers if each.name != "e"} == homes
    assert checked_plan(info, source)[1] == []
    info, source = planned(state={"hn": "h"}, pins={"h": "slow"})
    (state,) = info.states
    assert state.pool == "slow" and checked_plan(info, source)[1] == []


@pytest.mark.parametrize(("name", "says"), [("x", "the caller's"), ("aa", "that `aotc plan` lists, as a"), ("", "as ")])
def test_pins_of_what_is_no_buffer_are_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match="unknown-buffer") as error:
        planned(pins={name: "fast"})
    assert says in str(error.value)


def test_pins_that_do_not_fit_are_refused_with_what_is_missing() -> None:
    with pytest.raises(BudgetError, match="1,920 bytes more of fast; no room was found for a 1,920"):
        planned(pools={"fast": 1920, "slow": 8192}, pins={"a": "fast", "a#2": "fast"})
    with pytest.raises(UsageError, match="same memory"):
        planned(pins={"b": "fast", "c": "slow"})


def test_weights_have_a_memory_of_their_own(tmp_path: Path) -> None:
    aotc.compile_to(network(), tmp_path, name="m", emit="c,mlf", target="cortex-m4", weights_pool="qspi")
    source = (tmp_path / "m.c").read_text()
    assert "#define AOTC_WEIGHTS_QSPI\n" in source and "static const AOTC_WEIGHTS_QSPI " in source
    assert json.loads((tmp_path / "m.json").read_text())["weights_pool"] == "qspi"
    assert b'"constants_pool": "qspi"' in (tmp_path / "m.tar").read_bytes()


def test_weights_take_room_of_buffers() -> None:
    room = {"fast": 1920, "slow": 1920}
    weights = planned(pools=room)[0].weights_bytes
    with pytest.raises(BudgetError, match=f"{weights} bytes more of"):
        planned(pools=room, weights_pool="slow")
    info, _ = planned(pools=room | {"slow": 1920 + weights}, weights_pool="slow")
    assert info.weights_pool == "slow" and info.workspace_bytes == 3840
