"""Custom operators: frames and stacks that are not complete, options that cannot be read, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lite_cases.signal import flexbuffer
from lite_model import Graph, write
from lite_oracle import Micro

import aotc
from aotc.errors import CompileError
from aotc.frontend.tflite.flexbuffer import read_options


def _framed(code: str, extent: int, out: tuple[int, ...], **options: Any) -> bytes:
    graph = Graph()
    graph.tensor("x", (extent,) if code == "SignalStacker" else (1, extent), "int16")
    graph.tensor("y", out, "int16")
    graph.tensor("valid", (), "bool")
    graph.op(code, ["x"], ["y", "valid"], custom=flexbuffer(**options))
    return write([graph.ends(["x"], ["y", "valid"])])


def _stack(left: int, right: int, stride: int) -> bytes:
    options = {"num_channels": 3, "stacker_left_context": left, "stacker_right_context": right, "stacker_step": stride}
    return _framed("SignalStacker", 3, (3 * (left + right + 1),), **options)


def _frames(size: int, stride: int, count: int, prefill: bool) -> bytes:
    options = {"frame_size": size, "frame_step": stride, "prefill": prefill}
    return _framed("SignalFramer", stride * count, (1, count, size), **options)


@pytest.mark.parametrize(
    "data",
    [
        *(_frames(10, 4, 1, False), _frames(7, 2, 3, False), _frames(4, 4, 1, False), _frames(9, 4, 2, True)),
        *(_stack(0, 2, 1), _stack(1, 1, 2), _stack(2, 1, 3), _stack(0, 0, 1)),
    ],
    ids=["late", "several", "apart", "filled", "right", "both", "strides", "one"],
)
def test_what_is_complete_is_equal(data: bytes) -> None:
    """Both say at the same calls that something is not complete; after a reset as at first."""
    model, oracle, rng = aotc.compile(data), Micro(data), np.random.default_rng(5)
    assert isinstance(model, aotc.CompiledModel)
    for call in range(14):
        if call == 8:
            model.reset()
            oracle.reset()
        x = rng.integers(-30000, 30000, model.inputs[0].shape).astype(np.int16)
        found, expected = model({"x": x}), oracle(x)
        assert found["valid"] == expected[1]
        if expected[1]:
            np.testing.assert_array_equal(found["y"], expected[0])


def test_odd_channels_have_their_own_smoothing() -> None:
    graph = Graph()
    for name in ("x", "y", "noise"):
        graph.tensor(name, (5,), "uint32")
    options = {
        "alternate_one_minus_smoothing": 9000, "alternate_smoothing": 7000, "clamping": False, "num_channels": 5,
        "min_signal_remaining": 819, "one_minus_smoothing": 15892, "smoothing": 492, "smoothing_bits": 10,
        "spectral_subtraction_bits": 14,
    }  # fmt: skip
    graph.op("SignalFilterBankSpectralSubtraction", ["x"], ["y", "noise"], custom=flexbuffer(**options))
    data = write([graph.ends(["x"], ["y", "noise"])])
    model, oracle = aotc.compile(data), Micro(data)
    for call in range(4):
        x = np.array([call, 10, 90_000, 2**22, 2**32 - 1], np.uint32)
        for found, expected in zip(model({"x": x}).values(), oracle(x), strict=True):
            np.testing.assert_array_equal(found, expected)


def _transform(length: int, extent: int = 4) -> bytes:
    graph = Graph()
    graph.tensor("x", (1, extent), "int16")
    graph.tensor("y", (1, length + 2), "int16")
    graph.op("SignalRfft", ["x"], ["y"], custom=flexbuffer(T=7, fft_length=length))
    return write([graph.ends(["x"], ["y"])])


@pytest.mark.parametrize("length", [4, 6])
def test_short_transforms(length: int) -> None:
    data = _transform(length, 2)
    model, oracle = aotc.compile(data), Micro(data)
    for x in ([1, 2], [-30000, 29999], [32767, 32767]):
        given = np.array([x], np.int16)
        np.testing.assert_array_equal(model({"x": given})["y"], oracle(given)[0])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (_transform(14), "unsupported-attribute"),
        (_transform(5), "unsupported-attribute"),
        (_transform(4, 6), "invalid-shape"),
        (_transform(2, 2), "invalid-attribute"),
        (_frames(4, 5, 1, True), "invalid-attribute"),
        (_stack(0, 1, 3), "invalid-attribute"),
        (_framed("SignalFramer", 4, (1, 1, 4), frame_size=4, prefill=True), "missing-attribute"),
    ],
    ids=["seven", "odd", "long", "short", "gaps", "skips", "missing"],
)
def test_what_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        aotc.compile(data)
    assert {each.id for each in caught.value.problems} == {problem}


# --- options ----------------------------------------------------------------------------------------------------------


def test_options_of_every_kind_are_read() -> None:
    options = {"a": 1, "b": -(2**40), "c": 2**62, "d": True, "e": 0.5, "f": 0.1, "text": "is left out"}
    found = read_options(flexbuffer(**options))
    assert found == {name: value for name, value in options.items() if name != "text"}
    assert isinstance(found["d"], bool)


def test_no_options_are_none() -> None:
    assert read_options(b"") == {}


def test_damaged_options_are_refused() -> None:
    """Whatever byte is another or missing, the one error is ours, and nothing is read outside of them."""
    data, rng, refused = (
        flexbuffer(frame_size=640, frame_step=480, prefill=True, rate=0.25),
        np.random.default_rng(2),
        0,
    )
    for round_ in range(4000):
        changed = bytearray(data)
        if round_ % 3 == 0:
            del changed[int(rng.integers(1, len(data))) :]
        for _ in range(int(rng.integers(1, 4))):
            changed[int(rng.integers(0, len(changed)))] = int(rng.integers(256))
        try:
            assert len(read_options(bytes(changed))) <= len(data)
        except ValueError:
            refused += 1
    assert refused > 1000
