"""Nodes that compute or move each element by itself, by the files of importers:

* aotc.frontend.onnx.importers.elementwise
* aotc.frontend.onnx.importers.indexing
* aotc.frontend.onnx.importers.movement
* aotc.frontend.onnx.importers.shape
* aotc.frontend.onnx.importers.training
"""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import assert_outputs, check, refused_with, rows

COMPUTED = """
6 | float[2, 3] x, float[3] z | y = Add(x, z) | invalid-shape
6 | float[2, 3] x, float[2, 3] z | y = Add(x, z) | -> add
6 | float[2, 3] x, float[3] z | y = Add<broadcast = 1>(x, z) | -> add
6 | float[2, 3] x, float[2] z | y = Add<broadcast = 1, axis = 0>(x, z) | -> reshape add
17 | float[3] x; float[3] e = {2, 1, 3} | y = Pow(x, e) |
17 | float x; float[1] e = {2} | y = Pow(x, e) |
17 | float[2] x; float[1] e = {2} | y = Pow(x, e) | -> mul
17 | float[3] x, float one; float zero = {0} | i = Div(one, zero) v = Add(x, i)
    y = IsInf<detect_negative = 0, detect_positive = 0>(v) |
10 | float[4] x | y = Clip<min = 0.25>(x) |
11 | float[4] x, float low, float high | y = Clip(x, low, high) |
6 | float[2, 3, 2] x, float[3] s | y = PRelu(x, s) | -> reshape compare mul where
6 | float[3] x, float[1] s | y = PRelu(x, s) | -> compare mul where
7 | float[2, 3, 2] x, float[2] s | y = PRelu(x, s) |
9 | int32[6] x; int32[5] v = {-3, -2, 0, 2, 3} | y = Shrink<lambd = 2.0, bias = 1.0>(v) |
9 | double[3] x | y = Shrink<lambd = 0.1, bias = 0.1>(x) | -> compare compare sub add where where
"""

