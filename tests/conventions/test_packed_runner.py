"""The self-contained example: its README runs as it stands (B7, B22) and is right about memory (B10, B23)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building import COMPILERS, WARNINGS

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["sh", "-euc", script], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )


def test_b22_the_commands_of_the_readme_build_it_and_it_hears_yes(tmp_path: Path) -> None:
    for name in ("packed_runner", "micro_speech"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("build"))
    folder = tmp_path / "packed_runner"
    script = re.search(r"```sh\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert script is not None
    done = shell(script[1], folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "yes"

    compile_, _, _, _, build, *listening = script[1].replace("\\\n", "").splitlines()
    listen = "\n".join(listening)
    strict = build.replace("cc ", f"cc {' '.join(WARNINGS)} ", 1)
    done = shell(f"{strict}\n{listen.replace('yes.npz', 'no.npz')}", folder / "build")
    assert (done.returncode, done.stdout) == (0, "no\n"), done.stderr

    done = shell(f"{build.replace('(1<<2)', '0')}\n{listen}", folder / "build")
    assert (done.returncode, done.stderr) == (2, "error -6\n"), "no memory"

    inside = f"{compile_.replace(' --workspace caller', '')}\ncd build\n{build.replace('(1<<2)', '0')}\n{listen}"
    done = shell(inside, folder)
    assert done.returncode == 0 and done.stdout.split()[-1] == "yes", done.stderr
