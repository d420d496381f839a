"""C4 on the boards: two models, one of them under two names, in one program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rig import BOARDS, build, run

import aotc

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "linking"))
from three_models import DATA, MAIN, MODELS, compile_models


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("board", ["microbit", "m4f", "m33", "rv32"])
def test_c4_models_and_a_model_under_two_names_run_in_one_program(board: str, emit: str, tmp_path: Path) -> None:
    files = compile_models(tmp_path, emit, BOARDS[board].target)
    flags = [f"-I{tmp_path}"]
    run(build(BOARDS[board], tmp_path, model=files, program=[MAIN], program_flags=flags), timeout=60)


SHARED = """#include "sine.h"
#include "quantised.h"
#include "cases.h"
#include <math.h>
#include <string.h>
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
static uint8_t arena[LARGER(AOTC_SINE_WORKSPACE_SIZE, AOTC_QUANTISED_WORKSPACE_SIZE)]
    __attribute__((aligned(LARGER(AOTC_SINE_WORKSPACE_ALIGNMENT, AOTC_QUANTISED_WORKSPACE_ALIGNMENT))));
int main(void)
{
    float y[AOTC_SINE_OUTPUT_0_LENGTH];
    int8_t q[AOTC_QUANTISED_OUTPUT_0_LENGTH];
    memset(arena, 0xa5, sizeof arena);
    for (int turn = 0; turn < 2; ++turn) {
        if (aotc_sine_run(sine_input, y, arena) != 0 || aotc_quantised_run(quantised_input, q, arena) != 0) return 3;
        if (fabsf(y[0] - sine_output[0]) > 1e-5f || memcmp(q, quantised_output, sizeof q) != 0) return 4;
    }
    return 0;
}
"""


def test_models_that_take_turns_have_one_arena(tmp_path: Path) -> None:
    """As docs/memory.md has it: neither reads what the other has left there."""
    compile_models(tmp_path, "c", BOARDS["m4f"].target)  # for cases.h
    names = "sine", "quantised"
    for name in names:
        model = DATA / MODELS[name] / "model.onnx"
        aotc.compile_to(model, tmp_path, name=name, target=BOARDS["m4f"].target, workspace="caller")
    main = tmp_path / "shared.c"
    main.write_text(SHARED)
    run(build(BOARDS["m4f"], tmp_path, model=[tmp_path / f"{name}.c" for name in names], program=[main]), timeout=60)
