"""What `aotc inspect` shows of a model, of an output folder, of a shared library."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from aotc.errors import Problem, UsageError
from aotc.model.metadata import from_json


def describe(path: Path) -> dict[str, Any]:
    """Inputs, outputs, sizes and so on as plain data. Raises OSError, CompileError, UsageError."""
    if path.is_dir():
        reports = sorted(path.glob("*.json"))
        if not reports:
            raise UsageError(Problem(f"{path} holds no NAME.json", fix="name a folder that `aotc compile` wrote"))
        found = [_report(path) for path in reports]
        return found[0] if len(found) == 1 else {"models": found}
    if path.suffix == ".so":
        from aotc.executor import load

        return asdict(load(path).metadata)
    from aotc.frontend.onnx import load_model, summarize

    return summarize(load_model(path))


def _report(path: Path) -> dict[str, Any]:
    try:
        return asdict(from_json(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise UsageError(Problem(f"{path} is no report of a model", why=str(error))) from error
