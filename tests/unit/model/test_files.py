"""Writing artefacts: all or none, by any number of writers at once, and never through a link."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
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


def _folder(path: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in path.iterdir() if each.is_file()}


def test_a_folder_in_the_way_is_seen_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_files(tmp_path, {"a": "after", "b": "after"})
    assert caught.value.filename == str(tmp_path / "b")
    assert _folder(tmp_path) == {"a": "before"}


@pytest.mark.parametrize("has_links", [True, False])
def test_a_rename_that_fails_takes_those_before_it_back(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "c").write_text("before")
    replace = os.replace

    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == "c" and not Path(source).read_text() == "before":
            raise PermissionError
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", failing)
    if not has_links:
        monkeypatch.setattr(files.os, "link", refused)
    with pytest.raises(PermissionError):
        write_files(tmp_path, {"a": "after", "b": "after", "c": "after"})
    assert _folder(tmp_path) == {"a": "before", "c": "before"}


def test_an_interrupt_between_two_renames_leaves_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("before")
    replace, sent = os.replace, []

    def interrupting(source: Path, target: Path) -> None:
        replace(source, target)
        if not sent:
            sent.append(target)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(files.os, "replace", interrupting)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_files(tmp_path, {"a": "after", "b": "after"})
    finally:
        signal.signal(signal.SIGINT, before)
    # All, where another thread of the test's process took the signal and the handler ran late; never one of them.
    assert sent and _folder(tmp_path) in ({"a": "before"}, {"a": "after", "b": "after"})


def test_an_interrupt_while_renames_are_taken_back_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("before")
    replace, sent = os.replace, []

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == "c":
            raise PermissionError
        if Path(source).read_text() == "before" and not sent:
            sent.append(target)
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", failing)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a": "after", "b": "after", "c": "after"})
    assert sent and _folder(tmp_path) == {"a": "before", "b": "before"}


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    def full() -> Iterator[str]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield ""

    with pytest.raises(OSError, match="No space left") as caught:
        write_files(tmp_path, {"a": full()})
    assert caught.value.filename == str(tmp_path / "a") and not _folder(tmp_path)


@pytest.mark.parametrize("name", ["../a", "/a", "b/a", "..", ""])
def test_a_name_is_no_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_files(tmp_path / "out", {name: "x"})
    assert not list(tmp_path.rglob("*"))
