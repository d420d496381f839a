"""Nodes of other domains, by the files of importers:

* aotc.frontend.onnx.importers.microsoft.attention
* aotc.frontend.onnx.importers.microsoft.layers
* aotc.frontend.onnx.importers.microsoft.products
* aotc.frontend.onnx.importers.microsoft.restated
* aotc.frontend.onnx.importers.ml.features
* aotc.frontend.onnx.importers.ml.linear
* aotc.frontend.onnx.importers.ml.scores
"""

from __future__ import annotations

import numpy as np
import pytest
from domains import microsoft_cases, ml_nodes
from domains.ml_cases import ml_model
from evaluated import assert_outputs, check, drawn, evaluate, parsed, refused_with, rows
from harness import assert_close, reference

MICROSOFT_NODES = """
17 | float[3] x; float a = {1}, float[1] b = {4} | y = ms.Range(a, b) |
17 | float[3] x; float a = {1}, float[1] b = {4}, float c = {2} | y = ms.Range(a, b, c) |
17 | float[2, 3] x; int32 a = {-1} | y = ms.ExpandDims(x, a) |
17 | float[2, 3] x; int32[2] a = {0, 1} | y = ms.ExpandDims(x, a) | invalid-shape
8 | float[2] x | y = ScaledTanh<alpha = 2.0>(x) | missing-attribute
8 | float[2] x | y = Scale(x) | ->
8 | float[2] x | y = Scale<scale = 2.0>(x) | -> mul
8 | float[2] x | y = ScaledTanh<alpha = 2.0, beta = 0.5>(x) | -> mul tanh mul
8 | float[2] x | y = ParametricSoftplus<alpha = 2.0, beta = 0.5>(x) | -> mul softplus mul
8 | float[1] z; float[3] x = {1, 2, 3} | y = ThresholdedRelu<alpha = 2.0>(x) |
8 | float[3, 2, 2] x | y = ImageScaler<bias = [1.0, 2.0]>(x) | invalid-attribute
8 | float[1, 2, 2, 2] x | y = ImageScaler<bias = [1.0]>(x) | invalid-attribute
8 | float[1, 2, 2, 2] x | y = ImageScaler<bias = [1.0, 2.0]>(x) | -> add
8 | float[3, 4, 4] x | y = Crop<border = [1, 1, 1, 1]>(x) | invalid-attribute
8 | float[1, 1, 4, 4] x | y = Crop<border = [1, 1]>(x) | invalid-attribute
8 | float[1, 1, 4, 4] x | y = Crop<border = [-1, 0, 0, 0]>(x) | invalid-attribute
8 | float[1, 1, 4, 4] x | y = Crop<border = [0, 0, 0, 0]>(x) | ->
8 | float[1, 1, 4, 4] x | y = Crop<border = [0, 2, 0, 0], scale = [3, 2]>(x) | invalid-attribute
8 | float[1, 1, 4, 4] x | y = Crop<border = [2, 0, 0, 0], scale = [2, 3]>(x) | invalid-attribute
17 | float[1, 3, 3, 2] x, float[2, 1, 1, 2] w | y = ms.NhwcConv(x, w) | -> transpose transpose conv transpose
17 | float[1, 3, 3, 2] x, float[2, 2, 1, 1] w | y = ms.NhwcFusedConv(x, w) | -> transpose conv transpose
17 | float[2, 2] a, float[2, 2] b | y = ms.FusedMatMul<transBatchA = 1>(a, b) | -> matmul
17 | float[2, 2] a, float[2, 2] b | y = ms.FusedMatMul<transBatchB = 1>(a, b) | -> matmul
17 | float[2, 2] a, float[2, 2] b | y = ms.FusedMatMul<transA = 1>(a, b) |
17 | float[3] a, float[3, 2] b | y = ms.FusedMatMul(a, b) | -> reshape matmul reshape
17 | float[2] a, float[3, 2] b | y = ms.CDist(a, b) | invalid-shape
17 | float[3, 2] a, float[2] b | y = ms.CDist(a, b) | invalid-shape
17 | float[2, 3] a, float[2, 2] b | y = ms.CDist(a, b) | invalid-shape
17 | float[1, 1, 3] a, float[3, 3] b | y = ms.CDist(a, b) | invalid-shape
17 | float[2, 1] a, float[1, 1, 1] b | y = ms.CDist(a, b) | invalid-shape
17 | float[2, 3] a, float[2, 3] b | y = ms.CDist<metric = "euclidean">(a, b) |
17 | float[2, 3] a, float[2, 3] b | y = ms.CDist<metric = "sqeuclidean">(a, b) |
17 | uint8[4] x; float s = {0.1}, uint8 z = {3}, float t = {0.01} | y = ms.QLinearSigmoid(x, s, z, t)
    | -> dequantize sigmoid quantize
17 | uint8[2, 3, 2] x; float s = {0.1}, uint8 z = {3}, float t = {0.0625}, uint8 u = {0}
    | y = ms.QLinearSoftmax<axis = 1, opset = 12>(x, s, z, t, u) |
17 | uint8[2, 3, 2] x; float s = {0.1}, uint8 z = {3}, float t = {0.0625}, uint8 u = {0}
    | y = ms.QLinearSoftmax<axis = 1, opset = 13>(x, s, z, t, u) |
17 | uint8[1, 2, 2, 3] x; float s = {0.1}, uint8 z = {3}, float t = {0.01}, uint8 u = {0}
    | y = ms.QLinearGlobalAveragePool<channels_last = 1>(x, s, z, t, u) |
17 | uint8[1, 2, 2, 3] x; float s = {0.1}, uint8 z = {3}, float t = {0.01}, uint8 u = {0}
    | y = ms.QLinearGlobalAveragePool<channels_last = 0>(x, s, z, t, u) |
17 | uint8[2, 3] a, int8[4, 3] b, int32[4] c; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float t = {2}, uint8 u = {9}
    | y = ms.QGemm<transB = 1>(a, s, z, b, s, n, c, t, u)
    | -> dequantize dequantize matmul dequantize add quantize
17 | uint8[2, 3] a, int8[3, 4] b, int32[4] c; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float t = {2}, uint8 u = {9}
    | y = ms.QGemm<alpha = 2.0>(a, s, z, b, s, n, c, t, u) |
17 | uint8[2, 3] a, int8[3, 2] b, int32[2, 2] c; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float[2] t = {2, 3}
    | y = ms.QGemm(a, s, z, b, t, "", c) | -> dequantize dequantize matmul cast mul add
17 | uint8[2, 3] a, int8[3, 2] b, int32[2] c; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float[2] t = {2, 3}
    | y = ms.QGemm(a, s, z, b, t, "", c) | -> dequantize dequantize matmul dequantize add
17 | uint8[2, 3] a, int8[3, 2] b, int32[2, 2] c; float s = {0.5}, uint8 z = {1}, int8 n = {2}
    | y = ms.QGemm(a, s, z, b, s, n, c) | -> dequantize dequantize matmul dequantize add
17 | uint8[2, 3] a, int8[3, 2] b; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float[2] t = {2, 3}, int8[2] q = {0, 1}
    | y = ms.QGemm(a, s, z, b, t, q) |
17 | uint8[2, 3] a, int8[2, 3] b; float s = {0.5}, uint8 z = {1}, int8 n = {2}, float[2] t = {2, 3}, int8[2] q = {0, 1}
    | y = ms.QGemm<transB = 1>(a, s, z, b, t, q) |
17 | float[1, 2, 4] x, float[1, 2, 4] s, float[4] g | y, y2, "" = ms.SkipLayerNormalization(x, s, g)
    | -> add normalize mul reduce
17 | float[1, 2, 4] x, float[1, 2, 4] s, float[4] g | y = ms.SkipLayerNormalization(x, s, g)
    | -> add normalize mul
17 | int32[1, 2] i, float[5, 4] w, float[5, 4] p, float[4] g | y = ms.EmbedLayerNormalization(i, "", "", p, "", g, g)
    | missing-input
17 | int32[1, 2] i, float[5, 4] w, float[5, 4] p, float[4] g | y = ms.EmbedLayerNormalization(i, "", w, "", "", g, g)
    | missing-input
17 | int32[1, 2] i, float[5, 4] w, float[5, 4] p, float[4] g | y = ms.EmbedLayerNormalization(i, "", w, p, "", "", g)
    | missing-input
17 | int32[1, 2] i, float[5, 4] w, float[5, 4] p, float[4] g | y = ms.EmbedLayerNormalization(i, "", w, p, "", g)
    | missing-input
17 | int32[1, 2] i, float[5, 4] w, float[5, 4] p, float[4] g | y = ms.EmbedLayerNormalization(i, i, w, p, "", g, g)
    | -> gather slice add normalize mul add
"""

