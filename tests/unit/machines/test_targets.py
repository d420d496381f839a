"""Targets: what names and descriptions stand for, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from aotc.errors import UsageError
from aotc.machines import families, processor
from aotc.machines.boards import BOARDS
from aotc.machines.instructions import available, computing
from aotc.machines.instructions.arm64 import AARCH64
from aotc.machines.instructions.floats import FUNCTIONS
from aotc.machines.instructions.rows import Lanes
from aotc.machines.machine import Core, Machine
from aotc.machines.targets import (
    TARGETS,
    Target,
    binding,
    installed_target,
    lookup,
    machine_of,
    probed_vectors,
    targets_table,
)

PROMISED = (
    "host x86-64-v3 x86-64-v4 cortex-m0 cortex-m3 cortex-m4 cortex-m4f cortex-m7 cortex-m33 cortex-m55 rv32imac "
    "rv32imafc rv64gc aarch64 wasm32"
)


@pytest.mark.parametrize("name", [*TARGETS, "host"])
def test_pointer_width_and_byte_order_are_those_of_llvm(name: str) -> None:
    target = lookup(name)
    data = target.machine().target_data
    module = binding().parse_assembly("@pointer = external global ptr")
    assert target.name == name
    assert data.get_abi_size(module.get_global_variable("pointer").type) * 8 == target.pointer_width
    assert str(data).startswith("e")


def test_every_promised_target_is_in_the_table() -> None:
    table = targets_table()
    for name in PROMISED.split():
        assert f"\n{name} " in table


def test_a_description_is_a_triple_a_processor_and_features() -> None:
    target = lookup("aarch64-linux-gnu:neoverse-v1:+sve,-sve2")
    assert (target.triple, target.cpu, target.features) == ("aarch64-unknown-linux-gnu", "neoverse-v1", "+sve,-sve2")
    assert (target.pointer_width, target.freestanding) == (64, False)


def test_an_environment_is_no_operating_system() -> None:
    target = lookup("thumbv7em-none-eabi:cortex-m4")
    assert target.triple == "thumbv7em-none-unknown-eabi"
    assert (target.pointer_width, target.freestanding, target.relocation) == (32, True, "static")


@pytest.mark.parametrize("name", TARGETS)
def test_vectors_of_the_table_are_those_that_llvm_computes_with(name: str) -> None:
    assert lookup(name).vectors == probed_vectors(lookup(name))


@pytest.mark.parametrize(
    ("spec", "vectors"),
    [
        ("x86_64-linux-gnu:haswell", families.X86_AVX2),
        ("x86_64-linux-gnu:nehalem", families.X86_SSE4),
        ("x86_64-linux-gnu:x86-64", families.X86_SSE),
        ("x86_64-linux-gnu:sandybridge", replace(families.X86_AVX2, fma=False).with_instructions(frozenset())),
        (
            "aarch64-linux-gnu:neoverse-v1:+sve",
            families.ARM64_NEON.with_instructions(available(AARCH64, ("dotprod", "i8mm"))),
        ),
        ("armv7-linux-gnueabihf:cortex-a9", families.ARM32_NEON),
        ("powerpc64le-linux-gnu:pwr8", families.POWER_VSX),
        ("loongarch64-linux-gnu:la464:+lasx", families.LOONGARCH_LASX),
        ("arm-linux-gnueabihf", None),
        ("i686-linux-gnu:haswell", None),
        ("mips64el-linux-gnu", None),
        ("thumbv8.1m.main-none-eabihf:cortex-m55", None),
        ("wasm32-unknown-unknown:generic:+simd128", families.WASM_SIMD),
    ],
)
def test_vectors_of_a_description_are_found_by_compiling_a_sum(spec: str, vectors: Machine | None) -> None:
    assert lookup(spec).vectors == vectors


def test_the_operating_system_says_of_this_machine_what_llvm_does() -> None:
    said, found = machine_of("host"), probed_vectors(lookup("host"))
    assert (said is None) == (found is None)
    if said is not None and found is not None:
        assert said == replace(found, **processor.caches())


@pytest.mark.parametrize(
    ("cpu", "flags"),
    [
        ("x86-64", "sse sse2"),
        ("nehalem", "sse sse2 ssse3 sse4_1 sse4_2"),
        ("sandybridge", "sse sse2 sse4_1 avx"),
        ("bdver1", "sse sse2 sse4_1 avx fma4"),
        ("haswell", "sse sse2 sse4_1 avx avx2 fma"),
        ("znver5", "sse sse2 sse4_1 avx avx2 fma avx512f avx512vl"),
        ("skylake-avx512", "sse sse2 sse4_1 avx avx2 fma avx512f avx512vl"),
    ],
)
def test_flags_of_linux_mean_the_vectors_of_llvm(cpu: str, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(processor, "feature_names", lambda: frozenset(flags.split()))
    found = probed_vectors(lookup(f"x86_64-linux-gnu:{cpu}:-prefer-256-bit"))
    assert found is not None
    assert processor.vector_registers() == (found.vector_bytes, found.registers, found.fma)


def test_nothing_is_said_of_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "feature_names", lambda: frozenset[str]())
    for machine in ("x86_64", "riscv64"):
        monkeypatch.setattr(processor.platform, "machine", lambda machine=machine: machine)
        assert processor.vector_registers() is None
    monkeypatch.setattr(processor.platform, "machine", lambda: "arm64")
    assert processor.vector_registers() == (16, 32, True)


def test_caches_of_data_are_those_that_linux_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    levels = (("1", "Instruction", "32K"), ("2", "Data", "512K"), ("3", "Unified", "8192K"), ("4", "Unified", "9K"))
    for number, (level, kind, size) in enumerate(levels):
        place = tmp_path / f"index{number}"
        place.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (place / name).write_text(f"{text}\n")
    (tmp_path / "index9").mkdir()  # of which nothing is said
    monkeypatch.setattr(processor, "Path", lambda _: tmp_path)
    assert processor.caches() == {"l2": 512 << 10, "l3": 8 << 20}


def test_a_processor_has_the_name_that_linux_says(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = 2 * ("processor : 0", "model name\t: Some Maker: 9 Cores", "flags : sse2")
    monkeypatch.setattr(processor, "_described", lambda: cores)
    assert processor.model_name() == "Some Maker: 9 Cores"
    monkeypatch.setattr(processor, "_described", lambda: ())
    assert processor.model_name() is None


@pytest.mark.parametrize(
    ("vendor", "family", "flags", "zen"),
    [
        ("AuthenticAMD", "23", "sse2 avx2", 3),
        ("AuthenticAMD", "25", "sse2 avx2", 3),
        ("AuthenticAMD", "25", "sse2 avx2 avx512f", 4),
        ("AuthenticAMD", "26", "sse2 avx2 avx512f", 5),
        ("AuthenticAMD", "21", "sse2 avx", 0),
        ("GenuineIntel", "6", "sse2 avx2 avx512f", 0),
    ],
)
def test_a_zen_is_known_by_its_family(
    vendor: str, family: str, flags: str, zen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"vendor_id\t: {vendor}", f"cpu family\t: {family}", f"flags\t\t: {flags}"
    monkeypatch.setattr(processor, "_described", lambda: 2 * text)
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    assert processor.zen() == zen


@pytest.mark.parametrize(("cpu", "multipliers"), [("znver3", 2), ("znver4", 1), ("znver5", 2)])
def test_vectors_of_two_halves_start_half_as_many_multiply_adds(cpu: str, multipliers: int) -> None:
    machine = machine_of(f"x86_64-linux-gnu:{cpu}")
    assert machine is not None and machine.tiles.multipliers == multipliers


def test_the_table_shows_vectors() -> None:
    lines = {line.split()[0]: line for line in targets_table().splitlines() if line}
    assert " 16 x 256 bits " in lines["x86-64-v3"]
    assert "bits" not in lines["cortex-m4f"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cortex-m5", "unknown-target"),
        ("host:avx", "unknown-target"),
        ("cortex-m4:fast", "unknown-target"),
        ("pdp11", "unknown-target"),
        ("pdp11-dec-unix", "unknown-target"),
        ("powerpc64-linux-gnu", "unsupported-target"),
        ("x86_64-linux-gnu:z80", r"'z80'.*\[unsupported-target\]"),
        ("x86_64-linux-gnu:skylake:avx2,+fma", "invalid-option"),
        ("aarch64-linux-gnu:generic:+sve,+mmx", r"'[+]mmx'.*\[unsupported-target\]"),
        ("", "unknown-target"),
    ],
)
def test_refusals_say_why(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lookup(spec)


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-"])
def test_standard_error_may_be_closed(closed: str) -> None:
    haswell = "lookup('x86_64-linux-gnu:haswell')"
    program = f"import os; from aotc.machines.targets import lookup; print({haswell}.cpu); os.fstat(2)"
    command = ["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, program]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    assert run.stdout == "haswell\n"
    assert run.returncode == 1  # nothing is left at its place


@pytest.mark.parametrize(
    ("name", "operation", "expected"),
    [
        ("x86-64", "floor f32", False),
        ("x86-64", "maximum f64", True),
        ("x86-64-v2", "floor f32", True),
        ("x86-64-v2", "f16_to_f32 f32", False),
        ("x86-64-v3", "f16_to_f32 f32", True),
        ("aarch64", "f32_to_f16 u16", True),
        ("cortex-m4", "f32_to_f16 u16", False),
        ("cortex-m4f", "f32_to_f16 u16", True),
        ("cortex-m4f", "roundeven f32", False),
        ("cortex-m7", "roundeven f32", True),
        ("cortex-m7", "roundeven f64", False),
        ("cortex-m0", "maximum f32", False),
        ("wasm32", "trunc f64", True),
        ("wasm32", "f16_to_f32 f32", False),
        ("rv32imac", "ceil f32", False),
        ("rv32imafc", "ceil f32", False),  # LLVM calls ceilf where code is to be small
        ("riscv64-linux-gnu:sifive-p670", "f16_to_f32 f32", True),
        ("armv7", "f16_to_f32 f32", False),
        ("armv7-linux-gnueabihf:cortex-a7", "f16_to_f32 f32", True),
        ("powerpc64le-linux-gnu:pwr8", "floor f32", True),
        ("powerpc64le-linux-gnu:pwr8", "roundeven f32", False),  # LLVM calls roundevenf
        ("powerpc64le-linux-gnu:pwr8", "f16_to_f32 f32", False),
        ("loongarch64-linux-gnu", "roundeven f64", True),
    ],
)
def test_what_a_processor_has_instructions_for(name: str, operation: str, expected: bool) -> None:
    function, dtype = operation.split()
    rows = {row.name for row in computing(FUNCTIONS[function], Lanes(dtype, 1))}
    assert bool(rows & lookup(name).instructions) is expected


def test_the_table_of_names_does_not_load_llvm() -> None:
    program = "import sys, aotc.machines.targets; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("board", BOARDS)
def test_boards_and_chips_stand_for_their_cores(board: str) -> None:
    assert lookup(board) is TARGETS[BOARDS[board]]


def test_chips_of_a_family_and_what_is_none() -> None:
    expected = {"STM32F407VG": "cortex-m4f", "nrf52840": "cortex-m4f", "esp32_c3": "rv32imc", "microbit": "cortex-m0"}
    assert {name: lookup(name).name for name in expected} == expected
    for name in ("esp32", "ESP32-S3", "esp8266"):
        with pytest.raises(UsageError, match="unsupported-target"):
            lookup(name)
    with pytest.raises(UsageError, match="unknown-target"):
        lookup("cortex-m44")
    assert "rp2040" in targets_table()


def test_a_package_may_have_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed_target("test-avx2", Target) is None
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "support/codegens"))
    found = installed_target("test-avx2", Target)
    assert found is not None and found.name == "test-avx2" and found.vectors is not None
    assert found.vectors.vector_bytes == 32
    with pytest.raises(UsageError, match=r"test-avx2.*\[broken-package\]"):
        installed_target("test-avx2", Core)
    monkeypatch.setattr(EntryPoint, "load", lambda _: 1 / 0)
    with pytest.raises(UsageError, match=r"test-avx2.*\[broken-package\]"):
        installed_target("test-avx2", Target)


def test_functions_in_an_address_space_of_their_own_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="unsupported-target"):
        lookup("avr-unknown-unknown:atmega328p")


@pytest.mark.parametrize("base", ["x86-64-v3", "x86_64-linux-gnu:haswell", "host"])
def test_a_target_may_say_how_large_its_caches_are(base: str) -> None:
    plain = machine_of(base)
    if plain is None:
        pytest.skip("this machine has no vectors")
    assert machine_of(f"{base}@l2=256K,l3=4M") == replace(plain, l2=256 << 10, l3=4 << 20)
    given, without = lookup(f"{base}@l2=256K"), lookup(base)
    assert replace(given, name=without.name, core=without.core) == without


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("x86-64-v3@l4=1M", r"'l4=1M'.*\[invalid-option\]"),
        ("x86-64-v3@l2=0K", r"'l2=0K'.*\[invalid-option\]"),
        ("x86-64-v3@l2=1023", r"'l2=1023'.*\[invalid-option\]"),
        ("x86-64-v3@l2=512K,", "invalid-option"),
        ("x86-64-v3@", "invalid-option"),
        ("cortex-m4@l1=16K", "option-conflict"),
        ("x86-64-v9@l1=16K", "unknown-target"),
    ],
)
def test_caches_that_make_no_sense_are_refused(spec: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        machine_of(spec)
