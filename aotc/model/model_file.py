"""A model file that is read once, be it a file or a pipe, whoever needs its content."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from aotc.errors import CompileError

if TYPE_CHECKING:
    import onnx

PROTOBUF_LIMIT = (1 << 31) - 1
"""The largest message protobuf reads, in bytes."""


Source: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"
"""A source of a model: a file, its bytes, a ModelProto; a file of IR where the options have `start_at`."""


class ModelFile(os.PathLike[str]):
    """The file of a model at a path, which it stands for. Its content is kept until the importer takes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._content: bytes | None = None
        self._digest: str | None = None
        self._reading: threading.Thread | None = None
        self._failed: Exception | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    def read_ahead(self) -> None:
        """Begin to read the file and to compute its digest, beside what else is to be done before it is needed. An
        error is raised where the content is asked for."""
        self._reading = threading.Thread(target=self._read_ahead, daemon=True)
        self._reading.start()

    def _read_ahead(self) -> None:
        try:
            self._digest = hashlib.sha256(self._read()).hexdigest()
        except Exception as error:
            self._failed = error  # and nobody reads again: of a pipe that would be what comes after

    def _wait(self) -> None:
        if self._reading is not None:
            self._reading.join()
            self._reading = None
        if self._failed is not None:
            raise self._failed

    def digest(self) -> str:
        """The SHA-256 of all bytes in hexadecimal. Raises as `content`."""
        self._wait()
        if self._digest is None:
            self._digest = hashlib.sha256(self._read()).hexdigest()
        return self._digest

    def content(self) -> bytes:
        """All bytes of the file, read at the first call.

        Raises OSError, and CompileError where they are more than a model can have; no more than that is read.
        """
        self._wait()
        return self._read()

    def _read(self) -> bytes:
        if self._content is None:
            with self.path.open("rb") as file:
                data = _at_most(file, PROTOBUF_LIMIT)
            if data is None:
                what = f"{self.path.name} is larger than 2 GiB, the most a protobuf message can have"
                raise CompileError("too-large", what, fix="save the model with its weights as external data")
            self._content = data
        return self._content

    def take(self) -> bytes:
        """The content, which is not kept any longer, as large as it is, where it can be read again."""
        content = self.content()
        if self.path.is_file():
            self._content = None
        return content

    def reread(self) -> Path | bytes:
        """The argument of a custom reader: the path, or where that can be read once only, the content."""
        return self.path if self.path.is_file() else self.content()


_PIECE = 1 << 20
"""Bytes that a file of unknown size, such as a pipe, is read by."""


def _at_most(file: BinaryIO, most: int) -> bytes | None:
    """All that is in a file, None where that is more than `most` bytes. Memory is asked for as there are bytes, not for
    what might come."""
    size = os.fstat(file.fileno()).st_size
    pieces, total = [b""], 0
    while total <= most and size <= most:
        piece = file.read(min(max(size - total, _PIECE), most - total) + 1)
        if not piece:
            return b"".join(pieces) if len(pieces) > 2 else pieces[-1]
        pieces.append(piece)
        total += len(piece)
    return None
