"""The examples of docs/artifacts.md and of the code generators beside it run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "models" / "data"
PAGE = (ROOT / "docs" / "artifacts.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def install(project: str, folder: Path) -> None:
    """Have entry points found in `folder`, as pip would."""
    groups = tomllib.loads(project)["project"]["entry-points"]
    lines = [line for group in groups for line in (f"[{group}]", *(f"{n} = {v}" for n, v in groups[group].items()))]
    described = folder / "example-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 0\n")
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")


def run(command: list[str | Path], folder: Path, *paths: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT, *paths)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_run(tmp_path: Path) -> None:
    """Those in Python, in order, with the package that is one of them; what it loads computes what was recorded."""
    shutil.copy(DATA / "hello_world_float" / "model.onnx", tmp_path)
    groups = [block for block in blocks(PAGE, "toml") if "aotc.codegens" in block]
    first, module, use = blocks(PAGE, "python")
    assert module.startswith("# aotc_rectifier.py") and len(groups) == 1
    (tmp_path / "aotc_rectifier.py").write_text(module)
    install(groups[0], tmp_path)
    for end in ("inputs", "outputs"):
        shutil.copy(DATA / "hello_world_float" / f"{end}.npz", tmp_path)
    check = """
import numpy as np
with np.load("inputs.npz") as given, np.load("outputs.npz") as recorded:
    for name, array in model(dict(given)).items():
        np.testing.assert_allclose(array, recorded[name], rtol=1e-4, atol=1e-5)
assert any(kernel.codegen == "rectifier" for kernel in artifacts.metadata.kernels)
"""
    run([sys.executable, "-W", "error", "-c", first + use + check], tmp_path)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"model.c", "model.json", "model.o"}


@pytest.mark.parametrize("name", ["blas", "cmsis_nn"])
def test_the_commands_of_the_examples_run(name: str, tmp_path: Path) -> None:
    """Beside the sources of the package instead of installed."""
    if name == "blas":
        pytest.importorskip("scipy_openblas32", reason="pip install examples/blas brings OpenBLAS")
    example = ROOT / "examples" / name
    install((example / "pyproject.toml").read_text(encoding="utf-8"), tmp_path)
    shutil.copy(DATA / "hello_world_int8" / "model.onnx", tmp_path)
    (commands,) = blocks((example / "README.md").read_text(encoding="utf-8"), "sh")
    installation, compilation = commands.splitlines()
    assert installation == f"pip install ./examples/{name}"
    run([Path(sys.executable).with_name(compilation.split()[0]), *compilation.split()[1:]], tmp_path, example)
    listed = (tmp_path / "out" / "model.json").read_text(encoding="utf-8")
    assert ('"codegen": "cmsis-nn"' in listed) == (name == "cmsis_nn"), "no product of that model is large"


def test_tables_name_what_there_is() -> None:
    """Every view has its row, and every loader of ours."""
    from aotc.compiler.inspectors import INSPECTORS
    from aotc.model import artifacts

    views = {(suffix, method) for _, suffix, method in (name.split(".") for name in INSPECTORS)}
    rows = re.findall(r"^\| (`\.[^|]*) \| (.*) \|$", PAGE, re.MULTILINE)
    documented = {
        (suffix, method)
        for heads, text in rows
        for suffix in re.findall(r"`\.(\w+)`", heads)
        for method in re.findall(r"`(\w+)`", text)
    }
    assert views <= documented
    for loader in (artifacts.METADATA, artifacts.NATIVE, artifacts.LIBRARY, artifacts.JIT, artifacts.PARAMETERS):
        assert f"| `{loader}` |" in PAGE
