"""Weights that several models of this process have in common, by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from mmap import mmap
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np

from aotc.executor.native import Array, aligned_bytes


class SharedWeights:
    """Weights by content, each in memory once for as long as somebody has it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, Array] = WeakValueDictionary()
        self._turn = Lock()

    def taken(self, blob: bytes | mmap, offsets: Sequence[int]) -> list[Array]:
        """The weights that begin at these rising offsets of a blob, each up to the next one; bytes that are known
        already are not copied again."""
        view = memoryview(blob)
        found: list[Array] = []
        with self._turn:
            for start, end in zip(offsets, [*offsets[1:], len(view)], strict=True):
                content = view[start:end]
                digest = hashlib.sha256(content).digest()
                weight = self._known.get(digest)
                if weight is None:
                    weight = aligned_bytes(len(content))
                    weight[:] = np.frombuffer(content, np.uint8)
                    self._known[digest] = weight
                found.append(weight)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all that somebody has."""
        return sum(weight.nbytes for weight in self._known.values())
