"""The examples of docs/stream.md: pictures that come by rows, in C and in Python, give what whole ones give."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from harness import SCALAR
from onnx import TensorProto, helper

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process
from aotc.pipeline.options import CompileOptions

PAGE = (Path(__file__).parents[3] / "docs" / "stream.md").read_text(encoding="utf-8")


def example(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_the_examples_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]),
        helper.make_node("GlobalAveragePool", ["c"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info("x", 1, [1, 3, 16, 8]), helper.make_tensor_value_info("y", 1, [1, 4, 1, 1])]
    initial = [helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.ravel())]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], initial)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), tmp_path / "model.onnx")
    pictures = rng.standard_normal((3, 16, 8, 3)).astype(np.float32)

    options: dict[str, Any] = {"target": SCALAR, "stream": {"x": 4}, "input_layouts": {"x": "nhwc"}, "ram": "min"}
    aotc.compile_to(tmp_path / "model.onnx", tmp_path, **options)
    (tmp_path / "main.c").write_text(example("c"))
    command = ["cc", "-std=c99", "-O1", "-ffp-contract=off", "main.c", "model.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], input=pictures.tobytes(), stdout=subprocess.PIPE, check=True)

    chosen = in_process(CompileOptions.of(**options))
    model = compiled_in_process(lower(str(tmp_path / "model.onnx"), chosen))
    names: dict[str, Any] = {}
    exec(example("python"), names)
    found = names["classify"](model, pictures)

    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for picture, *results in zip(
        pictures, found, np.frombuffer(done.stdout, np.float32).reshape(3, 1, 4, 1, 1), strict=True
    ):
        expected = np.asarray(session.run(None, {"x": picture.transpose(2, 0, 1)[None]})[0])
        for result in results:
            np.testing.assert_allclose(result, expected, atol=1e-5)
