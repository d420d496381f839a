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

from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Tensor, joined
from aotc.frontend.onnx.registry import Node, onnx_op


def _heads(x: Tensor, count: int) -> Tensor:
    """[batch, steps, count * size] as heads."""
    batch, steps, width = x.shape
    if count < 1 or width % count:
        x.node.fail("invalid-shape", f"{width} columns do not divide into {count} heads")
    return x.reshape([batch, steps, count, width // count]).transpose([0, 2, 1, 3])


def _together(x: Tensor) -> Tensor:
    """Heads as [batch, steps, heads * size]."""
    batch, heads, steps, size = x.shape
    return x.transpose([0, 2, 1, 3]).reshape([batch, steps, heads * size])


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    addends: Sequence[Tensor | SSAValue | None],
    *,
    scale: float = 0.0,
    softcap: float = 0.0,
    allowed: Tensor | None = None,
    sink: Tensor | None = None,
) -> Tensor:
    """softmax(q k^T * scale + addends) v; where `allowed` is false, a key does not count at all. The scores `sink`,
    which broadcast, are those of one more key, whose value is 0."""
    scores = (q * (scale or 1 / math.sqrt(q.shape[-1]))).emit("matmul", k, transpose_rhs=True)
    if softcap:
        limit = scores.scalar(softcap)
        scores = (scores / limit).emit("tanh") * limit
    for addend in addends:
        if addend is not None:
            scores += addend
    if allowed is not None:
        scores = allowed.choose(scores, -np.inf)
    if sink is None:
        return scores.emit("softmax", axes=[-1]) @ v
    *outer, keys = scores.shape
    scores = joined([scores, sink.emit("broadcast", shape=[*outer, 1])], len(outer))
    return cut(scores.emit("softmax", axes=[-1]), {len(outer): (0, 1, keys)}) @ v


def _parts(x: Tensor, axis: int, count: int) -> list[Tensor]:
    """`count` equal parts along an axis, one behind the other."""
    size = x.shape[axis] // count
    return [cut(x, {axis: (place * size, 1, size)}) for place in range(count)]


def _mask(node: Node, position: int, steps: int, keys: int, like: Tensor) -> Tensor | None:
    """The addend of a mask to scores, as it broadcasts to [batch, heads, steps, keys].

    It may be [batch] (how many keys count), [2 * batch] (where they end, then where they begin), [batch, keys] or
    [batch, steps, keys] (whether each counts).
    """
    mask, batch = node.optional_tensor(position), like.shape[0]
    if mask is None:
        return None
    places = Tensor(node, node.constant(node.numbers(keys).reshape(1, keys), mask.dtype))
    if mask.shape in ((batch,), (2 * batch,)):
        unmasked = places < cut(mask, {0: (0, 1, batch)}).reshape([batch, 1])
        if mask.shape == (2 * batch,):
            unmasked = unmasked.emit("and", places >= cut(mask, {0: (batch, 1, batch)}).reshape([batch, 1]))
    elif mask.shape in ((batch, keys), (batch, steps, keys)):
        unmasked = mask.compare("ne", 0)
    else:
        what = f"a mask (input {position}) of shape {list(mask.shape)} is not supported"
        node.fail("unsupported-shape", what, f"there are {keys} keys")
    unmasked = unmasked.reshape([batch, 1, 1 if len(unmasked.shape) == 2 else steps, keys])
    return unmasked.choose(like.scalar(0), node.attr("mask_filter_value", -10000.0))


def _causal(steps: int, keys: int, like: Tensor) -> SSAValue | None:
    """The mask that keeps a step from reading later ones, where `unidirectional` is set."""
    node = like.node
    if not node.attr("unidirectional", 0):
        return None
    node.require_room(steps * keys, np.float64)
    later = np.arange(keys) > np.arange(steps)[:, None] + keys - steps
    # Behind a mask's value, so that a masked earlier key still counts more than a later one.
    return node.constant(np.where(later, np.finfo(np.float32).min, 0.0).astype(like.dtype))


def _appended(past: Tensor | None, x: Tensor) -> Tensor:
    return x if past is None or not past.shape[2] else joined([past, x], 2)


def _refuse_shared(node: Node, *positions: int) -> None:
    if any(node.optional(position) is not None for position in positions):
        what = "a past that shares its buffer with the present is not supported"
        node.fail("unsupported-input", what, fix="export it without")


@onnx_op("Attention", domain=DOMAIN)
def attention(node: Node) -> list[Tensor]:
    """Query, key and value are one product with the input."""
    if node.attr("do_rotary", 0):
        fix = "export the model with RotaryEmbedding nodes"
        node.fail("unsupported-attribute", "do_rotary = 1 is not supported", fix=fix)
    _refuse_shared(node, 6)
    return _self_attention(node.tensor(0), node.tensor(1), mask=3, past=4, addend=node.optional(5))


@onnx_op("QAttention", domain=DOMAIN)
def quantized_attention(node: Node) -> list[Tensor]:
    """Attention of which the input and the weight are quantised, the weight by one scale or one for each column."""
    x, weight = (
        node.tensor(place).emit("dequantize", node.input(place + 3), node.optional(place + 6), axis=1, to=f32)
        for place in range(2)
    )
    return _self_attention(x, weight, mask=5, past=8)


def _self_attention(x: Tensor, weight: Tensor, *, mask: int, past: int, addend: SSAValue | None = None) -> list[Tensor]:
    """Attention and, where it is an output, the present; the bias is input 2, `mask` and `past` are inputs."""
    node = x.node
    heads, product = node.attr("num_heads", 1), x @ weight
    if (bias := node.optional(2)) is not None:
        product += bias
    width = product.shape[2]
    sizes: list[int] = list(node.attr("qkv_hidden_sizes", [])) or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width:
        node.fail("invalid-attribute", f"qkv_hidden_sizes = {sizes} do not divide {width} columns")
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [cut(product, {2: (start, 1, size)}) for start, size in zip(starts, sizes, strict=False)]
    q, k, v = (_heads(part, heads) for part in parts)
    if (before := node.optional_tensor(past)) is not None:
        old = [part.reshape(before.shape[1:]) for part in _parts(before, 0, 2)]
        k, v = _appended(old[0], k), _appended(old[1], v)
    result = [_masked_attention(q, k, v, mask, addend)]
    if len(node.outputs) > 1:
        result.append(joined([each.reshape([1, *each.shape]) for each in (k, v)], 0))
    return result


def _masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: int, addend: SSAValue | None) -> Tensor:
    """Attention with what the input `mask` and the attributes of the node say."""
    node, steps, keys = q.node, q.shape[2], k.shape[2]
    addends = [_mask(node, mask, steps, keys, q), _causal(steps, keys, q), addend]
    return _together(_attend(q, k, v, addends, scale=node.attr("scale", 0.0)))


