"""Extents that depend on data: results up to their count are onnxruntime's. And sequences, casts of bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from drafts import Draft, agrees_with_onnxruntime, draft, has_no_warnings_in_c, is_the_same_in_c
from harness import Array
from onnx import TensorProto

RANDOM = np.random.default_rng(6)


def few(dtype: str, *shape: int) -> Array:
    return RANDOM.integers(0, 3, shape).astype(dtype)


def extents() -> Iterator[Draft]:
    for dtype in ("float32", "int64", "int32", "uint8", "bool"):
        yield draft("NonZero", 13, few(dtype, 3, 4, 2))
    yield draft("NonZero", 13, np.zeros(5, np.float32))
    yield draft("NonZero", 13, np.array([np.nan, 0.0, -0.0, 1.0], np.float32))
    for axis in (0, 1, -1):
        condition = np.array([True, False, True])
        yield draft("Compress", 11, RANDOM.standard_normal((4, 3, 5)).astype(np.float32), condition, axis=axis)
        yield draft("Compress", 9, few("int8", 4, 3, 5), condition, axis=axis, constants=[1])
    yield draft("Compress", 11, few("float64", 4, 3), np.array([False, True, True, False, True, False]))
    for dtype in ("float32", "float64", "int64", "int8"):
        for order in (0, 1):
            yield draft("Unique", 11, few(dtype, 4, 5), outputs=4, sorted=order)
            yield draft("Unique", 11, few(dtype, 6, 2), outputs=4, sorted=order, axis=0)
            yield draft("Unique", 11, few(dtype, 2, 7), outputs=4, sorted=order, axis=-1)
    for order in (0, 1):
        for axis in (0, 1):
            yield draft("Unique", 11, few("int64", 5, 4), outputs=4, sorted=order, axis=axis, constants=[0])
        yield draft("Unique", 11, few("float32", 5, 2), outputs=4, sorted=order, constants=[0])


def grams() -> Iterator[Draft]:
    options = {
        "max_gram_length": 2,
        "min_gram_length": 1,
        "ngram_counts": [0, 4],
        "ngram_indexes": [6, 1, 2, 3, 4, 5, 0],
        "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
    }
    weights = [0.5, 2.0, 1.0, 3.0, 0.25, 4.0, 1.5]
    for mode in ("TF", "IDF", "TFIDF"):
        for skips in (0, 2, 5):
            x = RANDOM.integers(2, 9, (3, 7))
            yield draft("TfIdfVectorizer", 9, x, mode=mode, max_skip_count=skips, weights=weights, **options)
    yield draft("TfIdfVectorizer", 9, np.array([5, 6, 7, 8, 6, 7, 5], np.int32), mode="TF", max_skip_count=1, **options)


def movement() -> Iterator[Draft]:
    lengths = np.array([2, 4, 1])
    for dtype in ("float32", "int64", "uint8", "bool"):
        yield draft("ReverseSequence", 10, few(dtype, 4, 3, 2), lengths)
        yield draft("ReverseSequence", 10, few(dtype, 3, 4), lengths, batch_axis=0, time_axis=1)


def every() -> list[Draft]:
    return [*extents(), *grams(), *movement()]


@pytest.mark.parametrize("each", every(), ids=str)
def test_selection(each: Draft) -> None:
    agrees_with_onnxruntime(each)


def test_selection_in_c_without_warnings(tmp_path: Path) -> None:
    has_no_warnings_in_c(every(), tmp_path)


def test_selection_in_c(tmp_path: Path) -> None:
    is_the_same_in_c(every(), tmp_path)


WIDTHS = {
    8: ("int8", "uint8", "float8_e4m3fn", "float8_e5m2"),
    16: ("int16", "uint16", "float16", "bfloat16"),
    32: ("int32", "uint32", "float32"),
    64: ("int64", "uint64", "float64"),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("optimize", ["0", "2"])
def test_bits_are_kept(width: int, optimize: str) -> None:
    """Every element type to every other of its width, on every code of up to 16 bits but those of NaNs."""
    import ml_dtypes
    from cases import onnx_type

    import aotc

    def dtype(name: str) -> np.dtype:
        return np.dtype(getattr(ml_dtypes, name, name))

    whole = (
        np.arange(2**width, dtype=f"uint{width}") if width <= 16 else RANDOM.integers(0, 2**63, 500).astype("uint64")
    )
    codes = whole.astype(f"uint{width}")
    for name in WIDTHS[width]:
        if "float" in name:
            with np.errstate(invalid="ignore"):  # signalling NaNs
                codes = codes[~np.isnan(codes.view(dtype(name)).astype(np.float64))]
    for source in WIDTHS[width]:
        x = codes.view(dtype(source))
        for target in WIDTHS[width]:
            model, feed = draft("BitCast", 26, x, to=onnx_type(target)).model()
            (actual,) = aotc.compile(model, optimize=optimize)(feed).values()
            assert actual.dtype == dtype(target)
            assert actual.tobytes() == x.tobytes(), (source, target)


def test_bits_of_another_width_are_refused() -> None:
    import aotc

    model, _ = draft("BitCast", 26, np.zeros(3, np.float32), to=TensorProto.INT64).model()
    with pytest.raises(aotc.CompileError, match="invalid-shape"):
        aotc.compile(model)
