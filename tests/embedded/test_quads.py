"""Integer kernels on vectors of a Cortex-M55: random convolutions and products, on the board and as plain C here.

Channels and outputs fill registers or do not, windows are cut or not; what is compared is every bit of a self-test,
whose outputs are onnxruntime's, or with TFLite's rounding those of kernels as they are defined.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Literal

import numpy as np
import pytest
from quantized import Graph, pick, scale_of_sums, session
from rig import BOARDS, build, run

import aotc

_SCRATCH = TemporaryDirectory(prefix="aotc-quads.")
CASES = 16
"""Kernels of one model."""


def _window(g: Graph, rank: int) -> tuple[list[int], dict[str, object]]:
    kernel = [int(pick(g, 1, 2, 3, 3, 5)) for _ in range(rank)]
    pads = [int(g.r.integers(size)) for size in (*kernel, *kernel)] if g.r.integers(3) else [0] * 2 * rank
    strides = [int(each) for each in g.r.integers(1, 3, rank)]
    dilations = [1] * rank if g.r.integers(4) else [2] * rank
    return kernel, {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}


def _conv(g: Graph, channels: int, outputs: int, group: int) -> None:
    dtype, rank = pick(g, np.int8, np.int8, np.uint8), int(pick(g, 1, 2, 2))
    kernel, attributes = _window(g, rank)
    x = g.input(dtype, int(pick(g, 1, 1, 2)), channels, *(int(n) for n in g.r.integers(9, 12, rank)))
    scale = g.scale()
    w, ws, wz, scales = g.weight(0, outputs, channels // group, *kernel)
    operands = [g.real(x, *g.parameters(dtype, scale)), g.real(w, ws, wz, axis=0)]
    if g.r.integers(2):
        of_bias = np.broadcast_to(scale * scales, (outputs,)) if scales.size > 1 else scale * scales
        bias = g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32))
        operands.append(g.node("DequantizeLinear", bias, g.constant(np.asarray(of_bias, np.float32)), axis=0))
    result = g.node("Conv", *operands, group=group, **attributes)
    if g.r.integers(2):
        result = g.node("Relu", result)
    g.integers(result, dtype, scale_of_sums(g, dtype))


def conv(g: Graph) -> None:
    _conv(g, int(pick(g, 1, 2, 3, 7, 16, 20, 32)), int(pick(g, 4, 5, 8, 14)), 1)


def grouped(g: Graph) -> None:
    group = int(pick(g, 2, 3))
    _conv(g, group * int(pick(g, 4, 16, 18)), group * int(pick(g, 3, 4, 8)), group)


def depthwise(g: Graph) -> None:
    channels = int(pick(g, 3, 4, 8, 10, 16))
    _conv(g, channels, channels, channels)


def product(g: Graph) -> None:
    dtype, m, k, n = pick(g, np.int8, np.uint8), int(pick(g, 1, 3)), int(pick(g, 5, 16, 40, 64)), int(pick(g, 4, 7, 12))
    w, ws, wz, _ = g.weight(1, k, n)
    if g.r.integers(3) == 0:  # of uint8, that leave int8
        values = g.r.integers(0, 256, (k, n)).astype(np.uint8)
        w, ws, wz = map(g.constant, (values, np.array(0.01, np.float32), np.array(90, np.uint8)))
    left = g.real(g.input(dtype, m, k), *g.parameters(dtype, g.scale()))
    g.integers(g.node("MatMul", left, g.real(w, ws, wz, axis=1)), dtype, scale_of_sums(g, dtype))


KINDS = {each.__name__: each for each in (conv, grouped, depthwise, product)}


@cache
def compiled(kind: str, optimize: str, requantize: Literal["exact", "fixed"] = "exact") -> Path:
    """A model of random kernels of a kind, with its self-test."""
    g = Graph(np.random.default_rng(len(kind)))
    for _ in range(CASES):
        KINDS[kind](g)
    model, folder = g.model(), Path(mkdtemp(dir=_SCRATCH.name))
    if requantize == "exact":
        wanted = session(model).run(g.outputs, g.inputs)
    else:
        defined = aotc.compile(model, optimize="0", requantize="fixed")(g.inputs)
        wanted = [defined[name] for name in g.outputs]
    np.savez(folder / "inputs.npz", **g.inputs)
    np.savez(folder / "outputs.npz", **dict(zip(g.outputs, wanted, strict=True)))
    aotc.compile_to(
        *(model, folder),
        name="quads",
        emit=("c", "object"),
        target="cortex-m55",
        optimize=optimize,
        requantize=requantize,
        selftest=str(folder / "inputs.npz"),
        selftest_outputs=str(folder / "outputs.npz"),
    )
    (folder / "main.c").write_text('#include "quads.h"\nint main(void) { return aotc_quads_selftest() != 0; }\n')
    return folder


@pytest.mark.parametrize("optimize", ["2", "s"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_agree_with_onnxruntime(kind: str, optimize: str, tmp_path: Path) -> None:
    folder = compiled(kind, optimize)
    assert "vcvtnq_s32_f32" in (folder / "quads.c").read_text()
    _run_both(folder, kind, optimize, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_quads_are_rounded_as_tflite_does(kind: str, tmp_path: Path) -> None:
    folder = compiled(kind, "2", "fixed")
    assert "vqrdmulhq_s32" in (folder / "quads.c").read_text()
    _run_both(folder, kind, "2", tmp_path)


def _run_both(folder: Path, kind: str, optimize: str, tmp_path: Path) -> None:
    """C and the object, on the board."""
    assert "vmladavaq_s8" in (folder / "quads.c").read_text() or kind == "depthwise"
    for end in ("c", "o"):
        (tmp_path / end).mkdir()
        program = build(
            BOARDS["m55"],
            tmp_path / end,
            model=[folder / f"quads.{end}"],
            program=[folder / "main.c"],
            flags=(f"-O{optimize}",),
            stack=8192,
        )
        run(program)


@pytest.mark.parametrize("requantize", ["exact", "fixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_plain_c_has_the_same_bits(kind: str, requantize: Literal["exact", "fixed"], tmp_path: Path) -> None:
    folder = compiled(kind, "2", requantize)
    program = tmp_path / "program"
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-psabi")
    flags = ("-std=c99", "-O1", *warnings, "-fsanitize=undefined,address", "-fno-sanitize-recover")
    sources = [str(folder / name) for name in ("quads.c", "main.c")]
    subprocess.run(["gcc", *flags, *sources, "-o", str(program)], check=True, cwd=folder)
    subprocess.run([str(program)], check=True)
