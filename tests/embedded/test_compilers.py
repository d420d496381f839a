"""The C of every target as every compiler sees it that Debian has: no warning, strict ones included (D31).

Debian has no compiler for MSP430 any more; AVR's, of 16-bit `int`, stands for it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from rig import WARNINGS

import aotc
from aotc.machines.compilers import compiler_flags
from aotc.machines.targets import TARGETS, Target

KWS = Path(__file__).parents[1] / "models" / "data" / "kws_int8" / "model.onnx"
STRICT = (*WARNINGS, "-Wcast-qual", "-Wsign-conversion", "-Wundef", "-Wpointer-arith", "-Wwrite-strings", "-Wunused")
OF_GCC = ("-Wcast-align=strict", "-Wlogical-op", "-Wduplicated-cond", "-Wmisleading-indentation")
XTENSA = "/usr/lib/xtensa-lx106-elf/picolibc.specs"
HEADERS = ("-ffreestanding", "-isystem", "/usr/lib/arm-none-eabi/include", "-D__IEEE_LITTLE_ENDIAN")
"""Newlib's, which Clang reads for every target: it has none of its own. WebAssembly is unknown to it."""
AUXV = "unsigned long getauxval(unsigned long);\n#define AT_HWCAP 16\n#define AT_HWCAP2 26\n"
"""Of Linux, for the check of the processor."""

PORTABLE = "rv32imc"
"""The target whose C uses nothing but the language."""


def compilers(target: Target) -> Iterator[tuple[str, ...]]:
    """The commands that compile for a target, and for that of portable C those of other processors."""
    flags = compiler_flags(target, "1")  # at 0 intrinsics are macros, of which compilers warn as of our own
    processor = flags if target.name.startswith("wasm32") else (f"--target={target.triple}", *flags)
    system = () if target.triple.startswith("x86_64") else (*HEADERS, "-isystem", "headers")
    yield ("clang", *processor, *system)
    if target.name.startswith("cortex-m"):
        yield ("arm-none-eabi-gcc", *flags, *OF_GCC)
    elif target.name.startswith("rv32"):
        yield ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs", *flags, *OF_GCC)
    elif target.triple.startswith("x86_64"):
        yield ("gcc", *flags, *OF_GCC)
    if target.name == PORTABLE:
        yield ("xtensa-lx106-elf-gcc", f"-specs={XTENSA}", *OF_GCC)
        yield ("avr-gcc", "-mmcu=atmega2560", "-Wcast-align")


def floats(path: Path) -> Path:
    """A small network of floats: a convolution, a pool, a product, a softmax, and steps of other element types."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "v"], ["m"]),
        helper.make_node("Softmax", ["m"], ["s"]),
        helper.make_node("Round", ["m"], ["n"]),
        helper.make_node("Cast", ["s"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["n"], ["i"], to=TensorProto.INT32),
        helper.make_node("TopK", ["s", "k"], ["t", "at"]),
    ]
    constants = [
        helper.make_tensor("w", TensorProto.FLOAT, [8, 3, 3, 3], [(i % 7 - 3) / 8 for i in range(216)]),
        helper.make_tensor("v", TensorProto.FLOAT, [128, 10], [(i % 11 - 5) / 16 for i in range(1280)]),
        helper.make_tensor("k", TensorProto.INT64, [1], [3]),
    ]
    outputs = {"h": TensorProto.FLOAT16, "i": TensorProto.INT32, "t": TensorProto.FLOAT, "at": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "floats",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("interface", [("c", "unpacked"), ("packed", "cpacked")], ids=lambda pair: pair[0])
@pytest.mark.parametrize("model", ["kws_int8", "floats"])
@pytest.mark.parametrize(
    "target", [each for each in TARGETS.values() if each.name != "host"], ids=lambda each: each.name
)
def test_no_compiler_warns(target: Target, model: str, interface: tuple[str, str], tmp_path: Path) -> None:
    source = KWS if model == "kws_int8" else floats(tmp_path / "floats.onnx")
    apis = {"interface_api": interface[0], "operator_api": interface[1]}
    (tmp_path / "out" / "headers" / "sys").mkdir(parents=True)
    (tmp_path / "out" / "headers" / "sys" / "auxv.h").write_text(AUXV)
    aotc.compile_to(source, tmp_path / "out", emit=["c"], target=target.name, name="m", **apis)
    for command in compilers(target):
        done = subprocess.run([*command, *STRICT, "-fsyntax-only", "m.c"], cwd=tmp_path / "out", capture_output=True)
        assert done.returncode == 0, f"{command[0]}: {done.stderr.decode()[:4000]}"


def test_every_compiler_is_there() -> None:
    """None is left out in silence."""
    asked = {command[0] for target in TARGETS.values() for command in compilers(target)}
    assert [name for name in sorted(asked) if shutil.which(name) is None] == []
    assert len(asked) == 6


def test_operators_and_helpers_are_where_macros_put_them(tmp_path: Path) -> None:
    """Only the entry stays in .text; a compiler that does not inline leaves helpers, too."""
    aotc.compile_to(KWS, tmp_path, emit=["c"], target="cortex-m0", name="m")
    places = (
        'AOTC_OPERATOR=__attribute__((noinline, section(".fast")))',
        'AOTC_HELPER=__attribute__((section(".fast")))',
    )
    flags = (*compiler_flags(TARGETS["cortex-m0"], "s"), "-fno-inline", *(f"-D{place}" for place in places))
    subprocess.run(["arm-none-eabi-gcc", *flags, "-std=c99", "-c", "m.c"], cwd=tmp_path, check=True)
    command = ["arm-none-eabi-objdump", "-t", "m.o"]
    symbols = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    functions = [(line.split()[-3], line.split()[-1]) for line in symbols.splitlines() if " F " in line]
    assert [name for section, name in functions if section != ".fast"] == ["aotc_m_run"]
    assert any("saturate" in name or "round" in name for _, name in functions)