MOVED = """
17 | float[3] x; int64[2] i = {-3, 2} | y = Gather(x, i) |
17 | float[3] x; int64[2] i = {0, 3} | y = Gather(x, i) | invalid-value
17 | float[3] x; int64[2] i = {-4, 0} | y = Gather(x, i) | invalid-value
17 | float[3, 2] x; int64 i = {1} | y = Gather(x, i) | -> slice reshape
9 | float[4] x | y, y2 = TopK<k = 2>(x) |
10 | float[4] x; int64[1] k = {2} | y, y2 = TopK(x, k) |
10 | float[4] x; int64[1] k = {2} | y, y2 = TopK(x, k) | -> top_k
10 | float[4] x, int64[1] k | y, y2 = TopK(x, k) |
11 | float[5] x, int64[1] k; int64[1] one = {1}, int64[1] two = {2} | m = Add(k, two) c = Concat<axis = 0>(m, one)
    n = ReduceMax<axes = [0]>(c) y, y2 = TopK(x, n) |
11 | float[5] x, int64[2] k | n = ReduceMin<axes = [0]>(k) y, y2 = TopK(x, n) |
13 | float[5] x, int64[1] k; int64[1] one = {1} | n = Min(k, one) y, y2 = TopK(x, n) |
17 | float[2, 3] x; int64[1] r = {2} | y = Tile(x, r) | invalid-value
17 | float[2, 3] x; int64[2] r = {2, -1} | y = Tile(x, r) | invalid-value
17 | float[2, 3] x; int64[2] r = {2, 0} | y = Tile(x, r) |
17 | float[2, 3] x; int64[2] r = {1, 2} | y = Tile(x, r) |
17 | float[1, 3] x; int64[2] r = {2, 1} | y = Tile(x, r) | -> broadcast
6 | float[2, 3] x; int64[2] r = {1, 2} | y = Tile(x, r) | -> reshape broadcast reshape
5 | float[2, 3] x; float n = {2}, float a = {1} | y = Tile(x, n, a) | -> reshape broadcast reshape
13 | float[3] x; int64[2] s = {1, 2} | y, y2 = Split(x, s) |
1 | float[3] x; float[2] s = {1, 2} | y, y2 = Split(x, s) | -> slice slice
17 | float[3] x | y, y2 = Split(x) | invalid-shape
18 | float[3] x | y, y2 = Split<num_outputs = 2>(x) |
18 | float[3] x | y, y2, y3, y4 = Split<num_outputs = 4>(x) | -> slice slice slice
18 | float[5] x | y, y2, y3, y4 = Split<num_outputs = 4>(x) | invalid-shape
13 | float[3] x; int64[3] s = {1, 2, 0} | y, y2 = Split(x, s) | invalid-value
13 | float[3] x; int64[2] s = {1, 1} | y, y2 = Split(x, s) | invalid-value
13 | float[3] x; int64[2] s = {-1, 4} | y, y2 = Split(x, s) | invalid-value
9 | float[4] x | y = Slice<starts = [1], ends = [3]>(x) |
10 | float[4] x; int64[1] s = {1}, int64[1] e = {3} | y = Slice(x, s, e) |
10 | float[4] x; int64[1] s = {-9}, int64[1] e = {-1} | y = Slice(x, s, e) |
10 | float[4] x; int64[1] s = {-9}, int64[1] e = {-10}, int64[1] a = {0}, int64[1] b = {-1} | y = Slice(x, s, e, a, b) |
10 | float[4] x; int64[1] s = {9}, int64[1] e = {-10}, int64[1] a = {0}, int64[1] b = {-3} | y = Slice(x, s, e, a, b) |
10 | float[4] x; int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {0}, int64[1] b = {-1}
    | y = Slice(x, s, e, a, b) |
10 | float[4] x; int64[1] s = {3}, int64[1] e = {2}, int64[1] a = {0}, int64[1] b = {1} | y = Slice(x, s, e, a, b) |
10 | float[4, 4] x; int64[2] s = {1, 1}, int64[1] e = {3}, int64[1] a = {0} | y = Slice(x, s, e, a) | invalid-value
10 | float[4, 4] x; int64[2] s = {1, 1}, int64[1] e = {3}, int64[1] a = {0}, int64[1] b = {1}
    | y = Slice(x, s, e, a, b) | invalid-value
10 | float[4, 4] x; int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {0}, int64[2] b = {1, 1} | y = Slice(x, s, e, a, b)
    | invalid-value
10 | float[4] x, int64[1] s; int64[1] e = {4} | y = Slice(x, s, e) |
10 | float[4] x, int64[1] e; int64[1] s = {0}  | y = Slice(x, s, e) |
10 | float[4, 4] x, int64[2] s; int64[2] e = {4, 4} | y = Slice(x, s, e) | unknown-value
10 | float[4] x, int64[1] s; int64[1] e = {0}, int64[1] a = {0}, int64[1] b = {-1} | y = Slice(x, s, e, a, b)
    | unknown-value
13 | float[4] x, int64[1] r; int64[1] n = {4} | s = Sub(r, r) e = Add(s, n) y = Slice(x, s, e) |
13 | float[4] x, int64[1] r; int64[1] n = {2}, int64[1] m = {-3} | a = Sub(r, r) s = Add(a, m) e = Add(s, n)
    y = Slice(x, s, e) |
13 | float[4] x, int64[1] s; int64[1] n = {5} | e = Add(s, n) y = Slice(x, s, e) | invalid-value
11 | float[2, 3] x; int64[4] p = {1, 0, 0, 2} | y = Pad(x, p) |
10 | float[2, 3] x | y = Pad<pads = [1, 0, 0, 2], value = 0.5>(x) |
2 | float[2, 3] x | y = Pad<pads = [1, 0, 0, 2]>(x) | -> pad
1 | float[2, 3] x | y = Pad<paddings = [1, 0, 0, 2]>(x) | -> pad
18 | float[2, 3] x; int64[4] p = {-3, 0, 0, 0} | y = Pad(x, p) | invalid-value
18 | float[2, 3] x; int64[4] p = {-1, 0, -1, 0} | y = Pad(x, p) |
18 | float[2, 3] x; int64[3] p = {1, 0, 1} | y = Pad(x, p) | invalid-value
18 | float[2, 3] x; int64[4] p = {1, 0, 1, 0}, int64[2] a = {0, -2} | y = Pad(x, p, "", a) | invalid-value
18 | float[2, 3] x; int64[1] s = {2} | y = CenterCropPad(x, s) | invalid-value
18 | float[2, 3] x; int64[2] s = {1, 1} | y = CenterCropPad<axes = [0, -2]>(x, s) | invalid-value
18 | float[2, 3] x; int64[2] s = {1, -1} | y = CenterCropPad(x, s) | invalid-value
18 | float[2, 3] x; int64[2] s = {1, 0} | y = CenterCropPad(x, s) |
17 | float[1, 1, 3, 4] x | y = SpaceToDepth<blocksize = 2>(x) | invalid-shape
17 | float[1, 1, 4, 3] x | y = SpaceToDepth<blocksize = 2>(x) | invalid-shape
17 | float[1, 4, 4] x | y = SpaceToDepth<blocksize = 2>(x) | invalid-shape
17 | float[1, 1, 4, 4] x | y = SpaceToDepth<blocksize = 0>(x) | invalid-shape
17 | float[1, 1, 2, 2] x | y = SpaceToDepth<blocksize = 1>(x) |
17 | int64[4] x; int64[4] v = {0, 1, 2, 3} | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1,
    max_gram_length = 1, max_skip_count = 0, ngram_counts = [0, 2], ngram_indexes = [0, 1, 2],
    pool_int64s = [2, 3, 0, 1], weights = [2.0, 3.0, 4.0]>(v) |
17 | int64[4] x | y = TfIdfVectorizer<mode = "IDF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 0,
    ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_int64s = [2, 3, 0, 1], weights = [2.0, 3.0, 4.0]>(x) |
17 | int64[2, 4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [2, 3]>(x) | -> count_grams matmul
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [-1], ngram_indexes = [0, 1, 2], pool_int64s = [2, 3]>(x) | invalid-attribute
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3], pool_int64s = [2, 3]>(x) | invalid-attribute
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0, 1], ngram_indexes = [0, 1, 2], pool_int64s = [2, 3, 0, 1]>(x) | invalid-attribute
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0], ngram_indexes = [0], pool_int64s = [2, 3]>(x) | invalid-attribute
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [2, 3], weights = [1.0]>(x) | invalid-attribute
17 | int64[4] x | y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0], ngram_indexes = [0, -1], pool_int64s = [2, 3]>(x) | invalid-attribute
"""

