"""The examples of docs/python.md run, one after the other."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
MODEL = ROOT / "tests" / "models" / "data" / "kws_float" / "model.onnx"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run(tmp_path: Path) -> None:
    shutil.copy(MODEL, tmp_path / "model.onnx")
    assert len(BLOCKS) >= 8 == len(re.findall(r"^## ", PAGE, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(BLOCKS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "<CompiledModel model: float32[1, 49, 10, 1] -> float32[1, 12]>" in done.stdout
    assert "<DynamicModel model: float32[batch, seq, 4], float32[batch, seq] -> " in done.stdout
    assert done.stdout.count("{'batch': 1, 'seq': ") == 3
    assert "tensor(float) tfl2onnx" in done.stdout and "1 0 ({'input_1': (1, 49, 10, 1)}" in done.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/from-microtvm.md"])
def test_the_page_is_found(page: str) -> None:
    assert "python.md" in (ROOT / page).read_text(encoding="utf-8")


def test_public_names_are_on_the_page() -> None:
    import aotc

    errors = {
        name for name in aotc.__all__ if isinstance(value := getattr(aotc, name), type) and issubclass(value, Exception)
    }
    documented = set(re.findall(r"\baotc\.(\w+)", PAGE))
    assert {"compile", "load", "cpu", "to_dlpack", "InferenceSession"} <= documented & set(aotc.__all__)
    assert documented - set(aotc.__all__) == {"backend"} and not documented & errors