ATTENTION = """
17 | float[1, 2, 4] x, float[4, 12] w | y = ms.Attention<num_heads = 0>(x, w) | invalid-shape
17 | float[1, 2, 4] x, float[4, 12] w | y = ms.Attention<num_heads = 3>(x, w) | invalid-shape
17 | float[1, 2, 4] x, float[4, 12] w, float[12] b | y = ms.Attention<num_heads = 1>(x, w, b) |
17 | float[1, 2, 4] x, float[4, 12] w | y = ms.Attention<num_heads = 1, qkv_hidden_sizes = [6, 6]>(x, w)
    | invalid-attribute
17 | float[1, 2, 4] x, float[4, 12] w | y = ms.Attention<num_heads = 1, qkv_hidden_sizes = [4, 4, 5]>(x, w)
    | invalid-attribute
17 | float[1, 2, 4] x, float[1, 2, 4] k, int32[1] p
    | y = ms.MultiHeadAttention<num_heads = 1>(x, k, k, "", "", "", "", "", p) | unsupported-input
17 | float[1, 2, 4] q, float[1, 1, 0, 4] p | y, y2, y3 = ms.MultiHeadAttention<num_heads = 1>
    (q, q, q, "", "", "", p, p)
    | -> reshape transpose reshape transpose reshape transpose mul matmul softmax matmul transpose reshape
17 | float[1, 2, 4] x, int64[1, 2] p, float[5, 2] c | y = ms.RotaryEmbedding<scale = 2.0, num_heads = 1>(x, p, c, c)
    | -> * concat mul transpose reshape
17 | float[1, 1, 4] x, int32[1] l, int32[1] t | y = ms.GroupQueryAttention<num_heads = 0, kv_num_heads = 1>
    (x, x, x, "", "", l, t) | invalid-attribute
17 | float[1, 1, 4] x, int32[1] l, int32[1] t | y = ms.GroupQueryAttention<num_heads = 1, kv_num_heads = 0>
    (x, x, x, "", "", l, t) | invalid-attribute
17 | float[1, 1, 4] x, int32[1] l, int32[1] t | y = ms.GroupQueryAttention<num_heads = 3, kv_num_heads = 2>
    (x, x, x, "", "", l, t) | invalid-attribute
17 | float[1, 1, 4] x, int32[1] l, int32[1] t, float[1] s | y = ms.GroupQueryAttention<num_heads = 1,
    kv_num_heads = 1>(x, x, x, "", "", l, t, "", "", "", "", "", s) | unsupported-input
17 | float[1, 2, 4] x, int32[1] l, int32[1] t | y, y2, y3 = ms.GroupQueryAttention<num_heads = 1,
    kv_num_heads = 1>(x, x, x, "", "", l, t)
    | -> reshape transpose reshape transpose reshape transpose mul *
17 | float[1, 2, 4] x, int32[1] l, int32[1] t | y, y2, y3 = ms.GroupQueryAttention<num_heads = 1,
    kv_num_heads = 1, local_window_size = 0>(x, x, x, "", "", l, t)
    | -> reshape transpose reshape transpose reshape transpose mul *
17 | float[1, 2, 4] x, float[1, 1, 0, 4] p, int32[1] l, int32[1] t | y, y2, y3 = ms.GroupQueryAttention
    <num_heads = 1, kv_num_heads = 1>(x, x, x, p, p, l, t)
    | -> reshape transpose reshape transpose reshape transpose mul *
17 | float[1, 2, 4] x, float[1, 1, 3, 4] p, int32[1] l; int32[1] t = {2} | y, y2, y3 = ms.GroupQueryAttention
    <num_heads = 1, kv_num_heads = 1>(x, x, x, p, p, l, t)
    | -> reshape transpose reshape transpose reshape transpose concat transpose gather_nd *
17 | float[1, 2, 4] x, float[1, 1, 3, 4] p, int32[1] l; int32[1] t = {5} | y, y2, y3 = ms.GroupQueryAttention
    <num_heads = 1, kv_num_heads = 1>(x, x, x, p, p, l, t)
    | -> reshape transpose reshape transpose reshape transpose reshape cast sub *
17 | float[1, 2, 4] x, float[1, 1, 3, 4] p, int32[1] l, int32[1] t | y, y2, y3 = ms.GroupQueryAttention
    <num_heads = 1, kv_num_heads = 1>(x, x, x, p, p, l, t)
    | -> reshape transpose reshape transpose reshape transpose reshape cast sub *
17 | float[1, 2, 8] q, float[1, 2, 4] x, int32[1] l, int32[1] t, float[1, 1, 2, 2] b
    | y, y2, y3 = ms.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(q, x, x, "", "", l, t, "", "", "", b) | -> *
17 | float[1, 2, 8] q, float[1, 2, 4] x, int32[1] l, int32[1] t, float[1, 2, 2, 2] b
    | y, y2, y3 = ms.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(q, x, x, "", "", l, t, "", "", "", b) | -> *
"""

