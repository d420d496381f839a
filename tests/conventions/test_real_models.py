"""Two real models under every legal combination of conventions, from C by every compiler and from LLVM: the same bits.

D1-D5, D7, D13, D28, D29, A6, B4, C3. The interface phase is where conventions begin, so what comes before runs once.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from building import (
    COMPILERS,
    HERE,
    MODELS,
    WARNINGS,
    compile_c,
    exported,
    external_weights,
    identity,
    link,
    options_of,
    runtime,
    support,
)
from legality import legal
from lowered import Lowered
from vector_headers import headers_read

from aotc.emit.artifacts import Emission, emit
from aotc.model.conventions import Conventions, entry_symbol, model_symbol
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.textual_ir import ir_text

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")

LEVELS = {"gcc": "-Og", "clang": "-O0"}
"""How each compiler of C optimises: the bits must not depend on it."""
COMBINATIONS = list(legal())


@dataclass(frozen=True)
class Described:
    """The same of a model whoever may call it: a digest of its IR, and its headers from their guards on."""

    ir: bytes
    headers: dict[str, str]

    @staticmethod
    def of(compilation: Compilation) -> Described:
        texts = {each.name: each.text() for each in emit(Emission(_emitting(compilation, "header")))}
        assert "m.h" in texts
        guarded = {name: text[text.index("#ifndef") :] for name, text in texts.items()}
        return Described(hashlib.sha256(ir_text(compilation.module).encode()).digest(), guarded)


def _emitting(compilation: Compilation, *kinds: str) -> Compilation:
    return replace(compilation, options=replace(compilation.options, emit=kinds))


def _twin(choice: Conventions) -> Conventions:
    """The same for a runtime of C."""
    return Conventions(choice.interface_api, choice.operator_api, "c", choice.workspace, choice.weights)


TWINS = {_twin(each) for each in COMBINATIONS if each.runtime == "host"}


class Model:
    """A model that has no conventions yet, its first recorded input, and what it computes by default."""

    def __init__(self, name: str, folder: Path, optimize: str = "0") -> None:
        self.flags = () if optimize == "0" else ("-march=native",)
        """Kernels on vectors have the bits of the object where the compiler may use the same instructions."""
        self._optimize = optimize
        self._lowered = Lowered(MODELS / name / "model.onnx", name="m", optimize=optimize)
        with np.load(MODELS / name / "inputs.npz") as inputs, np.load(MODELS / name / "outputs.npz") as outputs:
            (given,), (wanted,) = inputs.values(), outputs.values()
        self.input = folder / "input.bin"
        self.input.write_bytes(given.tobytes())
        self.runtime = [
            compile_c(source, folder, "-DAOTC_MEMORY_NUM_PAGES=0")
            for source in runtime("runtime", "memory", "registry", "metadata")
        ]
        self._described: dict[Conventions, Described] = {}
        self.expected = self.run(folder, Conventions())
        assert len(set(self.expected.values())) == 1, "C and LLVM differ"
        actual = np.frombuffer(self.expected["gcc"], wanted.dtype).reshape(wanted.shape)
        assert np.allclose(actual, wanted, rtol=1e-4, atol=1 if wanted.dtype.kind == "i" else 1e-5)

    def under(self, choice: Conventions) -> Compilation:
        return self._lowered.under(**options_of(choice), emit=("c", "object"), optimize="1")

    def described(self, choice: Conventions) -> Described:
        """Of a model under `choice`, which `run` has lowered already, as a rule."""
        if choice not in self._described:
            self._described[choice] = Described.of(self.under(choice))
        return self._described[choice]

    def run(self, folder: Path, choice: Conventions) -> dict[str, bytes]:
        """The output, from each way to machine code."""
        compilation = self.under(choice)
        if choice in TWINS and self._optimize == "0":  # of kernels on vectors nobody asks
            self._described[choice] = Described.of(compilation)
        # Scalar loops as LLVM makes them at its quickest, what is on vectors as it is by default.
        optimized = replace(compilation.options, optimize=self._optimize)
        with uncollected():
            emit(Emission(replace(compilation, options=optimized))).write(folder)
        weights = external_weights(folder, choice, "m")
        flags = [f"-DM_{choice.interface_api.upper()}"]
        flags += ["-DM_WORKSPACE"] * (choice.workspace == "caller") + ["-DM_WEIGHTS"] * (choice.weights == "caller")
        more = [compile_c(HERE / "runner.c", folder, *flags), *([] if weights is None else [weights])]
        if choice.interface_api == "packed":
            more += self.runtime
        outputs: dict[str, bytes] = {}
        for way in (*COMPILERS, "object"):
            unit = folder / "m.o"
            if way != "object":
                c_flags = (LEVELS[way], *self.flags, *WARNINGS)
                vectors = headers_read(way, "-std=c99", "-Werror", *c_flags) if self.flags else ()
                unit = compile_c(folder / "m.c", folder, *c_flags, *vectors, compiler=way)
            api = choice.interface_api
            assert exported(unit) == {entry_symbol("m", api), model_symbol("m", api)} | support("m")  # B4, C3
            program = link(folder, [unit, *more])
            result = folder / f"output_{way}.bin"
            subprocess.run([program, self.input, result, folder / "m.weights.bin"], check=True)
            outputs[way] = result.read_bytes()
        return outputs


_KNOWN: dict[str, Model] = {}


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """No model is kept after the last test: each is IR of thousands of operations."""
    yield
    _KNOWN.clear()


@pytest.fixture(scope="module", params=["micro_speech_int8", "ic_resnet_float"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    if request.param not in _KNOWN:
        _KNOWN[request.param] = Model(request.param, tmp_path_factory.mktemp(request.param))
    return _KNOWN[request.param]


@pytest.mark.parametrize("choice", [each for each in COMBINATIONS if each.runtime == "c"], ids=identity)
def test_d29_every_legal_combination_gives_the_same_bits(model: Model, tmp_path: Path, choice: Conventions) -> None:
    assert model.run(tmp_path, choice) == model.expected


@pytest.fixture(scope="module")
def model_on_vectors(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model("ic_resnet_float", tmp_path_factory.mktemp("vectors"), "2")


@pytest.mark.parametrize(
    "choice", [Conventions("micro"), Conventions("packed", "packed"), Conventions("packed", "cpacked")], ids=identity
)
def test_d29_kernels_on_vectors_are_called_by_every_convention(
    model_on_vectors: Model, tmp_path: Path, choice: Conventions
) -> None:
    assert model_on_vectors.run(tmp_path, choice) == model_on_vectors.expected


@pytest.mark.parametrize("choice", [each for each in COMBINATIONS if each.runtime == "host"], ids=identity)
def test_d28_the_runtime_decides_who_may_call_and_not_what_is_generated(
    model: Model, tmp_path: Path, choice: Conventions
) -> None:
    """The IR that everything is generated from is the same to the letter, so that each stands for its twin above; so
    are the headers, but that the model's says before its guard which options it was made with.
    """
    assert model.described(choice) == model.described(_twin(choice))
