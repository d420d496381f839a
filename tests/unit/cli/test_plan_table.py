"""`aotc plan` and the status line: they fit the terminal, and say nothing where nobody watches."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import prefork
import pytest

import aotc
from aotc.model.metadata import (
    AccessInfo,
    BufferInfo,
    FoldedChannels,
    PlanInfo,
    RingInfo,
    RollInfo,
    TaskInfo,
    ValueInfo,
)
from aotc.model.plan_table import listed, plan_lines, shortened

MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
LONG = "model/inception_resnet_v2/block35_1/branch_2/conv_0c_3x3/BatchNorm/FusedBatchNormV3"


def test_names_lose_their_middle() -> None:
    assert (
        shortened("Conv_1", 6) == "Conv_1" and shortened("abcdefgh", 5) == "ab…gh" and shortened("abcd", 1) == "a…"[:2]
    )
    short = shortened(LONG, 21)
    assert len(short) == 21 and short.startswith("model/ince") and short.endswith("hNormV3") and "…" in short


@pytest.mark.parametrize("width", [12, 30, 50, 80, 400])
def test_lists_fit(width: int) -> None:
    for names in (["Conv_1"], [LONG], [LONG] * 2, ["Conv_1", "Relu_2", LONG], [f"Conv_{k}" for k in range(40)]):
        text = listed(names, width)
        assert 0 < len(text) <= width
        if len(", ".join(names)) <= width:
            assert text == ", ".join(names)
    assert listed([f"Conv_{k}" for k in range(40)], 30) == "Conv_0, Conv_1, Conv_2 +37"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_plan_fits(width: int) -> None:
    buffers = tuple(BufferInfo(f"b{k}", 1000 * k, 12345678, k, k + 1, (LONG,) * (k + 1)) for k in range(3))
    plan = PlanInfo(12345678, 12345678, True, 64, (), buffers)
    lines = plan_lines(plan, {"workspace_bytes": 1, "weights_bytes": 2, "io_bytes": 3}, width)
    assert max(map(len, lines[:4])) <= width and len({line.index("  ") for line in lines[1:4]}) == 1
    assert lines[-2:] == [
        "arena 12,345,678 bytes (optimal, alignment 64)",
        "workspace 1 bytes, weights 2 bytes, io 3 bytes",
    ]
    assert f"{LONG}, {LONG}" in "\n".join(plan_lines(plan, {}, None))


def test_every_means_is_said() -> None:
    buffers = BufferInfo("a", 0, 64, 0, 1, ("Conv_0",)), BufferInfo("ring", 64, 96, 0, 0, ("Conv_0",))
    outputs = BufferInfo("b", 0, 16, 1, 2, (), output="y"), BufferInfo("y", 0, 16, 2, 2, (), output="y")
    values = tuple(ValueInfo(number, 16) for number in (0, 1, 2, 3))
    task = TaskInfo((AccessInfo(0, 0, 16),), (AccessInfo(2, 0, 16),), (0,))
    roll = RollInfo(0, ("Conv_0", "Conv_1"), (RingInfo("Conv_0", 3, 48, 32, "ring"),))
    plan = PlanInfo(128, 128, True, 16, ("", "", ""), buffers, True, outputs, values, (TaskInfo(), task), (roll,))
    assert plan_lines(plan, {}, None, [FoldedChannels("Conv_1", 2, 8)])[3:-2] == [
        "row by row: 2 layers in task 0, rings of 96 bytes",
        "  3 of 48 rows of 32 bytes of Conv_0, in the buffer ring",
        "in place: task 1, in the buffer b",
        "in the memory of y: b, 16 bytes, tasks 1-2",
        "shared memory: 2 buffers of 160 bytes in 128",
        "order: not that of the model, which takes more memory",
        "not computed: 2 of 8 channels of Conv_1",
    ]


def on_a_terminal(*arguments: str | Path) -> tuple[str, str]:
    """The table that the command prints, and its words on a terminal that is its standard error."""
    leader, follower = pty.openpty()
    environment = os.environ | {"AOTC_CACHE_DIR": "", "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [prefork.commands() / "aotc", *arguments],
        stdout=subprocess.PIPE,
        stderr=follower,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    said = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # what Linux says where nobody holds the other end any more
            break
        if not data:
            break
        said += data
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait() == 0
    os.close(leader)
    return out, said.decode(errors="replace")


def test_progress_is_for_terminals_only(tmp_path: Path) -> None:
    out, said = on_a_terminal("compile", MODEL, "-o", tmp_path)
    assert "\x1b" not in out and "0:00:" in said and said.rstrip().endswith(" s")
    environment = os.environ | {"AOTC_CACHE_DIR": ""}
    command = [prefork.commands() / "aotc", "compile", MODEL, "-o", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_kernels_are_counted(tmp_path: Path) -> None:
    heard: list[str] = []
    aotc.compile_to(MODEL, tmp_path, report=heard.append, jobs=1)
    said = [step for step in heard if step.startswith("loops: kernel ")]
    count = int(said[0].split()[-1])
    assert count > 1 and said[:count] == [f"loops: kernel {k} of {count}" for k in range(1, count + 1)]
    begun = [step.removeprefix("emit: kernel ") for step in heard if step.startswith("emit: kernel ")]
    numbers = [int(step.removesuffix(f" of {count}")) for step in begun]  # of the first kernel of each portion
    assert numbers[0] == 1 and numbers == sorted({*numbers}) and numbers[-1] <= count
    assert [step for step in heard if ":" not in step][:3] == ["import", "graph", "offload"]
