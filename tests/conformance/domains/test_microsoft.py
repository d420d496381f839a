"""Operators of com.microsoft that exporters and onnxruntime's optimiser write, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import Array, assert_close, assert_same_bits, by_every_route, reference
from microsoft_cases import FAMILIES, Case, case, f, i, merged, rounded_lstm

import aotc
from aotc.compiler.driver import lower
from aotc.pipeline.options import CompileOptions


@pytest.mark.parametrize("family", FAMILIES)
def test_as_onnxruntime(family: str, tmp_path: Path) -> None:
    cases = FAMILIES[family]()
    proto, feed = merged(cases)
    found = {how: compiled(feed) for how, compiled in by_every_route(proto, tmp_path, threads=False).items()}
    for number, each in enumerate(cases):
        values = reference(*each.model())
        assert values is not None, str(each)
        for name, wanted in zip(filter(None, each.outputs), values, strict=True):
            for how, computed in found.items():
                actual, where = computed[f"{name}_{number}"], f"{name} of {each} {how}"
                if each.tolerance is None:
                    assert_close(where, actual, wanted)
                    continue
                assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape), where
                np.testing.assert_allclose(actual, wanted, each.tolerance, each.tolerance, err_msg=where)
    assert_same_bits(found)


def test_packed_queries_keys_and_values() -> None:
    """onnxruntime's processor kernel does not have these layouts."""
    batch, steps, heads, size = 2, 3, 3, 4
    packed = f(batch, steps, heads, 3, size)
    parts = [packed[:, :, :, place].reshape(batch, steps, heads * size) for place in range(3)]
    (wanted,) = reference(*case("MultiHeadAttention", *parts, num_heads=heads).model()) or []
    both = packed[:, :, :, 1:].copy()
    for inputs in ([packed], [parts[0], both]):
        proto, feed = case("MultiHeadAttention", *inputs, num_heads=heads).model()
        assert_close("y_0", aotc.compile(proto)(feed)["y_0"], wanted)


@pytest.mark.parametrize(
    "options", [{}, {"target": "x86-64-v3"}, {"optimize": 0}, {"optimize": "s", "target": "cortex-m4f"}], ids=str
)
def test_weights_of_four_bits_stay_packed(options: dict[str, Any]) -> None:
    columns, depth = 32, 64
    stored = i(0, 256, columns, depth // 32, 16, dtype=np.uint8)
    given = {"K": depth, "N": columns, "bits": 4, "block_size": 32}
    each = case("MatMulNBits", f(1, depth), stored, f(columns * depth // 32), constants=(1, 2), **given)
    info = lower(each.model()[0], CompileOptions.of(**options)).info()
    scales_and_points = columns * depth // 32 * 5
    assert info.weights_bytes <= columns * depth // 2 + scales_and_points + 64


def test_states_of_each_line_are_rounded_alone() -> None:
    drawn = rounded_lstm(1, False, 3, False, 16)
    x = np.repeat(f(5, 1, 6), 3, axis=1)  # lines that are alike: inputs are rounded together
    lines = [x, *drawn.inputs[1:]]
    proto, feed = replace(drawn, inputs=tuple(lines)).model()
    found = aotc.compile(proto)(feed)["y_0"]
    for line in range(3):
        for place in (0, 5, 6):  # x and the initial states
            values = (x, *drawn.inputs[1:])[place]
            assert values is not None
            lines[place] = values[:, line : line + 1].copy()
        proto, feed = replace(drawn, inputs=tuple(lines)).model()
        assert aotc.compile(proto)(feed)["y_0"][..., 0, :].tobytes() == found[..., line, :].tobytes()


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"target": "x86-64-v3"}, {"optimize": 0}, {"optimize": "s", "target": "cortex-m4f"}], ids=str
)
def test_weights_of_recurrent_layers_stay_bytes(options: dict[str, Any], unsigned: bool) -> None:
    each = rounded_lstm(1, True, 1, unsigned, 40)
    info = lower(each.model()[0], CompileOptions.of(**options)).info()
    columns, depth = 4 * 40, 6 + 40
    vectors = 8 * columns * 4  # of each product scales, points and sums, the bias, and what panels are filled up by
    assert info.weights_bytes <= columns * (depth + 2) + vectors


def refused(op_type: str, inputs: Sequence[Array | None], message: str, **attributes: Any) -> Any:
    return pytest.param(Case(op_type, tuple(inputs), attributes, constants=(1,)), message, id=f"{op_type}: {message}")


BYTES = np.zeros((8, 1, 16), np.uint8)


@pytest.mark.parametrize(
    ("each", "message"),
    [
        refused("MatMulNBits", [f(1, 32), BYTES, f(8)], "unsupported-attribute", K=32, N=8, bits=3, block_size=32),
        refused("MatMulNBits", [f(1, 32), BYTES[:4], f(8)], "invalid-shape", K=32, N=8, bits=4, block_size=32),
        pytest.param(
            Case(
                "MatMulNBits",
                (
                    np.ones((1, 32), np.float32),
                    BYTES,
                    np.ones(8, np.float32),
                    None,
                    np.arange(32, dtype=np.int32) // 16,
                ),
                {"K": 32, "N": 8, "bits": 4, "block_size": 32},
                constants=(1, 4),
            ),
            "unsupported-value",
            id="MatMulNBits: g_idx",
        ),
        refused("FusedConv", [f(1, 1, 3, 3), f(1, 1, 1, 1)], "unsupported-attribute", activation="Mish"),
        refused("Attention", [f(1, 2, 4), f(4, 12), f(12)], "invalid-shape", num_heads=3),
        refused(
            "Attention", [f(1, 2, 4), f(4, 12), f(12)], "invalid-attribute", num_heads=2, qkv_hidden_sizes=[4, 4, 5]
        ),
        refused("SkipLayerNormalization", [f(1, 2, 4), f(3, 2, 4), f(4)], "invalid-shape"),
        refused("GroupQueryAttention", [f(1, 1, 4)] * 3, "invalid-attribute", num_heads=3, kv_num_heads=2),
    ],
)
def test_what_is_refused_is_named(each: Case, message: str) -> None:
    with pytest.raises(aotc.CompileError, match=message):
        aotc.compile(each.model()[0])
