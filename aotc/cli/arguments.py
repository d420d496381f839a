"""Options shared by the commands, and how they become `CompileOptions`."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from aotc.model.known_tensors import parse_constants
from aotc.model.limits import MOST_EXPANDED
from aotc.pipeline.options import CHOICES, CompileOptions, parse_dims, parse_shapes, parse_states

_CONVENTIONS = {
    "interface_api": "convention of the entry (default: packed with --runtime host, else c)",
    "operator_api": (
        "convention of the operators inside (default: cpacked behind a packed entry of --runtime host, else unpacked)"
    ),
    "runtime": "who calls it: bare C, or the host executor",
    "workspace": "the arena is a static array, or the caller's",
    "weights": "in the file, in NAME.weights.bin, or the caller's",
    "io": "inputs and outputs are the caller's, or at offsets of the workspace",
    "operator_arguments": "what cpacked operators are given",
    "executor": "the entry is compiled to code, or to bytecode that a machine runs (docs/vm.md)",
}
_SWITCHES = {
    "--resource-handle": "give a `c` entry and its operators a handle of the application's as last argument",
    "--packed-wrapper": "export a packed entry beside a typed one",
    "--export-operators": "give the operators external linkage",
    "--split": "write the operators, exported, to NAME_operators.c",
    "--debug-info": "machine code has debug information: lines of NAME.nodes, which lists the model's nodes",
}
_SHORT = {"--debug-info": ("-g",)}
_BUDGETS = {
    "ram": "the arena, and inputs and outputs unless they are in it (--io workspace)",
    "flash": "code and constants for the target, weights unless --weights caller",
    "stack": "the entry and all it calls on the target, without the C library",
}
_OTHERWISE = ("emit", "profile", "tuned")
"""Fields of `CompileOptions` whose flags are not simply their values."""


def add_shape_options(parser: argparse.ArgumentParser) -> None:
    """Options that fix a model's dimensions."""
    parser.add_argument("--name", help="the model's name in files and symbols (default: the file's)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="fix a symbolic dimension")
    parser.add_argument(
        "--input-shape", action="append", default=[], metavar="INPUT=SIZE,...", help="fix the shape of an input"
    )
    parser.add_argument(
        "--constant",
        action="append",
        default=[],
        metavar="INPUT=VALUE|FILE.npz",
        help="make an input a constant: a number, a list as [1, 2], or the array of its name in a file",
    )
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="OUTPUT=INPUT",
        help="keep an output inside, as an input of the next call; callers see neither (docs/state.md)",
    )
    growth = parser.add_argument_group("limits", "How much a small model may grow in the compiler.")
    growth.add_argument(
        "--max-constants", metavar="SIZE", help="what is computed of constants, or of nothing (default: 256M)"
    )
    growth.add_argument(
        "--max-nodes",
        type=int,
        default=MOST_EXPANDED,
        metavar="N",
        help="nodes that calls of functions are expanded to (default: %(default)s)",
    )


def add_target(parser: argparse.ArgumentParser, default: str | None = "host") -> None:
    """For which machine, and how hard to optimise."""
    parser.add_argument(
        "--target",
        default=default,
        help="a name from `aotc targets` or triple[:cpu[:features]], perhaps with caches: host@l2=512K,l3=8M",
    )
    for level in CHOICES["optimize"]:
        parser.add_argument(
            f"-O{level}",
            dest="optimize",
            action="store_const",
            const=level,
            default=CompileOptions.optimize,
            help={"0": "how hard to optimise", "s": "prefer small code"}.get(level, argparse.SUPPRESS),
        )


