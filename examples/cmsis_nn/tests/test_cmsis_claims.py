"""What CMSIS-NN is asked for, compiled for this machine with its portable code: every bit as with our own kernels."""

from __future__ import annotations

import ctypes
import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc

pytest.importorskip("aotc_cmsis_nn", reason="pip install examples/cmsis_nn")

SOURCES = os.environ.get("CMSIS_NN", "")
needs_sources = pytest.mark.skipif(
    not (Path(SOURCES) / "Source").is_dir() or not SOURCES,
    reason="CMSIS_NN does not name a checkout of github.com/ARM-software/CMSIS-NN",
)
FOLDERS = ("Convolution", "FullyConnected", "Pooling", "NNSupport", "Transpose")
_SCRATCH = TemporaryDirectory(prefix="aotc-cmsis-nn.")
RANDOM = np.random.default_rng(1)
X = (np.float32(0.05), np.int8(3))
Y = (np.float32(0.11), np.int8(-7))


def quantized(
    node: str, x: tuple[int, ...], weight: np.ndarray | None, channels: bool = True, **attributes: Any
) -> bytes:
    """int8 in, int8 out, around one operator on floats; with a weight and a bias for each channel."""
    nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"])]
    constants: dict[str, np.ndarray] = {"xs": np.array(X[0]), "xz": np.array(X[1])}
    constants |= {
        "ys": np.array(Y[0] if weight is not None else X[0]),
        "yz": np.array(Y[1] if weight is not None else X[1]),
    }
    inputs = ["xf"]
    if weight is not None:
        axis = 1 if node == "MatMul" else 0
        count = weight.shape[axis]
        scales = RANDOM.uniform(0.01, 0.03, count if channels else ()).astype(np.float32)
        constants |= {"w": weight, "ws": scales, "wz": np.zeros(scales.shape, np.int8)}
        constants |= {"b": RANDOM.integers(-900, 900, count).astype(np.int32)}
        constants |= {"bs": (scales * X[0]).astype(np.float32), "bz": np.zeros(scales.shape, np.int32)}
        nodes.append(helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=axis))
        nodes.append(helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"], axis=0))
        inputs += ["wf", "bf"]
    if node == "MatMul":
        nodes += [helper.make_node("MatMul", inputs[:2], ["m"]), helper.make_node("Add", ["m", "bf"], ["yf"])]
    else:
        nodes.append(helper.make_node(node, inputs, ["yf"], **attributes))
    nodes.append(helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["y"]))
    ends = [
        helper.make_tensor_value_info("x", TensorProto.INT8, x),
        helper.make_tensor_value_info("y", TensorProto.INT8, None),
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made).SerializeToString()


def weights(*shape: int) -> np.ndarray:
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


