"""Code of several code generators in one library: but for kernels, no name of one is taken for that of another."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.emit.elf import ElfFile
from aotc.machines.targets import binding, lookup
from aotc.model.artifacts import Artifact

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

CODEGENS = Path(__file__).parents[2] / "support/codegens"
MODEL = """<ir_version: 10, opset_import: ["" : 18]>
    m (float[4] x) => (float[4] y, float[4] z) { a = Relu(x)  b = Neg(a)  y = Abs(b)  z = Cosh(x) }"""
X = np.array([-1, 0, 1, 2], np.float32)
LINKED, OBJECTS = "Linked", "Objects"


@pytest.fixture
def generators(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has classes of the code generators for tests give one file of C more."""
    monkeypatch.syspath_prepend(str(CODEGENS))
    import tested_codegens

    def add(texts: dict[str, str]) -> None:
        for which, text in texts.items():
            made_by = getattr(tested_codegens, which)
            codegen = {LINKED: "test-linked", OBJECTS: "test-objects"}[which]
            more = Artifact(codegen, "native", f"{codegen}.c", text.encode(), "flash", flags=("-fcommon", "-O0"))

            def generate(
                self: Any, *given: Any, before: Any = made_by.generate, more: Artifact = more
            ) -> Sequence[Artifact]:
                return [*before(self, *given), more]

            monkeypatch.setattr(made_by, "generate", generate)

    return add


def _built(**options: Any) -> aotc.ArtifactSet:
    model = onnx.parser.parse_model(MODEL)
    return aotc.build(model, name="m", offload="test-linked,test-objects", **options)


CALLS = "int helper(int); int f(void) { return helper(1); }\n"
WEAK = "__attribute__((weak)) int helper(int v) { return v; }\n"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({LINKED: WEAK, OBJECTS: WEAK}, "duplicate-name"),
        ({LINKED: "int counter;\n", OBJECTS: "int counter;\n"}, "duplicate-name"),
        (
            {
                LINKED: "int helper(int v) { return v; }\n",
                OBJECTS: "int helper(int); int f(void) { return helper(1); }\n",
            },
            r"test-linked.*test-objects.*\[duplicate-name\]",
        ),
        (
            {LINKED: "float coshf(float v) { return 7; }\n"},
            r"test-linked.*\[duplicate-name\]",
        ),
        ({OBJECTS: "int aotc_m_run(void) { return 7; }\n"}, "duplicate-name"),
    ],
)
@pytest.mark.parametrize("emit", ["c", "object"])
def test_f17_a_name_of_two_code_generators_is_refused(
    texts: dict[str, str], said: str, emit: str, generators: Any
) -> None:
    """F17: weak, common and extern ones, of another code generator and of the model."""
    generators(texts)
    with pytest.raises(aotc.CompileError, match=said):
        _built(emit=emit, optimize="0").load()


def test_f17_what_is_static_is_each_ones_own(generators: Any) -> None:
    """F17: and so is a kernel, which the model calls."""
    own = "static int helper(int v) { return v; } static int counter; int %s_use(void) { return helper(counter); }\n"
    generators({which: own % which for which in (LINKED, OBJECTS)})
    found = _built(emit="object").load()(X)
    assert np.array_equal(found["y"], np.maximum(X, 0))
    np.testing.assert_allclose(found["z"], np.cosh(X), rtol=1e-5)


@pytest.mark.parametrize("there", [False, True])
def test_f17_what_nothing_defines_is_not_taken_from_the_process(there: bool, generators: Any, tmp_path: Path) -> None:
    """F17: a function that the code generator forgot, be there one of that name in the process or not."""
    if there:
        (tmp_path / "h.c").write_text("int forgotten(int v) { return v; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "h.c", "-o", "h.so"], cwd=tmp_path, check=True)
        ctypes.CDLL(str(tmp_path / "h.so"), mode=ctypes.RTLD_GLOBAL)
    generators({LINKED: "int forgotten(int); int f(void) { return forgotten(1); }\n"})
    with pytest.raises(aotc.CompileError, match="failed-tool"):
        _built(emit="object").load()


def test_an_object_is_refused_that_is_none(generators: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import tested_codegens

    broken = Artifact("test-linked", "native", "m_relu.o", b"\x7fELF\x02\x01", "flash")
    monkeypatch.setattr(tested_codegens.Linked, "generate", lambda *_: [broken])
    with pytest.raises(aotc.CompileError, match=r"m_relu\.o.*\[invalid-file\]"):
        _built(emit="object").load()


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_what_an_object_offers_and_wants(target: str) -> None:
    """Symbols that are inline in C++, alike in every file, are nobody's own."""
    text = """
$inline = comdat any
@weak = weak global i32 3
@common = common global i32 0
@own = internal global i32 4
define linkonce_odr i32 @inline() comdat { ret i32 1 }
define i32 @shown() { %1 = call i32 @asked() %2 = call i32 @inline() %3 = load volatile i32, ptr @own ret i32 %1 }
declare i32 @asked()
"""
    file = ElfFile(lookup(target).machine(0).emit_object(binding().parse_assembly(text)))
    assert file.offered() == {"weak", "common", "shown"}
    assert "asked" in file.wanted() and not {"shown", "inline", "own", ""} & file.wanted()
