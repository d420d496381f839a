"""Sizes of what an object file puts into memory, and of nothing else in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from aotc.emit.llvm.costs import object_sizes

SOURCE = """
extern int other(int);
char zeros[100];
char set[8] = {1};
const char table[64] = {1, 2, 3};
int twice(int x) { zeros[x] = set[x]; return other(2 * x); }
"""


def test_only_what_is_loaded_counts(tmp_path: Path) -> None:
    (tmp_path / "unit.c").write_text(SOURCE)
    flags = ["-O1", "-g", "-fno-asynchronous-unwind-tables"]
    subprocess.run(["gcc", *flags, "-c", "unit.c", "-o", "unit.o"], cwd=tmp_path, check=True)
    sizes = object_sizes((tmp_path / "unit.o").read_bytes())
    assert (sizes.constants, sizes.data, list(sizes.functions)) == (64, 8, ["twice"])
    assert 100 <= sizes.zeroed < 128 and 0 < sizes.functions["twice"] <= sizes.text < 128


def test_sections_begin_where_they_are_aligned(tmp_path: Path) -> None:
    sections = ('.section .text.a,"ax"\n.byte 1\n', '.section .text.b,"ax"\n.balign 8\n.byte 2\n')
    (tmp_path / "unit.s").write_text("".join(sections))
    subprocess.run(["gcc", "-c", "unit.s", "-o", "unit.o"], cwd=tmp_path, check=True)
    assert object_sizes((tmp_path / "unit.o").read_bytes()).text == 9