CASES = {
    "conv": quantized("Conv", (1, 5, 9, 7), weights(6, 5, 3, 3), pads=[1, 1, 1, 1]),
    "strides and uneven pads": quantized("Conv", (1, 4, 10, 8), weights(8, 4, 3, 2), pads=[0, 1, 2, 0], strides=[2, 3]),
    "dilation": quantized("Conv", (1, 4, 12, 12), weights(4, 4, 3, 3), dilations=[2, 3], pads=[2, 0, 1, 2]),
    "one by one": quantized("Conv", (1, 16, 5, 5), weights(12, 16, 1, 1)),
    "one by one, strides": quantized("Conv", (1, 16, 6, 5), weights(12, 16, 1, 1), strides=[2, 2]),
    "one row": quantized("Conv", (1, 8, 1, 20), weights(4, 8, 1, 5), pads=[0, 2, 0, 2]),
    "batch": quantized("Conv", (3, 4, 6, 6), weights(8, 4, 3, 3)),
    "one scale": quantized("Conv", (1, 4, 6, 6), weights(8, 4, 3, 3), channels=False),
    "depthwise": quantized("Conv", (1, 8, 9, 9), weights(8, 1, 3, 3), group=8, pads=[1, 1, 1, 1]),
    "depthwise 5 x 3": quantized("Conv", (1, 8, 9, 9), weights(8, 1, 5, 3), group=8, pads=[2, 1, 2, 1], strides=[2, 1]),
    "depthwise, two each": quantized("Conv", (1, 6, 7, 7), weights(12, 1, 3, 3), group=6),
    "product": quantized("MatMul", (3, 40), weights(40, 10), channels=False),
    "product, channels": quantized("MatMul", (1, 33), weights(33, 7)),
    "mean": quantized("AveragePool", (1, 12, 5, 4), None, kernel_shape=[5, 4]),
    "mean of windows": quantized("AveragePool", (1, 6, 8, 8), None, kernel_shape=[2, 4], strides=[2, 2]),
    "maximum": quantized("MaxPool", (1, 6, 9, 8), None, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
}


@cache
def _library() -> Path:
    """CMSIS-NN as a static library for this machine."""
    folder = Path(_SCRATCH.name)
    root = Path(SOURCES)
    files = [file for each in FOLDERS for file in sorted((root / "Source" / f"{each}Functions").glob("*.c"))]
    files = [str(file) for file in files if not file.stem.endswith(("f16", "f32"))]
    subprocess.run(["cc", "-c", "-w", "-O1", "-fPIC", f"-I{root / 'Include'}", *files], cwd=folder, check=True)
    subprocess.run(
        ["ar", "rcs", "libcmsis.a", *sorted(path.name for path in folder.glob("*.o"))], cwd=folder, check=True
    )
    return folder / "libcmsis.a"


@needs_sources
@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m4f"])
@pytest.mark.parametrize("case", CASES)
def test_every_bit_is_that_of_our_kernels(case: str, target: str, tmp_path: Path) -> None:
    """A14, F2: CMSIS-NN rounds as TFLite does, and so do ours with `--requantize fixed`."""
    outputs: list[np.ndarray] = []
    x = None
    for name, options in (("ours", {}), ("theirs", {"offload": "cmsis-nn"})):
        folder = tmp_path / name
        written = aotc.compile_to(CASES[case], folder, name="m", target=target, requantize="fixed", **options)
        assert written.info is not None
        computed = [kernel.codegen for kernel in written.info.kernels if "_transpose_" not in kernel.symbol]
        assert computed == ["cmsis-nn"] or not options
        more = ["m_cmsis_nn.c", f"-I{SOURCES}/Include", str(_library())] if options else []
        command = ["cc", "-std=c99", "-O1", "-w", "-shared", "-fPIC", "m.c", *more, "-o", "m.so", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        (given,), (made,) = written.info.inputs, written.info.outputs
        x = RANDOM.integers(-128, 128, given.shape).astype(np.int8) if x is None else x
        out = np.zeros(made.shape, np.int8)
        run = ctypes.CDLL(str(folder / "m.so")).aotc_m_run
        assert run(x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)) == 0
        outputs.append(out)
    if case.startswith("mean"):  # which it divides by the count, and does not scale
        assert np.abs(outputs[0].astype(int) - outputs[1]).max() <= 1
    else:
        assert np.array_equal(*outputs)
    assert len(np.unique(outputs[0])) > 2


NOT_CLAIMED = {
    "groups": quantized("Conv", (1, 8, 6, 6), weights(8, 4, 3, 3), group=2),
    "three axes": quantized("Conv", (1, 4, 5, 5, 5), weights(4, 4, 2, 2, 2)),
    "mean with padding": quantized("AveragePool", (1, 6, 8, 8), None, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "last window beyond": quantized("MaxPool", (1, 6, 9, 8), None, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "holes": quantized("MaxPool", (1, 6, 9, 8), None, kernel_shape=[2, 2], dilations=[2, 2]),
}


@pytest.mark.parametrize("case", NOT_CLAIMED)
def test_what_it_has_no_kernel_for_stays_ours(case: str) -> None:
    artifacts = aotc.build(NOT_CLAIMED[case], name="m", target="cortex-m4f", offload="cmsis-nn")
    assert {artifact.codegen for artifact in artifacts} == {"aotc", "c"}


def test_other_targets_are_not_its(tmp_path: Path) -> None:
    for target in ("host", "rv32imac"):
        artifacts = aotc.build(CASES["conv"], name="m", target=target, offload="cmsis-nn", emit="c")
        assert "m_cmsis_nn.c" not in artifacts


def test_f20_f21_the_file_says_what_to_compile_it_with() -> None:
    """F20, F21: for Cortex-M4, with its flags, whatever the level of the rest."""
    made = aotc.build(CASES["conv"], name="m", target="cortex-m4f", optimize="s", offload="cmsis-nn")["m_cmsis_nn.c"]
    assert (made.codegen, made.loader, made.role, made.target) == ("cmsis-nn", "native", "flash", "cortex-m4f")
    assert {"-std=c99", "-O2", "-mcpu=cortex-m4", "-mfloat-abi=hard"} <= set(made.flags)
