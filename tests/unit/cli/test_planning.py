"""`aotc plan` beyond a model's plan: proofs of compiled models, and offsets for buffers from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_commands import Capture, aotc, fails

from aotc.cli.instances import read_instance
from aotc.errors import UsageError

MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
INSTANCE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
"""The one of MiniMalloc's own examples: 12 bytes are enough."""


def test_compiled_models_are_proved(tmp_path: Path, capsys: Capture) -> None:
    assert "the C calls its kernels so" in aotc(capsys, "plan", MODEL, "--check", "--target", "cortex-m4").stdout
    aotc(capsys, "compile", MODEL, "-o", tmp_path, "--name", "m", "--target", "cortex-m4", "--split")
    done = aotc(capsys, "plan", tmp_path / "m.json", "--check", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["ok"] and said["calls_of_c"] == said["tasks"] > 0
    assert "arena" in aotc(capsys, "plan", tmp_path / "m.json").stdout

    text = json.loads((tmp_path / "m.json").read_text())
    text["plan"]["buffers"][0]["offset"] += 16
    (tmp_path / "m.json").write_text(json.dumps(text))
    fails(capsys, 1, "plan", tmp_path / "m.json", "--check", says="[unsafe-plan]")


def test_offsets_are_found(tmp_path: Path, capsys: Capture) -> None:
    given, solved = tmp_path / "a.csv", tmp_path / "b.csv"
    given.write_text(INSTANCE)
    said = json.loads(aotc(capsys, "plan", given, "--json", "-o", solved, "--capacity", "12").stdout)
    assert (said["peak_bytes"], said["lower_bound_bytes"], said["optimal"]) == (12, 12, True)
    lines = solved.read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset" and lines[1:] == [
        ",".join(map(str, row.values())) for row in said["buffers"]
    ]
    assert read_instance(solved) == read_instance(given)
    assert aotc(capsys, "plan", given).stdout.endswith("arena 12 bytes (optimal), for 5 buffers\n")
    fails(capsys, 1, "plan", given, "--capacity", "11", says="no offsets need less [ram-exceeded]")
    assert "arena 12 bytes" in aotc(capsys, "plan", given, "--capacity", "1K").stdout
    fails(capsys, 2, "plan", given, "--capacity", "-1", says="not a size; write bytes or 16K, 1M, 2G [invalid-option]")
    fails(capsys, 2, "plan", MODEL, "--capacity", "11", says="[option-conflict]")
    fails(capsys, 2, "plan", MODEL, "--pareto", "--ram", "1K", says="[option-conflict]")


@pytest.mark.parametrize(
    "given",
    [
        ["a.csv", "--check"],
        ["a.csv", "--pareto"],
        ["a.csv", "--target", "cortex-m4", "--ram", "1K"],
        ["a.json", "--pareto"],
        ["a.json", "--ram", "1K", "--check"],
        ["a.json", "--capacity", "1"],
        [MODEL, "--check", "--pareto"],
        [MODEL, "--pareto", "--executor", "vm"],
    ],
)
def test_options_that_say_nothing_of_a_file_are_refused(given: list[str], tmp_path: Path, capsys: Capture) -> None:
    for name in ("a.csv", "a.json"):
        (tmp_path / name).write_text(INSTANCE)
    fails(capsys, 2, "plan", tmp_path / given[0], *given[1:], says="[option-conflict]")


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_a_budget_that_is_missed_is_told(check: tuple[str, ...], capsys: Capture) -> None:
    """Behind the plan, or what is proved of it."""
    command = "plan", MODEL, "--target", "cortex-m4f", *check
    assert "[" not in aotc(capsys, *command, "--ram", "16K").stderr
    done = aotc(capsys, *command, "--ram", "1K")
    assert done.returncode == 1 and "--ram allows 1,024" in done.stderr and "[ram-exceeded]" in done.stderr
    assert ("is overwritten: " if check else "arena ") in done.stdout


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "one column id"),
        ("id,lower,upper\n", 1, "one column size, and has id, lower, upper"),
        ("id,id,lower,upper,size\n", 1, "one column id"),
        ("id,lower,upper,size\n", 1, "no buffers"),
        (f"{INSTANCE}b6,0,21\n", 7, "3 values for 4 columns"),
        (f"{INSTANCE}b6,0,21,-4\n", 7, "size is '-4', no number"),
        (f"{INSTANCE}b6,0.5,21,4\n", 7, "lower is '0.5', no number"),
        (f"{INSTANCE}\nb6,4,4,4\n", 8, "in use from 4 to before 4"),
        (f"{INSTANCE}b2,4,5,4\n", 7, "the id b2 is that of line 3"),
        ('id,lower,upper,size\n"a,0,1,4\n', 2, "unexpected end"),
    ],
)
def test_a_line_that_is_wrong_is_named(text: str, line: int, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=rf"a.csv, line {line}; .*{why}.*\[invalid-file\]"):
        read_instance(path)
