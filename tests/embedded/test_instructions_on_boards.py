"""Rows of instructions of Cortex-M: the intrinsics of C and of LLVM compute on the board what their meanings say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instruction_programs import c_text, cases, llvm_text
from rig import BOARDS, build, run

from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.cortex_m import THUMB
from aotc.machines.instructions.evaluation import Array, evaluate
from aotc.machines.targets import binding, lookup

COUNT = 200
"""Registers of each operand, as many as fit the board's memory."""


def _main(names: list[str]) -> str:
    """A program that compares what functions for each row make of arrays, and ends with the number of the first one
    that is wrong, from 1."""
    arrays, checks = list[str](), list[str]()

    def array(name: str, values: Array) -> str:
        words = ", ".join(f"{each}u" for each in np.ascontiguousarray(values).reshape(-1).view(np.uint32))
        arrays.append(f"static const uint32_t __attribute__((aligned(16))) {name}[] = {{{words}}};\n")
        return name

    for number, name in enumerate(names):
        given = [each[:COUNT] for each in cases(name)]
        expected = array(f"e{number}", evaluate(INSTRUCTIONS[name], given))
        inputs = [array(f"x{number}_{place}", each) for place, each in enumerate(given)]
        arrays.append(f"void f{number}({'const void *, ' * len(inputs)}void *, int64_t);\n")
        checks.append(
            f"    f{number}({', '.join(inputs)}, r, {COUNT});\n"
            f"    if (memcmp(r, {expected}, sizeof {expected}) != 0) {{ return {number + 1}; }}\n"
        )
    memory = f"static uint32_t __attribute__((aligned(16))) r[{4 * COUNT}];\n"
    head = "#include <stdint.h>\n#include <string.h>\n"
    return f"{head}{''.join(arrays)}{memory}int main(void)\n{{\n{''.join(checks)}    return 0;\n}}\n"


@pytest.mark.parametrize("end", ["c", "o"])
@pytest.mark.parametrize("board", ["m4f", "m55"])
def test_meanings_are_what_boards_compute(board: str, end: str, tmp_path: Path) -> None:
    target = lookup(BOARDS[board].target)
    names = [name for name, row in INSTRUCTIONS.items() if row.architecture is THUMB and name in target.instructions]
    rows = [INSTRUCTIONS[name] for name in names]
    assert "smlad" in names
    (tmp_path / "main.c").write_text(_main(names))
    (tmp_path / "rows.c").write_text(c_text(rows))
    module = binding().parse_assembly(llvm_text(rows))
    module.triple = target.triple
    (tmp_path / "rows.o").write_bytes(target.machine(2).emit_object(module))
    functions = [tmp_path / f"rows.{end}"]
    run(build(BOARDS[board], tmp_path / "made", program=[tmp_path / "main.c", *functions], program_flags=["-O2"]))
