"""States: outputs that the workspace keeps as inputs of the next call, by every route and convention."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import aotc
from aotc.compiler.checking.recordings import read_inputs
from aotc.compiler.checking.reference import reference_sequence, reference_session
from aotc.errors import UsageError
from aotc.executor import CompiledModel

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """A model in ONNX's text, its states, and the tensors in it that are given as arrays."""

    text: str
    state: Mapping[str, str]
    tensors: Arrays

    def model(self) -> onnx.ModelProto:
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {self.text}')
        model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in self.tensors.items())
        onnx.checker.check_model(model)
        return model


def _weights(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


W, R, B = _weights((1, 20, 3), (1, 20, 5), (1, 40))

CASES = {
    "elementwise": Case(
        "(float[1,4] x, float[1,4] h) => (float[1,4] y, float[1,4] hn) { t = Add(x, h) hn = Tanh(t) y = Mul(hn, h) }",
        {"hn": "h"},
        {},
    ),
    "old and new": Case(  # the old value is an output, and read again after the new one has been computed
        "(float[6] x, float[6] h) => (float[6] old, float[6] hn, float[6] y)"
        " { hn = Add(x, h) old = Identity(h) r = ReduceSum(hn) y = Add(h, r) }",
        {"hn": "h"},
        {},
    ),
    "swapped": Case(
        "(float[3] x, float[3] a, float[3] b) => (float[3] y, float[3] an, float[3] bn)"
        " { an = Identity(b) bn = Identity(a) y = Sub(a, b) }",
        {"an": "a", "bn": "b"},
        {"a": np.float32([1, 2, 3])},
    ),
    "rotated": Case(  # each is the next value of the one before
        "(float[3] x, float[3] a, float[3] b, float[3] c) => (float[3] an, float[3] bn, float[3] cn)"
        " { an = Add(b, x) bn = Neg(c) cn = Mul(a, b) }",
        {"an": "a", "bn": "b"},
        {},
    ),
    "delay line": Case(
        "(float[1,2] x, float[5,2] h) => (float[5,2] hn, float[2] y)"
        " { t = Slice(h, one, end, zero) hn = Concat <axis = 0> (t, x) y = ReduceMax <keepdims = 0> (hn, zero) }",
        {"hn": "h"},
        {"one": np.int64([1]), "end": np.int64([5]), "zero": np.int64([0])},
    ),
    "never changes": Case(
        "(float[4] x, float[4] h) => (float[4] y, float[4] hn)"
        " { u = Unsqueeze(h, zero) hn = Squeeze(u, zero) y = Add(x, h) }",
        {"hn": "h"},
        {"h": np.float32([1, 2, 3, 4]), "zero": np.int64([0])},
    ),
    "never read": Case(
        "(float[4] x, float[4] h) => (float[4] y, float[4] hn) { hn = Neg(x) y = Exp(x) }", {"hn": "h"}, {}
    ),
    "an output of it": Case(
        "(float[2,2] x, float[4] h) => (float[4] y, float[4] hn) { f = Flatten <axis = 0> (x) g = Squeeze(f, zero)"
        " hn = Add(g, h) y = Identity(hn) }",
        {"hn": "h"},
        {"zero": np.int64([0])},
    ),
    "integers": Case(
        "(uint8[7] x, uint8[7] h, bool[7] b, int64 n) => (uint8[7] hn, bool[7] bn, int64 m, int64 y)"
        " { hn = BitwiseXor(x, h) bn = Greater(hn, x) m = Add(n, one) c = Cast <to = 7> (b)"
        " s = ReduceSum <keepdims = 0> (c) y = Add(s, n) }",
        {"hn": "h", "bn": "b", "m": "n"},
        {"one": np.int64(1), "h": np.uint8([1, 2, 3, 4, 5, 6, 250]), "n": np.int64(-3)},
    ),
    "half": Case("(float16[9] x, float16[9] h) => (float16[9] hn) { t = Add(x, h) hn = Tanh(t) }", {"hn": "h"}, {}),
    "lstm": Case(
        "(float[2,1,3] x, float[1,1,5] h, float[1,1,5] c) => (float[2,1,1,5] y, float[1,1,5] hn, float[1,1,5] cn)"
        " { y, hn, cn = LSTM <hidden_size = 5> (x, w, r, b, , h, c) }",
        {"hn": "h", "cn": "c"},
        {"w": W, "r": R, "b": B, "c": _weights((1, 1, 5))[0]},
    ),
    "gru, two lines": Case(
        "(float[2,2,3] x, float[1,2,5] h) => (float[2,1,2,5] y, float[1,2,5] hn)"
        " { y, hn = GRU <hidden_size = 5, linear_before_reset = 1> (x, w, r, b, , h) }",
        {"hn": "h"},
        {"w": W[:, :15], "r": R[:, :15], "b": B[:, :30]},
    ),
    "cache": Case(  # a key-value cache of fixed size, of which each call writes one row
        "(float[1,4] x, int64[1,1] at, float[6,4] k) => (float[1,6] y, float[6,4] kn)"
        " { p = Mod(at, six) kn = ScatterND(k, p, x) t = Transpose(kn) y = MatMul(x, t) }",
        {"kn": "k"},
        {"six": np.int64(6)},
    ),
    "loop": Case(
        "(float[3] x, float[3] h) => (float[3] hn) { hn = Loop <body = b (int64 i, bool go, float[3] s) =>"
        " (bool more, float[3] t) { more = Identity(go) u = Add(s, x) t = Tanh(u) }> (four, , h) }",
        {"hn": "h"},
        {"four": np.int64(4)},
    ),
    "conditional": Case(
        "(float[3] x, bool p, float[3] h) => (float[3] hn) { hn = If (p) <then_branch = t () => (float[3] a)"
        " { a = Add(x, h) }, else_branch = e () => (float[3] c) { c = Identity(h) }> }",
        {"hn": "h"},
        {},
    ),
}

STEPS = 5


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def expected(case: Case, model: CompiledModel) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs of calls one after the other, and what onnxruntime computes where states are handed on."""
    steps = [read_inputs(None, model.inputs, step) for step in range(STEPS)]
    return steps, reference_sequence(reference_session(case.model().SerializeToString()), steps, model.states)


def check(case: Case, model: CompiledModel) -> list[dict[str, Any]]:
    """Compare a model that is new with onnxruntime, twice; its outputs."""
    steps, right = expected(case, model)
    given = {value.name for value in case.model().graph.input}
    assert {each.name for each in model.inputs} == given - set(case.state.values())
    assert {each.output: each.name for each in model.states} == dict(case.state)
    for _ in range(2):
        found = [model(inputs) for inputs in steps]
        for outputs, wanted in zip(found, right, strict=True):
            assert outputs.keys() == wanted.keys() - case.state.keys()
            for name, array in outputs.items():
                np.testing.assert_allclose(array, wanted[name], rtol=1e-4, atol=1e-3 if array.itemsize == 2 else 1e-5)
        model.reset()
    return found


def test_states_go_from_call_to_call(case: Case) -> None:
    fast = check(case, aotc.compile(case.model(), state=case.state))
    assert len(fast) == STEPS
    check(case, aotc.compile(case.model(), state=case.state, optimize=0))


@pytest.mark.parametrize(
    "options",
    [
        {"interface_api": "c", "optimize": "s"},
        {"interface_api": "micro", "workspace": "caller"},
        {"interface_api": "packed", "operator_api": "unpacked", "weights": "caller"},
        {"runtime": "host", "workspace": "caller"},
        {"threads": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["c", "object"])
def test_every_convention_keeps_them(kind: str, options: dict[str, Any]) -> None:
    for name in ("integers", "lstm", "delay line"):
        case = CASES[name]
        check(case, aotc.build(case.model(), emit=kind, state=case.state, **options).load())


def test_c_and_llvm_give_equal_bits() -> None:
    case = CASES["gru, two lines"]
    found = [check(case, aotc.build(case.model(), emit=kind, state=case.state).load()) for kind in ("c", "object")]
    for ours, theirs in zip(*found, strict=True):
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_in_place_without_copies() -> None:
    for name, kernels in (("elementwise", 1), ("lstm", 2), ("gru, two lines", 2)):
        model = aotc.compile(CASES[name].model(), state=CASES[name].state)
        assert sum(kernel.calls for kernel in model.metadata.kernels) == kernels
        kept = [buffer for buffer in model.plan.buffers if buffer.kept]
        assert [buffer.name for buffer in kept] == [state.name for state in model.states]
        for buffer, state in zip(kept, model.states, strict=True):
            others = [other for other in model.plan.buffers if other is not buffer]
            assert buffer.offset == state.offset
            assert all(o.offset + o.size <= buffer.offset or buffer.offset + buffer.size <= o.offset for o in others)


# --- instances of a model ---------------------------------------------------------------------------------------------

COUNTER = Case("(float x, float n) => (float m) { m = Add(n, x) }", {"m": "n"}, {})
SUM = Case("(float[1] x, float[1] n) => (float[1] y, float[1] m) { m = Add(n, x) y = Identity(m) }", {"m": "n"}, {})
ONE = np.ones(1, np.float32)


def test_a_model_without_outputs_is_still_called() -> None:
    model = aotc.compile(COUNTER.model(), state=COUNTER.state)
    assert model(np.float32(1)) == {} and not model.outputs


def test_calls_bound_calls_and_runs_share_the_state() -> None:
    model = aotc.compile(SUM.model(), state=SUM.state)
    step = model.bind(ONE)
    other = model.bind(ONE)
    assert [model(ONE)["y"][0], step()["y"][0], other()["y"][0]] == [1, 2, 3]
    model.set_input("x", ONE)
    model.run()
    assert model.get_output(0) == [4]
    model.reset()
    assert step()["y"] == [1]


def test_a_clone_has_states_of_its_own() -> None:
    model = aotc.compile(SUM.model(), state=SUM.state)
    model(ONE)
    clone = model.clone()
    assert clone(ONE)["y"] == [1] and model(ONE)["y"] == [2]
    executor = model[model.metadata.name](aotc.cpu())
    assert executor(ONE)["y"] == [1]


def test_a_library_with_its_own_workspace_has_one_state() -> None:
    model = aotc.build(SUM.model(), emit="object", state=SUM.state).load()
    assert model(ONE)["y"] == [1] and model(ONE)["y"] == [2]
    with pytest.raises(ValueError, match=r"keeps its states in the static memory of its library.*workspace='caller'"):
        model.clone()
    aotc.build(SUM.model(), emit="object", state=SUM.state, workspace="caller").load().clone()


def test_a_library_is_loaded_with_its_states(tmp_path: Path) -> None:
    aotc.compile_to(SUM.model(), tmp_path, emit="shared", name="sum", state=SUM.state)
    model = aotc.load(tmp_path / "sum.so")
    assert [each.name for each in model.states] == ["n"] and model(ONE)["y"] == [1] and model(ONE)["y"] == [2]


def test_calls_of_several_threads_follow_each_other() -> None:
    model = aotc.compile(SUM.model(), state=SUM.state)
    step = model.bind(ONE)

    def work() -> None:
        for _ in range(200):
            model(ONE)
            step()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model(ONE)["y"] == [4 * 400 + 1]


def test_a_session_keeps_states() -> None:
    session = aotc.InferenceSession(SUM.model(), state=SUM.state)
    assert [each.name for each in session.get_inputs()] == ["x"]
    assert [session.run(None, {"x": ONE})[0][0] for _ in range(3)] == [1, 2, 3]
    session.model.reset()
    assert session.run(["y"], {"x": ONE})[0] == [1]


def test_models_without_states_have_nothing_to_reset() -> None:
    model = aotc.compile(SUM.model())
    model.reset()
    assert model.states == () and model({"x": ONE, "n": ONE})["y"] == [2]


# --- refusals ---------------------------------------------------------------------------------------------------------

ODD = Case(
    "(float[4] x, float[2] h, int32[4] n) => (float[4] y, float[4] z, int32[4] m)"
    " { y = Exp(x) z = Neg(x) m = Add(n, n) }",
    {},
    {},
)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"q": "h"}, r'state=\{"q": "h"\}.*\[unknown-output\]'),
        ({"y": "q"}, r'state=\{"y": "q"\}.*\[unknown-input\]'),
        ({"y": "h"}, "mismatched-state"),
        ({"y": "n"}, "mismatched-state"),
        ({"y": "x", "z": "x"}, "mismatched-state"),
    ],
)
def test_what_cannot_be_a_state_is_refused(state: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        aotc.compile(ODD.model(), state=state)


def test_an_output_that_is_the_input_is_refused() -> None:
    model = Case("(float[4] x, float[4] h) => (float[4] y, float[4] h) { y = Add(x, h) }", {}, {}).model()
    with pytest.raises(UsageError, match="mismatched-state"):
        aotc.compile(model, state={"h": "h"})


def test_constants_and_bytecode_keep_no_state() -> None:
    with pytest.raises(UsageError, match="unknown-input"):
        aotc.compile(SUM.model(), state=SUM.state, constants={"n": [1.0]})
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.build(SUM.model(), state=SUM.state, emit="vm", interface_api="packed", operator_api="cpacked")


def test_ir_keeps_the_states_it_was_made_with(tmp_path: Path) -> None:
    aotc.compile_to(SUM.model(), tmp_path, name="sum", state=SUM.state, stop_after="plan")
    (source,) = tmp_path.glob("*.mlir")
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.compile(source, start_at="plan", state=SUM.state)
    model = aotc.compile(source, start_at="plan")
    assert [model(ONE)["y"][0] for _ in range(2)] == [1, 2]


def steps_of(model: CompiledModel, count: int) -> Sequence[float]:
    return [float(model(ONE)["y"][0]) for _ in range(count)]


def test_the_cache_knows_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "sum.onnx"
    onnx.save(SUM.model(), path)
    for _ in range(2):
        assert steps_of(aotc.compile(path, state=SUM.state), 3) == [1, 2, 3]
    assert len(aotc.compile(path).inputs) == 2
