"""The kinds of cases, each a function of a seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from fuzz.catalogue import draw
from fuzz.damage_caches import damaged_cache
from fuzz.damage_ir import damaged_ir
from fuzz.damage_lite import damaged_lite_model
from fuzz.damage_models import damaged_model
from fuzz.drafts import Specimen
from fuzz.extremes import draw_extreme
from fuzz.isolation import Case
from fuzz.minimise import minimised
from fuzz.models import Failure, check, chosen
from fuzz.networks import network
from fuzz.oracle import Refused


def model(seed: int) -> str:
    """A random model by several routes."""
    return check(draw(seed))


def extreme(seed: int) -> str:
    """A node on the ends of its types by several routes."""
    try:
        return check(draw_extreme(seed))
    except Refused:
        return "nobody says what comes out"


DRAWN: dict[str, Callable[[int], Specimen]] = {"models": draw, "extremes": draw_extreme}
"""Kind of cases -> the model of a seed."""

CASES: dict[str, tuple[Case, float]] = {
    "models": (model, 0.5),
    "extremes": (extreme, 0.1),
    "budgets": (network, 0.1),
    "damaged models": (damaged_model, 0.15),
    "damaged .tflite files": (damaged_lite_model, 0.1),
    "damaged IR": (damaged_ir, 0.1),
    "damaged caches": (damaged_cache, 0.05),
}
"""Kind -> its case, and its share of the time."""


def keep(kind: str, seed: int, folder: Path) -> Specimen:
    """Write the model of a seed that fails, made as small as it gets, with its inputs and what should come out."""
    specimen = DRAWN[kind](seed)
    routes = chosen(specimen)

    def failure(each: Specimen) -> str | None:
        try:
            check(each, routes)
        except Failure as error:
            return error.kind
        return None

    wrong = failure(specimen)
    if wrong is not None:
        specimen = minimised(specimen, lambda each: failure(each) == wrong)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(specimen.model(), folder / "model.onnx")
    np.savez(folder / "inputs.npz", **specimen.feed())
    np.savez(folder / "outputs.npz", **{name: specimen.values[name].array for name in specimen.outputs})
    allowed = {name: specimen.values[name].error for name in specimen.outputs}
    (folder / "case.json").write_text(
        json.dumps(
            {"seed": seed, "routes": [route.name for route in routes], "allowed": allowed, "kind": wrong}, indent=2
        )
    )
    return specimen
