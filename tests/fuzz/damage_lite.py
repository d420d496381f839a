"""Damaged .tflite files: graphs of small models broken one by one, then bytes; what is wrong is refused in our words,
or it runs."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.damage_models import in_process

_HUGE = (-1, 0, 1, 2, 3, 7, 4097, 2**31 - 1, -(2**31))
_FIRST = 8
"""Of the bytes that are changed: behind those by which a file is known."""


@cache
def _lite() -> tuple[Any, Sequence[Any]]:
    """The writer of such files, and small models: the first of each set of operators and types."""
    sys.path.append(str(Path(__file__).parents[1] / "tflite"))
    import lite_model
    from lite_cases import CASES

    found: dict[tuple[str, ...], Any] = {}
    for case in CASES.values():
        kinds = sorted({tensor.dtype for graph in case.graphs for tensor in graph.tensors})
        found.setdefault((*case.codes, *kinds), case.graphs)
    return lite_model, list(found.values())


def _tensor(r: random.Random, graph: Any) -> None:
    tensor = r.choice(graph.tensors)
    match r.randrange(7):
        case 0 if tensor.data is None:
            tensor.dtype = r.choice(list(_lite()[0].TYPES))
        case 1 if tensor.shape:
            place, extent = r.randrange(len(tensor.shape)), r.choice((0, 1, 2, 3, 5, 64))
            tensor.shape = (*tensor.shape[:place], extent, *tensor.shape[place + 1 :])
        case 2:
            tensor.shape = r.choice(((*tensor.shape, 1), (2, *tensor.shape), tensor.shape[1:]))
        case 3:
            tensor.scale = r.choice((None, 0.0, 1e-30, 0.5, 1e30, [0.1, 0.2]))
        case 4:
            tensor.zero = r.choice((-128, 0, 3, 127, 200, 2**40))
        case 5:
            tensor.variable = not tensor.variable
        case _:
            _data(r, tensor)


def _data(r: random.Random, tensor: Any) -> None:
    """A constant with other numbers, fewer, or none."""
    if tensor.data is None or not tensor.data.size:
        return
    match r.randrange(3):
        case 0:
            tensor.data = None
        case 1:
            tensor.data = tensor.data.reshape(-1)[: r.randrange(tensor.data.size + 1)]
            tensor.shape = tensor.data.shape
        case _ if tensor.data.dtype.kind in "iu":
            tensor.data = tensor.data.copy()
            tensor.data.reshape(-1)[r.randrange(tensor.data.size)] = np.array(r.choice(_HUGE)).astype(tensor.data.dtype)


def _changed(r: random.Random, names: list[Any], others: Sequence[Any]) -> None:
    """Names of tensors put elsewhere, added, or left out."""
    match r.randrange(4):
        case 0 if names:
            names[r.randrange(len(names))] = r.choice(others)
        case 1:
            names.append(r.choice(others))
        case 2 if names:
            names.pop()
        case _:
            r.shuffle(names)


def _edges(r: random.Random, graph: Any) -> None:
    names = [tensor.name for tensor in graph.tensors]
    if not graph.operators or r.random() < 0.2:
        return _changed(r, r.choice((graph.inputs, graph.outputs)), names)
    node = r.choice(graph.operators)
    inside = r.random() < 0.5
    return _changed(r, node.inputs if inside else node.outputs, [*names, None] if inside else names)


def _operator(r: random.Random, graph: Any) -> None:
    """A node as another operator."""
    others = r.choice(r.choice(_lite()[1])).operators
    if graph.operators and others:
        node, other = r.choice(graph.operators), r.choice(others)
        node.code, node.options, node.custom = other.code, dict(other.options), other.custom


def _option(r: random.Random, graph: Any) -> None:
    if not graph.operators:
        return
    node = r.choice(graph.operators)
    node.options = dict(node.options)
    if node.options:
        name = r.choice(list(node.options))
        match node.options[name]:
            case bool(value):
                node.options[name] = not value
            case int():
                node.options[name] = r.choice((-1, 0, 1, 2, 3, 5, 100))
            case float():
                node.options[name] = r.choice((-1.0, 0.0, 1e30, float("nan"), float("inf")))
            case _:
                del node.options[name]
    if node.custom:
        node.custom = _bytes(r, node.custom, 0)


DAMAGES: tuple[Callable[[random.Random, Any], None], ...] = (*[_tensor] * 4, *[_edges] * 3, _operator, *[_option] * 2)


def _bytes(r: random.Random, data: bytes, first: int) -> bytes:
    changed = bytearray(data)
    for _ in range(r.randint(1, 4)):
        place = r.randrange(first, len(changed))
        match r.randrange(4):
            case 0 | 1:
                changed[place] = r.randrange(256)
            case 2:
                changed[place] ^= 1 << r.randrange(8)
            case _ if place + 4 <= len(changed):
                changed[place : place + 4] = struct.pack("<i", r.choice(_HUGE))
    if r.random() < 0.1:
        del changed[r.randrange(first + 1, len(changed) + 1) :]
    return bytes(changed)


def damaged_lite(seed: int) -> bytes:
    """A .tflite file with something wrong in it, most probably; what cannot be written is drawn again."""
    r, (lite_model, models) = random.Random(seed), _lite()
    while True:
        graphs = deepcopy(list(r.choice(models)))
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            r.choice(DAMAGES)(r, r.choice(graphs))
        try:
            data = lite_model.write(graphs)
        except (KeyError, AssertionError, TypeError, ValueError, OverflowError, AttributeError):
            continue
        return _bytes(r, data, _FIRST) if r.random() < 0.3 else data


def damaged_lite_model(seed: int) -> str:
    """A damaged file through `aotc.compile` and a call: an answer, or a refusal in our words."""
    return in_process(damaged_lite(seed))
