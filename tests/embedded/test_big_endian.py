"""C on a machine with the highest byte first: what reads four bytes as a word takes them one by one, and what cannot
is an error of the preprocessor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto
from quantized import Graph, session
from rig import BIG_ENDIAN

import aotc

COMPILE = (BIG_ENDIAN[0], "-static", "-std=c99", "-O2", "-Wall", "-Werror")
MAIN = '#include "m.h"\nint main(void) { return aotc_m_selftest(); }\n'


def model(channels: int) -> tuple[ModelProto, Graph]:
    """A depthwise convolution, a pointwise one, a sum with what was there before."""
    g = Graph(np.random.default_rng(channels))
    x = g.real(g.input(np.int8, 1, channels, 9, 9), *g.parameters(np.int8, np.float32(0.05)))
    value = x
    for kernel, group in ((3, channels), (1, 1)):
        w, ws, wz, _ = g.weight(0, channels, channels // group, kernel, kernel)
        value = g.node("Conv", value, g.real(w, ws, wz, axis=0), group=group, pads=[kernel // 2] * 4)
        scale, point = g.parameters(np.int8, np.float32(0.04))
        value = g.real(g.node("QuantizeLinear", value, scale, point), scale, point)
    g.integers(g.node("Add", x, value), np.int8, np.float32(0.08))
    return g.model(), g


def compiled(made: ModelProto, g: Graph, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The compiler's run on the model's C with a self-test of onnxruntime's outputs."""
    np.savez(folder / "in.npz", **g.inputs)
    np.savez(folder / "out.npz", **dict(zip(g.outputs, session(made).run(g.outputs, g.inputs), strict=True)))
    tested = (
        {"selftest": folder / "in.npz", "selftest_outputs": folder / "out.npz"} if not options.get("weights") else {}
    )
    aotc.compile_to(made, folder, name="m", emit=("c", "header"), **tested, **options)
    (folder / "main.c").write_text(MAIN)
    command = [*COMPILE, f"-I{folder}", folder / "main.c", folder / "m.c", "-o", folder / "m", "-lm"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("channels", [8, 20])
@pytest.mark.parametrize("target", ["cortex-m4f", "cortex-m0"])
def test_words_are_read_byte_by_byte(target: str, channels: int, tmp_path: Path) -> None:
    made, g = model(channels)
    done = compiled(made, g, tmp_path, target=target)
    assert done.returncode == 0, done.stderr
    assert target == "cortex-m0" or "aotc_word(" in (tmp_path / "m.c").read_text()
    assert subprocess.run([BIG_ENDIAN[1], tmp_path / "m"], check=False).returncode == 0


@pytest.mark.parametrize("options", [{"target": "cortex-m55"}, {"target": "cortex-m4f", "weights": "caller"}])
def test_what_is_laid_out_otherwise_is_refused(options: dict[str, str], tmp_path: Path) -> None:
    made, g = model(8)
    done = compiled(made, g, tmp_path, **options)
    assert done.returncode and "little-endian" in done.stderr
