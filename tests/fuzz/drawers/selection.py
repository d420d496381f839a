"""Drawing operators whose results have data-dependent extents, and those that pick lines and boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.drafts import ANY, MOVES, STEPS, Draft, Drawer, Value
from fuzz.oracle import Refused

CARRIED = ("Identity", "Transpose", "Unsqueeze", "Gather", "Cast", "Neg")


def uncertain(d: Draft, made: Value) -> Value:
    """A result of a data-dependent extent, which no other drawer takes."""
    found = Value(made.name, made.array, made.error, last=True)
    d.values[d.values.index(made)] = found
    return found


def _carried(d: Draft, value: Value) -> None:
    """At times nodes that treat each part of such a result by itself."""
    for _ in range(d.pick((0, 0, 1, 2))):
        match d.pick(CARRIED):
            case "Transpose":
                (value,) = d.add("Transpose", [value], how=MOVES, perm=[int(a) for a in d.rng.permutation(value.rank)])
            case "Unsqueeze" if d.opset >= 13:
                (value,) = d.add("Unsqueeze", [value, d.indices(d.number(0, value.rank))], how=MOVES)
            case "Cast":
                (value,) = d.add("Cast", [value], how=STEPS, to=1)
            case "Neg" if value.dtype in ("int64", "float32"):
                (value,) = d.add("Neg", [value], how=STEPS)
            case "Gather" if value.dtype == "int64" and value.array.min(initial=0) >= 0:
                table = d.fresh("float32", (int(value.array.max(initial=0)) + 1, d.number(1, 4)))
                (value,) = d.add("Gather", [table, value], how=MOVES)
            case _:
                (value,) = d.add("Identity", [value], how=MOVES)


def _non_zero(d: Draft) -> None:
    x = d.take(("float32", "bool", "int64", "int32", "uint8"), 0, 1.4, ranks=(1, 4), exact=True)
    if x.dtype == "float32" and d.chance(0.7):
        x = d.known((x.array > 0.5).astype(np.float32), d.chance(0.2))
    (y,) = d.add("NonZero", [x], how=STEPS)
    if not x.constant:
        _carried(d, uncertain(d, y))


def _compress(d: Draft) -> None:
    x = d.take(ANY, ranks=(1, 4))
    axis = d.axis(x)
    some = {"axis": axis} if d.chance(0.8) else {}
    mask = d.array("bool", (d.number(1, x.shape[axis] if some else x.array.size),))
    mask[d.number(0, len(mask) - 1)] = True
    known = d.chance(0.4)
    (y,) = d.add("Compress", [x, d.known(mask, known)], how=MOVES, **some)
    if not known:
        _carried(d, uncertain(d, y))


def _unique(d: Draft) -> None:
    if d.opset < 11:
        raise Refused("a later operator")
    shape = d.shape(low=1, high=3)
    x = d.fresh(d.pick(("float32", "int64", "int8", "float64")), shape, 0, 2, constant=False)
    if x.dtype.startswith("float"):
        x = d.known(np.round(x.array), False)
    some: dict[str, Any] = {"axis": d.axis(x)} if d.chance(0.5) else {}
    for each in d.add("Unique", [x], d.number(1, 4), how=STEPS, sorted=d.number(0, 1), **some):
        uncertain(d, each)


def _suppress(d: Draft) -> None:
    if d.opset < 10:
        raise Refused("a later operator")
    batch, classes, boxes = d.number(1, 2), d.number(1, 3), d.number(1, 20)
    corner = d.rng.uniform(0, 1, (batch, boxes, 2))
    sides = np.concatenate([corner, corner + d.rng.uniform(0.05, 0.6, (batch, boxes, 2))], 2).astype(np.float32)
    centers = d.chance(0.3)
    scores = d.fresh("float32", (batch, classes, boxes), 0, 1, constant=False)
    if d.chance(0.3):  # some that are equal
        scores = d.known(np.round(scores.array, 1), False)
    numbers: list[Value | None] = [d.known(np.array([d.number(1, 8)]), d.chance(0.7))]
    numbers.append(d.known(np.array([d.rng.uniform(0.2, 0.8)], np.float32), d.chance(0.7)))
    if d.chance(0.6):
        numbers.append(d.known(np.array([d.rng.uniform(0, 0.4)], np.float32), d.chance(0.7)))
    given = [d.known(sides, False), scores, *numbers]
    (y,) = d.add("NonMaxSuppression", given, how=STEPS, center_point_box=int(centers))
    uncertain(d, y)


def _reverse(d: Draft) -> None:
    if d.opset < 10:
        raise Refused("a later operator")
    x = d.take(("float32", "int64", "uint8", "bool", "float64"), ranks=(2, 4))
    time = d.number(0, 1)
    lengths = d.fresh("int64", (x.shape[1 - time],), 1, x.shape[time])
    d.add("ReverseSequence", [x, lengths], how=MOVES, time_axis=time, batch_axis=1 - time)


def _grams(d: Draft) -> None:
    if d.opset < 9:
        raise Refused("a later operator")
    single, pairs = d.number(1, 4), d.number(1, 4)
    pool = [int(n) for n in d.rng.choice(9, single, replace=False)]
    pairs_pool = d.rng.choice(81, pairs, replace=False)
    pool += [int(n) for pair in pairs_pool for n in divmod(int(pair), 9)]
    count = single + pairs
    some: dict[str, Any] = {"weights": [float(w) for w in d.rng.uniform(0.2, 2, count)]} if d.chance(0.6) else {}
    x = d.fresh(d.pick(("int64", "int32")), (*d.pick(((), (d.number(1, 3),))), d.number(2, 9)), 0, 8, constant=False)
    d.add(
        "TfIdfVectorizer",
        [x],
        mode=d.pick(("TF", "IDF", "TFIDF") if some else ("TF",)),
        min_gram_length=d.number(1, 2),
        max_gram_length=2,
        max_skip_count=d.pick((0, 1, 3)),
        ngram_counts=[0, single],
        ngram_indexes=[int(n) for n in d.rng.permutation(count)],
        pool_int64s=pool,
        **some,
    )


DRAWERS: dict[str, Drawer] = {
    "NonZero": _non_zero,
    "Compress": _compress,
    "Unique": _unique,
    "NonMaxSuppression": _suppress,
    "ReverseSequence": _reverse,
    "TfIdfVectorizer": _grams,
}
"""Operator -> what draws it."""
