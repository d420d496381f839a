"""Entries of the cache on disk: written whole or not at all, and read only if they are what was written.

An entry is a folder of plain files with one more, which has the entry's name and the SHA-256 of each file. Nothing in a
folder that others can write is read or written: who can put code there decides what this process runs. All names are
looked up below one open folder and no symbolic link is followed, so that it stays the folder that was checked.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import secrets
import shutil
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

Content: TypeAlias = "bytes | mmap.mmap"

UNFINISHED: Final = ".aotc-"
"""How the names of entries begin while they are written, or removed."""

DIGESTS: Final = ".digests.json"
"""The file of an entry that describes the others."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SMALL: Final = 1 << 20
"""Files of fewer bytes are read, larger ones stay where they are until they are used."""
_CHUNK: Final = 1 << 20


class Unsafe(OSError):
    """A folder is not to be trusted; the text says why."""


class Damaged(ValueError):
    """An entry is not what was written."""


@contextmanager
def opened(folder: str | Path, root: int | None = None) -> Generator[int]:
    """A file descriptor of the folder of all entries, or of one in that, by its name. Raises OSError where it is not
    there, Unsafe, and Damaged for an entry that is not to be trusted."""
    descriptor = os.open(folder, _FOLDER | (0 if root is None else os.O_NOFOLLOW), dir_fd=root)
    try:
        if (why := _why_unsafe(os.fstat(descriptor))) is not None:
            raise Unsafe(why) if root is None else Damaged(why)
        yield descriptor
    finally:
        os.close(descriptor)


def _why_unsafe(state: os.stat_result) -> str | None:
    if state.st_uid != os.geteuid():
        return "it belongs to another user"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write it (mode {stat.S_IMODE(state.st_mode):o})"
    return None


def read(root: int, key: str) -> dict[str, Content]:
    """The files of entry `key` in the open folder `root`, by name. Raises OSError where there is none, Damaged."""
    with opened(key, root) as entry:
        try:
            described = json.loads(_content(entry, DIGESTS)[:])
            digests = dict(described["files"])
            if described["entry"] != key or {*os.listdir(entry)} != {DIGESTS, *digests}:
                raise Damaged("other files than were written")
            files = {name: _content(entry, name) for name in sorted(digests)}
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise Damaged(str(error)) from error
        if wrong := [name for name, content in files.items() if hashlib.sha256(content).hexdigest() != digests[name]]:
            raise Damaged(f"the content of {', '.join(wrong)}")
    return files


def _content(folder: int, name: str) -> Content:
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            raise Damaged(f"{name} is not a file of this user")
        if state.st_size >= _SMALL:
            return mmap.mmap(descriptor, state.st_size, access=mmap.ACCESS_READ)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(_SMALL)
    finally:
        os.close(descriptor)


def write(root: int, key: str, files: Mapping[str, Path | Content]) -> None:
    """Keep copies of `files` as entry `key`. Raises OSError, as where there is one."""
    temporary = _new_name()
    os.mkdir(temporary, 0o700, dir_fd=root)
    try:
        with opened(temporary, root) as entry:
            digests = {name: _copy(entry, name, content) for name, content in files.items()}
            _copy(entry, DIGESTS, json.dumps({"entry": key, "files": digests}).encode())
        os.rename(temporary, key, src_dir_fd=root, dst_dir_fd=root)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True, dir_fd=root)
        raise


def _copy(folder: int, name: str, content: Path | Content) -> str:
    digest = hashlib.sha256()
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as stream:
        if isinstance(content, bytes | mmap.mmap):
            digest.update(content)
            stream.write(content)
            return digest.hexdigest()
        with content.open("rb") as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                stream.write(chunk)
    return digest.hexdigest()


def remove(root: int, name: str) -> None:
    """Remove an entry, whatever it is; first its name, so that nobody finds half of it."""
    gone = _new_name()
    with suppress(OSError):
        os.rename(name, gone, src_dir_fd=root, dst_dir_fd=root)
        if stat.S_ISDIR(os.stat(gone, dir_fd=root, follow_symlinks=False).st_mode):
            shutil.rmtree(gone, ignore_errors=True, dir_fd=root)
        else:
            os.unlink(gone, dir_fd=root)


def _new_name() -> str:
    return f"{UNFINISHED}{secrets.token_hex(8)}"
