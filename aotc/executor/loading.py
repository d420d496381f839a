"""Getting at native code: linked to a library, compiled in this process, or in a library that is there already.

`ArtifactSet.load` is the whole process; these are its loaders of code.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np

from aotc.errors import UsageError
from aotc.executor.dynamic_symbols import dynamic_symbols, metadata_symbols, require_machine
from aotc.executor.model import CompiledModel
from aotc.executor.native import CACHE_LINE, Array, NativeModel, address_of, aligned_bytes
from aotc.executor.packed_metadata import info_of
from aotc.executor.turns import turn
from aotc.machines.features import here
from aotc.model import conventions
from aotc.model.arguments import checks_kinds
from aotc.model.artifacts import (
    BYTECODE,
    JIT,
    LIBRARY,
    NATIVE,
    PARAMETERS,
    Artifact,
    ArtifactSet,
    in_one_piece,
    listed_digests,
    require_digest,
)
from aotc.model.files import write_files
from aotc.model.metadata import ModelInfo, from_json

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


class SharedWeights:
    """Weights by content, each in memory once for as long as somebody has it.

    What is new with one blob is in one piece of memory, in the blob's order: kernels prefetch the weights of the next.
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, Array] = WeakValueDictionary()
        self._turn = turn()

    def taken(self, blob: bytes | mmap.mmap, offsets: Sequence[int]) -> list[Array]:
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


REGISTER = "AOTCFuncRegisterGlobal"
"""The function of the C runtime that has a packed function found by name."""


@dataclass
class Loaded:
    """Code of a model in this process (`aotc.model.artifacts.Host`)."""

    info: ModelInfo
    find: Callable[[str], int]
    """The address of an exported symbol; KeyError for any other."""
    owner: object
    """Keeps the code in memory."""
    weights: Array | None = None
    bytecode: bytes | None = None
    """The entry, where no code of it was loaded."""
    _added: list[object] = field(default_factory=list[object])
    """Other data that is kept in memory."""

    def add(self, functions: Mapping[str, Any]) -> None:
        """Have packed functions found by name. Raises UsageError where the code asks for none by name."""
        if not functions:
            return
        try:
            register = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)(self.find(REGISTER))
        except KeyError as error:
            why = "its operators are called by their addresses"
            fix = "compile it with --runtime host --operator-api packed"
            what = f"{self.info.name} calls no {', '.join(functions)}"
            raise UsageError("no-registration", what, why, fix) from error
        for name, function in functions.items():
            text = name.encode()
            self._added += [text, function]
            if status := register(text, ctypes.cast(function, ctypes.c_void_p)):
                raise UsageError("failed-run", f"{name} cannot be registered with {self.info.name}", f"status {status}")

    def model(self) -> CompiledModel:
        """The model, ready to run. Raises ValueError where it cannot be called."""
        if self.bytecode is not None:
            from aotc.executor.bytecode import BytecodeModel
            from aotc.vm import Executable

            executable = Executable.from_bytes(self.bytecode)
            native = BytecodeModel(self.info, 0, None, self.owner, self._added, None, self.find, executable=executable)
            return CompiledModel(native)
        address = self.find(self.info.entry())
        weights = self.weights if self.weights is not None and self.weights.nbytes else None
        reset = self.find(conventions.reset_symbol(self.info.name)) if self.info.is_stateful else None
        return CompiledModel(NativeModel(self.info, address, weights, self.owner, self._added, reset, self.find))


class Linked:
    """Native code, linked to one library before it first runs; a library is taken as it is."""

    def open(self, artifacts: ArtifactSet) -> Loaded:
        """Link where that is not done, and load the library. Raises UsageError, CompileError."""
        info = artifacts.metadata
        check_features(info.name, info)
        image = self.link(artifacts)
        require_machine(info.name, image)
        with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
            (path,) = write_files(Path(folder), {f"{info.name}.so": image})
            handle = ctypes.CDLL(str(path))
        return Loaded(info, partial(_address, handle), handle, _parameters(artifacts))

    def link(self, artifacts: ArtifactSet) -> bytes:
        """The library. Raises UsageError, CompileError."""
        from aotc.emit.library import linked

        libraries = artifacts.by_loader().get(LIBRARY)
        return in_one_piece(libraries[0].content if libraries else linked(artifacts))


