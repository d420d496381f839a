"""The kinds of cases, each a function of a seed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx

from fuzz.catalogue import draw
from fuzz.damage_caches import damaged_cache
from fuzz.damage_ir import damaged_ir
from fuzz.damage_models import damaged_model
from fuzz.drafts import Specimen
from fuzz.isolation import Case
from fuzz.minimise import minimised
from fuzz.models import Failure, check, chosen


def model(seed: int) -> str:
    """A random model by several routes."""
    return check(draw(seed))


CASES: dict[str, tuple[Case, float]] = {
    "models": (model, 0.6),
    "damaged models": (damaged_model, 0.2),
    "damaged IR": (damaged_ir, 0.15),
    "damaged caches": (damaged_cache, 0.05),
}
"""Kind -> its case, and its share of the time."""


def keep(seed: int, folder: Path) -> Specimen:
    """Write the model of a seed that fails, made as small as it gets, with its inputs and what should come out."""
    specimen = draw(seed)
    routes = chosen(specimen)

    def failure(each: Specimen) -> str | None:
        try:
            check(each, routes)
        except Failure as error:
            return error.kind
        return None

    kind = failure(specimen)
    if kind is not None:
        specimen = minimised(specimen, lambda each: failure(each) == kind)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(specimen.model(), folder / "model.onnx")
    np.savez(folder / "inputs.npz", **specimen.feed())
    np.savez(folder / "outputs.npz", **{name: specimen.values[name].array for name in specimen.outputs})
    allowed = {name: specimen.values[name].error for name in specimen.outputs}
    (folder / "case.json").write_text(
        json.dumps(
            {"seed": seed, "routes": [route.name for route in routes], "allowed": allowed, "kind": kind}, indent=2
        )
    )
    return specimen
