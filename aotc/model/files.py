"""Writing artefacts: all of them or none, each under a temporary name first."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import TypeAlias

Binary: TypeAlias = "bytes | memoryview | mmap"
Content: TypeAlias = "str | Binary | Iterable[str | Binary]"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
"""Of a file that nobody else has or has put there, be it a symbolic link."""


def write_files(directory: Path, files: Mapping[str, Content]) -> list[Path]:
    """Write `files` (name: content) into `directory`, created if missing; returns their paths.

    Every file is written completely under a temporary name before the first is renamed, so that an error or an
    interrupt leaves what was there before. Names are random and files new, so that any number of threads and processes
    may write into one folder. A symbolic link of a file's name is replaced, not followed. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pending: list[tuple[Path, Path]] = []
    try:
        for name, content in files.items():
            final = directory / name
            temporary = directory / f".{name}.{secrets.token_hex(8)}.tmp"
            pending.append((temporary, final))
            with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as stream:
                for chunk in (content,) if isinstance(content, str | bytes | memoryview | mmap) else content:
                    stream.write(chunk.encode() if isinstance(chunk, str) else chunk)
        for temporary, final in pending:
            os.replace(temporary, final)
    except BaseException:
        for temporary, _ in pending:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise
    return [final for _, final in pending]
