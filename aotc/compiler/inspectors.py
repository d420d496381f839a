"""Views of artefacts: functions from one artefact to text, chosen by suffix or code generator and by method.

`.json.pretty` shows artefacts whose names end in `.json`, `cmsis-nn.list` those that the code generator `cmsis-nn`
made. The first method of an artefact, its code generator's before its suffix's, is the one without `--as`. Packages
add theirs through the entry point group `aotc.inspectors`.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint
from math import prod
from typing import TypeAlias
from zipfile import BadZipFile

import numpy as np

from aotc.errors import UsageError, printable
from aotc.model import extensions
from aotc.model.artifacts import METADATA, Artifact, ArtifactSet
from aotc.model.dlpack import DLPACK_TYPES, dtype_of
from aotc.model.metadata import BufferArgument, TensorInfo, from_json
from aotc.vm import Executable

Inspector: TypeAlias = Callable[[Artifact], str]


@dataclass(frozen=True)
class WithMetadata:
    """A view that needs what NAME.json says of the artefact's set, which is None where there is none."""

    show: Callable[[Artifact, Artifact | None], str]


_AR, _AR_HEADER = b"!<arch>\n", 60
_SHOWN = 8
"""Values of a constant that are shown."""


_DAMAGED = (ValueError, TypeError, KeyError, IndexError, OverflowError, EOFError, struct.error, BadZipFile)
"""The errors of reading files that are not what they should be."""


def inspect(artifact: Artifact, method: str | None = None, metadata: Artifact | None = None) -> str:
    """The artefact as `method` shows it; some views need the `metadata` of its set.

    Raises UsageError where there is no such view of it or it cannot be read.
    """
    views = inspectors(artifact, metadata)
    if not views:
        why = f"{artifact.name.rpartition('.')[2] or 'no'} is no suffix that something is known of"
        raise UsageError("unknown-view", f"{artifact.name} cannot be shown", why)
    chosen = next(iter(views)) if method is None else method
    if chosen not in views:
        why = f"{artifact.name} has no such view"
        raise UsageError("unknown-view", f"--as {method}", why, f"use {', '.join(views)}")
    try:
        return views[chosen](artifact)
    except _DAMAGED as error:
        raise UsageError("invalid-file", f"{artifact.name} cannot be shown as {chosen}", str(error)) from error


def inspectors(artifact: Artifact, metadata: Artifact | None = None) -> dict[str, Inspector]:
    """The views of an artefact by method, the one to begin with first; `metadata` is that of its set."""
    suffix = "." + artifact.name.rpartition(".")[2]
    found: dict[str, Inspector] = {}
    for subject in (artifact.codegen, suffix):
        for name, inspector in _all():
            of, _, method = name.rpartition(".")
            if of == subject:
                view = partial(_shown, inspector, metadata) if isinstance(inspector, WithMetadata) else inspector
                found.setdefault(method, view)
    return found


def _shown(inspector: WithMetadata, metadata: Artifact | None, artifact: Artifact) -> str:
    return inspector.show(artifact, metadata)


def _all() -> Iterator[tuple[str, Inspector | WithMetadata]]:
    yield from INSPECTORS.items()
    for point in extensions.points(extensions.INSPECTORS):
        if (found := extensions.load(point, _check)) is not None:
            yield point.name, extensions.guarded(point, lambda found=found: found)()


def _check(point: EntryPoint, loaded: object) -> str | None:
    if "." not in point.name:
        return f"{point.name} is not CODEGEN.METHOD or .SUFFIX.METHOD"
    return None if callable(loaded) else f"a {type(loaded).__name__} is not a function"


def _lines(lines: Iterable[str]) -> str:
    """Lines as a text; a name in one of them cannot end it."""
    return "\n".join(map(printable, lines))


# --- text ------------------------------------------------------------------------------------------------------------


_LLVM_FUNCTION = re.compile(r"^define .*?(?P<result>\S+) @(?P<name>[\w.$]+)\((?P<rest>.*)$", re.MULTILINE)
_LLVM_ARGUMENT = re.compile(r"(?:^|, )(?P<kind>[^,()]*?)(?: [^,%]*)? (?P<name>%[\w.$]+)")
_C_FUNCTION = re.compile(r"^(?P<head>[A-Za-z_][\w *]*\([^;{}()]*\))\n\{$", re.MULTILINE)
_MLIR_FUNCTION = re.compile(r"^ *func\.func (?P<head>.*?)(?: \{)?$", re.MULTILINE)