LEARNED = """
17 | float[2, 3] x; float[3] z = {1, 2, 3} | y = ml.Binarizer<threshold = 2.0>(z) y2 = Neg(x) |
17 | float[2, 3] x, float[2, 1] z | y = ml.FeatureVectorizer<inputdimensions = [3]>(x, z) | invalid-attribute
17 | float[2, 3] x | y = ml.FeatureVectorizer<inputdimensions = [0]>(x) | invalid-attribute
17 | float[2, 3] x | y = ml.FeatureVectorizer<inputdimensions = [3]>(x) | ->
17 | float[2, 3] x | y = ml.FeatureVectorizer<inputdimensions = [1]>(x) | -> slice
17 | float[2, 3] x | y = ml.FeatureVectorizer<inputdimensions = [4]>(x) | -> pad
17 | float x; int64[1] i = {0} | y = ml.ArrayFeatureExtractor(x, i) | invalid-shape
17 | float[2, 3] x, int64[0] i | y = ml.ArrayFeatureExtractor(x, i) | invalid-shape
17 | float[2, 3] x; int64[2] i = {-1, 1} | y = ml.ArrayFeatureExtractor(x, i) | invalid-value
17 | float[2, 3] x; int64[2] i = {0, 3} | y = ml.ArrayFeatureExtractor(x, i) | invalid-value
17 | float[2, 3] x; int64[2] i = {0, 2} | y = ml.ArrayFeatureExtractor(x, i) |
17 | float[2, 3] x, int64[2] i | y = ml.ArrayFeatureExtractor(x, i) | -> gather
17 | int64[4] x | y = ml.LabelEncoder<keys_int64s = [3, 5], values_int64s = [1]>(x) | invalid-attribute
17 | int64[4] x | y = ml.LabelEncoder(x) | invalid-attribute
17 | int64[4] x | y = ml.LabelEncoder<keys_int64s = [3, 5]>(x) | invalid-attribute
17 | int64[4] x | y = ml.LabelEncoder<keys_strings = ["3"], values_int64s = [1]>(x) | unsupported-type
17, 1 | int64[4] x | y = ml.LabelEncoder<classes_strings = ["3"]>(x) | unsupported-type
17 | float[2, 2] x | y = ml.Imputer<imputed_value_int64s = [1]>(x) | missing-attribute
17 | float[2, 2, 2] x | y = ml.LinearRegressor<coefficients = [1.0, 2.0]>(x) | invalid-shape
17 | float[2, 0] x | y = ml.LinearRegressor<coefficients = [1.0, 2.0]>(x) | invalid-shape
17 | float[2, 2] x; float[1, 2] z = {0.0000001, 1}
    | y = ml.LinearRegressor<coefficients = [1.0, 0.0, 0.0, 1.0], targets = 2, post_transform = "SOFTMAX_ZERO">(z) |
17 | float[2, 2] x; float[1, 1] z = {0.5}
    | y = ml.LinearRegressor<coefficients = [1.0], post_transform = "PROBIT">(z) |
17 | float[2, 2] x | y, y2 = ml.LinearClassifier<coefficients = [1.0, 0.0, 0.0, 1.0], intercepts = [0.0, 0.0],
    classlabels_ints = [1, 2], classlabels_strings = ["a", "b"]>(x) | invalid-attribute
17 | float[2, 2] x | y, y2 = ml.LinearClassifier<coefficients = [0.0, 0.0], intercepts = [0.0],
    classlabels_ints = [7, 9]>(x) |
17 | float[2, 2] x | y = ml.SVMRegressor<coefficients = [0.0, 0.0], rho = [0.0], one_class = 1>(x) |
17 | float[2, 2] x
    | y = ml.SVMRegressor<coefficients = [1.0], rho = [0.5], n_supports = 1, support_vectors = [1.0, 2.0]>(x) |
17 | float[2, 2] x | y, y2 = ml.SVMClassifier<coefficients = [1.0, 1.0], rho = [0.0],
    support_vectors = [1.0, 2.0, 2.0, 1.0],
    vectors_per_class = [1, 1, 0], classlabels_ints = [0, 1]>(x) | invalid-attribute
17 | float[2, 2] x | y, y2 = ml.SVMClassifier<coefficients = [1.0, 1.0], rho = [0.0],
    support_vectors = [1.0, 2.0, 2.0, 1.0],
    vectors_per_class = [3, -1], classlabels_ints = [0, 1]>(x) | invalid-attribute
17 | float[2, 2] x | y, y2 = ml.SVMClassifier<coefficients = [1.0, 1.0], rho = [0.0],
    support_vectors = [1.0, 2.0, 2.0, 1.0],
    vectors_per_class = [2, 0], classlabels_ints = [0, 1]>(x) | -> *
17 | float[2, 2] x | y, y2 = ml.SVMClassifier<coefficients = [0.0, 0.0], rho = [0.0],
    support_vectors = [1.0, 2.0, 2.0, 1.0],
    vectors_per_class = [1, 1], classlabels_ints = [4, 5]>(x) |
17 | float[1, 2] x; float[1, 2] z = {0.2, 0.1} | y, y2 = ml.SVMClassifier<coefficients = [1.0, 0.0, 0.0, 1.0],
    rho = [0.0], classlabels_ints = [4, 5]>(z) |
17 | float[1, 2] x; float[1, 2] z = {0, 0} | y, y2 = ml.SVMClassifier<coefficients = [-1.0, 1.0, 1.0, -1.0],
    rho = [0.0], classlabels_ints = [4, 5]>(z) |
"""

