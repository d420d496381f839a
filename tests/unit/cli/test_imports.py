"""Start-up: what is imported when, and what the tools say about themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import prefork
import pytest

from aotc.pipeline.universe import UNIVERSE

HEAVY = ("xdsl", "onnx", "llvmlite", "numpy", "rich")


def _loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code", ["import aotc", "from aotc.cli.parser import build_parser; build_parser()", "import aotc.errors"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    assert not _loaded_after(code) & set(HEAVY)


def test_compiling_to_c_needs_no_llvm() -> None:
    model = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
    code = f"import aotc, tempfile; aotc.compile_to({str(model)!r}, tempfile.mkdtemp())"
    assert "llvmlite" not in _loaded_after(code)


def test_every_public_name_resolves() -> None:
    import aotc

    for name in aotc.__all__:
        assert getattr(aotc, name) is not None
    with pytest.raises(AttributeError):
        aotc.nonsense  # noqa: B018


def test_aotc_opt_lists_every_pass_with_its_sentence() -> None:
    tool = prefork.commands() / "aotc-opt"
    shown = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    for name in UNIVERSE.all_passes:
        line = next(line for line in shown.splitlines() if line.startswith(f"  {name} "))
        assert len(line.split()) > 4, line
    help_pass = subprocess.run([tool, "--help-pass", "fuse-epilogues"], capture_output=True, text=True, check=True)
    assert "```mlir" in help_pass.stdout
