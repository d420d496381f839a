"""A loader and an inspector of this package, found by name."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import numpy as np
import pytest

import aotc
from aotc.compiler.inspectors import inspect
from aotc.executor.loading import Linked, load
from aotc.executor.native import CONVENTIONS

MODEL = Path(__file__).parents[3] / "tests/models/data/kws_float/model.onnx"
GAINS = aotc.Artifact("signal", "signal-gains", "m.gains", json.dumps({"signal.louder": 2.0}).encode(), "flash")


@pytest.fixture(scope="module")
def artifacts() -> aotc.ArtifactSet:
    packed = {"interface_api": "packed", "operator_api": "packed", "runtime": "host"}
    made = aotc.build(MODEL, name="m", emit="c", optimize="0", **packed)
    return aotc.ArtifactSet((*made, GAINS))


def _call(find: object, name: str, array: np.ndarray) -> int:
    """What the registry of a library has under a name, called."""
    function = ctypes.c_void_p()
    get = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)(find("AOTCFuncGetGlobal"))
    assert get(name.encode(), ctypes.byref(function)) == 0
    arguments = CONVENTIONS["packed"]([array], [], [])
    return ctypes.CFUNCTYPE(ctypes.c_int32)(function.value)(*arguments)


def test_f5_what_a_loader_gives_is_found_by_name(artifacts: aotc.ArtifactSet) -> None:
    host = Linked().open(artifacts)
    model = artifacts.loaded_on(host)
    x = np.array([1, -2.5, 3], np.float32)
    assert _call(host.find, "signal.louder", x) == 0
    assert x.tolist() == [2, -5, 6]
    assert model.metadata.name == "m"


def test_f10_a_library_carries_it_to_its_loader(
    artifacts: aotc.ArtifactSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[aotc.Artifact] = []
    monkeypatch.setattr("aotc_signal.gains.load", lambda group: seen.extend(group) or {})
    load(artifacts.export_library(tmp_path / "m.so"))
    assert seen == [GAINS]


def test_a_loader_that_nobody_has_is_named(artifacts: aotc.ArtifactSet) -> None:
    strange = aotc.ArtifactSet((*artifacts, aotc.Artifact("x", "nowhere", "m.x", b"")))
    wrong = pytest.raises(aotc.UsageError, match=r"m\.x.*'nowhere'.*aotc\.loaders.*\[unknown-loader\]")
    with pytest.warns(UserWarning, match=r"nothing loads m\.x"), wrong:
        strange.load()


def test_code_that_calls_nothing_by_name_takes_no_functions(artifacts: aotc.ArtifactSet) -> None:
    plain = aotc.build(MODEL, name="m", emit="object", optimize="0")
    with pytest.raises(aotc.UsageError, match=r"signal\.louder.*--operator-api packed.*\[no-registration\]"):
        aotc.ArtifactSet((*plain, GAINS)).load()


def test_f16_an_inspector_from_outside() -> None:
    assert inspect(GAINS) == inspect(GAINS, "decibels") == "signal.louder +6.0 dB"
    with pytest.raises(aotc.UsageError, match=r"--as nonsense.*\[unknown-view\]"):
        inspect(GAINS, "nonsense")
