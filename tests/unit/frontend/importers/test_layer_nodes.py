"""Nodes that take rows, windows or pictures together, by the files of importers:

* aotc.frontend.onnx.importers.normalization
* aotc.frontend.onnx.importers.quantization
* aotc.frontend.onnx.importers.resize
* aotc.frontend.onnx.importers.signal
* aotc.frontend.onnx.importers.vision
"""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import assert_outputs, check, evaluate, parsed, rows
from onnx_text import Imported

from aotc.dialects.graph.interfaces import element_type_of
from aotc.frontend.onnx.importers.resize import ResizedAxis

NORMALIZED = """
13 | int32[2, 3] x | y = ReduceL2<axes = [1]>(x) |
13 | float[2, 3] x | y = ReduceL2<axes = [1]>(x) | -> mul reduce sqrt
13 | float[3] x, float one; float zero = {0} | i = Div(one, zero) v = Add(x, i) w = Abs(v)
    y = ReduceLogSumExp<axes = [0]>(w) |
11 | float[2, 3] x | y = Softmax<axis = -1>(x) |
11 | float[2, 3] x | y = Softmax<axis = 0>(x) |
11 | float[2, 3, 2] x | y = Hardmax<axis = 1>(x) |
17 | float[2, 3] x, float[3] w | y = LayerNormalization(x, w) | -> normalize mul
17 | float[2, 3] x, float[3] w | y, "", y2 = LayerNormalization(x, w) |
21 | float[1, 3, 2] x, float[3] w, float[3] b | y = GroupNormalization<num_groups = 0>(x, w, b) | invalid-shape
21 | float[1, 3, 2] x, float[3] w, float[3] b | y = GroupNormalization<num_groups = 2>(x, w, b) | invalid-shape
21 | float[1, 3, 2] x, float[3] w, float[3] b | y = GroupNormalization<num_groups = 1>(x, w, b) |
8 | float[2, 3, 2, 2] x | y = MeanVarianceNormalization<across_channels = 1, normalize_variance = 0>(x) |
8 | float[2, 3, 2, 2] x | y = MeanVarianceNormalization<across_channels = 1>(x) |
8 | float[2, 3, 2, 2] x | y = MeanVarianceNormalization(x) |
9 | float[2, 3, 2, 2] x | y = MeanVarianceNormalization(x) |
15 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v | y = BatchNormalization(x, s, b, m, v)
    | -> batch_norm
15 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v
    | y, y2, y3 = BatchNormalization<training_mode = 1>(x, s, b, m, v) |
15 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v
    | y = BatchNormalization<training_mode = 1>(x, s, b, m, v) | -> reduce sub mul reduce batch_norm
9 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v
    | y, "", "", y2, "" = BatchNormalization(x, s, b, m, v) | -> reduce sub mul reduce batch_norm
7 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v | y = BatchNormalization(x, s, b, m, v)
    | -> batch_norm
6 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v | y = BatchNormalization<is_test = 1>(x, s, b, m, v)
    | -> batch_norm
6 | float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v | y = BatchNormalization(x, s, b, m, v)
    | -> reduce sub mul reduce batch_norm
13 | float[2, 3] x | y = LRN<size = 0>(x) | invalid-attribute
13 | float[3] x | y = LRN<size = 1>(x) | invalid-attribute
13 | float[2, 3] x | y = LRN<size = 1>(x) | -> mul pad slice mul add pow div
"""

