"""Nodes that read values of data-dependent extents: the bodies of graphs that begin with `HEAD`."""

from __future__ import annotations

import numpy as np

HEAD = """g (float[3, 4] x, float[4, 9] t) => (y) <
    int64 first = {0}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},
    int64[1] end = {99}, int64[1] minus = {-2}, int64[1] five = {-5}, int64[4] square = {-1, 1, 3, 3},
    float[2, 3] a = {1, -2, 3, 0.5, 5, 6}, float[3, 2] b = {2, 1, -1, 0.25, 3, 7}, float[2] h = {3, 4},
    float[3] k3 = {1, 2, 3}, float[1, 1, 3, 3] f = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[9] m = {1, 2, 3, 4, 5, 6, 7, 8, 9}
> { z = NonZero(x)  w = Transpose(z)  zf = Cast<to = 1>(z)  wf = Cast<to = 1>(w)  v = GatherND(x, w)
    p = Gather<axis = 0>(z, first)  r = Gather<axis = 1>(w, first)  q = Unsqueeze(r, one)  g = Gather(t, p)  """
"""z: places of what is not 0, up to 12; w: one place a line, p: their rows, v: what is there, g: those rows of t."""

EACH = {
    "rows": "y = MatMul(wf, a)",
    "columns": "y = MatMul(b, zf)",
    "rows by a vector": "y = MatMul(wf, h)",
    "a vector by columns": "y = MatMul(h, zf)",
    "batches": "i = Unsqueeze(wf, one) y = MatMul(i, a)",
    "batches by a vector": "i = Unsqueeze(wf, one) y = MatMul(i, h)",
    "lines": "y = Gemm<transB = 1>(wf, b, k3)",
    "lines that are columns": "y = Gemm<transA = 1, transB = 1>(zf, b)",
    "images": "i = Unsqueeze(g, one) s = Reshape(i, square) y = Conv<pads = [1, 1, 1, 1]>(s, f)",
    "pools": "i = Unsqueeze(g, one) s = Reshape(i, square) y = MaxPool<kernel_shape = [2, 2]>(s)",
    "normalisation": "y = LayerNormalization<axis = 1>(g, m)",
    "sums of each": "y = ReduceSum<keepdims = 0>(g, one)",
    "sums before each": "o = Transpose(g) y = ReduceSum<keepdims = 0>(o, zero)",
    "places in each": "y = ArgMax<axis = 1, keepdims = 0>(g)",
    "order in each": "y, i = TopK(g, two)",
    "runs in each": "y = CumSum(g, one)",
    "tiles": "k = Constant<value_ints = [1, 3]>() y = Tile(g, k)",
    "sums": "y = ReduceSum<keepdims = 0>(g, zero)",
    "sums of all": "y = ReduceSum<keepdims = 0>(g)",
    "sums of integers": "y = ReduceSum(z, one)",
    "sums of magnitudes": "y = ReduceL1<axes = [0]>(g)",
    "products": "y = ReduceProd<axes = [-2]>(g)",
    "norms": "y = ReduceL2<axes = [0, 1]>(g)",
    "runs": "y = CumSum<exclusive = 1>(g, zero)",
    "runs from the end": "y = CumSum<reverse = 1>(g, zero)",
    "replaced": "n = Neg(v) y = ScatterND(x, w, n)",
    "replaced rows": "y = ScatterND(t, q, g)",
    "shape": "y = Shape(z)",
    "last of a shape": "k = Shape(z) o = Constant<value_int = -1>() y = Gather(k, o)",
    "one value": "k = Shape<end = 1>(w) e = Expand(first, k) i = Cast<to = 1>(e) y = ScatterND(x, w, i)",
    "zeros": "k = Shape(w) n = Slice(k, zero, one) i = ConstantOfShape(n) y = ScatterND(x, w, i)",
    "numbers": "k = Shape(p) n = Squeeze(k) o = Constant<value_int = 1>() y = Range(first, n, o)",
    "lines of numbers": "k = Shape(p) n = ReduceProd(k) c = Constant<value_ints = [9]>() s = Concat<axis = 0>(n, c)"
    " y = Expand(m, s)",
    "the same shape": "k = Shape(g) y = Expand(g, k)",
    "the first": "y = Slice(g, zero, two, zero)",
    "the first but one": "y = Slice(g, one, three, zero)",
    "every second": "y = Slice(g, one, end, zero, two)",
    "none": "y = Slice(g, two, one, zero)",
    "the last": "y = Slice(g, minus, end, zero)",
    "those before the last": "y = Slice(g, zero, minus, zero)",
    "every second of the last": "e = Neg(one) y = Slice(z, five, e, one, two)",
    "of lines and columns": "i = Concat<axis = 0>(one, two) e = Concat<axis = 0>(two, five) y = Slice(g, i, e)",
    "from the first that is large": "i = ArgMax<axis = 0, keepdims = 1>(h) y = Slice(g, i, end, zero)",
    "up to as many as there are": "k = Shape(v) c = Cast<to = 1>(k) l = Constant<value_floats = [3.0]>() m2 = Min(c, l)"
    " e = Cast<to = 7>(m2) y = Slice(g, zero, e, zero)",
    "not zero": "i = ReduceSum<keepdims = 0>(g, one) o = Greater(i, v) y = NonZero(o)",
    "order": "k = Shape(v) l = Constant<value_ints = [3]>() c = Concat<axis = 0>(k, l) n = ReduceMin<axes = [0]>(c)"
    " i, y = TopK(v, n)",
    "order from the least": "k = Shape(v) y, i = TopK<largest = 0>(v, k)",
    "order of lines": "k = Shape(v) y, i = TopK<axis = 0>(g, k)",
    "those chosen": "k = Shape(v) i, j = TopK(v, k) y = Gather(g, j)",
    "all of them": "a2 = Slice(g, zero, end, zero) y = Add(g, a2)",
    "numbers of columns": "k = Shape(g) o = Constant<value_int = 1>() l = Gather(k, o) rr = Range(first, l, o)"
    " c = Cast<to = 1>(rr) y = Add(g, c)",
    "boxes": "f4 = Constant<value_ints = [4]>() n = Slice(g, zero, f4, one) bx = Unsqueeze(n, zero)"
    " v2 = Unsqueeze(v, zero) s = Unsqueeze(v2, zero) y = NonMaxSuppression(bx, s, three)",
    "boxes above a score": "f4 = Constant<value_ints = [4]>() n = Slice(g, zero, f4, one) bx = Unsqueeze(n, zero)"
    " v2 = Unsqueeze(v, zero) s = Unsqueeze(v2, zero) l = Constant<value_floats = [0.5]>()"
    " y = NonMaxSuppression(bx, s, three, l, l)",
    "a branch": "c = Size(v) e = Equal(c, first) y = If (e) <then_branch = t1 () => (ty)"
    " { ty = Constant<value_floats = [1.0]>() }, else_branch = e1 () => (ey) { ey = Neg(v) }>",
    "a branch of as many": "m2 = ReduceMax<keepdims = 0>(x) l = Constant<value_float = 6.0>() e = Less(l, m2)"
    " y = If (e) <then_branch = t1 () => (ty) { ty = Neg(g) }, else_branch = e1 () => (ey) { ey = Abs(g) }>",
    "a branch that reads them": "m2 = ReduceMax<keepdims = 0>(x) l = Constant<value_float = 6.0>() e = Less(l, m2)"
    " y = If (e) <then_branch = t1 () => (ty) { ty = ReduceSum<keepdims = 0>(v) }, else_branch = e1 () => (ey)"
    " { ey = Identity(l) }>",
    "elements along": "e = ScatterElements<axis = 0>(m, p, v) y = Identity(e)",
    "elements across": "o = Unsqueeze(p, zero) u = Unsqueeze(v, zero) n = Constant<value = float[3, 12] {"
    + ", ".join(map(str, range(36)))
    + "}>() y = ScatterElements<axis = 0>(n, o, u)",
}
"""By what is done; there may be no parts at all."""

