"""Fingerprints of outputs: the same for the same model, and a change is named."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
MAIN = runpy.run_path(str(TESTS / "fingerprints.py"))["main"]
FOLDER = TESTS / "models" / "data" / "hello_world_float"
TARGET = "cortex-m4"


def arguments(folder: Path, *more: str) -> list[str]:
    return ["--models", str(folder), "--targets", TARGET, *more]


def test_a_second_run_is_the_same_and_a_change_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert MAIN(arguments(FOLDER, "--keep", str(tmp_path / "kept"))) == 0
    lines = capsys.readouterr().out
    files = ["model.c", "model.h", "model.json", "model.ll"]
    assert [line.split(" ")[:3] for line in lines.splitlines()] == [["model", TARGET, file] for file in files]
    assert sorted(path.name for path in (tmp_path / "kept" / "model" / TARGET).iterdir()) == files

    old = tmp_path / "old.txt"
    old.write_text(lines)
    assert MAIN(arguments(FOLDER, "--compare", str(old))) == 0
    assert capsys.readouterr().out == "4 files, all the same\n"

    first, *others = lines.splitlines()
    old.write_text(
        "\n".join([first[:-1] + ("0" if first[-1] != "0" else "1"), *others[1:], f"other {TARGET} model.c 00"])
    )
    assert MAIN(arguments(FOLDER, "--compare", str(old))) == 1
    found = capsys.readouterr().out.splitlines()
    assert found == [f"model {TARGET} model.c differs", f"model {TARGET} model.h new", f"other {TARGET} model.c gone"]


def test_what_cannot_be_compiled_has_its_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.onnx").write_bytes(b"no model")
    assert MAIN(arguments(tmp_path)) == 0
    assert capsys.readouterr().out.startswith(f"broken {TARGET} error ")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no models"):
        MAIN(arguments(tmp_path))
