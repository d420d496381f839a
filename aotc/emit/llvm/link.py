"""Archives and shared libraries out of objects."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from aotc.emit.llvm.data_object import DataObject
from aotc.errors import CompileError, UsageError
from aotc.machines.targets import Target, lookup
from aotc.model.artifacts import Pieces
from aotc.model.files import Binary


def static_library(members: Mapping[str, bytes], symbols: Mapping[str, Sequence[str]]) -> bytes:
    """An archive in the format of GNU ar: member name -> object file, and the symbols that each defines.

    Nothing in it depends on the time or the user. Names have at most 15 characters or are in the table of long names.
    """
    long_names = "".join(f"{name}/\n" for name in members if len(name) > 15).encode()
    index_size = 4 + sum(4 + len(symbol) + 1 for names in symbols.values() for symbol in names)
    position = 8 + 60 + _even(index_size) + (60 + _even(len(long_names)) if long_names else 0)
    body: list[bytes] = []
    offsets: list[int] = []
    for name, image in members.items():
        offsets += [position] * len(symbols[name])
        header = f"/{long_names.index(f'{name}/'.encode())}" if len(name) > 15 else f"{name}/"
        member = _member(header, image)
        body.append(member)
        position += len(member)
    names = b"".join(f"{symbol}\0".encode() for name in members for symbol in symbols[name])
    index = struct.pack(f">{len(offsets) + 1}I", len(offsets), *offsets) + names
    table = [_member("//", long_names)] if long_names else []
    return b"".join([b"!<arch>\n", _member("/", index), *table, *body])


def _member(name: str, content: bytes) -> bytes:
    mode = "" if name == "//" else "0"
    header = f"{name:<16}{mode:<12}{mode:<6}{mode:<6}{'644' if mode else '':<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def _even(size: int) -> int:
    return size + size % 2


def require_linkable_here(name: str, target: Target) -> None:
    """Raise UsageError for a target of another kind than this machine, whose libraries `cc` does not link."""
    host = lookup("host")
    if target.triple.split("-")[0] != host.triple.split("-")[0] or target.freestanding:
        why = "shared libraries are linked for this machine only"
        fix = "take an object or an archive (--emit object, static) and link it with the target's tools"
        raise UsageError("not-this-machine", f"{name} was compiled for --target {target.name}", why, fix)


def shared_library(
    objects: Sequence[bytes],
    target: Target,
    name: str,
    flags: Sequence[str] = (),
    *,
    threads: bool = False,
    weights: DataObject | None = None,
) -> mmap | Pieces[Binary]:
    """Link objects into a shared library of the host with the system's C compiler; one with threads is never unloaded.

    The result is the file, which has no name any more. `weights`, if the objects ask for some, are most of it, and no
    linker copies them, where it does what `DataObject.reserved` needs.
    What an object defines, however weakly, is what the library calls, whatever the process has of that name, and what
    none defines must be in a library: `flags` name those beside the system's.
    Raises UsageError for a target that is not of the host's kind and CompileError where there is no `cc` or it fails.
    """
    require_linkable_here(name, target)
    compiler = shutil.which("cc")
    if compiler is None:
        why = "there is no C compiler `cc` to link with"
        raise CompileError("missing-tool", "--emit shared", why, "install one or --emit static")
    command = [compiler, "-shared", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,defs", "-Wl,-Bsymbolic"]
    flags = (*flags, "-lm", *(("-pthread", "-Wl,-z,nodelete") if threads else ()))
    if weights is not None:
        with suppress(CompileError):
            image = _linked(name, [*command, weights.place(objects)], [*objects, weights.reserved(target)], flags)
            if (library := weights.behind(image[:])) is not None:
                return library
        objects = [*objects, weights.image(target)]
    return _linked(name, command, objects, flags)


def _linked(name: str, command: Sequence[str], objects: Sequence[bytes], flags: Sequence[str]) -> mmap:
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        inputs: list[str] = []
        for number, image in enumerate(objects):
            inputs.append(f"{number}.o")
            (Path(folder) / inputs[-1]).write_bytes(image)
        command = [*command, "-o", "out.so", *inputs, *flags]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise CompileError("failed-tool", f"{name}: linking failed", result.stderr.strip() or "cc gave no reason")
        with (Path(folder) / "out.so").open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)


def data_object(symbol: str, content: bytes, target: Target, section: str = ".rodata") -> bytes:
    """An object that exports constant bytes."""
    return DataObject(symbol, (content,), len(content), section).image(target)
