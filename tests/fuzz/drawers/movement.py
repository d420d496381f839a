"""Drawing operators that move elements: shapes, slices, indices, scatters, and those that make constants."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from onnx import numpy_helper

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES
from fuzz.drafts import ANY, FLOATS, MOVES, NUMBERS, RARE, SMOOTH, STEPS, Draft, Drawer, Value
from fuzz.oracle import Refused

MOVED = (*ANY, *FLOATS, *RARE)


def _transpose(d: Draft) -> None:
    x = d.take(MOVED, ranks=(0, 5))
    attributes = {} if d.chance(0.15) or not x.rank else {"perm": [int(axis) for axis in d.rng.permutation(x.rank)]}
    d.add("Transpose", [x], how=MOVES, **attributes)


def _factors(d: Draft, size: int) -> list[int]:
    """Extents whose product is `size`."""
    shape: list[int] = []
    while size > 1 and len(shape) < 4:
        shape.append(d.pick([n for n in range(1, size + 1) if size % n == 0]))
        size //= shape[-1]
    return [*shape, size] if size > 1 or not shape else shape


def _reshape(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 5))
    shape = _factors(d, x.array.size)
    if d.chance(0.4):
        shape[d.number(0, len(shape) - 1)] = -1
    d.add("Reshape", [x, d.indices(*shape)], how=MOVES)


def _flatten(d: Draft) -> None:
    x = d.take(ANY)
    d.add("Flatten", [x], how=MOVES, axis=d.number(-x.rank, x.rank))


def _listed(
    d: Draft, op_type: str, x: Value, name: str, numbers: list[int], outputs: int = 1, **some: Any
) -> list[Value]:
    """A node with numbers that are an attribute before version 13, and an input since."""
    if d.opset < 13:
        return d.add(op_type, [x], outputs, how=MOVES, **({name: numbers} if numbers else {}), **some)
    return d.add(op_type, [x, d.indices(*numbers)] if numbers else [x], outputs, how=MOVES, **some)


def _squeeze(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 5))
    if (ones := [axis for axis, extent in enumerate(x.shape) if extent == 1]) and d.chance(0.8):
        chosen = [axis - (x.rank if d.chance(0.3) else 0) for axis in ones if d.chance(0.7)]
        _listed(d, "Squeeze", x, "axes", chosen)
    elif x.rank < 5:
        (y,) = _listed(d, "Unsqueeze", x, "axes", [d.number(0, x.rank)])
        d.add("Squeeze", [y], how=MOVES)


def _unsqueeze(d: Draft) -> None:
    x = d.take(MOVED, ranks=(0, 3))
    count = d.number(1, 2)
    axes = [int(axis) for axis in d.rng.choice(x.rank + count, count, replace=False)]
    _listed(d, "Unsqueeze", x, "axes", [axis - (x.rank + count) * d.number(0, 1) for axis in axes])


def _concat(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 5))
    axis = d.axis(x)
    others: list[Value] = []
    for _ in range(d.number(0, 3)):
        shape = list(x.shape)
        shape[axis] = d.extent()
        found = d.find(lambda v, shape=tuple(shape): v.dtype == x.dtype and v.shape == shape)
        others.append(found or d.fresh(x.dtype, shape))
    order = [x, *others]
    d.add("Concat", [order[int(k)] for k in d.rng.permutation(len(order))], how=MOVES, axis=axis)


def _split(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 5))
    axis = d.axis(x)
    size = x.shape[axis]
    count = min(size, d.number(1, 3))
    if d.opset >= 18 and d.chance(0.4):
        d.add("Split", [x], count, how=MOVES, axis=axis, num_outputs=count)
        return
    cuts = sorted(int(k) for k in d.rng.choice(size - 1, count - 1, replace=False) + 1) if count > 1 else []
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    _listed(d, "Split", x, "split", sizes, count, axis=axis)


def _slice(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 5))
    axes = [int(axis) for axis in d.rng.choice(x.rank, d.number(1, x.rank), replace=False)]
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.shape[axis]
        step = d.pick((1, 1, 1, 2, 3, -1, -2))
        low, high = sorted((d.number(-size, size), d.number(-size, size)))
        if d.chance(0.2):
            low, high = (0, d.pick((size, 2**31 - 1, 2**63 - 1))) if step > 0 else (-(2**31), size)
        starts.append(low if step > 0 else high)
        ends.append(high if step > 0 else low)
        steps.append(step)
    if d.opset < 10:
        if any(step != 1 for step in steps):
            raise Refused("a later form")
        d.add("Slice", [x], how=MOVES, starts=starts, ends=ends, axes=axes)
        return
    given = [d.indices(*numbers) for numbers in (starts, ends, axes, steps)]
    d.add("Slice", [x, *given], how=MOVES)


def _pad(d: Draft) -> None:
    x = d.take((*FLOATS, "int8", "int32", "int64", "uint8"), ranks=(1, 5))
    mode = d.pick(("constant", "constant", "reflect", "edge", *(["wrap"] if d.opset >= 19 else [])))
    pads: list[int] = []
    for _ in range(2):
        pads += [d.number(-1 if mode == "constant" and n > 2 else 0, min(3, max(n - 1, 0))) for n in x.shape]
    if d.opset < 11:
        d.add("Pad", [x], how=MOVES, mode=mode, pads=pads, **({"value": 2.0} if d.chance(0.5) else {}))
        return
    value = [d.known(d.array(x.dtype, ()))] if mode == "constant" and d.chance(0.6) else []
    d.add("Pad", [x, d.indices(*pads), *value], how=MOVES, mode=mode)


def _tile(d: Draft) -> None:
    x = d.take(ANY, ranks=(1, 4))
    d.add("Tile", [x, d.indices(*(d.number(1, 3) for _ in x.shape))], how=MOVES)


def _expand(d: Draft) -> None:
    x = d.take(ANY, ranks=(0, 4))
    shape = [n if n > 1 or d.chance(0.3) else d.extent() for n in x.shape]
    lead = [d.number(1, 3) for _ in range(d.number(0, 1))]
    d.add("Expand", [x, d.indices(*lead, *(n if d.chance(0.7) else 1 for n in shape))], how=MOVES)


def _depth(op_type: str, d: Draft) -> None:
    block = d.number(1, 3)
    square = block * block
    if op_type == "DepthToSpace":
        shape = (d.number(1, 2), square * d.number(1, 4), d.number(1, 4), d.number(1, 5))
        mode = {"mode": d.pick(("DCR", "CRD"))}
    else:
        shape, mode = (d.number(1, 2), d.number(1, 4), block * d.number(1, 4), block * d.number(1, 4)), {}
    d.add(
        op_type, [d.fresh(d.pick(("float32", "float32", "int8", "float64")), shape)], how=MOVES, blocksize=block, **mode
    )


def _trilu(d: Draft) -> None:
    x = d.take((*FLOATS, "int32", "int64", "bool"), ranks=(2, 4))
    k = [d.known(np.array(d.number(-3, 3)))] if d.chance(0.6) else []
    d.add("Trilu", [x, *k], how=MOVES, upper=d.number(0, 1))


def _shape(op_type: str, d: Draft) -> None:
    x = d.take(ANY)
    some = {"start": d.number(-3, 1), "end": d.number(-1, 4)} if op_type == "Shape" and d.opset >= 15 else {}
    d.add(op_type, [x], how=MOVES, **(some if d.chance(0.4) else {}))


def _gather(d: Draft) -> None:
    x = d.take(MOVED, ranks=(1, 4))
    axis = d.axis(x)
    size = x.shape[axis]
    indices = d.fresh(d.pick(("int64", "int32")), d.shape(high=2), -size, size - 1)
    d.add("Gather", [x, indices], how=MOVES, axis=axis)


def _gather_elements(d: Draft) -> None:
    x = d.take(ANY, ranks=(1, 4))
    axis = d.axis(x)
    size = x.shape[axis]
    shape = [d.number(1, n) for n in x.shape]
    shape[axis] = d.extent()
    d.add("GatherElements", [x, d.fresh("int64", shape, -size, size - 1)], how=MOVES, axis=axis)


def _tuples(d: Draft, sizes: tuple[int, ...], count: int, unique: bool) -> np.ndarray[Any, Any]:
    """`count` index tuples into axes of these sizes."""
    total = math.prod(sizes)
    flat = d.rng.choice(total, min(count, total) if unique else count, replace=not unique)
    return np.stack(np.unravel_index(flat, sizes), -1).astype(np.int64)


def _gather_nd(d: Draft) -> None:
    x = d.take(ANY, ranks=(1, 4))
    depth = d.number(1, x.rank)
    d.add("GatherND", [x, d.known(_tuples(d, x.shape[:depth], d.number(1, 6), False), d.chance(0.3))], how=MOVES)


def _scatter_nd(d: Draft) -> None:
    x = d.take(("float32", "float64", "int32", "int64"), ranks=(1, 4))
    depth = d.number(1, x.rank)
    indices = d.known(_tuples(d, x.shape[:depth], d.number(1, 6), True), d.chance(0.4))
    updates = d.fresh(x.dtype, (indices.shape[0], *x.shape[depth:]))
    kinds = ("none", "add", "mul", *(("min", "max") if d.opset >= 18 else ())) if d.opset >= 16 else ("none",)
    reduction = {"reduction": d.pick(kinds)} if d.opset >= 16 else {}
    d.add("ScatterND", [x, indices, updates], how=SMOOTH, **reduction)


def _scatter_elements(op_type: str, d: Draft) -> None:
    x = d.take(("float32", "float64", "int32", "int64"), ranks=(1, 4))
    axis = d.axis(x)
    shape = [d.number(1, n) for n in x.shape]
    ranked = d.rng.permuted(np.broadcast_to(np.arange(x.shape[axis]), (*shape, x.shape[axis])), axis=-1)
    indices = np.moveaxis(ranked, -1, 0)[0].astype(np.int64)
    lines = np.moveaxis(indices, axis, -1).reshape(-1, shape[axis])
    if any(len(set(line.tolist())) < len(line) for line in lines):  # of two updates of one element neither is last
        indices = np.broadcast_to(
            np.arange(shape[axis]).reshape([-1 if k == axis % x.rank else 1 for k in range(x.rank)]), shape
        ).astype(np.int64)
    updates = d.fresh(x.dtype, shape)
    kinds = ("none", "add", "mul", *(("min", "max") if d.opset >= 18 else ())) if d.opset >= 16 else ("none",)
    reduction = {"reduction": d.pick(kinds)} if d.opset >= 16 and op_type == "ScatterElements" else {}
    if (op_type == "Scatter") != (d.opset < 11):
        raise Refused("of another version")
    d.add(op_type, [x, d.known(indices, d.chance(0.4)), updates], how=SMOOTH, axis=axis, **reduction)


def _tensor_scatter(d: Draft) -> None:
    """Lines of a cache from where each batch says; onnxruntime does not have it."""
    if d.opset < 24:
        raise Refused("a later operator")
    rank = d.number(3, 4)
    x = d.fresh(d.pick(("float32", "float32", "int8", "float64")), d.shape(rank), constant=False)
    axis = d.number(1, rank - 1)
    lines = d.number(1, x.shape[axis])
    update = d.fresh(x.dtype, [lines if place == axis else n for place, n in enumerate(x.shape)])
    mode = d.pick(("linear", "circular"))
    most = x.shape[axis] - (lines if mode == "linear" else 1)
    begins = [d.fresh("int64", (x.shape[0],), 0, most)] if d.chance(0.8) else []
    d.add(
        "TensorScatter", [x, update, *begins], how=MOVES, elsewhere=True, mode=mode, axis=axis - rank * d.number(0, 1)
    )


_OF_BITS = {8: ("int8", "uint8"), 16: ("int16", "uint16", "float16"), 32: ("int32", "uint32", "float32")}


def _bit_cast(d: Draft) -> None:
    if d.opset < 26:
        raise Refused("a later operator")
    names = _OF_BITS[d.pick((8, 16, 32))]
    x = d.fresh(d.pick(names), d.shape(), 0, 100, constant=False)
    target = d.pick(names)
    wanted = x.array.view(target) if x.rank else x.array.reshape(1).view(target).reshape(())
    if target.startswith("float") and not np.isfinite(wanted.astype(np.float64)).all():
        raise Refused("not finite")
    (y,) = d.add("BitCast", [x], how=STEPS, elsewhere=True, to=ONNX_TYPES[ELEMENT_TYPES[target]])
    if y.array.tobytes() != wanted.tobytes():
        raise AssertionError(f"BitCast from {x.dtype} to {target}: other bits")


def _one_hot(d: Draft) -> None:
    depth = d.number(1, 8)
    indices = d.fresh("int64", d.shape(high=3), -depth, depth - 1)
    ends = d.known(d.array(d.pick(("float32", "int64", "int32")), (2,)))
    d.add("OneHot", [indices, d.known(np.array(depth)), ends], how=MOVES, axis=d.number(-1, indices.rank))


def _range(d: Draft) -> None:
    dtype = d.pick(("int32", "int64", "float32"))
    ends = [d.known(np.array(number, dtype)) for number in (d.number(-5, 5), d.number(6, 20), d.number(1, 4))]
    d.add("Range", ends, how=STEPS)


def _constant(d: Draft) -> None:
    array = d.array(d.pick((*ANY, *RARE)), d.shape(high=3), 0, 3)
    d.add("Constant", [], how=MOVES, value=numpy_helper.from_array(array))


def _constant_of_shape(d: Draft) -> None:
    value = {"value": numpy_helper.from_array(d.array(d.pick(NUMBERS), (1,)))} if d.chance(0.7) else {}
    d.add("ConstantOfShape", [d.indices(*d.shape(low=1, high=3))], how=MOVES, **value)


def _eye(d: Draft) -> None:
    x = d.fresh("float32", d.shape(2))
    dtype = {"dtype": ONNX_TYPES[ELEMENT_TYPES[d.pick(("float32", "int32", "int64"))]]} if d.chance(0.5) else {}
    d.add("EyeLike", [x], how=MOVES, k=d.number(-2, 2), **dtype)


def _crop(d: Draft) -> None:
    if d.opset < 18:
        raise Refused("a later operator")
    x = d.take(("float32", "int32"), ranks=(1, 3))
    d.add("CenterCropPad", [x, d.indices(*(d.extent() for _ in x.shape))], how=MOVES)


DRAWERS: dict[str, Drawer] = {
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    "Tile": _tile,
    "Expand": _expand,
    **{name: partial(_depth, name) for name in ("DepthToSpace", "SpaceToDepth")},
    **{name: partial(_shape, name) for name in ("Shape", "Size")},
    "Trilu": _trilu,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterND": _scatter_nd,
    **{name: partial(_scatter_elements, name) for name in ("ScatterElements", "Scatter")},
    "TensorScatter": _tensor_scatter,
    "BitCast": _bit_cast,
    "OneHot": _one_hot,
    "Range": _range,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _eye,
    "CenterCropPad": _crop,
}
"""Operator -> what draws it."""
