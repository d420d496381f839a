"""Getting at native code: compiled in this process, or in a shared library."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aotc.errors import Problem, UsageError
from aotc.executor.model import CompiledModel
from aotc.executor.native import Array, NativeModel, aligned_bytes
from aotc.machines.features import here
from aotc.model.conventions import entry_symbol, json_symbol
from aotc.model.metadata import ModelInfo, from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aotc.emit.llvm.jit import JitLibrary
    from aotc.pipeline.compilation import Compilation


@dataclass(frozen=True)
class HostCode:
    """A model compiled for this process: its object with a typed (`c`) entry, its weights, and what it is."""

    info: ModelInfo
    image: bytes
    weights: Array
    """The blob for the caller to pass, at an address that is a multiple of a cache line."""

    @staticmethod
    def of(compilation: Compilation) -> HostCode:
        """The code of a module that went through all phases."""
        from aotc.dialects.aot.contract import weight_offsets
        from aotc.emit.llvm.jit import host_object

        blob = compilation.store.blob(weight_offsets(compilation.module))
        return HostCode(compilation.info(), host_object(compilation), _aligned_copy(blob))

    @staticmethod
    def read(info: bytes | mmap, image: bytes | mmap, weights: bytes | mmap) -> HostCode:
        """What was kept as the contents of three files; mapped weights stay where they are until they are used.

        Raises ValueError where `info` is no metadata.
        """
        blob = np.frombuffer(weights, np.uint8) if isinstance(weights, mmap) else _aligned_copy(weights)
        return HostCode(from_json(info[:].decode()), image[:], blob)

    def load(self) -> CompiledModel:
        """The model, ready to run."""
        return self.load_with(())[0]

    def load_with(self, exports: Sequence[str]) -> tuple[CompiledModel, JitLibrary]:
        """The model, and its code, which has the addresses of the symbols `exports`."""
        from aotc.emit.llvm.jit import JitModule

        module = JitModule(self.info.name, self.image, exports, self.info.threads)
        weights = self.weights if self.weights.nbytes else None
        return CompiledModel(NativeModel(self.info, module.address, weights, module)), module.library


def compiled_in_process(compilation: Compilation) -> CompiledModel:
    """Turn a module that went through all phases into code of this process; the entry must be a typed (`c`) one."""
    return HostCode.of(compilation).load()


def load(path: str | os.PathLike[str], threads: int | None = None) -> CompiledModel:
    """Load a shared library that `aotc compile --emit shared` wrote (or one made of generated C, with NAME.json).

    `threads`, if given, is how many threads must run a call together, which was decided when the model was compiled.
    Raises FileNotFoundError, OSError where it is no library, UsageError (a ValueError) where it is none of a model, or
    of one that cannot be called, or not for so many threads, or not on this processor.
    """
    try:
        return _load(Path(path), threads)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def _load(library: Path, threads: int | None) -> CompiledModel:
    content = library.read_bytes()
    # A name of its own for each load: the dynamic loader would take a rewritten file for the one it knows.
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        link = Path(folder) / library.name
        link.symlink_to(library.resolve())
        handle = ctypes.CDLL(str(link))
    info = _read_info(library, content, handle)
    _check_features(library, info)
    if threads is not None and threads != info.threads:
        raise ValueError(f"{library} was compiled with threads={info.threads}, not {threads}")
    symbol = entry_symbol(info.name, info.interface_api)
    try:
        address = ctypes.cast(getattr(handle, symbol), ctypes.c_void_p).value
    except AttributeError as error:
        raise ValueError(f"{library} has no function {symbol}") from error
    assert address is not None
    return CompiledModel(NativeModel(info, address, _weights_beside(library, info), handle))


def _check_features(library: Path, info: ModelInfo) -> None:
    """Raise UsageError where this processor lacks something that the code of a library was compiled for."""
    found = here()
    if found is None or not (missing := [name for name in info.features if name not in found]):
        return
    raise UsageError(
        Problem(
            f"{library} was compiled for a processor with {', '.join(info.features)}",
            why=f"this one has {', '.join(found) or 'none of these'}, and not {', '.join(missing)}",
            fix="compile the model on this machine, or with a --target that it has",
        )
    )


def _read_info(library: Path, content: bytes, handle: ctypes.CDLL) -> ModelInfo:
    """The metadata in the library, else in the file NAME.json beside it."""
    symbols = re.findall(json_symbol(r"\w+").encode() + rb"\0", content)
    for symbol in sorted({found[:-1].decode() for found in symbols}):
        try:
            text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(handle, symbol)))
        except ValueError:  # the name of something that is not exported
            continue
        return from_json(text.decode())
    beside = library.with_suffix(".json")
    if not beside.exists():
        raise ValueError(f"{library} has no metadata of a model, and there is no {beside.name} beside it")
    return from_json(beside.read_text(encoding="utf-8"))


def _weights_beside(library: Path, info: ModelInfo) -> Array | None:
    """The blob of a model that takes its weights from its caller."""
    if info.weights != "caller" or not info.weights_bytes:
        return None
    return _aligned_copy((library.parent / f"{info.name}.weights.bin").read_bytes())


def _aligned_copy(blob: bytes | bytearray) -> Array:
    memory = aligned_bytes(len(blob))
    memory[:] = np.frombuffer(blob, np.uint8)
    return memory
