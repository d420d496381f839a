"""The examples of docs/state.md: the C loop over frames and the Python one give the same, and what onnxruntime does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

import aotc

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")
TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,4] x, float[1,1,8] h) => (float[8] y, float[1,1,8] hn)
{ s = Unsqueeze(x, zero) all, hn = GRU <hidden_size = 8> (s, w, r, , , h) y = Reshape(hn, shape) }"""


def example(language: str) -> str:
    (found,) = [code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if "reset()" in code]
    return found


def test_the_examples_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    model = onnx.parser.parse_model(TEXT)
    weights = {"w": rng.standard_normal((1, 24, 4)), "r": rng.standard_normal((1, 24, 8))}
    arrays = {name: array.astype(np.float32) for name, array in weights.items()}
    arrays |= {"zero": np.int64([0]), "shape": np.int64([8])}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    onnx.save(model, tmp_path / "model.onnx")

    script = example("python") + '\nframes.tofile("in")\nnp.stack(first).tofile("python")\n'
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    aotc.compile_to(tmp_path / "model.onnx", tmp_path, state={"hn": "h"}, optimize=1)
    (tmp_path / "main.c").write_text(example("c"))
    command = ["cc", "-std=c99", "-O1", "-march=native", "-ffp-contract=off", "main.c", "model.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with (tmp_path / "in").open("rb") as frames, (tmp_path / "c").open("wb") as out:
        subprocess.run([tmp_path / "main"], stdin=frames, stdout=out, check=True)

    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    state, expected = np.zeros((1, 1, 8), np.float32), []
    for frame in np.fromfile(tmp_path / "in", np.float32).reshape(10, 1, 4):
        y, state = session.run(["y", "hn"], {"x": frame, "h": state})
        expected.append(y)
    for name in ("python", "c"):
        np.testing.assert_allclose(np.fromfile(tmp_path / name, np.float32).reshape(10, 8), expected, atol=1e-6)
