"""Drawing operators that reduce products or windows: matrices, convolutions, pooling, resampling, integers too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fuzz.drafts import FAST, SMOOTH, STEPS, Draft, Drawer, Value
from fuzz.oracle import Refused

FLOAT = ("float32", "float32", "float32", "float32", "float64", "float16", "bfloat16")
BYTES = ("int8", "uint8")


def _weight(d: Draft, dtype: str, shape: tuple[int, ...], low: float = -1, high: float = 1) -> Value:
    return d.fresh(dtype, shape, low, high, constant=d.chance(0.8))


def _long(d: Draft) -> int:
    """An extent of a matrix."""
    return d.extent() if d.chance(0.7) else d.pick((1, 24, 48, 63, 64, 65, 70))


def _matmul(d: Draft) -> None:
    if d.opset >= 21 and d.chance(0.1):  # of extents that fill vectors
        x = d.fresh("float32", (d.pick((1, 1, 4, 9)), d.pick((64, 128, 192, 256))), constant=False)
        d.add("MatMul", [x, _few_bits(d, x.shape[1], d.pick((48, 64, 80)))], how=FAST)
        return
    x = d.take(FLOAT, ranks=(1, 4)) if d.chance(0.6) else d.fresh(d.pick(FLOAT), (_long(d), _long(d)))
    k, n = x.shape[-1], _long(d)
    if x.dtype == "float32" and d.opset >= 21 and d.chance(0.2):
        d.add("MatMul", [x, _few_bits(d, k, n)], how=FAST)
        return
    lead = tuple(e if d.chance(0.7) else 1 for e in x.shape[:-2]) if d.chance(0.5) else ()
    shape = (k,) if d.chance(0.1) else (*lead, k, n)
    y = _weight(d, x.dtype, shape)
    d.add("MatMul", [x, y], how=FAST)


def _few_bits(d: Draft, *shape: int) -> Value:
    """A matrix of constants of 4 bits, with a scale for each column or for blocks along either axis."""
    dtype, axis, block = d.pick(("int4", "uint4")), d.number(0, 1), d.pick((0, 8, 16, 32))
    if block:
        scales = tuple(-(-extent // block) if each == axis else extent for each, extent in enumerate(shape))
    else:
        axis, scales = 1, (shape[1],)
    low = 0 if dtype == "uint4" else -8
    given = [d.fresh(dtype, shape, low, low + 15, constant=True), d.fresh("float32", scales, 0.01, 0.2, constant=True)]
    if d.chance(0.6):
        given.append(d.fresh(dtype, scales, low, low + 15, constant=True))
    return d.add("DequantizeLinear", given, axis=axis, block_size=block)[0]


def _gemm(d: Draft) -> None:
    x = (
        d.take(("float32", "float32", "float64"), ranks=(2, 2))
        if d.chance(0.5)
        else d.fresh("float32", (_long(d), _long(d)))
    )
    trans_a, trans_b = d.number(0, 1), d.number(0, 1)
    m, k = (x.shape[1], x.shape[0]) if trans_a else x.shape
    n = _long(d)
    w = _weight(d, x.dtype, (n, k) if trans_b else (k, n))
    c = [_weight(d, x.dtype, d.pick(((n,), (m, n), (1, n), (m, 1), (1,), ())))] if d.chance(0.7) else []
    some = {"alpha": 0.5, "beta": d.pick((0.0, 2.0))} if d.chance(0.3) else {}
    d.add("Gemm", [x, w, *c], how=FAST, transA=trans_a, transB=trans_b, **some)


def _integer_matmul(op_type: str, d: Draft) -> None:
    a, b = d.pick(BYTES), d.pick(BYTES)
    m, k, n = _long(d), _long(d), _long(d)
    x = d.fresh(a, (m, k), -128, 127, constant=False)
    w = d.fresh(b, (k, n), -128, 127, constant=d.chance(0.8))
    points = [d.fresh(t, (), -5, 5, constant=d.chance(0.8)) for t in (a, b)]
    if op_type == "MatMulInteger":
        if d.chance(0.3):
            points[1] = d.fresh(b, (n,), -5, 5, constant=True)
        d.add(op_type, [x, w, *(points if d.chance(0.8) else [])], how=STEPS)
        return
    scales = [d.fresh("float32", (), 0.01, 0.1, constant=True) for _ in range(2)]
    result = d.pick(BYTES) if d.chance(0.2) else a
    out = d.fresh("float32", (), 0.1, 2, constant=True), d.fresh(result, (), -5, 5, constant=True)
    d.add(op_type, [x, scales[0], points[0], w, scales[1], points[1], *out], how=STEPS)


def _window(
    d: Draft, x_space: tuple[int, ...], *, pads_below_kernel: bool = False
) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A kernel's extents and the attributes of its window, that fit into this space."""
    kernel = tuple(d.number(1, min(5, n)) for n in x_space)
    attributes: dict[str, Any] = {}
    if d.chance(0.6):
        attributes["strides"] = [d.number(1, 3) for _ in kernel]
    if d.chance(0.2):
        attributes["dilations"] = [
            d.number(1, 2) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, x_space, strict=True)
        ]
    if d.chance(0.25):
        attributes["auto_pad"] = d.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes.pop("dilations", None)
    elif d.chance(0.7):
        attributes["pads"] = [d.number(0, min(k - 1, 2) if pads_below_kernel else 2) for k in (*kernel, *kernel)]
    return kernel, attributes


