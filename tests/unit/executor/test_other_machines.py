"""Code for another machine is refused before it is called, with what it is for, however it comes."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.executor import dynamic_symbols
from aotc.machines import processor
from aotc.machines.features import here
from aotc.machines.requirements import needed
from aotc.model.artifacts import ArtifactSet

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 18]> m (float[2] x) => (float[2] y) { y = Neg(x) }'
)
X = np.array([1, 2], np.float32)
PACKED = {"interface_api": "packed", "runtime": "host"}

pytestmark = [
    pytest.mark.skipif(processor.architecture() != "x86_64", reason="needs a 64-bit x86"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("target", ["cortex-m4", "aarch64"])
@pytest.mark.parametrize("way", ["load", "export_library"])
def test_a_set_for_another_machine_is_not_linked(emit: str, target: str, way: str, tmp_path: Path) -> None:
    artifacts = aotc.build(MODEL, name="m", target=target, emit=emit)
    with pytest.raises(aotc.UsageError, match=rf"--target {target}.*\[not-this-machine\]"):
        artifacts.load() if way == "load" else artifacts.export_library(tmp_path / "m.so")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("target", "what"), [("cortex-m4", r"Arm \(32 bits\)"), ("aarch64", r"aarch64 \(64 bits\)")])
def test_an_object_of_another_machine_is_not_run(target: str, what: str) -> None:
    artifacts = aotc.build(MODEL, name="m", target=target, emit="object")
    with pytest.raises(aotc.UsageError, match=rf"{what}.* x86-64 .*\[not-this-machine\]"):
        artifacts.jit()


def test_a_library_of_another_machine_is_not_opened(tmp_path: Path) -> None:
    artifacts = aotc.build(MODEL, name="m", emit="shared")
    image = bytearray(artifacts["m.so"].read())
    image[18] = 183  # the machine
    (tmp_path / "m.so").write_bytes(image)
    changed = ArtifactSet(tuple(replace(a, content=bytes(image)) if a.name == "m.so" else a for a in artifacts))
    for way in (changed.load, lambda: aotc.load(tmp_path / "m.so")):
        with pytest.raises(aotc.UsageError, match="not-this-machine"):
            way()


def test_where_nothing_is_known_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = aotc.build(MODEL, name="m", emit="object").export_library(tmp_path / "m.so")
    monkeypatch.setattr(dynamic_symbols, "_own_header", lambda: b"")
    assert aotc.load(path)(X)["y"].tolist() == [-1, -2]


def test_an_error_of_the_dynamic_loader_names_the_file_that_was_given(tmp_path: Path) -> None:
    image = aotc.build(MODEL, name="m", emit="object").export_library(tmp_path / "m.so").read_bytes()
    (tmp_path / "cut.so").write_bytes(image[:200])
    with pytest.raises(OSError, match=f"{tmp_path}/cut.so"):
        aotc.load(tmp_path / "cut.so")


@pytest.mark.parametrize("options", [{**PACKED, "emit": "object"}, {**PACKED, "emit": "c"}])
def test_a_library_without_metadata_says_itself_what_it_needs(options: dict[str, Any], tmp_path: Path) -> None:
    """Where no NAME.json lists the features, the function that the model has for that is asked."""
    lacked = "x86_64-unknown-linux-gnu:diamondrapids"
    if not {*needed(lacked)} - {*(here() or ())}:
        pytest.skip("this processor has it all")
    for target, refused in ((lacked, True), ("x86-64-v2", False)):
        artifacts = aotc.build(MODEL, name="m", target=target, **options)
        folder = tmp_path / target
        artifacts.write(folder)
        (folder / "m.json").unlink()
        sources = [name for name in ("m.c", "m.o") if name in artifacts]
        subprocess.run(["cc", "-shared", "-fPIC", *sources, "-o", "m.so", "-lm"], cwd=folder, check=True)
        if refused:
            with pytest.raises(aotc.UsageError, match=r"m\.so.*\[not-this-machine\]"):
                aotc.load(folder / "m.so")
        else:
            assert aotc.load(folder / "m.so")(X)["y"].tolist() == [-1, -2]
