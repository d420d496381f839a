"""Two real models under every legal combination of conventions, from C by every compiler and from LLVM: the same bits.

D1-D5, D7, D13, D28, D29, A6, B4, C3. The interface phase is where conventions begin, so what comes before runs once.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from building import (
    COMPILERS,
    HERE,
    MODELS,
    WARNINGS,
    compile_c,
    compile_model,
    exported,
    identity,
    link,
    runtime,
    support,
)

import aotc
from aotc.model.conventions import Conventions, entry_symbol, legal, model_symbol

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")

LEVELS = {"gcc": "-O1", "clang": "-O0", "object": "-O1"}
"""How each way to machine code is optimised: the bits must not depend on it."""
COMBINATIONS = list(legal())


class Lowered:
    """A model as IR that has no conventions yet, its first recorded input, and what it computes by default."""

    def __init__(self, name: str, folder: Path, optimize: str = "0") -> None:
        self.folder = folder
        self.flags = () if optimize == "0" else ("-march=native",)
        """Kernels on vectors have the bits of the object where the compiler may use the same instructions."""
        aotc.compile_to(MODELS / name / "model.onnx", folder, name="m", stop_after="loops", optimize=optimize)
        with np.load(MODELS / name / "inputs.npz") as inputs, np.load(MODELS / name / "outputs.npz") as outputs:
            (given,), (wanted,) = inputs.values(), outputs.values()
        self.input = folder / "input.bin"
        self.input.write_bytes(given.tobytes())
        self.runtime = [
            compile_c(source, folder, "-DAOTC_MEMORY_NUM_PAGES=0")
            for source in runtime("runtime", "memory", "registry", "metadata")
        ]
        self.expected = self.run(folder, Conventions())
        assert len(set(self.expected.values())) == 1, "C and LLVM differ"
        actual = np.frombuffer(self.expected["gcc"], wanted.dtype).reshape(wanted.shape)
        assert np.allclose(actual, wanted, rtol=1e-4, atol=1 if wanted.dtype.kind == "i" else 1e-5)

    def compile(self, folder: Path, choice: Conventions, *emit: str, dump: Path | None = None) -> Path | None:
        return compile_model(
            self.folder / "m.loops.mlir",
            folder,
            choice,
            emit,
            "m",
            start_at="loops",
            optimize="1",
            dump_phases=None if dump is None else str(dump),
        )

    def run(self, folder: Path, choice: Conventions) -> dict[str, bytes]:
        """The output, from each way to machine code."""
        weights = self.compile(folder, choice, "c", "object")
        flags = [f"-DM_{choice.interface_api.upper()}"]
        flags += ["-DM_WORKSPACE"] * (choice.workspace == "caller") + ["-DM_WEIGHTS"] * (choice.weights == "caller")
        more = [compile_c(HERE / "runner.c", folder, *flags), *([] if weights is None else [weights])]
        if choice.interface_api == "packed":
            more += self.runtime
        outputs: dict[str, bytes] = {}
        for way in (*COMPILERS, "object"):
            unit = folder / "m.o"
            if way != "object":
                unit = compile_c(folder / "m.c", folder, LEVELS[way], *self.flags, *WARNINGS, compiler=way)
            api = choice.interface_api
            assert exported(unit) == {entry_symbol("m", api), model_symbol("m", api)} | support("m")  # B4, C3
            program = link(folder, [unit, *more])
            result = folder / f"output_{way}.bin"
            subprocess.run([program, self.input, result, folder / "m.weights.bin"], check=True)
            outputs[way] = result.read_bytes()
        return outputs


_LOWERED: dict[str, Lowered] = {}


@pytest.fixture(scope="module", params=["micro_speech_int8", "ic_resnet_float"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lowered:
    if request.param not in _LOWERED:
        _LOWERED[request.param] = Lowered(request.param, tmp_path_factory.mktemp(request.param))
    return _LOWERED[request.param]


@pytest.mark.parametrize("choice", [each for each in COMBINATIONS if each.runtime == "c"], ids=identity)
def test_d29_every_legal_combination_gives_the_same_bits(model: Lowered, tmp_path: Path, choice: Conventions) -> None:
    assert model.run(tmp_path, choice) == model.expected


@pytest.fixture(scope="module")
def model_on_vectors(tmp_path_factory: pytest.TempPathFactory) -> Lowered:
    return Lowered("ic_resnet_float", tmp_path_factory.mktemp("vectors"), "2")


@pytest.mark.parametrize(
    "choice", [Conventions("micro"), Conventions("packed", "packed"), Conventions("packed", "cpacked")], ids=identity
)
def test_d29_kernels_on_vectors_are_called_by_every_convention(
    model_on_vectors: Lowered, tmp_path: Path, choice: Conventions
) -> None:
    assert model_on_vectors.run(tmp_path, choice) == model_on_vectors.expected


@pytest.mark.parametrize("choice", [each for each in COMBINATIONS if each.runtime == "host"], ids=identity)
def test_d28_the_runtime_decides_who_may_call_and_not_what_is_generated(
    model: Lowered, tmp_path: Path, choice: Conventions
) -> None:
    """The IR that everything is generated from is the same to the letter, so that each stands for its twin above.

    The header says before its guard which options it was made with.
    """
    twin = Conventions(choice.interface_api, choice.operator_api, "c", choice.workspace, choice.weights)
    for each in (choice, twin):
        model.compile(tmp_path / each.runtime, each, "header", dump=tmp_path / each.runtime)
    names = {path.name for path in (tmp_path / "host").iterdir()}
    assert {"08-interface.mlir", "m.h"} <= names and names == {path.name for path in (tmp_path / "c").iterdir()}
    for name in names - {"weights.npz"}:
        host, c = ((tmp_path / each / name).read_text() for each in ("host", "c"))
        if name == "m.h":
            host, c = (text[text.index("#ifndef") :] for text in (host, c))
        assert host == c, name
