"""Functions of bytes on vectors: tables in registers give what onnxruntime computes, the same bits by each route."""

from __future__ import annotations

import platform
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import save
from quantized import Array, Graph, pick, session
from quick_c import quick_flags

import aotc
from aotc.machines.targets import instructions_of
from aotc.measuring.routes import C_FLAGS, build_shared

SHAPES = ((1, 24, 9, 7), (3,), (1, 64), (5, 33, 2), (1000,), (1, 3, 4, 4))
PLAIN = tuple(flag for flag in C_FLAGS if not flag.startswith("-march"))
NEEDED = {"x86-64-v2": "pshufb.128", "x86-64-v3": "pshufb.256", "x86-64-v4": "vpermi2w.512", "host": ""}
"""Targets, and what a processor has that is one."""
FLAGS = {name: f"-march={'native' if name == 'host' else name}" for name in NEEDED}


@cache
def functions() -> tuple[Graph, dict[str, Array]]:
    """Functions of one tensor of bytes each, after convolutions, too; and what they are without vectors."""
    g = Graph(np.random.default_rng(7))
    for shape in SHAPES:
        for op in ("Sigmoid", "Tanh", "HardSwish", "Elu", "Abs"):
            dtype = pick(g, np.int8, np.uint8)
            x = g.real(g.input(dtype, *shape), *g.parameters(dtype, g.scale()))
            value = g.node(op, x)
            g.integers(g.node("Mul", value, x) if g.r.integers(2) else value, pick(g, np.int8, np.uint8), g.scale())
    for outputs, size, group in ((16, 9, 1), (40, 7, 1), (3, 5, 1), (8, 6, 8)):
        x = g.real(g.input(np.int8, 1, 8, size, size), *g.parameters(np.int8, g.scale()))
        w, ws, wz, _ = g.weight(0, outputs, 8 // group, 3, 3)
        scale, point = g.parameters(np.int8, np.float32(0.1))
        sums = g.node("Conv", x, g.real(w, ws, wz, axis=0), group=group)
        real = g.real(g.node("QuantizeLinear", sums, scale, point), scale, point)
        g.integers(g.node("Mul", real, g.node("Sigmoid", real)), np.int8, np.float32(0.05))
    return g, aotc.compile(g.model(), optimize="0")(g.inputs)


def test_tables_are_what_onnxruntime_computes() -> None:
    g, computed = functions()
    wanted = session(g.model(), optimize=False).run(g.outputs, g.inputs)
    other = 0
    for name, array in zip(g.outputs, wanted, strict=True):
        distance = np.abs(computed[name].astype(np.int64) - array)
        assert distance.max() <= 1
        other += int((distance > 0).sum())
    assert other <= sum(array.size for array in wanted) / 500


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its extensions are compared")
@pytest.mark.parametrize("target", NEEDED)
def test_vectors_give_the_same_bytes(target: str, tmp_path: Path) -> None:
    """By LLVM, by C with the extensions of the target, and by C without any."""
    if NEEDED[target] and NEEDED[target] not in instructions_of("host"):
        pytest.skip(f"this processor is no {target}")
    g, wanted = functions()
    save(g.model(), tmp_path / "bytes.onnx")
    made = tmp_path / "llvm"
    aotc.compile_to(tmp_path / "bytes.onnx", made, target=target, emit="c,shared")
    assert re.search(r"_mm\d*_(shuffle|permutex2var)_epi(8|16)\(", (made / "bytes.c").read_text())
    models = {"llvm": aotc.load(made / "bytes.so")}
    for name, flags in (("extensions", (*PLAIN, FLAGS[target])), ("plain", PLAIN)):
        copy = shutil.copytree(made, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
        models[name] = aotc.load(build_shared(copy / "bytes.c", quick_flags(flags)))
    for route, model in models.items():
        computed = model(g.inputs)
        for name in g.outputs:
            assert computed[name].tobytes() == wanted[name].tobytes(), (route, name)
