"""Transforms against onnxruntime and numpy, random numbers against their definition and statistics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from drafts import Draft, agrees_with_onnxruntime, draft, has_no_warnings_in_c, is_the_same_in_c
from harness import Array

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.pipeline.options import CompileOptions

RANDOM = np.random.default_rng(8)


def normal(*shape: int, dtype: str = "float32") -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


def transforms() -> Iterator[Draft]:
    for parts in (1, 2):
        for inverse in (0, 1):
            yield draft("DFT", 17, normal(2, 9, 4, parts, dtype="float64"), axis=1, inverse=inverse)
            yield draft("DFT", 20, normal(2, 8, parts), inverse=inverse)
            for length in (5, 16):
                given = [normal(3, 8, parts), np.array(length), np.array(1)]
                yield draft("DFT", 20, *given, constants=[1, 2], inverse=inverse)
            for length in (96, 105):  # of two factors
                yield draft("DFT", 17, normal(2, length, 3, parts, dtype="float64"), axis=1, inverse=inverse)
                yield draft("DFT", 20, normal(3, length, parts, dtype="float64"), inverse=inverse)
    yield draft("DFT", 17, normal(2, 96, 1, dtype="float64"), onesided=1)
    yield draft("DFT", 17, normal(2, 105, 1, dtype="float64"), onesided=1)
    yield draft("DFT", 17, normal(1, 9, 1), onesided=1)
    yield draft("DFT", 20, normal(2, 3, 10, 1), None, np.array(-2), constants=[2], onesided=1)
    window = np.hanning(16).astype(np.float32)
    for one_sided in (0, 1):
        given = [normal(2, 60, 1), np.array(7), window, np.array(16)]
        yield draft("STFT", 17, *given, constants=[1, 3], onesided=one_sided)
        yield draft("STFT", 17, *given[:2], None, given[3], constants=[1, 3], onesided=one_sided)
    yield draft("STFT", 17, normal(2, 200, 1), np.array(20), np.hanning(64).astype(np.float32), constants=[1])
    yield draft("STFT", 17, normal(1, 50, 2), np.array(5), window, constants=[1], onesided=0)


@pytest.mark.parametrize("each", list(transforms()), ids=str)
def test_transforms(each: Draft) -> None:
    agrees_with_onnxruntime(each, absolute=2e-5)


@pytest.mark.parametrize(("length", "products"), [(63, 1), (64, 2), (97, 1), (400, 2)])
def test_matrices_of_a_transform(length: int, products: int) -> None:
    """Two where they are much smaller than one; a prime length has no factors."""
    model, feed = draft("DFT", 20, normal(1, length, 1)).model()
    kernels = aotc.build(model, emit="c", weights="external").metadata
    assert (kernels.weights_bytes < 4 * length**2) == (products == 2)
    module = lower(model, CompileOptions.of(stop_after="import")).module
    assert sum(isinstance(op, MatMulOp) for op in module.walk()) == products
    found = aotc.compile(model)(feed)["y0"]
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], np.fft.fft(feed["x0"][..., 0]), atol=1e-4)


@pytest.mark.parametrize("length", [7, 8])
def test_the_inverse_of_one_side(length: int) -> None:
    x = normal(2, length, 1)
    spectrum = np.fft.rfft(x[..., 0])
    given = np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)
    known = [np.array(length), np.array(1)]
    model, feed = draft("DFT", 20, given, *known, constants=[1, 2], inverse=1, onesided=1).model()
    np.testing.assert_allclose(aotc.compile(model)(feed)["y0"], x, atol=1e-5)


def test_transforms_in_c(tmp_path: Path) -> None:
    is_the_same_in_c([each for each in transforms() if each.opset == 20], tmp_path)


def test_transforms_in_c_without_warnings(tmp_path: Path) -> None:
    has_no_warnings_in_c([each for each in transforms() if each.opset == 20], tmp_path)


def test_mel_weights() -> None:
    known = [np.array(8), np.array(16), np.array(8192), np.array(0.0, np.float32), np.array(4096.0, np.float32)]
    agrees_with_onnxruntime(draft("MelWeightMatrix", 17, *known, constants=range(5)))


# Random numbers


def outputs(text: str, feed: dict[str, Array] | None = None, **options: Any) -> dict[str, Array]:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22]>\n{text}')
    return aotc.compile(model, **options)(feed or {"x": np.zeros(1, np.float32)})


UNIFORM = "g (float[1] x) => (u, y) { u = RandomUniform<shape=[100, 50], low=-2.0, high=6.0, seed=3.0>() y = Relu(x) }"


def words(seed: int, count: int) -> Array:
    """The first words of the sequence that `seed` begins (SplitMix64)."""
    with np.errstate(over="ignore"):
        value = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
        return value ^ (value >> np.uint64(31))


def test_uniform_numbers_are_those_of_the_generator() -> None:
    seed = int.from_bytes(np.float64(3.0).tobytes(), "little") & (2**63 - 1)
    upper = (words(seed, 5000) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    for level in ("0", "2"):
        found = outputs(UNIFORM, optimize=level)["u"]
        np.testing.assert_array_equal(found.reshape(-1), upper * np.float32(8) - np.float32(2))
        assert found.min() >= -2 and found.max() < 6 and abs(found.mean() - 2) < 0.1


def test_the_words_are_those_of_the_published_generator() -> None:
    """SplitMix64 from seed 1234567, as in its reference implementation."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert words(1234567, 3).tolist() == known


