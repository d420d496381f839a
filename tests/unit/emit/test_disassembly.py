"""Disassembling what is emitted, by objdump or by capstone, for targets that the machine has no tools for."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import onnx.parser
import pytest

import aotc
from aotc.emit import disassembly
from aotc.emit.disassembly import disassembled
from aotc.emit.elf import ElfFile
from aotc.errors import UsageError

MODEL = '<ir_version: 10, opset_import: ["" : 18]> m (float[4] x) => (float[4] y) { y = Softmax(x) }'
RETURNS = {
    "x86-64": ("ret",),
    "x86-64-v4": ("ret",),
    "aarch64": ("ret",),
    "armv7": ("pop", "bx"),
    "cortex-m0": ("pop", "bx"),
    "cortex-m33": ("pop", "bx"),
    "rv32imac": ("c.jr", "ret"),
    "rv64gc": ("c.jr", "ret"),
    "powerpc64le-linux-gnu": ("blr",),
}
"""With what functions may end, by target."""


def object_for(target: str) -> bytes:
    built = aotc.build(onnx.parser.parse_model(MODEL).SerializeToString(), target=target, emit=("object",), name="m")
    return built["m.o"].read()


def without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)


@pytest.mark.parametrize("target", RETURNS)
def test_without_any_tool(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that the object defines begins at a label, and its code ends as it should."""
    pytest.importorskip("capstone", reason="the package capstone is not installed")
    image = object_for(target)
    without_tools(monkeypatch)
    text = disassembled(image, "m.o")
    assert text.startswith("m.o:\n")
    heads = [block.splitlines()[0] for block in text.split("\n\n") if "<" in block.splitlines()[0]]
    defined = {each.name for each in ElfFile(image).symbols() if each.kind == 2}
    assert {head.partition("<")[2].rstrip(">:") for head in heads} == defined
    body = text.partition("<aotc_m_run>:\n")[2].partition("\n\n")[0]
    mnemonics = [line.split("\t")[1] for line in body.splitlines()]
    assert any(each.startswith(RETURNS[target]) for each in mnemonics)
    assert ".byte" not in mnemonics[:5]


def test_data_between_code_is_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants that Arm's code reads from beside it are marked by symbols."""
    pytest.importorskip("capstone", reason="the package capstone is not installed")
    image = object_for("armv7")
    assert any(each.name.startswith("$d") for each in ElfFile(image).symbols())
    without_tools(monkeypatch)
    assert ":\t.byte\t0x" in disassembled(image, "m.o")


def test_an_objdump_that_knows_the_machine_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool, script in {"llvm-objdump": "exit 1", "objdump": 'echo "$3: by the second tool"'}.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert disassembled(object_for("cortex-m0"), "m.o") == "m.o: by the second tool"


def test_with_neither_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    image = object_for("x86-64")
    without_tools(monkeypatch)

    def absent(_: str) -> None:
        return None

    monkeypatch.setattr(disassembly, "find_spec", absent)
    with pytest.raises(UsageError, match="missing-tool"):
        disassembled(image, "m.o")


def test_a_machine_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("capstone", reason="the package capstone is not installed")
    image = bytearray(object_for("x86-64"))
    struct.pack_into("<H", image, 18, 9999)
    without_tools(monkeypatch)
    with pytest.raises(UsageError, match="missing-tool"):
        disassembled(bytes(image), "m.o")


@pytest.mark.parametrize("image", [b"", b"text", b"\x7fELF", b"\x7fELF\x02\x02" + bytes(60)])
def test_what_is_no_elf_file_is_refused(image: bytes) -> None:
    pytest.importorskip("capstone", reason="the package capstone is not installed")
    with pytest.raises((ValueError, IndexError, struct.error)):
        disassembled(image, "m.o")
