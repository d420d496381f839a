"""NAME.json is not trusted: each member has the type that the classes say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

import aotc
from aotc.model.metadata import from_json, to_json

MODEL = '<ir_version: 10, opset_import: ["" : 18]> add (float[1,2] a, float[1,2] b) => (float[1,2] c) { c = Add(a, b) }'


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("metadata")
    aotc.compile_to(onnx.parser.parse_model(MODEL), folder, name="m")
    return (folder / "m.json").read_text()


def test_what_was_written_is_read(text: str) -> None:
    assert from_json(to_json(from_json(text))) == from_json(text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "/../m"),
        (("name",), "../m"),
        (("name",), 5),
        (("workspace_bytes",), "16"),
        (("workspace_bytes",), True),
        (("threads",), 1.5),
        (("features",), "avx2"),
        (("inputs", 0, "shape"), [1, "2"]),
        (("inputs", 0, "dtype"), None),
        (("inputs", 0, "scale"), "1"),
        (("plan", "order"), 3),
        (("plan", "buffers"), 3),
        (("kernels", 0, "nodes"), [[]]),
        (("version",), 99),
    ],
)
def test_other_types_are_refused(text: str, path: tuple[Any, ...], value: object) -> None:
    members = json.loads(text)
    inner = members
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(ValueError):
        from_json(json.dumps(members))
