"""Drawing operators of pictures: samples at coordinates, regions, windows whose taps move, columns, determinants."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fuzz.drafts import FAST, SMOOTH, Draft, Drawer, Value
from fuzz.oracle import Refused


def _picture(d: Draft, dtype: str = "float32", most: int = 8) -> Value:
    shape = (d.number(1, 2), d.number(1, 4), d.number(2, most), d.number(2, most))
    return d.fresh(dtype, shape, constant=False)


def _inside(d: Draft, shape: tuple[int, ...], low: float, high: float, dtype: str = "float32") -> Value:
    """Coordinates that rounding may not move over the border of a pixel."""
    return d.known(d.array(dtype, shape, low, high), d.chance(0.2), fixed=True)


def _grid_sample(d: Draft) -> None:
    if d.opset < 16:
        raise Refused("a later operator")
    mode = d.pick(("linear", "nearest", "cubic") if d.opset >= 20 else ("bilinear", "nearest", "bicubic"))
    some = {"padding_mode": d.pick(("zeros", "border", "reflection")), "align_corners": d.number(0, 1)}
    if d.opset >= 20 and mode != "cubic" and d.chance(0.3):
        x = d.fresh("float32", (d.number(1, 2), d.number(1, 3), *(d.number(1, 5) for _ in range(3))), constant=False)
    else:
        x = _picture(d)
    space = x.rank - 2
    grid = _inside(d, (x.shape[0], *(d.number(1, 5) for _ in range(space)), space), -1.7, 1.7)
    d.add("GridSample", [x, grid], mode=mode, **some)


def _corners(d: Draft, count: int, height: int, width: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    first = d.rng.uniform(-1, 1, (count, 2)) + d.rng.uniform(0, 1, (count, 2)) * (width, height)
    return np.concatenate([first, first + d.rng.uniform(0.1, 6, (count, 2))], 1).astype(dtype)


def _roi_align(d: Draft) -> None:
    if d.opset < 10:
        raise Refused("a later operator")
    x = _picture(d, d.pick(("float32", "float32", "float64")), 12)
    count = d.number(1, 4)
    boxes = d.known(_corners(d, count, *x.shape[2:], x.dtype), False, fixed=True)
    batches = d.fresh("int64", (count,), 0, x.shape[0] - 1)
    some: dict[str, Any] = {"mode": d.pick(("avg", "max")), "sampling_ratio": d.number(0, 3)}
    some |= {"output_height": d.number(1, 4), "output_width": d.number(1, 4), "spatial_scale": d.pick((0.5, 1.0, 1.3))}
    if d.opset >= 16 and d.chance(0.6):
        some["coordinate_transformation_mode"] = d.pick(("half_pixel", "output_half_pixel"))
    d.add("RoiAlign", [x, boxes, batches], **some)


def _roi_pool(d: Draft) -> None:
    x = _picture(d, most=10)
    count = d.number(1, 4)
    batches = d.rng.integers(0, x.shape[0], (count, 1))
    rows = np.concatenate([batches, np.abs(_corners(d, count, *x.shape[2:]))], 1).astype(np.float32)
    shape = [d.number(1, 4), d.number(1, 4)]
    d.add("MaxRoiPool", [x, d.known(rows, False, fixed=True)], pooled_shape=shape, spatial_scale=d.pick((0.6, 1.0)))


def _deformed(d: Draft) -> None:
    if d.opset < 19:
        raise Refused("a later operator")
    groups, offset_groups = d.pick((1, 1, 2)), d.pick((1, 1, 2))
    channels = 2 * d.number(1, 3)
    x = d.fresh("float32", (d.number(1, 2), channels, d.number(4, 8), d.number(4, 8)), constant=False)
    kernel = d.number(1, 3), d.number(1, 3)
    strides, pads = [d.number(1, 2), d.number(1, 2)], [d.number(0, 1) for _ in range(4)]
    dilations = [d.number(1, 2) if k < 3 else 1 for k in kernel]
    space = tuple(
        (n + pads[place] + pads[place + 2] - dilations[place] * (kernel[place] - 1) - 1) // strides[place] + 1
        for place, n in enumerate(x.shape[2:])
    )
    taps = kernel[0] * kernel[1] * offset_groups
    outputs = groups * d.number(1, 3)
    weight = d.fresh("float32", (outputs, channels // groups, *kernel), -1, 1, constant=d.chance(0.8))
    offsets = _inside(d, (x.shape[0], 2 * taps, *space), -1.5, 1.5)
    bias = d.fresh("float32", (outputs,)) if d.chance(0.5) else None
    mask = d.fresh("float32", (x.shape[0], taps, *space), 0, 1) if d.chance(0.5) else None
    some = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups, "offset_group": offset_groups}
    d.add("DeformConv", [x, weight, offsets, bias, mask], how=FAST, kernel_shape=kernel, **some)


def _columns(d: Draft) -> None:
    if d.opset < 18:
        raise Refused("a later operator")
    rank = d.pick((1, 2, 2, 2))
    picture, block = [d.number(3, 7) for _ in range(rank)], [d.number(1, 3) for _ in range(rank)]
    strides, pads = [d.number(1, 2) for _ in range(rank)], [d.number(0, 1) for _ in range(2 * rank)]
    counts = [
        (n + pads[place] + pads[place + rank] - block[place]) // strides[place] + 1 for place, n in enumerate(picture)
    ]
    shape = (d.number(1, 2), d.number(1, 3) * int(np.prod(block)), int(np.prod(counts)))
    given = [d.fresh("float32", shape, constant=False), d.indices(*picture), d.indices(*block)]
    d.add("Col2Im", given, strides=strides, pads=pads)


def _unpool(d: Draft) -> None:
    """The elements that a pooling with indices took go back."""
    if d.opset < 9:
        raise Refused("a later operator")
    side = d.number(2, 3)
    x = d.fresh(
        "float32", (d.number(1, 2), d.number(1, 3), side * d.number(1, 3), side * d.number(1, 3)), constant=False
    )
    window = {"kernel_shape": [side, side], "strides": [side, side]}
    y, indices = d.add("MaxPool", [x], 2, **window)
    d.add("MaxUnpool", [y, indices], how=SMOOTH, **window)


def _determinant(d: Draft) -> None:
    if d.opset < 11:
        raise Refused("a later operator")
    side = d.number(1, 5)
    x = d.fresh("float32", (*d.shape(d.number(0, 2)), side, side), -2, 2, constant=False)
    d.add("Det", [x], how=FAST)


def _upsample(d: Draft) -> None:
    if d.opset > 9:
        raise Refused("deprecated")
    x = _picture(d, most=6)
    factors = [1.0, 1.0, float(d.number(1, 3)), float(d.number(1, 3))]
    mode = d.pick(("nearest", "linear"))
    if d.opset < 9:
        d.add("Upsample", [x], mode=mode, scales=factors)
    else:
        d.add("Upsample", [x, d.known(np.array(factors, np.float32), fixed=True)], mode=mode)


def _rotary(domain: str, d: Draft) -> None:
    if d.opset < 23 and not domain:
        raise Refused("a later operator")
    batch, heads, steps, half, rows = d.number(1, 2), d.number(1, 3), d.number(1, 5), d.number(1, 8), d.number(5, 9)
    width = 2 * half
    flat = d.chance(0.5)
    shape = (batch, steps, heads * width) if flat else (batch, heads, steps, width)
    x = d.take(("float32",), ranks=(len(shape), len(shape))) if d.chance(0.1) else d.fresh("float32", shape)
    if x.shape != shape:
        raise Refused("of another shape")
    caches = [d.fresh("float32", (rows, half), -1, 1) for _ in range(2)]
    positions = d.fresh("int64", (batch, steps), 0, rows - 1)
    some: dict[str, Any] = {"interleaved": d.number(0, 1)}
    if flat:
        some["num_heads"] = heads
    given = [x, positions, *caches] if domain else [x, *caches, positions]
    if domain and flat:
        some["rotary_embedding_dim"] = width
    d.add("RotaryEmbedding", given, domain=domain, **some)


DRAWERS: dict[str, Drawer] = {
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _roi_pool,
    "DeformConv": _deformed,
    "Col2Im": _columns,
    "MaxUnpool": _unpool,
    "Det": _determinant,
    "Upsample": _upsample,
    "RotaryEmbedding": partial(_rotary, ""),
    "com.microsoft.RotaryEmbedding": partial(_rotary, "com.microsoft"),
}
"""Operator -> what draws it."""
