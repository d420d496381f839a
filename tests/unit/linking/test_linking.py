"""Several models in one program: C1-C4, B4. The rig does the same on a board."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from three_models import MAIN, MODELS, compile_models

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

MIXED = {"sine": "c", "quantised": "object", "again": "static"}


def build_and_run(folder: Path, files: list[Path], compiler: str = "gcc", standard: str = "-std=c99") -> None:
    """Link the program in `folder` and run it."""
    objects: list[Path] = []
    for file in files:
        if file.suffix == ".c":
            objects.append(file.with_suffix(".o"))
            subprocess.run(["gcc", "-std=c99", "-Og", "-march=native", "-c", file, "-o", objects[-1]], check=True)
        else:
            objects.append(file)
    language = "c++" if "++" in compiler else "c"
    command = [compiler, standard, "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{folder}", "-x", language, str(MAIN)]
    subprocess.run([*command, "-x", "none", *map(str, objects), "-lm", "-o", folder / "program"], check=True)
    assert subprocess.run([folder / "program"], check=False).returncode == 0


@pytest.mark.parametrize("emit", ["c", "object", "static", MIXED], ids=["c", "object", "static", "mixed"])
def test_c4_models_and_a_model_under_two_names_run_in_one_program(tmp_path: Path, emit: dict[str, str] | str) -> None:
    build_and_run(tmp_path, compile_models(tmp_path, emit))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("emit", ["c", "object"])
def test_the_headers_and_the_program_are_cpp_too(tmp_path: Path, emit: str) -> None:
    build_and_run(tmp_path, compile_models(tmp_path, emit), "g++", "-std=c++17")


@pytest.mark.parametrize("emit", ["c", "object"])
def test_b4_c1_c2_c3_a_model_defines_its_entry_and_its_descriptor(tmp_path: Path, emit: str) -> None:
    for name, file in zip(MODELS, compile_models(tmp_path, emit), strict=True):
        unit = file
        if emit == "c":
            unit = tmp_path / f"{name}.o"
            subprocess.run(["gcc", "-std=c99", "-march=native", "-c", file, "-o", unit], check=True)
        nm = subprocess.run(["nm", "-g", unit], check=True, capture_output=True, text=True).stdout
        defined = {line.split()[2] for line in nm.splitlines() if len(line.split()) == 3}
        assert defined - {f"aotc_{name}_supported"} == {f"aotc_{name}_run", f"aotc_{name}_model"}


def test_all_of_one_model_is_in_one_file(tmp_path: Path) -> None:
    """A2, A21: an object wants nothing but a C library."""
    for file in compile_models(tmp_path, "object"):
        nm = subprocess.run(["nm", "-u", file], check=True, capture_output=True, text=True).stdout
        assert {line.split()[-1] for line in nm.splitlines() if line.strip()} <= {"memcpy", "memset", "memmove"}
