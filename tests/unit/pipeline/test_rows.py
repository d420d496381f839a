"""Rows of the pipeline: what they become for options, and that `aotc phases` prints what runs."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

import aotc
from aotc.cli.main import run
from aotc.compiler.lowering import require_suitable
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, VECTORS, Phase, Row, When, make_passes, pipeline, pipeline_of

TARGETS = ("x86-64-v4", "x86-64", "cortex-m4", "cortex-m55", "cortex-m0")
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"accuracy": "strict"},
    {"threads": 4},
    {"profile": True},
    {"executor": "vm", "interface_api": "packed"},
    {"offload": ("a", "b"), "tuned": "a table.json"},
)


def names(phase: str, **asked: Any) -> list[str]:
    (found,) = (each for each in PHASES if each.name == phase)
    return [item.name for item in make_passes(pipeline(found.rows, CompileOptions.of(**asked)))]


def test_options_are_those_asked_for_and_what_is_not_given_is_left_out() -> None:
    row = Row("p", io="{io}", table="{tuned}", most_bits=8, means=True, codegens="{offload}", threads="{threads}")
    assert row.text(CompileOptions()) == 'p{io=caller most-bits=8 means=true codegens="" threads=1}'
    given = CompileOptions(tuned="a b", offload=("x", "y"), threads=2)
    assert row.text(given) == 'p{io=caller table="a b" most-bits=8 means=true codegens="x,y" threads=2}'
    assert row.text() == "p{io=IO table=TUNED most-bits=8 means=true codegens=OFFLOAD threads=THREADS}"
    assert Row("p", table="{tuned}").text(CompileOptions()) == Row("p").text() == "p"


def test_all_conditions_must_hold() -> None:
    yes, no = (When(str(each), "", lambda asked, each=each: each) for each in (True, False))
    phase = Phase("a", "", (Row("a"), Row("b", yes), Row("c", yes, no), Row("d", no), Row("e", yes, yes)))
    assert pipeline(phase.rows, CompileOptions()) == "a,b,e"


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_passes_of_all_rows_can_be_made(target: str, asked: dict[str, Any]) -> None:
    """And on vectors nothing runs that is only for cores without, or the other way round."""
    for level in "0123s":
        options = CompileOptions(target=target, optimize=level, **asked)
        made = {item.name for phase in PHASES for item in make_passes(pipeline(phase.rows, options))}
        assert ("tile-and-fuse" in made) is VECTORS.holds(options) is not ("fix-softmax" in made)
        assert ("choose-schedule" in made) is not (level == "0" or (level == "s" and target.startswith("x86")))


def test_what_options_change() -> None:
    assert (
        names("schedule", target="x86-64-v4", optimize="0") == names("schedule", target="x86-64-v4", optimize="s") == []
    )
    assert "fix-requantization" in names("graph", target="cortex-m55", requantize="fixed")
    assert "fix-requantization" not in names("graph", target="cortex-m55")
    assert "fix-requantization" in names("graph", target="cortex-m55", optimize="0")
    assert names("fuse", target="x86-64-v3", threads=2)[:2] == ["divide-scratch", "tile-and-fuse"]
    assert names("loops", threads=2)[1:2] == ["split-parallel-loops"] != names("loops")[1:2]
    assert "split-fma" in names("interface", target="x86-64") and "split-fma" not in names(
        "interface", target="aarch64"
    )
    assert "split-fma" in names("loops", target="cortex-m4")
    assert "split-fma" not in names("loops", target="x86-64", optimize="s")
    assert names("offload") == [] and names("offload", offload="a")[0] == "offload-operations"


def test_what_runs_is_printed_as_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["phases", "--target", "cortex-m4", "-Os", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["phases"]
    options = CompileOptions(target="cortex-m4", optimize="s")
    assert [(each["name"], each["pipeline"]) for each in shown] == [
        (each.name, pipeline_of(each, options)) for each in PHASES
    ]
    assert run(["phases", "--target", "cortex-m4", "-Os"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  {pipeline(PHASES[-1].rows, options)}" == lines[-1]


def test_every_row_is_printed_with_its_condition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["phases", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    for phase, printed in zip(PHASES, shown["phases"], strict=True):
        rows = [{"pass": row.text(), "when": [when.name for when in row.when]} for row in phase.rows]
        assert printed["passes"] == rows and printed["sentence"] == phase.sentence
    assert run(["phases"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for phase in PHASES:
        assert f"{phase.name:10} {phase.sentence}" in lines
        for when, _ in groupby(phase.rows, lambda row: row.when):
            assert any(line.startswith(f"  {', '.join(each.name for each in when) or 'always'}: ") for line in lines)
    for name, sentence in shown["when"].items():
        assert f"{name}: {sentence}" in lines


@pytest.mark.parametrize("level", ["0", "2", "s"])
def test_fixed_point_is_refused_where_kernels_are_on_vectors(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    on_vectors = CompileOptions(target="x86-64-v4", requantize="fixed", optimize=level)
    require_suitable(CompileOptions(target="cortex-m4", requantize="fixed", optimize=level))
    if level != "2":
        require_suitable(on_vectors)
        return
    with pytest.raises(aotc.UsageError, match=r"--requantize fixed.*\[option-conflict\]"):
        require_suitable(on_vectors)
    assert run(["phases", "--target", "x86-64-v4", "--requantize", "fixed"]) == 2
    assert "[option-conflict]" in capsys.readouterr().err
