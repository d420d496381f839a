"""Models whose int8 operators are CMSIS-NN's, through the code generator of examples/cmsis_nn, on the boards."""

from __future__ import annotations

from importlib.metadata import entry_points

import numpy as np
import pytest
from cmsis_nn import REASON, is_there, offloaded
from measuring import BOARDS, cases, measure

pytestmark = [
    pytest.mark.skipif(not is_there(), reason=REASON),
    pytest.mark.skipif(
        "cmsis-nn" not in entry_points(group="aotc.codegens").names, reason="pip install examples/cmsis_nn"
    ),
]


@pytest.mark.parametrize("kind", ["c", "object"])
@pytest.mark.parametrize(("board", "model"), [("m4f", "kws_int8"), ("m0", "kws_int8"), ("m55", "ic_resnet_int8")])
def test_a_model_on_cmsis_nn_rounds_as_it_does(board: str, model: str, kind: str) -> None:
    """A14, F2: CMSIS-NN rounds as TFLite, and so does `--requantize fixed`: every bit is equal."""
    machine = BOARDS[board]
    library = offloaded(machine, model, "s")
    theirs = measure(machine, model, kind, count=1, library=library, optimize="s", offload="cmsis-nn")
    ours = measure(machine, model, kind, count=1, optimize="s", requantize="fixed")
    assert np.array_equal(theirs.outputs[0], ours.outputs[0])
    exact = cases(model)[0].output.astype(np.int32)
    assert np.abs(theirs.outputs[0].astype(np.int32) - exact).max() <= 2
    assert np.argmax(theirs.outputs[0]) == np.argmax(exact)
    assert theirs.sizes["runtime"].code > theirs.sizes["model"].code
    assert theirs.heap == 0
