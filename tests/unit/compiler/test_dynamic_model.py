"""Models with open shapes: compiled for the extents that arrive, right against onnxruntime, kept within a bound."""

from __future__ import annotations

import copy
import inspect
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc import CompiledModel, DynamicModel
from aotc.compiler.dynamic.specializing import Specialization
from aotc.errors import CompileError, UsageError
from aotc.model.limits import MAX_SHAPES
from aotc.vm import VirtualMachine, VMError

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '
PAIR = """m (float[n,s,4] x, float[n,s] mask) => (float[n,s,8] y, float[n,8] pooled)
<float[4,8] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, -2, 3, -4, 5, -6, 7, -8, 1, 0, 1, 0, 1, 0, 1, 0, 2, 2, 2, 2, 3, 3, 3, 3},
 int64[1] last = {2}, int64[1] middle = {1}> {
  seen = Unsqueeze(mask, last)
  kept = Mul(x, seen)
  y = MatMul(kept, w)
  pooled = ReduceSum<keepdims = 0>(y, middle)
}"""
"""A model with a mask: what is padded is no part of any sum."""
RELU = "m (float[n] x) => (float[n] y) { y = Relu(x) }"


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def pair_inputs(n: int, s: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n * 100 + s)
    mask = random.integers(0, 2, (n, s)).astype(np.float32)
    return {"x": random.standard_normal((n, s, 4)).astype(np.float32), "mask": mask}


def expected(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, inputs), strict=True))


def require_equal(actual: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert list(actual) == list(wanted)
    for name, array in wanted.items():
        assert actual[name].dtype == array.dtype and actual[name].shape == array.shape
        np.testing.assert_allclose(actual[name], array, rtol=1e-5, atol=1e-5)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AOTC_CACHE_DIR", "")
    yield


@pytest.fixture(scope="module")
def pair() -> DynamicModel:
    """No test of it compiles more than a few shapes."""
    return aotc.compile(parsed(PAIR), max_shapes=64)


# --- calls -----------------------------------------------------------------------------------------------------------


def test_shapes_that_are_open_are_compiled_for_as_they_arrive(pair: DynamicModel) -> None:
    assert isinstance(pair, DynamicModel) and pair.dims == ("n", "s")
    assert repr(pair) == "<DynamicModel model: float32[n, s, 4], float32[n, s] -> float32[n, s, 8], float32[n, 8]>"
    for n, s in ((1, 3), (2, 5), (1, 3), (2, 3), (2, 5)):
        inputs = pair_inputs(n, s)
        wanted = expected(parsed(PAIR), inputs)
        for found in (pair(inputs), pair(**inputs), pair(*inputs.values()), pair(inputs["x"], mask=inputs["mask"])):
            require_equal(found, wanted)


def test_known_extents_are_not_compiled_again(pair: DynamicModel) -> None:
    pair(pair_inputs(1, 3))
    before = pair.shapes
    model = pair.at({"n": 1, "s": 3})
    pair(pair_inputs(1, 3))
    assert len(pair.shapes) == len(before) and pair.at({"n": 1, "s": 3}) is model
    assert pair.shapes[-1] == {"x": (1, 3, 4), "mask": (1, 3)}


def test_any_leaves_a_dimension_open_and_numbers_fix_others() -> None:
    model = aotc.compile(parsed(PAIR), dims={"s": "any", "n": 2})
    assert model.dims == ("s",) and str(model.inputs[0]) == "float32[2, s, 4]"
    require_equal(model(pair_inputs(2, 3)), expected(parsed(PAIR), pair_inputs(2, 3)))
    with pytest.raises(ValueError, match=r"'x' has shape \[1, 3, 4\], expected float32\[2, s, 4\]"):
        model(pair_inputs(1, 3))
    assert isinstance(aotc.compile(parsed(PAIR), dims={"s": 3, "n": 2}), CompiledModel)
    with pytest.raises(UsageError, match=r'dims=\{"k": any\}.*\[unknown-dimension\]'):
        aotc.compile(parsed(PAIR), dims={"k": "any"})


def test_what_contradicts_itself_is_one_clear_error(pair: DynamicModel) -> None:
    x, mask = pair_inputs(2, 3).values()
    pair(x, mask)
    kept = len(pair.shapes)
    with pytest.raises(
        ValueError, match="'s' is 3 as dimension 1 of 'x', and 2 as dimension 1 of 'mask'; it has to be"
    ):
        pair(x, mask[:, :2])
    with pytest.raises(ValueError, match=r"'x' has shape \[2, 3\], expected float32\[n, s, 4\]"):
        pair(x[..., 0], mask)
    with pytest.raises(TypeError, match=r"'mask' has dtype float64, expected float32"):
        pair(pair_inputs(5, 7)["x"], np.ones((5, 7)))
    with pytest.raises(
        TypeError, match=r"1 arrays for 2 inputs; they are 'x' float32\[n, s, 4\], 'mask' float32\[n, s\]"
    ):
        pair(x)
    with pytest.raises(ValueError, match="no input 'z' and 'mask' missing"):
        pair({"x": x, "z": mask})
    assert len(pair.shapes) == kept


def test_dimensions_without_a_name_and_of_unknown_number() -> None:
    text = "m (float[?,k] x, float[?,k] y) => (float[a,k] z) { z = Concat<axis = 0>(x, y) }"
    model = aotc.compile(parsed(text))
    assert model.dims == ("x[0]", "k", "y[0]") and str(model.outputs[0]) == "float32[x[0] + y[0], k]"
    x, y = np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)
    assert model(x, y)["z"].tolist() == [[1] * 3, [1] * 3, [0] * 3]
    proto = parsed(RELU)
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = aotc.compile(proto)
    for shape in ((), (2,), (1, 2, 3)):
        assert model(np.full(shape, -1.0, np.float32))["y"].shape == shape
    with pytest.raises(UsageError, match=r"'x'.*\[open-rank\]"):
        model.warm({})


