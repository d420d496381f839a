"""Attention in its many forms, composed of products and a softmax.

(A. Vaswani et al.: Attention Is All You Need, arXiv:1706.03762.) Heads are [batch, heads, steps, size] everywhere.
What is added to scores of masked keys is a large negative number, as onnxruntime has it, so that a row of which all
keys are masked is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from aotc.dialects.graph.functions import TanhOp
from aotc.dialects.graph.indexing import GatherNdOp, GatherOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import AndOp, CompareOp, WhereOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import BroadcastOp, ConcatOp, TransposeOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.frontend.onnx.composition import cast, reshape, scalar
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.registry import Node, onnx_op


def _heads(node: Node, x: SSAValue, count: int) -> SSAValue:
    """[batch, steps, count * size] as heads."""
    batch, steps, width = shape_of(x)
    if count < 1 or width % count:
        node.fail("invalid-shape", f"{width} columns do not divide into {count} heads")
    return node.emit(TransposeOp, reshape(node, x, [batch, steps, count, width // count]), permutation=[0, 2, 1, 3])


def _together(node: Node, x: SSAValue) -> SSAValue:
    """Heads as [batch, steps, heads * size]."""
    batch, heads, steps, size = shape_of(x)
    return reshape(node, node.emit(TransposeOp, x, permutation=[0, 2, 1, 3]), [batch, steps, heads * size])


def _attend(
    node: Node,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    addends: Sequence[SSAValue | None],
    *,
    scale: float = 0.0,
    softcap: float = 0.0,
    allowed: SSAValue | None = None,
    sink: SSAValue | None = None,
) -> SSAValue:
    """softmax(q k^T * scale + addends) v; where `allowed` is false, a key does not count at all. The scores `sink`,
    which broadcast, are those of one more key, whose value is 0."""
    q = node.emit(MulOp, q, scalar(node, scale or 1 / math.sqrt(shape_of(q)[-1]), q))
    scores = node.emit(MatMulOp, q, k, transpose_rhs=True)
    if softcap:
        limit = scalar(node, softcap, scores)
        scores = node.emit(MulOp, node.emit(TanhOp, node.emit(DivOp, scores, limit)), limit)
    for addend in addends:
        if addend is not None:
            scores = node.emit(AddOp, scores, addend)
    if allowed is not None:
        scores = node.emit(WhereOp, allowed, scores, scalar(node, -np.inf, scores))
    if sink is None:
        return node.emit(MatMulOp, node.emit(SoftmaxOp, scores, axes=[-1]), v)
    *outer, keys = shape_of(scores)
    scores = node.emit(ConcatOp, [scores, node.emit(BroadcastOp, sink, shape=[*outer, 1])], axis=len(outer))
    return node.emit(MatMulOp, cut(node, node.emit(SoftmaxOp, scores, axes=[-1]), {len(outer): (0, 1, keys)}), v)


def _where_masked(node: Node, kept: SSAValue, like: SSAValue) -> SSAValue:
    """0 where a key is kept, the filter's value elsewhere, in the type of `like`."""
    value = node.attr("mask_filter_value", -10000.0)
    return node.emit(WhereOp, kept, scalar(node, 0, like), scalar(node, value, like))


