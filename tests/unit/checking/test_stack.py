"""Budgets of the stack say what is known: helpers count, an estimate has a margin, what is unknown is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aotc
from aotc.cli.main import run
from aotc.emit.c.measure import stack_usage
from aotc.emit.footprint import CallTree
from aotc.emit.llvm.costs import Frame
from aotc.errors import BudgetError, CompileError, UsageError
from aotc.machines.compilers import compiler_flags, helper_stack
from aotc.machines.targets import TARGETS, lookup

MODEL = Path(__file__).parents[2] / "models" / "data" / "hello_world_int8" / "model.onnx"

KINDS = {
    "integer": ("__aeabi_idiv", "__aeabi_uidivmod", "__divsi3", "__umodsi3"),
    "single": (
        "__aeabi_fmul",
        "__aeabi_fcmplt",
        "__aeabi_cfcmple",
        "__aeabi_i2f",
        "__aeabi_f2iz",
        "__mulsf3",
        "__eqsf2",
    ),
    "double": ("__aeabi_dadd", "__aeabi_d2f", "__aeabi_f2d", "__aeabi_ui2d", "__divdf3", "__extendsfdf2", "__fixdfsi"),
    "wide": (
        "__aeabi_l2f",
        "__aeabi_d2ulz",
        "__aeabi_ldivmod",
        "__aeabi_lmul",
        "__divdi3",
        "__floatdisf",
        "__fixunsdfdi",
    ),
    "half": ("__aeabi_h2f", "__gnu_f2h_ieee", "__extendhfsf2", "__truncsfhf2", "__truncsfbf2"),
}
OF_CORTEX_M0 = {"integer": 16, "single": 40, "double": 80, "wide": 112, "half": 80}


@pytest.mark.parametrize("kind", KINDS)
def test_helpers_of_every_kind_are_known(kind: str) -> None:
    for symbol in KINDS[kind]:
        assert helper_stack("thumbv6m-none-eabi", symbol) == OF_CORTEX_M0[kind], symbol
        assert 0 < (helper_stack("thumbv7em-none-eabihf", symbol) or 0) <= OF_CORTEX_M0[kind], symbol
        assert helper_stack("avr-none-none", symbol), "what nobody measured counts, too"


@pytest.mark.parametrize("symbol", ["expf", "memcpy", "__aeabi_memcpy", "AOTCCallPacked", "__cxa_atexit", "aotc_m_run"])
def test_other_functions_are_no_helpers(symbol: str) -> None:
    assert helper_stack("thumbv6m-none-eabi", symbol) is None


def test_a_helper_is_on_the_stack_of_its_caller() -> None:
    frames = {"entry": Frame(8, ("__mulsf3", "small", "expf")), "small": Frame(4, ("__addsf3",))}
    tree = CallTree(frames, helpers={"__mulsf3": 40, "__addsf3": 32})
    assert (tree.stack("entry").size, tree.stack("entry").path) == (48, ("entry", "__mulsf3"))
    assert tree.stack("small").size == 36
    assert tree.library_calls("entry") == ("__mulsf3", "expf")


def refusal(tmp_path: Path, **options: object) -> str:
    with pytest.raises(BudgetError) as refused:
        aotc.compile_to(MODEL, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    return str(refused.value)


@pytest.mark.parametrize("emit", ["c", "object"])
def test_what_is_not_known_is_over_every_budget(emit: str, tmp_path: Path) -> None:
    assert "the engine keeps calls" in refusal(tmp_path, target="wasm32", emit=emit, stack="1M")
    assert "only ELF code" in refusal(tmp_path, target="x86_64-pc-windows-coff", emit=emit, stack="1M")


def test_an_estimate_holds_with_its_margin_only(tmp_path: Path) -> None:
    info = aotc.compile_to(MODEL, tmp_path / "measured", target="cortex-m4f").info
    assert info is not None and info.footprint is not None and info.footprint.stack_bytes is not None
    estimate, most = info.footprint.stack_bytes, info.footprint.most_stack_bytes or 0
    assert most == estimate + -(-estimate // 4) + 24
    text = refusal(tmp_path, target="cortex-m4f", stack=most - 1)
    assert f"another compiler may take {most - estimate} more" in text and "cc=COMMAND" in text
    aotc.compile_to(MODEL, tmp_path / "out", target="cortex-m4f", stack=most)
    aotc.compile_to(MODEL, tmp_path / "out", target="cortex-m4f", stack=estimate, emit="object")


# --- the compiler of the user ----------------------------------------------------------------------------------------


def test_the_compiler_of_the_user_measures(tmp_path: Path) -> None:
    info = aotc.compile_to(MODEL, tmp_path, name="m", cc="gcc -O1 -march=x86-64" if x86() else "gcc -O1").info
    assert info is not None and (found := info.footprint) is not None
    assert found.compiler is not None and "gcc" in found.compiler.lower() and not found.estimate
    assert json.loads((tmp_path / "m.json").read_text())["footprint"]["compiler"] == found.compiler
    assert found.stack_path[0] == "aotc_m_run" and len(found.stack_path) > 1
    assert found.stack_bytes and found.stack_margin_bytes == 0 and found.text_bytes > 0
    refused = refusal(tmp_path, name="m", cc="gcc", stack=1)
    assert "by LLVM" not in refused and "aotc_m_run" in refused


def x86() -> bool:
    return lookup("host").triple.startswith("x86_64")


def test_files_of_operators_are_measured_too(tmp_path: Path) -> None:
    info = aotc.compile_to(MODEL, tmp_path, name="m", cc="gcc", split=True).info
    assert info is not None and info.footprint is not None
    assert {"aotc_m_run", *(kernel.symbol for kernel in info.kernels)} <= {f.symbol for f in info.footprint.functions}


def test_a_compiler_that_cannot_be_used(tmp_path: Path) -> None:
    for cc, error, what in (
        ("no-such-compiler", UsageError, "missing-tool"),
        ("", UsageError, "invalid-option"),
        ("gcc --no-such-flag", CompileError, "failed-tool"),
    ):
        with pytest.raises(error, match=what):
            aotc.compile_to(MODEL, tmp_path / "out", cc=cc)
    with pytest.raises(UsageError, match=r'emit="c".*\[option-conflict\]'):
        aotc.compile_to(MODEL, tmp_path / "out", cc="gcc", emit="object")
    assert not (tmp_path / "out").exists()


def test_what_compilers_write_of_the_stack() -> None:
    lines = (
        "m.c:3:9:plain\t48\tstatic",
        "m.c:5:9:copied.constprop\t16\tstatic",
        "m.c:5:9:copied.isra.0\t24\tstatic",
        "m.c:5:9:copied.part.0\t8\tstatic",
        "m.c:7:1:bounded\t32\tdynamic,bounded",
        "m.c:9:1:open\t32\tdynamic",
    )
    assert stack_usage("\n".join(lines)) == {"plain": 48, "copied": 24, "bounded": 32, "open": None}


def test_flags_of_targets() -> None:
    assert compiler_flags(TARGETS["cortex-m0"], "s") == ("-Os", "-mthumb", "-mcpu=cortex-m0", "-mfloat-abi=soft")
    assert compiler_flags(TARGETS["cortex-m7"], "2")[-2:] == ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")
    assert compiler_flags(TARGETS["rv32imac"], "2") == ("-O2", "-march=rv32imac", "-mabi=ilp32")
    assert compiler_flags(TARGETS["x86-64-v3"], "1") == ("-O1", "-march=x86-64-v3")
    assert compiler_flags(lookup("riscv32-none-elf"), "0") == ("-O0",)


# --- aotc check ------------------------------------------------------------------------------------------------------


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["check", str(MODEL), *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_check_takes_target_and_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capsys, "--target", "cortex-m4", "--stack", "1K", "--ram", "1K", "--flash", "16K")
    assert code == 0 and "nothing stands in the way" in out and "cortex-m4" in out and "stack" in out
    code, _, err = checked(capsys, "--target", "cortex-m4", "--stack", "8", "--ram", "1")
    assert code == 1 and "--stack allows 8" in err and "--ram allows 1" in err
    code, out, _ = checked(capsys, "--target", "cortex-m4", "--flash", "1", "--json")
    answer = json.loads(out)
    assert code == 1 and not answer["ok"] and "--flash allows 1" in answer["problems"][0]["what"]
    code, out, _ = checked(capsys, "--target", "cortex-m4", "-Os", "--json")
    assert code == 0 and json.loads(out)["report"]["footprint"]["target"] == "cortex-m4"


def test_check_by_itself_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capsys)
    nothing, folded = out.splitlines()
    assert (code, nothing) == (0, "nothing stands in the way") and folded.endswith("_fc 4 of 16")