def test_a_model_that_cannot_be_compiled_says_so_at_once_or_at_the_call() -> None:
    with pytest.raises(CompileError, match="unsupported-operator") as raised:
        aotc.compile(parsed("m (float[n] x) => (float[n] y) { y = Nonsense(x) }"))
    assert "open" in str(raised.value)  # everything at once
    model = aotc.compile(parsed("m (float[n] x) => (float[n] y) <float[2] b = {1, 2}> { y = Add(x, b) }"))
    assert model(np.zeros(2, np.float32))["y"].tolist() == [1, 2]
    with pytest.raises(CompileError, match="invalid-shape"):
        model(np.zeros(3, np.float32))
    assert len(model.shapes) == 1


def test_files_have_fixed_shapes(tmp_path: Path) -> None:
    for dims in ({}, {"n": "any"}):
        with pytest.raises(CompileError, match=r'dims={"n": N}.*\[open-shapes\]'):
            aotc.compile_to(parsed(RELU), tmp_path, dims=dims)
    with pytest.raises(UsageError, match="fixed-shapes"):
        aotc.compile(parsed(RELU), dims={"n": 3}, buckets=[4])
    with pytest.raises(UsageError, match="wrong-function"):
        DynamicModel(parsed(RELU), **dict[str, Any](emit="object"))
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.compile(parsed(RELU), dump_phases=str(tmp_path / "phases"))


def test_a_dynamic_model_of_fixed_shapes_has_one(pair: DynamicModel) -> None:
    model = DynamicModel(parsed("m (float[2] x) => (float[2] y) { y = Relu(x) }"))
    assert model.dims == () and model(np.array([-1, 1], np.float32))["y"].tolist() == [0, 1]
    model.warm({})
    assert len(model.shapes) == 1


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_the_least_recently_used_goes_first() -> None:
    heard: list[Specialization] = []
    model = aotc.compile(parsed(RELU), max_shapes=2, on_compile=heard.append)
    for extent in (1, 2, 1, 3, 1, 2):
        assert model(np.full(extent, -1, np.float32))["y"].tolist() == [0] * extent
        assert len(model.shapes) <= 2
    assert [each.extents["n"] for each in heard] == [1, 2, 3, 2]
    assert model.shapes == [{"x": (1,)}, {"x": (2,)}]
    with pytest.raises(UsageError, match=r"max_shapes=0.*\[out-of-range\]"):
        aotc.compile(parsed(RELU), max_shapes=0)
    assert inspect.signature(aotc.compile).parameters["max_shapes"].default == MAX_SHAPES == 16


def test_code_that_is_not_kept_is_gone(collect: Callable[[], object]) -> None:
    import weakref

    model = aotc.compile(parsed(RELU), max_shapes=1)
    model(np.zeros(3, np.float32))
    gone = weakref.ref(model.at({"n": 3}))
    model(np.zeros(4, np.float32))
    collect()
    assert gone() is None