class InMemory:
    """An object that is run where LLVM's linker puts it in this process; nothing is written."""

    def __init__(self, exports: Sequence[str] = (), shared: SharedWeights | None = None) -> None:
        """`exports` are symbols that are found beside the entry, `shared` weights that models have in common."""
        self._exports = exports
        self._shared = SharedWeights() if shared is None else shared

    def open(self, artifacts: ArtifactSet) -> Loaded:
        """Load the object of the set. Raises UsageError where there is none."""
        from aotc.emit.llvm.jit import load_model_objects

        info = artifacts.metadata
        groups = artifacts.by_loader()
        if outside := sorted({kernel.codegen for kernel in info.kernels if kernel.codegen}):
            raise _refused(info, f"kernels of {', '.join(outside)} are linked with it", "use load()")
        images = [each for each in (*groups.get(JIT, ()), *groups.get(NATIVE, ())) if each.name.endswith(".o")]
        if not images:
            raise _refused(info, "there is no object file", "build it with emit=('object',)")
        for image in images:
            require_machine(image.name, image.read())
        check_features(info.name, info)
        objects = [image.read() for image in images]
        if info.executor == "vm":
            return self._with_bytecode(info, objects, groups[BYTECODE][0].read())
        if info.operator_api == "packed":
            raise _refused(info, "it finds operators by name, by the C runtime, which is linked with it", "use load()")
        if info.weights == "external":
            from aotc.emit.library import weights_object
            from aotc.machines.targets import lookup

            objects.append(weights_object(artifacts).image(lookup(images[0].target)))
        mine = [info.entry()]
        if info.is_stateful:
            mine.append(conventions.reset_symbol(info.name))
        pooled = images[0].loader == JIT and info.threads > 1
        library = load_model_objects(objects, [*mine, *self._exports], info.threads, pooled)
        if not info.weight_offsets:
            return Loaded(info, library.address, library, _parameters(artifacts))
        (parameters,) = artifacts.by_loader()[PARAMETERS]
        content = parameters.content if isinstance(parameters.content, bytes | mmap.mmap) else parameters.read()
        weights = self._shared.taken(content, info.weight_offsets)
        table = np.array([address_of(each) for each in weights], np.uintp)
        return Loaded(info, library.address, library, table, _added=[weights])

    def _with_bytecode(self, info: ModelInfo, objects: Sequence[bytes], bytecode: bytes) -> Loaded:
        """The operators; the entry that descriptors point to is not in memory."""
        from aotc.emit.llvm.jit import load_objects

        operators = [kernel.symbol for kernel in info.kernels]
        nowhere = {info.entry(): 0}
        library = load_objects(objects, [*operators, *self._exports], nowhere)
        return Loaded(info, library.address, library, bytecode=bytecode)

    def link(self, artifacts: ArtifactSet) -> bytes:
        """Refused: says why."""
        from aotc.emit.library import linked

        return in_one_piece(linked(artifacts))


def _refused(info: ModelInfo, why: str, fix: str) -> UsageError:
    return UsageError("not-loadable", f"{info.name} cannot be loaded by jit", why, fix)


def compiled_in_process(compilation: Compilation) -> CompiledModel:
    """Turn a module that went through all phases into code of this process; the entry must be a typed (`c`) one."""
    return opened_in_process(compilation).model()


def opened_in_process(compilation: Compilation, exports: Sequence[str] = ()) -> Loaded:
    """The code of such a module, in which the symbols `exports` are found, too."""
    from aotc.emit.artifacts import in_process

    return InMemory(exports).open(in_process(compilation))


@checks_kinds
def load(path: str | os.PathLike[str], threads: int | None = None) -> CompiledModel:
    """Load a shared library that `aotc compile --emit shared` or `ArtifactSet.export_library` wrote, or one made of
    generated C, with NAME.json beside it or with a packed entry.

    `threads`, if given, is how many threads must run a call together, which was decided when the model was compiled.
    Raises FileNotFoundError, OSError where it is no library, UsageError (a ValueError) where it is none of a model, or
    of one that cannot be called, or not for so many threads, or not on this processor.
    """
    try:
        return _load(Path(path), threads)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError("not-loadable", str(error)) from error


def _load(library: Path, threads: int | None) -> CompiledModel:
    names = _exported(library)
    _require_unchanged(library, names)
    handle = _opened(library)
    info, text = _read_info(library, names, handle)
    check_features(str(library), info)
    supported = conventions.supported_symbol(info.name)  # of features only NAME.json tells, which may be missing
    if supported in names and ctypes.CFUNCTYPE(ctypes.c_int32)((supported, handle))() == 0:
        why, fix = f"its function {supported} says so", "compile the model on this machine, or with another --target"
        raise UsageError("not-this-machine", f"{library} needs a processor that this one is not", why, fix)
    if threads is not None and threads != info.threads:
        raise ValueError(f"{library} was compiled with threads={info.threads}, not {threads}")
    find = partial(_address, handle)
    symbol = info.entry()
    try:
        find(symbol)
    except KeyError as error:
        raise ValueError(f"{library} has no function {symbol}") from error
    host = Loaded(info, find, handle, _weights_beside(library, info, text))
    return ArtifactSet(_carried(handle, conventions.artifacts_symbol(info.name))).loaded_on(host)