QUANTIZED = """
21 | float[3] x, float s; uint8 z = {3} | y = QuantizeLinear<saturate = 0>(x, s, z) |
23 | uint8[3] x, float16 s | y = DequantizeLinear<output_dtype = 1>(x, s) | -> dequantize
6 | int32[3] x | y = Cast<to = 1>(x) | -> cast
5 | int32[3] x | y = Cast<to = "FLOAT">(x) | -> cast
5 | int32[3] x | y = Cast<to = "NUMBER">(x) | invalid-attribute
25 | float8e4m3fn[3] x | z = Cast<to = 17>(x) y = Identity(z) | ->
22 | float[3] x | y = Dropout(x) | ->
13 | float[3] x; float r = {0.5}, bool t = {1} | y = Dropout(x, r, t) | -> random compare div where
13 | float[3] x; float r = {0.5}, bool t = {0} | y = Dropout(x, r, t) | ->
13 | float[3] x; float r = {0}, bool t = {1} | y = Dropout(x, r, t) | ->
13 | float[3] x, float r; bool t = {1} | y = Dropout(x, r, t) | -> random compare sub div where
13 | float[3] x, bool t; float r = {0.5} | y = Dropout(x, r, t) | -> where random compare sub div where
13 | float[3] x, bool t; float r = {0} | y = Dropout(x, r, t) | ->
13 | float[3] x; bool t = {1} | y = Dropout(x, "", t) | -> random compare div where
7 | float[3] x | y = Dropout(x) | ->
6 | float[3] x | y = Dropout<is_test = 1>(x) | ->
6 | float[3] x | y = Dropout(x) | -> random compare div where
13 | float[3] x | y, "" = Dropout(x) | ->
12 | float[3] x | y, y2 = Dropout(x) |
10 | float[3] x | y, y2 = Dropout(x) |
7 | float[3] x | y, y2 = Dropout(x) |
"""

RESIZED = """
7 | float[1, 1, 2, 2] x | y = Upsample<scales = [1.0, 1.0, 2.0, 2.0]>(x) |
10 | float[2, 2] x; float[2] s = {1, 2} | y = Resize(x, s) |
11 | float[2, 2] x; float[4] r = {0, 0, 1, 1}, float[2] s = {1, 2} | y = Resize(x, r, s) |
17 | float[2] x; float[1] s = {2} | y = Resize<coordinate_transformation_mode = "where">(x, "", s) | invalid-attribute
17 | float[2] x; float[1] s = {2} | y = Resize<nearest_mode = "which">(x, "", s) | invalid-attribute
17 | float[2, 2] x; float[1] s = {2} | y = Resize(x, "", s) | invalid-value
17 | float[2, 2] x; float[2] s = {1, -1} | y = Resize(x, "", s) | invalid-value
17 | float[2, 2] x; float[2] s = {1, 0} | y = Resize(x, "", s) | invalid-value
17 | float[2, 2] x; int64[1] s = {2} | y = Resize(x, "", "", s) | invalid-value
17 | float[2, 2] x; int64[2] s = {2, -1} | y = Resize(x, "", "", s) | invalid-value
17 | float[2, 0] x; int64[2] s = {2, 1} | y = Resize(x, "", "", s) | invalid-value
17 | float[2, 2] x; int64[2] s = {2, 0} | y = Resize(x, "", "", s) | invalid-value
17 | float[2, 2] x; int64[2] s = {2, 3} | y = Resize(x, "", "", s) | -> gather
17 | float[3] x; float[1] s = {1.25} | y = Resize<mode = "linear">(x, "", s) |
17 | float[4] x; float[2] r = {0.25, 0.75}, float[1] s = {1}
    | y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">(x, r, s) |
17 | float[3] x; float[1] s = {2} | y = Resize<mode = "linear">(x, "", s) | -> resample
17 | bool[3] x; float[1] s = {2} | y = Resize<mode = "linear">(x, "", s) | -> cast resample cast
17 | bool[3] x; float[1] s = {2} | y = Resize(x, "", s) | -> gather
17 | int8[3] x; float[1] s = {2} | y = Resize(x, "", s) | -> gather
17 | int8[3] x; float[1] s = {2} | y = Resize<mode = "linear">(x, "", s) | -> cast resample cast
17 | int8[3] x; float[1] s = {2} | y = Resize<mode = "cubic">(x, "", s) | -> cast resample quantize
17 | int16[3] x; float[1] s = {2} | y = Resize<mode = "linear">(x, "", s) | -> cast resample quantize
18 | int8[4] x; float[1] s = {0.5} | y = Resize<mode = "linear", antialias = 1>(x, "", s) | -> cast resample quantize
"""