def test_warm_compiles_ahead(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Specialization] = []
    model = aotc.compile(parsed(RELU), name="warmed", on_compile=heard.append)
    with caplog.at_level(logging.INFO, "aotc"):
        model.warm({"n": 5}, {"n": 6}, {"n": 5})
    assert [dict(each.extents) for each in heard] == [{"n": 5}, {"n": 6}]
    assert all(each.seconds > 0 and not each.from_cache for each in heard)
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("aotc.compiler.dynamic")]
    assert [line.rpartition(" in ")[0] for line in lines] == ["warmed for n = 5", "warmed for n = 6"]
    model(np.zeros(5, np.float32))
    assert len(heard) == 2 and model.at({"n": 6}).inputs[0].shape == (6,) and len(heard) == 2
    for wrong, message in (({}, r"'n'.*\[missing-dimension\]"), ({"n": 1, "k": 2}, r"'k'.*\[unknown-dimension\]")):
        with pytest.raises(UsageError, match=message):
            model.warm(wrong)
    with pytest.raises(UsageError, match=r"'n'.*\[out-of-range\]"):
        model.warm({"n": -1})


def test_what_is_compiled_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "relu.onnx"
    onnx.save(parsed(RELU), path)
    for is_kept in (False, True):
        heard: list[Specialization] = []
        model = aotc.compile(path, on_compile=heard.append)
        assert model.name == "relu" and model(np.array([-1, 2], np.float32))["y"].tolist() == [0, 2]
        assert [each.from_cache for each in heard] == [is_kept]


def test_a_file_that_changes_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parsed(RELU), path)
    model = aotc.compile(path)
    assert model(np.array([-1], np.float32))["y"].tolist() == [0]
    onnx.save(parsed(RELU.replace("Relu", "Neg")), path)
    with pytest.raises(UsageError, match="changed-file"):
        model(np.zeros(2, np.float32))
    assert model(np.array([-1], np.float32))["y"].tolist() == [0]
    source = parsed(RELU)
    model = aotc.compile(source)
    source.graph.node[0].op_type = "Neg"  # the caller's, which is no part of it any more
    assert model(np.array([-1], np.float32))["y"].tolist() == [0]


def test_a_model_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "piped.onnx"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(parsed(RELU).SerializeToString()))
    writer.start()
    model = aotc.compile(pipe)
    writer.join()
    assert model.name == "piped" and [model(np.zeros(n, np.float32))["y"].size for n in (1, 2)] == [1, 2]


# --- threads and instances -------------------------------------------------------------------------------------------


def test_threads_share_one_model() -> None:
    """Each shape is compiled once, whichever thread comes first; what is kept is fewer than there are shapes."""
    heard: list[Specialization] = []
    model = aotc.compile(parsed(RELU), on_compile=heard.append, max_shapes=3)
    problems: list[BaseException] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        try:
            start.wait()
            for extent in np.random.default_rng(seed).integers(1, 4, 50):
                x = np.arange(extent, dtype=np.float32) - 1
                assert np.array_equal(model(x)["y"], np.maximum(x, 0))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and sorted(each.extents["n"] for each in heard) == [1, 2, 3]


def test_a_callback_may_call_the_model() -> None:
    model = aotc.compile(parsed(RELU), on_compile=lambda found: seen.append(model(np.zeros(found.extents["n"], "f4"))))
    seen: list[dict[str, np.ndarray]] = []
    model(np.zeros(2, np.float32))
    assert seen[0]["y"].shape == (2,)


def test_instances_have_inputs_of_their_own(pair: DynamicModel) -> None:
    other = pair.clone()
    for model, n in ((pair, 1), (other, 2)):
        inputs = pair_inputs(n, 3)
        model.set_input("x", inputs["x"])
        model.set_input(mask=inputs["mask"])
        inputs["x"][...] = 0  # a copy was made
        model.run()
    for model, n in ((pair, 1), (other, 2)):
        wanted = expected(parsed(PAIR), pair_inputs(n, 3))
        np.testing.assert_allclose(model.get_output(0), wanted["y"], rtol=1e-5)
        np.testing.assert_allclose(model.get_output("pooled"), wanted["pooled"], rtol=1e-5, atol=1e-5)
        assert np.array_equal(model.get_input(0), pair_inputs(n, 3)["x"])
    assert (pair.get_num_inputs(), pair.get_num_outputs()) == (2, 2)
    fresh = pair.clone()
    with pytest.raises(ValueError, match="'x' has not been set"):
        fresh.get_input("x")
    with pytest.raises(ValueError, match="no run yet"):
        fresh.get_output(0)
    with pytest.raises(ValueError, match="no output 'z'; the outputs are 'y', 'pooled'"):
        pair.get_output("z")
    with pytest.raises(TypeError, match="two values for 'x'"):
        fresh.set_input(0, 1.0, x=2.0)
    with pytest.raises(TypeError, match=r"clone\(\)"):
        copy.copy(pair)


