"""Writing artefacts: all of them or none, each under a temporary name first."""

from __future__ import annotations

import errno
import os
import secrets
import signal
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from mmap import mmap
from pathlib import Path
from typing import TypeAlias

Binary: TypeAlias = "bytes | memoryview | mmap"
Content: TypeAlias = "str | Binary | Iterable[str | Binary]"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
"""Of a file that nobody else has or has put there, be it a symbolic link."""


def write_files(directory: Path, files: Mapping[str, Content]) -> list[Path]:
    """Write `files` (name: content) into `directory`, created if missing; returns their paths.

    All or none: every file is written completely under a temporary name before the first is renamed, and what was there
    comes back where a later one cannot be renamed, or where an interrupt arrives until then. Names are random and files
    new, so that any number of threads and processes may write into one folder. A symbolic link of a file's name is
    replaced, not followed. Raises OSError, which names the file, and ValueError where a name is a path.
    """
    for name in files:
        if name in ("", ".", "..") or name != Path(name).name:
            raise ValueError(f"{name!r} is no name of a file")
        if (final := directory / name).is_dir() and not final.is_symlink():
            raise IsADirectoryError(errno.EISDIR, "a folder has the name of the file", str(final))
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as temporaries:
        paths = [directory / name for name in files]
        pending = [_written(final, content, temporaries) for final, content in zip(paths, files.values(), strict=True)]
        _renamed(zip(pending, paths, strict=True), temporaries)
    return paths


def _written(final: Path, content: Content, leftovers: ExitStack) -> Path:
    """The file under a temporary name, which `leftovers` removes where it is still there."""
    temporary = _temporary(final)
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as stream:
            leftovers.callback(temporary.unlink, missing_ok=True)
            for chunk in (content,) if isinstance(content, str | bytes | memoryview | mmap) else content:
                stream.write(chunk.encode() if isinstance(chunk, str) else chunk)
    except OSError as error:
        error.filename = str(final)  # a full disk says nothing of it
        raise
    return temporary


def _temporary(final: Path) -> Path:
    return final.with_name(f".{final.name}.{secrets.token_hex(8)}.tmp")


def _renamed(pending: Iterable[tuple[Path, Path]], leftovers: ExitStack) -> None:
    """All files under their own names, or none of them."""
    done: list[tuple[Path, Path | None]] = []
    with _signals_blocked() as is_interrupted:
        try:
            for temporary, final in pending:
                done.append((final, _backup(final, leftovers)))
                os.replace(temporary, final)
            if not is_interrupted():
                return
        except BaseException:
            _undone(done)
            raise
        _undone(done)


def _backup(final: Path, leftovers: ExitStack) -> Path | None:
    """Files that are there under another name, too, which `leftovers` removes; None where nothing is. Under that name
    alone where the file system has no two names of a file."""
    while final.is_symlink() or final.exists():
        before = _temporary(final)
        leftovers.callback(before.unlink, missing_ok=True)
        with suppress(FileNotFoundError):  # another writer has just replaced it
            _name_again(final, before)
            return before
    return None


def _name_again(final: Path, before: Path) -> None:
    try:
        os.link(final, before, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        os.rename(final, before)


def _undone(done: Sequence[tuple[Path, Path | None]]) -> None:
    """The files as they were before, also where an interrupt arrives on the way, which another thread took."""
    try:
        for final, before in reversed(done):
            if before is None:
                final.unlink(missing_ok=True)
            else:
                with suppress(FileNotFoundError):  # where it is back already
                    os.replace(before, final)
    except KeyboardInterrupt:
        _undone(done)
        raise


@contextmanager
def _signals_blocked() -> Generator[Callable[[], bool]]:
    """Signals that end a program wait until the block is left; whether one waits. (Where the system has no such masks,
    they do not wait.)"""
    if not hasattr(signal, "pthread_sigmask"):
        yield lambda: False
        return
    blocked = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        yield lambda: bool(signal.sigpending() & (blocked - before))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
