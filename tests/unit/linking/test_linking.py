"""Several models in one program: C1-C4, B4. The rig does the same on a board."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from three_models import MAIN, MODELS, compile_models

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

MIXED = {"sine": "c", "quantised": "object", "again": "static"}


@dataclass(frozen=True)
class Built:
    """The models as one kind, or each as one of its own."""

    folder: Path
    """With their headers."""
    objects: tuple[Path, ...]
    """C is compiled."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """By name: each is compiled once."""

    @cache
    def build(kind: str) -> Built:
        folder = tmp_path_factory.mktemp(kind)
        objects: list[Path] = []
        for file in compile_models(folder, MIXED if kind == "mixed" else kind):
            unit = file.with_suffix(".o") if file.suffix == ".c" else file
            if unit != file:
                subprocess.run(["gcc", "-std=c99", "-Og", "-march=native", "-c", file, "-o", unit], check=True)
            objects.append(unit)
        return Built(folder, tuple(objects))

    return build


def link_and_run(models: Built, folder: Path, compiler: str = "gcc", standard: str = "-std=c99") -> None:
    """Link the program in `folder` and run it."""
    language = "c++" if "++" in compiler else "c"
    command = [
        compiler,
        standard,
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        f"-I{models.folder}",
        "-x",
        language,
        str(MAIN),
    ]
    subprocess.run([*command, "-x", "none", *map(str, models.objects), "-lm", "-o", folder / "program"], check=True)
    assert subprocess.run([folder / "program"], check=False).returncode == 0


@pytest.mark.parametrize("kind", ["c", "object", "static", "mixed"])
def test_c4_models_and_a_model_under_two_names_run_in_one_program(
    kind: str, built: Callable[[str], Built], tmp_path: Path
) -> None:
    link_and_run(built(kind), tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("kind", ["c", "object"])
def test_the_headers_and_the_program_are_cpp_too(kind: str, built: Callable[[str], Built], tmp_path: Path) -> None:
    link_and_run(built(kind), tmp_path, "g++", "-std=c++17")


@pytest.mark.parametrize("kind", ["c", "object"])
def test_b4_c1_c2_c3_a_model_defines_its_entry_and_its_descriptor(kind: str, built: Callable[[str], Built]) -> None:
    for name, unit in zip(MODELS, built(kind).objects, strict=True):
        nm = subprocess.run(["nm", "-g", unit], check=True, capture_output=True, text=True).stdout
        defined = {line.split()[2] for line in nm.splitlines() if len(line.split()) == 3}
        assert defined - {f"aotc_{name}_supported"} == {f"aotc_{name}_run", f"aotc_{name}_model"}


def test_all_of_one_model_is_in_one_file(built: Callable[[str], Built]) -> None:
    """A2, A21: an object wants nothing but a C library."""
    for file in built("object").objects:
        nm = subprocess.run(["nm", "-u", file], check=True, capture_output=True, text=True).stdout
        assert {line.split()[-1] for line in nm.splitlines() if line.strip()} <= {"memcpy", "memset", "memmove"}