def test_bound_calls(pair: DynamicModel) -> None:
    inputs = pair_inputs(1, 3)
    y = np.empty((1, 3, 8), np.float32)
    step = pair.bind(inputs, outputs={"y": y})
    inputs["x"] += 1
    wanted = expected(parsed(PAIR), inputs)
    np.testing.assert_allclose(step()["pooled"], wanted["pooled"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y, wanted["y"], rtol=1e-5, atol=1e-5)


# --- buckets ---------------------------------------------------------------------------------------------------------


def test_buckets_round_up_pad_and_cut_back() -> None:
    heard: list[Specialization] = []
    model = aotc.compile(parsed(PAIR), buckets={"s": [8, 4]}, on_compile=heard.append)
    for s in (3, 4, 1, 7, 8, 5, 3):
        inputs = pair_inputs(2, s)
        require_equal(model(inputs), expected(parsed(PAIR), inputs))
    assert [dict(each.extents) for each in heard] == [{"n": 2, "s": 4}, {"n": 2, "s": 8}]
    assert model.at({"n": 2, "s": 6}).inputs[0].shape == (2, 8, 4)
    with pytest.raises(ValueError, match="the dimension 's' is 9, above its last bucket, 8"):
        model(pair_inputs(2, 9))
    with pytest.raises(ValueError, match="above its last bucket"):
        model.warm({"n": 1, "s": 9})
    with pytest.raises(ValueError, match="compiled for the next bucket"):
        model.bind(pair_inputs(2, 3))
    assert model.bind(pair_inputs(2, 8))()["y"].shape == (2, 8, 8)


def test_outputs_are_cut_to_what_follows_from_the_extents() -> None:
    text = """m (float[1,2,w] x) => (float[1,2,k] y, float[j] z) <int64[1] all = {-1}> {
      y = MaxPool<kernel_shape = [2], strides = [2]>(x)
      z = Reshape(x, all)
    }"""
    proto = parsed(text.replace("z = Reshape(x, all)", "p = Transpose<perm = [2, 1, 0]>(x) z = Reshape(p, all)"))
    model = aotc.compile(proto, buckets=[8])
    for w in (8, 6, 3):
        x = np.arange(2 * w, dtype=np.float32).reshape(1, 2, w)
        require_equal(model(x), expected(proto, {"x": x}))
    assert model.shapes == [{"x": (1, 2, 8)}]


def test_buckets_that_are_refused(pair: DynamicModel) -> None:
    cases = [
        ([4], r"buckets=\[4\].*buckets={'s': \[4\]}.*\[invalid-option\]"),
        ({"k": [4]}, r"'k'.*\[unknown-dimension\]"),
        ({"s": []}, r"'s'.*\[out-of-range\]"),
        ({"s": [0, 4]}, r"'s'.*\[out-of-range\]"),
    ]
    for buckets, message in cases:
        with pytest.raises(UsageError, match=message):
            aotc.compile(parsed(PAIR), buckets=buckets)
    text = "m (float[n] x) => (int64[1,k] y, float[n] z) { y = NonZero(x) z = Relu(x) }"
    with pytest.raises(UsageError, match=r"'y'.*\[untraceable-extent\]"):
        aotc.compile(parsed(text), buckets=[4])


# --- data-dependent extents ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "m (float[n,k] x) => (int64[2,c] y, float[n,k] z) { y = NonZero(x) z = Relu(x) }",
        "m (float[n,k] x) => (float[c] y, int64[c] i) { y, i, j, l = Unique(x) }",
        "m (float[n,k] x) => (int64[c,2] y) { i = NonZero(x) y = Transpose<perm = [1, 0]>(i) }",
        """m (float[n,k] x) => (float[n,c] y) <float zero = {0}, int64[1] axis = {0}> {
          positive = Greater(x, zero)
          whole = Cast<to = 6>(positive)
          sums = ReduceMax<keepdims = 0>(whole, axis)
          chosen = Cast<to = 9>(sums)
          y = Compress<axis = 1>(x, chosen)
        }""",
    ],
)
def test_sizes_that_depend_on_the_data_are_exact(text: str) -> None:
    """At the first call of a shape and at later ones; fixed shapes have them, too."""
    proto = parsed(text)
    model = aotc.compile(proto)
    fixed = DynamicModel(proto, dims={"n": 3, "k": 4})
    assert "c" not in str(model.outputs[0])
    for x in (np.eye(3, 4), np.ones((3, 4)), np.zeros((3, 4)), np.tri(2, 3)):
        x = x.astype(np.float32)
        wanted = expected(proto, {"x": x})
        require_equal(model(x), wanted)
        if x.shape == (3, 4):
            require_equal(fixed(x), wanted)
    with pytest.raises(ValueError, match="data-dependent extents"):
        model.bind(x)
    assert f"{next(iter(wanted))}_count" in model.at({"n": 2, "k": 3})(x)  # as in C


