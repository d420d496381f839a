"""C4 on the boards: two models, one of them under two names, in one program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rig import BOARDS, build, run

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "linking"))
from three_models import MAIN, compile_models


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("board", ["microbit", "m4f", "m33", "rv32"])
def test_c4_models_and_a_model_under_two_names_run_in_one_program(board: str, emit: str, tmp_path: Path) -> None:
    files = compile_models(tmp_path, emit, BOARDS[board].target)
    flags = [f"-I{tmp_path}"]
    run(build(BOARDS[board], tmp_path, model=files, program=[MAIN], program_flags=flags), timeout=60)
