"""Every option of the command line is in the documentation, and docs/commands.md says what `verify` does."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

from aotc.cli.parser import build_parser
from aotc.cli.verification import compare

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = [each.choices for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(found)


def test_every_option_is_documented() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    options = {name for parser in commands().values() for each in parser._actions for name in each.option_strings}
    long = {name for name in options if name.startswith("--")} - {"--help"}
    assert len(long) > 50
    in_python = {name for name in long if re.search(rf"\b{name[2:].replace('-', '_')}\b", pages)}
    assert not {name for name in long - in_python if not re.search(rf"{name}(?![\w-])", pages)}


def test_options_in_the_table_are_of_these_commands() -> None:
    rows = re.findall(r"^\| (`-.*?) \| (.*?) \|", PAGE, re.MULTILINE)
    assert rows
    for options, names in rows:
        of = commands() if names == "all" else {name: commands()[name] for name in names.split(", ")}
        for option in re.findall(r"`(.*?)`", options):
            assert all(option in each.format_help() for each in of.values()), option


def test_tolerances_are_those_that_it_names() -> None:
    arguments = build_parser().parse_args(["verify", "model.onnx"])
    assert f"`--rtol` ({arguments.rtol:.0e}".replace("e-0", "e-") in PAGE
    assert f"`--atol` ({arguments.atol:.0e}".replace("e-0", "e-") in PAGE

    def same(a: object, b: object) -> bool:
        return compare("y", np.asarray(a), np.asarray(b), rtol=arguments.rtol, atol=arguments.atol).ok

    assert same([1.0, 1e3], [1.1, 1e3]) and not same([1.0, 1e3], [1.2, 1e3])
    assert same([np.nan, np.inf], [np.nan, np.inf]) and not same([np.inf], [-np.inf])
    assert same([3, 4], [4, 4]) and not same([2, 4], [4, 4])
    assert not same([True], [False])
