"""The C runtime's own tests (tests/unit/runtime) on the boards: pages, stack, registry, running, metadata."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from measuring import RUNTIME
from rig import BOARDS, build, run

TESTS = Path(__file__).parents[1] / "unit" / "runtime"
# The pool of threads needs POSIX; models made for a board never call it.
SOURCES = sorted(path for path in RUNTIME.glob("*.c") if path.stem != "aotc_threads")
CHECK = """
#include "board.h"
#define CHECK(what) do { if (!(what)) { board_report(#what, __LINE__); board_exit(1); } } while (0)
"""


@pytest.mark.parametrize("manager", ["-DAOTC_MEMORY_LIFO", "-UAOTC_MEMORY_LIFO"])
@pytest.mark.parametrize("test", ["memory", "registry", "run"])
@pytest.mark.parametrize("board", ["microbit", "m4f", "rv32"])
def test_b10_b13_b20_the_runtime_on_a_board(board: str, test: str, manager: str, tmp_path: Path) -> None:
    shutil.copy(TESTS / f"{test}.c", tmp_path)
    (tmp_path / "check.h").write_text(CHECK)
    flags = ("-Os", manager, "-DAOTC_MEMORY_NUM_PAGES=24", "-DAOTC_MEMORY_PAGE_SIZE_LOG2=8")
    program = build(
        *(BOARDS[board], tmp_path),
        program=[tmp_path / f"{test}.c"],
        runtime=SOURCES,
        flags=flags,
        program_flags=flags,
    )
    run(program, timeout=60)
    assert program.sizes["runtime"].code < 3 * 1024
