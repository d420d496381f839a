"""From a seed to a model: which operators, how many, in which order."""

from __future__ import annotations

import numpy as np

from fuzz.drafts import Draft, Drawer, Specimen
from fuzz.drawers import (
    control,
    elementwise,
    learned,
    microsoft,
    movement,
    networks,
    products,
    rows,
    selection,
    signals,
    vision,
)
from fuzz.oracle import Refused

DRAWERS: dict[str, Drawer] = (
    elementwise.DRAWERS
    | movement.DRAWERS
    | products.DRAWERS
    | rows.DRAWERS
    | control.DRAWERS
    | selection.DRAWERS
    | vision.DRAWERS
    | signals.DRAWERS
    | learned.DRAWERS
    | microsoft.DRAWERS
    | networks.DRAWERS
)

NOT_DRAWN = {
    "ai.onnx.ml.ZipMap": "its result is a sequence of maps, which is a warning and a table of positions",
    **dict.fromkeys(
        ("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"),
        "ONNX has no definition of it: the conformance tests have its forms",
    ),
}
"""Operators without a drawer, and why."""

_MOST_TRIES = 12
"""How often a node is drawn again before a model is finished with those it has."""


def draw(seed: int) -> Specimen:
    """The random model of a seed: one to eight nodes."""
    rng = np.random.default_rng(seed)
    draft = Draft(rng)
    names = list(DRAWERS)
    if draft.chance(0.3):  # one operator and what it is with a few others, again and again
        names = [draft.pick(names) for _ in range(4)]
    count = draft.pick((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))
    while len(draft.nodes) < count:
        for _ in range(_MOST_TRIES):
            before = len(draft.values)
            try:
                DRAWERS[draft.pick(names)](draft)
                break
            except Refused:
                made = {name for node in draft.nodes for name in node.output}
                draft.values[before:] = [value for value in draft.values[before:] if value.name in made]
        else:
            if draft.nodes:
                break
            names = list(DRAWERS)
    return draft.finish(seed)
