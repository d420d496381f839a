"""Damaged models: whatever the bytes, the only errors are ours, and memory stays small."""

from __future__ import annotations

import random

import numpy as np
import pytest
from memory import most_more
from onnx import numpy_helper
from onnx_text import parse
from xdsl.context import Context

from aotc.errors import AotcError
from aotc.frontend.onnx import import_model, load_model

CONV = parse("""g (float[1, 2, 6, 6] x) => (float[1, 12] y) <int64[2] shape = {1, -1}, float[3] scale = {1, 2, 3}> {
    a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    b = BatchNormalization (a, scale, scale, scale, scale)
    c = MaxPool <kernel_shape = [2, 2]> (b)
    d = Reshape (c, shape)
    e = Concat <axis = 1> (d, d, d, d)
    y = Softmax <axis = -1> (e)
}""")
CONV.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2, 3, 3), np.float32), "w"))

CONTROL = parse(
    """g (float[2, 3] x) => (float[k] y)
    <bool c = {1}, int64[1] start = {0}, int64[1] end = {2}, int64[2] r = {2, 2}> {
        a = If (c) <
            then_branch = t () => (float[2, 3] p) { p = Relu(x) },
            else_branch = e () => (float[2, 3] q) { q = Neg(x) }
        >
        b = local.f <alpha = 0.5> (a)
        d = Slice (b, start, end, start)
        e = Tile (d, r)
        f = Transpose <perm = [1, 0]> (e)
        y = ReduceSum <keepdims = 0> (f, start)
    }""",
    '<domain: "local", opset_import: ["" : 17]> f <alpha> (x) => (y) { y = LeakyRelu<alpha: float = @alpha>(x) }',
    '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>',
)


def damaged(data: bytes, generator: random.Random) -> bytes:
    """`data` with a few bytes changed, removed, repeated or cut."""
    changed = bytearray(data)
    for _ in range(generator.randint(1, 3)):
        position = generator.randrange(len(changed))
        match generator.randrange(6):
            case 0 | 1 | 2:
                changed[position] = generator.randrange(256)
            case 3:
                changed[position] ^= 1 << generator.randrange(8)
            case 4:
                del changed[position : position + generator.randint(1, 4)]
            case _:
                changed[position:position] = changed[position : position + generator.randint(1, 16)]
    return bytes(changed)


@pytest.mark.parametrize("model", [CONV, CONTROL], ids=["conv", "control"])
def test_damaged_models(model: object, caplog: pytest.LogCaptureFixture) -> None:
    data = model.SerializeToString()  # pyright: ignore
    generator = random.Random(7)
    import_model(load_model(data), Context())
    survived = 0

    def read() -> None:
        nonlocal survived
        for _ in range(500):
            try:
                import_model(load_model(damaged(data, generator)), Context()).verify()
            except AotcError as error:
                assert str(error)
            else:
                survived += 1

    assert most_more(read) < 200 << 20
    assert 0 < survived < 500