def _llvm_functions(artifact: Artifact) -> str:
    def arguments(text: str) -> str:
        return ", ".join(f"{each['kind']} {each['name']}" for each in _LLVM_ARGUMENT.finditer(text))

    found = _LLVM_FUNCTION.finditer(artifact.text())
    return _lines(f"{each['result']} {each['name']}({arguments(each['rest'])})" for each in found)


def _llvm_assembly(artifact: Artifact) -> str:
    """LLVM's object for the text and its own target; each function says for which processor."""
    from aotc.machines.targets import binding

    llvm = binding()
    try:
        module = llvm.parse_assembly(artifact.text())
        return llvm.Target.from_triple(module.triple).create_target_machine().emit_assembly(module)
    except RuntimeError as error:
        raise ValueError(f"LLVM refuses it: {error}") from error


def _heads(pattern: re.Pattern[str], artifact: Artifact) -> str:
    return _lines(" ".join(found["head"].split()) for found in pattern.finditer(artifact.text()))


def _plan(artifact: Artifact) -> str:
    from aotc.model.plan_table import plan_lines

    info = from_json(artifact.text())
    sizes = {"workspace_bytes": info.workspace_bytes, "weights_bytes": info.weights_bytes, "io_bytes": info.io_bytes}
    return _lines(plan_lines(info.plan, sizes, None, info.folded_channels))


# --- machine code ----------------------------------------------------------------------------------------------------


def _object(artifact: Artifact) -> str:
    from aotc.emit.llvm.costs import object_sizes

    image = artifact.read()
    if not image.startswith(b"\x7fELF"):  # LLVM ends the process where another format is damaged
        raise ValueError("it is not an ELF file")
    sizes = object_sizes(image)
    lines = [f"{sizes.text:>10} text", f"{sizes.constants:>10} constants", f"{sizes.data:>10} data"]
    lines += [f"{sizes.zeroed:>10} zeroed", ""]
    functions = sorted(sizes.functions.items(), key=lambda item: (-item[1], item[0]))
    return _lines(lines + [f"{size:>10} {name}" for name, size in functions])


def _disassembly(artifact: Artifact) -> str:
    from aotc.emit.disassembly import disassembled

    return disassembled(artifact.read(), artifact.name)


def _library(artifact: Artifact) -> str:
    from aotc.executor.dynamic_symbols import dynamic_symbols

    return _lines(sorted({*dynamic_symbols(artifact.read())}))


def _archive(artifact: Artifact) -> str:
    return _lines(f"{len(content):>10} {name}" for name, content in _members(artifact.read()))


