"""A slice of `make fuzz` with fixed seeds, and tests of the fuzzer itself: that it sees what is wrong."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from aotc.errors import InternalError, Problem
from aotc.frontend.onnx import supported_operators
from fuzz import damage_caches, damage_ir, damage_models, models, routes
from fuzz.cases import CASES
from fuzz.catalogue import DRAWERS, NOT_DRAWN, draw
from fuzz.drafts import Draft, Specimen
from fuzz.extremes import draw_extreme
from fuzz.isolation import Runner
from fuzz.minimise import minimised
from fuzz.models import Failure, check
from fuzz.oracle import Array, Part, Refused
from fuzz.routes import DEFAULT, Route, Wrong, compared

SLICE = {
    "models": 40,
    "extremes": 40,
    "budgets": 3,
    "damaged models": 60,
    "damaged .tflite files": 60,
    "damaged IR": 30,
    "damaged caches": 8,
}
"""How many cases of each kind are part of `make test`."""


@pytest.mark.parametrize("kind", SLICE)
def test_slice(kind: str) -> None:
    runner = Runner(CASES[kind][0], 300)
    try:
        failed = [(seed, outcome) for seed in range(SLICE[kind]) if not (outcome := runner.run(seed)).ok]
    finally:
        runner.close()
    assert not failed, "\n".join(f"{kind} seed {seed}: {outcome.what}: {outcome.message}" for seed, outcome in failed)


def test_every_operator_is_drawn() -> None:
    """An operator that gets an importer gets a drawer, or a reason here why it has none."""
    here = {name for name in supported_operators() if not name.startswith("com.example")}
    assert here == {name.partition(" ")[0] for name in DRAWERS} | NOT_DRAWN.keys()
    assert not DRAWERS.keys() & NOT_DRAWN.keys()


@pytest.mark.parametrize("name", DRAWERS)
def test_drawers_draw(name: str) -> None:
    for seed in range(40):
        draft = Draft(np.random.default_rng(seed), opset=(24, 26, 9, 17)[seed % 4])
        try:
            DRAWERS[name](draft)
        except Refused:
            continue
        drawn = {f"{node.domain}.{node.op_type}".lstrip(".") for node in draft.nodes}
        assert name.partition(" ")[0] in drawn
        return
    raise AssertionError("refused forty times")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("Resize", "int8"),
        ("Clip", "uint16"),
        ("Sign", "uint64"),
        ("MaxPool", "int8"),
        ("Gemm", "uint64"),
        ("Mod", "int16"),
        ("ReduceMean", "int32"),
        ("Range", "int64"),
        ("ai.onnx.ml.TreeEnsembleRegressor", "int64"),
    ],
)
def test_operators_are_drawn_on_the_ends_of_integers(name: str, dtype: str) -> None:
    (node,) = (specimen := draw_extreme(3, name, dtype)).nodes
    assert node.op_type in name and specimen.values[node.input[0]].dtype == dtype


def test_an_integer_that_wraps_around_is_wrong() -> None:
    """As cubic Resize had it, which no drawer drew."""
    specimen = draw_extreme(0, "Resize", "uint8")
    (name,) = specimen.outputs
    wrapped = specimen.values[name].array + np.uint8(2)
    with pytest.raises(Wrong, match="off by"):
        compared(specimen, {name: wrapped})


def test_large_integers_that_are_resized_to_the_nearest_are_drawn() -> None:
    """As float64 rounds them, which holds 53 bits."""
    specimens = [draw_extreme(seed, "Resize", "int64") for seed in range(30)]
    rounded = 0
    for each in specimens:
        (name,), (node,) = each.outputs, each.nodes
        value = each.values[name]
        if any(attribute.s == b"nearest" for attribute in node.attribute):
            assert not value.error and np.isin(value.array, each.values[node.input[0]].array).all()
            with np.errstate(invalid="ignore"):
                found = value.array.astype(np.float64).astype(np.int64)
            if (found != value.array).any():
                rounded += 1
                with pytest.raises(Wrong, match="off by"):
                    compared(each, {name: found})
    assert rounded


def test_a_fault_of_the_compiler_is_no_refusal() -> None:
    draft = Draft(np.random.default_rng(0), 21)
    draft.add("Neg", [draft.known(np.ones(3, np.float32), constant=False)], how="moves")

    def fails(specimen: Specimen) -> dict[str, Array]:
        raise InternalError(Problem("internal-error", "IndexError"))

    with pytest.raises(Failure, match="internal"):
        check(draft.finish(0), [Route("faulty", 1, fails)])


def test_zeros_of_both_signs_are_told_apart() -> None:
    draft = Draft(np.random.default_rng(0), 21)
    draft.add("Neg", [draft.known(np.zeros(3, np.float32), constant=False)], how="moves")
    specimen = draft.finish(0)
    positive = Route("positive", 1, lambda each: {name: np.abs(x) for name, x in DEFAULT.run(each).items()})
    assert check(specimen, [DEFAULT]) == "default"
    with pytest.raises(Failure, match="zeros of another sign"):
        check(specimen, [DEFAULT, positive])


def test_what_onnxruntime_has_no_kernel_for_is_judged_by_the_reference() -> None:
    x = np.array([0.5, -0.25], "float64")
    for op_type, judge in (("Acos", "onnx.reference"), ("Neg", "onnxruntime"), ("Bernoulli", "our loops")):
        node = helper.make_node(op_type, ["x"], ["y"], **({"seed": 1.0} if op_type == "Bernoulli" else {}))
        part = Part([node], ["y"], {"x": np.abs(x)}, set(), {"": 21}, elsewhere=op_type == "Bernoulli")
        part.run({"x": np.abs(x)})
        assert part.judge == judge


def test_a_model_depends_on_its_seed_alone() -> None:
    one, other = draw(7), draw(7)
    assert one.model().SerializeToString() == other.model().SerializeToString()
    assert draw(8).model().SerializeToString() != one.model().SerializeToString()
    assert damage_models.damaged(7) == damage_models.damaged(7)
    assert damage_ir.text_after(7, "graph") == damage_ir.text_after(7, "graph")


def _off(specimen: Specimen, change: float) -> Route:
    """A route whose result is off, in one element of the first output, by this share of what is allowed."""

    def run(each: Specimen) -> dict[str, np.ndarray]:
        outputs = DEFAULT.run(each)
        name = each.outputs[0]
        first = each.values[name].array.copy().reshape(-1)
        first[0] += change * each.values[name].error
        return outputs | {name: first.reshape(each.values[name].shape)}

    return Route("off", 1, run)


def _sum(seed: int = 0) -> Specimen:
    draft = Draft(np.random.default_rng(seed), 21)
    x = draft.fresh("float32", (3, 4), constant=False)
    (a,) = draft.add("Exp", [x])
    (b,) = draft.add("Neg", [a])
    draft.add("ReduceSum", [b, draft.indices(1)])
    draft.add("Relu", [x])
    return draft.finish(seed)


def test_what_is_off_is_seen() -> None:
    specimen = _sum()
    assert check(specimen, [DEFAULT, _off(specimen, 0.5)]) == "off"
    with pytest.raises(Failure, match="off by"):
        check(specimen, [_off(specimen, 2)])
    compared(specimen, DEFAULT.run(specimen))
    name = specimen.outputs[0]
    with pytest.raises(Wrong, match="expected float32"):
        compared(specimen, DEFAULT.run(specimen) | {name: np.zeros((3,), np.float64)})
    with pytest.raises(Wrong, match="off by"):
        compared(specimen, DEFAULT.run(specimen) | {name: np.full_like(specimen.values[name].array, np.nan)})


def test_an_exact_value_allows_nothing() -> None:
    draft = Draft(np.random.default_rng(0), 21)
    draft.add("Floor", [draft.fresh("float32", (5,), constant=False)], how="steps")
    specimen = draft.finish(0)
    (name,) = specimen.outputs
    changed = specimen.values[name].array + np.float32(1e-3)
    with pytest.raises(Wrong, match="allowed 0"):
        compared(specimen, {name: changed})
    with pytest.raises(Refused, match="not exact"):
        (inexact,) = draft.add("Exp", [draft.fresh("float32", (5,))])
        draft.add("Floor", [inexact], how="steps")


def test_errors_grow_through_nodes() -> None:
    """After a cancellation more is allowed, and where nothing is left there is no comparison."""
    draft = Draft(np.random.default_rng(0), 21)
    x = draft.fresh("float32", (50,), 0.5, 1, constant=False)
    (y,) = draft.add("Mul", [x, draft.known(np.array(1000, np.float32))])
    (z,) = draft.add("Sub", [y, draft.known(np.array(750, np.float32))])
    assert 0 < y.error < 0.02 and z.error >= y.error
    with pytest.raises(Refused):
        (big,) = draft.add("Mul", [x, draft.known(np.array(1e6, np.float32))])
        (far,) = draft.add("Add", [big, draft.known(np.array(1e9, np.float32))])
        draft.add("Sub", [far, draft.known(np.array(1e9, np.float32))])


def test_a_refusal_by_some_routes_is_a_failure() -> None:
    import aotc

    def refuses(_: Specimen) -> dict[str, np.ndarray]:
        raise aotc.CompileError(
            "unsupported-operator", "not supported", fix="do something else", node="node", op_type="Op"
        )

    def silent(_: Specimen) -> dict[str, np.ndarray]:
        raise aotc.CompileError("usage", "no")

    def broken(_: Specimen) -> dict[str, np.ndarray]:
        raise IndexError("tuple index")

    specimen = _sum()
    assert check(specimen, [Route("a", 1, refuses)]) == "refused"
    for run, kind in ((refuses, "refused"), (silent, "message"), (broken, "IndexError")):
        with pytest.raises(Failure) as error:
            check(specimen, [DEFAULT, Route("a", 1, run)])
        assert error.value.kind == kind


def test_minimised() -> None:
    """Of a model of many nodes the one remains whose result is wrong."""
    specimen = _sum()
    assert len(specimen.nodes) == 4 and len(specimen.outputs) == 2

    def fails(each: Specimen) -> bool:
        return any(node.op_type == "Neg" for node in each.nodes)

    small = minimised(dataclasses.replace(specimen, symbolic=frozenset({"x0"})), fails)
    assert [node.op_type for node in small.nodes] == ["Neg"] and not small.symbolic
    assert check(small, [DEFAULT]) == "default"


def test_a_count_says_how_much_of_an_output_there_is() -> None:
    draft = Draft(np.random.default_rng(0), 21)
    x = draft.known(np.array([[1, 0, 2], [0, 0, 3]], np.float32), constant=False)
    draft.add("NonZero", [x], how="steps")
    specimen = draft.finish(0)
    (name,) = specimen.outputs
    found = DEFAULT.run(specimen)
    assert found[name].shape == (2, 6)
    compared(specimen, found)
    with pytest.raises(Wrong, match="expected int64"):
        compared(specimen, found | {f"{name}_count": np.array(2)})
    with pytest.raises(Wrong, match="off by"):
        compared(specimen, found | {name: found[name] + 1})


def test_models_with_sequences_get_smaller() -> None:
    """Elements of a sequence are no values that could be given instead; all of them stay or go."""
    for seed in range(20):
        draft = Draft(np.random.default_rng(seed), 21)
        try:
            DRAWERS["SequenceInsert"](draft)
            draft.add("Neg", [draft.take(("float32",))])
        except Refused:
            continue
        specimen = draft.finish(seed)
        small = minimised(specimen, lambda each: any(node.op_type == "SequenceInsert" for node in each.nodes))
        assert {"Neg"} & {node.op_type for node in specimen.nodes} and check(small, [DEFAULT]) == "default"
        return
    raise AssertionError("refused twenty times")


def test_a_case_that_dies_hangs_or_leaves_files() -> None:
    runner = Runner(_bad, 3)
    try:
        outcomes = [runner.run(seed) for seed in range(5)]
    finally:
        runner.close()
    assert [outcome.what for outcome in outcomes] == ["fine", "died", "hang", "files left", "ZeroDivisionError"]
    assert [outcome.ok for outcome in outcomes] == [True, False, False, False, False]
    assert outcomes[1].message == "SIGSEGV" and "left.txt" in outcomes[3].message


def _bad(seed: int) -> str:
    import os
    import signal
    import time

    if seed == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 2:
        time.sleep(60)
    if seed == 3:
        Path("left.txt").write_text("")
    if seed == 4:
        Path("left.txt").unlink(missing_ok=True)
        return str(1 // 0)
    return "fine"


def test_routes_are_there() -> None:
    names = {route.name for route in routes.routes()}
    assert {"O0", "Os", "strict", "threads", "packed"} <= names
    assert all(route.weight > 0 for route in routes.routes())
    assert models.chosen(_sum(3)) == models.chosen(_sum(3)) and models.chosen(_sum(3))[0] is DEFAULT


def test_an_entry_is_damaged_once_that_is_no_folder_any_more(tmp_path: Path) -> None:
    """Files in the folder of entries itself are of no entry: beside it nothing is written."""
    root = tmp_path / "cache"
    (root / "entry").mkdir(parents=True)
    (root / "entry" / "file").write_text("")
    assert damage_caches._file(random.Random(0), root) == root / "entry" / "file"
    damage_caches._entry(random.Random(0), root / "entry" / "file")
    assert (root / "entry").is_file() and damage_caches._file(random.Random(0), root) is None


def test_a_budget_that_changes_bits_or_is_unsafe_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model, feed = routes.source(_sum()), _sum().feed()
    expected = routes.within_budgets(model, feed, np.random.default_rng(0))
    compared(_sum(), expected)
    monkeypatch.setattr("fuzz.routes.faults_of", lambda _: ["two buffers overlap"])
    with pytest.raises(Wrong, match="two buffers overlap"):
        routes.within_budgets(model, feed, np.random.default_rng(0))
    monkeypatch.undo()
    calls: list[dict[str, Array]] = []

    def off(_: object) -> object:
        calls.append(expected if not calls else {name: array + 1 for name, array in expected.items()})
        return lambda feed: calls[-1]

    monkeypatch.setattr("fuzz.routes.compiled_in_process", off)
    with pytest.raises(Wrong, match=r"with --ram (min|None) is (.|\n)*, of the fastest program"):
        routes.within_budgets(model, feed, np.random.default_rng(0))


def test_a_state_is_the_next_calls_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that reset does not clear is seen; an output that is an input itself, or the only one, is no state."""
    draft = Draft(np.random.default_rng(0), 21)
    x, h = (draft.fresh("float32", (3, 4), constant=False) for _ in range(2))
    (after,) = draft.add("Add", [x, h])
    (y,) = draft.add("Tanh", [after])
    specimen = dataclasses.replace(draft.finish(0), outputs=[y.name, after.name])
    assert routes._states(specimen) == {after.name: x.name}
    assert not routes._states(dataclasses.replace(specimen, outputs=[y.name]))
    (stream,) = (route for route in routes.routes() if route.name == "stream")
    compared(specimen, stream.run(specimen))
    monkeypatch.setattr("aotc.executor.CompiledModel.reset", lambda _: None)
    with pytest.raises(Wrong, match="of call 0, with the states"):
        stream.run(specimen)