def add_compile_options(parser: argparse.ArgumentParser, target: str | None = "host") -> None:
    """Every option of a compilation but those about files that it writes."""
    add_shape_options(parser)
    add_target(parser, target)
    conventions = parser.add_argument_group("conventions")
    for name, sentence in _CONVENTIONS.items():
        default: str = getattr(CompileOptions, name)
        text = f"{sentence} (default: {default})" if default else sentence
        conventions.add_argument(f"--{name.replace('_', '-')}", choices=CHOICES[name], default=default, help=text)
    for flag, sentence in _SWITCHES.items():
        conventions.add_argument(*_SHORT.get(flag, ()), flag, action="store_true", help=sentence)
    parser.add_argument(
        "--accuracy",
        choices=CHOICES["accuracy"],
        default=CompileOptions.accuracy,
        help="whether faster algorithms may round differently, by at most 1e-4 of the greatest result (default: fast)",
    )
    parser.add_argument(
        "--requantize",
        choices=CHOICES["requantize"],
        default=CompileOptions.requantize,
        help="without vectors, round sums of integers as onnxruntime does, or in TFLite's fixed-point arithmetic, "
        "which may be one unit off (default: exact)",
    )
    parser.add_argument(
        "--offload",
        metavar="NAME,...",
        help="code generators of other packages that may claim operators, asked in this order (docs/artifacts.md)",
    )
    parser.add_argument(
        "--tuned",
        nargs="?",
        const="",
        metavar="TABLE.json",
        help="follow what `aotc tune` has measured (default table: that of this machine)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="have N threads run a call together, on targets with POSIX threads; results do not change (default: 1)",
    )
    parser.add_argument(
        "--check-indices",
        action="store_true",
        help="fail with status -1 where an index of the inputs is out of range (default: clamped, or not written)",
    )
    phases = parser.add_argument_group("for compiler people")
    phases.add_argument("--start-at", metavar="PHASE", help="MODEL is the IR after this phase")
    phases.add_argument("--dump-phases", metavar="DIR", help="write the IR after every phase")
    phases.add_argument("--print-ir-after-all", action="store_true", help="print the IR after every pass")
    phases.add_argument("--verify-each", action="store_true", help="verify after every pass, not only every phase")
    phases.add_argument("--time-passes", action="store_true", help="print how long each pass took")


def add_loader(parser: argparse.ArgumentParser) -> None:
    """How code gets into this process."""
    parser.add_argument(
        "--loader",
        choices=("native", "jit"),
        help="link what ships, or run an object in memory (default: native with conventions, --emit shared or c)",
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Options that only concern a compilation that writes files."""
    sections = parser.add_argument_group("sections")
    for what in ("weights", "workspace"):
        sections.add_argument(
            f"--{what}-section",
            metavar="NAME",
            help=f"linker section of the {what} in objects (C: AOTC_{what.upper()})",
        )
    add_budgets(parser)
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="have N processes compile kernels; files do not change (default: as many as cores that may be used)",
    )
    parser.add_argument("--stop-after", metavar="PHASE", help="write the IR after this phase and stop")


def add_budgets(parser: argparse.ArgumentParser) -> None:
    """Budgets of a model, and the measurements held against them."""
    budgets = parser.add_argument_group(
        "budgets", "In bytes, or 16K, 1M. Exceeding one is an error, and so is a cost that is not known."
    )
    for budget, sentence in _BUDGETS.items():
        budgets.add_argument(f"--{budget}", metavar="SIZE", help=sentence)
    budgets.add_argument(
        "--cc", metavar="COMMAND", help="the compiler of your C (GCC or Clang): run it to measure code and stack"
    )


def options_from(arguments: argparse.Namespace, **overrides: Any) -> CompileOptions:
    """The `CompileOptions` that the parsed arguments stand for. Raises UsageError."""
    names = [field.name for field in fields(CompileOptions) if field.name not in _OTHERWISE]
    given = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    if (table := getattr(arguments, "tuned", None)) is not None:
        from aotc.compiler.cache import tuning_table

        given["tuned"] = table or str(tuning_table())
    given |= {"dims": parse_dims(arguments.dim), "input_shapes": parse_shapes(arguments.input_shape)}
    given |= {"constants": parse_constants(arguments.constant), "state": parse_states(arguments.state)}
    return CompileOptions.of(**given | overrides)