SOME = {
    "blocks": "k = Shape(g) n = Gather(k, zero) o = Constant<value_ints = [3, -1]>() s = Concat<axis = 0>(n, o)"
    " y = Reshape(g, s)",
    "means": "y = ReduceMean<axes = [0], keepdims = 0>(g)",
    "means of f16": "i = Cast<to = 10>(g) y = ReduceMean<axes = [0, 1]>(i)",
    "means of integers": "y = ReduceMean<axes = [1]>(z)",
    "greatest": "y = ReduceMax<axes = [0]>(g)",
    "least of integers": "y = ReduceMin<axes = [1]>(z)",
    "exponentials": "y = ReduceLogSumExp<axes = [0]>(g)",
    "the very last": "l = Constant<value_int = -1>() y = Gather(g, l)",
    "two of them": "l = Constant<value_ints = [1, -2]>() y = Gather<axis = 1>(z, l)",
    "the two greatest": "i, y = TopK(v, two)",
    "places": "y = ArgMin<axis = 0>(g)",
    "shares": "y = Softmax<axis = 0>(g)",
    "logarithms of shares": "y = LogSoftmax<axis = 0>(g)",
    **{
        f"scattered by {kind}": f'y = ScatterND<reduction = "{kind}">(t, q, g)' for kind in ("add", "mul", "max", "min")
    },
    "elements added": 'y = ScatterElements<axis = 0, reduction = "add">(m, p, v)',
}
"""Those of which onnxruntime has no result where there are no parts."""

SPARSE = np.array([[0, 5, 0, -1], [0, 0, 2.5, 0], [0, 7, 0, 1]], np.float32)
"""Values of `x`, five of which are not 0."""
