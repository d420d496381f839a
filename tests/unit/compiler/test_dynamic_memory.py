"""A process that compiles for the shapes that arrive is as large as the code that it keeps."""

from __future__ import annotations

import numpy as np
import onnx.parser
from memory import resident

from aotc import DynamicModel

RELU = '<ir_version: 10, opset_import: ["" : 18]> m (float[n] x) => (float[n] y) { y = Relu(x) }'


def test_memory_is_bounded_by_the_limit() -> None:
    model = DynamicModel(onnx.parser.parse_model(RELU), max_shapes=2)

    def call(extents: range) -> None:
        for n in extents:
            model(np.zeros(n, np.float32))

    call(range(1, 21))
    before = resident()
    call(range(21, 61))
    assert resident() - before < 1 << 20  # passes of LLVM, symbols and attributes that stayed took twice that
