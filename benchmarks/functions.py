"""Times functions of one element, and determinants and inverses, beside ONNX Runtime and OpenVINO with one thread.

`python benchmarks/functions.py`: one operator a model, 16384 floats, or matrices that have an inverse.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from recurrent import measure

FUNCTIONS = ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf")
SHIFTED = {"Acosh": 8.0}
"""The addend of the inputs, normally distributed, of functions that need greater ones."""
SCALED = {"Asin": 0.2, "Acos": 0.2, "Atanh": 0.2}
"""The factor of inputs that must be small."""
MATRICES = ((64, 4, 4), (1, 16, 16), (1, 64, 64), (1, 128, 128))


def single(kind: str, shape: tuple[int, ...], domain: str = "") -> onnx.ModelProto:
    """A model of one operator on one input."""
    graph = helper.make_graph([], kind, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [])
    graph.node.append(helper.make_node(kind, ["x"], ["y"], domain=domain))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, shape[:1] if kind == "Det" else shape))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "single.onnx"
        for kind in FUNCTIONS:
            onnx.save(single(kind, (1, 16384)), path)
            print(measure(kind, path, scale=SCALED.get(kind, 1.0), shift=SHIFTED.get(kind, 0.0)), flush=True)
        for kind, domain in (("Det", ""), ("Inverse", "com.microsoft")):
            for shape in MATRICES:
                onnx.save(single(kind, shape, domain), path)
                print(measure(f"{kind} of {' x '.join(map(str, shape))}", path, reads=False), flush=True)


if __name__ == "__main__":
    main()
