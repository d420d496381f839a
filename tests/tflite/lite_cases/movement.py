"""Operators that move elements, or make them of nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from lite_model import Tensor

from lite_cases.case import Case, constant, indices, single, tensor

Shape = tuple[int, ...]
_GIVEN: dict[str, Any] = {"int8": (0.05, 3), "int16": (0.05, 0)}


def _t(shape: Shape, dtype: str) -> Tensor:
    return tensor(shape, dtype, *_GIVEN.get(dtype, ()))


def _moves(
    code: str, name: str, x: Shape, y: Shape, more: Sequence[Tensor] = (), dtypes: Sequence[str] = ("int8", "float32"),
    **options: Any,
) -> Iterator[Case]:  # fmt: skip
    """A case for each of several types; the moved tensor is the first input."""
    for dtype in dtypes:
        rest = [Tensor(**vars(each)) for each in more]
        yield single(f"{code.lower()}-{name}-{dtype}", code, [_t(x, dtype), *rest], [_t(y, dtype)], **options)


_ALL = ("int8", "int16", "int32", "float32")


def shapes() -> Iterator[Case]:
    """RESHAPE, SQUEEZE, EXPAND_DIMS, SHAPE, ZEROS_LIKE, FILL, BROADCAST_TO, BROADCAST_ARGS, CAST."""
    yield from _moves("RESHAPE", "rows", (2, 3, 4), (6, 4), [indices(6, 4)], _ALL, new_shape=[6, 4])
    yield from _moves("RESHAPE", "rest", (2, 3, 4), (3, 8), [indices(3, -1)], new_shape=[3, -1])
    yield from _moves("SQUEEZE", "all", (1, 3, 1, 4), (3, 4), dtypes=_ALL)
    yield from _moves("SQUEEZE", "one", (1, 3, 1, 4), (1, 3, 4), squeeze_dims=[2])
    for axis, shape in ((0, (1, 3, 4)), (-1, (3, 4, 1)), (1, (3, 1, 4))):
        yield from _moves("EXPAND_DIMS", f"{axis}", (3, 4), shape, [indices(axis)])
    yield single("shape-float32", "SHAPE", [_t((2, 3, 4), "float32")], [tensor((3,), "int32")], out_type="int32")
    yield from _moves("ZEROS_LIKE", "plain", (2, 3), (2, 3), dtypes=("int8", "int32", "int64", "float32"))
    for dtype in ("int8", "int32", "float32"):
        yield single(f"fill-{dtype}", "FILL", [indices(2, 3), _t((), dtype)], [_t((2, 3), dtype)])
    yield from _moves("BROADCAST_TO", "rows", (3, 1), (2, 3, 4), [indices(2, 3, 4)], ("float32", "int32", "int8"))
    a, b = tensor((3,), "int32"), indices(2, 1, 4)
    yield single("broadcast_args-int32", "BROADCAST_ARGS", [a, b], [tensor((3,), "int32")], ranges={"x0": (1, 1)})
    for of in ("int8", "int16", "int32", "uint32", "float32", "bool"):
        for to in ("int8", "int16", "int32", "uint32", "float32"):
            least = 0 if "uint32" in (of, to) else -100  # of negative floats to unsigned C leaves the result open
            few = {"x0": (least, 100)} if of != "bool" else {}
            yield single(f"cast-{of}-{to}", "CAST", [tensor((3, 5), of)], [tensor((3, 5), to)], ranges=few)


def axes() -> Iterator[Case]:
    """TRANSPOSE, REVERSE_V2, CONCATENATION, PACK, UNPACK, SPLIT, SPLIT_V."""
    for name, x, order in (
        ("matrix", (3, 5), (1, 0)), ("first", (2, 3, 4, 5), (0, 3, 1, 2)), ("last", (2, 5, 3, 4), (0, 2, 3, 1)),
        ("any", (2, 3, 4), (2, 0, 1)), ("five", (2, 1, 3, 2, 4), (4, 2, 0, 3, 1)),
    ):  # fmt: skip
        y = tuple(x[axis] for axis in order)
        yield from _moves("TRANSPOSE", name, x, y, [indices(*order)], ("int8", "int16", "float32"))
    for name, order in (("first", (0,)), ("last", (-1,)), ("middle", (1,))):
        yield from _moves("REVERSE_V2", name, (2, 3, 4), (2, 3, 4), [indices(*order)], _ALL)
    for axis in (0, 1, -1):
        sizes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
        for k, size in enumerate((1, 3, 2)):
            sizes[k][axis] = size
        out = [2, 3, 4]
        out[axis] = 6
        for dtype in ("int8", "int16", "int32", "int64", "float32", "bool"):
            name = f"concatenation-{axis}-{dtype}"
            inputs = [_t(tuple(size), dtype) for size in sizes]
            yield single(name, "CONCATENATION", inputs, [_t(tuple(out), dtype)], axis=axis)
        for dtype in _ALL:
            out = [3, 4]
            out.insert(axis if axis >= 0 else 2, 3)
            three = [_t((3, 4), dtype) for _ in range(3)]
            name = f"{axis}-{dtype}"
            yield single(f"pack-{name}", "PACK", three, [_t(tuple(out), dtype)], axis=axis, values_count=3)
            three = [_t((3, 4), dtype) for _ in range(3)]
            yield single(f"unpack-{name}", "UNPACK", [_t(tuple(out), dtype)], three, axis=axis, num=3)
            whole = [4, 6, 8]
            part = list(whole)
            part[axis] //= 2
            two = [_t(tuple(part), dtype) for _ in range(2)]
            yield single(f"split-{name}", "SPLIT", [indices(axis), _t(tuple(whole), dtype)], two, num_splits=2)
            sizes = [list(whole) for _ in range(3)]
            for k, size in enumerate((1, 2, whole[axis] - 3)):
                sizes[k][axis] = size
            outs = [_t(tuple(size), dtype) for size in sizes]
            given = [_t(tuple(whole), dtype), indices(1, 2, -1), indices(axis)]
            yield single(f"split_v-{name}", "SPLIT_V", given, outs, num_splits=3)


def borders() -> Iterator[Case]:
    """PAD, PADV2, MIRROR_PAD, SLICE, STRIDED_SLICE."""
    for name, x, pads in (
        ("image", (1, 3, 4, 2), ((0, 0), (1, 2), (2, 1), (0, 0))),
        ("batch", (2, 3, 2, 2), ((1, 0), (0, 1), (1, 1), (0, 2))),
        ("matrix", (3, 4), ((1, 1), (0, 2))),
        ("row", (5,), ((2, 3),)),
    ):
        y = tuple(size + low + high for size, (low, high) in zip(x, pads, strict=True))
        table = constant(np.array(pads, np.int32))
        yield from _moves("PAD", name, x, y, [table], _ALL)
        for dtype in _ALL:
            value = constant(np.array([7], dtype), None, *_GIVEN.get(dtype, ()))
            yield from _moves("PADV2", name, x, y, [table, value], (dtype,))
        for mode in ("REFLECT", "SYMMETRIC"):
            if max(map(max, pads)) < min(x):
                yield from _moves("MIRROR_PAD", f"{name}-{mode.lower()}", x, y, [table], mode=mode)
    for name, begin, size, y in (
        ("inner", (0, 1, 1), (2, 2, 3), (2, 2, 3)),
        ("rest", (1, 0, 2), (-1, 3, -1), (1, 3, 3)),
    ):
        rest = [indices(*begin), indices(*size)]
        yield from _moves("SLICE", name, (2, 3, 5), y, rest, (*_ALL, "bool"))
    rows: list[tuple[str, Shape, Shape, Shape, Shape, dict[str, int]]] = [
        ("steps", (0, 1, 0), (2, 3, 5), (1, 1, 2), (2, 2, 3), {}),
        ("back", (-1, 2, 4), (-3, -4, 0), (-1, -2, -1), (2, 2, 4), {}),
        ("masks", (1, 1, 1), (1, 2, 3), (1, 1, 2), (2, 2, 2), {"begin_mask": 1, "end_mask": 0b111}),
        ("shrunk", (1, 0, 2), (2, 3, 3), (1, 1, 1), (3,), {"shrink_axis_mask": 0b101}),
    ]
    for name, begin, end, stride, y, masks in rows:
        rest = [indices(*begin), indices(*end), indices(*stride)]
        yield from _moves("STRIDED_SLICE", name, (2, 3, 5), y, rest, (*_ALL, "bool"), **masks)


def picks() -> Iterator[Case]:
    """GATHER, GATHER_ND, EMBEDDING_LOOKUP, DYNAMIC_UPDATE_SLICE."""
    for axis, shape in ((0, (3, 4, 5)), (1, (2, 3, 5)), (-1, (2, 4, 3))):
        few = {"x1": (0, 1)}
        yield from _moves("GATHER", f"{axis}", (2, 4, 5), shape, [tensor((3,), "int32")], axis=axis, ranges=few)
    yield from _moves("GATHER", "table", (6, 3), (2, 2, 3), [tensor((2, 2), "int32")], axis=0, ranges={"x1": (0, 5)})
    batches: dict[str, Any] = {"axis": 1, "batch_dims": 1, "ranges": {"x1": (0, 3)}}
    yield from _moves("GATHER", "batches", (2, 4, 3), (2, 5, 3), [tensor((2, 5), "int32")], **batches)
    for name, places, y in (("elements", (4, 2), (4,)), ("rows", (2, 3, 1), (2, 3, 3))):
        yield from _moves("GATHER_ND", name, (2, 3), y, [tensor(places, "int32")], ranges={"x1": (0, 1)})
    for dtype in ("float32", "int8"):
        table = constant(np.arange(-12, 12).reshape(6, 4).astype(dtype), None, *((0.05, 0) if dtype == "int8" else ()))
        places = tensor((3,), "int32")
        for to in dict.fromkeys((dtype, "float32")):
            out = tensor((3, 4), to, *((0.05, 0) if to == "int8" else ()))
            inputs = [places, Tensor(**vars(table))]
            name = f"embedding_lookup-{dtype}-{to}"
            yield single(name, "EMBEDDING_LOOKUP", inputs, [out], ranges={"x0": (0, 5)})
            places = tensor((3,), "int32")
    for dtype in _ALL:
        inputs = [_t((4, 5), dtype), _t((2, 3), dtype), tensor((2,), "int32")]
        name = f"dynamic_update_slice-{dtype}"
        yield single(name, "DYNAMIC_UPDATE_SLICE", inputs, [_t((4, 5), dtype)], ranges={"x2": (-2, 6)})


def blocks() -> Iterator[Case]:
    """SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND."""
    yield from _moves("SPACE_TO_DEPTH", "two", (2, 4, 6, 3), (2, 2, 3, 12), block_size=2)
    yield from _moves("DEPTH_TO_SPACE", "two", (2, 2, 3, 12), (2, 4, 6, 3), block_size=2)
    for name, x, block, pads, y in (
        ("plain", (1, 4, 6, 2), (2, 3), ((0, 0), (0, 0)), (6, 2, 2, 2)),
        ("padded", (2, 3, 5, 1), (2, 2), ((1, 0), (0, 1)), (8, 2, 3, 1)),
    ):
        rest = [indices(*block), constant(np.array(pads, np.int32))]
        # TFLite Micro pads with memory that it never wrote
        yield from _moves("SPACE_TO_BATCH_ND", name, x, y, rest, oracle="micro" if name == "plain" else "lite")
        yield from _moves("BATCH_TO_SPACE_ND", name, y, x, rest)


_CUMSUM: list[dict[str, Any]] = [
    {}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}
]  # fmt: skip


def running_sums() -> Iterator[Case]:
    """ADD_N and CUMSUM."""
    for name, of, to in (
        ("plain", (0.05, 0), (0.12, 0)),
        ("zero", (0.05, 9), (0.12, -5)),
        ("ties", (0.5, 3), (1.0, 3)),
    ):
        for count in (2, 4):
            inputs = [tensor((3, 40), "int8", *of) for _ in range(count)]
            yield single(f"add_n-{name}-{count}-int8", "ADD_N", inputs, [tensor((3, 40), "int8", *to)])
        for axis in (0, 1, -1):
            for way in _CUMSUM:
                ends = [tensor((3, 4, 5), "int8", *of), indices(axis)], [tensor((3, 4, 5), "int8", *to)]
                case = "-".join([f"cumsum-{name}-{axis}", *way, "int8"])
                yield single(case, "CUMSUM", *ends, **way)
    inputs = [tensor((3, 4), "float32") for _ in range(3)]
    yield single("add_n-float32", "ADD_N", inputs, [tensor((3, 4), "float32")])
    for way in _CUMSUM[:3]:
        ends = [tensor((3, 4, 5), "float32"), indices(1)], [tensor((3, 4, 5), "float32")]
        yield single("-".join(["cumsum", *way, "float32"]), "CUMSUM", *ends, **way)


def of_lite_alone() -> Iterator[Case]:
    """TILE, RANK, SCATTER_ND, SELECT and slices with new axes, which TFLite Micro does not have."""
    rows: list[tuple[str, Shape, Shape, Shape, dict[str, Any]]] = [
        ("last", (0, 1), (0, 4), (2, 3, 3), {"ellipsis_mask": 1}),
        ("ends", (1, 0, 2), (2, 0, 3), (1, 3, 1), {"ellipsis_mask": 2}),
        ("new", (0, 1, 0), (0, 2, 2), (1, 1, 2, 5), {"new_axis_mask": 1}),
        ("mixed", (0, 0, 3), (0, 0, 4), (2, 3, 1), {"ellipsis_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4}),
        ("offset", (1, 0, 2), (1, 2, 3), (1, 2, 3), {"offset": True}),
    ]
    for name, begin, end, y, masks in rows:
        rest = [indices(*begin), indices(*end), indices(*[1] * len(begin))]
        yield from _moves("STRIDED_SLICE", name, (2, 3, 5), y, rest, oracle="lite", **masks)
    for name, counts, y in (("rows", (2, 1), (4, 3)), ("all", (3, 2), (6, 6)), ("none", (1, 1), (2, 3))):
        yield from _moves("TILE", name, (2, 3), y, [indices(*counts)], ("int8", "int32", "float32"), oracle="lite")
    yield single("rank-float32", "RANK", [_t((2, 3, 4), "float32")], [tensor((), "int32")], oracle="lite")
    for dtype in ("int32", "float32"):
        for name, places, updates, y in (("elements", (5, 1), (5,), (4,)), ("rows", (3, 1), (3, 2), (4, 2))):
            given = [tensor(places, "int32"), tensor(updates, dtype), indices(*y)]
            case = f"scatter_nd-{name}-{dtype}"
            few = {"x0": (0, 3), "x1": (-99, 99)}
            near = 1e-6 if dtype == "float32" else 0
            yield single(case, "SCATTER_ND", given, [tensor(y, dtype)], oracle="lite", ranges=few, tolerance=near)
    for name, condition in (("same", (3, 4)), ("rows", (3,))):
        for dtype in ("int8", "float32"):
            given = [tensor(condition, "bool"), _t((3, 4), dtype), _t((3, 4), dtype)]
            yield single(f"select-{name}-{dtype}", "SELECT", given, [_t((3, 4), dtype)], oracle="lite")


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (shapes, axes, borders, picks, blocks, running_sums, of_lite_alone):
        yield from family()
