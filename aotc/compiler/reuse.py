"""What the driver asks the cache for: the files of `compile_to`, the code of `compile`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.compiler import cache
from aotc.compiler.entries import Content as Kept
from aotc.model.metadata import ModelInfo, from_json, to_json
from aotc.pipeline.files import Content
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.compiler.lowering import Source
    from aotc.executor import HostCode
    from aotc.pipeline.compilation import Compilation

_INFO = ".info.json"
_CHUNK = 1 << 20


class KeptFiles:
    """The artefacts of one compilation in the cache; its key is worked out once."""

    def __init__(self, source: Source, options: CompileOptions) -> None:
        self._key = cache.key_of(source, options, "files")

    def find(self) -> tuple[Mapping[str, Content], ModelInfo] | None:
        """The artefacts of an equal compilation and their metadata, where there are any."""
        found = cache.find(self._key) if self._key is not None else None
        if found is None:
            return None
        try:
            info = from_json(found.pop(_INFO)[:].decode())
            return {name: _chunks(content) for name, content in found.items()}, info
        except (KeyError, ValueError):
            return None

    def keep(self, written: Sequence[Path], info: ModelInfo) -> None:
        """Keep what a compilation wrote."""
        if self._key is not None:
            cache.store(self._key, {path.name: path for path in written} | {_INFO: to_json(info).encode()})


def host_code(
    source: Source, options: CompileOptions, lower: Callable[[Source, CompileOptions], Compilation]
) -> HostCode:
    """The code of an equal compilation for this process, or of a new one."""
    from aotc.executor import HostCode

    key = cache.key_of(source, options, "code")
    found = cache.find(key) if key is not None else None
    if found is not None:
        with suppress(KeyError, ValueError):
            return HostCode.read(*(found[name] for name in (_INFO, "model.o", "weights.bin")))
    code = HostCode.of(lower(source, options))
    if key is not None:
        weights = code.weights.tobytes()
        cache.store(key, {_INFO: to_json(code.info).encode(), "model.o": code.image, "weights.bin": weights})
    return code


def _chunks(content: Kept) -> Iterator[bytes]:
    for start in range(0, len(content), _CHUNK):
        yield content[start : start + _CHUNK]
