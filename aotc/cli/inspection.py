"""The views of `aotc inspect`: of a model, an output folder and a library what they say of themselves, of any other
file what its inspector makes of it."""

from __future__ import annotations

import json
import mmap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aotc.compiler.cache import cached_set
from aotc.errors import UsageError
from aotc.model.artifacts import METADATA, NONE, Artifact
from aotc.model.metadata import ModelInfo, from_json

_MODELS = (".onnx", ".tflite", ".so")
"""Files that are described, unless a view is asked for."""


def view(path: Path, method: str | None) -> str | None:
    """The text of an inspector; None for what is described. Raises OSError, UsageError."""
    from aotc.compiler.inspectors import inspect, inspectors, listing

    if path.is_dir():
        if method is not None:
            raise UsageError("unknown-view", f"--as {method}", f"{path} is a folder", "name a file in it")
        return listing(cached) if (cached := cached_set(path)) is not None else None
    artifact = Artifact("", NONE, path.name, b"")
    if method is None and (path.suffix in _MODELS or not inspectors(artifact)):
        return None
    codegen, metadata = _listed(path)
    return inspect(Artifact(codegen, NONE, path.name, path.read_bytes()), method, metadata)


def _listed(path: Path) -> tuple[str, Artifact | None]:
    """Who made a file, and the metadata of a model beside it that says so."""
    for listing in sorted(path.parent.glob("*.json")):
        try:
            content = listing.read_bytes()
            for each in json.loads(content).get("artifacts", ()):
                if each["name"] == path.name:
                    return str(each["codegen"]), Artifact("aotc", METADATA, listing.name, content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return "", None


def describe(path: Path) -> dict[str, Any]:
    """Inputs, outputs, sizes and so on as plain data. Raises OSError, CompileError, UsageError."""
    if path.is_dir():
        reports = sorted(path.glob("*.json"))
        if not reports:
            fix = "name a folder that `aotc compile` wrote"
            raise UsageError("invalid-file", f"{path} holds no NAME.json", fix=fix)
        found = [_report(path) for path in reports]
        return found[0] if len(found) == 1 else {"models": found}
    if path.suffix == ".so":
        return asdict(_of_library(path))
    from aotc.frontend import onnx, tflite

    is_tflite = tflite.content_of(path) is not None
    return tflite.summarize(tflite.load_model(path)) if is_tflite else onnx.summarize(onnx.load_model(path))


def _of_library(path: Path) -> ModelInfo:
    """The metadata of a library, or NAME.json beside it: the bytes are read, and nothing in them runs."""
    from aotc.executor.dynamic_symbols import metadata_text

    with path.open("rb") as stream:
        try:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as image:
                text = metadata_text(image)
            beside = path.with_suffix(".json")
            if text is None and beside.exists():
                text = beside.read_text(encoding="utf-8")
            if text is not None:
                return from_json(text)
        except ValueError as error:
            raise UsageError("invalid-file", f"{path} is not the library of a model", str(error)) from error
    why = f"there is no {beside.name} beside it"
    fix = "what the tables of a packed library say, `aotc.load` reads, which runs what is in it"
    raise UsageError("invalid-file", f"{path} has no metadata of a model", why, fix)


def _report(path: Path) -> dict[str, Any]:
    try:
        return asdict(from_json(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise UsageError("invalid-file", f"{path} is not the report of a model", str(error)) from error
