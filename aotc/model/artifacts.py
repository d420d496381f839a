"""Results of code generators: named artefacts that say who made them and who loads them.

An `ArtifactSet` is all that a compilation made, as values: a folder, an archive, the cache, a shared library and a
process are places to keep one (`write`, `blob`, `export_library`, `load`). The design is that of the artefact proposal
for TVM; what differs is in docs/artifacts.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint
from mmap import mmap
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from aotc.errors import UsageError
from aotc.model import extensions
from aotc.model.arguments import checks_kinds
from aotc.model.files import Binary, write_files
from aotc.model.metadata import ModelInfo, from_json

METADATA: Final = "metadata"
"""NAME.json, which describes the model and lists its artefacts."""
NATIVE: Final = "native"
"""Code to be linked into one library before it first runs: objects, or C for the target's compiler."""
LIBRARY: Final = "library"
"""A library that is linked already."""
JIT: Final = "jit"
"""An object for this process alone, which is run where it lies in memory."""
PARAMETERS: Final = "parameters"
"""The blob of weights that are not in the code."""
BYTECODE: Final = "bytecode"
"""The entry as an executable of the virtual machine; what runs in this process without a linker needs it."""
NONE: Final = "none"
"""Nothing loads it: headers, text to be read, archives for a linker."""

_OURS: Final = {
    NATIVE: "aotc.executor.loading:Linked",
    LIBRARY: "aotc.executor.loading:Linked",
    JIT: "aotc.executor.loading:InMemory",
}
"""Loaders of code of the host processor; the first that a set has is taken."""
_HANDLED: Final = (METADATA, *_OURS, PARAMETERS, BYTECODE, NONE)

FLASH: Final = "flash"
"""It becomes part of the program, or lies beside it in memory that is only read."""
RAM: Final = "ram"
"""It must be in memory that can be written."""
HOST: Final = "host"
"""It stays on the machine that builds."""
ROLES: Final = (FLASH, RAM, HOST)

_TEXTS: Final = ("name", "codegen", "loader", "role", "target")
"""Fields of an artefact that are text, in the order of its row in NAME.json."""
_MAGIC: Final = b"AOTCART2"
_LENGTHS: Final = struct.Struct("<IQ")


Piece = TypeVar("Piece", bound="str | Binary", covariant=True)


