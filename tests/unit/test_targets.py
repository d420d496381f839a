"""Targets: what names and descriptions stand for, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from aotc.errors import UsageError
from aotc.targets import TARGETS, binding, lookup, targets_table

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


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cortex-m5", "did you mean cortex-m55"),
        ("host:avx", "no such target"),
        ("cortex-m4:fast", "no such target"),
        ("pdp11", "aotc targets"),
        ("pdp11-dec-unix", "no such target"),
        ("powerpc64-linux-gnu", "big-endian"),
        ("", "no such target"),
    ],
)
def test_refusals_say_why(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lookup(spec)


@pytest.mark.parametrize(
    ("name", "operation", "expected"),
    [
        ("x86-64", "round-f32", False),
        ("x86-64-v2", "round-f32", True),
        ("x86-64-v2", "convert-f16", False),
        ("x86-64-v3", "convert-f16", True),
        ("aarch64", "convert-f16", True),
        ("cortex-m4f", "convert-f16", True),
        ("cortex-m4f", "round-f32", False),
        ("cortex-m7", "round-f32", True),
        ("cortex-m7", "round-f64", False),
        ("cortex-m0", "maximum-f32", False),
        ("wasm32", "round-f64", True),
        ("wasm32", "convert-f16", False),
        ("rv32imac", "round-f32", False),
        ("rv32imafc", "round-f32", False),  # LLVM calls roundevenf where code is to be small
    ],
)
def test_what_a_processor_has_instructions_for(name: str, operation: str, expected: bool) -> None:
    assert (operation in lookup(name).native) is expected


def test_the_table_of_names_does_not_load_llvm() -> None:
    program = "import sys, aotc.targets; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
