"""A process that compiles for the shapes that arrive is as large as the code that it keeps."""

from __future__ import annotations

from itertools import count

import numpy as np
import onnx.parser
from memory import growth

from aotc import DynamicModel

RELU = '<ir_version: 10, opset_import: ["" : 18]> m (float[n] x) => (float[n] y) { y = Relu(x) }'


def test_memory_is_bounded_by_the_limit() -> None:
    model, extents = DynamicModel(onnx.parser.parse_model(RELU), max_shapes=2), count(1)
    grown = growth(lambda: model(np.zeros(next(extents), np.float32)), 15)
    assert grown < 25 << 10  # passes of LLVM, symbols and attributes that stayed took twice that
