"""LSTM, GRU and RNN with options drawn at random, by every route, against onnxruntime."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import Array, assert_close, assert_same_bits, by_every_route, reference
from recurrent_cases import GATES, Layer, batch_first, draw, model, time_first

import aotc


def layers(op_type: str, dtype: str = "float32", count: int = 10) -> list[list[Layer]]:
    """Random layers by the version of their operator set; the last ones have whole vectors, and several tiles."""
    random = np.random.default_rng(sorted(GATES).index(op_type))
    found: dict[int, list[Layer]] = defaultdict(list)
    for number in range(count):
        sizes: dict[str, Any] = {} if number < count - 2 else {"units": 48, "batch": 9 * (number % 2) + 1}
        layer = draw(random, op_type, dtype, **sizes)
        if dtype != "float32":  # where activations have no bounds, differences have none
            bounded = {name: value for name, value in layer.attributes.items() if not name.startswith("activation")}
            layer = replace(layer, attributes=bounded)
        found[layer.opset].append(layer)
    return list(found.values())


def expected(group: list[Layer]) -> dict[str, Array]:
    """The outputs of onnxruntime; it has no batch-first layout."""
    result: dict[str, Array] = {}
    for number, layer in enumerate(group):
        outputs = reference(*model([time_first(layer)]))
        assert outputs is not None, str(layer)
        names = ("Y", "Y_h", "Y_c")
        result |= {f"{name}{number}": x for name, x in zip(names, batch_first(layer, outputs), strict=False)}
    return result


@pytest.mark.parametrize("op_type", GATES)
def test_as_onnxruntime(op_type: str, tmp_path: Path) -> None:
    for group in layers(op_type):
        proto, feed = model(group)
        computed = {how: compiled(feed) for how, compiled in by_every_route(proto, tmp_path).items()}
        wanted = expected(group)
        for how, found in computed.items():
            for name, value in wanted.items():
                number = int(name.rpartition("h" if "_h" in name else "c" if "_c" in name else "Y")[2])
                assert_close(f"{name} {how}: {group[number]}", found[name], value)
        assert_same_bits(computed)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("op_type", GATES)
def test_other_floats_are_close_to_f32(op_type: str, dtype: str) -> None:
    for group in layers(op_type, dtype, 4):
        proto, feed = model(group)

        def single(tensors: dict[str, Array]) -> dict[str, Array]:
            return {name: x.astype(np.float32) if x.dtype == dtype else x for name, x in tensors.items()}

        wide = [replace(each, inputs=single(each.inputs), constants=single(each.constants)) for each in group]
        wanted = expected(wide)
        for optimize in (0, 2):
            found = aotc.compile(proto, optimize=optimize)(feed)
            for name, value in wanted.items():
                assert found[name].dtype == dtype
                tolerance = 1e-5 if dtype == "float64" else 1e-2
                np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("optimize", [0, 2])
def test_an_lstm_of_doubles_has_their_accuracy(optimize: int) -> None:
    random = np.random.default_rng(1)
    weights = {"W": random.uniform(-1, 1, (1, 36, 3)), "R": random.uniform(-1, 1, (1, 36, 9))}
    layer = Layer("LSTM", 14, {"hidden_size": 9}, {"X": random.uniform(-1, 1, (4, 2, 3))}, weights)
    weight, recurrent = weights["W"][0], weights["R"][0]
    h = c = np.zeros((2, 9))
    for x in layer.inputs["X"]:
        i, o, f, g = np.split(x @ weight.T + h @ recurrent.T, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
    proto, feed = model([layer])
    found = aotc.compile(proto, optimize=optimize)(feed)
    np.testing.assert_allclose(found["Y_h0"][0], h, rtol=1e-12)
    np.testing.assert_allclose(found["Y_c0"][0], c, rtol=1e-12)


def test_lengths_out_of_range_end_at_the_last_step_or_before_the_first() -> None:
    random = np.random.default_rng(2)
    lengths = np.array([-7, 2, 9], np.int32)
    x = random.uniform(-1, 1, (3, 3, 2)).astype(np.float32)
    shapes = {"W": (1, 15, 2), "R": (1, 15, 5)}
    weights = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    attributes = {"hidden_size": 5, "direction": "reverse"}
    whole = Layer("GRU", 14, attributes, {"X": x, "sequence_lens": lengths}, weights)
    clamped = Layer("GRU", 14, attributes, {"X": x, "sequence_lens": lengths.clip(0, 3)}, weights)
    for optimize in (0, 2):
        found, wanted = (
            aotc.compile(proto, optimize=optimize)(feed) for proto, feed in map(model, ([whole], [clamped]))
        )
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name], value, name)
        assert not found["Y0"][:, 0, 0].any() and not found["Y0"][2, 0, 1].any()
    proto, feed = model([whole])
    checked = aotc.compile(proto, check_indices=True)
    with pytest.raises(aotc.AotcError):
        checked(feed)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"activations": ["Sigmoid", "Gelu", "Tanh"]}, "unsupported-attribute"),
        ({"activations": ["Sigmoid", "Affine", "Tanh"]}, "missing-attribute"),
        ({"activations": ["Sigmoid"]}, "invalid-attribute"),
        ({"direction": "sideways"}, "unsupported-attribute"),
        ({"hidden_size": 4}, "invalid-attribute"),
        ({"clip": -1.0}, "invalid-attribute"),
        ({"layout": 2}, "unsupported-attribute"),
    ],
)
def test_what_is_no_layer_is_refused(attributes: dict[str, Any], message: str) -> None:
    random = np.random.default_rng(3)
    weights = {"W": random.uniform(-1, 1, (1, 20, 2)), "R": random.uniform(-1, 1, (1, 20, 5))}
    constants = {name: value.astype(np.float32) for name, value in weights.items()}
    layer = Layer("LSTM", 14, {"hidden_size": 5} | attributes, {"X": np.zeros((3, 1, 2), np.float32)}, constants)
    with pytest.raises(aotc.CompileError, match=message):
        aotc.compile(model([layer])[0])


def test_inputs_that_do_not_fit_are_named() -> None:
    constants = {"W": np.zeros((1, 20, 2), np.float32), "R": np.zeros((1, 20, 5), np.float32)}
    x = np.zeros((3, 1, 2), np.float32)
    for name, shape in {"B": (1, 20), "sequence_lens": (2,), "initial_h": (1, 5), "initial_c": (1, 1, 4)}.items():
        kind = np.int32 if name == "sequence_lens" else np.float32
        layer = Layer("LSTM", 14, {"hidden_size": 5}, {"X": x, name: np.zeros(shape, kind)}, constants)
        with pytest.raises(aotc.CompileError, match=rf"{name}.*\[invalid-shape\]"):
            aotc.compile(model([layer])[0])


@pytest.mark.parametrize("op_type", ["LSTM", "GRU", "RNN"])
def test_a_sequence_without_elements_ends_with_zeros(op_type: str) -> None:
    """Whatever the state that it begins with: onnxruntime has it so."""
    random = np.random.default_rng(4)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    given = {"X": (2, 3, 2), "initial_h": (1, 3, 4)} | ({"initial_c": (1, 3, 4)} if op_type == "LSTM" else {})
    inputs = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in given.items()}
    weights = {
        name: random.uniform(-1, 1, (1, gates * 4, columns)).astype(np.float32)
        for name, columns in (("W", 2), ("R", 4))
    }
    inputs["sequence_lens"] = np.array([0, 1, 2], np.int32)
    proto, feed = model([Layer(op_type, 14, {"hidden_size": 4}, inputs, weights)])
    wanted = reference(proto, feed)
    assert wanted is not None and not wanted[1][0, 0].any()
    for found, right in zip(aotc.compile(proto)(feed).values(), wanted, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-6)
