"""Nodes whose tensors or outputs do not fit, each refused by its name; faults of importers are not taken for such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lite_cases.case import constant, indices, single, tensor
from lite_model import Graph, write

import aotc
from aotc.errors import CompileError, InternalError
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import IMPORTERS, load_importers

_IMAGE, _BYTES = (1, 4, 4, 2), ("int8", 0.5, 3)


def _filter() -> Any:
    return constant(np.ones((2, 3, 2), np.float32))


_REFUSED: list[tuple[str, Any, str]] = [
    ("RELU", ([tensor(_IMAGE, "float32")], [tensor(_IMAGE, "float32"), tensor((1,), "float32")]), "invalid-model"),
    ("CONV_2D", ([tensor(_IMAGE, "float32"), _filter()], [tensor(_IMAGE, "float32")]), "invalid-shape"),
    ("PAD", ([tensor((2, 2), "float32"), indices(1, 1, 1)], [tensor((4, 4), "float32")]), "invalid-value"),
    ("ARG_MAX", ([tensor((2, 2), "float32"), indices(0, 1)], [tensor((2,), "int32")]), "invalid-value"),
    ("QUANTIZE", ([tensor((2,), *_BYTES)], [tensor((2,), "float32", 0.5)]), "unsupported-type"),
    ("ADD", ([tensor((2,), *_BYTES), tensor((2,), *_BYTES)], [tensor((2,), "int8", 0.0)]), "unsupported-type"),
    ("MUL", ([tensor((2,), *_BYTES), tensor((2,), *_BYTES)], [tensor((2,), "int8", 1e-30)]), "unsupported-type"),
    ("SignalFftAutoScale", ([tensor((4,), "int16")], [tensor((4,), "int16")]), "invalid-model"),
]


@pytest.mark.parametrize(("code", "ends", "problem"), _REFUSED, ids=[row[0] for row in _REFUSED])
def test_what_does_not_fit_is_refused(code: str, ends: Any, problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        aotc.compile(single(code, code, *ends).model)
    assert [(each.id, each.node, each.op_type) for each in caught.value.problems] == [(problem, "y0", code)]


def test_a_fault_of_an_importer_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the model's: it is told as an internal error, with the node."""

    def faulty(node: Node) -> None:
        raise KeyError(node.name)

    load_importers()
    monkeypatch.setitem(IMPORTERS, "ABS", faulty)
    graph = Graph()
    for name in ("x", "y"):
        graph.tensor(name, (2,), "float32")
    graph.op("ABS", ["x"], ["y"])
    with pytest.raises(InternalError, match=r"'y' \(ABS\)"):
        aotc.compile(write([graph.ends(["x"], ["y"])]))
