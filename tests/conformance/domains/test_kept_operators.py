"""Operators that models have and the ONNX of their version has not: those that onnxruntime keeps in ONNX's own set, and
those of com.microsoft that restate ONNX's; against onnxruntime. None of the models imports com.microsoft."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from harness import Array, assert_close, assert_same_bits, by_every_route, reference
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

import aotc
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES

_random = np.random.default_rng(31)


def f(*shape: int) -> Array:
    return _random.normal(size=shape).astype(np.float32)


def n(*values: Any, dtype: Any = np.int64) -> Array:
    return np.array(values, dtype)


class Kept(NamedTuple):
    """One node on `x`; the other inputs are constants."""

    op_type: str
    x: Array
    constants: tuple[Array, ...] = ()
    attributes: dict[str, Any] = {}  # noqa: RUF012
    opset: int = 8
    domain: str = ""


def model_of(cases: list[Kept]) -> tuple[ModelProto, dict[str, Array]]:
    """Nodes of one operator set side by side."""
    graph = helper.make_graph([], "kept", [], [])
    feed: dict[str, Array] = {}
    for number, each in enumerate(cases):
        names = [f"x{number}", *(f"c{number}_{place}" for place in range(len(each.constants)))]
        feed[names[0]] = each.x
        kind = ONNX_TYPES[ELEMENT_TYPES[each.x.dtype.name]]
        graph.input.append(helper.make_tensor_value_info(names[0], kind, each.x.shape))
        graph.initializer.extend(map(numpy_helper.from_array, each.constants, names[1:]))
        node = helper.make_node(
            each.op_type, names, [f"y{number}"], f"n{number}", domain=each.domain, **each.attributes
        )
        graph.node.append(node)
        graph.output.append(ValueInfoProto(name=f"y{number}"))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", cases[0].opset)], ir_version=9), feed


PICTURE = f(2, 3, 6, 5)
ROWS = f(2, 4, 6)
EARLY = [
    Kept("Affine", PICTURE, (), {"alpha": 2.0, "beta": 3.0}),
    Kept("Affine", PICTURE),
    Kept("Scale", PICTURE, (), {"scale": 0.5}),
    Kept("ScaledTanh", PICTURE, (), {"alpha": 2.0, "beta": 0.3}),
    Kept("ParametricSoftplus", PICTURE * 20, (), {"alpha": 2.0, "beta": 3.0}),
    Kept("ThresholdedRelu", PICTURE, (), {"alpha": 0.25}),
    Kept("ImageScaler", PICTURE, (), {"scale": 2.0, "bias": [1.0, 2.0, 3.0]}),
    Kept("Crop", PICTURE, (), {"border": [1, 0, 2, 1]}),
    Kept("Crop", PICTURE, (), {"border": [1, 2, 0, 0], "scale": [3, 2]}),
    Kept("DynamicSlice", PICTURE, (n(0, 1), n(1, 3), n(0, 2))),
    Kept("LayerNormalization", ROWS, (f(6), f(6)), {"epsilon": 1e-3}),
    *(
        Kept("MeanVarianceNormalization", PICTURE, (), {"across_channels": across, "normalize_variance": divided})
        for across in (0, 1)
        for divided in (0, 1)
    ),
]
RESTATED = [
    Kept(name, x, constants, attributes, 17, "com.microsoft")
    for name, x, constants, attributes in [
        ("Trilu", f(4, 5), (), {"upper": 0}),
        ("ExpandDims", ROWS, (n(-1, dtype=np.int32),), {}),
        ("Pad", ROWS, (n(1, 0, 0, 0, -1, 2), n(2, dtype=np.float32)), {}),
        ("Pad", ROWS, (n(0, 1, 1, 0, 0, 2),), {"mode": "reflect"}),
        ("GatherND", ROWS, (n([1, 0], [0, 3]),), {}),
        ("GridSample", PICTURE, (f(2, 4, 4, 2) / 2,), {"padding_mode": "border"}),
        ("CDist", f(5, 7), (f(3, 7),), {"metric": "sqeuclidean"}),
        ("CDist", f(5, 7), (f(3, 7),), {"metric": "euclidean"}),
        ("Inverse", f(2, 3, 4, 4), (), {}),
        ("Inverse", n([0, 2], [4, 0], dtype=np.float32), (), {}),
    ]
]


@pytest.mark.parametrize("cases", [EARLY, RESTATED], ids=["early", "restated"])
def test_as_onnxruntime(cases: list[Kept], tmp_path: Path) -> None:
    model, feed = model_of(cases)
    found = {how: compiled(feed) for how, compiled in by_every_route(model, tmp_path, threads=False).items()}
    for number, each in enumerate(cases):
        proto, own = model_of([each])
        (wanted,) = reference(proto, own) or [None]
        assert wanted is not None, each
        for how, computed in found.items():
            assert_close(f"{each.op_type} {each.attributes} {how}", computed[f"y{number}"], wanted)
    assert_same_bits(found)


def test_ranges_of_constants() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[3] x) => (float[3] y, float[3] z) {
        start = Constant <value_float = 1.0> ()  limit = Constant <value_floats = [4.0]> ()
        step = Constant <value_float = 2.0> ()  far = Constant <value_float = 7.0> ()
        a = com.microsoft.Range (start, limit)  b = com.microsoft.Range (start, far, step)
        y = Add (x, a)  z = Add (x, b)
    }"""
    from onnx.parser import parse_model

    found = aotc.compile(parse_model(text))(np.zeros(3, np.float32))
    assert found["y"].tolist() == [1, 2, 3] and found["z"].tolist() == [1, 3, 5]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Kept("ScaledTanh", PICTURE, (), {"alpha": 2.0}), "missing-attribute"),
        (Kept("ImageScaler", PICTURE, (), {"bias": [1.0]}), "invalid-attribute"),
        (Kept("Crop", PICTURE, (), {"border": [1, 0, 5, 1]}), "invalid-attribute"),
        (Kept("Crop", PICTURE, (), {"border": [1, 0]}), "invalid-attribute"),
        (Kept("ExpandDims", ROWS, (n(0, 1),), {}, 17, "com.microsoft"), "invalid-shape"),
        (
            Kept("CDist", ROWS[0], (ROWS[0],), {"metric": "cosine"}, 17, "com.microsoft"),
            "unsupported-attribute",
        ),
        (Kept("CDist", ROWS[0], (ROWS[0, :, 1:],), {"metric": "euclidean"}, 17, "com.microsoft"), "invalid-shape"),
        (Kept("Inverse", ROWS, (), {}, 17, "com.microsoft"), "invalid-shape"),
        (Kept("Gelu", PICTURE, opset=17), "unsupported-operator"),
    ],
)
def test_what_is_refused_is_named(case: Kept, message: str) -> None:
    with pytest.raises(aotc.CompileError, match=message):
        aotc.compile(model_of([case])[0])
