"""A bare checkout works: the tools run from it, without the package being installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
HIDE = "import sys; sys.argv = sys.argv[1:]; import importlib.metadata as m; found = m.entry_points; "
HIDE += "m.entry_points = lambda **k: m.EntryPoints(p for p in found(**k) if 'aotc' not in p.value); "
HIDE += "import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a tool as if nobody had installed its entry points."""


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDE, str(ROOT / "tools" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")


def test_aotc_compiles(tmp_path: Path) -> None:
    done = tool("aotc", "compile", str(ROOT / "examples/micro_speech/micro_speech.onnx"), "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "micro_speech.c").exists()


def test_aotc_opt_knows_our_passes() -> None:
    test = ROOT / "tests/lit/passes/loops/serialize-parallel-loops.mlir"
    done = tool("aotc-opt", str(test), "-p", "serialize-parallel-loops")
    assert done.returncode == 0 and "scf.for" in done.stdout, done.stderr