def test_values_that_are_compiled_for() -> None:
    """An input that shapes depend on: each value that arrives is a constant of its own code."""
    text = "m (float[n,k] x, int64[2] shape) => (float[a,b] y) { y = Reshape(x, shape) }"
    heard: list[Specialization] = []
    model = aotc.compile(parsed(text), constants={"shape": "any"}, on_compile=heard.append)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for shape in ([2, 6], [12, 1], [2, 6], [-1, 3]):
        given = {"x": x, "shape": np.array(shape)}
        require_equal(model(given), expected(parsed(text), given))
    assert len(heard) == len(model.shapes) == 3
    assert model.bind(x, np.array([2, 6]))()["y"].shape == (2, 6)
    with pytest.raises(UsageError, match="open-values"):
        model.at({"n": 3, "k": 4})
    with pytest.raises(UsageError, match="unknown-input"):
        aotc.compile(parsed(text), constants={"form": "any"})


# --- what is declared and not computed --------------------------------------------------------------------------------


def test_a_wrong_declaration_is_not_believed(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing follows for the output from the graph, for Loop is not looked into."""
    text = """m (float[n] x, float[k] y) => (float[n] z) { z = Add(x, y) }"""
    model = aotc.compile(parsed(text))
    assert str(model.outputs[0]) == "float32[n]"
    x, y = np.ones(1, np.float32), np.ones(3, np.float32)
    for _ in range(2):
        assert model(x, y)["z"].tolist() == [2, 2, 2]
    assert str(model.outputs[0]) == "float32[...]"
    assert "declares the output 'z' as float32[n], and computes [3]" in caplog.text
    model = aotc.compile(parsed(text), buckets={"n": [1, 2]})
    with pytest.raises(UsageError, match="untraceable-extent"):
        model(x, y)


# --- bytecode --------------------------------------------------------------------------------------------------------


def test_g20_the_entry_is_bytecode_that_a_machine_runs(pair: DynamicModel) -> None:
    """Shapes are matched, computed by a function on the heap, outputs allocated, kernels called with the extents."""
    inputs = pair_inputs(2, 5)
    machine = VirtualMachine(pair.executable, pair)
    found = machine["main"](*inputs.values())
    require_equal(found, expected(parsed(PAIR), inputs))
    with pytest.raises(VMError, match="failed-call"):
        machine["main"](inputs["x"], np.ones((2, 4), np.float32))
    text = pair.executable.astext()
    for name in ("match_shape", "shapes ", "load_shape", "alloc_storage", "alloc_tensor", "model.kernels"):
        assert name in text
    statistics = machine.state.allocators[0].statistics
    assert statistics.total == 4 * (2 * 5 * 8 + 2 * 8) and statistics.allocations == 2
    given: list[tuple[Any, ...]] = []
    VirtualMachine(pair.executable, {"model.kernels": lambda *operands: given.append(operands)})["main"](
        *inputs.values()
    )
    x, mask, y, pooled, n, s = given[0]
    assert (x.shape, mask.shape, y.shape, pooled.shape, n, s) == ((2, 5, 4), (2, 5), (2, 5, 8), (2, 8), 2, 5)


def test_g21_shapes_are_computed_by_one_function_on_the_heap() -> None:
    text = """m (float[n,2,h,w] x) => (float[n,2,h2,w2] y, float[a] z) <int64[1] all = {-1}> {
      y = MaxPool<kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 0]>(x)
      z = Reshape(y, all)
    }"""
    model = aotc.compile(parsed(text))
    machine = VirtualMachine(model.executable, model)
    for n, h, w in ((1, 4, 5), (2, 9, 12)):
        heap = np.full(3 + 5 + 2, -1, np.int64)
        heap[:3] = n, h, w
        machine["shapes"](heap)
        down, right = (h - 1) // 2 + 1, (w - 2) // 3 + 1
        count = n * 2 * down * right
        assert heap.tolist() == [n, h, w, n, 2, down, right, 4 * count, count, 4 * count]
        x = np.arange(n * 2 * h * w, dtype=np.float32).reshape(n, 2, h, w)
        require_equal(machine["main"](x), expected(parsed(text), {"x": x}))
