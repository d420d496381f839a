"""Writing artefacts: all or none, by any number of writers at once, and never through a link."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from aotc.model import files
from aotc.model.files import write_files


def _write(folder: Path, number: int) -> None:
    for _ in range(50):
        write_files(folder, {"a": bytes([number]) * 5000, "b": [bytes([number])] * 5000})


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_writers_at_once(kind: type[ThreadPoolExecutor] | type[ProcessPoolExecutor], tmp_path: Path) -> None:
    with kind(8) as pool:
        list(pool.map(partial(_write, tmp_path), range(8)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert len(content) == 5000 and len(set(content)) == 1


def test_links_are_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "a").symlink_to("victim")
    write_files(tmp_path, {"a": "new"})
    assert (tmp_path / "victim").read_text() == "kept"
    assert (tmp_path / "a").read_text() == "new" and not (tmp_path / "a").is_symlink()


def test_temporary_names_are_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / ".a.0.tmp").symlink_to("victim")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "0")
    with pytest.raises(FileExistsError):
        write_files(tmp_path, {"a": "new"})
    assert (tmp_path / "victim").read_text() == "kept"


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    with pytest.raises(TypeError):
        write_files(tmp_path, {"a": "after", "b": [None]})  # type: ignore[list-item]
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_text() == "before"


def test_the_mode_is_the_users(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        (path,) = write_files(tmp_path, {"a": ""})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
