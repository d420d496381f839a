"""The commands from floats to narrow integers: `aotc quantize` and `aotc evaluate`."""

from __future__ import annotations

import argparse
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from aotc.cli.arguments import options_from
from aotc.cli.commands import print_json, progress
from aotc.errors import EXIT_OK, UsageError, show
from aotc.measuring.precision.evaluating import Evaluation, evaluate
from aotc.model.files import write_files

_MOST_LISTED = 12
"""Nodes and layers that the terminal shows; JSON has all."""


def quantize_command(arguments: argparse.Namespace) -> int:
    """`aotc quantize`."""
    from aotc.measuring.precision.quantizing import quantize

    source, target = Path(arguments.model), Path(arguments.output)
    source.open("rb").close()
    with progress() as report:
        found = quantize(
            source,
            arguments.data,
            target=arguments.target,
            weights=arguments.weights,
            method=arguments.calibration,
            most=arguments.samples,
            floats=arguments.keep_float,
            report=report,
        )
    content = found.model.SerializeToString()
    write_files(target.parent, {target.name: content})
    before, after = source.stat().st_size, len(content)
    if arguments.json:
        left = [{"node": name, "operator": operator} for name, operator in found.floats]
        return print_json(
            {"file": str(target), "bytes": after, "before": before, "integers": found.integers, "floats": left}
        )
    show(f"{target}: {after:,} bytes, of {before:,}")
    show(f"{found.integers} nodes on integers, {len(found.floats)} on floats")
    show(*(f"  float: {name} ({operator})" for name, operator in found.floats[:_MOST_LISTED]))
    if len(found.floats) > _MOST_LISTED:
        show(f"  and {len(found.floats) - _MOST_LISTED} others")
    return EXIT_OK


def evaluate_command(arguments: argparse.Namespace) -> int:
    """`aotc evaluate`."""
    for name in arguments.models:
        Path(name).open("rb").close()
    with progress() as report, workers(arguments.workers) as executor:
        found = evaluate(
            arguments.models,
            arguments.data,
            options_from(arguments),
            metric=arguments.metric,
            most=arguments.samples,
            executor=executor,
            resume=None if arguments.resume is None else Path(arguments.resume),
            report=report,
        )
    if arguments.json:
        return print_json(found.as_json())
    show(*_table(found))
    return EXIT_OK


@contextmanager
def workers(asked: str | None) -> Generator[Executor | None]:
    """The workers that are asked for: a number of processes here, or the address of a scheduler of dask.distributed;
    None where nobody asks. Raises UsageError."""
    if asked is None:
        yield None
    elif asked.isdigit() and int(asked):
        with ProcessPoolExecutor(int(asked), mp_context=get_context("spawn")) as executor:
            yield executor
    elif ":" in asked:
        with _client(asked) as client:
            yield client.get_executor()
    else:
        raise UsageError("invalid-option", f"--workers {asked}", fix="give a number, or an address as tcp://host:8786")


def _client(address: str) -> Any:
    try:
        return import_module("distributed").Client(address, timeout=10)
    except ImportError as error:
        what, fix = f"--workers {address} takes dask.distributed", "pip install aotc[workers]"
        raise UsageError("missing-tool", what, str(error), fix) from error
    except OSError as error:
        raise UsageError("failed-tool", f"--workers {address}: there is no scheduler", str(error)) from error


def _table(found: Evaluation) -> list[str]:
    """Lines of text: a row for each model and route, then the noisiest layers."""
    head = ("model", "by", found.metric, "error", "us", "RAM", "flash", "worst samples")
    rows: list[tuple[str, ...]] = [head]
    for each in found.rows:
        cells = (Path(each.model).name, each.route, f"{each.score:.4f}", f"{each.error:.3g}")
        sizes = ("" if size is None else f"{size:,}" for size in (each.ram, each.flash))
        rows.append((*cells, f"{each.microseconds:.1f}", *sizes, ", ".join(map(str, each.worst))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    left = (0, 1, len(head) - 1)
    lines = [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.append(f"{found.samples} samples; error: mean squared difference from the first model by onnxruntime")
    lines += [f"{Path(each.model).name} has no code for the target: {each.why}" for each in found.rows if each.why]
    if found.layers:
        lines.append("noisiest layers, signal to noise:")
        lines += [f"  {each.decibels:6.1f} dB  {each.name}" for each in found.layers[:_MOST_LISTED]]
    return lines