SHAPES = """
17 | float[3] x; int64 a = {16777216}, int64 b = {16777220}, int64 d = {1} | y = Range(a, b, d) |
17 | float[3] x; int32 a = {16777217}, int32 b = {16777220}, int32 d = {1} | y = Range(a, b, d) |
17 | float[3] x; int16 a = {32760}, int16 b = {-32768}, int16 d = {-4096} | y = Range(a, b, d) |
17 | float[3] x; double a = {0}, double b = {1}, double d = {0.1} | y = Range(a, b, d) |
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1} | z = NonZero(x) s = Shape(z) n = Gather(s, one)
    y = Range(zero, n, one) |
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1} | z = NonZero(x) s = Shape(z) n = Gather(s, one)
    y = Range(one, n, one) | unknown-value
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1} | z = NonZero(x) s = Shape(z) n = Gather(s, one)
    y = Range(r, n, one) | unknown-value
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1} | z = NonZero(x) s = Shape(z) n = Gather(s, one)
    y = Range(zero, n, r) | unknown-value
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1}, int64 two = {2} | z = NonZero(x) s = Shape(z)
    n = Gather(s, one) y = Range(zero, n, two) | unknown-value
17 | float[2, 3] x, int64 r; int64 zero = {0}, int64 one = {1} | z = NonZero(x) s = Shape(z) n = Gather(s, one)
    m = Add(n, one) y = Range(zero, m, one) | unknown-value
17 | float[2, 3] x, int64 r; int32 zero = {0}, int32 unit = {1}, int64 one = {1} | z = NonZero(x) s = Shape(z)
    n = Gather(s, one) m = Cast<to = 6>(n) y = Range(zero, m, unit) | unknown-value
5 | float[2, 3] x; int64[1] s = {6} | y = Reshape(x, s) | -> reshape
4 | float[2, 3] x | y = Reshape<shape = [6]>(x) | -> reshape
17 | float[2] x; int64[2] s = {1, 0} | y = Reshape(x, s) | invalid-value
17 | float[2, 3] x; int64[2] s = {4, -1} | y = Reshape(x, s) | invalid-value
17 | float[0, 3] x; int64[2] s = {0, -1} | y = Reshape(x, s) | invalid-value
17 | float[2, 3] x | y = Flatten<axis = 2>(x) |
17 | float[2, 3] x | y = Flatten<axis = 3>(x) | invalid-attribute
17 | float[2, 3] x | y = Flatten<axis = -3>(x) | invalid-attribute
13 | float[1, 2] x; int64[1] a = {0} | y = Squeeze(x, a) |
13 | float[1, 2, 1] x | y = Squeeze(x) |
13 | float[1, 2] x; int64[2] a = {0, 1} | y = Squeeze(x, a) | invalid-value
13 | float[2] x; int64[2] a = {0, -3} | y = Unsqueeze(x, a) | invalid-value
17 | float r, int64 t, float[2] x, float[2] g | y, y2 = ai.onnx.preview.training.Adagrad(r, t, x, g) | missing-input
"""