MICROSOFT = [pytest.param(case, id=str(case)) for make in microsoft_cases.FAMILIES.values() for case in make()]


@pytest.mark.parametrize("case", MICROSOFT)
def test_microsoft(case: microsoft_cases.Case) -> None:
    model, feed = case.model()
    expected = reference(model, feed)
    assert expected is not None
    for (name, actual), value in zip(evaluate(model, feed).items(), expected, strict=True):
        if case.tolerance is None:
            assert_close(name, actual, value)
        else:
            np.testing.assert_allclose(actual, value, case.tolerance, case.tolerance)


@pytest.mark.parametrize("node", [*ml_nodes.linear(), *ml_nodes.machines(), *ml_nodes.features()], ids=str)
def test_ml(node: ml_nodes.Case) -> None:
    feed = {f"x{number}": x for number, x in enumerate(node.inputs)}
    model = ml_model(node.op_type, node.version, feed, node.outputs, **node.attributes)
    expected = reference(model, feed)
    assert expected is not None
    for (name, actual), value in zip(evaluate(model, feed).items(), expected, strict=True):
        if node.attributes.get("post_transform") == "PROBIT":  # cancellation takes digits
            np.testing.assert_allclose(actual, value, rtol=1e-3, atol=1e-4)
        else:
            assert_close(name, actual, value)


