"""Nodes of aotc.frontend.onnx.importers.counted: the valid part of what they give is onnxruntime's."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import agrees
from operators.counted_nodes import EACH, HEAD, SOME, SPARSE


def graph(nodes: str) -> str:
    """The inputs, the constants and the nodes that all begin with, and these."""
    inputs, _, rest = HEAD.removeprefix("g (").partition(") => (y) <")
    constants, _, first = rest.partition("> {")
    return f"{18 if 'reduction' in nodes else 17} | {inputs}; {constants} | {first}{nodes}"


@pytest.mark.parametrize("what", [*EACH, *SOME])
def test_some_parts(what: str) -> None:
    agrees(graph((EACH | SOME)[what]), x=SPARSE)


@pytest.mark.parametrize("what", EACH)
def test_no_parts(what: str) -> None:
    agrees(graph(EACH[what]), x=np.zeros((3, 4), np.float32))
