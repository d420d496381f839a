"""Dot products of narrow integers on tiles, through LLVM for several targets, against numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dot_program import DotCase, dot_cases
from kernel_program import lowered, through_llvm
from xdsl.dialects.builtin import ModuleOp

from aotc.emit.llvm.ir import llvm_ir
from aotc.machines.expansions.dot_costs import dot_product
from aotc.machines.families import X86_AVX2, X86_AVX512
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.targets import TARGETS, binding, instructions_of, lookup
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
    ("target", "unsigned", "cycles"),
    [
        ("x86-64", "one", (4 / 3, 4 / 5, 2 / 3)),
        ("x86-64-v2", "narrow", (4 / 3, 0, 2 / 3)),
        ("x86-64-v3", "narrow", (4 / 3, 0, 2 / 3)),
        ("x86-64-v4", "one", (4 / 3, 4 / 5, 2 / 3)),
        ("x86_64-linux-gnu:haswell", "narrow", (4 / 3, 0, 2 / 3)),
        ("x86_64-linux-gnu:cascadelake", "one", (1 / 2, 0, 1 / 2)),
        ("x86_64-linux-gnu:alderlake", "one", (1 / 2, 0, 1 / 2)),
        ("x86_64-linux-gnu:arrowlake", "any", (1 / 2, 0, 1 / 2)),
        ("aarch64", "any", (2, 3 / 2, None)),  # an addition and `saddlp` are one instruction
        ("aarch64-linux-gnu:neoverse-n1", "none", (1 / 2, 0, None)),
        ("aarch64-linux-gnu:neoverse-v1", "any", (1 / 2, 0, None)),
        ("wasm32-simd128", "one", (2, 6 / 5, 1)),
        ("armv7", "any", (4, 7 / 2, None)),
    ],
)
def test_cost_of_a_dot_product(target: str, unsigned: str, cycles: tuple[float | None, ...]) -> None:
    """Products, each register of a factor that is widened, and products of pairs."""
    found = lookup(target).vectors
    assert found is not None and (found.dot.unsigned, found.dot.complements) == (unsigned, unsigned == "narrow")
    dot = found.dot
    assert [dot.cycles, dot.widening_cycles, dot.pair_cycles] == [each and pytest.approx(each) for each in cycles]


def test_cost_of_complements_and_of_two_steps() -> None:
    """Of xors, three multiplications of 1.9 cycles, and as many instructions in a cycle as begin in it."""
    dot = X86_AVX2.dot
    assert (dot.weight_cycles, dot.sign_cycles) == pytest.approx((2 / 3, 1 / 3))  # |w| and its sign; |x|
    assert dot.pairs is not None
    pairs = dot.pairs.plain, dot.pairs.complemented, dot.pairs.flip_cycles
    assert pairs == pytest.approx((1.9, 7 / 3, 1 / 3))
    assert (dot.least_cycles, X86_AVX512.dot.least_cycles) == pytest.approx((1.9 / 2, 4 / 3))


@pytest.mark.parametrize(("names", "cycles"), [((), 1 / 2), (("vpdpbusd.256",), 3)])
def test_cost_follows_the_row_of_an_instruction(
    names: tuple[str, ...], cycles: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        monkeypatch.setitem(INSTRUCTIONS, name, replace(INSTRUCTIONS[name], cycles=3))
    found = dot_product.__wrapped__(instructions_of("x86_64-linux-gnu:alderlake"), 32, 3)
    assert (found.unsigned, found.cycles) == ("one", cycles)


def test_host_knows_its_dot_product_without_llvm() -> None:
    host = lookup("host")
    if host.vectors is not None:
        assert host.vectors == host.vectors.with_instructions(host.instructions)
