"""D25: text and stack shrink with every part of the packed convention that is left out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from ladder import STEPS, climb, text


@pytest.mark.parametrize("model", ["micro_speech_int8", "kws_int8"])
@pytest.mark.parametrize("board", ["m0", "m4f"])
def test_d25_the_footprint_ladder(board: str, model: str) -> None:
    for kind, noise in (("c", 0), ("object", 16)):  # LLVM loads the addresses that it has moved into an operator
        found = climb(board, model, kind)
        assert all((step.outputs[0] == found[0].outputs[0]).all() for step in found)
        for (before, after), step in zip(pairwise(found), STEPS[1:], strict=True):
            assert text(after) <= text(before) + noise and after.stack <= before.stack, step.name
            if step.name in ("values", "unpacked"):  # no DLTensor, no argument arrays
                assert text(after) < text(before) and after.stack < before.stack, step.name
            elif step.name in (
                "pointers",
                "single unit",
            ):  # a pointer is stored with as many instructions as an AOTCValue
                assert after.stack < before.stack, step.name
        assert text(found[0]) - text(found[-1]) >= 700
        assert found[0].stack - found[-1].stack >= 370
        assert found[-1].stack < 200