def _mask(node: Node, position: int, batch: int, steps: int, keys: int, like: SSAValue) -> SSAValue | None:
    """The addend of a mask to scores, as it broadcasts to [batch, heads, steps, keys].

    It may be [batch] (how many keys count), [2 * batch] (where they end, then where they begin), [batch, keys] or
    [batch, steps, keys] (whether each counts).
    """
    mask = node.optional(position)
    if mask is None:
        return None
    shape = shape_of(mask)
    places = node.constant(node.numbers(keys).reshape(1, keys), numpy_dtype(element_type_of(mask)))
    if shape in ((batch,), (2 * batch,)):
        ends = reshape(node, cut(node, mask, {0: (0, 1, batch)}), [batch, 1])
        kept = node.emit(CompareOp, places, ends, how="lt")
        if shape == (2 * batch,) and batch:
            starts = reshape(node, cut(node, mask, {0: (batch, 1, batch)}), [batch, 1])
            kept = node.emit(AndOp, kept, node.emit(CompareOp, places, starts, how="ge"))
        return _where_masked(node, reshape(node, kept, [batch, 1, 1, keys]), like)
    kept = node.emit(CompareOp, mask, scalar(node, 0, mask), how="ne")
    if shape == (batch, keys):
        return _where_masked(node, reshape(node, kept, [batch, 1, 1, keys]), like)
    if shape == (batch, steps, keys):
        return _where_masked(node, reshape(node, kept, [batch, 1, steps, keys]), like)
    what = f"a mask (input {position}) of shape {list(shape)} is not supported"
    node.fail("unsupported-shape", what, f"there are {keys} keys")


def _causal(node: Node, steps: int, keys: int, like: SSAValue) -> SSAValue | None:
    """The mask that keeps a step from reading later ones, where `unidirectional` is set."""
    if not node.attr("unidirectional", 0):
        return None
    node.require_room(steps * keys, np.float64)
    later = np.arange(keys) > np.arange(steps)[:, None] + keys - steps
    # Behind a mask's value, so that a masked earlier key still counts more than a later one.
    return node.constant(np.where(later, np.finfo(np.float32).min, 0.0).astype(numpy_dtype(element_type_of(like))))


def _appended(node: Node, past: SSAValue | None, x: SSAValue) -> SSAValue:
    return x if past is None or not shape_of(past)[2] else node.emit(ConcatOp, [past, x], axis=2)


@onnx_op("Attention", domain=DOMAIN)
def attention(node: Node) -> list[SSAValue]:
    """Query, key and value are one product with the input."""
    if node.attr("do_rotary", 0):
        fix = "export the model with RotaryEmbedding nodes"
        node.fail("unsupported-attribute", "do_rotary = 1 is not supported", fix=fix)
    if node.optional(6) is not None:
        what = "a past that shares its buffer with the present is not supported"
        node.fail("unsupported-input", what, fix="export it without")
    return _self_attention(node, node.input(0), node.input(1), mask=3, past=4, addend=node.optional(5))


@onnx_op("QAttention", domain=DOMAIN)
def quantized_attention(node: Node) -> list[SSAValue]:
    """Attention of which the input and the weight are quantised, the weight by one scale or one for each column."""
    x, weight = (
        node.emit(DequantizeOp, node.input(place), node.input(place + 3), node.optional(place + 6), axis=1, to=f32)
        for place in range(2)
    )
    return _self_attention(node, x, weight, mask=5, past=8)


def _self_attention(
    node: Node, x: SSAValue, weight: SSAValue, *, mask: int, past: int, addend: SSAValue | None = None
) -> list[SSAValue]:
    """Attention and, where it is an output, the present; the bias is input 2, `mask` and `past` are inputs."""
    heads = node.attr("num_heads", 1)
    batch, steps, _ = shape_of(x)
    product = node.emit(MatMulOp, x, weight)
    if (bias := node.optional(2)) is not None:
        product = node.emit(AddOp, product, bias)
    width = shape_of(product)[2]
    sizes: list[int] = list(node.attr("qkv_hidden_sizes", [])) or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width:
        node.fail("invalid-attribute", f"qkv_hidden_sizes = {sizes} do not divide {width} columns")
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [cut(node, product, {2: (start, 1, size)}) for start, size in zip(starts, sizes, strict=False)]
    q, k, v = (_heads(node, part, heads) for part in parts)
    if (before := node.optional(past)) is not None:
        shape = shape_of(before)[1:]
        old = [reshape(node, cut(node, before, {0: (place, 1, 1)}), shape) for place in range(2)]
        k, v = _appended(node, old[0], k), _appended(node, old[1], v)
    keys = shape_of(k)[2]
    addends = [_mask(node, mask, batch, steps, keys, q), _causal(node, steps, keys, q), addend]
    result = [_together(node, _attend(node, q, k, v, addends, scale=node.attr("scale", 0.0)))]
    if len(node.outputs) > 1:
        result.append(node.emit(ConcatOp, [reshape(node, each, [1, *shape_of(each)]) for each in (k, v)], axis=0))
    return result