@pytest.mark.parametrize(("graph", "expected"), rows(MICROSOFT_NODES + ATTENTION.lstrip() + LEARNED.lstrip()))
def test_nodes(graph: str, expected: str) -> None:
    check(graph, expected)


@pytest.mark.parametrize("number", [-1, 5])
def test_post_transforms_have_numbers(number: int) -> None:
    tree = "tree_roots = [0], nodes_featureids = [0], nodes_modes = uint8[1] {0}, nodes_splits = float[1] {1},"
    tree += " nodes_truenodeids = [0], nodes_falsenodeids = [0], nodes_trueleafs = [1], nodes_falseleafs = [1],"
    tree += " leaf_targetids = [0], leaf_weights = float[1] {1}"
    check(f"17, 5 | float[2, 2] x | y = ml.TreeEnsemble<{tree}, post_transform = {number}>(x)", "unsupported-attribute")


def test_the_sign_of_a_zero_is_kept() -> None:
    graph = '17 | float[1, 2] x; float one = {1} | v = ml.Normalizer<norm = "L2">(x) y = Div(one, v)'
    assert_outputs(graph, {"x": np.array([[0, 2]], np.float32)}, [np.array([[np.inf, 1]], np.float32)])


def test_names_are_numbers() -> None:
    coefficients = "coefficients = [1.0, 0.0, 0.0, 1.0], intercepts = [0.0, 0.0]"
    x = np.array([[1, 2], [2, 1]], np.float32)
    node = f'ml.LinearClassifier<{coefficients}, classlabels_strings = ["a", "b"]>(x)'
    found = evaluate(parsed(f"17 | float[2, 2] x | z, y = {node} y2 = Identity(z)"), {"x": x})
    assert found["y2"].tolist() == [1, 0]
    node = 'ml.LabelEncoder<keys_int64s = [3, 5], values_strings = ["a", "b"]>(x)'
    found = evaluate(parsed(f"17 | int64[2] x | z = {node} y = Identity(z)"), {"x": np.array([5, 3])})
    assert found["y"].tolist() == [1, 0]


