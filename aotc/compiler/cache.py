"""Compiled results kept on disk, by content: compiling the same model with the same options again is a copy.

An entry is a folder named by the SHA-256 of everything that decides the result: the model and its external data, the
options, the files of this package, LLVM's version, the processor where the target is the host, installed extensions.
Entries are written under a temporary name and renamed, so that processes may share the cache; an entry that is not as
it was written (`entries`) is removed, which is a miss; the least recently used go first when the cache is larger than
`LIMIT`. `AOTC_CACHE_DIR` says where it is (empty: nowhere), else the user's cache folder; one that others can write, or
that is not the user's, is not used. What else is in that folder is left alone.

Nothing is read for the cache alone but files of a model that the importer has found to be files of the model's folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.compiler import entries as on_disk
from aotc.compiler.entries import DIGESTS, UNFINISHED, Content, Damaged, Unsafe
from aotc.errors import AotcError, UsageError
from aotc.machines import processor
from aotc.machines.targets import is_host
from aotc.model import extensions
from aotc.model.artifacts import ArtifactSet, Pieces, described_as
from aotc.model.metadata import ModelInfo, from_json, to_json
from aotc.model.model_file import ModelFile, Source
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


LIMIT = 4 << 30
"""Bytes that the cache may take."""

_NAME = re.compile(r"[0-9a-f]{64}")
_UNCACHED = (
    *("stop_after", "start_at", "dump_phases", "print_ir_after_all", "verify_each", "time_passes"),
    *("cc", "offload"),
)
"""Options whose point is that the passes run, or a compiler or code generator of which the key does not know enough."""


def directory() -> Path | None:
    """Where the cache is; None where it is turned off."""
    given = os.environ.get("AOTC_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    from platformdirs import user_cache_path

    return user_cache_path("aotc", appauthor=False)


def key_of(source: object, options: CompileOptions, purpose: str) -> str | None:
    """The name of the entry for compiling the model file or bytes `source`; None where that is not cached."""
    if directory() is None or options.selftest is not None or any(getattr(options, name) for name in _UNCACHED):
        return None
    digest = hashlib.sha256()
    values = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "jobs"}
    values = {name: sorted(v.items()) if isinstance(v, Mapping) else v for name, v in values.items()}
    for label in (purpose, _fingerprint(), repr(values)):
        digest.update(label.encode() + b"\0")
    if isinstance(source, str | os.PathLike) and not isinstance(source, ModelFile):
        source = ModelFile(source)
    if not isinstance(source, bytes | ModelFile) or (content := content_digest(source)) is None:
        return None
    digest.update(content)
    if isinstance(source, ModelFile) and options.name is None:
        digest.update(source.path.stem.encode(errors="surrogateescape") + b"\0")
    if options.tuned is not None:
        table = Path(options.tuned)
        try:
            if not table.is_file():
                return None
            digest.update(table.read_bytes())
        except OSError:
            return None
    if is_host(options.target):
        digest.update(f"{processor.identity()}\0{sorted(processor.caches().items())}".encode())
    return digest.hexdigest()


def content_digest(source: str | os.PathLike[str] | bytes) -> bytes | None:
    """The SHA-256 of a model file and the external data it names, or of its bytes; None where that is not to be read
    (compiling says why)."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    digest = hashlib.sha256()
    file = source if isinstance(source, ModelFile) else ModelFile(source)
    return digest.digest() if _add_files(digest, file) else None


def find(key: str) -> dict[str, Content] | None:
    """The files of an entry by name, as they were kept, or None. Marks it as used."""
    root = directory()
    if root is None:
        return None
    try:
        with on_disk.opened(root) as folder:
            try:
                files = on_disk.read(folder, key)
            except Damaged:
                on_disk.remove(folder, key)
                return None
            os.utime(key, dir_fd=folder)
            return files
    except Unsafe as error:
        _warn(root, error)
    except OSError:
        pass
    return None


def store(key: str, files: Mapping[str, Path | on_disk.Content]) -> None:
    """Keep copies of `files` as an entry. A cache that cannot be written is no error: there is just none."""
    root = directory()
    if root is None:
        return
    try:
        with suppress(FileExistsError):
            root.parent.mkdir(parents=True, exist_ok=True)
            root.mkdir(mode=0o700)
        with on_disk.opened(root) as folder:
            with suppress(OSError):
                on_disk.write(folder, key, files)
            _evict(root, folder)
    except Unsafe as error:
        _warn(root, error)
    except OSError:
        pass


_warned: set[Path] = set()


def _warn(root: Path, why: Unsafe) -> None:
    if root not in _warned:
        _warned.add(root)
        fix = "empty it and `chmod go-w` it, or set AOTC_CACHE_DIR to another folder"
        print(f"warning: the cache {root} is not used: {why}; {fix}", file=sys.stderr)


def tuning_table() -> Path:
    """Where `aotc tune` keeps what it measures on this machine. Raises UsageError where the cache is turned off."""
    root = directory()
    if root is None:
        raise UsageError("no-folder", "there is no table of decisions", "AOTC_CACHE_DIR is empty", "name a file")
    try:
        with on_disk.opened(root):
            pass
    except Unsafe as error:
        raise UsageError("no-folder", f"the folder {root} is not used", str(error), "name a file") from error
    except OSError:
        pass  # writing the table says why
    return root / f"tuned-{hashlib.sha256(processor.identity().encode()).hexdigest()[:16]}.json"