@onnx_op("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(node: Node) -> list[Tensor]:
    """Query, key and value are given: each alone, as heads already, or packed side by side."""
    _refuse_shared(node, 8, 9)
    q, k, v = _query_key_value(node, node.attr("num_heads", 1))
    k, v = _appended(node.optional_tensor(6), k), _appended(node.optional_tensor(7), v)
    return [_masked_attention(q, k, v, 4, node.optional(5)), k, v][: len(node.outputs)]


def _query_key_value(node: Node, heads: int) -> list[Tensor]:
    query, key, value, bias = (node.tensor(0), *(node.optional_tensor(position) for position in (1, 2, 3)))
    if key is None:
        return _unpacked(query, heads)
    if value is None:
        return [_heads(query, heads), *_unpacked(key, heads)]
    found: list[Tensor] = []
    start = 0
    for each in (query, key, value):
        if len(each.shape) == 4:
            found.append(each)
            continue
        width = each.shape[2]
        if bias is not None:
            each += cut(bias, {0: (start, 1, width)})
            start += width
        found.append(_heads(each, heads))
    return found


def _unpacked(x: Tensor, heads: int) -> list[Tensor]:
    """[batch, steps, heads, count, size] as so many heads."""
    batch, steps, _, count, size = x.shape
    packed = x.transpose([3, 0, 2, 1, 4])
    return [part.reshape([batch, heads, steps, size]) for part in _parts(packed, 0, count)]


@onnx_op("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(node: Node) -> Tensor:
    x, shape = node.tensor(0), node.shape(0)
    if node.attr("is_packed_batching", 0):
        node.fail("unsupported-attribute", "is_packed_batching = 1 is not supported")
    cos, sin = node.tensor(2), node.tensor(3)
    count = node.attr("num_heads", 0)
    heads = x
    if len(shape) == 3:
        size = shape[2] // count if count else 2 * cos.shape[1]
        heads = _heads(x, shape[2] // size)
    places = node.tensor(1)
    if places.shape == (1,):
        places = Tensor(node, node.constant(node.numbers(heads.shape[2])[None], np.int64)) + places
    rotated = _rotated(heads, places, cos, sin, bool(node.attr("interleaved", 0)))
    if (scale := node.attr("scale", 1.0)) != 1.0:
        rotated *= scale
    return _together(rotated) if len(shape) == 3 else rotated


def _rotated(heads: Tensor, places: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Heads, two elements at a time turned by the angles at `places` [batch or 1, steps].

    (J. Su et al.: RoFormer, arXiv:2104.09864.) They are neighbours (`interleaved`), or of both halves; what the tables
    do not reach is not turned.
    """
    batch, count, steps, size = heads.shape
    half, rows = cos.shape[1], places.shape[0]
    tables = [table.emit("gather", places, axis=0) for table in (cos, sin)]
    turned = cut(heads, {3: (0, 1, 2 * half)})
    if interleaved:
        first, second = _parts(turned.reshape([batch, count, steps, half, 2]), 4, 2)
        c, s = (table.reshape([rows, 1, steps, half, 1]) for table in tables)
    else:
        first, second = _parts(turned, 3, 2)
        c, s = (table.reshape([rows, 1, steps, half]) for table in tables)
    real = first * c - second * s
    imaginary = second * c + first * s
    result = joined([real, imaginary], len(real.shape) - 1).reshape([batch, count, steps, 2 * half])
    if 2 * half == size:
        return result
    return joined([result, cut(heads, {3: (2 * half, 1, size - 2 * half)})], 3)


@onnx_op("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(node: Node) -> list[Tensor]:
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
    query, sink = node.tensor(0), node.optional_tensor(11)
    if sink is None and node.attr("smooth_softmax", 0) == 1:
        sink = Tensor(node, node.constant(node.filled([heads], 0, query.dtype)))
    batch, steps, width = query.shape
    if node.optional(1) is None:
        size = width // (heads + 2 * groups)
        bounds = np.cumsum([0, heads * size, groups * size, groups * size]).tolist()
        parts = [cut(query, {2: (a, 1, b - a)}) for a, b in pairwise(bounds)]
    else:
        parts = [query, node.tensor(1), node.tensor(2)]
    q, k, v = (_heads(part, count) for part, count in zip(parts, (heads, groups, groups), strict=True))
    past = [each for position in (3, 4) if (each := node.optional_tensor(position)) is not None and each.shape[2]]
    room = past[0].shape[2] if past else 0
    known = node.known(6)
    total = max(int(known.reshape(-1)[0]), room) if known is not None else room + steps
    # seqlens_k is one less than the keys of a sequence, with the new ones
    before = node.tensor(5).reshape([batch, 1]).cast(i64) - (steps - 1)
    if not room or (known is not None and int(known.reshape(-1)[0]) == steps):
        # the first steps of all, perhaps filled up on the right
        before = Tensor(node, node.constant(node.filled([batch, 1], 0, np.int64)))
    places = before + node.constant(node.numbers(steps)[None], np.int64)
    if node.attr("do_rotary", 0):
        turned = node.optional_tensor(9)
        turned = places if turned is None else turned
        tables = node.tensor(7), node.tensor(8)
        interleaved = bool(node.attr("rotary_interleaved", 0))
        q, k = (_rotated(each, turned, *tables, interleaved) for each in (q, k))
    if past:
        k, v = (_filled(old, new, before, total) for old, new in zip(past, (k, v), strict=True))
    allowed = _visible(places, k.shape[2])
    options = {"scale": node.attr("scale", 0.0), "softcap": node.attr("softcap", 0.0)}
    result = _attend_in_groups(q, k, v, node.optional_tensor(10), allowed, sink, options)
    return [_together(result), k, v][: len(node.outputs)]


def _attend_in_groups(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    addend: Tensor | None,
    allowed: Tensor,
    sink: Tensor | None,
    options: Mapping[str, float],
) -> Tensor:
    """Attention where each head of k and v serves a group of heads of q; they are not repeated."""
    (batch, heads, steps, size), (groups, keys) = q.shape, k.shape[1:3]
    many = heads // groups
    if sink is not None:
        sink = sink.reshape([1, heads, 1, 1] if many == 1 else [1, groups, many, 1, 1])
    if many == 1:
        return _attend(q, k, v, [addend], allowed=allowed, sink=sink, **options)
    grouped = q.reshape([batch, groups, many, steps, size])
    shared = [each.reshape([batch, groups, 1, keys, each.shape[3]]) for each in (k, v)]
    if addend is not None:
        rows, own, *others = addend.shape
        addend = addend.reshape([rows, *([1, 1] if own == 1 else [groups, many]), *others])
    allowed = allowed.reshape([batch, 1, 1, steps, keys])
    result = _attend(grouped, shared[0], shared[1], [addend], allowed=allowed, sink=sink, **options)
    return result.reshape([batch, heads, steps, v.shape[3]])


def _filled(old: Tensor, new: Tensor, before: Tensor, total: int) -> Tensor:
    """[batch, groups, total, size]: `before` [batch, 1] steps of `old`, then those of `new`, then zeros."""
    node, (batch, _, room, _), steps = old.node, old.shape, new.shape[2]
    after = Tensor(node, node.constant(node.numbers(total)[None], np.int64)) - before
    fresh = after + room
    is_new, counts = after >= 0, after < steps
    previous = node.constant(np.minimum(node.numbers(total), max(room - 1, 0))[None], np.int64)
    source = is_new.choose(fresh, previous)
    rows = joined([old, new], 2).transpose([0, 2, 1, 3])
    found = rows.emit("gather_nd", source.reshape([batch, total, 1]), batch_dims=1)
    found = counts.reshape([batch, total, 1, 1]).choose(found, 0)
    return found.transpose([0, 2, 1, 3])


def _visible(places: Tensor, keys: int) -> Tensor:
    """[batch, 1, steps, keys]: whether a step at one of `places` [batch, steps] sees a key: not those after it, nor
    those before its window."""
    node, (batch, steps) = places.node, places.shape
    own = places.reshape([batch, 1, steps, 1])
    where = Tensor(node, node.constant(node.numbers(keys).reshape(1, 1, 1, keys), np.int64))
    attended = where <= own
    window = node.attr("local_window_size", -1)
    return attended.emit("and", where > own - window) if window > 0 else attended
