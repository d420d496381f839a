"""The models under test and where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class ZooModel:
    """A model with recorded cases."""

    name: str
    shipped: bool = True
    cases: tuple[str, ...] = ("", "_1")
    dims: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Case -> symbolic dimensions to fix."""
    noise: float = 0.0
    """The largest difference between onnxruntime's own optimised and unoptimised runs."""

    @property
    def folder(self) -> Path | None:
        """Where it is, or None where this machine has it not."""
        if self.shipped:
            return HERE / "data" / self.name
        zoo = os.environ.get("AOTC_MODEL_ZOO")
        folder = None if zoo is None else Path(zoo) / self.name
        return folder if folder is not None and folder.is_dir() else None

    def case(self, case: str) -> tuple[Arrays, Arrays]:
        """Inputs and outputs of a case."""
        assert self.folder is not None
        return _read(self.folder / f"inputs{case}.npz"), _read(self.folder / f"outputs{case}.npz")


def _read(path: Path) -> Arrays:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def tolerance(reference: np.ndarray[Any, Any], noise: float) -> float:
    """The largest allowed absolute difference: float noise, or one unit of an integer output."""
    if reference.dtype.kind in "iu":
        return 1.0
    return max(1e-4 * float(np.abs(reference).max(initial=0.0)) + 1e-5, 3 * noise)


MODELS = (
    ZooModel("hello_world_float"),
    ZooModel("hello_world_int8"),
    ZooModel("micro_speech_int8"),
    ZooModel("kws_float"),
    ZooModel("kws_int8"),
    ZooModel("ic_resnet_float"),
    ZooModel("ic_resnet_int8"),
    ZooModel("g1_policy", shipped=False),
    ZooModel("ultraface_rfb320", shipped=False),
    ZooModel("magika", shipped=False, dims={"": {"unk__214": 1}, "_1": {"unk__214": 2}}),
    ZooModel("minilm_l6_w8", shipped=False, cases=("",), dims={"": {"batch": 1, "sequence": 16}}),
)
