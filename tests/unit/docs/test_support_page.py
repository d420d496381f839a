"""docs/support.md is what tools/support_page.py writes, and `aotc ops OPERATOR` says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefork import tool

from aotc.cli.main import run
from aotc.frontend.onnx import support, supported_operators
from aotc.frontend.onnx.operators import REFUSED
from aotc.frontend.onnx.support import LIMITS

ROOT = Path(__file__).parents[3]


def test_the_page_is_current() -> None:
    text = tool("support_page").page()
    assert text == (ROOT / "docs" / "support.md").read_text(encoding="utf-8"), "run python tools/support_page.py"


def test_limits_are_of_operators() -> None:
    rows = {row.operator: row for row in support()}
    assert set(LIMITS) <= {name for name, row in rows.items() if not row.refused}
    assert {name for name in REFUSED if name in rows} == {name for name in REFUSED if name != "Gradient"}
    assert all(rows[name].refused for name in REFUSED if name in rows)
    assert {name for name, row in rows.items() if not row.refused} == set(supported_operators())


def test_one_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ops", "gridsample"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "GridSample" and shown[1] == "  versions  16, 20, 22" and "f32" in shown[2]
    assert run(["ops", "ImageDecoder"]) == 0
    assert "not supported: a compressed picture" in capsys.readouterr().out
    assert run(["ops", "NonZero", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["support"]
    assert row["limits"] == LIMITS["NonZero"]
    assert run(["ops", "NoSuch"]) == 2
    assert "there is no operator NoSuch" in capsys.readouterr().err
