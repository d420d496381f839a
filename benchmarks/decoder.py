"""Times one step of small GPTs with a cache of keys and values, beside ONNX Runtime and OpenVINO with one thread.

`python benchmarks/decoder.py`: a token in, logits and the longer cache out; random weights.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from recurrent import measure

NETWORKS = {
    "4 layers of 256, 64 tokens": (4, 256, 4, 1024, 64),
    "4 layers of 256, 256 tokens": (4, 256, 4, 1024, 256),
    "6 layers of 384, 64 tokens": (6, 384, 6, 8192, 64),
    "6 layers of 384, 256 tokens": (6, 384, 6, 8192, 256),
}
"""Layers, width, heads, vocabulary and tokens in the cache of each."""


class Decoder:
    """A GPT-2 of `layers`, which attend to `past` tokens and the one that is given."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, past: int) -> None:
        self._random = np.random.default_rng(0)
        self._graph = onnx.GraphProto(name="decoder")
        self._heads = heads
        self._number = 0
        self._graph.input.append(helper.make_tensor_value_info("token", TensorProto.INT64, [1, 1]))
        x = self._node("Gather", [self._weight(vocabulary, width), "token"])
        for layer in range(layers):
            x = self._node("Add", [x, self._attention(self._norm(x, width), layer, width, past)])
            x = self._node("Add", [x, self._feed_forward(self._norm(x, width), width)])
        self._node("MatMul", [self._norm(x, width), self._weight(width, vocabulary)], result="logits")
        self._graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, vocabulary]))
        opset = [helper.make_opsetid("", 20)]
        self.model = helper.make_model(self._graph, opset_imports=opset, ir_version=9)

    def _constant(self, value: np.ndarray) -> str:
        self._number += 1
        self._graph.initializer.append(numpy_helper.from_array(value, f"c{self._number}"))
        return f"c{self._number}"

    def _weight(self, *shape: int) -> str:
        return self._constant(self._random.normal(0, 0.02, shape).astype(np.float32))

    def _node(self, kind: str, inputs: list[str], result: str | None = None, **attributes: Any) -> str:
        self._number += 1
        name = result or f"t{self._number}"
        self._graph.node.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _norm(self, x: str, width: int) -> str:
        return self._node("LayerNormalization", [x, self._weight(width), self._weight(width)])

    def _linear(self, x: str, inputs: int, outputs: int) -> str:
        return self._node("Add", [self._node("MatMul", [x, self._weight(inputs, outputs)]), self._weight(outputs)])

    def _attention(self, x: str, layer: int, width: int, past: int) -> str:
        size = width // self._heads
        split = self._constant(np.array([1, 1, self._heads, size]))
        parts = [f"{name}{layer}" for name in ("q", "k", "v")]
        self._graph.node.append(
            helper.make_node("Split", [self._linear(x, width, 3 * width)], parts, axis=2, num_outputs=3)
        )
        q, k, v = (self._node("Transpose", [self._node("Reshape", [part, split])], perm=[0, 2, 1, 3]) for part in parts)
        k, v = self._cached(k, f"key{layer}", past, size), self._cached(v, f"value{layer}", past, size)
        scores = self._node("MatMul", [q, self._node("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = self._node("Mul", [scores, self._constant(np.array(size**-0.5, np.float32))])
        mixed = self._node("MatMul", [self._node("Softmax", [scores], axis=-1), v])
        joined = self._node("Transpose", [mixed], perm=[0, 2, 1, 3])
        joined = self._node("Reshape", [joined, self._constant(np.array([1, 1, width]))])
        return self._linear(joined, width, width)

    def _cached(self, new: str, name: str, past: int, size: int) -> str:
        """`new` behind what the cache holds, which is what it holds for the next step."""
        for values, length, suffix in ((self._graph.input, past, ""), (self._graph.output, past + 1, "_out")):
            shape = [1, self._heads, length, size]
            values.append(helper.make_tensor_value_info(name + suffix, TensorProto.FLOAT, shape))
        return self._node("Concat", [name, new], result=f"{name}_out", axis=2)

    def _feed_forward(self, x: str, width: int) -> str:
        inner = self._node("Gelu", [self._linear(x, width, 4 * width)], approximate="tanh")
        return self._linear(inner, 4 * width, width)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in NETWORKS.items():
            path = Path(folder) / "decoder.onnx"
            onnx.save(Decoder(*sizes).model, path)
            print(measure(f"{name}, {path.stat().st_size / 2**20:.0f} MiB", path), flush=True)


if __name__ == "__main__":
    main()
