"""A strategy from outside on a core without vectors: taken where it is cheaper, in C for the board."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.dialects.graph.convolution import ConvOp
from aotc.passes.kernel.strategy import strategies_of

FLAGS = ("cc", "-std=c99", "-O1", "-Wall", "-Werror", "-shared", "-fPIC")


def weights(outputs: int, taps: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((outputs, 1, taps)).astype(np.float32)


def filters(outputs: int, taps: int, samples: int = 103, pad: int = 0) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["f"], "filter", pads=[pad, pad]),
        helper.make_node("Relu", ["f"], ["y"], "rectify"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 1, samples])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, outputs, samples + 2 * pad - taps + 1])
    bias = np.arange(outputs, dtype=np.float32) / 4
    constants = [numpy_helper.from_array(weights(outputs, taps), "w"), numpy_helper.from_array(bias, "b")]
    graph = helper.make_graph(nodes, "filters", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def scheduled(model: onnx.ModelProto, directory: Path, target: str = "cortex-m4f", **options: str) -> str:
    aotc.compile_to(model, directory, name="m", stop_after="schedule", target=target, **options)  # pyright: ignore[reportArgumentType]
    return (directory / "m.schedule.mlir").read_text()


def test_the_strategy_is_chosen_where_it_is_cheaper(tmp_path: Path) -> None:
    assert "#signal.fir_schedule<lanes = 1, positions = 4, taps = 4>" in scheduled(filters(1, 33), tmp_path)
    assert "#signal.fir_schedule<lanes = 1, positions = 3, taps = 2>" in scheduled(filters(1, 2, 4), tmp_path)


@pytest.mark.parametrize("sizes", [(4, 33), (2, 8), (1, 1)])
def test_it_is_not_chosen_where_it_is_dearer(tmp_path: Path, sizes: tuple[int, int]) -> None:
    text = scheduled(filters(*sizes), tmp_path)
    assert "signal.fir_schedule" not in text and "#graph.sums_schedule" in text


@pytest.mark.parametrize("outputs", [1, 4])
def test_the_cost_of_both_decides(outputs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Asked for less, or for more, it is chosen or not, whatever the sizes; of two that cost as much it is ours."""
    ours, outside = (
        next(type(each) for each in strategies_of(ConvOp) if type(each).__name__ == name)
        for name in ("ChannelsLastStrategy", "FirStrategy")
    )
    for cost, chosen in ((1.0, True), (1e12, False)):
        monkeypatch.setattr(outside, "cost", lambda self, op, schedule, core, cost=cost: cost)
        assert ("signal.fir_schedule" in scheduled(filters(outputs, 8), tmp_path)) is chosen
    monkeypatch.setattr(ours, "cost", lambda self, op, schedule, core: 1e12)
    assert "signal.fir_schedule" not in scheduled(filters(outputs, 8), tmp_path)


@pytest.mark.parametrize(
    ("target", "options"), [("cortex-m4", {}), ("cortex-m4f", {"optimize": "s"}), ("x86-64-v4", {})]
)
def test_it_is_for_cores_with_an_fpu_and_without_vectors(tmp_path: Path, target: str, options: dict[str, str]) -> None:
    assert "signal.fir_schedule" not in scheduled(filters(1, 33), tmp_path, target, **options)


def test_windows_with_padding_are_left_to_aotc(tmp_path: Path) -> None:
    assert "signal.fir_schedule" not in scheduled(filters(1, 33, pad=1), tmp_path)


@pytest.mark.parametrize(
    ("sizes", "kernel"),
    [
        ((1, 33), "conv_relu"),
        ((1, 4, 5), "conv_relu"),
        ((1, 6, 15), "conv_relu"),
        ((4, 33), "channels_last_conv_relu_unpack_channels"),
    ],
)
def test_code_for_the_board_filters(tmp_path: Path, sizes: tuple[int, ...], kernel: str) -> None:
    model = filters(*sizes)
    aotc.compile_to(model, tmp_path, name="m", target="cortex-m4f")
    source, library = tmp_path / "m.c", tmp_path / "m.so"
    assert f" aotc_m_{kernel}_0(" in source.read_text()
    subprocess.run([*FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    outputs, taps = sizes[:2]
    y = np.empty((2, outputs, shape[-1] - taps + 1), np.float32)
    assert (
        ctypes.CDLL(str(library)).aotc_m_run(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p)) == 0
    )
    windows = np.lib.stride_tricks.sliding_window_view(x[:, 0], taps, axis=1)
    expected = np.einsum("npt,ot->nop", windows, weights(outputs, taps)[:, 0]) + np.arange(outputs)[:, None] / 4
    np.testing.assert_allclose(y, np.maximum(expected, 0), rtol=1e-5, atol=1e-5)
