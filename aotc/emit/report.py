"""NAME.json: the machine-readable report of a compiled model."""

from __future__ import annotations

from aotc.metadata import ModelInfo, to_json


def report_text(info: ModelInfo) -> str:
    """Interface, sizes in bytes, kernels and memory plan as one JSON object."""
    return to_json(info)