SPECTRA = """
20 | float[1, 4, 1] x; int64 a = {2} | y = DFT(x, "", a) | invalid-shape
20 | float[1, 4, 3] x; int64 a = {1} | y = DFT(x, "", a) | invalid-shape
20 | float[1, 4, 1] x; int64 n = {0}, int64 a = {1} | y = DFT(x, n, a) | invalid-value
20 | float[1, 4, 1] x; int64 n = {1}, int64 a = {1} | y = DFT(x, n, a) |
20 | float[1, 96, 1] x; int64 a = {1} | y = DFT<onesided = 1>(x, "", a)
    | -> reshape transpose reshape matmul reshape transpose reshape matmul reshape transpose reshape slice
20 | float[1, 64, 2] x; int64 a = {1} | y = DFT(x, "", a)
    | -> reshape transpose reshape matmul reshape transpose reshape matmul reshape transpose reshape
20 | float[1, 96, 2] x; int64 a = {1} | y = DFT<inverse = 1>(x, "", a)
    | -> reshape transpose reshape matmul reshape transpose reshape matmul reshape transpose reshape
20 | float[1, 63, 1] x; int64 a = {1} | y = DFT(x, "", a) | -> reshape matmul reshape
17 | float[1, 8, 1] x; int64 h = {0}, int64 n = {4} | y = STFT(x, h, "", n) | invalid-value
17 | float[1, 8, 1] x; int64 h = {1}, int64 n = {8} | y = STFT(x, h, "", n) |
17 | float[1, 8, 1] x; int64 h = {1}, int64 n = {1} | y = STFT(x, h, "", n) |
17 | float[1, 8, 1] x; int64 h = {1}, int64 n = {0} | y = STFT(x, h, "", n) | invalid-value
17 | float[1, 8, 1] x; int64 h = {1}, int64 n = {9} | y = STFT(x, h, "", n) | invalid-value
17 | float[1] x; int64 b = {2}, int64 n = {16}, int64 r = {8000}, float l = {-500}, float u = {3000}
    | y = MelWeightMatrix(b, n, r, l, u) | invalid-value
17 | float[1] x; int64 b = {2}, int64 n = {16}, int64 r = {8000}, float l = {0}, float u = {10000}
    | y = MelWeightMatrix(b, n, r, l, u) | invalid-value
17 | float[1] x; int64 b = {2}, int64 n = {16}, int64 r = {8000}, float l = {0}, float u = {9000}
    | y = MelWeightMatrix(b, n, r, l, u) |
17 | int32[2] x | y = RandomUniformLike(x) | invalid-type
17 | float[3] x | y = Multinomial(x) | invalid-shape
17 | float[1, 3] x | y = Multinomial<sample_size = 0>(x) | invalid-shape
"""

PICTURES = """
20 | int32[1, 1, 3, 3] x, float[1, 2, 2, 2] g | y = GridSample<mode = "nearest">(x, g) | -> grid_sample
20 | int32[1, 1, 3, 3] x, float[1, 2, 2, 2] g | y = GridSample(x, g) | unsupported-type
20 | float[1, 1, 2] t; int64[3] s = {1, 1, 3} | y = AffineGrid(t, s) | invalid-shape
20 | float[2, 2, 3] t; int64[4] s = {1, 1, 3, 3} | y = AffineGrid(t, s) | invalid-shape
19 | float[1, 1, 4, 4] x, float[1, 1, 2] w, float[1, 4, 4, 3] o | y = DeformConv(x, w, o) | invalid-shape
19 | float[1, 1] x, float[1, 1] w, float[1, 1] o | y = DeformConv(x, w, o) | invalid-shape
19 | float[1, 1, 4] x, float[1, 1, 2] w, float[1, 2, 3] o | y = DeformConv(x, w, o)
    | -> deform matmul reshape
19 | float[1, 2, 3, 3] x, float[2, 2, 2, 2] w, float[1, 8, 2, 2] o | y = DeformConv<group = 0>(x, w, o) | invalid-shape
19 | float[1, 2, 3, 3] x, float[3, 1, 2, 2] w, float[1, 8, 2, 2] o | y = DeformConv<group = 2>(x, w, o) | invalid-shape
19 | float[1, 2, 3, 3] x, float[2, 2, 2, 2] w, float[1, 8, 2, 2] o | y = DeformConv<group = 2>(x, w, o) | invalid-shape
11 | float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i | y = MaxUnpool<kernel_shape = [2]>(x, i) | invalid-shape
11 | float[1, 1, 2, 2] x, int64[1, 1, 2, 1] i | y = MaxUnpool<kernel_shape = [2, 2]>(x, i) | invalid-shape
11 | float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i | y = MaxUnpool<kernel_shape = [2, 2], pads = [2, 0, 2, 0]>(x, i)
    | invalid-attribute
11 | float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i | z = MaxUnpool<kernel_shape = [2, 2], pads = [2, 0, 1, 0]>(x, i)
    y = Shape(z) | ->
16 | float[1, 1, 4, 4] x; float[1, 4] r = {0, 0, 3, 3}, int64[1] b = {0}
    | y = RoiAlign<output_height = 2, output_width = 2>(x, r, b) |
15 | float[1, 1, 4, 4] x; float[1, 4] r = {0, 0, 3, 3}, int64[1] b = {0}
    | y = RoiAlign<output_height = 2, output_width = 2>(x, r, b) |
11 | float[1, 3, 4] b, float[1, 1, 3] s; int64[2] m = {1, 2} | y = NonMaxSuppression(b, s, m) | invalid-shape
"""

