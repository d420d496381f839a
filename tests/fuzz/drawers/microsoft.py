"""Drawing operators of com.microsoft, which exporters and onnxruntime's optimiser write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fuzz.drafts import FAST, MICROSOFT, SMOOTH, STEPS, Draft, Drawer, Value

BYTES = ("int8", "uint8")


def _add(d: Draft, op_type: str, inputs: Sequence[Value | None], outputs: Any = 1, **more: Any) -> list[Value]:
    return d.add(op_type, inputs, outputs, domain=MICROSOFT, **more)


def _floats(d: Draft, *shape: int, low: float = -1, high: float = 1) -> Value:
    return d.fresh("float32", shape, low, high)


# --- layers ---


def _function(op_type: str, d: Draft) -> None:
    x = d.take(("float32",), ranks=(1, 4))
    bias = [_floats(d, x.shape[-1])] if op_type == "BiasGelu" or (op_type == "FastGelu" and d.chance(0.5)) else []
    _add(d, op_type, [x, *bias], **({"alpha": 1.3} if op_type == "QuickGelu" else {}))


def _simplified_norm(domain: str, d: Draft) -> None:
    x = d.take(("float32",), ranks=(2, 4))
    gamma = _floats(d, x.shape[-1], low=0.5, high=2)
    d.add("SimplifiedLayerNormalization", [x, gamma], domain=domain, elsewhere=bool(domain), epsilon=1e-3)


def _skip_norm(op_type: str, d: Draft) -> None:
    batch, steps, hidden = d.number(1, 3), d.number(1, 5), d.extent()
    x = _floats(d, batch, steps, hidden)
    skip = _floats(d, *d.pick(((batch, steps, hidden), (steps, hidden))))
    gamma = _floats(d, hidden, low=0.5, high=2)
    beta = [_floats(d, hidden) if d.chance(0.6) else None] if op_type == "SkipLayerNormalization" else []
    bias = [_floats(d, hidden)] if d.chance(0.4) else []
    outputs = (True, False, False, True) if d.chance(0.6) else 1
    _add(d, op_type, [x, skip, gamma, *beta, *bias], outputs, epsilon=1e-3)


def _embedding(d: Draft) -> None:
    batch, steps, hidden = d.number(1, 3), d.number(1, 5), d.extent()
    words, places, segments = (_floats(d, rows, hidden) for rows in (9, 7, 2))
    gamma, beta = _floats(d, hidden, low=0.5, high=2), _floats(d, hidden)
    ids = d.fresh("int32", (batch, steps), 0, 8)
    kinds = d.fresh("int32", (batch, steps), 0, 1) if d.chance(0.6) else None
    mask = d.fresh("int32", (batch, steps), 0, 1) if d.chance(0.5) else None
    given = [ids, kinds, words, places, segments if kinds else None, gamma, beta, mask]
    _add(d, "EmbedLayerNormalization", given, (True, True, d.chance(0.4)), epsilon=1e-3)


def _quantized_embedding(d: Draft) -> None:
    batch, steps, hidden = d.number(1, 3), d.number(1, 5), d.extent()
    tables = [d.fresh("uint8", shape, 0, 255, constant=True) for shape in ((9, hidden), (7, hidden), (2, hidden))]
    tables += [d.fresh("uint8", (hidden,), 0, 255, constant=True) for _ in range(2)]
    scales = [_scale(d) for _ in tables]
    points = [d.fresh("uint8", (), 0, 255, constant=True) for _ in tables]
    ids, kinds = d.fresh("int32", (batch, steps), 0, 8), d.fresh("int32", (batch, steps), 0, 1)
    given = [ids, kinds, *tables, None, *scales, *points]
    _add(d, "QEmbedLayerNormalization", given, (True, True), how=FAST, epsilon=1e-2)


def _restated(op_type: str, d: Draft) -> None:
    """Operators that ONNX has as well."""
    x = d.take(("float32",), ranks=(2, 4))
    if op_type == "Trilu":
        _add(d, op_type, [x], upper=d.number(0, 1))
    elif op_type == "ExpandDims":
        axis = d.number(-len(x.shape) - 1, len(x.shape))
        _add(d, op_type, [x, d.known(np.array([axis], np.int32))])
    elif op_type == "Pad":
        pads = d.rng.integers(0, 3, 2 * len(x.shape))
        _add(d, op_type, [x, d.known(pads), _floats(d, 1)], mode="constant")
    elif op_type == "GatherND":
        count = d.number(1, 4)
        places = np.stack([d.rng.integers(0, extent, count) for extent in x.shape[:2]], axis=-1)
        _add(d, op_type, [x, d.known(places)])
    elif op_type == "Range":
        _add(d, op_type, [d.known(np.array(value, np.float32)) for value in (1, d.number(1, 9))])
    else:
        picture = _floats(d, d.number(1, 2), d.number(1, 3), d.number(1, 6), d.number(1, 6))
        grid = _floats(d, picture.shape[0], d.number(1, 5), d.number(1, 5), 2)
        _add(d, op_type, [picture, grid], how=FAST, align_corners=d.number(0, 1))


# --- products ---


def _distances(d: Draft) -> None:
    columns = d.extent()
    given = [_floats(d, d.extent(), columns), _floats(d, d.extent(), columns)]
    _add(d, "CDist", given, how=FAST, metric="sqeuclidean")


def _inverse(d: Draft) -> None:
    side = d.number(1, 6)
    batch = d.shape(d.number(0, 2))
    dominant = d.array("float32", (*batch, side, side), -1, 1) + 2 * side * np.eye(side, dtype=np.float32)
    _add(d, "Inverse", [d.known(dominant, False)], how=FAST)


def _fused_matmul(op_type: str, d: Draft) -> None:
    m, k, n, batch = d.extent(), d.extent(), d.extent(), d.shape(d.number(0, 2))
    first, second = d.number(0, 1), d.number(0, 1)
    a = _floats(d, *batch, *((k, m) if first else (m, k)))
    b = _floats(d, *batch, *((n, k) if second else (k, n)))
    _add(d, op_type, [a, b], how=FAST, transA=first, transB=second, alpha=d.pick((1.0, 0.5)))


def _fused_gemm(d: Draft) -> None:
    m, k, n = d.extent(), d.extent(), d.extent()
    given = [_floats(d, m, k), _floats(d, k, n), _floats(d, n)]
    _add(d, "FusedGemm", given, how=FAST, activation=d.pick(("Relu", "Sigmoid", "Tanh", "LeakyRelu")))


_PARAMETERS = {"LeakyRelu": [0.3], "Clip": [-0.5, 0.5], "HardSigmoid": [0.3, 0.4]}


def _fused_conv(op_type: str, d: Draft) -> None:
    """Channels are last in those that begin with Nhwc."""
    channels, outputs, kernel, side = d.pick((1, 3, 8, 16)), d.pick((1, 4, 8, 16)), d.number(1, 3), d.number(4, 8)
    last, groups = op_type.startswith("Nhwc"), d.pick((1, 1, 1, channels))
    outputs *= groups if groups > 1 else 1
    pads = [d.number(0, kernel - 1) for _ in range(4)]
    space = [side + pads[place] + pads[place + 2] - kernel + 1 for place in range(2)]
    x = _floats(d, 1, *((side, side, channels) if last else (channels, side, side)))
    depth = channels // groups
    weight = _floats(d, outputs, *((kernel, kernel, depth) if op_type == "NhwcConv" else (depth, kernel, kernel)))
    bias = _floats(d, outputs) if d.chance(0.7) else None
    some: dict[str, Any] = {"pads": pads, "group": groups, "kernel_shape": [kernel, kernel]}
    given = [x, weight, bias]
    if "Fused" in op_type:
        activation = d.pick(("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"))
        some["activation"] = activation
        if activation in _PARAMETERS:
            some["activation_params"] = _PARAMETERS[activation]
        if d.chance(0.3):
            given.append(_floats(d, 1, *((*space, outputs) if last else (outputs, *space))))
    _add(d, op_type, given, how=FAST, elsewhere=last, **some)


def _scale(d: Draft, *shape: int) -> Value:
    return d.fresh("float32", shape, 0.01, 0.05, constant=True)


def _dynamic_matmul(op_type: str, d: Draft) -> None:
    m, k, n = d.extent(), d.extent(), d.extent()
    kind = d.pick(BYTES)
    weight = d.fresh(kind, (k, n), -100, 100, constant=d.chance(0.8))
    columns = (n,) if d.chance(0.4) else ()
    scale = _scale(d, *columns)
    point = d.fresh(kind, columns, -3, 3, constant=True) if d.chance(0.5) else None
    bias = [_floats(d, n)] if d.chance(0.4) else []
    if op_type == "DynamicQuantizeMatMul":
        x = d.take(("float32",), ranks=(2, 3), exact=True) if d.chance(0.3) else d.fresh("float32", (m, k))
        if x.shape[-1] != k:
            x = d.fresh("float32", (m, k))
        _add(d, op_type, [d.known(x.array, False, fixed=True), weight, scale, point, *bias], how=FAST)
        return
    x = d.fresh("uint8", (m, k), 0, 255, constant=False)
    x_point = d.fresh("uint8", (), 100, 140, constant=True)
    _add(d, op_type, [x, weight, _scale(d), scale, x_point, point, *bias], how=FAST)


def _few_bits(d: Draft) -> None:
    bits, block, depth, columns = d.pick((2, 4, 4, 8)), d.pick((16, 32)), d.number(1, 70), d.number(1, 33)
    if d.chance(0.4):  # of extents that fill vectors
        block, depth, columns = (
            d.pick((16, 32, 64, 128)),
            d.pick((64, 128, 192, 256, 320)),
            d.pick((32, 48, 64, 96, 200)),
        )
    blocks = -(-depth // block)
    stored = d.known(d.rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8))
    scale = d.fresh("float32", (columns * blocks,), 0.01, 0.1, constant=True)
    point = None
    if d.chance(0.2) and bits == 4:  # onnxruntime has none of others
        point = d.fresh("float32", (columns * blocks,), 0, 15, constant=True)
    elif d.chance(0.5):
        point = d.known(d.rng.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8))
    bias = [None, _floats(d, columns)] if d.chance(0.4) else []
    x = _floats(d, *d.shape(d.number(0, 1)), d.number(1, 9), depth)
    given = [x, stored, scale, point, *bias]
    _add(d, "MatMulNBits", given, how=FAST, K=depth, N=columns, bits=bits, block_size=block)


def _quantized_gemm(d: Draft) -> None:
    m, k, n = d.extent(), d.extent(), d.extent()
    kind, transposed = d.pick(BYTES), d.number(0, 1)
    x = d.fresh(kind, (m, k), -128, 127, constant=False)
    weight = d.fresh("int8", (n, k) if transposed else (k, n), -100, 100, constant=True)
    columns = (n,) if d.chance(0.4) else ()
    bias = d.fresh("int32", (n,), -2000, 2000, constant=True) if d.chance(0.5) else None
    given = [x, *_point(d, kind), weight, _scale(d, *columns), d.known(np.zeros(columns, np.int8)), bias]
    _add(d, "QGemm", [*given, *_point(d, kind, 0.5)], how=STEPS, transB=transposed, alpha=d.pick((1.0, 0.5)))


# --- quantised elements ---


def _point(d: Draft, kind: str, scale: float = 1.0) -> list[Value]:
    """A scale and a zero point."""
    number = np.array(scale * d.rng.uniform(0.01, 0.05), np.float32)
    return [d.known(number), d.fresh(kind, (), -5, 9, constant=True)]


def _bytes(d: Draft, kind: str, *shape: int) -> Value:
    return d.fresh(kind, shape or d.shape(low=1, high=4), -128, 127 if kind == "int8" else 255, constant=False)


def _quantized_pair(op_type: str, d: Draft) -> None:
    kind = d.pick(BYTES)
    x = _bytes(d, kind)
    y = _bytes(d, kind, *x.shape) if d.chance(0.6) else d.fresh(kind, x.shape[-1:], -100, 100)
    _add(d, op_type, [x, *_point(d, kind), y, *_point(d, kind), *_point(d, kind, 2)], how=STEPS, slack=1)


def _quantized_function(op_type: str, d: Draft) -> None:
    kind = d.pick(BYTES)
    some: dict[str, Any] = {"alpha": 0.1} if op_type == "QLinearLeakyRelu" else {}
    x = _bytes(d, kind)
    if op_type == "QLinearSoftmax":
        some = {"axis": -1, "opset": 13}
        target = [d.known(np.array(1 / 256, np.float32)), d.known(np.array(0 if kind == "uint8" else -128, kind))]
    else:
        target = _point(d, kind)
    _add(d, op_type, [x, *_point(d, kind), *target], how=STEPS, slack=1, **some)


def _quantized_pool(op_type: str, d: Draft) -> None:
    last, side = d.number(0, 1), d.number(1, 4)
    counts = d.number(1, 4), d.number(4, 7), d.number(4, 7)
    kind = d.pick(BYTES) if op_type == "QLinearGlobalAveragePool" else "uint8"
    x = _bytes(d, kind, 1, *((*counts[1:], counts[0]) if last else counts))
    given = [x, *_point(d, kind), *_point(d, kind)]
    if op_type == "QLinearGlobalAveragePool":
        _add(d, op_type, given, how=STEPS, slack=1, channels_last=last)
    else:
        some = {"kernel_shape": [side, side], "strides": [d.number(1, 2)] * 2, "channels_last": last}
        _add(d, op_type, given, how=STEPS, slack=1, **some)


def _quantized_concat(d: Draft) -> None:
    kind = d.pick(BYTES)
    x = _bytes(d, kind)
    same = _point(d, kind)
    parts: list[Value] = [x, *same]
    for _ in range(d.number(0, 2)):
        parts += [_bytes(d, kind, *x.shape), *(same if d.chance(0.5) else _point(d, kind))]
    _add(d, "QLinearConcat", [*same, *parts], how=STEPS, slack=1, axis=d.number(0, x.rank - 1))


def _quantize(op_type: str, d: Draft) -> None:
    kind = d.pick((*BYTES, "uint16", "int16"))
    number, point = _point(d, kind, 10)
    if op_type == "QuantizeLinear":
        _add(d, op_type, [d.take(("float32",), exact=True), number, point], how=STEPS)
    else:
        x = d.fresh(kind, d.shape(), 0, 100, constant=False)
        _add(d, op_type, [x, number, point])


def _quantized_lstm(d: Draft) -> None:
    """onnxruntime rounds inputs and states, too: it is near."""
    directions, steps, batch, size, units = (
        d.number(1, 2),
        d.number(1, 3),
        d.number(1, 2),
        d.number(1, 5),
        d.number(1, 8),
    )
    weights: list[Value] = []
    scales: list[Value] = []
    for rows in (size, units):
        weights.append(d.fresh("int8", (directions, rows, 4 * units), -127, 127, constant=True))
        scales += [
            d.fresh("float32", (directions,), 0.001, 0.002, constant=True),
            d.known(np.zeros(directions, np.int8)),
        ]
    given = [
        _floats(d, steps, batch, size),
        *weights,
        _floats(d, directions, 8 * units),
        None,
        None,
        None,
        None,
        *scales,
    ]
    direction = "bidirectional" if directions == 2 else "forward"
    _add(d, "DynamicQuantizeLSTM", given, 3, elsewhere=True, hidden_size=units, direction=direction)


# --- attention ---


def _attention(d: Draft) -> None:
    batch, steps, heads, width = d.number(1, 2), d.number(1, 5), d.number(1, 3), d.pick((1, 2, 4, 8))
    hidden = heads * width
    size = d.number(1, 9)
    given: list[Value | None] = [_floats(d, batch, steps, size), _floats(d, size, 3 * hidden), _floats(d, 3 * hidden)]
    mask = d.pick((None, None, "lengths", "keys", "pairs"))
    some: dict[str, Any] = {}
    if mask == "lengths":
        given.append(d.fresh("int32", (batch,), 1, steps))
    elif mask == "keys":
        keys = d.array("int32", (batch, steps), 0, 1)
        keys[:, 0] = 1
        given.append(d.known(keys, False))
    elif mask == "pairs":
        pairs = d.array("int32", (batch, steps, steps), 0, 1) | np.eye(steps, dtype=np.int32)
        given.append(d.known(pairs, False))
    elif d.chance(0.4):
        past = _floats(d, 2, batch, heads, d.number(1, 4), width)
        _add(d, "Attention", [*given, None, past], 2, how=FAST, num_heads=heads, unidirectional=d.number(0, 1))
        return
    else:
        some["unidirectional"] = d.number(0, 1)
    if d.chance(0.3):
        some["scale"] = 0.4
    _add(d, "Attention", given, how=FAST, num_heads=heads, **some)


def _quantized_attention(d: Draft) -> None:
    batch, steps, heads, width = d.number(1, 2), d.number(1, 5), d.number(1, 3), d.pick((1, 2, 4, 8))
    size, columns = d.number(1, 40), 3 * heads * width
    kind = d.pick(("int8", "uint8"))
    # of seven bits, of which sums do not saturate
    weight = d.fresh(
        kind, (size, columns), 0 if kind == "uint8" else -63, 127 if kind == "uint8" else 63, constant=True
    )
    scale = d.fresh("float32", (columns,), 0.01, 0.03, constant=True) if d.chance(0.5) else _scale(d)
    point = d.fresh("uint8", (), 100, 140, constant=True)
    own = d.fresh(kind, scale.shape, 0, 9, constant=True)
    x = d.fresh("uint8", (batch, steps, size), 0, 255, constant=False)
    given = [x, weight, _floats(d, columns), _scale(d), scale, None, point, own]
    _add(d, "QAttention", given, how=FAST, num_heads=heads, unidirectional=d.number(0, 1))


def _heads(d: Draft) -> None:
    batch, steps, keys, heads, width = d.number(1, 2), d.number(1, 5), d.number(1, 6), d.number(1, 3), d.pick((1, 4, 8))
    hidden = heads * width
    q, k, v = (_floats(d, batch, rows, hidden) for rows in (steps, keys, keys))
    given: list[Value | None] = [q, k, v]
    some: dict[str, Any] = {"num_heads": heads}
    given.append(_floats(d, 3 * hidden) if d.chance(0.4) else None)
    given.append(d.fresh("int32", (batch,), 1, keys) if d.chance(0.3) else None)
    if given[4] is None and d.chance(0.4):
        given.append(_floats(d, d.pick((1, batch)), heads, steps, keys))
    if d.chance(0.3):
        some["scale"] = 0.4
    _add(d, "MultiHeadAttention", given, how=FAST, **some)


def _grouped(d: Draft) -> None:
    groups, width = d.number(1, 3), d.pick((8, 16))
    heads = groups * d.number(1, 2)
    batch, steps, room = d.number(1, 2), d.pick((1, 1, 3)), d.number(1, 6)
    batch = batch if steps == 1 else 1
    new = [_floats(d, batch, steps, count * width) for count in (heads, groups, groups)]
    past = [d.fresh("float32", (batch, groups, room, width), -1, 1, constant=False) for _ in range(2)]
    total = room + steps
    lengths = d.known(np.full(batch, total - 1, np.int32), False)
    given = [*new, *past, lengths, d.known(np.array(total, np.int32))]
    some: dict[str, Any] = {"num_heads": heads, "kv_num_heads": groups}
    if d.chance(0.5):
        some |= {"do_rotary": 1, "rotary_interleaved": d.number(0, 1)}
        given += [_floats(d, total + 4, width // 2) for _ in range(2)]
    if d.chance(0.2) and steps == 1:
        some["local_window_size"] = d.number(1, total)
    if d.chance(0.2):
        some["softcap"] = 2.0
    _add(d, "GroupQueryAttention", given, 3, how=FAST, **some)


# --- state that goes on, of a later version than onnxruntime has ---


def _causal_conv(d: Draft) -> None:
    d.later(27)
    batch, channels, steps, taps = d.number(1, 2), d.number(1, 17), d.number(1, 6), d.number(1, 4)
    given: list[Value | None] = [_floats(d, batch, channels, steps), _floats(d, channels, 1, taps)]
    given.append(_floats(d, channels) if d.chance(0.5) else None)
    if taps > 1 and d.chance(0.6):
        given.append(d.fresh("float32", (batch, channels, taps - 1), constant=False))
    some = {"activation": d.pick(("none", "silu", "swish"))} if d.chance(0.6) else {}
    d.add("CausalConvWithState", given, 2, how=FAST, elsewhere=True, **some)


def _linear_attention(d: Draft) -> None:
    d.later(27)
    batch, steps, heads, keys, values = (
        d.number(1, 2),
        d.number(1, 4),
        d.number(1, 3),
        d.pick((1, 4, 8)),
        d.pick((2, 4, 8)),
    )
    rule = d.pick(("linear", "gated", "delta", "gated_delta"))
    given: list[Value | None] = [_floats(d, batch, steps, heads * each) for each in (keys, keys, values)]
    given.append(d.fresh("float32", (batch, heads, keys, values), -1, 1, constant=False) if d.chance(0.6) else None)
    given.append(_floats(d, batch, steps, heads, low=-1, high=-0.1) if "gated" in rule else None)
    given.append(_floats(d, batch, steps, heads, low=0.1, high=0.9) if "delta" in rule else None)
    some = {"q_num_heads": heads, "kv_num_heads": heads, "update_rule": rule}
    d.add("LinearAttention", given, 2, how=SMOOTH, elsewhere=True, **some)


QUANTIZED = {
    **{name: partial(_quantized_pair, name) for name in ("QLinearAdd", "QLinearMul")},
    **{name: partial(_quantized_function, name) for name in ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")},
    **{name: partial(_quantized_pool, name) for name in ("QLinearAveragePool", "QLinearGlobalAveragePool")},
    "QLinearConcat": _quantized_concat,
    **{name: partial(_quantize, name) for name in ("QuantizeLinear", "DequantizeLinear")},
}
RESTATED = ("ExpandDims", "GatherND", "GridSample", "Pad", "Range", "Trilu")
DRAWERS: dict[str, Drawer] = {
    f"{MICROSOFT}.{name}": drawer
    for name, drawer in {
        **{name: partial(_function, name) for name in ("Gelu", "BiasGelu", "FastGelu", "QuickGelu")},
        "SimplifiedLayerNormalization": partial(_simplified_norm, MICROSOFT),
        **{name: partial(_skip_norm, name) for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")},
        "EmbedLayerNormalization": _embedding,
        **{name: partial(_fused_matmul, name) for name in ("FusedMatMul", "TransposeMatMul")},
        "FusedGemm": _fused_gemm,
        "CDist": _distances,
        "Inverse": _inverse,
        "QAttention": _quantized_attention,
        "QEmbedLayerNormalization": _quantized_embedding,
        **{name: partial(_restated, name) for name in RESTATED},
        **{name: partial(_fused_conv, name) for name in ("FusedConv", "NhwcConv", "NhwcFusedConv")},
        **{name: partial(_dynamic_matmul, name) for name in ("DynamicQuantizeMatMul", "MatMulIntegerToFloat")},
        "MatMulNBits": _few_bits,
        "QGemm": _quantized_gemm,
        "DynamicQuantizeLSTM": _quantized_lstm,
        "Attention": _attention,
        "MultiHeadAttention": _heads,
        "GroupQueryAttention": _grouped,
        **QUANTIZED,
    }.items()
} | {
    "SimplifiedLayerNormalization": partial(_simplified_norm, ""),
    "CausalConvWithState": _causal_conv,
    "LinearAttention": _linear_attention,
}
"""Operator -> what draws it."""