def _archived(show: Callable[[Artifact], str], artifact: Artifact) -> str:
    """Each member of an archive by a view of objects."""
    shown = (Artifact(artifact.codegen, "", name, content) for name, content in _members(artifact.read()))
    return "\n\n".join(f"{member.name}:\n{show(member)}" for member in shown)


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of an archive in the format of GNU ar, without its index."""
    if not archive.startswith(_AR):
        raise ValueError("it is not an ar archive")
    position, long_names = len(_AR), b""
    while position < len(archive):
        header = archive[position : position + _AR_HEADER]
        if len(header) < _AR_HEADER or header[58:] != b"`\n":
            raise ValueError(f"there is no member at byte {position}")
        name, size = header[:16].decode().strip(), int(header[48:58])
        content = archive[position + _AR_HEADER : position + _AR_HEADER + size]
        position += _AR_HEADER + size + size % 2
        if name == "//":
            long_names = content
        elif name != "/":
            start = int(name[1:]) if name.startswith("/") else None
            found = name if start is None else long_names[start:].split(b"\n", 1)[0].decode()
            yield found.rstrip("/"), content


# --- data ------------------------------------------------------------------------------------------------------------


def _needed(metadata: Artifact | None) -> Artifact:
    if metadata is None:
        raise ValueError("no NAME.json beside it says what is in it; other views need none")
    return metadata


def _signatures(artifact: Artifact, metadata: Artifact | None) -> str:
    """A line for the entry and for each operator: inputs, and what is written."""

    info = from_json(_needed(metadata).text())
    functions = [(info.entry(), info.inputs, info.outputs)]
    functions += [(kernel.symbol, kernel.inputs, kernel.outputs) for kernel in info.kernels]
    return _lines(f"{symbol}: {_tensors(inputs)} -> {_tensors(outputs)}" for symbol, inputs, outputs in functions)


def _signatures_of_library(artifact: Artifact, metadata: Artifact | None) -> str:
    """As the library says itself, or else the metadata beside it."""
    from aotc.executor.dynamic_symbols import metadata_text

    if (text := metadata_text(artifact.read())) is not None:
        metadata = replace(artifact, loader=METADATA, content=text.encode())
    return _signatures(artifact, metadata)


def _tensors(given: Sequence[TensorInfo] | Sequence[BufferArgument]) -> str:
    return ", ".join(f"{each.name} {each.dtype}{list(each.shape)}" for each in given)


def _constants(blob: bytes, metadata: Artifact) -> str:
    """A line for each array of weights in their blob."""
    lines: list[str] = []
    for each in from_json(metadata.text()).constants:
        if each.dtype not in DLPACK_TYPES or min(each.shape, default=0) < 0 or each.offset < 0:
            raise ValueError(f"{metadata.name} describes no array by {each}")
        array = np.frombuffer(blob, dtype_of(each.dtype), prod(each.shape), each.offset).reshape(each.shape)
        lines.append(_array_line(each.name, array))
    return _lines(lines)


def _placed_constants(artifact: Artifact) -> str:
    found = from_json(artifact.text()).constants
    return _lines(f"{each.offset:>10} {each.name}: {each.dtype} {list(each.shape)}" for each in found)


def _bytes(artifact: Artifact) -> str:
    blob = np.frombuffer(artifact.read(), np.uint8)
    values, counts = np.unique(blob, return_counts=True)
    common = ", ".join(f"{values[i]:#04x} {counts[i]}" for i in np.argsort(-counts, kind="stable")[:_SHOWN])
    return f"{blob.size} bytes\nmost frequent: {common}"


def _npz(artifact: Artifact) -> str:
    with np.load(io.BytesIO(artifact.read()), allow_pickle=False) as arrays:
        return _lines(_array_line(name, arrays[name]) for name in arrays.files)


def _array_line(name: str, array: np.ndarray) -> str:
    """Name, element type, shape and range of an array."""
    values = array.astype(np.float32) if array.dtype.name in DLPACK_TYPES and array.dtype.kind == "V" else array
    ends = f"{values.min()} .. {values.max()}" if values.size and values.dtype.kind in "iufb" else ""
    return f"{name}: {array.dtype} {list(array.shape)} {ends}".rstrip()


def _archived_weights(artifact: Artifact) -> str:
    from aotc.emit.model_library import read_model_library, read_parameters

    archive = artifact.read()
    described = read_model_library(archive).by_loader()[METADATA][0]
    return _constants(read_parameters(archive), described)


def _model_library(artifact: Artifact) -> str:
    from aotc.emit.model_library import read_model_library

    return listing(read_model_library(artifact.read()))


def listing(artifacts: ArtifactSet) -> str:
    """A line for each artefact: bytes, code generator, loader, role, name."""
    sizes = [(len(artifact.read()), artifact) for artifact in artifacts]
    return _lines(f"{size:>10} {a.codegen:8} {a.loader:10} {a.role:5} {a.name}" for size, a in sizes)


def _bytecode(artifact: Artifact) -> Executable:
    return Executable.from_bytes(artifact.read())


INSPECTORS: dict[str, Inspector | WithMetadata] = {
    ".json.pretty": lambda described: json.dumps(json.loads(described.read()), indent=2),
    ".json.plan": _plan,
    ".json.signatures": lambda described: _signatures(described, described),
    ".json.weights": _placed_constants,
    ".c.functions": partial(_heads, _C_FUNCTION),
    ".c.text": Artifact.text,
    ".h.text": Artifact.text,
    ".ll.functions": _llvm_functions,
    ".ll.assembly": _llvm_assembly,
    ".ll.text": Artifact.text,
    ".s.text": Artifact.text,
    ".mlir.functions": partial(_heads, _MLIR_FUNCTION),
    ".mlir.text": Artifact.text,
    ".o.functions": _object,
    ".o.signatures": WithMetadata(_signatures),
    ".o.disassembly": _disassembly,
    ".a.members": _archive,
    ".a.functions": partial(_archived, _object),
    ".a.signatures": WithMetadata(_signatures),
    ".a.disassembly": partial(_archived, _disassembly),
    ".so.symbols": _library,
    ".so.functions": _object,
    ".so.signatures": WithMetadata(_signatures_of_library),
    ".so.disassembly": _disassembly,
    ".bin.arrays": WithMetadata(lambda blob, metadata: _constants(blob.read(), _needed(metadata))),
    ".bin.bytes": _bytes,
    ".npz.arrays": _npz,
    ".tar.artifacts": _model_library,
    ".tar.weights": _archived_weights,
    ".vm.text": lambda code: _bytecode(code).astext(),
    ".vm.python": lambda code: _bytecode(code).aspython(),
    ".vm.stats": lambda code: _bytecode(code).stats(),
}
