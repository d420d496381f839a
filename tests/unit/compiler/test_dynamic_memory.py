"""A process that compiles for the shapes that arrive is as large as the code that it keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx.parser
from memory import resident

from aotc import DynamicModel

RELU = '<ir_version: 10, opset_import: ["" : 18]> m (float[n] x) => (float[n] y) { y = Relu(x) }'
SHAPES = 15
ROUNDS = 4


def test_memory_is_bounded_by_the_limit() -> None:
    """What stays of each compilation makes every round larger; what the heap asks for now and then, only some."""
    model = DynamicModel(onnx.parser.parse_model(RELU), max_shapes=2)
    sizes = []
    for first in range(1, 1 + SHAPES * (1 + ROUNDS), SHAPES):
        for n in range(first, first + SHAPES):
            model(np.zeros(n, np.float32))
        sizes.append(resident())
    grown = min(after - before for before, after in pairwise(sizes))
    assert grown / SHAPES < 25 << 10  # passes of LLVM, symbols and attributes that stayed took twice that
