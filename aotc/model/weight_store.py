"""The WeightStore: every constant of a model, by key, outside the IR.

IR refers to an array as `dense_resource<key>`; the bytes stay here as read-only numpy views, usually straight onto the
model file's own buffer. A store belongs to one xDSL `Context`, so that passes reach it without a global.
"""

from __future__ import annotations

import ctypes
import mmap as mmap_module
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from xdsl.context import Context

from aotc.errors import CompileError
from aotc.model.limits import MOST_COMPUTED, MOST_FOLDED
from aotc.model.naming import bare_identifier

Array = np.ndarray[Any, Any]

_SLOT = "_aotc_weights"
"""Where a `Context` (not hashable, so no weak dictionary) keeps its store."""


class WeightStore:
    """Named, read-only, C-contiguous arrays. Keys are unique; equal arrays may share memory but keep their names."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}
        self.keeps_all = False
        """IR of every phase is written: nothing is forgotten."""
        self.most_computed = MOST_COMPUTED
        """Bytes that may be added to the model's own constants by what is computed from them, or from nothing."""
        self.most_folded = MOST_FOLDED
        """Bytes of a constant that folding may make of fewer elements."""
        self._computed = 0
        self.given = 0
        """Bytes that nodes of the model may still add because its file has them; calls of functions repeat theirs."""
        self.aside: Callable[[Callable[[], None]], Callable[[], None]] | None = None
        """A function that begins work beside this thread, where that is wanted, and returns one that waits for its
        end."""
        self._empty: list[Array] = []
        """Arrays without contents, in order."""
        self._makers: deque[Callable[[], Array]] = deque()
        """Functions that make the same with contents, of those that are not there yet."""
        self._missing: dict[str, int] = {}
        """The keys of such arrays, and their numbers."""
        self._made: list[Array] = []
        """Those arrays with contents, as far as these are there."""
        self._wait: Callable[[], None] | None = None
        self._forgotten = 0
        """Bytes of arrays that were forgotten since memory was last given back."""

    @staticmethod
    def of(ctx: Context) -> WeightStore:
        """The store of this compilation, created empty at first use."""
        return vars(ctx).setdefault(_SLOT, WeightStore())

    def attach(self, ctx: Context) -> None:
        """Make this the store of `ctx`."""
        vars(ctx)[_SLOT] = self

    def add(self, hint: str, array: Array) -> str:
        """Store `array` under `hint` or, where that names another array, under `hint` with a number; returns the key.

        An equal array that is there already is reused, so that a pass run again on the same IR gives the same keys.
        """
        *alike, key = self._keys(hint)
        for known in alike:
            if _is_of(self._arrays[known], array.shape, array.dtype) and _has_bytes_of(self[known], array):
                return known
        self._arrays[key] = _read_only(array)
        if self._empty and self._empty[-1] is array:
            self._missing[key] = len(self._empty) - 1
        return key

    def require_room(self, size: int, node: str = "", op_type: str = "") -> None:
        """Raise CompileError, naming the node, unless `size` more bytes of computed constants are allowed."""
        if self._computed + size > self.most_computed:
            after = f", after {self._computed:,} of other nodes" if self._computed else ""
            what = f"constants of {size:,} bytes would be made of it" + after
            why = f"what is computed while compiling may take {self.most_computed:,} bytes"
            raise CompileError("too-large", what, why, "allow more with --max-constants SIZE", node, op_type)

    def count_computed(self, size: int, node: str = "", op_type: str = "") -> None:
        """As `require_room`, and the bytes are there from now on."""
        self.require_room(size, node, op_type)
        self._computed += size

    def count_given(self, size: int, node: str = "", op_type: str = "") -> None:
        """As `count_computed`, of a constant that is an attribute: only what the file has not got counts."""
        of_the_file = min(size, self.given)
        self.given -= of_the_file
        self.count_computed(size - of_the_file, node, op_type)

    # Contents that are computed beside other work

    def may_meet(self, hint: str, shape: Sequence[int], dtype: np.dtype[Any]) -> bool:
        """Whether `add` under `hint` would look at the contents of an array of this shape and dtype."""
        return any(_is_of(self._arrays[key], shape, dtype) for key in self._keys(hint)[:-1])

    def _keys(self, hint: str) -> list[str]:
        """The keys that begin with `hint` and are taken, in order, and the first that is not."""
        keys = [bare_identifier(hint)]
        while keys[-1] in self._arrays:
            keys.append(f"{keys[0]}_{len(keys)}")
        return keys

    def fill_later(self, empty: Array, make: Callable[[], Array]) -> None:
        """Let `make` give the contents of `empty`, which is added next, after all that was said before and once there
        is a `begin`. Whoever reads it waits for that; `described` does not."""
        if self._wait is not None:
            self.settle()
        self._empty.append(empty)
        self._makers.append(make)

    def begin(self) -> None:
        """Begin to make the contents that were left for later."""
        if self._empty and self._wait is None and self.aside is not None:
            self._wait = self.aside(self._make)

    def _make(self) -> None:
        while self._makers:
            self._made.append(self._makers[0]())
            self._makers.popleft()  # and what it was made of may go

    def settle(self) -> None:
        """Wait until all arrays have their contents. Raises what making them raised."""
        if not self._empty:
            return
        if self._wait is not None:
            self._wait()
        else:
            self._make()
        for key, number in self._missing.items():
            self._arrays[key] = _read_only(self._made[number])
        self._empty, self._missing, self._made, self._wait = [], {}, [], None

    def is_missing(self, key: str) -> bool:
        """Whether the contents of an array are left for later."""
        return key in self._missing

    def described(self, key: str) -> Array:
        """An array of which the shape and the dtype are wanted, not the contents: these may be missing yet."""
        return self._arrays[key]

    def discard(self, keys: Iterable[str]) -> None:
        """Forget arrays that no IR names any more, so that their memory can go."""
        for key in () if self.keeps_all else keys:
            self._missing.pop(key, None)
            if key in self._arrays:
                self._forgotten += self._arrays.pop(key).nbytes
        if self._forgotten >= _MUCH:
            self._forgotten = 0
            give_back()

    def __getitem__(self, key: str) -> Array:
        if key in self._missing:
            self.settle()
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def blob(self, offsets: Mapping[str, int]) -> bytes:
        """The bytes of arrays, by key, at these offsets in one piece of memory; zeros between them."""
        return b"".join(self.pieces(offsets))

    def pages(self, offsets: Mapping[str, int], *, keep: bool) -> mmap | bytes:
        """As `blob`, in memory of its own that begins at a page. Unless the arrays are to be kept they go, one after
        the other, as they are copied, so that there is hardly more than one of the two at a time."""
        places = sorted((offset, key) for key, offset in offsets.items())
        size = max((offset + self[key].nbytes for offset, key in places), default=0)
        if not size:
            return b""
        pages = mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS)
        if huge := getattr(mmap_module, "MADV_HUGEPAGE", 0):  # as numpy has it
            pages.madvise(huge)
        memory = np.frombuffer(pages, np.uint8)
        for offset, key in places:
            memory[offset : offset + self[key].nbytes] = self[key].reshape(-1).view(np.uint8)
            if not keep:
                self.discard([key])
        return pages

    def pieces(self, offsets: Mapping[str, int], size: int = 0) -> Iterator[bytes | memoryview]:
        """The bytes of `blob` one after the other, copied nowhere, and zeros up to `size` behind them."""
        end = 0
        for offset, key in sorted((offset, key) for key, offset in offsets.items()):
            content = self[key].reshape(-1).view(np.uint8)
            assert offset >= end or not content.size, "arrays overlap"
            yield bytes(max(0, offset - end))
            yield content.data
            end = max(end, offset + content.size)
        yield bytes(max(0, size - end))

    def to_bytes(self) -> bytes:
        """Every array as the bytes of an uncompressed npz file (see `load`)."""
        self.settle()
        return npz_bytes({f"{array.dtype.name}:{key}": array for key, array in self._arrays.items()})

    @staticmethod
    def load(path: Path) -> WeightStore:
        """The store that `to_bytes` wrote. Raises OSError or ValueError."""
        import ml_dtypes

        store = WeightStore()
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                dtype, _, key = name.partition(":")
                array = archive[name]
                store.add(key, array.view(getattr(ml_dtypes, dtype)) if array.dtype.kind == "V" else array)
        return store


def _read_only(array: Array) -> Array:
    view = np.asarray(array, order="C").view()
    view.flags.writeable = False
    return view


_MUCH = 1 << 24
"""Bytes that are worth to be given back to the system."""

_FIRST = 1 << 12
"""Bytes that are compared first: arrays that differ nearly always do so there."""


def _is_of(array: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> bool:
    return array.shape == tuple(shape) and array.dtype == dtype


def _has_bytes_of(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape and dtype are the same."""
    if a is b:
        return True
    if a.nbytes > _FIRST:
        first, second = (each.reshape(-1)[: _FIRST // each.itemsize] for each in (a, b))
        if first.tobytes() != second.tobytes():
            return False
    return a.tobytes() == b.tobytes()


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """An uncompressed npz file of `arrays` by name; unlike np.savez it takes any name, `file` too.

    Dtypes that numpy does not know by itself, those of ml_dtypes, become void of their width: it could not read them.
    """
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                plain = array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")
                np.lib.format.write_array(member, plain, allow_pickle=False)
    return stream.getvalue()


def give_back() -> None:
    """Give memory that is free back to the system, where the C library can be told to: else pieces that lie between
    others stay with the process, and of large arrays that come and go that is as much as the arrays."""
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
