"""The driver's requests to the cache: the files of `compile_to`, the code of `compile`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.compiler import cache
from aotc.compiler.entries import Content as CachedContent
from aotc.errors import UsageError
from aotc.model.artifacts import ArtifactSet, Pieces, described_as, file_names
from aotc.model.metadata import ModelInfo, from_json, to_json
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.model.model_file import Source
    from aotc.pipeline.compilation import Compilation

_INFO = ".info.json"
_LISTING = ".artifacts.json"


class CachedFiles:
    """The artefacts of one compilation in the cache; its key is worked out once."""

    def __init__(self, source: Source, options: CompileOptions) -> None:
        self._key = cache.key_of(source, options, "files")

    def find(self) -> tuple[ArtifactSet, ModelInfo] | None:
        """The artefacts of an equal compilation and their metadata, where there are any."""
        return _find(self._key)

    def keep(self, artifacts: ArtifactSet, written: Sequence[Path], info: ModelInfo) -> None:
        """Keep the artefacts of a compilation, whose contents were `written`."""
        if self._key is not None:
            cache.store(self._key, {path.name: path for path in written} | _described(artifacts, info))


def in_process_set(
    source: Source, options: CompileOptions, lower: Callable[[Source, CompileOptions], Compilation]
) -> ArtifactSet:
    """The artefacts of an equal compilation for this process, or of a new one."""
    key = cache.key_of(source, options, "code")
    if (found := _find(key)) is not None:
        return found[0]
    from aotc.emit.artifacts import in_process

    artifacts = in_process(lower(source, options), keep=False)
    if key is not None:
        contents = {
            name: artifact.read() if isinstance(artifact.content, Pieces) else artifact.content
            for name, artifact in artifacts.files.items()
        }
        cache.store(key, contents | _described(artifacts, artifacts.metadata))
    return artifacts


def _find(key: str | None) -> tuple[ArtifactSet, ModelInfo] | None:
    found = cache.find(key) if key is not None else None
    if found is None:
        return None
    with suppress(KeyError, TypeError, ValueError):
        return _set_of(found), from_json(found[_INFO][:].decode())
    return None


def _set_of(files: Mapping[str, CachedContent]) -> ArtifactSet:
    listed = json.loads(files[_LISTING][:])
    names = file_names((each["codegen"], each["name"]) for each in listed)
    return ArtifactSet(tuple(described_as(each, files[name]) for name, each in zip(names, listed, strict=True)))


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