def clear() -> tuple[int, int]:
    """Remove every entry; how many there were, and their bytes."""
    root = directory()
    if root is None or not root.is_dir():
        return 0, 0
    found = [(entry, _size(entry)) for entry in _folders(root)]
    for entry, _ in found:
        shutil.rmtree(entry, ignore_errors=True)
    return len(found), sum(size for _, size in found)


def entries() -> Iterator[tuple[Path, int]]:
    """Each entry and its bytes."""
    root = directory()
    if root is not None and root.is_dir():
        for entry in _folders(root):
            if not entry.name.startswith(UNFINISHED):
                yield entry, _size(entry)


def _folders(root: Path) -> list[Path]:
    """Files that the cache has written, finished or not."""
    mine = (each for each in root.iterdir() if _NAME.fullmatch(each.name) or each.name.startswith(UNFINISHED))
    return sorted(each for each in mine if each.is_dir())


def _evict(root: Path, folder: int) -> None:
    found = [(entry.stat().st_mtime, _size(entry), entry) for entry in _folders(root)]
    total = sum(size for _, size, _ in found)
    for _, size, entry in sorted(found):
        if total <= LIMIT:
            return
        on_disk.remove(folder, entry.name)
        total -= size


def _size(entry: Path) -> int:
    total = 0
    with suppress(OSError):
        for path in entry.iterdir():
            total += 0 if path.name == DIGESTS else path.lstat().st_size
    return total


def _add_files(digest: hashlib._Hash, file: ModelFile) -> bool:  # pyright: ignore[reportPrivateUsage]
    """Take in a model file and the external data it names; False where that is not to be read (compiling says why)."""
    try:
        content = file.content()
        digest.update(content)
        from aotc.frontend.tflite import content_of

        if b"location" not in content or content_of(content):  # the key under which a tensor names its file
            return True
        from aotc.frontend.onnx import external_files, load_model

        for name, path in external_files(load_model(file)).items():
            with path.open("rb") as stream:
                digest.update(name.encode() + b"\0" + hashlib.file_digest(stream, "sha256").digest())
    except (OSError, AotcError, ValueError):
        return False
    return True


@cache
def _fingerprint() -> str:
    """This package and all that takes part: versions, and for what is under development the state of its files."""
    root = Path(__file__).parents[1]
    found: set[str] = set()
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            if name.endswith((".py", ".c", ".h", ".hpp", ".ll")):
                state = os.stat(os.path.join(folder, name))
                found.add(f"{os.path.relpath(folder, root)}/{name} {state.st_size} {state.st_mtime_ns}")
    for package in ("llvmlite", "xdsl", "onnx"):
        found.add(f"{package} {metadata.version(package)}")
    for group in extensions.GROUPS:
        for point in extensions.points(group):
            spec = find_spec(point.module.split(".")[0])
            if spec is None or spec.name == "aotc" or spec.origin is None:
                continue
            state = max(path.stat().st_mtime_ns for path in Path(spec.origin).parent.rglob("*.py"))
            found.add(f"{group} {point.name} {point.value} {state}")
    return "\n".join(sorted(found))


# --- what the driver keeps: the files of `compile_to`, the code of `compile` ------------------------------------------

_INFO = ".info.json"
_LISTING = ".artifacts.json"


def keep(key: str | None, artifacts: ArtifactSet, written: Sequence[Path], info: ModelInfo) -> None:
    """Keep the artefacts of a compilation, whose contents were `written`."""
    if key is not None:
        store(key, {path.name: path for path in written} | _described(artifacts, info))


def in_process_set(
    source: Source, options: CompileOptions, lower: Callable[[Source, CompileOptions], Compilation]
) -> ArtifactSet:
    """The artefacts of an equal compilation for this process, or of a new one."""
    key = key_of(source, options, "code")
    if (found := cached(key)) is not None:
        return found[0]
    from aotc.emit.artifacts import in_process

    artifacts = in_process(lower(source, options), keep=False)
    if key is not None:
        contents = {
            artifact.name: artifact.read() if isinstance(artifact.content, Pieces) else artifact.content
            for artifact in artifacts
        }
        store(key, contents | _described(artifacts, artifacts.metadata))
    return artifacts


def cached(key: str | None) -> tuple[ArtifactSet, ModelInfo] | None:
    """The artefacts of an equal compilation and their metadata, where there are any."""
    found = find(key) if key is not None else None
    if found is None:
        return None
    with suppress(KeyError, TypeError, ValueError):
        return _set_of(found), from_json(found[_INFO][:].decode())
    return None


def _set_of(files: Mapping[str, Content]) -> ArtifactSet:
    listed = json.loads(files[_LISTING][:])
    return ArtifactSet(tuple(described_as(each, files[each["name"]]) for each in listed))


def cached_set(entry: Path) -> ArtifactSet | None:
    """The artefacts in the folder of an entry; None where it is none. Raises OSError, UsageError for a damaged one."""
    if not (entry / _LISTING).is_file():
        return None
    try:
        return _set_of({path.name: path.read_bytes() for path in entry.iterdir()})
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("invalid-file", f"{entry} is not an entry of the cache", repr(error)) from error


def _described(artifacts: ArtifactSet, info: ModelInfo) -> dict[str, bytes]:
    listing = [artifact.described() for artifact in artifacts]
    return {_INFO: to_json(info).encode(), _LISTING: json.dumps(listing).encode()}