def test_normal_numbers() -> None:
    for dtype, code in (("float32", 1), ("float64", 11), ("float16", 10)):
        drawn = f"RandomNormal<shape=[20000], mean=1.0, scale=2.0, dtype={code}>()"
        text = f"g (float[1] x) => (n, y) {{ n = {drawn} y = Relu(x) }}"
        found = outputs(text)["n"]
        assert found.dtype == dtype and np.isfinite(found).all()
        wide = found.astype(np.float64)
        assert abs(wide.mean() - 1) < 0.05 and abs(wide.std() - 2) < 0.05
        assert abs(((wide - 1) ** 4).mean() / 16 - 3) < 0.2


def test_two_nodes_without_seeds_differ_and_a_seed_repeats() -> None:
    body = "a = RandomUniformLike(x) b = RandomUniformLike(x)"
    body += " c = RandomNormalLike<seed=1.0>(x) d = RandomNormalLike<seed=1.0>(x)"
    found = outputs(f"g (float[64] x) => (a, b, c, d) {{ {body} }}", {"x": np.zeros(64, np.float32)})
    assert (found["a"] != found["b"]).any()
    np.testing.assert_array_equal(found["c"], found["d"])


def test_bernoulli_and_multinomial_follow_their_probabilities() -> None:
    share = np.repeat(np.array([0.0, 0.25, 1.0], np.float32), 8000)
    found = outputs("g (float[24000] x) => (y) { y = Bernoulli<seed=2.0>(x) }", {"x": share})["y"].reshape(3, -1)
    assert not found[0].any() and found[2].all() and abs(found[1].mean() - 0.25) < 0.02
    x = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]], np.float32))
    drawn = outputs("g (float[2, 3] x) => (y) { y = Multinomial<sample_size=9000, dtype=7>(x) }", {"x": x})["y"]
    assert drawn.dtype == np.int64 and drawn.shape == (2, 9000)
    shares = [np.bincount(row, minlength=3) / 9000 for row in drawn]
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], atol=0.03)


def test_dropout_in_training() -> None:
    text = """g (float[9000] x) => (y, m) {
        r = Constant<value_float=0.25>() t = Constant<value=bool {1}>() y, m = Dropout<seed=4>(x, r, t) }"""
    x = RANDOM.uniform(1, 2, 9000).astype(np.float32)
    found = outputs(text, {"x": x})
    assert abs(found["m"].mean() - 0.75) < 0.02
    np.testing.assert_allclose(found["y"], np.where(found["m"], x / np.float32(0.75), 0), rtol=1e-6)


def test_data_say_whether_dropout_trains() -> None:
    text = "g (float[9000] x, bool t) => (y, m) { r = Constant<value_float=0.25>() y, m = Dropout<seed=4>(x, r, t) }"
    x = RANDOM.standard_normal(9000).astype(np.float32)
    used = outputs(text, {"x": x, "t": np.array(False)})
    np.testing.assert_array_equal(used["y"], x)
    assert used["m"].all()
    trained = outputs(text, {"x": x, "t": np.array(True)})
    assert abs(trained["m"].mean() - 0.75) < 0.02
    np.testing.assert_allclose(trained["y"], np.where(trained["m"], x / np.float32(0.75), 0), rtol=1e-6)


def test_random_numbers_in_c(tmp_path: Path) -> None:
    from quick_c import open_quickly

    from aotc.pipeline.options import CompileOptions

    path = tmp_path / "random.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22]>\n{UNIFORM}'), path)
    feed = {"x": np.zeros(1, np.float32)}
    by_c, by_llvm = (open_quickly(str(path), route, CompileOptions())(feed)["u"] for route in ("c", "jit"))
    np.testing.assert_array_equal(by_c, by_llvm)
