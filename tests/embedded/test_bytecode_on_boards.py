"""Entries in bytecode on the boards, run by aotc_vm.c: what the straight entry answers, in less code."""

from __future__ import annotations

import numpy as np
import pytest
from measuring import BOARDS, Measured, measure

PACKED = {"interface_api": "packed", "operator_api": "packed"}


def code(measured: Measured) -> int:
    """Bytes of code in all but the program around it."""
    return sum(sizes.code for owner, sizes in measured.sizes.items() if owner != "program")


@pytest.mark.parametrize("model", ["kws_int8", "micro_speech_int8"])
@pytest.mark.parametrize("board", ["m4f", "rv32"])
def test_g13_bytecode_answers_what_compiled_code_answers(board: str, model: str) -> None:
    """G17: the same bits, next to no more instructions."""
    straight = measure(BOARDS[board], model, "c", count=1, **PACKED)
    bytecode = measure(BOARDS[board], model, "bytecode", count=1, **PACKED)
    for one, other in zip(straight.outputs, bytecode.outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert bytecode.instructions < 1.03 * straight.instructions
    assert bytecode.heap == 0 and bytecode.stack <= straight.stack
    assert bytecode.sizes["model"].code < straight.sizes["model"].code
    if model == "kws_int8":  # of so many calls that the machine itself is paid for
        assert code(bytecode) < code(straight)