def _image(d: Draft, dtypes: tuple[str, ...] = FLOAT, channels: int | None = None) -> Value:
    """A batch of images of one to three axes, one there is or a new one."""
    found = d.find(lambda v: v.dtype in dtypes and v.rank in (3, 4) and v.shape[1] <= 64) if channels is None else None
    if found is not None and d.chance(0.7):
        return found
    space = tuple(d.number(1, 14) for _ in range(d.pick((1, 2, 2, 2, 2, 2))))
    count = channels or d.pick((1, 2, 3, 4, 6, 8, 16, 16, 17, 32))
    return d.fresh(d.pick(dtypes), (d.number(1, 2), count, *space), constant=False)


def _groups(d: Draft, channels: int) -> int:
    return d.pick([1, 1, 1, channels, *[g for g in range(1, channels + 1) if channels % g == 0]])


def _conv(d: Draft) -> None:
    x = _image(d)
    channels = x.shape[1]
    groups = _groups(d, channels)
    outputs = groups * d.pick((1, 1, 2, 3, 4)) if groups > 1 else d.pick((1, 3, 8, 16, 16, 24, 32))
    kernel, attributes = _window(d, x.shape[2:])
    if d.chance(0.4) and len(kernel) == 2 and min(x.shape[2:]) >= 3:
        kernel, attributes = (3, 3), {"pads": [1, 1, 1, 1]} if d.chance(0.7) else {}
    w = _weight(d, x.dtype, (outputs, channels // groups, *kernel))
    bias = [_weight(d, x.dtype, (outputs,))] if d.chance(0.6) else []
    (y,) = d.add("Conv", [x, w, *bias], how=FAST, group=groups, **attributes)
    if d.chance(0.4):  # what fuses
        d.add(d.pick(("Relu", "Sigmoid", "HardSwish", "Tanh")) if d.opset >= 14 else "Relu", [y])
    elif d.chance(0.3):
        rows = [d.fresh(x.dtype, (outputs,), 0.5, 2, constant=True) for _ in range(4)]
        d.add("BatchNormalization", [y, *rows])


def _conv_transpose(d: Draft) -> None:
    x = _image(d, ("float32", "float32", "float64"))
    channels = x.shape[1]
    groups = d.pick([g for g in (1, 1, 2, channels) if channels % g == 0])
    kernel = tuple(d.number(1, 4) for _ in x.shape[2:])
    attributes: dict[str, Any] = {"strides": [d.number(1, 3) for _ in kernel]} if d.chance(0.7) else {}
    if d.chance(0.5):
        attributes["pads"] = [d.number(0, max(k - 1, 0) // 2) for k in (*kernel, *kernel)]
    if "strides" in attributes and d.chance(0.3):
        attributes["output_padding"] = [d.number(0, s - 1) for s in attributes["strides"]]
    w = _weight(d, x.dtype, (channels, d.number(1, 5), *kernel))
    bias = [_weight(d, x.dtype, (w.shape[1] * groups,))] if d.chance(0.5) else []
    d.add("ConvTranspose", [x, w, *bias], how=FAST, group=groups, **attributes)


def _integer_conv(op_type: str, d: Draft) -> None:
    kind = d.pick(BYTES)
    x = _image(d, (kind,), channels=d.pick((1, 2, 3, 4, 8, 16)))
    channels = x.shape[1]
    if op_type == "ConvInteger":
        kind_w, groups = "uint8", 1
    else:
        kind_w, groups = (kind if kind == "int8" else d.pick(BYTES)), _groups(d, channels)
    outputs = groups * d.pick((1, 2)) if groups > 1 else d.pick((1, 3, 8, 16))
    kernel, attributes = _window(d, x.shape[2:])
    w = d.fresh(kind_w, (outputs, channels // groups, *kernel), -128, 127, constant=True)
    point = d.fresh(kind, (), -9, 9, constant=op_type != "ConvInteger" or d.chance(0.5))
    if op_type == "ConvInteger":
        d.add(op_type, [x, w, point], how=STEPS, group=groups, **attributes)
        return
    zero = d.known(np.zeros((), kind_w) if kind_w == "int8" else np.array(128, kind_w))
    scales = [d.fresh("float32", (), 0.01, 0.1, constant=True) for _ in range(2)]
    if d.chance(0.5):
        scales[1] = d.fresh("float32", (outputs,), 0.01, 0.1, constant=True)
        zero = d.known(np.broadcast_to(zero.array, (outputs,)).copy())
    out = d.fresh("float32", (), 0.1, 2, constant=True), d.fresh(kind, (), -9, 9, constant=True)
    bias = [d.fresh("int32", (outputs,), -500, 500, constant=True)] if d.chance(0.6) else []
    d.add(op_type, [x, scales[0], point, w, scales[1], zero, *out, *bias], how=STEPS, group=groups, **attributes)


def _pool(op_type: str, d: Draft) -> None:
    x = _image(d, ("float32", "float32", "float64", "float16") if op_type != "LpPool" else ("float32",))
    kernel, attributes = _window(d, x.shape[2:], pads_below_kernel=True)
    if op_type == "AveragePool":
        attributes["count_include_pad"] = d.number(0, 1)
    if op_type == "LpPool":
        attributes["p"] = d.number(1, 3)
    if (d.opset < 19 and op_type == "AveragePool") or (d.opset < 18 and op_type == "LpPool"):
        attributes.pop("dilations", None)
    if d.chance(0.2) and "auto_pad" not in attributes and op_type != "LpPool":
        attributes["ceil_mode"] = 1
    outputs = 2 if op_type == "MaxPool" and d.chance(0.1) and not x.error else 1
    d.add(op_type, [x], outputs, how=STEPS if outputs == 2 else SMOOTH, kernel_shape=kernel, **attributes)


def _global(op_type: str, d: Draft) -> None:
    d.add(op_type, [_image(d, ("float32", "float32", "float64"))])


def _lrn(d: Draft) -> None:
    d.add("LRN", [_image(d, ("float32",))], size=d.pick((1, 3, 5)), alpha=0.1, bias=1.5)


EQUATIONS = (
    *("ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "i,i->", "ij->ji", "ij->j", "ii->i", "bij,jk->bik", "i,j->ij"),
    *("bhij,bhkj->bhik", "ij,j->i", "ijk,ikl->ijl"),
)


def _einsum(d: Draft) -> None:
    equation = d.pick(EQUATIONS)
    sizes = {letter: d.number(1, 7) for letter in "bhijkl"}
    terms = equation.partition("->")[0].split(",")
    operands = [d.fresh(d.pick(("float32",)), tuple(sizes[letter] for letter in term)) for term in terms]
    d.add("Einsum", operands, how=FAST, equation=equation)


def _attention(d: Draft) -> None:
    if d.opset < 23:
        raise Refused("a later operator")
    batch, heads, rows, keys, width = (
        d.number(1, 2),
        d.number(1, 3),
        d.number(1, 6),
        d.number(1, 9),
        d.pick((2, 4, 8)),
    )
    groups = d.pick([n for n in (1, heads) if heads % n == 0])
    q = d.fresh("float32", (batch, heads, rows, width), -1, 1)
    k, v = (d.fresh("float32", (batch, groups, keys, width), -1, 1) for _ in range(2))
    mask = [d.fresh("float32", (rows, keys), -1, 1)] if d.chance(0.4) else []
    some: dict[str, Any] = {"is_causal": 1} if d.chance(0.3) and not mask else {}
    if d.chance(0.3):
        some["scale"] = 0.3
    d.add("Attention", [q, k, v, *mask], how=FAST, **some)


def _resize(d: Draft) -> None:
    x = d.fresh(
        d.pick(("float32", "float32", "float64")), (1, d.number(1, 3), d.number(2, 7), d.number(2, 7)), constant=False
    )
    mode = d.pick(("nearest", "linear", "cubic"))
    some: dict[str, Any] = {"mode": mode}
    some["coordinate_transformation_mode"] = d.pick(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    if mode == "nearest":
        some["nearest_mode"] = d.pick(("round_prefer_floor", "floor", "ceil", "round_prefer_ceil"))
    elif d.opset >= 18 and d.chance(0.3):
        some["antialias"] = 1
    if mode == "cubic" and d.chance(0.5):
        some |= {"cubic_coeff_a": d.pick((-0.75, -0.5)), "exclude_outside": d.number(0, 1)}
    slack = 1e-5 if x.dtype == "float64" else 0.0  # places are of single precision, as onnxruntime's
    # of corners onnx.reference, the judge of f64, takes lengths that are no integers, and onnxruntime the results' own
    is_whole = x.dtype == "float64" and some["coordinate_transformation_mode"] == "align_corners"
    if d.chance(0.5) or is_whole:
        sizes = [*x.shape[:2], d.number(1, 14), d.number(1, 14)]
        d.add("Resize", [x, None, None, d.indices(*sizes)], slack=slack, **some)
    else:
        scales = np.array([1, 1, d.pick((0.5, 1, 2, 1.5)), d.pick((0.5, 1, 2, 3))], np.float32)
        d.add("Resize", [x, None, d.known(scales, fixed=True)], slack=slack, **some)


def _grid(d: Draft) -> None:
    if d.opset < 20:
        raise Refused("a later operator")
    size = (d.number(1, 2), d.number(1, 3), d.number(2, 5), d.number(2, 5))
    d.add("AffineGrid", [d.fresh("float32", (size[0], 2, 3)), d.indices(*size)], align_corners=d.number(0, 1))


def _recurrent(op_type: str, d: Draft) -> None:
    gates, functions = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[op_type]
    direction = d.pick(("forward", "reverse", "bidirectional"))
    count, steps, batch, units = 1 + (direction == "bidirectional"), d.number(1, 4), d.number(1, 4), d.extent()
    x = d.fresh("float32", (steps, batch, d.extent()), -1, 1)
    weights = [_weight(d, "float32", (count, gates * units, extent)) for extent in (x.shape[2], units)]
    inputs = [x, *weights, _weight(d, "float32", (count, 2 * gates * units)) if d.chance(0.6) else None]
    inputs.append(d.fresh("int32", (batch,), 1, steps) if d.chance(0.3) else None)
    inputs += [
        d.fresh("float32", (count, batch, units), -1, 1) if d.chance(0.5) else None
        for _ in range(2 if op_type == "LSTM" else 1)
    ]
    some: dict[str, Any] = {"hidden_size": units, "direction": direction}
    if op_type == "LSTM" and d.chance(0.3):
        inputs.append(d.fresh("float32", (count, 3 * units), -1, 1))
    if d.chance(0.3):
        some["clip"] = 0.75
    if d.chance(0.3):
        names = ("Tanh", "Sigmoid", "Softsign", "HardSigmoid")
        some["activations"] = [d.pick(names) for _ in range(count * functions)]
    if op_type == "GRU":
        some["linear_before_reset"] = d.number(0, 1)
    d.add(op_type, inputs, outputs=3 if op_type == "LSTM" else 2, how=FAST, **some)


DRAWERS: dict[str, Drawer] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Einsum": _einsum,
    **{name: partial(_integer_matmul, name) for name in ("MatMulInteger", "QLinearMatMul")},
    **{name: partial(_integer_conv, name) for name in ("ConvInteger", "QLinearConv")},
    **{name: partial(_pool, name) for name in ("MaxPool", "AveragePool", "LpPool")},
    **{name: partial(_global, name) for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    "LRN": _lrn,
    "Attention": _attention,
    **{name: partial(_recurrent, name) for name in ("LSTM", "GRU", "RNN")},
    "Resize": _resize,
    "AffineGrid": _grid,
}
"""Operator -> what draws it."""
