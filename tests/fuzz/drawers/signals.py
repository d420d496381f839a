"""Drawing transforms of signals, and random numbers, which have to have their properties and be the same everywhere."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES
from fuzz.drafts import FAST, MOVES, SMOOTH, STEPS, TRAINING, Draft, Drawer, Value
from fuzz.oracle import Array, Refused


def _fourier(d: Draft) -> None:
    if d.opset < 17:
        raise Refused("a later operator")
    extents = [d.number(2, 9) for _ in range(d.number(1, 2))]
    axis = d.number(1, len(extents))
    some: dict[str, Any] = {"inverse": d.number(0, 1)}  # of doubles onnxruntime divides by a float
    dtype = "float32" if some["inverse"] else d.pick(("float32", "float64"))
    if long := d.chance(0.4):  # of floats onnxruntime is exact enough where that is a power of two
        extents[axis - 1] = d.pick((64, 128)) if dtype == "float32" else d.number(60, 150)
    x = d.fresh(dtype, (d.number(1, 3), *extents, d.number(1, 2)), constant=False)
    if x.shape[-1] == 1 and not some["inverse"] and d.chance(0.5):
        some["onesided"] = 1
    length = d.known(np.array(d.number(2, 12))) if not long and d.chance(0.4) else None
    if d.opset < 20:
        d.add("DFT", [x, *([length] if length else [])], how=FAST, axis=axis, **some)
    else:
        d.add("DFT", [x, length, d.known(np.array(axis))], how=FAST, **some)


def _short_fourier(d: Draft) -> None:
    if d.opset < 17:
        raise Refused("a later operator")
    size = 64 if d.chance(0.3) else d.number(3, 16)
    x = d.fresh("float32", (d.number(1, 2), size + d.number(0, 20), d.number(1, 2)), constant=False)
    window = d.fresh("float32", (size,), 0.1, 1, constant=d.chance(0.7)) if d.chance(0.6) else None
    one_sided = int(x.shape[-1] == 1 and d.chance(0.6))
    d.add(
        "STFT",
        [x, d.known(np.array(d.number(1, 6))), window, d.known(np.array(size))],
        how=FAST,
        onesided=one_sided,
    )


def _mel(d: Draft) -> None:
    if d.opset < 17:
        raise Refused("a later operator")
    ends = [d.known(np.array(number, np.float32), fixed=True) for number in (d.pick((0.0, 50.0)), d.pick((2e3, 4e3)))]
    counts = [d.known(np.array(number)) for number in (d.number(2, 9), d.pick((16, 32, 64)), 8000)]
    d.add("MelWeightMatrix", [*counts, *ends], how=SMOOTH)


def _expect(there: bool, what: str) -> None:
    if not there:
        raise AssertionError(what)


def _near(array: Array, mean: float, deviation: float) -> None:
    """The mean of so many numbers is where it should be, to eight deviations of it."""
    wide = array.astype(np.float64)
    far = abs(wide.mean() - mean)
    _expect(far <= 8 * deviation / wide.size**0.5 + 1e-2 * deviation, f"a mean of {wide.mean()}, not {mean}")


def _random(op_type: str, d: Draft) -> None:
    like = op_type.endswith("Like")
    shape = d.shape(low=1, high=3)
    some: dict[str, Any] = {"seed": float(d.number(0, 99))} if d.chance(0.7) else {}
    if (dtype := d.pick(("float32", "float32", "float64", "float16"))) != "float32" or not like:
        some["dtype"] = ONNX_TYPES[ELEMENT_TYPES[dtype]]
    given = [d.fresh("float32", shape)] if like else []
    some |= {} if like else {"shape": shape}
    if "Normal" in op_type:
        (y,) = d.add(op_type, given, how=SMOOTH, elsewhere=True, mean=1.0, scale=0.5, **some)
        _near(y.array, 1, 0.5)
    else:
        (y,) = d.add(op_type, given, how=SMOOTH, elsewhere=True, low=-1.0, high=3.0, **some)
        _expect(y.array.min() >= -1 and y.array.max() <= 3, f"{op_type}: out of its range")
        _near(y.array, 1, 4 / 12**0.5)
    _expect(y.dtype == dtype and y.shape == shape, f"{op_type}: {y.dtype} {y.shape}")


def _bernoulli(d: Draft) -> None:
    if d.opset < 15:
        raise Refused("a later operator")
    x = d.fresh("float32", d.shape(low=1, high=3), 0, 1)
    (y,) = d.add("Bernoulli", [x], how=STEPS, elsewhere=True, seed=float(d.number(0, 99)))
    _expect(set(np.unique(y.array)) <= {0, 1}, "Bernoulli: neither 0 nor 1")
    _near(y.array - x.array, 0, 0.5)


def _multinomial(d: Draft) -> None:
    classes = d.number(1, 6)
    x = d.fresh("float32", (d.number(1, 4), classes), -2, 2)
    wanted = d.pick(("int32", "int64"))
    size = d.number(1, 40)
    dtype = ONNX_TYPES[ELEMENT_TYPES[wanted]]
    (y,) = d.add(
        "Multinomial", [x], how=STEPS, elsewhere=True, sample_size=size, dtype=dtype, seed=float(d.number(0, 99))
    )
    _expect(y.shape == (x.shape[0], size) and y.dtype == wanted, f"Multinomial: {y.dtype} {y.shape}")
    _expect(bool(((y.array >= 0) & (y.array < classes)).all()), "Multinomial: no such class")


def _dropped(d: Draft) -> None:
    """Dropout in training."""
    if d.opset < 12:
        raise Refused("another form")
    x = d.take(("float32",), 0.5, 4, ranks=(1, 3))
    ratio, training = d.known(np.array(d.pick((0.25, 0.5)), np.float32), fixed=True), d.known(np.array(True))
    y, mask = d.add("Dropout", [x, ratio, training], 2, how=MOVES, elsewhere=True, seed=d.number(0, 99))
    kept = np.where(mask.array, x.array / (1 - ratio.array), 0)
    _expect(np.allclose(y.array, kept, atol=1e-5), "Dropout: not what its mask says")


def _update(op_type: str, d: Draft) -> None:
    """A step of training, which onnxruntime's package for inference does not have."""
    count = d.number(1, 2)
    rate, steps = d.known(np.array(0.1, np.float32)), d.known(np.array(d.number(0, 3)))
    shapes = [d.shape(low=1, high=2) for _ in range(count)]

    def each(low: float, high: float) -> list[Value]:
        return [d.fresh("float32", shape, low, high, constant=False) for shape in shapes]

    given = [rate, steps, *each(-2, 2), *each(-2, 2), *each(0.1, 2)]
    some: dict[str, Any] = {"norm_coefficient": d.pick((0.0, 0.01))}
    if op_type == "Adam":
        given += each(0.1, 2)
        some |= {"alpha": 0.8, "beta": 0.9, "epsilon": 1e-3}
    elif op_type == "Adagrad":
        some |= {"decay_factor": 0.1, "epsilon": 1e-3}
    else:
        some |= {"alpha": 0.8, "beta": 0.9, "mode": d.pick(("standard", "nesterov"))}
    d.add(op_type, given, (3 if op_type == "Adam" else 2) * count, elsewhere=True, domain=TRAINING, **some)


RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
DRAWERS: dict[str, Drawer] = {
    "DFT": _fourier,
    "STFT": _short_fourier,
    "MelWeightMatrix": _mel,
    **{name: partial(_random, name) for name in RANDOM},
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "Dropout in training": _dropped,
    **{f"{TRAINING}.{name}": partial(_update, name) for name in ("Adagrad", "Adam", "Momentum")},
}
"""Operator -> what draws it; a name with spaces is another way to draw the operator of its first word."""
