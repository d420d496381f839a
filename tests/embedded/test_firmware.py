"""The firmware project of examples/ builds as its README says and says the right words on the emulated board."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TOOLS = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project to build in."""
    for name in ("firmware", "micro_speech"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("build*", "*.elf"))
    return tmp_path / "firmware"


def tool(command: Sequence[str], folder: Path) -> None:
    environment = os.environ | {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def heard(elf: Path) -> list[str]:
    """The text that the firmware writes to the serial port; it never ends by itself."""
    command = ["qemu-system-arm", "-M", "microbit", "-nographic", "-monitor", "none", "-kernel", str(elf)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as board:
        assert board.stdout is not None
        lines = [board.stdout.readline().strip() for _ in range(2)]
        board.kill()
    return lines


WORDS = ["the recording of yes: yes", "the recording of no: no"]


@pytest.mark.parametrize("choice", ["OBJECT=", "OBJECT=1"])
def test_make(project: Path, choice: str) -> None:
    tool(["make", choice], project)
    assert heard(project / "firmware.elf") == WORDS


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake(project: Path) -> None:
    tool(["cmake", "-B", "out", "-DCMAKE_TOOLCHAIN_FILE=cortex-m0.cmake"], project)
    tool(["cmake", "--build", "out"], project)
    assert heard(project / "out" / "firmware.elf") == WORDS