class Pieces(Generic[Piece]):
    """A content that is made anew, piece by piece, each time it is read: what is too large to keep in memory."""

    def __init__(self, make: Callable[[], Iterable[Piece]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._make())


Content: TypeAlias = "bytes | mmap | Pieces[str | Binary]"


def in_one_piece(content: Content) -> bytes:
    """The bytes of a content."""
    if isinstance(content, bytes | mmap):
        return content[:]
    return b"".join(piece.encode() if isinstance(piece, str) else piece for piece in content)


@dataclass(frozen=True, eq=False)
class Artifact:
    """One piece of generated code or data under a name. Two are equal where every field and every byte is."""

    codegen: str
    """Who made it: "c", "llvm", "aotc" (what describes the model), or the name of a code generator from outside."""
    loader: str
    """Who loads it: one of the names above, or a loader of the entry point group `aotc.loaders`."""
    name: str
    """Its file, unique among those of its code generator."""
    content: Content
    role: str = HOST
    """Where it ends: "flash", "ram" or "host"."""
    target: str = ""
    """The name of the target that it is for; of no particular one where empty."""
    flags: tuple[str, ...] = ()
    """Options with which a compiler of the target builds it."""

    def __post_init__(self) -> None:
        if not self.name or self.name in (".", "..") or any(sign in self.name for sign in "/\\\0"):
            raise ValueError(f"{self.name!r} is not the name of a file")
        if self.role not in ROLES:
            raise ValueError(f"{self.name} has the role {self.role!r}; there are {', '.join(ROLES)}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Artifact):
            return NotImplemented
        return self.described() == other.described() and self.read() == other.read()

    def __hash__(self) -> int:
        return hash((self.codegen, self.loader, self.name))

    def __repr__(self) -> str:
        return f"Artifact({self.name!r}, codegen={self.codegen!r}, loader={self.loader!r})"

    def __reduce__(self) -> tuple[Callable[[bytes], Artifact], tuple[bytes]]:
        return Artifact.load, (self.export(),)

    def read(self) -> bytes:
        """The content in one piece."""
        return in_one_piece(self.content)

    def text(self) -> str:
        """The content as text. Raises UnicodeDecodeError."""
        return self.read().decode()

    def chunks(self) -> Iterator[Binary]:
        """The content, piece by piece, after which its digest is known."""
        digest = hashlib.sha256()
        for piece in (self.content,) if isinstance(self.content, bytes | mmap) else self.content:
            chunk = piece.encode() if isinstance(piece, str) else piece
            digest.update(chunk)
            yield chunk
        vars(self).setdefault("sha256", digest.hexdigest())

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the content, in hexadecimal digits. A content that was written is not read again."""
        for _ in self.chunks():
            pass
        return str(vars(self)["sha256"])

    def listed(self) -> dict[str, Any]:
        """The row of `NAME.json`: every field but the content, and its digest unless it is that file itself."""
        return self.described() | ({} if self.loader == METADATA else {"sha256": self.sha256})

    def described(self) -> dict[str, Any]:
        """Every field but the content, as JSON has it."""
        return {name: getattr(self, name) for name in _TEXTS} | {"flags": list(self.flags)}

    def export(self) -> bytes:
        """Every field and the content as bytes that `Artifact.load` makes an equal artefact of.

        `AOTCART2`, u32 and u64 little endian: the bytes of the description (JSON) and of the content; then both.
        """
        content = self.read()
        described = json.dumps(self.listed()).encode()
        return _MAGIC + _LENGTHS.pack(len(described), len(content)) + described + content

    @staticmethod
    @checks_kinds
    def load(blob: bytes) -> Artifact:
        """The artefact that `export` wrote, and nothing else. Raises ValueError."""
        artifact, end = _read(memoryview(blob), 0)
        if end != len(blob):
            raise ValueError(f"{len(blob) - end} bytes follow the artefact {artifact.name}")
        return artifact


def _read(blob: memoryview, start: int) -> tuple[Artifact, int]:
    """The artefact at `start` of `blob`, and where it ends."""
    body = start + len(_MAGIC) + _LENGTHS.size
    if bytes(blob[start : start + len(_MAGIC)]) != _MAGIC or body > len(blob):
        raise ValueError(f"there is no artefact at byte {start}")
    described, size = _LENGTHS.unpack_from(blob, start + len(_MAGIC))
    end = body + described + size
    if end > len(blob):
        raise ValueError(f"the artefact at byte {start} ends {end - len(blob)} bytes after the data")
    try:
        members = json.loads(bytes(blob[body : body + described]))
        return listed_as(members, bytes(blob[body + described : end])), end
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"the artefact at byte {start} is not described: {error!r}") from error


def described_as(members: Mapping[str, Any], content: Content) -> Artifact:
    """The artefact with the fields of `Artifact.described`. Raises KeyError, TypeError, ValueError."""
    fields, flags = {name: members[name] for name in _TEXTS}, members["flags"]
    if not all(isinstance(each, str) for each in (*fields.values(), *flags)) or not isinstance(flags, list):
        raise TypeError("fields of an artefact are text")
    return Artifact(**fields, content=content, flags=tuple(flags))


def listed_as(members: Mapping[str, Any], content: Content) -> Artifact:
    """The artefact of a row that `Artifact.listed` made, and what is kept as its content. Raises as `described_as`, and
    UsageError where that is not what the row was made of."""
    artifact = described_as(members, content)
    if artifact.loader != METADATA:
        require_digest(artifact.name, artifact.sha256, members["sha256"])
    return artifact


def require_digest(what: str, found: str, written: str) -> None:
    """Raise UsageError where the SHA-256 of a file is not the one that is written down."""
    if found != written:
        why = f"its SHA-256 is {found[:16]}.., and was {written[:16]}.. when it was written"
        raise UsageError(
            "invalid-file", f"{what} is damaged, or of another compilation", why, "compile the model again"
        )


def listed_digests(metadata: str) -> dict[str, str]:
    """The SHA-256 of the files that a NAME.json lists, by name; none where it is no such file."""
    try:
        return {each["name"]: each["sha256"] for each in json.loads(metadata)["artifacts"] if "sha256" in each}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


@runtime_checkable
class Host(Protocol):
    """Code of a model that is in this process; what other loaders load is added to it."""

    def add(self, functions: Mapping[str, Any]) -> None:
        """Have packed functions found by name: `int32_t f(args, type_codes, n, ret_value, ret_code, handle)` as ctypes
        has them, which the host keeps alive."""
        ...

    def model(self) -> Any:
        """The model, ready to run."""
        ...


class CodeLoader(Protocol):
    """Loads the code of the host processor."""

    def open(self, artifacts: ArtifactSet) -> Host:
        """Load the code of the set that this loader is for."""
        ...

    def link(self, artifacts: ArtifactSet) -> bytes:
        """A shared library of the set. Raises UsageError where such code has none."""
        ...


class MissingLoaderWarning(UserWarning):
    """A library carries what no loader here loads."""


Loader: TypeAlias = Callable[[Sequence[Artifact]], Mapping[str, Any]]
"""Takes all artefacts of a set that name it and gives packed functions by name (`Host.add`); an entry of the group
`aotc.loaders`."""


def file_names(artifacts: Iterable[tuple[str, str]]) -> list[str]:
    """The files of artefacts, given by code generator and name, in a folder that all share: `NAME`, or `CODEGEN.NAME`
    where one before it has that name."""
    found: list[str] = []
    for codegen, name in artifacts:
        found.append(f"{codegen}.{name}" if name in found else name)
    return found


@dataclass(frozen=True)
class ArtifactSet:
    """The artefacts of one model, in the order in which they were made; those of one code generator differ in name."""

    artifacts: tuple[Artifact, ...]

    def __post_init__(self) -> None:
        keys = [(each.codegen, each.name) for each in self.artifacts]
        names = file_names(keys)
        if twice := sorted(
            {name for key, name in zip(keys, names, strict=True) if keys.count(key) > 1 or names.count(name) > 1}
        ):
            raise ValueError(f"two artefacts are named {', '.join(twice)}")

    @staticmethod
    @checks_kinds
    def about(info: ModelInfo, artifacts: tuple[Artifact, ...]) -> ArtifactSet:
        """A set whose metadata, where it has some, say `info`: nobody has to read them."""
        found = ArtifactSet(artifacts)
        if len(found._described) == 1:
            vars(found)["metadata"] = info
        return found

    def __iter__(self) -> Iterator[Artifact]:
        return iter(self.artifacts)

    def __len__(self) -> int:
        return len(self.artifacts)

    @cached_property
    def files(self) -> dict[str, Artifact]:
        """The artefacts by the names of their files in a folder: see `file_names`."""
        names = file_names((each.codegen, each.name) for each in self.artifacts)
        return dict(zip(names, self.artifacts, strict=True))

    def __contains__(self, name: object) -> bool:
        return name in self.files

    @checks_kinds
    def __getitem__(self, name: str) -> Artifact:
        """The artefact in the file `name`. Raises KeyError, which says what there is."""
        if name in self.files:
            return self.files[name]
        raise KeyError(f"no artefact {name!r}; there are {', '.join(self.files)}")

    def __repr__(self) -> str:
        return f"<ArtifactSet: {', '.join(self.files)}>"

    def __reduce__(self) -> tuple[Callable[[bytes], ArtifactSet], tuple[bytes]]:
        return ArtifactSet.of_blob, (self.blob(),)

    @cached_property
    def metadata(self) -> ModelInfo:
        """The name of the model. Raises ValueError where the set does not say."""
        described = self._described
        if len(described) != 1:
            raise ValueError(f"{self!r} has {len(described)} artefacts with metadata, not one")
        return from_json(described[0].text())

    @property
    def _described(self) -> tuple[Artifact, ...]:
        """The artefacts with metadata: one, where the set is of a model."""
        return self.by_loader().get(METADATA, ())

    def by_loader(self) -> dict[str, tuple[Artifact, ...]]:
        """The artefacts by who loads them."""
        return self._by(lambda artifact: artifact.loader)

    def by_target(self) -> dict[str, tuple[Artifact, ...]]:
        """The artefacts by the target that they are for."""
        return self._by(lambda artifact: artifact.target)

    def _by(self, key: Callable[[Artifact], str]) -> dict[str, tuple[Artifact, ...]]:
        groups: dict[str, tuple[Artifact, ...]] = {}
        for artifact in self.artifacts:
            groups[key(artifact)] = (*groups.get(key(artifact), ()), artifact)
        return groups

    def carried(self) -> tuple[Artifact, ...]:
        """Artefacts in a library for loaders from outside, as those find them again."""
        return tuple(artifact for artifact in self.artifacts if artifact.loader not in _HANDLED)

    def unloadable(self) -> tuple[UsageError, ...]:
        """The warning of `load`, on this machine, for carried artefacts whose loader is not installed."""
        groups = ArtifactSet(self.carried()).by_loader()
        installed = {point.name for point in extensions.points(extensions.LOADERS)} if groups else set[str]()
        return tuple(_unknown_loader(name, groups[name]) for name in sorted(groups.keys() - installed))

    # Places to keep a set

    @checks_kinds
    def write(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Write every artefact into `directory`, all or none; their paths. Raises OSError."""
        folder = Path(directory)
        in_order = sorted(
            self.files, key=lambda name: self.files[name].loader == METADATA
        )  # it has the others' digests
        write_files(folder, {name: self.files[name].chunks() for name in in_order})
        return [folder / name for name in self.files]

    @staticmethod
    @checks_kinds
    def read(directory: str | os.PathLike[str], name: str | None = None) -> ArtifactSet:
        """The set of the model `name` that was written into `directory`, where there are others the only one.

        Raises OSError, ValueError where NAME.json does not list its artefacts, UsageError (a ValueError) where one has
        another SHA-256 than when it was written.
        """
        folder = Path(directory)
        listings = sorted(folder.glob("*.json")) if name is None else [folder / f"{name}.json"]
        if len(listings) != 1:
            raise ValueError(f"{folder} has {len(listings)} files .json; say the name of the model")
        content = listings[0].read_bytes()
        try:
            listed = json.loads(content)["artifacts"]
            names = file_names((each["codegen"], each["name"]) for each in listed)
            for file in names:  # a name is checked before it is opened
                Artifact("", "", file, b"")
            found = [
                content if each["loader"] == METADATA else (folder / file).read_bytes()
                for file, each in zip(names, listed, strict=True)
            ]
            return ArtifactSet(tuple(map(listed_as, listed, found)))
        except UsageError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{listings[0]} does not list the artefacts of a model: {error!r}") from error

    def blob(self) -> bytes:
        """Every artefact exported, one after the other."""
        return b"".join(artifact.export() for artifact in self.artifacts)

    @staticmethod
    @checks_kinds
    def of_blob(blob: bytes) -> ArtifactSet:
        """The set that `blob` wrote. Raises ValueError."""
        view, position, found = memoryview(blob), 0, list[Artifact]()
        while position < len(view):
            artifact, position = _read(view, position)
            found.append(artifact)
        return ArtifactSet(tuple(found))

    @checks_kinds
    def export_library(self, path: str | os.PathLike[str]) -> Path:
        """Link the native code, the metadata and what other loaders need into the shared library `path`.

        Linking is one call of the system's compiler, which docs/artifacts.md shows. `aotc.load` is the inverse.
        Raises UsageError where the code cannot be linked, CompileError where linking fails, OSError.
        """
        final = Path(path)
        groups = self.by_loader()
        native = next((loader for loader in _OURS if loader in groups), NATIVE)
        return write_files(final.parent, {final.name: _code_loader(native).link(self)})[0]

    # Loading

    def load(self) -> Any:
        """The model, ready to run (`CompiledModel`), after the one process by which code is loaded:

        1. Artefacts are grouped by loader.
        2. The metadata says what the model is.
        3. The code of the host is loaded: native code is linked to one library first, so that what runs is what ships.
        4. Other groups go to their loaders, sorted by name, and what these give is added to the host.

        Raises UsageError where something cannot be loaded here, CompileError where linking fails.
        """
        groups = self.by_loader()
        return self._loaded_by(next((loader for loader in _OURS if loader in groups), NATIVE))

    def jit(self) -> Any:
        """The model, ready to run, its object in memory: no compiler or linker is needed, and nothing was linked that
        could be tested. Raises as `load`."""
        return self._loaded_by(JIT)

    def _loaded_by(self, native: str) -> Any:
        return self.loaded_on(_code_loader(native).open(self))

    @checks_kinds
    def loaded_on(self, host: Host) -> Any:
        """The end of `load`, on code that is in this process already."""
        groups = self.by_loader()
        for loader in sorted(groups.keys() - {*_HANDLED}):
            host.add(_loader(loader, groups[loader])(groups[loader]))
        return host.model()


def _code_loader(name: str) -> CodeLoader:
    return EntryPoint(name, _OURS[name], extensions.LOADERS).load()()


def _loader(name: str, group: Sequence[Artifact]) -> Loader:
    """The loader of a name. Raises UsageError where nothing installed has one."""
    for point in extensions.points(extensions.LOADERS):
        if point.name == name and (loader := extensions.load(point, _callable)) is not None:
            return extensions.guarded(point, lambda: loader)()
    raise _unknown_loader(name, group)


def _unknown_loader(name: str, group: Sequence[Artifact]) -> UsageError:
    names = ", ".join(artifact.name for artifact in group)
    fix = f"install the package with the entry point {name!r} of the group {extensions.LOADERS}"
    return UsageError("unknown-loader", f"nothing loads {names}", f"there is no loader {name!r}", fix)


def _callable(point: EntryPoint, loaded: object) -> str | None:
    return None if callable(loaded) else f"a {type(loaded).__name__} is not a function"
