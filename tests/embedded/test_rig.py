"""The rig measures what it says: a program with known needs, and programs that must fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from rig import BOARDS, HERE, Board, BoardError, build, run


def check(board: Board, folder: Path, *defines: str) -> dict[str, int]:
    """Reports of the self-check, and the counted instructions."""
    flags = [f"-D{define}" for define in defines]
    done = run(build(board, folder, program=[HERE / "self_check.c"], program_flags=flags, stack=4096), timeout=60)
    assert done.instructions is not None
    return done.reports | {"instructions": done.instructions}


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_stack_heap_and_instructions(board: Board, tmp_path: Path) -> None:
    found = check(board, tmp_path, "COUNT", "ALLOCATE")
    assert found["own"] == 0
    assert 1000 <= found["callee"] <= 1048
    assert found["heap_before"] == 0
    assert 100 <= found["heap_after"] <= 4096 + 128
    without = check(board, tmp_path)
    assert without["heap_after"] == 0
    per_round = (found["instructions"] - without["instructions"]) / 100_000
    least = 2 if board is BOARDS["m55"] else 3  # whose loops end in one instruction
    assert least <= per_round <= 4.01  # nop, count, branch, on some a comparison


@pytest.mark.parametrize("board", ["microbit", "m33", "rv32"])
@pytest.mark.parametrize(("define", "message"), [("OVERFLOW", "stack overflow"), ("FAULT", "fault")])
def test_failures_are_seen(board: str, tmp_path: Path, define: str, message: str) -> None:
    with pytest.raises(BoardError, match=message):
        check(BOARDS[board], tmp_path, define)


def test_what_does_not_fit_is_not_linked(tmp_path: Path) -> None:
    (tmp_path / "big.c").write_text("char buffer[12 * 1024];\nint main(void) { return buffer[0]; }\n")
    with pytest.raises(BoardError, match="reach into the stack"):
        build(BOARDS["microbit"], tmp_path, program=[tmp_path / "big.c"], stack=5 * 1024)
    build(BOARDS["m3"], tmp_path, program=[tmp_path / "big.c"], stack=5 * 1024)
