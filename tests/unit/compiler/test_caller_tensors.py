"""`--io quantized`, `--input-layout` and `--output-layout`: what callers have where the model has something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.cli.main import run
from aotc.errors import AotcError

BOTH = ["--io", "quantized", "--input-layout", "x=nhwc", "--output-layout", "y=nhwc"]
X, Y = (0.02, 128), (0.1, 7)
"""Scale and zero point."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One convolution of bytes whose input and output are floats, [1, 3, 16, 12] -> [1, 8, 8, 6]."""
    weights = np.random.default_rng(0).integers(-127, 128, (8, 3, 3, 3), dtype=np.int8)
    constants = {"sx": np.float32(X[0]), "zx": np.uint8(X[1]), "sw": np.float32(0.01), "zw": np.int8(0), "w": weights}
    constants |= {"sy": np.float32(Y[0]), "zy": np.uint8(Y[1])}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["v"]),
        helper.make_node("Conv", ["d", "v"], ["c"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["c", "sy", "zy"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "sy", "zy"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 8, 6])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    path = tmp_path_factory.mktemp("caller") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_integers_and_layouts_are_those_of_the_model(model: Path) -> None:
    """The caller's integers give what the model gives for the real numbers that they stand for."""
    given = np.random.default_rng(1).integers(0, 256, (1, 16, 12, 3), dtype=np.uint8)
    layouts: dict[str, Any] = {"input_layouts": {"x": "nhwc"}, "output_layouts": {"y": "nhwc"}}
    found = aotc.compile(str(model), io="quantized", **layouts)(given)["y"]
    real = ((given.astype(np.int64) - X[1]) * X[0]).astype(np.float32).transpose(0, 3, 1, 2)
    expected = aotc.compile(str(model))(np.ascontiguousarray(real))["y"].transpose(0, 2, 3, 1)
    assert found.dtype == np.uint8 and np.array_equal(found, np.rint(expected / Y[0]) + Y[1])


@pytest.mark.parametrize("emit", ["jit", "c", "shared"])
@pytest.mark.parametrize("given", [BOTH, BOTH[:2], BOTH[2:]], ids=["both", "integers", "layouts"])
def test_verify_gives_the_reference_what_the_model_has(model: Path, emit: str, given: list[str]) -> None:
    assert run(["verify", str(model), "--emit", emit, "--reference", "onnxruntime", *given]) == 0


def test_nothing_is_copied_where_the_kernel_reads_and_writes_the_layout(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def arena(*given: str) -> Any:
        assert run(["plan", str(model), "--target", "cortex-m4f", "--json", *given]) == 0
        return json.loads(capsys.readouterr().out)["workspace_bytes"]

    assert arena() > 0 and arena(*BOTH) == 0


def test_metadata_and_self_test_are_of_what_callers_have(model: Path, tmp_path: Path) -> None:
    given = np.random.default_rng(2).integers(0, 256, (1, 16, 12, 3), dtype=np.uint8)
    np.savez(tmp_path / "in.npz", x=given)
    options = ["--io", "workspace,quantized", *BOTH[2:], "--selftest", str(tmp_path / "in.npz")]
    assert run(["compile", str(model), "-o", str(tmp_path), "--name", "m", "--target", "cortex-m4f", *options]) == 0
    info = json.loads((tmp_path / "m.json").read_text())
    assert [(each["dtype"], each["shape"], each["layout"], each["zero_point"]) for each in info["inputs"]] == [
        ("uint8", [1, 16, 12, 3], "nhwc", X[1])
    ]
    assert info["outputs"][0]["scale"] == pytest.approx(Y[0]) and info["io"] == "workspace"
    assert '#define AOTC_M_OUTPUT_0_LAYOUT "nhwc"' in (tmp_path / "m.h").read_text()


def test_a_layout_that_the_model_has_changes_nothing(model: Path) -> None:
    plain, named = (aotc.compile(str(model), input_layouts=given) for given in ({}, {"x": "nchw"}))
    assert isinstance(plain, aotc.CompiledModel) and isinstance(named, aotc.CompiledModel)
    assert plain.inputs == named.inputs


def _layouts(**layouts: str) -> Callable[[Path], object]:
    return lambda model: aotc.compile(str(model), input_layouts=layouts)


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no such input": (_layouts(z="nhwc"), "unknown-input"),
    "no such output": (lambda model: aotc.compile(str(model), output_layouts={"x": "nhwc"}), "unknown-output"),
    "no such layout": (_layouts(x="chw"), "unknown-choice"),
    "another rank": (_layouts(x="nwc"), "mismatched-layout"),
    "a state": (
        lambda model: aotc.compile(_recurrent(), state={"h1": "h"}, input_layouts={"h": "nwc"}),
        "unknown-input",
    ),
    "nothing quantised": (lambda model: aotc.compile(_recurrent(), io="quantized"), "not-quantized"),
    "open shapes": (lambda model: aotc.compile(_recurrent("n"), input_layouts={"x": "nwc"}), "option-conflict"),
}


def _recurrent(batch: int | str = 1) -> bytes:
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 2, 3]) for name in ("x", "h", "h1")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "h"], ["h1"])], "g", shapes[:2], shapes[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_by_name(model: Path, case: str) -> None:
    compiled, kind = WRONG[case]
    with pytest.raises(AotcError) as caught:
        compiled(model)
    assert kind in {problem.id for problem in caught.value.problems}


@pytest.mark.parametrize("more", [["--per-op"], ["--start-at", "import"]])
def test_operators_and_ir_keep_what_they_have(model: Path, more: list[str]) -> None:
    assert run(["verify", str(model), *more, *BOTH]) == 2
