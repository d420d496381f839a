"""Getting at native code: compiled in this process, or in a shared library."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aotc.conventions import entry_symbol, json_symbol
from aotc.executor.model import CompiledModel
from aotc.executor.native import Array, NativeModel, aligned_bytes
from aotc.metadata import ModelInfo, from_json

if TYPE_CHECKING:
    from aotc.compilation import Compilation


def compiled_in_process(compilation: Compilation) -> CompiledModel:
    """Turn a module that went through all phases into code of this process; the entry must be a typed (`c`) one."""
    from aotc.emit.jit import JitModule
    from aotc.passes.interface.place_weights import weights_blob

    info = compilation.info()
    module = JitModule(compilation)
    blob = weights_blob(compilation.module, compilation.store)
    return CompiledModel(NativeModel(info, module.address, _aligned_copy(blob) if blob else None, module))


def load(path: str | os.PathLike[str], threads: int = 1) -> CompiledModel:
    """Load a shared library that `aotc compile --emit shared` wrote (or one made of generated C, with NAME.json).

    `threads` is how many threads a call may use; the code is made for one. Raises FileNotFoundError, OSError where it
    is no library, ValueError where it is none of a model or not for so many threads.
    """
    if threads != 1:
        raise ValueError(f"{path} is code for one thread, not {threads}")
    library = Path(path)
    content = library.read_bytes()
    # A name of its own for each load: the dynamic loader would take a rewritten file for the one it knows.
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        link = Path(folder) / library.name
        link.symlink_to(library.resolve())
        handle = ctypes.CDLL(str(link))
    info = _read_info(library, content, handle)
    symbol = entry_symbol(info.name, info.interface_api)
    try:
        address = ctypes.cast(getattr(handle, symbol), ctypes.c_void_p).value
    except AttributeError as error:
        raise ValueError(f"{library} has no function {symbol}") from error
    assert address is not None
    return CompiledModel(NativeModel(info, address, _weights_beside(library, info), handle))


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


def _aligned_copy(blob: bytes) -> Array:
    memory = aligned_bytes(len(blob))
    memory[:] = np.frombuffer(blob, np.uint8)
    return memory
