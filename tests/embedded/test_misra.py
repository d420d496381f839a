"""docs/misra.md is what tools/misra_page.py writes: rules that cppcheck finds broken have a reason."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from prefork import tool

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "misra.md"


def test_the_page_is_current() -> None:
    """Counts are of the cppcheck that the page names; with another one, rules without a reason are errors."""
    misra = tool("misra_page")
    version = subprocess.run(["cppcheck", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    text, page = misra.page(misra.findings(), version), PAGE.read_text(encoding="utf-8")
    if version in page:
        assert text == page, "run python tools/misra_page.py"


def test_a_rule_needs_a_reason() -> None:
    misra = tool("misra_page")
    found = {title: Counter(misra.REASONS.keys()) for title in misra.BUILDS}
    assert "| 8.9 | 1 |" in misra.page(found, "a checker")
    with pytest.raises(ValueError, match=r"no reason: \['99.1'\]"):
        misra.page({**found, "typed": found["typed"] + Counter(["99.1"])}, "a checker")
    with pytest.raises(ValueError, match=r"not found: \['8.9'\]"):
        misra.page({title: counts - Counter(["8.9"]) for title, counts in found.items()}, "a checker")


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(int a);\nint f(int a)\n{\n    if (a) { return a >> 1; }\n    return 0;\n}\n")
    assert {"10.1", "15.5"} <= tool("misra_page").broken(tmp_path).keys()
