"""Options shared by the commands, and how they become `CompileOptions`."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from aotc.model.known_tensors import parse_constants
from aotc.pipeline.entries import (
    parse_dims,
    parse_layouts,
    parse_pins,
    parse_pools,
    parse_shapes,
    parse_states,
    parse_streams,
)
from aotc.pipeline.options import CHOICES, SINGULAR, CompileOptions, flag
from aotc.pipeline.signature import HINTS

_CONVENTIONS = (
    *("interface_api", "operator_api", "runtime", "workspace", "weights", "io", "operator_arguments", "executor"),
    *("resource_handle", "packed_wrapper", "export_operators", "split", "debug_info"),
)
_SHORT = {"debug_info": ["-g"]}
_OTHERWISE = ("emit", "profile", "tuned")
"""Fields of `CompileOptions` whose flags are not simply their values."""


def add_options(
    parser: argparse.ArgumentParser, *names: str, title: str = "", about: str | None = None, **changes: Any
) -> None:
    """Arguments for fields of `CompileOptions`, perhaps a group of them; `changes` are what `add_argument` is given
    beside what follows from their types."""
    group = parser.add_argument_group(title, about) if title else parser
    for name in names:
        kind, (sentence, *more) = HINTS[name].__origin__, HINTS[name].__metadata__
        settings: dict[str, Any] = {"metavar": more[0]} if more else {}
        text, default = more[1] if more[1:] else sentence, None
        if kind is bool:
            settings["action"] = "store_true"
        elif name in SINGULAR:
            settings |= {"action": "append", "default": []}
        elif kind is int or name in CHOICES:
            default = getattr(CompileOptions, name)
            settings |= {"type": type(default), "choices": CHOICES.get(name), "default": default}
        elif kind == int | None:
            settings["type"] = int
        text += f" (default: {default})" if default else ""
        group.add_argument(*_SHORT.get(name, ()), flag(name), **settings | {"help": text} | changes)


def add_shape_options(parser: argparse.ArgumentParser) -> None:
    """Options that fix a model's dimensions."""
    add_options(parser, "name", *SINGULAR)
    about = "How much a small model may grow in the compiler."
    add_options(parser, "max_constants", "max_folded", "max_nodes", title="limits", about=about)


def add_target(parser: argparse.ArgumentParser, default: str | None = "host") -> None:
    """For which machine, and how hard to optimise."""
    add_options(parser, "target", default=default)
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
    add_options(parser, *_CONVENTIONS, title="conventions")
    add_options(parser, "accuracy", "requantize", "offload", "weights_pool")
    add_options(parser, "tuned", nargs="?", const="")
    add_options(parser, "threads", "check_indices")
    watching = ("dump_phases", "print_ir_after_all", "verify_each", "time_passes")
    add_options(parser, "start_at", *watching, title="for compiler people")


def add_loader(parser: argparse.ArgumentParser) -> None:
    """How code gets into this process."""
    parser.add_argument(
        "--loader",
        choices=("native", "jit"),
        help="link what ships, or run an object in memory (default: native with conventions, --emit shared or c)",
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Options that only concern a compilation that writes files."""
    add_options(parser, "weights_section", "workspace_section", title="sections")
    add_budgets(parser)
    add_options(parser, "jobs", "stop_after")


def add_budgets(parser: argparse.ArgumentParser) -> None:
    """Budgets of a model, and the measurements held against them."""
    about = "In bytes, or 16K, 1M. Exceeding one is an error, and so is a cost that is not known."
    add_options(parser, "ram", "flash", "stack", "cc", title="budgets", about=about)


def options_from(arguments: argparse.Namespace, **overrides: Any) -> CompileOptions:
    """The `CompileOptions` that the parsed arguments stand for. Raises UsageError."""
    names = [field.name for field in fields(CompileOptions) if field.name not in _OTHERWISE]
    given = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    if (table := getattr(arguments, "tuned", None)) is not None:
        from aotc.compiler.cache import tuning_table

        given["tuned"] = table or str(tuning_table())
    given |= {"dims": parse_dims(arguments.dim), "input_shapes": parse_shapes(arguments.input_shape)}
    given |= {"constants": parse_constants(arguments.constant), "state": parse_states(arguments.state)}
    given |= {"stream": parse_streams(arguments.stream), "pools": parse_pools(arguments.pool)}
    given["pins"] = parse_pins(arguments.pin)
    for option in ("input-layout", "output-layout"):
        name = option.replace("-", "_")
        given[f"{name}s"] = parse_layouts(option, getattr(arguments, name))
    return CompileOptions.of(**given | overrides)
