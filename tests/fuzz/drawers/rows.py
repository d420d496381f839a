"""Drawing operators over whole rows: reductions, normalisations, sorting, running sums, losses, windows of signals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES
from fuzz.drafts import FAST, FLOATS, MOVES, SMOOTH, STEPS, Draft, Drawer, Value
from fuzz.oracle import Refused

WIDE = ("float32", "float32", "float32", "float64")
POSITIVE = ("LogSum", "L2", "Prod")
LONG = 64
"""Elements of which a sum shows in what order they were added."""
REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")


def _reduce(kind: str, d: Draft) -> None:
    low, high = (0.5, 1.5) if kind in POSITIVE else (-3, 3)
    integers = ("int32", "int64") if kind in ("Sum", "Max", "Min") else ()
    x = d.take((*WIDE, *integers), low, high, ranks=(0, 5), bounded=kind in POSITIVE)
    some: dict[str, Any] = {"keepdims": d.number(0, 1)}
    chosen = [int(a) for a in d.rng.choice(x.rank, d.number(1, x.rank), replace=False)] if x.rank else []
    axes = [axis - x.rank * d.number(0, 1) for axis in chosen]
    how = STEPS if x.dtype in integers else FAST if x.array.size > LONG else SMOOTH
    if not axes or d.chance(0.15):
        d.add(f"Reduce{kind}", [x], how=how, **some)
    elif d.opset >= (13 if kind == "Sum" else 18):
        d.add(f"Reduce{kind}", [x, d.indices(*axes)], how=how, **some)
    else:
        d.add(f"Reduce{kind}", [x], how=how, axes=axes, **some)


def _arg(op_type: str, d: Draft) -> None:
    x = d.take((*FLOATS, "int32", "int8"), ranks=(1, 4))
    d.add(op_type, [x], axis=d.axis(x), keepdims=d.number(0, 1), select_last_index=d.number(0, 1))


def _softmax(op_type: str, d: Draft) -> None:
    x = d.take(WIDE, ranks=(1, 4), exact=op_type == "Hardmax")
    d.add(op_type, [x], how=STEPS if op_type == "Hardmax" else SMOOTH, axis=d.axis(x))


def _rows(d: Draft, value: Value, count: int, shape: tuple[int, ...], low: float = 0.5) -> list[Value]:
    return [d.fresh(value.dtype, shape, low, 2, constant=d.chance(0.8)) for _ in range(count)]


def _batch_norm(d: Draft) -> None:
    x = d.take(WIDE, ranks=(2, 5))
    if d.opset < 14 and x.rank > 4:
        raise Refused("an old form")
    d.add("BatchNormalization", [x, *_rows(d, x, 4, (x.shape[1],))], epsilon=1e-3)


def _layer_norm(d: Draft) -> None:
    if d.opset < 17:
        raise Refused("a later operator")
    x = d.take(("float32",), ranks=(1, 4))
    axis = d.axis(x)
    rows = _rows(d, x, d.number(1, 2), x.shape[axis:])
    d.add("LayerNormalization", [x, *rows], axis=axis, epsilon=0.01)


def _rms_norm(d: Draft) -> None:
    if d.opset < 23:
        raise Refused("a later operator")
    x = d.take(("float32",), ranks=(1, 4))
    axis = d.axis(x)
    d.add("RMSNormalization", [x, *_rows(d, x, 1, x.shape[axis:])], axis=axis, epsilon=0.01)


def _instance_norm(d: Draft) -> None:
    x = d.take(("float32",), ranks=(3, 4))
    d.add("InstanceNormalization", [x, *_rows(d, x, 2, (x.shape[1],))], epsilon=0.01)


def _group_norm(d: Draft) -> None:
    if d.opset < 21:
        raise Refused("a later operator")
    groups = d.number(1, 3)
    x = d.fresh("float32", (d.number(1, 2), groups * d.number(1, 4), *d.shape(low=1, high=2)))
    d.add("GroupNormalization", [x, *_rows(d, x, 2, (x.shape[1],))], num_groups=groups, epsilon=0.01)


def _lp_norm(d: Draft) -> None:
    x = d.take(WIDE, 0.5, 2, ranks=(1, 4), bounded=True)
    d.add("LpNormalization", [x], axis=d.axis(x), p=d.number(1, 2))


def _mean_variance(d: Draft) -> None:
    x = d.take(("float32",), ranks=(2, 4))
    axes = sorted(int(a) for a in d.rng.choice(x.rank, d.number(1, x.rank), replace=False))
    d.add("MeanVarianceNormalization", [x], axes=axes)


def _between_reshapes(d: Draft) -> None:
    """A convolution's result, which is in blocks of channels on vectors, normalised in another shape, as models do with
    groups of channels; then something that may lie in blocks again."""
    batch, channels = d.pick((1, 2, 5, 16)), d.pick((1, 1, 4, 16, 32))
    space = d.pick(((1,), (1,), (1, 1), (6,), (2, 3)))
    x = d.fresh("float32", (batch, d.number(1, 3), *space), constant=False)
    weight = d.fresh("float32", (channels, x.shape[1], *[1] * len(space)), -1, 1, constant=True)
    (y,) = d.add("Conv", [x, weight], how=FAST)
    groups, rest = d.pick([n for n in (1, 2, 4, channels) if channels % n == 0]), int(np.prod(space))
    shapes = [(batch, groups, -1), (batch, channels, rest), (batch, groups, channels // groups, *space)]
    others = [(-1,), (-1,), (batch, -1), (batch * groups, -1)]
    (cut,) = d.add("Reshape", [y, d.indices(*d.pick(shapes if d.chance(0.5) else others))], how=MOVES)
    axis = d.axis(cut) % cut.rank
    if cut.rank > 2 and d.chance(0.4):
        (found,) = d.add("InstanceNormalization", [cut, *_rows(d, cut, 2, (cut.shape[1],))], epsilon=0.01)
    elif d.opset >= 17 and d.chance(0.6):
        more = _rows(d, cut, d.number(1, 2), cut.shape[axis:])
        (found,) = d.add("LayerNormalization", [cut, *more], axis=axis, epsilon=0.01)
    else:
        (found,) = d.add("MeanVarianceNormalization", [cut], axes=list(range(axis, cut.rank)))
    (back,) = d.add("Reshape", [found, d.indices(*y.shape)], how=MOVES)
    along = d.fresh("float32", (channels, *[1] * len(space)), 0.5, 2, constant=True)
    d.add(*d.pick((("Relu", [back]), ("Mul", [back, along]), ("Add", [back, y]))))


def _top_k(d: Draft) -> None:
    x = d.take((*WIDE, "int32", "int64"), ranks=(1, 4), exact=True)
    axis = d.axis(x)
    count = d.number(1, x.shape[axis])
    if d.opset < 10:
        d.add("TopK", [x], 2, how=STEPS, axis=axis, k=count)
        return
    k = d.known(np.array([count]))
    d.add("TopK", [x, k], 2, how=STEPS, axis=axis, **({"largest": d.number(0, 1), "sorted": 1} if d.opset > 10 else {}))


def _running(op_type: str, d: Draft) -> None:
    low, high = (0.7, 1.3) if op_type == "CumProd" else (-3, 3)
    x = d.take((*WIDE, *(("int32", "int64") if op_type == "CumSum" else ())), low, high, ranks=(1, 4), bounded=True)
    axis = d.known(np.array(d.axis(x), d.pick(("int32", "int64"))))
    d.add(op_type, [x, axis], exclusive=d.number(0, 1), reverse=d.number(0, 1))


def _loss(op_type: str, d: Draft) -> None:
    batch, classes = d.number(1, 5), d.number(2, 6)
    space = d.shape(low=0, high=1)
    x = d.fresh("float32", (batch, classes, *space))
    labels = d.fresh("int64", (batch, *space), 0, classes - 1)
    weight = [d.fresh("float32", (classes,), 0.5, 2)] if d.chance(0.4) else []
    d.add(op_type, [x, labels, *weight], reduction=d.pick(("none", "mean", "sum")))


def _signal(op_type: str, d: Draft) -> None:
    if d.opset < 17:
        raise Refused("a later operator")
    some = {"output_datatype": ONNX_TYPES[ELEMENT_TYPES["float16"]]} if d.chance(0.3) else {}
    d.add(op_type, [d.known(np.array(d.number(3, 30)))], periodic=d.number(0, 1), **some)


DRAWERS: dict[str, Drawer] = {
    **{f"Reduce{kind}": partial(_reduce, kind) for kind in REDUCTIONS},
    **{name: partial(_arg, name) for name in ("ArgMax", "ArgMin")},
    **{name: partial(_softmax, name) for name in ("Softmax", "LogSoftmax", "Hardmax")},
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "LpNormalization": _lp_norm,
    "MeanVarianceNormalization": _mean_variance,
    "Reshape beside normalisations": _between_reshapes,
    "TopK": _top_k,
    **{name: partial(_running, name) for name in ("CumSum", "CumProd")},
    **{name: partial(_loss, name) for name in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")},
    **{name: partial(_signal, name) for name in ("BlackmanWindow", "HammingWindow", "HannWindow")},
}
"""Operator -> what draws it."""
