"""Writing artefacts: all of them or none, each under a temporary name first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Content: TypeAlias = "str | bytes | Iterable[str | bytes]"


def write_files(directory: Path, files: Mapping[str, Content]) -> list[Path]:
    """Write `files` (name: content) into `directory`, created if missing; returns their paths.

    Every file is written completely under a temporary name before the first is renamed, so that an error or an
    interrupt leaves what was there before. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pending: list[tuple[Path, Path]] = []
    try:
        for name, content in files.items():
            final = directory / name
            temporary = directory / f".{name}.{os.getpid()}.tmp"
            pending.append((temporary, final))
            with temporary.open("wb") as stream:
                for chunk in (content,) if isinstance(content, str | bytes) else content:
                    stream.write(chunk.encode() if isinstance(chunk, str) else chunk)
        for temporary, final in pending:
            os.replace(temporary, final)
    except BaseException:
        for temporary, _ in pending:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise
    return [final for _, final in pending]
