"""Kernels that are compiled in portions: the same files whatever the number of processes, and how these end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.dialects.func import FuncOp

import aotc
from aotc.compiler.cache import key_of
from aotc.compiler.driver import lower
from aotc.dialects.aot import WeightOp
from aotc.dialects.aot.contract import kernels
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.portions import Portions, dealt, is_divided

MODELS = Path(__file__).parents[2] / "models" / "data"
RESNET = MODELS / "ic_resnet_float" / "model.onnx"
"""Has more than one portion."""

_COMMAND = """
import sys
from aotc.cli.main import main
main(sys.argv[1:])
"""
_WATCHED = """
import os, signal, sys
from aotc.cli import commands
from aotc.emit.llvm.object import NativeCode
signal.signal(signal.SIGINT, signal.default_int_handler)  # which the tests may have been started without
here, (told, tell) = os.getpid(), os.pipe()
made, waited = NativeCode.object.func, []

def image(self):
    if os.getpid() == here:
        if not waited:
            waited.append(os.read(told, 1))
            in_parent()
        return made(self)
    os.write(tell, b"!")
    return in_copy(made, self)

NativeCode.object = property(image)
"""


def command(*arguments: str, before: str = "", cores: str = "1") -> subprocess.CompletedProcess[str]:
    """`aotc compile` in a process of its own, which can be copied, after `before` has run in it."""
    environment = {**os.environ, "AOTC_CACHE_DIR": "", "OPENBLAS_NUM_THREADS": cores}
    program = [sys.executable, "-c", before + _COMMAND, "compile", str(RESNET), *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False, env=environment, timeout=600)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_do_not_depend_on_jobs_nor_on_who_watches(tmp_path: Path) -> None:
    """One process, several, and all passes on the whole module: the same bytes."""
    folders: list[Path] = []
    for number, more in enumerate((["--jobs", "1"], ["--jobs", "2"], ["--jobs", "5"], ["--verify-each"])):
        folders.append(tmp_path / str(number))
        done = command("-o", str(folders[-1]), "--emit", "shared,c", *more)
        assert done.returncode == 0, done.stderr
    first, *others = map(files, folders)
    assert {Path(name).suffix for name in first} == {".c", ".h", ".json", ".so"}
    assert [other == first for other in others] == [True] * 3


def test_c_is_that_of_the_whole_module(tmp_path: Path) -> None:
    """The C of kernels that are printed apart is that of a compilation in one piece."""
    apart = aotc.compile_to(RESNET, tmp_path / "apart", emit="c")
    whole = aotc.compile_to(RESNET, tmp_path / "whole", emit="c,llvm-ir")
    assert len(apart.files) == 3
    for path in apart.files:
        if path.suffix in (".c", ".h"):
            assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()
    assert len(whole.files) == 4


def test_a_library_of_portions_computes_what_code_in_process_does(tmp_path: Path) -> None:
    aotc.compile_to(RESNET, tmp_path, emit="shared", name="parts")
    here, library = aotc.compile(RESNET), aotc.load(tmp_path / "parts.so")
    given = {each.name: np.random.default_rng(0).standard_normal(each.shape, np.float32) for each in here.inputs}
    expected, found = here(given), library(given)
    assert all(np.array_equal(np.asarray(expected[name]), np.asarray(found[name])) for name in expected)


def test_nobody_sees_kernels_of_a_library(tmp_path: Path) -> None:
    written = aotc.compile_to(RESNET, tmp_path, emit="shared", name="hidden")
    library = ctypes.CDLL(str(tmp_path / "hidden.so"))
    assert written.info is not None and library.aotc_hidden_run
    assert not [kernel.symbol for kernel in written.info.kernels if hasattr(library, kernel.symbol)]


def test_phases_that_are_written_end_with_registers(tmp_path: Path) -> None:
    """Who watches the passes sees the last one, as where the module is compiled in one piece."""
    for name, emit in (("apart", "shared"), ("whole", "object")):
        aotc.compile_to(RESNET, tmp_path / "out", emit=emit, dump_phases=tmp_path / name)
    last = "10-interface.mlir"
    assert (tmp_path / "apart" / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()


def test_portions_are_dealt_out_by_the_module_alone() -> None:
    dealt = [_portions(jobs) for jobs in (1, 7)]
    assert dealt[0] == dealt[1] and len(dealt[0]) > 1


def _portions(jobs: int) -> list[list[str]]:
    options = CompileOptions.of(emit="shared", target="x86-64-v3", jobs=jobs)
    portions = lower(RESNET, options, divided=is_divided(options)).portions
    assert isinstance(portions, Portions) and portions.is_unfinished
    return [[kernel.sym_name.data for kernel in kernels] for kernels in portions.kernels]


def test_portions_get_smaller() -> None:
    """So that no process waits long for another."""
    kernels = [FuncOp.external(f"k{number}", [], []) for number in range(200)]
    costs = {kernel: 100 + number % 3 for number, kernel in enumerate(kernels)}
    totals = [sum(map(costs.__getitem__, portion)) for portion in dealt(costs, 16)]
    assert sum(totals) == sum(costs.values()) and totals == sorted(totals, reverse=True)
    assert 3 * totals[-1] < totals[0] < 6 * totals[-1]
    assert [len(portion) for portion in dealt(dict.fromkeys(kernels[:1], 1), 1)] == [1]


def test_kernels_that_name_memory_of_the_model_are_not_on_their_own() -> None:
    """Each object would have a copy of the weights."""
    options = CompileOptions.of(emit="shared", target="x86-64-v3")
    module = lower(RESNET, options, divided=True).module
    first, *others = kernels(module)
    assert first not in Portions.of(module).first
    weight = WeightOp("w", MemRefType(f32, [8]))
    assert first.body.block.first_op is not None
    first.body.block.insert_op_before(weight, first.body.block.first_op)
    portions = Portions.of(module)
    assert first in portions.first
    assert {each for part in portions.kernels for each in part} == {*others}


def test_jobs_are_no_part_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path))
    keys = {key_of(str(RESNET), CompileOptions.of(emit="shared", jobs=jobs), "files") for jobs in (None, 1, 2)}
    assert len(keys) == 1 and None not in keys


@pytest.mark.parametrize(
    ("divided", "options"),
    [
        (True, {"emit": "shared"}),
        (True, {"emit": "c"}),
        (True, {"emit": "c,header,shared"}),
        (False, {"emit": "object"}),
        (False, {"emit": "c,llvm-ir"}),
        (False, {"emit": "c", "target": "x86-64-v3"}),
        (False, {"emit": "c", "flash": "1M"}),
        (False, {"emit": "shared", "stack": "1M"}),
        (False, {"emit": "c", "cc": "gcc"}),
        (False, {"emit": "c", "split": True}),
        (False, {"emit": "shared", "threads": 2}),
        (False, {"emit": "shared", "optimize": "s"}),
        (False, {"emit": "shared", "profile": True}),
        (False, {"emit": "shared", "executor": "vm"}),
        (False, {"emit": "shared", "offload": "other"}),
    ],
)
def test_what_is_one_piece_is_not_divided(divided: bool, options: dict[str, Any]) -> None:
    assert is_divided(CompileOptions.of(**options)) == divided


def test_a_copy_that_is_killed_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    before = """
def in_parent(): pass
def in_copy(made, code): os.kill(os.getpid(), signal.SIGKILL)
"""
    done = command("-o", str(tmp_path / "out"), "--emit", "shared", "--jobs", "2", before=_WATCHED + before)
    assert done.returncode == 70 and done.stderr.startswith("error: ") and "SIGKILL" in done.stderr
    assert done.stderr.endswith("use --jobs 1 [internal-error]\n") and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_interrupt_ends_every_process_and_writes_nothing(tmp_path: Path) -> None:
    """The pipe of standard error is at its end only when the copies are gone, so this would take for ever."""
    before = """
