"""Features that targets need: LLVM's tables, what Linux says, what compiled models say and who refuses them."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import aotc
from aotc.cli.main import run
from aotc.compiler.driver import in_process, lower
from aotc.emit.llvm.jit import host_object
from aotc.emit.llvm.object import NativeCode
from aotc.errors import UsageError
from aotc.executor import load, loading
from aotc.machines import features, processor, requirements
from aotc.machines.features import FEATURES, ZMM, checks, here, rows_of
from aotc.machines.requirements import needed, runnable
from aotc.machines.targets import binding, lookup
from aotc.model.metadata import from_json, to_json
from aotc.pipeline.options import CompileOptions

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 18]> m (float[2] x) => (float[2] y) { y = Neg(x) }'
)
X = np.array([1, 2], np.float32)

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
on_x86 = pytest.mark.skipif(processor.architecture() != "x86_64", reason="needs a 64-bit x86")

_UNUSED = """
64bit adx aes amx-avx512 amx-bf16 amx-complex amx-fp16 amx-fp8 amx-int8 amx-movrs amx-tf32 amx-tile avx10.1 avx10.2
ccmp cf cldemote clflushopt clwb clzero cmov cmpccxadd crc32 cx16 cx8 egpr enqcmd fsgsbase fxsr hreset invpcid kl lwp
mmx movdir64b movdiri movrs mwaitx ndd nf pclmul pconfig pku ppx prefetchi prfchw ptwrite push2pop2 raoint rdpid rdpru
rdrnd rdseed rtm sahf serialize sgx sha sha512 shstk sm3 sm4 sse sse2 tsxldtrk uintr usermsr vaes vpclmulqdq waitpkg
wbnoinvd widekl xsave xsavec xsaveopt xsaves zu
"""
"""Features of x86 without a row: the base, what code generation does not use on its own, what no processor has yet."""


@on_x86
def test_every_feature_has_a_row_or_a_reason() -> None:
    rows = [row.name for row in FEATURES["x86_64"]]
    assert {*binding().get_host_cpu_features()} <= {*rows, *_UNUSED.split()} and not {*rows} & {*_UNUSED.split()}


@on_x86
def test_linux_and_llvm_agree_on_this_machine() -> None:
    found = binding().get_host_cpu_features()
    assert here() == tuple(row.name for row in FEATURES["x86_64"] if found.get(row.name))
    assert needed("host") == here()


def test_needed_beyond_the_base() -> None:
    assert needed("x86-64") == needed("aarch64") == needed("rv64gc") == needed("cortex-m7") == needed("wasm32") == ()
    assert needed("x86-64-v2") == ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt")
    assert {*needed("x86-64-v3")} - {*needed("x86-64-v2")} == {
        *("fma", "movbe", "avx", "f16c", "bmi", "avx2", "bmi2", "lzcnt")
    }
    assert {*needed("x86-64-v4")} - {*needed("x86-64-v3")} == {
        f"avx512{part}" for part in ("f", "dq", "cd", "bw", "vl")
    }
    assert needed("x86_64-linux-gnu:haswell") == needed("x86-64-v3")
    assert "fma" not in needed("x86_64-linux-gnu:haswell:-fma")
    assert needed("rv64gcv") == ("v",) and "neon" in needed("armv7")
    assert {"sve", "dotprod"} <= {*needed("aarch64-linux-gnu:neoverse-v1")}


def test_the_bits_that_are_asked_for() -> None:
    architecture, rows = rows_of(["avx512f", "lzcnt"])
    found = checks(rows)
    assert architecture == "x86_64" and found.state == ZMM
    # Whether XCR0 may be read, then the features.
    assert found.leaves == ((1, 0, ((2, 1 << 27),)), (7, 0, ((1, 1 << 16),)), (0x80000001, 0, ((2, 1 << 5),)))
    assert checks(rows_of(["popcnt"])[1]).leaves == ((1, 0, ((2, 1 << 23),)),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 avx2", {"fpu", "sse2", "avx2"}),
        ("Features\t: fp asimd sve", {"fp", "asimd", "sve"}),
        ("hart\t: 0\nisa\t: rv64imafdcv_zicsr", {*"imafdcv", "zicsr"}),
        ("nothing", set()),
    ],
)
def test_what_linux_says(text: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_described", lambda: tuple(text.splitlines()))
    assert processor.feature_names() == expected


def test_metadata_has_them() -> None:
    info = aotc.compile(MODEL).metadata
    assert "features" not in json.loads(to_json(replace(info, features=())))
    some = replace(info, features=("avx", "fma"))
    assert from_json(to_json(some)) == some


@needs_gcc
@on_x86
def test_a_library_for_another_processor_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aotc.compile_to(MODEL, tmp_path, name="m", emit="shared", target="x86-64-v2")
    assert json.loads((tmp_path / "m.json").read_text())["features"] == [*needed("x86-64-v2")]
    assert load(tmp_path / "m.so")(X)["y"].tolist() == [-1, -2]
    monkeypatch.setattr(loading, "here", lambda: ("sse3", "ssse3"))
    with pytest.raises(UsageError) as caught:
        load(tmp_path / "m.so")
    said = str(caught.value)
    assert "compiled for a processor with sse3, ssse3, sse4.1, sse4.2, popcnt" in said
    assert "this one has sse3, ssse3, and not sse4.1, sse4.2, popcnt" in said
    np.savez(tmp_path / "x.npz", x=X)
    assert run(["run", str(tmp_path / "m.so"), "--inputs", str(tmp_path / "x.npz")]) == 2
    assert "not sse4.1, sse4.2, popcnt" in capsys.readouterr().err
    monkeypatch.setattr(loading, "here", lambda: None)  # where the operating system does not say
    assert load(tmp_path / "m.so")(X)["y"].tolist() == [-1, -2]


def _supported(folder: Path, target: str, emit: str) -> int:
    """The answer of `aotc_m_supported` of a model for `target` says on this machine."""
    aotc.compile_to(MODEL, folder, name="m", emit=emit, target=target)
    assert "int32_t aotc_m_supported(void);" in (folder / "m.h").read_text()
    unit = "m.c" if emit == "c" else "m.o"
    flags = ["-std=c99", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, unit, "-o", "m.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "m.so")).aotc_m_supported()


@needs_gcc
@on_x86
@pytest.mark.parametrize("emit", ["c", "object"])
def test_the_function_that_says_it(emit: str, tmp_path: Path) -> None:
    found = here()
    assert found is not None
    assert _supported(tmp_path / "host", "host", emit) == 1 or not found
    for row in FEATURES["x86_64"]:
        if row.name in ("fma4", "lzcnt", "avxvnni", "avx512bf16", "movbe"):  # one of each leaf, there or not
            target = f"x86_64-linux-gnu:x86-64:+{row.name}"
            assert _supported(tmp_path / row.name, target, emit) == (row.name in found), row.name


@on_x86
@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
def test_the_function_is_of_the_base_itself(tmp_path: Path) -> None:
    aotc.compile_to(MODEL, tmp_path, name="m", emit="object", target="x86-64-v4")
    command = ["objdump", "-d", "--disassemble=aotc_m_supported", "--no-show-raw-insn", "m.o"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "cpuid" in text and not any(word in text for word in ("\tv", "ymm", "zmm", "andn", "bextr"))


@pytest.mark.parametrize("target", ["x86-64", "rv64gc", "cortex-m4", "wasm32"])
def test_the_base_needs_no_function(target: str, tmp_path: Path) -> None:
    aotc.compile_to(MODEL, tmp_path, name="m", emit="c,llvm-ir", target=target)
    assert all("supported" not in (tmp_path / name).read_text() for name in ("m.c", "m.h", "m.ll"))


@pytest.mark.parametrize("target", ["rv64gcv", "armv7", "aarch64-linux-gnu:neoverse-v1"])
def test_other_architectures_ask_linux(target: str, tmp_path: Path) -> None:
    artifacts = aotc.compile_to(MODEL, tmp_path, name="m", emit="c,object,llvm-ir", target=target)
    assert artifacts.info is not None and artifacts.info.features == needed(target)
    _, rows = rows_of(artifacts.info.features)
    mask = sum(1 << row.bit for row in rows if row.slot == features.HWCAP)
    assert f"getauxval(16) & {mask:#x}u" in (tmp_path / "m.c").read_text()
    assert "@getauxval" in (tmp_path / "m.ll").read_text()


@on_x86
def test_what_is_compiled_for_runs_in_this_process_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runnable("x86-64").name == "x86-64"
    assert [runnable(target).name for target in ("host", "rv64gc", "cortex-m4")] == ["host"] * 3
    monkeypatch.setattr(requirements, "here", lambda: needed("x86-64-v3"))
    assert [runnable(target).name for target in ("x86-64-v3", "x86-64-v4")] == ["x86-64-v3", "host"]
    monkeypatch.setattr(requirements, "here", lambda: None)  # where the operating system does not say
    assert runnable("x86-64-v3").name == "host"


@on_x86
def test_code_in_this_process_has_the_instructions_of_its_target() -> None:
    def code(target: str) -> bytes:
        return host_object(lower(MODEL, in_process(CompileOptions.of(target=target, optimize="0"))))

    def named(target: str) -> bytes:
        compilation = lower(MODEL, in_process(CompileOptions.of(target=target, optimize="0")))
        return NativeCode(compilation, lookup(target), pool=False).object

    assert code("x86-64") == named("x86-64") != named("x86-64-v4")
