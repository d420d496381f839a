"""Large products on the host are OpenBLAS's, all others stay the compiler's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc

pytest.importorskip("scipy_openblas32", reason="pip install examples/blas brings OpenBLAS")
pytest.importorskip("aotc_blas", reason="pip install examples/blas")

RANDOM = np.random.default_rng(0)


def _model(
    nodes: list[onnx.NodeProto], shapes: dict[str, tuple[int, ...]], *constants: tuple[str, np.ndarray]
) -> bytes:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph(nodes, "g", ends[:-1], ends[-1:], [numpy_helper.from_array(a, n) for n, a in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def _kernels(artifacts: aotc.ArtifactSet) -> int:
    return sum(kernel.codegen == "blas" for kernel in artifacts.metadata.kernels)


def _close(found: np.ndarray, right: np.ndarray) -> None:
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


@pytest.mark.parametrize("options", [{}, {"optimize": "0"}, {"emit": "c"}, {"threads": 2}, {"runtime": "host"}])
def test_a14_a_layer_with_what_follows(options: dict[str, Any], tmp_path: Any) -> None:
    """A14: the product is outside, bias and relu are a kernel of ours; a library of it can be loaded again."""
    w, b = RANDOM.standard_normal((512, 768), np.float32), RANDOM.standard_normal(768, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    model = _model(nodes, {"x": (2, 64, 512), "y": (2, 64, 768)}, ("w", w), ("b", b))
    artifacts = aotc.build(model, name="m", offload="blas", **options)
    assert _kernels(artifacts) == 1
    x = RANDOM.standard_normal((2, 64, 512), np.float32)
    right = np.maximum(x @ w + b, 0)
    _close(artifacts.load()({"x": x})["y"], right)
    library = artifacts.export_library(tmp_path / "m.so")
    _close(aotc.load(library)({"x": x})["y"], right)
    assert b"libscipy_openblas" in library.read_bytes()  # it names what it needs


@pytest.mark.parametrize(
    ("lhs", "rhs", "gemm"),
    [
        ((3, 128, 160), (3, 160, 96), {}),
        ((3, 128, 160), (160, 96), {}),
        ((128, 160), (3, 160, 96), {}),
        ((2, 1, 128, 160), (2, 1, 160, 128), {}),
        ((160, 192), (160, 144), {"transA": 1}),
        ((192, 160), (144, 160), {"transB": 1}),
        ((160, 192), (144, 160), {"transA": 1, "transB": 1, "alpha": 0.5}),
    ],
)
def test_batches_and_transposes(lhs: tuple[int, ...], rhs: tuple[int, ...], gemm: dict[str, Any]) -> None:
    a, b = RANDOM.standard_normal(lhs, np.float32), RANDOM.standard_normal(rhs, np.float32)
    left = a.swapaxes(-1, -2) if gemm.get("transA") else a
    right = (left @ (b.swapaxes(-1, -2) if gemm.get("transB") else b)) * gemm.get("alpha", 1)
    node = helper.make_node("Gemm" if gemm else "MatMul", ["a", "b"], ["y"], **gemm)
    artifacts = aotc.build(_model([node], {"a": lhs, "b": rhs, "y": right.shape}), name="m", offload="blas")
    assert _kernels(artifacts) == 1
    _close(artifacts.load()({"a": a, "b": b})["y"], right)


def test_what_is_not_claimed() -> None:
    """Small products, other types, batches that broadcast along one axis only, other machines."""
    small = _model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": (8, 8), "b": (8, 8), "y": (8, 8)})
    assert _kernels(aotc.build(small, offload="blas", emit="c")) == 0
    shapes = {"a": (2, 1, 160, 160), "b": (1, 3, 160, 160), "y": (2, 3, 160, 160)}
    broadcast = _model([helper.make_node("MatMul", ["a", "b"], ["y"])], shapes)
    assert _kernels(aotc.build(broadcast, offload="blas", emit="c")) == 0
    large = _model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": (256, 256), "b": (256, 256), "y": (256, 256)})
    assert _kernels(aotc.build(large, offload="blas", emit="c")) == 1
    assert _kernels(aotc.build(large, offload="blas", emit="c", target="aarch64")) == 0