def in_parent(): os.kill(here, signal.SIGINT)
def in_copy(made, code): signal.pause()
"""
    done = command("-o", str(tmp_path / "out"), "--emit", "shared", "--jobs", "3", before=_WATCHED + before)
    assert (done.returncode, done.stderr) == (130, "error: interrupted; no file is half written\n")
    assert not (tmp_path / "out").exists()


def test_a_fault_in_a_copy_is_reported_as_in_one_process(tmp_path: Path) -> None:
    before = """
def in_parent(): pass
def in_copy(made, code): raise KeyError("gone")
made = lambda code: in_copy(None, code)
"""
    done = command("-o", str(tmp_path / "out"), "--emit", "shared", "--jobs", "2", before=_WATCHED + before)
    assert done.returncode == 70 and "KeyError" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_jobs_are_one_or_more(jobs: str, tmp_path: Path) -> None:
    done = command("-o", str(tmp_path), "--jobs", jobs)
    assert done.returncode == 2 and done.stderr.startswith(f"error: --jobs {jobs}; ")
    assert done.stderr.endswith("[out-of-range]\n")


def test_code_in_process_has_no_jobs() -> None:
    with pytest.raises(aotc.UsageError, match="wrong-function"):
        aotc.compile(RESNET, jobs=2)  # pyright: ignore[reportCallIssue]
