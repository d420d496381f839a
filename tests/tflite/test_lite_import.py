"""Models of one operator each, compiled, against the interpreters: by the table of cases."""

from __future__ import annotations

import numpy as np
import pytest
from lite_cases import CASES
from lite_model import Graph, write
from lite_oracle import ORACLES
from test_lite_reference import assert_near
from xdsl.dialects.builtin import i64

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.interfaces import element_type_of
from aotc.errors import CompileError
from aotc.frontend.tflite import load_model
from aotc.frontend.tflite.registry import IMPORTERS, load_importers
from aotc.model.metadata import TensorInfo
from aotc.pipeline.options import CompileOptions


def _missing(name: str) -> set[str]:
    """Operators of a case without an importer."""
    load_importers()
    return set(CASES[name].codes) - IMPORTERS.keys()


def is_refused(name: str) -> bool:
    """Whether a case has operators that are not imported."""
    return bool(_missing(name))


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    case = CASES[name]
    if is_refused(name):
        with pytest.raises(CompileError) as caught:
            aotc.compile(case.model)
        assert {each.id for each in caught.value.problems} == {"unsupported-operator"}
        return
    model, oracle = aotc.compile(case.model), ORACLES[case.oracle](case.model)
    for inputs in case.calls:
        given = {tensor.name: value for tensor, value in zip(model.inputs, inputs, strict=True)}
        for found, expected in zip(model(given).values(), oracle(*inputs), strict=True):
            assert_near(found, expected, case.tolerance)


def dense() -> bytes:
    """A small model with a constant of several scales."""
    graph = Graph()
    graph.tensor("x", (1, 4), "int8", scale=0.5, zero=-3)
    graph.constant("w", np.arange(12, dtype=np.int8).reshape(3, 4), scale=[0.1, 0.25, 0.3])
    graph.tensor("y", (1, 3), "int8", scale=0.5, zero=2)
    graph.op("FULLY_CONNECTED", ["x", "w", None], ["y"], fused_activation_function="RELU")
    return write([graph.ends(["x"], ["y"])])


def test_names_and_scales_are_in_the_metadata() -> None:
    model = aotc.compile(dense())
    (x,), (y,) = model.inputs, model.outputs
    assert isinstance(x, TensorInfo) and isinstance(y, TensorInfo)
    assert (x.name, x.scale, x.zero_point, y.name, y.scale, y.zero_point) == ("x", 0.5, -3, "y", 0.5, 2)


def shorts(code: str, bias: str = "int64", zero: int = 0, depth: int = 4) -> bytes:
    """A layer of 16-bit numbers."""
    graph, axis = Graph(), 3 if code == "DEPTHWISE_CONV_2D" else 0
    graph.tensor("x", (1, 1, 1, depth), "int16", scale=0.001, zero=zero)
    shape = (1, 1, 1, depth) if axis else (depth, 1, 1, depth)
    graph.constant("w", np.full(shape, 127, np.int8), scale=[0.1] * depth, axis=axis)
    graph.constant("b", np.ones(depth, bias), scale=[0.0001] * depth)
    graph.tensor("y", (1, 1, 1, depth), "int16", scale=0.5)
    more = {"depth_multiplier": 1} if axis else {}
    graph.op(code, ["x", "w", "b"], ["y"], padding="VALID", stride_h=1, stride_w=1, **more)
    return write([graph.ends(["x"], ["y"])])


@pytest.mark.parametrize(("depth", "is_wide"), [(516, False), (517, True)])
def test_sums_of_16_bits_are_as_narrow_as_their_weights_allow(depth: int, is_wide: bool) -> None:
    compilation = lower(shorts("CONV_2D", depth=depth), CompileOptions(stop_after="import"))
    kinds = {element_type_of(value) for op in graph_operations(compilation.module) for value in op.results}
    assert (i64 in kinds) == is_wide


@pytest.mark.parametrize("model", [shorts("DEPTHWISE_CONV_2D", bias="int32"), shorts("CONV_2D", zero=3)])
def test_numbers_of_which_kernels_read_something_else_are_refused(model: bytes) -> None:
    with pytest.raises(CompileError, match="unsupported-type"):
        aotc.compile(model)


def test_real_numbers_are_as_near_as_a_unit() -> None:
    data, x = dense(), np.array([[1, 100, -128, 4]], np.int8)
    exact, own = (aotc.compile(data, requantize=each)({"x": x})["y"].astype(int) for each in ("exact", "tflite"))
    assert np.abs(exact - own).max() <= 1


@pytest.mark.parametrize("options", [{"dims": {"n": 1}}, {"input_shapes": {"x": (1, 4)}}, {"constants": {"x": 1}}])
def test_shapes_are_those_of_the_file(options: dict[str, object]) -> None:
    with pytest.raises(aotc.UsageError, match="option-conflict"):
        aotc.compile(dense(), **options)  # type: ignore[arg-type]


def test_a_damaged_file_is_refused() -> None:
    """Whatever byte is changed or wherever the file ends, the only errors are ours."""
    data, generator = dense(), np.random.default_rng(1)
    refused = 0
    for round_ in range(3000):
        changed = bytearray(data)
        if round_ % 4 == 0:
            del changed[int(generator.integers(8, len(data))) :]
        for _ in range(int(generator.integers(1, 4))):
            changed[int(generator.integers(8, len(changed)))] = int(generator.integers(256))
        try:
            load_model(bytes(changed))
        except CompileError as error:
            assert [each.id for each in error.problems] == ["not-a-model"]
            refused += 1
    assert refused > 1000


def test_what_a_file_lacks_is_said_of_the_operator() -> None:
    graph = Graph()
    graph.tensor("x", (1, 4), "float32")
    graph.tensor("y", (1, 4), "float32")
    graph.op("sparkle", ["x"], ["y"])
    with pytest.raises(CompileError, match="unsupported-operator") as caught:
        aotc.compile(write([graph.ends(["x"], ["y"])]))
    assert [(each.node, each.op_type) for each in caught.value.problems] == [("y", "sparkle")]