def test_heads_are_said_to_be_no_divisor() -> None:
    graph = "17 | float[1, 2, 4] x, float[4, 12] w | y = ms.Attention<num_heads = 3>(x, w)"
    assert "4 columns do not divide into 3 heads" in refused_with(graph)


def test_a_window_of_no_steps_is_none() -> None:
    inputs = "float[1, 2, 4] x, int32[1] l, int32[1] t"
    attention = "ms.GroupQueryAttention<num_heads = 1, kv_num_heads = 1"
    read = '(x, x, x, "", "", l, t)'
    model = parsed(f"17 | {inputs} | y = {attention}>{read} y2 = {attention}, local_window_size = 0>{read}")
    found = evaluate(model, drawn(model))
    assert not np.isnan(found["y"]).any()
    np.testing.assert_array_equal(found["y2"], found["y"])


FEW_BITS = "K = 32, N = 8, bits = 4, block_size = 32"
BLOCKS = "K = 32, N = 8, bits = 4, block_size = 16"


@pytest.mark.parametrize(
    ("attributes", "shape", "groups", "expected"),
    [
        (FEW_BITS, [8, 1, 16], [], "-> unpack_bits reshape dequantize matmul"),
        (FEW_BITS.replace("bits = 4", "bits = 3"), [8, 1, 16], [], "unsupported-attribute"),
        (FEW_BITS.replace("K = 32", "K = 0"), [8, 1, 16], [], "unsupported-attribute"),
        (FEW_BITS.replace("N = 8", "N = 0"), [8, 1, 16], [], "unsupported-attribute"),
        (FEW_BITS.replace("size = 32", "size = 0"), [8, 1, 16], [], "unsupported-attribute"),
        ("K = 32, N = 1, bits = 4, block_size = 32", [1, 1, 16], [], "-> *"),
        ("K = 1, N = 8, bits = 4, block_size = 16", [8, 1, 8], [], "-> *"),
        ("K = 2, N = 2, bits = 8, block_size = 1", [2, 2, 1], [], "-> *"),
        (BLOCKS, [8, 2, 8], [0] * 16 + [1] * 16, "-> unpack_bits reshape dequantize matmul"),
        (BLOCKS, [8, 2, 8], [0, 1] * 16, "-> gather *"),
        (BLOCKS, [8, 2, 8], [0] * 32, "unsupported-value"),
        (BLOCKS, [8, 2, 8], [0] * 8 + [1] * 8, "unsupported-value"),
    ],
)
def test_weights_of_few_bits(attributes: str, shape: list[int], groups: list[int], expected: str) -> None:
    depth = attributes.removeprefix("K = ").partition(",")[0]
    places = f", int32[{len(groups)}] g = {{{', '.join(map(str, groups))}}}" if groups else ""
    inputs = (
        f"float[1, {depth}] x, float[{shape[0] * shape[1]}] s; int64[3] d = {{{', '.join(map(str, shape))}}}{places}"
    )
    weight = "w = ConstantOfShape<value = uint8[1] {33}>(d)"
    more = ', "", g' if groups else ""
    check(f"17 | {inputs} | {weight} y = ms.MatMulNBits<{attributes}>(x, w, s{more})", expected)