def _require_unchanged(library: Path, names: Sequence[str]) -> None:
    """Raise UsageError for a library that has another SHA-256 than NAME.json beside it lists; not for one that somebody
    has linked of the C in the same folder."""
    beside = library.with_suffix(".json")
    if not metadata_symbols(names) or not beside.exists():
        return
    written = listed_digests(beside.read_text(encoding="utf-8", errors="replace")).get(library.name)
    if written is not None:
        with library.open("rb") as stream:
            require_digest(str(library), hashlib.file_digest(stream, "sha256").hexdigest(), written)


def _opened(library: Path) -> ctypes.CDLL:
    """The library, under a name of its own: the dynamic loader would take a rewritten file for the one it knows."""
    link = Path(tempfile.gettempdir(), f"aotc-{uuid4().hex}-{library.name[-64:]}")
    link.symlink_to(library.resolve())
    try:
        return ctypes.CDLL(str(link))
    except OSError as error:
        raise OSError(str(error).replace(str(link), str(library))) from error
    finally:
        link.unlink()


def check_features(what: str, info: ModelInfo) -> None:
    """Raise UsageError where this processor lacks something that the code of a library was compiled for."""
    found = here()
    if found is None or not (missing := [name for name in info.features if name not in found]):
        return
    raise UsageError(
        "not-this-machine",
        f"{what} was compiled for a processor with {', '.join(info.features)}",
        f"this one has {', '.join(found) or 'none of these'}, and not {', '.join(missing)}",
        "compile the model on this machine, or with another --target",
    )


def _address(handle: ctypes.CDLL, symbol: str) -> int:
    """Where an exported symbol is. Raises KeyError for any other."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(handle, symbol))
    except ValueError as error:
        raise KeyError(symbol) from error


def _exported(library: Path) -> list[str]:
    with library.open("rb") as stream:
        try:
            image = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:  # it is empty
            raise OSError(f"{library} is not a shared library") from error
        with image:
            require_machine(str(library), image)
            return dynamic_symbols(image)


def _read_info(library: Path, names: Sequence[str], handle: ctypes.CDLL) -> tuple[ModelInfo, str]:
    """The metadata in the library, else in the file NAME.json beside it, and their text; else what a packed model's
    tables say."""
    for symbol in metadata_symbols(names):
        try:
            text = ctypes.string_at(_address(handle, symbol)).decode()
        except KeyError:  # the name of something that is not exported
            continue
        return from_json(text), text
    beside = library.with_suffix(".json")
    if beside.exists():
        text = beside.read_text(encoding="utf-8")
        return from_json(text), text
    prefix, suffix = conventions.model_symbol("\0", "packed").split("\0")
    described = [name for name in names if name.startswith(prefix) and name.endswith(suffix)]
    if len(described) != 1:
        raise ValueError(f"{library} has no metadata of a model, and there is no {beside.name} beside it")
    info = info_of(_address(handle, described[0]))
    if conventions.reset_symbol(info.name) in names:
        raise ValueError(
            f"{library} keeps states, or takes rows, of which only {beside.name} knows, and that is not beside it"
        )
    return info, ""


def _carried(handle: ctypes.CDLL, symbol: str) -> tuple[Artifact, ...]:
    """Artefacts in a library for other loaders."""
    try:
        address = _address(handle, symbol)
    except KeyError:
        return ()
    size = int.from_bytes(ctypes.string_at(address, 8), "little")
    return ArtifactSet.of_blob(ctypes.string_at(address + 8, size)).artifacts


def _parameters(artifacts: ArtifactSet) -> Array | None:
    """The blob of a set, at an address that is a multiple of a cache line; what is mapped stays where it is."""
    if artifacts.metadata.weights != "caller" or not (found := artifacts.by_loader().get(PARAMETERS)):
        return None
    content = found[0].content
    return np.frombuffer(content, np.uint8) if isinstance(content, mmap.mmap) else _aligned_copy(found[0].read())


def _weights_beside(library: Path, info: ModelInfo, metadata: str) -> Array | None:
    """The blob of a model that takes its weights from its caller. Raises UsageError where it has another SHA-256 than
    its metadata list."""
    if info.weights != "caller" or not info.weights_bytes:
        return None
    path = library.parent / f"{info.name}.weights.bin"
    blob = path.read_bytes()
    if (written := listed_digests(metadata).get(path.name)) is not None:
        require_digest(str(path), hashlib.sha256(blob).hexdigest(), written)
    return _aligned_copy(blob)


def _aligned_copy(blob: bytes | bytearray) -> Array:
    memory = aligned_bytes(len(blob))
    memory[:] = np.frombuffer(blob, np.uint8)
    return memory
