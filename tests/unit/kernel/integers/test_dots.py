"""Dot products of narrow integers on tiles, through LLVM for several targets, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from dot_program import DotCase, dot_cases
from kernel_program import lowered, through_llvm
from xdsl.dialects.builtin import ModuleOp

from aotc.emit.llvm.ir import llvm_ir
from aotc.machines.dots import PORTABLE, SADDLP, SDOT, USDOT, VPDPBSSD, VPDPBUSD, VPMADDUBSW, VPMADDWD, WASM_DOT
from aotc.machines.targets import TARGETS, binding, lookup
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass

_FEATURES = lookup("host").features.split(",")
_HERE = ["host", None, *(name for name in ("x86-64-v2", "x86-64-v3") if "+avx2" in _FEATURES)]


def _text(case: DotCase) -> str:
    kind = f"i{case.bits}"
    buffers = "\n".join(
        f"%m{n} = aot.buffer %p{n} : !aot.ptr<{k}> to memref<{'x'.join(map(str, each.shape))}x{k}>"
        for n, (each, k) in enumerate(zip(case.arrays(), (kind, kind, "i32"), strict=True))
    )
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(10))
    return f"""func.func @f(%p0: !aot.ptr<{kind}>, %p1: !aot.ptr<{kind}>, %p2: !aot.ptr<i32>) -> i32 {{
      {buffers}
      {constants}
      {case.body()}
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }}"""


def _selected(case: DotCase, target: str | None) -> ModuleOp:
    """The module with the instructions of a target."""
    attached = "" if target is None else f'attach-target{{target="{target}"}},'
    return lowered(_text(case), f"{attached}unroll-tiles,select-instructions")


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", _HERE)
def test_exact_and_wrapping(target: str | None, lanes: int) -> None:
    for case in dot_cases(lanes):
        a, b, sums = case.arrays()
        through_llvm(_selected(case, target), "f", target)(a, b, sums)
        np.testing.assert_array_equal(sums, case.expected(), err_msg=str(case))


@pytest.mark.parametrize(
    ("target", "lanes", "unsigned", "narrow", "instruction"),
    [
        ("x86-64", 4, (True, False), False, "pmaddwd"),
        ("x86-64", 4, (True, False), True, "pmaddwd"),  # no SSSE3
        ("x86-64-v2", 4, (True, False), True, "pmaddubsw"),
        ("x86-64-v3", 8, (True, False), True, "vpmaddubsw"),
        ("x86-64-v3", 8, (True, False), False, "vpmaddwd"),
        ("x86-64-v2", 4, (False, False), True, "psignb"),
        ("x86-64-v3", 8, (False, False), True, "vpsignb"),
        ("x86-64-v3", 8, (False, False), False, "vpmaddwd"),
        ("x86-64-v4", 16, (False, False), True, "vpmaddwd"),  # none of 512 bits
        ("x86-64-v3", 8, (True, True), True, "vpmaddwd"),  # the promise is of a signed factor
        ("x86-64-v4", 16, (True, False), False, "vpmaddwd"),
        ("x86_64-linux-gnu:cascadelake", 16, (True, False), True, "vpdpbusd"),
        ("x86_64-linux-gnu:alderlake", 8, (False, True), False, "vpdpbusd"),
        ("x86_64-linux-gnu:alderlake", 8, (False, False), False, "vpmaddwd"),
        ("x86_64-linux-gnu:arrowlake", 8, (False, False), False, "vpdpbssd"),
        ("x86_64-linux-gnu:arrowlake", 4, (True, True), False, "vpdpbuud"),
        ("x86_64-linux-gnu:arrowlake", 8, (True, False), False, "vpdpbusd"),
        ("aarch64", 4, (False, True), False, "sadalp"),  # of an addition and `saddlp`
        ("aarch64", 4, (True, True), False, "uadalp"),
        ("aarch64-linux-gnu:neoverse-n1", 4, (True, False), False, "sadalp"),
        ("aarch64-linux-gnu:neoverse-n1", 4, (False, False), False, "sdot"),
        ("aarch64-linux-gnu:neoverse-n1", 4, (True, True), False, "udot"),
        ("aarch64-linux-gnu:neoverse-v1", 4, (False, True), False, "usdot"),
        ("wasm32-simd128", 4, (True, False), False, "i32x4.dot_i16x8_s"),
    ],
)
def test_instruction_of_a_target(
    target: str, lanes: int, unsigned: tuple[bool, bool], narrow: bool, instruction: str
) -> None:
    module = _selected(DotCase(8, unsigned, narrow, lanes), target)
    text = llvm_ir(ConvertToLLVMPass().convert(module, target))
    parsed = binding().parse_assembly(text)
    words = lookup(target).machine().emit_assembly(parsed).split()
    every = {
        "vpdpbusd",
        "vpdpbssd",
        "vpdpbuud",
        "pmaddubsw",
        "vpmaddubsw",
        "psignb",
        "vpsignb",
        "sdot",
        "udot",
        "usdot",
        "sadalp",
        "uadalp",
    }
    every |= {instruction}
    assert every & set(words) - {"vpsignb": {"vpmaddubsw"}, "psignb": {"pmaddubsw"}}.get(instruction, set()) == {
        instruction
    }


@pytest.mark.parametrize(
    ("target", "lanes", "instruction"),
    [
        ("x86-64", 4, "pmaddwd"),
        ("x86-64-v2", 4, "pmaddubsw"),
        ("x86-64-v3", 8, "vpmaddubsw"),
        ("x86-64-v4", 16, "vpmaddubsw"),
        ("x86_64-linux-gnu:cascadelake", 16, "vpdpbusd"),
        ("aarch64-linux-gnu:neoverse-v1", 4, "usdot"),
    ],
)
def test_instruction_for_complements(target: str, lanes: int, instruction: str) -> None:
    """One factor is without sign then, and signs are no operations on each product."""
    module = _selected(DotCase(8, (False, False), False, lanes, complement=True), target)
    parsed = binding().parse_assembly(llvm_ir(ConvertToLLVMPass().convert(module, target)))
    words = set(lookup(target).machine().emit_assembly(parsed).split())
    every = {"vpdpbusd", "pmaddubsw", "vpmaddubsw", "psignb", "vpsignb", "usdot", "sdot", "udot"}
    assert words & (every | {instruction}) == {instruction}


@pytest.mark.parametrize(
    ("target", "lanes", "instruction"),
    [
        ("x86-64", 4, "pmaddwd"),
        ("x86-64-v3", 8, "vpmaddwd"),
        ("x86-64-v4", 16, "vpmaddwd"),
        ("x86_64-linux-gnu:cascadelake", 16, "vpdpwssd"),
        ("x86_64-linux-gnu:alderlake", 8, "vpdpwssd"),
    ],
)
def test_instruction_for_pairs_of_16_bits(target: str, lanes: int, instruction: str) -> None:
    module = _selected(DotCase(16, (False, False), False, lanes), target)
    parsed = binding().parse_assembly(llvm_ir(ConvertToLLVMPass().convert(module, target)))
    words = set(lookup(target).machine().emit_assembly(parsed).split())
    assert words & {"pmaddwd", "vpmaddwd", "vpdpwssd"} == {instruction}


@pytest.mark.parametrize("target", [*TARGETS, "aarch64-linux-gnu:neoverse-n1"])
def test_no_target_ends_the_process(target: str) -> None:
    """LLVM aborts on an intrinsic that a target lacks; and registers of any width may be asked for."""
    for case in (
        DotCase(8, (True, False), False, 4),
        DotCase(8, (True, False), True, 16),
        DotCase(16, (False, False), False, 8),
    ):
        module = _selected(case, target)
        parsed = binding().parse_assembly(llvm_ir(ConvertToLLVMPass().convert(module, target)))
        assert lookup(target).machine().emit_object(parsed)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("x86-64", VPMADDWD),
        ("x86-64-v2", VPMADDUBSW),
        ("x86-64-v3", VPMADDUBSW),
        ("x86-64-v4", VPMADDWD),
        ("x86_64-linux-gnu:haswell", VPMADDUBSW),
        ("x86_64-linux-gnu:cascadelake", VPDPBUSD),
        ("x86_64-linux-gnu:alderlake", VPDPBUSD),
        ("x86_64-linux-gnu:arrowlake", VPDPBSSD),
        ("aarch64", SADDLP),
        ("aarch64-linux-gnu:neoverse-n1", SDOT),
        ("aarch64-linux-gnu:neoverse-v1", USDOT),
        ("wasm32-simd128", WASM_DOT),
        ("armv7", PORTABLE),
    ],
)
def test_dot_product_of_a_machine(target: str, expected: object) -> None:
    found = lookup(target).vectors
    assert found is not None and found.dot == expected


def test_host_knows_its_dot_product_without_llvm() -> None:
    host = lookup("host")
    if host.vectors is not None and host.triple.startswith("x86_64"):
        assert (host.vectors.dot in (VPDPBUSD, VPDPBSSD)) == (
            f"vpdpbusd.{8 * host.vectors.vector_bytes}" in host.instructions
        )
