"""Phases (A20): dumped IR is the whole story; what is printed parses back and goes on to the same next phase."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import prefork
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import aotc
from aotc.compiler.driver import lower
from aotc.errors import CompileError, UsageError
from aotc.pipeline import textual_ir
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, pipeline_of

MODELS = Path(__file__).parents[2] / "models" / "data"


@pytest.fixture(scope="module", params=["micro_speech_int8", "ic_resnet_float"])
def dumps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    aotc.compile_to(
        MODELS / request.param / "model.onnx", folder / "out", dump_phases=str(folder / "phases"), verify_each=True
    )
    return folder / "phases"


@pytest.mark.parametrize("index", range(1, len(PHASES)), ids=[phase.name for phase in PHASES[1:]])
def test_printing_and_parsing_between_phases_changes_nothing(dumps: Path, index: int) -> None:
    before = dumps / f"{index - 1:02}-{PHASES[index - 1].name}.mlir"
    after = dumps / f"{index:02}-{PHASES[index].name}.mlir"
    pipeline = pipeline_of(PHASES[index], CompileOptions())
    aotc_opt = prefork.commands() / "aotc-opt"
    given = ["-p", pipeline, "--weights", str(dumps / "weights.npz")]
    command = [aotc_opt, str(before), *given, "--print-debuginfo", "--disable-verify"]  # both IRs are verified already
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == after.read_text().strip()


def test_d12_the_entry_stays_as_planned_while_operators_become_loops(dumps: Path) -> None:
    entries: list[list[str]] = []
    for number, phase in enumerate(phase.name for phase in PHASES):
        if phase in ("plan", "loops"):
            text = (dumps / f"{number:02}-{phase}.mlir").read_text()
            main = next(part for part in text.split("func.func ") if part.startswith("@main"))
            assert "scf." not in main and "graph." not in main
            # Views are left out: those of one type at one offset become one.
            entries.append(re.findall(r"func\.call @\w+|aot\.workspace", main))
    planned, looped = entries
    assert planned == looped and sum(name.startswith("func.call") for name in planned) > 2


def test_stop_and_start_again(tmp_path: Path) -> None:
    model = MODELS / "kws_float" / "model.onnx"
    whole = aotc.compile_to(model, tmp_path / "whole", name="kws")
    aotc.compile_to(model, tmp_path / "half", name="kws", stop_after="fuse")
    rest = aotc.compile_to(tmp_path / "half" / "kws.fuse.mlir", tmp_path / "rest", start_at="fuse")
    assert [path.name for path in rest.files] == [path.name for path in whole.files]
    for mine, theirs in zip(rest.files, whole.files, strict=True):
        assert _without_origin(mine) == _without_origin(theirs)


def _without_origin(path: Path) -> str:
    """IR does not say of which model it is: the files of C and the report do, which begin with it, or have a member and
    the digests of such files."""
    text = path.read_text()
    if path.suffix == ".json":
        members = json.loads(text)
        digests = [each.pop("sha256", "") for each in members["artifacts"]]
        assert members.pop("origin") and any(digests)
        return json.dumps(members)
    head, _, rest = text.partition(" */\n")
    assert head.startswith("/* The model ")
    return rest


def test_stop_before_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(aotc.UsageError):
        aotc.compile_to("x.mlir", tmp_path, start_at="plan", stop_after="fuse")


@pytest.mark.parametrize("index", range(len(PHASES)), ids=[phase.name for phase in PHASES])
def test_each_phase_starts_from_its_own_ir_only(dumps: Path, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = PHASES[index].name
    file = dumps / f"{index:02}-{name}.mlir"
    tensors = {"import", "graph", "offload", "integers", "schedule", "fuse"}
    parsed: dict[str, ModuleOp] = {}
    read = textual_ir.IRParser

    def parser(ctx: Context, text: str, path: str) -> SimpleNamespace:
        """Parses once what every other phase refuses."""
        if path not in parsed:
            parsed[path] = read(ctx, text, path).parse_module()
        return SimpleNamespace(parse_module=lambda: parsed[path])

    monkeypatch.setattr(textual_ir, "IRParser", parser)
    for phase in (phase.name for phase in PHASES):
        if phase == name or {phase, name} <= tensors:
            continue
        with pytest.raises(UsageError, match=rf"{phase}.*\[wrong-phase\]"):
            lower(str(file), CompileOptions(start_at=phase))
    assert lower(str(file), CompileOptions(start_at=name, stop_after=name)).phase == name


def test_ir_without_its_weights(dumps: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mlir"
    copy.write_bytes((dumps / "08-plan.mlir").read_bytes())
    with pytest.raises(CompileError, match=r"copy\.npz.*weights\.npz.*\[missing-array\]"):
        lower(str(copy), CompileOptions(start_at="plan"))
    (tmp_path / "copy.npz").write_text("no weights")
    with pytest.raises(CompileError, match=r"copy\.npz.*\[invalid-file\]"):
        lower(str(copy), CompileOptions(start_at="plan"))


@pytest.mark.parametrize(
    "option",
    [
        *({"cc": "gcc"}, {"emit": "object"}, {"ram": "1K"}, {"stop_after": "plan"}),
        *(
            {"debug_info": True},
            {"weights_section": ".slow"},
            {"selftest_outputs": "y.npz"},
        ),  # files
    ],
)
def test_options_that_mean_nothing_in_process_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"{next(iter(option))}.*\[wrong-function\]"):
        aotc.compile(MODELS / "kws_float" / "model.onnx", **option)
