"""Measures everything that benchmarks/embedded.md shows and writes its tables anew.

`python tests/embedded/figures.py memory BOARD FOLDER...` prints a table of benchmarks/memory.md instead: models with
the least RAM, and without a budget, beside their fastest programs. Each folder has `model.onnx` with one input and one
output, and two recorded cases, as those of tests/models/data; the RAM that `tigris` (tigris-ml) needs is beside, where
it is installed.
`python tests/embedded/figures.py stream BOARD ROWS FOLDER...` prints that of models whose input comes by rows.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from ladder import STEPS, climb, figures
from measuring import BOARDS, Measured, cases, measure, report

from aotc.pipeline.options import ANY_RAM

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGE = BENCHMARKS / "embedded.md"
MODELS = ("micro_speech_int8", "kws_int8")
LEVELS = (
    ("aotc, C, -Os", "c", "s", ("-Os",)),
    ("aotc, C, -O2", "c", "2", ("-O2",)),
    ("aotc, object, -Os", "object", "s", ()),
    ("aotc, object, -O2", "object", "2", ()),
)


def table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """Markdown, numbers to the right."""
    rows = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    numeric = [all(re.fullmatch(r"-?[\d,]+|", row[column]) for row in rows) for column in range(len(head))]
    lines = [head, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _row(name: str, done: Measured, wrong: int) -> list[str | int]:
    model, library = done.sizes["model"], done.sizes["library"]
    constants = model.constants + library.constants
    ram = model.zero + model.data
    return [name, model.code, library.code, constants, ram, done.heap, done.stack, done.instructions, str(wrong)]


def boards() -> str:
    """Every model on every board, peers below."""
    with (BENCHMARKS / "embedded-peers.csv").open() as file:
        peers = list(csv.DictReader(file))
    parts: list[str] = []
    for model in MODELS:
        for name, board in BOARDS.items():
            if name in ("microbit", "rv32f"):
                continue
            rows: list[list[str | int]] = []
            for label, kind, optimize, flags in LEVELS:
                done = measure(board, model, kind, count=1, flags=flags, optimize=optimize)
                wrong = int(np.count_nonzero(done.outputs[0] != cases(model)[0].output))
                rows.append(_row(label, done, wrong))
                print(model, name, label, done.instructions, file=sys.stderr)
            for peer in peers:
                if (peer["model"], peer["core"]) == (model, name):
                    sizes = [int(peer[key]) for key in ("constants", "static_ram", "heap", "stack", "instructions")]
                    rows.append([peer["compiler"], int(peer["code"]), "", *sizes, ""])
            head = ("", "code", "library", "constants", "RAM", "heap", "stack", "instructions", "wrong")
            parts.append(f"### {model}, {name}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _cell(found: Iterable[int]) -> str:
    return " / ".join(f"{each:,}" for each in found)


def ladders() -> str:
    """The footprint ladder of each model and core."""
    parts: list[str] = []
    for kind, label in (("c", "generated C, gcc -Os"), ("object", "objects, -Os")):
        columns = [(board, model) for board in ("m0", "m4f") for model in MODELS]
        found = [climb(board, model, kind) for board, model in columns]
        rows: list[list[str | int]] = []
        for index, step in enumerate(STEPS):
            cells = [_cell(figures(steps[index])) for steps in found]
            rows.append([step.without and f"no {step.without}", f"`{step.flags}`", *cells])
        total = [_cell(np.subtract(figures(steps[-1]), figures(steps[0]))) for steps in found]
        rows.append(["in total", "", *total])
        head = ("", "options", *(f"{model}, {board}" for board, model in columns))
        parts.append(f"### {label}\n\n{table(head, rows)}")
        print("ladder", kind, file=sys.stderr)
    return "\n\n".join(parts)


HEAD = (
    *("model", "RAM, fastest", "without `--ram`", "least", "instructions, fastest"),
    *("without `--ram`", "ratio", "least", "ratio", "same bytes", "TiGrIS, one memory"),
)


def peer(path: Path) -> str | int:
    """The least RAM in bytes for which `tigris analyze` has a plan without a slow memory; why there is none."""
    if (command := shutil.which("tigris")) is None:
        return "not installed"
    given = [command, "analyze", "-m", "16M", "--json", path]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    try:
        found: Any = json.loads(done.stdout)
    except json.JSONDecodeError:
        return "fails"
    return found["model"]["unscheduled_peak_bytes"] if found["fast"]["verdict"] == "ok" else "no plan"


def _measured(board: str, model: str, **options: Any) -> tuple[int, Measured]:
    options |= {"optimize": "2", "emit": ("c",)}
    done = measure(BOARDS[board], model, "c", flags=("-O2",), **options)
    return report(model, BOARDS[board].target, **options)["workspace_bytes"], done


def row(board: str, folder: Path) -> list[str | int]:
    """The figures of a model."""
    measuring.DATA = folder.parent
    (whole, fast), *others = (_measured(board, folder.name, **more) for more in ({"ram": ANY_RAM}, {}, {"ram": "min"}))
    same = all(map(np.array_equal, fast.outputs * len(others), [each for _, done in others for each in done.outputs]))
    shown: list[str | int] = [folder.name, whole, *(size for size, _ in others), fast.instructions]
    for _, done in others:
        shown += [done.instructions, f"{done.instructions / fast.instructions:.3f}"]
    return [*shown, "yes" if same else "no", peer(folder / "model.onnx")]


def memory(board: str, folders: Iterable[str]) -> str:
    """The table of the least RAM."""
    return table(HEAD, [row(board, Path(folder)) for folder in folders])


STREAM_HEAD = ("model", "rows at once", "arena", "inputs and outputs", "in all", "instructions", "ratio", "same bytes")


def stream(board: str, most: int, folders: Iterable[str]) -> str:
    """The table of models with the least RAM whose input is whole, and comes by so many rows at once."""
    rows: list[list[str | int]] = []
    for folder in map(Path, folders):
        measuring.DATA, first = folder.parent, None
        given: dict[str, Any] = {"optimize": "2", "emit": ("c",), "ram": "min"}
        (x,) = report(folder.name, BOARDS[board].target, **given)["inputs"]
        for more in ({}, {"stream": (x["name"], most)}):
            _, done = _measured(board, folder.name, ram="min", **more)
            said = report(folder.name, BOARDS[board].target, **given, **more)
            first = first or done
            same = all(map(np.array_equal, first.outputs, done.outputs))
            sizes = [said["workspace_bytes"], said["io_bytes"]]
            ratio = f"{done.instructions / first.instructions:.3f}"
            shown = [str(most) if more else "all", *sizes, sum(sizes), done.instructions, ratio]
            rows.append([folder.name, *shown, "yes" if same else "no"])
    return table(STREAM_HEAD, rows)


def main() -> None:
    page = PAGE.read_text()
    for name, made in (("boards", boards()), ("ladders", ladders())):
        begin, end = f"<!-- {name}: made by `make embedded-figures` -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{made}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(page)


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        print(memory(sys.argv[2], sys.argv[3:]))
    elif sys.argv[1:2] == ["stream"]:
        print(stream(sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
    else:
        main()
