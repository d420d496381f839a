"""Weights that several models of this process have in common, by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from mmap import mmap
from weakref import WeakValueDictionary

import numpy as np

from aotc.executor.native import CACHE_LINE, Array, aligned_bytes
from aotc.executor.turns import turn


class SharedWeights:
    """Weights by content, each in memory once for as long as somebody has it.

    What is new with one blob is in one piece of memory, in the blob's order: kernels prefetch the weights of the next.
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, Array] = WeakValueDictionary()
        self._turn = turn()

    def taken(self, blob: bytes | mmap, offsets: Sequence[int]) -> list[Array]:
        """The weights that begin at these rising offsets of a blob, each up to the next one; bytes that are known
        already are not copied again."""
        view = memoryview(blob)
        contents = [view[start:end] for start, end in zip(offsets, [*offsets[1:], len(view)], strict=True)]
        digests = [hashlib.sha256(content).digest() for content in contents]
        with self._turn:
            found = {digest: self._known.get(digest) for digest in digests}
            new = {digest: each for digest, each in zip(digests, contents, strict=True) if found[digest] is None}
            memory = aligned_bytes(sum(_room(content) for content in new.values()))
            start = 0
            for digest, content in new.items():
                weight = memory[start : start + len(content)]
                weight[:] = np.frombuffer(content, np.uint8)
                self._known[digest] = found[digest] = weight
                start += _room(content)
        return [weight for digest in digests if (weight := found[digest]) is not None]

    @property
    def nbytes(self) -> int:
        """Bytes of all that somebody has."""
        return sum(weight.nbytes for weight in self._known.values())


def _room(content: memoryview) -> int:
    """Bytes that a weight takes, up to where the next one may begin."""
    return -(-len(content) // CACHE_LINE) * CACHE_LINE
