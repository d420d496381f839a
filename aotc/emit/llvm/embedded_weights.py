"""Embedded weights, which go into an object file without passing through text.

The text has a marker of 32 bytes and zeros where they belong; after code generation the marker is searched in the
object file and the bytes are written over it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.aot.contract import EMBEDDED, MINIMUM_BLOB
from aotc.emit.llvm.syntax import bytes_text
from aotc.errors import CompileError
from aotc.model.weight_store import WeightStore


@dataclass(frozen=True)
class EmbeddedWeights:
    """Where in one blob of `size` bytes, behind `symbol`, each array of the WeightStore lies."""

    symbol: str
    size: int
    offsets: dict[str, int]

    @staticmethod
    def of(module: ModuleOp) -> EmbeddedWeights | None:
        """From a module after `convert-to-llvm`; None where it embeds nothing."""
        for op in module.ops:
            if isinstance(op, llvm.GlobalOp) and (offsets := EMBEDDED.get(op)) is not None:
                size = cast(llvm.LLVMArrayType, op.global_type).size.data
                return EmbeddedWeights(op.sym_name.data, size, dict(offsets))
        return None

    @cached_property
    def marker(self) -> bytes:
        """The bytes that mark the beginning of the blob in the object: the same in every compilation of the model."""
        return hashlib.sha256(f"{self.symbol}:{self.size}".encode()).digest()[:MINIMUM_BLOB]

    def pieces(self, store: WeightStore) -> Iterator[bytes | memoryview]:
        """The contents, one piece after the other."""
        return store.pieces(self.offsets, self.size)

    def marked(self) -> str:
        """The blob as a value of LLVM text: marker and zeros."""
        rest = self.size - MINIMUM_BLOB
        kinds = f"<{{ [{MINIMUM_BLOB} x i8], [{rest} x i8] }}>"
        return f"{kinds} <{{ [{MINIMUM_BLOB} x i8] {bytes_text(self.marker)}, [{rest} x i8] zeroinitializer }}>"

    def text(self, store: WeightStore) -> str:
        """The blob as a value of LLVM text, with its contents."""
        escapes = np.array([f"\\{byte:02X}".encode() for byte in range(256)], "S3")
        blob = np.frombuffer(b"".join(self.pieces(store)), np.uint8)
        return f'[{self.size} x i8] c"{escapes[blob].tobytes().decode()}"'

    def patch(self, image: bytes, store: WeightStore) -> bytes:
        """An object file with the contents in place of the marker; CompileError where there is not exactly one."""
        start = image.find(self.marker)
        end = start + self.size
        zeros = np.frombuffer(image, np.uint8)[start + MINIMUM_BLOB : end]
        if start < 0 or end > len(image) or zeros.any() or image.find(self.marker, end) >= 0:
            what = "the object file does not hold the weights in one piece, so they cannot be set"
            raise CompileError("invalid-file", what)
        view = memoryview(image)
        return b"".join((view[:start], *self.pieces(store), view[end:]))