TABLES = "\n".join(table.strip() for table in (NORMALIZED, QUANTIZED, RESIZED, SPECTRA, PICTURES))


@pytest.mark.parametrize(("graph", "expected"), rows(TABLES))
def test_nodes(graph: str, expected: str) -> None:
    check(graph, expected)


@pytest.mark.parametrize(
    ("opset", "scale", "attributes", "expected"),
    [
        (23, "float16", "", "f16"),
        (24, "bfloat16", "", "bf16"),
        (23, "float", "", None),
        (22, "float16", "", None),
        (23, "float16", "<precision = 1>", "f32"),
    ],
)
def test_types_that_quotients_are_rounded_to(opset: int, scale: str, attributes: str, expected: str | None) -> None:
    graph = f"{opset} | {scale}[3] x, {scale} s; uint8 z = {{3}} | y = QuantizeLinear{attributes}(x, s, z)"
    (op,) = Imported(parsed(graph)).operations
    found = {**op.attributes, **op.properties}.get("precision")
    assert expected == (None if found is None else str(found))


@pytest.mark.parametrize(("kind", "expected"), [("int16", "f32"), ("int32", "f64"), ("float16", "f16")])
def test_types_that_pictures_are_resampled_in(kind: str, expected: str) -> None:
    imported = Imported(parsed(f'17 | {kind}[3] x; float[1] s = {{2}} | y = Resize<mode = "linear">(x, "", s)'))
    found = {op.name: str(element_type_of(op.results[0])) for op in imported.operations}
    assert found["graph.resample"] == expected


def test_the_nearest_element_is_what_it_was() -> None:
    """Integers that no float has are not rounded."""
    x = np.array([2**53 + 1, -(2**62) - 1])
    assert_outputs('17 | int64[2] x; float[1] s = {2} | y = Resize(x, "", s)', {"x": x}, [np.repeat(x, 2)])


def test_weights_of_an_axis() -> None:
    half = ResizedAxis(4, 2, 0.5, "half_pixel")
    modes = ("nearest", "linear", "cubic")
    assert [[half.taps(mode, wide) for mode in modes] for wide in (False, True)] == [[1, 2, 4], [1, 4, 8]]
    assert ResizedAxis(0, 0, 2.0, "half_pixel").ratio == 2
    between = ResizedAxis(5, 5, 1.0, "tf_crop_and_resize", (0.25, 0.75))
    assert between.nearest("simple").tolist() == [1, 1, 2, 2, 3]
    beyond = ResizedAxis(4, 2, 1.0, "tf_crop_and_resize", (-2.0, -1.0))
    assert beyond.linear(True, True)[1].tolist() == [[1, 0], [1, 0]]
    # coefficients by which rounding leaves something of a weight that is 0
    assert ResizedAxis(6, 6, 1.0, "half_pixel").cubic(-0.06, False)[1].tolist() == [[0, 1, 0, 0]] * 6


SEEDED = "seed = 3.0"


