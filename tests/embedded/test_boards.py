"""Generated C and LLVM objects compute on the boards what was recorded on the host, without a heap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from measuring import BOARDS, cases, measure, report

KINDS = ("c", "object")
PLACES = [
    (board, model)
    for board, model in product(BOARDS, ("micro_speech_int8", "kws_int8"))
    if (board, model) != ("microbit", "kws_int8")  # its arena alone is 16,000 bytes
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("board", "model"), PLACES)
def test_outputs_match_the_recording(board: str, model: str, kind: str) -> None:
    done = measure(BOARDS[board], model, kind)
    for output, case in zip(done.outputs, cases(model), strict=True):
        assert np.array_equal(output, case.output)
    assert done.heap == 0
    assert 0 < done.stack < 512
    # What the report promises is what the linker finds: the arena and nothing else, the weights and little else.
    promised = report(model, BOARDS[board].target)
    sizes = done.sizes["model"]
    assert (sizes.zero, sizes.data) == (promised["workspace_bytes"], 0)
    assert promised["weights_bytes"] <= sizes.constants <= promised["weights_bytes"] + 512


@pytest.mark.parametrize("kind", KINDS)
def test_micro_speech_fits_a_microbit(kind: str) -> None:
    """Everything in 16 KiB of RAM: arena, input, output, the C library's variables, stack."""
    board = BOARDS["microbit"]
    done = measure(board, "micro_speech_int8", kind)
    ram = sum(sizes.data + sizes.zero for sizes in done.sizes.values()) + done.stack
    assert board.ram[1] == 16 * 1024
    assert ram <= 13 * 1024
    assert sum(sizes.text + sizes.data for sizes in done.sizes.values()) <= 32 * 1024


@pytest.mark.parametrize("optimize", ["-O0", "-O2", "-O3"])
def test_the_compilers_level_changes_no_bit(optimize: str) -> None:
    done = measure(BOARDS["m4f"], "micro_speech_int8", "c", flags=(optimize,))
    assert all(np.array_equal(a, case.output) for a, case in zip(done.outputs, cases("micro_speech_int8"), strict=True))
