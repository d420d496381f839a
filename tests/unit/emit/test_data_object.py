"""Weights that no linker copies: where the library has them, and what becomes of linkers that cannot leave room."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from aotc.emit.elf import ALLOC, LOAD, PROGBITS, SECTION_ROW, ElfFile
from aotc.emit.llvm.data_object import DataObject
from aotc.emit.llvm.link import shared_library
from aotc.errors import CompileError
from aotc.machines.targets import lookup
from aotc.model.artifacts import in_one_piece

PIECES = (b"first", bytes(range(256)) * 300, b"last")
CONTENT = b"".join(PIECES)
WEIGHTS = DataObject("weights", PIECES, len(CONTENT), ".aotc.weights", 64)
CODE = """
extern const unsigned char weights[] __attribute__((visibility("hidden")));
static char workspace[40 << 20];
char *scratch(void) { return workspace; }
const unsigned char *given(void) { return weights; }
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to link")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("code")
    (folder / "code.c").write_text(CODE)
    subprocess.run(["cc", "-c", "-fPIC", "code.c", "-o", "code.o"], cwd=folder, check=True)
    return (folder / "code.o").read_bytes()


def linked(code: bytes) -> bytes:
    return in_one_piece(shared_library([code], lookup("host"), "m", weights=WEIGHTS))


def require_content(library: bytes, path: Path) -> None:
    """Load a library and compare what the code sees; the workspace is elsewhere."""
    path.write_bytes(library)
    loaded = ctypes.CDLL(str(path))
    loaded.given.restype = loaded.scratch.restype = ctypes.c_void_p
    assert loaded.given() % 64 == 0
    assert ctypes.string_at(loaded.given(), len(CONTENT)) == CONTENT
    assert abs(loaded.given() - loaded.scratch()) >= min(40 << 20, len(CONTENT))
    assert not hasattr(loaded, "weights")


def test_the_content_is_behind_what_the_linker_made_and_is_only_read(code: bytes, tmp_path: Path) -> None:
    library = linked(code)
    assert library.endswith(CONTENT) and library == linked(code)
    require_content(library, tmp_path / "m.so")
    file = ElfFile(library)
    (section,) = [each for each in file.sections if each.name == WEIGHTS.section]
    (segment,) = [each for each in file.segments() if each.address == section.address]
    assert (section.kind, section.flags, section.offset) == (PROGBITS, ALLOC, len(library) - len(CONTENT))
    assert (segment.kind, segment.writable, segment.offset, segment.stored) == (
        LOAD,
        False,
        section.offset,
        len(CONTENT),
    )


@pytest.mark.skipif(shutil.which("strip") is None, reason="needs binutils")
def test_a_stripped_library_has_its_weights(code: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.so").write_bytes(linked(code))
    subprocess.run(["strip", "m.so", "-o", "stripped.so"], cwd=tmp_path, check=True)
    require_content((tmp_path / "stripped.so").read_bytes(), tmp_path / "again.so")


@pytest.mark.parametrize(
    "instead",
    ['case "$*" in *section-start*) exit 1;; esac', 'for each; do shift; case "$each" in *section-start*) ;; '],
)
def test_a_linker_that_leaves_no_room_copies_the_weights(
    instead: str, code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refuses the flag, the other does not heed it."""
    real = shutil.which("cc")
    if "shift" in instead:
        instead += '*) set -- "$@" "$each";; esac; done'
    (tmp_path / "cc").write_text(f'#!/bin/sh\n{instead}\nexec {real} "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    library = linked(code)
    assert CONTENT in library and not library.endswith(CONTENT)
    require_content(library, tmp_path / "m.so")


def test_code_that_cannot_be_linked_has_the_message_of_the_linker(code: bytes) -> None:
    with pytest.raises(CompileError, match="failed-tool"):
        shared_library([code], lookup("host"), "m", weights=replace(WEIGHTS, symbol="other"))


def test_what_a_linker_has_not_mapped_apart_is_left_alone(code: bytes) -> None:
    """Changed as another linker may make it: variables, in one segment with something else, bytes of the file."""
    reserved = shared_library([code, WEIGHTS.reserved(lookup("host"))], lookup("host"), "m", [WEIGHTS.place([code])])
    assert not isinstance(reserved, bytes)
    library = in_one_piece(reserved)
    assert WEIGHTS.behind(library) is not None
    file = ElfFile(library)
    (section,) = [each for each in file.sections if each.name == WEIGHTS.section]
    (segment,) = [each for each in file.segments() if each.address == section.address]
    for change, offset, value in (
        ("<I", segment.row + 4, 6),
        ("<Q", segment.row + 40, segment.size + 1),
        ("<Q", segment.row + 32, 1),
        ("<I", segment.row, 2),
        ("<I", section.row + 4, PROGBITS),
    ):
        image = bytearray(library)
        struct.pack_into(change, image, offset, value)
        assert WEIGHTS.behind(bytes(image)) is None
    assert replace(WEIGHTS, size=WEIGHTS.size + 1).behind(library) is None


@pytest.mark.parametrize("target", ["host", "cortex-m4", "rv32imac"])
def test_an_object_is_one_of_its_target(target: str, tmp_path: Path) -> None:
    """Header, alignment and symbol of files of 64 and of 32 bits; as binutils read them, where there are some."""
    image = WEIGHTS.image(lookup(target))
    file = ElfFile(image)
    assert file.wide == (target == "host") and struct.calcsize(SECTION_ROW[file.wide]) in (40, 64)
    (section,) = [each for each in file.sections if each.name == WEIGHTS.section]
    assert section.offset % 64 == 0 and section.alignment == 64 and file.content(section) == CONTENT
    (symbol,) = file.symbols()
    assert (symbol.name, symbol.section, symbol.value, symbol.size) == ("weights", 1, 0, len(CONTENT))
    assert file.offered() == {"weights"} and not file.wanted()
    assert len(WEIGHTS.reserved(lookup(target))) == len(image) - len(CONTENT)
    if shutil.which("readelf"):
        (tmp_path / "w.o").write_bytes(image)
        read = subprocess.run(["readelf", "-aW", "w.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert not read.stderr and "OBJECT  GLOBAL DEFAULT    1 weights" in read.stdout


def test_objects_of_other_formats_are_one_sentence() -> None:
    with pytest.raises(CompileError, match="unsupported-by-target"):
        WEIGHTS.image(lookup("wasm32"))