def test_random_numbers_follow_the_seed() -> None:
    seeded = f"RandomUniform<shape = [9], {SEEDED}>()"
    graph = f"17 | float[2] x | z = Neg(x) y = {seeded} y2 = {seeded} y3 = RandomUniform<shape = [9]>()"
    found = evaluate(parsed(graph), {"x": np.zeros(2, np.float32)})
    assert (found["y"] == found["y2"]).all() and (found["y"] != found["y3"]).any()


@pytest.mark.parametrize(
    ("node", "dtype", "low", "high"),
    [
        ("RandomUniform<shape = [99], low = 5.0, high = 6.0>()", "float32", 5, 6),
        ("RandomUniform<shape = [99], low = 5.0, high = 6.0, dtype = 11>()", "float64", 5, 6),
        ("RandomUniformLike<low = 5.0, high = 6.0>(x)", "float64", 5, 6),
        ("RandomUniformLike<low = 5.0, high = 6.0, dtype = 1>(x)", "float32", 5, 6),
        ("RandomNormalLike<mean = 100.0, scale = 1.0>(x)", "float64", 50, 150),
    ],
)
def test_random_numbers_have_their_type_and_place(node: str, dtype: str, low: float, high: float) -> None:
    (found,) = evaluate(parsed(f"17 | double[99] x | y = {node}"), {"x": np.zeros(99)}).values()
    assert found.dtype == dtype and found.shape == (99,) and (low <= found).all() and (found <= high).all()


def test_a_number_that_is_the_bound_is_not_below_it() -> None:
    """The same seed draws the numbers that are compared."""
    drawn = f"RandomUniform<shape = [20000], dtype = 10, {SEEDED}>()"
    nodes = f"r = {drawn} y = Bernoulli<{SEEDED}>(r) y2 = Bernoulli<{SEEDED}, dtype = 6>(r)"
    found = evaluate(parsed(f"17 | float[1] x | {nodes}"), {"x": np.zeros(1, np.float32)})
    assert not found["y"].any() and found["y"].dtype == np.float16
    assert not found["y2"].any() and found["y2"].dtype == np.int32
    nodes = f"r = RandomUniform<shape = [1], {SEEDED}>() q = Squeeze(r) y, y2 = Dropout<seed = 3>(x, q, t)"
    found = evaluate(parsed(f"17 | float[1] x; bool t = {{1}} | {nodes}"), {"x": np.ones(1, np.float32)})
    assert found["y2"].all()
    nodes = f"y = {drawn} y2 = Multinomial<sample_size = 20000, {SEEDED}>(x)"
    found = evaluate(parsed(f"17 | float16[1, 2] x | {nodes}"), {"x": np.zeros((1, 2), np.float16)})
    assert (found["y"] == 0.5).any() and found["y2"].dtype == np.int32
    np.testing.assert_array_equal(found["y2"][0], found["y"] >= 0.5)


@pytest.mark.parametrize("length", [64, 90, 96])
@pytest.mark.parametrize(("inverse", "one_sided", "used"), [(0, 0, 60), (0, 0, 96), (1, 0, 96), (0, 1, 96), (1, 1, 40)])
def test_transforms(length: int, inverse: int, one_sided: int, used: int) -> None:
    """onnxruntime's own are less accurate."""
    parts = 1 if one_sided and not inverse else 2
    x = np.random.default_rng(5).standard_normal((1, used, parts))
    node = f"DFT<inverse = {inverse}, onesided = {one_sided}>(x, n, a)"
    graph = f"20 | double[1, {used}, {parts}] x; int64 n = {{{length}}}, int64 a = {{1}} | y = {node}"
    numbers = x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
    transform = {(0, 0): np.fft.fft, (1, 0): np.fft.ifft, (0, 1): np.fft.rfft, (1, 1): np.fft.irfft}[inverse, one_sided]
    found = transform(numbers, length)
    expected = found[..., None] if inverse and one_sided else np.stack([found.real, found.imag], -1)
    assert_outputs(graph, {"x": x}, [expected])


def test_classes_that_are_drawn_have_their_type() -> None:
    graph = "17 | float[1, 2] x | y = Multinomial<sample_size = 1, dtype = 7>(x)"
    assert evaluate(parsed(graph), {"x": np.zeros((1, 2), np.float32)})["y"].dtype == np.int64