@onnx_op("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(node: Node) -> list[SSAValue]:
    """Query, key and value are given: each alone, as heads already, or packed side by side."""
    heads = node.attr("num_heads", 1)
    if any(node.optional(position) is not None for position in (8, 9)):
        what = "a past that shares its buffer with the present is not supported"
        node.fail("unsupported-input", what, fix="export it without")
    q, k, v = _query_key_value(node, heads)
    k, v = _appended(node, node.optional(6), k), _appended(node, node.optional(7), v)
    (batch, _, steps, _), keys = shape_of(q), shape_of(k)[2]
    addends = [_mask(node, 4, batch, steps, keys, q), _causal(node, steps, keys, q), node.optional(5)]
    result = _together(node, _attend(node, q, k, v, addends, scale=node.attr("scale", 0.0)))
    return [result, k, v][: len(node.outputs)]


def _query_key_value(node: Node, heads: int) -> tuple[SSAValue, SSAValue, SSAValue]:
    query, key, value, bias = (node.input(0), *(node.optional(position) for position in (1, 2, 3)))
    if key is None:  # [batch, steps, heads, 3, size]
        batch, steps, _, _, size = shape_of(query)
        packed = node.emit(TransposeOp, query, permutation=[3, 0, 2, 1, 4])
        q, k, v = (
            reshape(node, cut(node, packed, {0: (place, 1, 1)}), [batch, heads, steps, size]) for place in range(3)
        )
        return q, k, v
    if value is None:  # [batch, keys, heads, 2, size]
        batch, keys, _, _, size = shape_of(key)
        packed = node.emit(TransposeOp, key, permutation=[3, 0, 2, 1, 4])
        k, v = (reshape(node, cut(node, packed, {0: (place, 1, 1)}), [batch, heads, keys, size]) for place in range(2))
        return _heads(node, query, heads), k, v
    found: list[SSAValue] = []
    start = 0
    for each in (query, key, value):
        if len(shape_of(each)) == 4:
            found.append(each)
            continue
        width = shape_of(each)[2]
        if bias is not None:
            each = node.emit(AddOp, each, cut(node, bias, {0: (start, 1, width)}))
            start += width
        found.append(_heads(node, each, heads))
    q, k, v = found
    return q, k, v


@onnx_op("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(node: Node) -> SSAValue:
    x, shape = node.input(0), node.shape(0)
    if node.attr("is_packed_batching", 0):
        node.fail("unsupported-attribute", "is_packed_batching = 1 is not supported")
    cos, sin = node.input(2), node.input(3)
    count = node.attr("num_heads", 0)
    if len(shape) == 3:
        size = shape[2] // count if count else 2 * shape_of(cos)[1]
        heads = _heads(node, x, shape[2] // size)
    else:
        heads = x
    steps = shape_of(heads)[2]
    places = node.input(1)
    if shape_of(places) == (1,):
        places = node.emit(AddOp, node.constant(node.numbers(steps)[None], np.int64), places)
    rotated = _rotated(node, heads, places, cos, sin, bool(node.attr("interleaved", 0)))
    if (scale := node.attr("scale", 1.0)) != 1.0:
        rotated = node.emit(MulOp, rotated, scalar(node, scale, rotated))
    return _together(node, rotated) if len(shape) == 3 else rotated


def _rotated(
    node: Node, heads: SSAValue, places: SSAValue, cos: SSAValue, sin: SSAValue, interleaved: bool
) -> SSAValue:
    """Heads with pairs of elements turned by the angles at `places` [batch or 1, steps].

    (J. Su et al.: RoFormer, arXiv:2104.09864.) Pairs are neighbours (`interleaved`), or of both halves; what the tables
    do not reach is not turned.
    """
    batch, count, steps, size = shape_of(heads)
    half = shape_of(cos)[1]
    tables = [node.emit(GatherOp, table, places, axis=0) for table in (cos, sin)]
    rows = shape_of(places)[0]
    turned = cut(node, heads, {3: (0, 1, 2 * half)})
    if interleaved:
        pairs = reshape(node, turned, [batch, count, steps, half, 2])
        first, second = (cut(node, pairs, {4: (place, 1, 1)}) for place in range(2))
        c, s = (reshape(node, table, [rows, 1, steps, half, 1]) for table in tables)
    else:
        first, second = (cut(node, turned, {3: (place * half, 1, half)}) for place in range(2))
        c, s = (reshape(node, table, [rows, 1, steps, half]) for table in tables)
    real = node.emit(SubOp, node.emit(MulOp, first, c), node.emit(MulOp, second, s))
    imaginary = node.emit(AddOp, node.emit(MulOp, second, c), node.emit(MulOp, first, s))
    axis = len(shape_of(real)) - 1
    result = reshape(node, node.emit(ConcatOp, [real, imaginary], axis=axis), [batch, count, steps, 2 * half])
    if 2 * half == size:
        return result
    return node.emit(ConcatOp, [result, cut(node, heads, {3: (2 * half, 1, size - 2 * half)})], axis=3)


@onnx_op("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(node: Node) -> list[SSAValue]:
    """Several heads of the query share one of key and value; keys are put behind those of the past.

    Sizes are static: the present has as many keys as the past and the new ones together, or as `total_sequence_length`
    says where that is a constant (then it may be the past's buffer, filled further). How many of the past's keys count
    is known at run time, by `seqlens_k`: the new ones follow them.
    """
    heads, groups = node.attr("num_heads", 0), node.attr("kv_num_heads", 0)
    if heads < 1 or groups < 1 or heads % groups:
        node.fail("invalid-attribute", f"num_heads = {heads} is not a multiple of kv_num_heads = {groups}")
    if node.attr("qk_output", 0) in (1, 2):
        node.fail("unsupported-attribute", f"qk_output = {node.attr('qk_output')} is not supported")
    if any(node.optional(position) is not None for position in (12, 13)):
        node.fail("unsupported-input", "a quantised cache is not supported", fix="export the model without")
    query, sink = node.input(0), node.optional(11)
    if sink is None and node.attr("smooth_softmax", 0) == 1:
        sink = node.constant(node.filled([heads], 0, numpy_dtype(element_type_of(query))))
    batch, steps, width = shape_of(query)
    if node.optional(1) is None:
        size = width // (heads + 2 * groups)
        bounds = np.cumsum([0, heads * size, groups * size, groups * size]).tolist()
        parts = [cut(node, query, {2: (a, 1, b - a)}) for a, b in pairwise(bounds)]
    else:
        parts = [query, node.input(1), node.input(2)]
    q, k, v = (_heads(node, part, count) for part, count in zip(parts, (heads, groups, groups), strict=True))
    past = [each for position in (3, 4) if (each := node.optional(position)) is not None and shape_of(each)[2]]
    room = shape_of(past[0])[2] if past else 0
    known = node.known(6)
    total = max(int(known.reshape(-1)[0]), room) if known is not None else room + steps
    # seqlens_k is one less than the keys of a sequence, with the new ones
    ends = cast(node, reshape(node, node.input(5), [batch, 1]), i64)
    before = node.emit(SubOp, ends, node.constant(steps - 1, np.int64))
    if not room or (known is not None and int(known.reshape(-1)[0]) == steps):
        # the first steps of all, perhaps filled up on the right
        before = node.constant(node.filled([batch, 1], 0, np.int64))
    places = node.emit(AddOp, before, node.constant(node.numbers(steps)[None], np.int64))
    if node.attr("do_rotary", 0):
        turned = node.optional(9)
        turned = places if turned is None else turned
        tables = node.input(7), node.input(8)
        interleaved = bool(node.attr("rotary_interleaved", 0))
        q, k = (_rotated(node, each, turned, *tables, interleaved) for each in (q, k))
    if past:
        k, v = (_behind(node, old, new, before, total) for old, new in zip(past, (k, v), strict=True))
    allowed = _visible(node, places, shape_of(k)[2])
    options = {"scale": node.attr("scale", 0.0), "softcap": node.attr("softcap", 0.0)}
    result = _attend_in_groups(node, q, k, v, node.optional(10), allowed, sink, options)
    return [_together(node, result), k, v][: len(node.outputs)]


def _attend_in_groups(
    node: Node,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    addend: SSAValue | None,
    allowed: SSAValue,
    sink: SSAValue | None,
    options: Mapping[str, float],
) -> SSAValue:
    """Attention where each head of k and v serves a group of heads of q; they are not repeated."""
    (batch, heads, steps, size), (groups, keys) = shape_of(q), shape_of(k)[1:3]
    many = heads // groups
    if sink is not None:
        sink = reshape(node, sink, [1, heads, 1, 1] if many == 1 else [1, groups, many, 1, 1])
    if many == 1:
        return _attend(node, q, k, v, [addend], allowed=allowed, sink=sink, **options)
    grouped = reshape(node, q, [batch, groups, many, steps, size])
    shared = [reshape(node, each, [batch, groups, 1, keys, shape_of(each)[3]]) for each in (k, v)]
    if addend is not None:
        rows, own = shape_of(addend)[:2]
        split = [1, 1] if own == 1 else [groups, many]
        addend = reshape(node, addend, [rows, *split, *shape_of(addend)[2:]])
    allowed = reshape(node, allowed, [batch, 1, 1, steps, keys])
    result = _attend(node, grouped, shared[0], shared[1], [addend], allowed=allowed, sink=sink, **options)
    return reshape(node, result, [batch, heads, steps, shape_of(v)[3]])


def _behind(node: Node, old: SSAValue, new: SSAValue, before: SSAValue, total: int) -> SSAValue:
    """[batch, groups, total, size]: `before` [batch, 1] steps of `old`, then those of `new`, then zeros."""
    batch, _, room, _ = shape_of(old)
    steps = shape_of(new)[2]
    where = node.constant(node.numbers(total)[None], np.int64)
    after = node.emit(SubOp, where, before)
    fresh = node.emit(AddOp, after, node.constant(room, np.int64))
    is_new = node.emit(CompareOp, after, scalar(node, 0, after), how="ge")
    counts = node.emit(CompareOp, after, scalar(node, steps, after), how="lt")
    kept = node.constant(np.minimum(node.numbers(total), max(room - 1, 0))[None], np.int64)
    source = node.emit(WhereOp, is_new, fresh, kept)
    rows = node.emit(TransposeOp, node.emit(ConcatOp, [old, new], axis=2), permutation=[0, 2, 1, 3])
    found = node.emit(GatherNdOp, rows, reshape(node, source, [batch, total, 1]), batch_dims=1)
    found = node.emit(WhereOp, reshape(node, counts, [batch, total, 1, 1]), found, scalar(node, 0, found))
    return node.emit(TransposeOp, found, permutation=[0, 2, 1, 3])


def _visible(node: Node, places: SSAValue, keys: int) -> SSAValue:
    """[batch, 1, steps, keys]: whether a step at one of `places` [batch, steps] sees a key: not those after it, nor
    those before its window."""
    batch, steps = shape_of(places)
    own = reshape(node, places, [batch, 1, steps, 1])
    where = node.constant(node.numbers(keys).reshape(1, 1, 1, keys), np.int64)
    seen = node.emit(CompareOp, where, own, how="le")
    window = node.attr("local_window_size", -1)
    if window > 0:
        start = node.emit(SubOp, own, node.constant(window, np.int64))
        seen = node.emit(AndOp, seen, node.emit(CompareOp, where, start, how="gt"))
    return seen
