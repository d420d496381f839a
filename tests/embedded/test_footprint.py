"""D25, D33: text, stack and instructions shrink with every part of the packed convention that is left out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from figures import BENCHMARKS
from ladder import STEPS, climb, figures, text
from measuring import BOARDS, measure, report

CALL = 24
"""Bytes by which the program on the board sees more than the model uses: what it saves around the call."""

DOCUMENTED = ("cpacked", "values", "pointers", "unpacked", "single unit")
"""The ladder of the proposal: packed, no DLTensor, no value union, unpacked, one unit. Both figures fall each time."""

NOISE = {"c": 0, "object": 16}
"""By how many bytes of text one of our finer steps may miss: LLVM loads addresses where they are used."""


@pytest.mark.parametrize("model", ["micro_speech_int8", "kws_int8"])
@pytest.mark.parametrize("board", ["m0", "m4f"])
@pytest.mark.parametrize("kind", NOISE)
def test_d25_the_footprint_ladder(board: str, model: str, kind: str) -> None:
    found = climb(board, model, kind)
    assert all((step.outputs[0] == found[0].outputs[0]).all() for step in found)
    for (before, after), step in zip(pairwise(found), STEPS[1:], strict=True):
        assert text(after) <= text(before) + NOISE[kind] and after.stack <= before.stack, step.name
    documented = [measured for measured, step in zip(found, STEPS, strict=True) if step.name in DOCUMENTED]
    for (before, after), name in zip(pairwise(documented), DOCUMENTED[1:], strict=True):
        assert text(after) < text(before) and after.stack < before.stack, name
    assert text(found[0]) - text(found[-1]) >= 700
    assert found[0].stack - found[-1].stack >= 370
    assert found[-1].stack < 200


@pytest.mark.parametrize("kind", NOISE)
def test_d33_instructions_of_each_convention(kind: str) -> None:
    """D33: they are reported beside text and stack; no step adds a thousandth, and all steps together save some."""
    counts = [figures(step)[2] for step in climb("m0", "micro_speech_int8", kind)]
    assert all(after <= 1.001 * before for before, after in pairwise(counts)) and counts[-1] < counts[0], counts
    tables = (BENCHMARKS / "embedded.md").read_text().partition("<!-- ladders")[2].partition("<!-- end of ladders")[0]
    rows = [line for line in tables.splitlines() if "`--interface-api" in line]
    assert len(rows) == len(NOISE) * len(STEPS)
    assert all(cell.count(" / ") == 2 for row in rows for cell in row.split("|")[3:-1]), "text, stack, instructions"


@pytest.mark.parametrize("model", ["hello_world_float", "hello_world_int8"])
@pytest.mark.parametrize("board", ["m0", "m4f", "rv32"])
def test_the_stack_is_what_the_compiler_of_the_board_says(board: str, model: str) -> None:
    """No function of the C library is called; helpers of soft floating point are."""
    machine = BOARDS[board]
    flags = " ".join(("-Os", *machine.flags))
    promised = report(model, machine.target, emit="c", cc=f"{machine.tools}gcc {flags}")["footprint"]
    estimated = report(model, machine.target)["footprint"]
    used = measure(machine, model, "c", count=1).stack
    assert used <= promised["stack_bytes"] + CALL
    assert used <= estimated["stack_bytes"] * 1.25 + 24 + CALL


@pytest.mark.parametrize("model", ["kws_int8"])
def test_half_of_the_flash_between_small_and_fast_code_saves_most(model: str) -> None:
    """Kernels get forms one by one, here three large ones; code is that of the board's compiler, outputs are equal."""
    board = BOARDS["m4f"]
    cc = " ".join((f"{board.tools}gcc", *board.flags))
    fast = measure(board, model, "c", flags=("-O2",), optimize="2", emit=("c",), cc=cc)
    small = measure(board, model, "c", flags=("-Os",), optimize="s", emit=("c",), cc=cc)
    sizes = [report(model, board.target, optimize=level, emit=("c",), cc=cc)["footprint"] for level in "2s"]
    allowed = sum(each["flash_bytes"] for each in sizes) // 2
    asked = {"optimize": "2", "emit": ("c",), "cc": cc, "flash": allowed}
    found = measure(board, model, "c", flags=("-O2",), **asked)
    assert report(model, board.target, **asked)["footprint"]["flash_bytes"] <= allowed
    assert small.sizes["model"].code < found.sizes["model"].code < fast.sizes["model"].code
    assert fast.instructions < found.instructions < (fast.instructions + small.instructions) / 2
    for one, other in zip(found.outputs, fast.outputs, strict=True):
        np.testing.assert_array_equal(one, other)
