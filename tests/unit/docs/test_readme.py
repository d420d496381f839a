"""The README's figures name what they were measured on, and its lists say what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SPEED = README.partition("\n## Speed\n")[2].partition("\n## ")[0]
MISSING = README.partition("\n## What it does not do yet\n")[2].partition("\n## ")[0]


def test_the_speed_table_names_its_machine() -> None:
    cpu = (ROOT / "benchmarks" / "cpu.md").read_text(encoding="utf-8").partition("\n## Times")[0]
    for pattern in (r"Processor \w+", r"AVX", r"Debian|Ubuntu|Fedora|macOS|Windows", r"GCC \d+", r"\b20\d\d\b"):
        assert re.search(pattern, SPEED), pattern
    versions = re.search(r"^Versions: (.*)\.$", cpu, re.MULTILINE)
    assert versions is not None
    assert all(version in " ".join(SPEED.split()) for version in versions[1].split(", "))
    rows = {page: dict(re.findall(r"^\| (\w+) \| ([\d.]+) \|", page, re.MULTILINE)) for page in (SPEED, cpu)}
    measured = {name: float(value) for name, value in rows[cpu].items()}
    assert len(rows[SPEED]) >= 10
    for name, value in rows[SPEED].items():
        assert abs(float(value) - measured[name]) < 0.0051, name


def test_what_it_does_not_do_is_said_and_so() -> None:
    assert "needs a trip count that is known when compiling" in " ".join(MISSING.split())
    assert "has exceptions" in MISSING and "(#what-it-does-not-do-yet)" in README


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_the_demo_shows_a_board_and_this_machine() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=True, timeout=600
    )
    board, _, host = done.stdout.partition("\nFor this machine, fast")
    flash = re.search(r"flash ([\d,]+) bytes", board)
    ram = re.search(r"RAM +([\d,]+) bytes", board)
    assert flash is not None and ram is not None and "cortex-m0" in board
    assert int(flash[1].replace(",", "")) < 64 << 10 and int(ram[1].replace(",", "")) < 16 << 10
    for word in ("yes", "no"):
        assert done.stdout.count(f'recording of "{word}": {word}') == 2
    assert "micro_speech.c" in board and "micro_speech.c" in host
