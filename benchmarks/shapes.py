"""Open shapes: a sentence encoder called with random lengths; `python benchmarks/shapes.py [MODEL.onnx] [CALLS]`.

Prints, as Markdown: whether all lengths are right against onnxruntime, how long first and later calls take, what memory
the process has while lengths come and go, how much of the weights the shapes have in common, and the time of a call
over that of a model that is compiled for the one length. Without a model, an encoder of two layers is made: tokens and
a mask in, one vector a sentence out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from networks import Network
from onnx import TensorProto, helper

import aotc

LONGEST, BUCKETS, KEPT = 256, (32, 64, 96, 128, 192, 256), 8

Array = np.ndarray[Any, Any]


def encoder() -> onnx.ModelProto:
    """Two layers of BERT-Tiny's size with open batch and length; the mean of the tokens that the mask has."""
    n, width, heads = Network("encoder"), 128, 2
    for name in ("input_ids", "attention_mask"):
        n.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]))
    given = n.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    column = n.op("Unsqueeze", given, n.integers(2))
    absent = n.op("Sub", n.scalar(1), n.op("Unsqueeze", given, n.integers(1, 2)))
    mask = n.op("Mul", absent, n.scalar(-10000))
    length = n.op("Slice", n.op("Shape", "input_ids"), n.integers(1), n.integers(2))
    places = n.op("Slice", n.normal((LONGEST, width), 0.1), n.integers(0), length)
    x = n.op("Add", n.op("Gather", n.normal((4096, width), 1.0), "input_ids"), places)

    def norm(x: str) -> str:
        scale = n.constant(n.random.uniform(0.8, 1.2, width).astype(np.float32))
        return n.op("LayerNormalization", x, scale, n.normal((width,), 0.1))

    def split(x: str, order: tuple[int, ...]) -> str:
        parts = n.op("Reshape", n.linear(x, width, width), n.integers(0, 0, heads, width // heads))
        return n.op("Transpose", parts, perm=order)

    for _ in range(2):
        q, k, v = (split(x, order) for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        scores = n.op("Add", n.op("Mul", n.op("MatMul", q, k), n.scalar((width // heads) ** -0.5)), mask)
        mixed = n.op("Transpose", n.op("MatMul", n.op("Softmax", scores, axis=-1), v), perm=(0, 2, 1, 3))
        x = norm(n.op("Add", x, n.linear(n.op("Reshape", mixed, n.integers(0, 0, width)), width, width)))
        x = norm(n.op("Add", x, n.linear(n.gelu(n.linear(x, width, 4 * width)), 4 * width, width)))
    total = n.op("ReduceSum", n.op("Mul", x, column), n.integers(1), keepdims=0)
    mean = n.op("Div", total, n.op("ReduceSum", column, n.integers(1), keepdims=0))
    result = helper.make_tensor_value_info(mean, TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(n.nodes, "encoder", n.inputs, [result], n.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def sentence(length: int, names: list[str]) -> dict[str, Array]:
    """Random tokens; every one counts."""
    random = np.random.default_rng(length)
    return {
        name: random.integers(1, 4000, (1, length))
        if name == "input_ids"
        else np.full((1, length), "mask" in name, np.int64)
        for name in names
    }


def resident() -> float:
    """MiB of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def ratio(first: Callable[[], object], second: Callable[[], object], rounds: int = 200) -> tuple[float, float]:
    """Least times of two functions that take turns, in microseconds."""
    least = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, function in enumerate((first, second)):
            start = time.perf_counter()
            function()
            least[place] = min(least[place], time.perf_counter() - start)
    return least[0] * 1e6, least[1] * 1e6


def main() -> None:
    model = onnx.load(sys.argv[1]) if len(sys.argv) > 1 else encoder()
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    os.environ["AOTC_CACHE_DIR"] = ""  # every first call compiles
    names = [each.name for each in model.graph.input]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    reference = onnxruntime.InferenceSession(model.SerializeToString(), options)
    lengths = np.random.default_rng(1).integers(1, LONGEST + 1, calls).tolist()
    print("| | shapes compiled | greatest error | first calls, s | RSS half way, MiB | at the end | weights, MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for what, buckets in (("each length", None), (f"buckets {BUCKETS}", {"sequence": BUCKETS})):
        seconds: list[float] = []
        compiled = aotc.DynamicModel(
            model, buckets=buckets, max_shapes=KEPT, on_compile=lambda found, to=seconds: to.append(found.seconds)
        )
        error, middle = 0.0, 0.0
        for number, length in enumerate(lengths):
            feed = sentence(length, names)
            expected = reference.run(None, feed)
            for actual, wanted in zip(compiled(feed).values(), expected, strict=True):
                error = max(error, float(np.abs(actual - wanted).max() / np.abs(wanted).max()))
            assert len(compiled.shapes) <= KEPT
            middle = resident() if number == calls // 2 else middle
        row = (len(seconds), f"{error:.1e}", f"{np.median(seconds):.2f}", f"{middle:.0f}", f"{resident():.0f}")
        print(
            f"| {what}, {calls} calls | {' | '.join(map(str, row))} | {compiled.weights_bytes / (1 << 20):.1f} |",
            flush=True,
        )
    print("\n| length | fixed model, us | open shapes, us | ratio |\n|---:|---:|---:|---:|")
    compiled = aotc.DynamicModel(model)
    for length in (1, 16, 128):
        feed = sentence(length, names)
        fixed = aotc.compile(model, dims={"batch": 1, "sequence": length})
        compiled(feed)
        theirs, ours = ratio(lambda f=fixed, x=feed: f(x), lambda x=feed: compiled(x))
        print(f"| {length} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.3f} |", flush=True)


if __name__ == "__main__":
    main()