@pytest.mark.parametrize(("graph", "expected"), rows(COMPUTED + MOVED.lstrip() + SHAPES.lstrip()))
def test_nodes(graph: str, expected: str) -> None:
    check(graph, expected)


@pytest.mark.parametrize("node", ["LeakyRelu<alpha = -1.0>(x)", "PRelu(x, s)", "Celu<alpha = -1.0>(x)"])
def test_zero_is_not_below_zero(node: str) -> None:
    """A slope would change its sign, which is that of what is divided by it."""
    graph = f"17 | float[2] x; float[1] s = {{-1}}, float one = {{1}} | v = {node} y = Div(one, v)"
    x = np.array([0.0, -0.0], np.float32)
    assert_outputs(graph, {"x": x}, [np.array([np.inf, -np.inf], np.float32)])


def test_a_range_of_half_precision_has_the_length_of_the_numbers() -> None:
    """2048 + 0.9 is no f16."""
    constants = "float a = {-0.9}, float b = {2048}, float d = {1}"
    nodes = "s = Cast<to = 10>(a) e = Cast<to = 10>(b) t = Cast<to = 10>(d) y = Range(s, e, t)"
    expected = (np.float32(np.float16(-0.9)) + np.arange(2049, dtype=np.float32)).astype(np.float16)
    assert_outputs(f"27 | float[1] x; {constants} | {nodes}", {"x": expected[:1].astype(np.float32)}, [expected])


@pytest.mark.parametrize(("inputs", "constants", "which"), [("s", "e", "input 1"), ("e", "s", "input 2")])
def test_a_problem_names_what_is_unknown(inputs: str, constants: str, which: str) -> None:
    graph = (
        f"13 | float[4] x, int64[1] {inputs}; int64[1] {constants} = {{0}}, int64[1] a = {{0}}, int64[1] b = {{-1}}"
        " | y = Slice(x, s, e, a, b)"
    )
    assert which in refused_with(graph)


def test_tiles_of_one_axis() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    graph = "5 | float[2, 3] x; float n = {2}, float a = {1} | y = Tile(x, n, a)"
    assert_outputs(graph, {"x": x}, [np.tile(x, (1, 2))])
