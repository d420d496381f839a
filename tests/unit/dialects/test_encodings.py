"""Minifloats and sub-byte integers: every code, ties, what overflows and what is no number, by every route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, helper, save
from quick_c import open_quickly

from aotc.dialects import arrays
from aotc.dialects.dtypes import ELEMENT_TYPES, is_encoded, is_minifloat, number_kind, numpy_dtype
from aotc.frontend.onnx.tensors import ONNX_TYPES
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

ENCODED = [name for name, kind in ELEMENT_TYPES.items() if is_encoded(kind)]
MINIFLOATS = [name for name in ENCODED if is_minifloat(ELEMENT_TYPES[name])]
MODES: list[dict[str, Any]] = [
    *({"to": name} for name in ENCODED),
    *({"to": name, "saturate": 0} for name in MINIFLOATS),
    *({"to": "float8_e8m0fnu", "saturate": s, "round_mode": mode} for s in (0, 1) for mode in ("down", "nearest")),
]


def codes(name: str) -> Array:
    """Every code of a type."""
    return np.arange(2 ** ELEMENT_TYPES[name].bitwidth, dtype=np.uint8).view(numpy_dtype(name))  # pyright: ignore[reportAttributeAccessIssue]


def sweep() -> Array:
    """All numbers of all formats, what lies between two of them, the neighbours of both, and f32 all over."""
    found: list[Array] = [np.arange(0, 2**32, 2**32 // 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    for name in MINIFLOATS:
        with np.errstate(all="ignore"):
            exact = codes(name).astype(np.float32).astype(np.float64)
        exact = np.unique(np.abs(exact[np.isfinite(exact)]))
        beyond = exact[-1] + (exact[-1] - exact[-2]) * np.array([0.5, 1, 1.5])
        for numbers in (exact, (exact[1:] + exact[:-1]) / 2, beyond):
            near = numbers.astype(np.float32)
            found += [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    found.append(np.array([0, np.nan, np.inf, 7.5, 8, 300, 3e9, 2.5], np.float32))
    return np.concatenate([sign * np.concatenate(found) for sign in (np.float32(1), np.float32(-1))])


def model(x: Array) -> tuple[ModelProto, dict[str, Array]]:
    """Casts of `x` in every mode, and of every code to float."""
    feed = {"x": x, **{f"codes_{name}": codes(name) for name in ENCODED}}
    nodes = [
        helper.make_node("Cast", ["x"], [f"y{i}"], **{**mode, "to": ONNX_TYPES[ELEMENT_TYPES[mode["to"]]]})
        for i, mode in enumerate(MODES)
    ]
    nodes += [helper.make_node("Cast", [f"codes_{name}"], [f"decoded_{name}"], to=1) for name in ENCODED]
    inputs = [
        helper.make_tensor_value_info(name, ONNX_TYPES[ELEMENT_TYPES[array.dtype.name]], array.shape)
        for name, array in feed.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "casts", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13), feed


def assert_same(actual: Array, expected: Array, what: object, x: Array) -> None:
    """The same bits, but for NaN."""
    assert actual.dtype == expected.dtype
    with np.errstate(all="ignore"):
        wide = [array.astype(np.float32) for array in (actual, expected)]
    both_nan = np.isnan(wide[0]) & np.isnan(wide[1])
    same = both_nan | ((wide[0] == wide[1]) & (np.signbit(wide[0]) == np.signbit(wide[1])))
    assert same.all(), (what, x[~same][:5], actual[~same][:5], expected[~same][:5])


def independent(x: Array, mode: dict[str, Any]) -> Array | None:
    """The conversion by ml_dtypes of `x`; None for types that it converts otherwise than ONNX says."""
    name, dtype = mode["to"], numpy_dtype(mode["to"])
    if name == "float8_e8m0fnu":
        return None
    if name not in MINIFLOATS:
        width = ELEMENT_TYPES[name].bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        known = np.where(np.abs(x) < 2**31, x, 0).astype(np.float64)
        whole = np.copysign(np.floor(np.abs(known) + 0.5), known)  # of two, the one away from zero
        low = np.mod(whole, 2**width)
        return (
            np.where(low >= 2 ** (width - 1), low - 2**width, low).astype(dtype)
            if name[0] == "i"
            else low.astype(dtype)
        )
    finite = np.where(np.isnan(x), np.float32(-0.0), x) if name[:6] in ("float4", "float6") else x
    greatest = np.float32(ml_dtypes.finfo(dtype).max)
    return (np.clip(finite, -greatest, greatest) if mode.get("saturate", 1) else finite).astype(dtype)


@pytest.fixture(scope="module")
def x() -> Array:
    return sweep()


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernels_convert_as_arrays_do(route: str, x: Array, tmp_path: Path) -> None:
    proto, feed = model(x)
    save(proto, tmp_path / "casts.onnx")
    outputs = open_quickly(str(tmp_path / "casts.onnx"), route, CompileOptions())(feed)
    for i, mode in enumerate(MODES):
        saturate, rounding = bool(mode.get("saturate", 1)), mode.get("round_mode", "up")
        folded = arrays.convert(x, numpy_dtype(mode["to"]), saturate=saturate, rounding=rounding)
        assert_same(outputs[f"y{i}"], folded, mode, x)
        if (expected := independent(x, mode)) is not None:
            assert_same(folded, expected, mode, x)
        if number_kind(folded.dtype) == "i":
            signed = outputs[f"y{i}"].view(np.int8)
            assert (signed == folded.astype(np.int8)).all(), "integers are extended to the byte"
    for name in ENCODED:
        assert_same(outputs[f"decoded_{name}"], feed[f"codes_{name}"].astype(np.float32), name, feed[f"codes_{name}"])


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("name", "saturated", "kept"),
    [
        ("float8_e4m3fn", [0x00, 0x80, 0x7E, 0xFE, 0x7E, 0xFE], [0x00, 0x80, 0x7F, 0xFF, 0x7F, 0xFF]),
        ("float8_e4m3fnuz", [0x00, 0x00, 0x7F, 0xFF, 0x7F, 0xFF], [0x00, 0x00, 0x80, 0x80, 0x80, 0x80]),
        ("float8_e5m2", [0x00, 0x80, 0x7B, 0xFB, 0x7B, 0xFB], [0x00, 0x80, 0x7C, 0xFC, 0x7C, 0xFC]),
        ("float8_e5m2fnuz", [0x00, 0x00, 0x7F, 0xFF, 0x7F, 0xFF], [0x00, 0x00, 0x80, 0x80, 0x80, 0x80]),
        ("float8_e8m0fnu", [0x00, 0x00, 0xFE, 0x00, 0x93, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0x93, 0xFF]),
        ("float4_e2m1fn", [0x0, 0x8, 0x7, 0xF, 0x7, 0xF], [0x0, 0x8, 0x7, 0xF, 0x7, 0xF]),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_tables_of_the_standard(name: str, saturated: list[int], kept: list[int]) -> None:
    given = np.array([0.0, -0.0, INF, -INF, 1e6, -1e6], np.float32)
    for saturate, expected in ((True, saturated), (False, kept)):
        assert arrays.convert(given, numpy_dtype(name), saturate=saturate).view(np.uint8).tolist() == expected


def test_powers_of_two_round_as_they_are_told() -> None:
    given = np.array([1, 1.25, 1.5, 2**-127, 2**-126.5, 2**-128, 2**127 * 1.25], np.float32)
    rounded = {
        mode: np.log2(arrays.convert(given, numpy_dtype("float8_e8m0fnu"), rounding=mode).astype(np.float64)).tolist()
        for mode in ("up", "down", "nearest")
    }
    assert rounded["up"] == [0, 1, 1, -127, -126, -127, 127]
    assert rounded["down"] == [0, 0, 0, -127, -127, -127, 127]
    assert rounded["nearest"] == [0, 0, 1, -127, -127, -127, 127]
