"""The onnx package's cases, by the files of importers: what a node becomes gives the numbers recorded with it."""

from __future__ import annotations

import pytest
from evaluated import check_recorded, recorded
from node_suite.cases import Case

FILES = (
    "aotc.frontend.onnx.importers.contraction",
    "aotc.frontend.onnx.importers.elementwise",
    "aotc.frontend.onnx.importers.indexing",
    "aotc.frontend.onnx.importers.ml.features",
    "aotc.frontend.onnx.importers.ml.trees",
    "aotc.frontend.onnx.importers.movement",
    "aotc.frontend.onnx.importers.normalization",
    "aotc.frontend.onnx.importers.quantization",
    "aotc.frontend.onnx.importers.recurrent",
    "aotc.frontend.onnx.importers.resize",
    "aotc.frontend.onnx.importers.shape",
    "aotc.frontend.onnx.importers.signal",
    "aotc.frontend.onnx.importers.training",
    "aotc.frontend.onnx.importers.vision",
)


@pytest.mark.parametrize("case", [case for file in FILES for case in recorded(file)])
def test_recorded(case: Case) -> None:
    check_recorded(case)
