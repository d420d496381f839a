"""Several models, and objects from elsewhere, in one program: no symbol is taken for another."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import aotc
from aotc.emit.llvm.link import shared_library
from aotc.machines.targets import lookup

DATA = Path(__file__).parents[2] / "models/data"
NAMES = ("hello_world_int8", "hello_world_float", "micro_speech_int8")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.mark.parametrize("target", ["cortex-m4", "host"])
def test_c1_a19_models_in_one_translation_unit(target: str, tmp_path: Path) -> None:
    """C1, A19: every name of file scope is the model's, or is defined once; each still computes what it does alone."""
    for name in NAMES:
        aotc.compile_to(DATA / name / "model.onnx", tmp_path, name=name, target=target, optimize="s")
    (tmp_path / "all.c").write_text("".join(f'#include "{name}.c"\n' for name in NAMES))
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-march=native", "-Wall", "-Wextra", "-Werror"]
    strict = ["-pedantic"] if target != "host" else []  # types of vectors are defined again, which C99 has no word for
    subprocess.run(
        ["cc", *flags, *strict, "-shared", "-fPIC", "all.c", "-o", "all.so", "-lm"], cwd=tmp_path, check=True
    )
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    for name in NAMES:
        with np.load(DATA / name / "inputs.npz") as given, np.load(DATA / name / "outputs.npz") as expected:
            (x,), (y,) = given.values(), expected.values()
        out = np.empty_like(y)
        run = getattr(library, f"aotc_{name}_run")
        assert run(np.ascontiguousarray(x).ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)) == 0
        np.testing.assert_allclose(out, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("definition", ["{}", "__attribute__((weak)) {}", '{} __attribute__((visibility("default")))'])
def test_f17_functions_of_the_process_take_no_libraries_place(definition: str, tmp_path: Path) -> None:
    """F17: what a library defines, weakly or not, is what it calls, though the process has another one before."""
    kinds = [("first", 1), ("second", 2)]
    handles = []
    for name, value in kinds:
        text = f"int shared_name(void) {{ return {value}; }} int common_name; int use(void) {{ return shared_name(); }}"
        head = definition.format("int shared_name(void)") + ";\n"
        (tmp_path / f"{name}.c").write_text(head + text)
        subprocess.run(["cc", "-c", "-fPIC", "-fcommon", f"{name}.c", "-o", f"{name}.o"], cwd=tmp_path, check=True)
        image = shared_library([(tmp_path / f"{name}.o").read_bytes()], lookup("host"), name)
        (tmp_path / f"{name}.so").write_bytes(image)
        handles.append(ctypes.CDLL(str(tmp_path / f"{name}.so"), mode=ctypes.RTLD_GLOBAL))
    assert [handle.use() for handle in handles] == [value for _, value in kinds]
    ctypes.c_int.in_dll(handles[0], "common_name").value = 7
    assert ctypes.c_int.in_dll(handles[1], "common_name").value == 0


def test_f17_two_models_of_one_name_and_one_process(tmp_path: Path) -> None:
    """F17: libraries of the same symbols, loaded for all to see, each run their own kernels and weights."""
    found: list[np.ndarray] = []
    x = np.full((1, 1), 0.5, np.float32)
    for name in ("hello_world_float", "again"):
        source = DATA / "hello_world_float/model.onnx"
        artifacts = aotc.build(source, name="m", emit="c", export_operators=True)
        if name == "again":
            changed = artifacts["m.c"].text().replace("aotc_m_run(", "aotc_m_run(", 1).replace("return 0;", "return 9;")
            (tmp_path / "m.c").write_text(changed)
            artifacts = aotc.ArtifactSet(
                tuple(
                    aotc.Artifact(a.codegen, a.loader, a.name, changed.encode(), a.role, a.target, a.flags)
                    if a.name == "m.c"
                    else a
                    for a in artifacts
                )
            )
        path = artifacts.export_library(tmp_path / f"{name}.so")
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        model = aotc.load(path)
        (info,) = model.inputs
        if name == "again":
            with pytest.raises(Exception, match="failed-run"):
                model({info.name: x})
        else:
            found += model({info.name: x}).values()
    assert np.isfinite(found[0]).all()
