"""One model through every place to keep it and every loader computes the same; several conventions share a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import aotc
from aotc.compiler import cache
from aotc.compiler.cache import cached_set
from aotc.emit.model_library import read_model_library

DATA = Path(__file__).parents[2] / "models/data"
MODELS = {"kws_int8": DATA / "kws_int8" / "model.onnx"}
if (zoo := os.environ.get("AOTC_MODEL_ZOO")) and (Path(zoo) / "mobilenetv2" / "model.onnx").is_file():
    MODELS["mobilenetv2"] = Path(zoo) / "mobilenetv2" / "model.onnx"


def _ways(path: Path, folder: Path) -> Iterator[tuple[str, aotc.CompiledModel]]:
    """The model, by the store and the loader that it went through."""
    yield "process", aotc.compile(path, name="m")
    yield "process, kept", aotc.build(path, name="m", loader="jit").load()
    for kind in ("c", "object", "shared"):
        artifacts = aotc.build(path, name="m", emit=(kind, "mlf"))
        yield f"{kind}: linked", artifacts.load()
        yield f"{kind}: library", aotc.load(artifacts.export_library(folder / kind / "m.so"))
        artifacts.write(folder / kind / "set")
        yield f"{kind}: folder", aotc.ArtifactSet.read(folder / kind / "set").load()
        yield f"{kind}: archive", read_model_library(artifacts["m.tar"].read()).load()
        yield f"{kind}: bytes", aotc.ArtifactSet.of_blob(artifacts.blob()).load()
        if kind == "object":
            yield f"{kind}: in memory", artifacts.jit()
    for _ in range(2):  # written, then found again
        files = aotc.compile_to(path, folder / "cached", name="m", emit="object").files
        yield "cached files", aotc.ArtifactSet.read(files[0].parent).load()
    for entry, _ in cache.entries():
        if (cached := cached_set(entry)) is not None:
            yield f"entry {entry.name[:8]}", cached.load()


@pytest.mark.parametrize("name", MODELS)
def test_f4_f8_f9_every_store_and_loader(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F4, F8, F9, F11, F13, F18: nothing that is kept, moved or linked changes a bit."""
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    inputs: dict[str, np.ndarray] = {}
    found: dict[str, list[np.ndarray]] = {}
    for way, model in _ways(MODELS[name], tmp_path):
        if not inputs:
            random = np.random.default_rng(5)
            for info in model.inputs:
                array = (
                    random.uniform(-1, 1, info.shape) if "float" in info.dtype else random.integers(0, 90, info.shape)
                )
                inputs[info.name] = array.astype(info.dtype)
        found[way] = list(model(inputs).values())
    assert len(found) >= 20
    first = found["process"]
    different = [way for way, arrays in found.items() if not all(map(np.array_equal, arrays, first))]
    assert not different


def test_one_process_has_models_of_three_conventions() -> None:
    """D29: each is called as it was compiled to be, in turns."""
    choices = [
        {"interface_api": "packed", "operator_api": "packed", "runtime": "host"},
        {"interface_api": "micro", "workspace": "caller", "weights": "caller"},
        {"interface_api": "c", "resource_handle": True},
    ]
    loaded = [aotc.build(MODELS["kws_int8"], name="m", emit="object", **choice).load() for choice in choices]
    assert [model.metadata.interface_api for model in loaded] == ["packed", "micro", "c"]
    with np.load(DATA / "kws_int8/inputs.npz") as given, np.load(DATA / "kws_int8/outputs.npz") as recorded:
        inputs, (expected,) = dict(given), recorded.values()
    for _ in range(2):
        for model in loaded:
            (output,) = model(inputs).values()
            assert np.array_equal(output, expected)
