"""Networks whose input comes by rows: the numbers of the program that has all of it, without all of it in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.networks import Network, drawn
from harness import SCALAR
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from quick_c import quick_flags, write_c
from test_rolled_rows import pictures

from aotc.compiler.driver import in_process, lower
from aotc.emit.llvm.tvm_ffi import tvm_ffi_object
from aotc.errors import CompileError, UsageError
from aotc.executor import CompiledModel, compiled_in_process, load
from aotc.executor.step import RunError
from aotc.machines.targets import lookup
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
LAYOUT = {"x": "nhwc"}


def compiled(model: ModelProto, rows: int | None, **options: Any) -> Compilation:
    stream = {} if rows is None else {"x": rows}
    given: dict[str, Any] = {"input_layouts": LAYOUT, **options}
    chosen = CompileOptions.of(target=SCALAR, stream=stream, **given)
    return lower(model, replace(in_process(chosen), weights="embedded"))


def values(model: CompiledModel) -> Array:
    tensor, rng = model.inputs[0], np.random.default_rng(1)
    if tensor.dtype == "int8":
        return rng.integers(-128, 128, tensor.shape).astype(np.int8)
    return rng.standard_normal(tensor.shape).astype(np.float32) * 2


def bits(outputs: dict[str, Array] | None) -> dict[str, bytes]:
    assert outputs is not None
    return {name: array.tobytes() for name, array in outputs.items()}


@pytest.mark.parametrize(
    ("seed", "quantized", "rows", "ram"),
    [(1, True, 1, None), (2, True, 5, "min"), (3, False, 2, "min")],
)
def test_numbers_are_those_of_the_whole(seed: int, quantized: bool, rows: int, ram: str | None, tmp_path: Path) -> None:
    model, io = drawn(seed, quantized=quantized), "quantized" if quantized else "caller"
    streamed = compiled(model, rows, ram=ram, io=io)
    whole = compiled_in_process(compiled(model, None, io=io))
    x = values(whole)
    expected = bits(whole(x))
    library = build_shared(write_c(streamed, tmp_path), quick_flags())
    for made in (load(library), compiled_in_process(streamed)):
        assert bits(made(x)) == expected
        counts, place, found = np.random.default_rng(2), 0, None
        while place < x.shape[1]:  # any number of them at once
            some = x[:, place : place + int(counts.integers(1, rows + 1))]
            place += some.shape[1]
            found = made.push(some)
            assert (found is None) == (place < x.shape[1])
        assert bits(found) == expected


def test_the_picture_is_not_in_memory() -> None:
    """Of a picture of 24 x 12 there are the rows that come at once, and a ring of those that a window sees."""
    model = pictures()
    whole, streamed = (compiled(model, rows, io="quantized").info() for rows in (None, 2))
    (x,) = streamed.inputs
    assert x.shape == (1, 24, 12, 3) and x.rows is not None
    assert (x.rows.axis, x.rows.count, x.rows.most, x.rows.bytes) == (1, 24, 2, 36)
    assert whole.io_bytes - streamed.io_bytes == (24 - 2) * 36
    assert streamed.workspace_bytes <= whole.workspace_bytes + 3 * 36 + 32
    assert [buffer.name for buffer in streamed.plan.buffers if buffer.kept] == ["x rows"]


def test_wrong_numbers_of_rows(tmp_path: Path) -> None:
    """C says so by status and Python by ValueError; nothing is done, and the next right rows go on."""
    streamed = compiled(pictures(), 4, io="quantized")
    made = compiled_in_process(streamed)
    x = values(made)
    expected = bits(made(x))
    library = build_shared(write_c(streamed, tmp_path), quick_flags())
    entry, memory = getattr(ctypes.CDLL(str(library)), streamed.info().entry()), made.metadata.workspace_bytes
    workspace, y = np.zeros(memory + 64, np.uint8), np.empty(made.outputs[0].shape, made.outputs[0].dtype)
    start = workspace.ctypes.data + -workspace.ctypes.data % 64

    def push(first: int, count: int) -> int:
        some = np.ascontiguousarray(x[:, first : first + max(count, 1)])
        return entry(
            *map(ctypes.c_void_p, (some.ctypes.data,)), count, ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(start)
        )

    assert [push(0, count) for count in (0, -1, 5, 4)] == [-1, -1, -1, 0]
    assert [push(place, 4) for place in range(4, 20, 4)] == [0] * 4
    assert [push(20, 2), push(20, 3), push(22, 2)] == [0, -2, 1]
    assert y.tobytes() in expected.values()

    for rows, why in ((x[:, :0], "0 rows"), (x[:, :5], "1 to 4 come at once"), (x[:, :2, :3], "shape")):
        with pytest.raises(ValueError, match=why):
            made.push(rows)
    with pytest.raises(TypeError, match="dtype"):
        made.push(x[:, :1].astype(np.int16))
    assert made.push(x[0, :3]) is None and made.rows_pushed == 3
    with pytest.raises(ValueError, match="3 rows have been pushed"):
        made(x)
    with pytest.raises(ValueError, match="3 rows have been pushed"):
        made.bind(x)()
    assert made.clone().push(x[:, :1]) is None
    made.reset()
    assert bits(made(x)) == expected

    def thirds(count: int) -> Iterator[Array]:
        """Three at a time, of one picture after the other."""
        for place in range(count):
            yield x[0, place * 3 % 24 : place * 3 % 24 + 3]

    assert [bits(outputs) for outputs in made.stream(thirds(16))] == [expected] * 2
    with pytest.raises(ValueError, match="end within a run: 6 have come"):
        list(made.stream(thirds(2)))


def test_other_inputs_and_states_go_along() -> None:
    """They are those of the first rows; what depends on neither is computed before them, and states go on once."""
    nodes = [
        helper.make_node("Neg", ["s"], ["n"]),
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["c", "n"], ["m"]),
        helper.make_node("Add", ["m", "h"], ["y"]),
        helper.make_node("Identity", ["y"], ["hn"]),
    ]
    shapes = {"x": [1, 2, 9, 5], "s": [1, 3, 1, 1], "h": [1, 3, 9, 5]}
    given, results = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes.get(name, shapes["h"])) for name in names]
        for names in ("xsh", ("y", "hn"))
    )
    weight = np.random.default_rng(0).standard_normal((3, 2, 3, 3)).astype(np.float32)
    graph = helper.make_graph(nodes, "g", given, results, [helper.make_tensor("w", 1, weight.shape, weight.ravel())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    rng = np.random.default_rng(1)
    s = rng.standard_normal((1, 3, 1, 1)).astype(np.float32)
    state, whole, made = (
        {"hn": "h"},
        *(
            compiled_in_process(compiled(model, rows, state={"hn": "h"}, ram=ram))
            for rows, ram in ((None, None), (2, "min"))
        ),
    )
    assert made.states[0].name == state["hn"]
    for _ in range(2):
        x = rng.standard_normal((1, 9, 5, 2)).astype(np.float32)
        expected = whole(x=x, s=s)
        found = [made.push(x[:, place : place + 2], **({"s": s} if place == 0 else {})) for place in range(0, 9, 2)]
        assert found[:-1] == [None] * 4 and bits(found[-1]) == bits(expected)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"target": "x86-64-v3"}, "unsupported-by-target"),
        ({"interface_api": "micro"}, "option-conflict"),
        ({"io": "workspace"}, "option-conflict"),
        ({"threads": 2, "target": "rv64gc"}, "option-conflict"),
        ({"optimize": "0"}, "option-conflict"),
        ({"executor": "vm"}, "option-conflict"),
        ({"stream": {"x": 0}}, "out-of-range"),
        ({"stream": {"x": 1, "y": 2}}, "option-conflict"),
        ({"stream": {"x": 25}, "input_layouts": LAYOUT}, "out-of-range"),
        ({"stream": {"z": 1}}, "unknown-input"),
    ],
)
def test_what_cannot_be(options: dict[str, Any], kind: str) -> None:
    given: dict[str, Any] = {"target": "cortex-m4f", "stream": {"x": 1}, **options}
    with pytest.raises(UsageError) as raised:
        lower(pictures(), CompileOptions.of(**given))
    assert [problem.id for problem in raised.value.problems] == [kind]


def test_rows_of_planes_are_refused() -> None:
    """Channels first, a row would be a plane: of which layers read one line after the other, as `nhwc` has them."""
    with pytest.raises(CompileError, match=r"along axis 2, .*--input-layout x=nhwc \[not-by-rows"):
        compiled(pictures(), 1, input_layouts={}, io="quantized")


def test_samples_of_a_sequence() -> None:
    """One channel: rows of one element; dilated windows over the past, and a mean of all."""
    rng, x, nodes, weights = np.random.default_rng(0), "x", list[NodeProto](), list[TensorProto]()

    def constant(value: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(value), f"w{len(weights)}"))
        return f"w{len(weights) - 1}"

    def real(kind: str, *operands: str, **attributes: Any) -> str:
        """A result rounded to 8 bits."""
        name, parameters = f"{kind}{len(nodes)}", (constant(np.float32(1 / 16)), constant(np.int8(-3)))
        nodes.append(helper.make_node(kind, operands, [name], **attributes))
        nodes.append(helper.make_node("QuantizeLinear", [name, *parameters], [f"{name}q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}q", *parameters], [f"{name}d"]))
        return f"{name}d"

    x = real("Identity", "x")
    for channels, outputs, dilation, stride in ((1, 8, 1, 1), (8, 8, 2, 2), (8, 6, 4, 1)):
        taps = constant(rng.integers(-127, 128, (outputs, channels, 3)).astype(np.int8)), constant(np.float32(1 / 256))
        nodes.append(helper.make_node("DequantizeLinear", taps, [f"{x}w"]))
        attributes = {"dilations": [dilation], "strides": [stride], "pads": [2 * dilation, 0]}
        x = real("Conv", x, f"{x}w", kernel_shape=[3], **attributes)
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["y"]))
    infos = [helper.make_tensor_value_info(*each) for each in (("x", 1, [1, 1, 40]), ("y", 1, [1, 6, 1]))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    whole, made = (
        compiled_in_process(compiled(model, rows, io="quantized", input_layouts={}, ram=ram))
        for rows, ram in ((None, None), (7, "min"))
    )
    x_values, place, found = values(whole), 0, None
    for count in (7, 1, 5, 6, 2, 7, 3, 4, 5):
        found, place = made.push(x_values[:, :, place : place + count]), place + count
    assert bits(found) == bits(whole(x_values)) and made.metadata.workspace_bytes < whole.metadata.workspace_bytes


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_call_that_fails_forgets_the_rows(place: str, tmp_path: Path) -> None:
    """With the first rows or the last ones, by C and by LLVM: the next ones are the first of a run."""
    given, read, result = ("s", "x", "m") if place == "first" else ("m", "s", "y")
    picked = [
        helper.make_node("Gather", [given, "i"], ["g"], axis=3),
        helper.make_node("Mul", ["g", read], [result]),
    ]
    extremes = {"first": ("m", "y"), "last": ("x", "m")}[place]
    reduced = helper.make_node("ReduceMax", extremes[:1], extremes[1:], axes=[1, 2])
    nodes = [*picked, reduced] if place == "first" else [reduced, *picked]
    floats = {"x": [1, 9, 5, 4], "s": [1, 1, 1, 4], "y": [1, 1, 1, 4]}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in floats.items()}
    infos["i"] = helper.make_tensor_value_info("i", TensorProto.INT64, [4])
    graph = helper.make_graph(nodes, "g", [infos[name] for name in "xsi"], [infos["y"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    streamed = compiled(model, 2, input_layouts={}, check_indices=True)
    rng, right, wrong = np.random.default_rng(1), np.array([3, 0, 1, 2]), np.array([3, 0, 9, 2])
    x, s = rng.standard_normal((1, 9, 5, 4)).astype(np.float32), np.ones((1, 1, 1, 4), np.float32)
    for made in (load(build_shared(write_c(streamed, tmp_path), quick_flags())), compiled_in_process(streamed)):
        expected = made(x=x, s=s, i=right)
        with pytest.raises(RunError):
            made(x=x, s=s, i=wrong)
        assert made.rows_pushed == 0
        with pytest.raises(RunError):
            for first in range(0, 9, 2):
                made.push(x[:, first : first + 2], s=s, i=wrong)
        assert made.rows_pushed == 0
        assert bits(made(x=x, s=s, i=right)) == bits(expected)


def test_no_module_of_another_package_takes_rows() -> None:
    """One of apache-tvm-ffi has no status that says whether the outputs are there."""
    for rows in (None, 2):
        made = replace(compiled(pictures(), rows, io="quantized").info(), interface_api="packed")
        assert (tvm_ffi_object(made, lookup(SCALAR)) is None) == (rows is not None)


def test_outputs_are_no_memory_from_push_to_push() -> None:
    """Their place may be another one, or changed, until the last rows are there: rings are in the arena."""
    g = Network(0, quantized=True)
    g.shapes["x"] = (3, 24, 12)
    model = g.giving(g.same(g.same(g.real("x"), 2, 3), 8, 3))
    plan = compiled(model, 2, io="quantized").info().plan
    (roll,) = plan.rolls
    assert {ring.buffer for ring in roll.rings} <= {buffer.name for buffer in plan.buffers}
