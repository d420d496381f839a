"""What `aotc inspect` shows of a model, of an output folder, of a shared library."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aotc.errors import Problem, UsageError


def describe(path: Path) -> dict[str, Any]:
    """Inputs, outputs, sizes and so on as plain data. Raises OSError, CompileError, UsageError."""
    if path.is_dir():
        reports = sorted(path.glob("*.json"))
        if not reports:
            raise UsageError(Problem(f"{path} holds no NAME.json", fix="name a folder that `aotc compile` wrote"))
        found = [json.loads(report.read_text()) for report in reports]
        return found[0] if len(found) == 1 else {"models": found}
    if path.suffix == ".so":
        from aotc.executor import load

        return asdict(load(path).metadata)
    from aotc.frontend.onnx import load_model, summarize

    return summarize(load_model(path))
