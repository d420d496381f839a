"""The commands: one function each, options in, exit code out. Everything heavy is imported inside."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotc.cli.arguments import options_from
from aotc.errors import EXIT_MODEL, EXIT_OK, EXIT_WRONG, AotcError, Problem, UsageError, printable, show
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.model.metadata import FoldedChannels
    from aotc.pipeline.phases import PassTiming


def compile_command(arguments: argparse.Namespace) -> int:
    """`aotc compile`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads, beside which no process can be copied
    from aotc.cli.tables import print_footprint
    from aotc.model.model_file import ModelFile

    options = options_from(arguments, emit=arguments.emit)
    source = arguments.model
    if options.start_at is None:
        source = ModelFile(source)
        source.read_ahead()  # beside the imports
    from aotc.compiler.driver import compile_with

    with progress() as report:
        artifacts = compile_with(source, Path(arguments.output), options, report)
    if options.time_passes:
        _print_timings(artifacts.timings)
    info = artifacts.info
    if arguments.json:
        return print_json({"files": [*map(str, artifacts.files)], "report": None if info is None else asdict(info)})
    show(*_sizes(artifacts.files))
    if info is not None:
        print_footprint(info)
    return EXIT_OK


def run_command(arguments: argparse.Namespace) -> int:
    """`aotc run`."""
    import numpy as np

    from aotc.compiler.checking.recordings import read_inputs, recorded_shapes
    from aotc.frontend.onnx.dims import OpenShapesError
    from aotc.measuring.routes import open_model
    from aotc.model.files import write_files
    from aotc.model.model_file import ModelFile

    options = options_from(arguments)
    source = arguments.model if options.start_at is not None else ModelFile(arguments.model)  # which may be a pipe
    with progress() as report:
        try:
            model = open_model(source, arguments.emit, options, report, arguments.loader)
        except OpenShapesError as error:
            if arguments.inputs is None:
                raise
            given = {name: shape for name, shape in recorded_shapes(arguments.inputs).items() if name in error.inputs}
            options = replace(options, input_shapes={**given, **options.input_shapes})
            model = open_model(source, arguments.emit, options, report, arguments.loader)
    outputs = model(read_inputs(arguments.inputs, model.inputs))
    if arguments.outputs is not None:
        from aotc.model.weight_store import npz_bytes

        target = Path(arguments.outputs)
        write_files(target.parent, {target.name: npz_bytes(outputs)})
    if arguments.json:
        shown = {
            name: {"dtype": array.dtype.name, "shape": list(array.shape), "values": _numbers(array)}
            for name, array in outputs.items()
        }
        return print_json({"file": arguments.outputs} if arguments.outputs is not None else {"outputs": shown})
    if arguments.outputs is not None:
        return EXIT_OK
    for name, array in outputs.items():
        flat = array.reshape(-1)
        shown = np.array2string(flat[:8], separator=", ", threshold=8)
        more = f" ... ({flat.size} values, greatest at {int(flat.argmax())})" if flat.size > 8 else ""
        show(f"{name}: {array.dtype} {list(array.shape)} {shown}{more}")
    return EXIT_OK


def check_command(arguments: argparse.Namespace) -> int:
    """`aotc check`."""
    from aotc.cli.tables import summary
    from aotc.compiler.driver import lower, measured
    from aotc.dialects.aot.contract import FOLDED_CHANNELS, IN_FLOATS

    costs = any(getattr(arguments, name) is not None for name in ("target", "ram", "flash", "stack", "cc"))
    info, code = None, EXIT_OK
    problems: tuple[Problem, ...] = ()
    in_floats: list[str] = []
    folded: list[FoldedChannels] = []
    try:
        if costs:
            info = measured(arguments.model, options_from(arguments))
            in_floats, folded = list(info.in_floats), list(info.folded_channels)
        else:
            module = lower(arguments.model, options_from(arguments, stop_after="graph")).module
            in_floats, folded = list(IN_FLOATS.get(module) or ()), list(FOLDED_CHANNELS.get(module) or ())
    except AotcError as error:
        if error.exit_code not in (EXIT_MODEL, EXIT_WRONG):
            raise
        problems, code = error.problems, error.exit_code
    if arguments.json:
        listed = [asdict(problem) for problem in problems]
        report = {"report": None if info is None else asdict(info)} if costs else {}
        print_json(
            {
                "ok": not problems,
                "problems": listed,
                "in_floats": in_floats,
                "folded_channels": list(map(asdict, folded)),
            }
            | report
        )
        return code
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not problems:
        print("nothing stands in the way")
        if in_floats:
            show(f"computed with dequantised numbers, in floats: {', '.join(in_floats)}")
        if folded:
            channels = ", ".join(f"{each.node} {each.channels} of {each.of}" for each in folded)
            show(f"channels that are always the same, or that nothing reads, are not computed: {channels}")
    if info is not None:
        show(*summary(info))
    return code


def inspect_command(arguments: argparse.Namespace) -> int:
    """`aotc inspect`."""
    from aotc.cli.inspection import describe, view

    path = Path(arguments.model)
    if (text := view(path, arguments.method)) is not None:
        return answer(arguments, {"file": str(path), "text": text}, text)
    description = describe(path)
    if arguments.json:
        return print_json(description)
    for key, value in description.items():
        if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
            show(f"{key}:")
            for item in value:
                show("  " + _line(item))
        else:
            show(f"{key}: {_line(value)}")
    return EXIT_OK


def bench_command(arguments: argparse.Namespace) -> int:
    """`aotc bench`."""
    from aotc.cli import tables

    options = options_from(arguments)
    if arguments.profile and (arguments.against is not None or arguments.emit != "jit"):
        what = (
            "--profile with --against" if arguments.against is not None else f"--profile with --emit {arguments.emit}"
        )
        raise UsageError("option-conflict", what, "kernels are timed in code that this process compiles for itself")
    with progress() as report:
        if arguments.profile:
            result = tables.profile(arguments.model, options, arguments.inputs, report)
        else:
            result = tables.compare(arguments.model, options, arguments, report)
    table = tables.profile_table(result) if arguments.profile else tables.comparison_table(result)
    return answer(arguments, result, table)


def tune_command(arguments: argparse.Namespace) -> int:
    """`aotc tune`."""
    from aotc.cli import tables
    from aotc.compiler.cache import tuning_table
    from aotc.machines.tuning_table import TuningTable
    from aotc.measuring.tuning import Gain, tune
    from aotc.model.files import write_files

    path = Path(arguments.output) if arguments.output is not None else tuning_table()
    table = TuningTable.read(path) if path.exists() else TuningTable()
    gains: list[Gain] = []
    with progress() as report:
        for gain in tune(arguments.model, options_from(arguments), table, report):
            gains.append(gain)
            write_files(path.parent, {path.name: table.text()})
    found = {"table": str(path), "gains": [asdict(gain) for gain in gains]}
    return answer(arguments, found, f"{tables.gains_table(gains)}\n{path}")


def cache_command(arguments: argparse.Namespace) -> int:
    """`aotc cache`."""
    from aotc.compiler import cache

    if arguments.clear:
        count, size = cache.clear()
        return answer(arguments, {"removed": count, "bytes": size}, f"removed {count} compiled models, {size:,} bytes")
    where = cache.directory()
    found = list(cache.entries())
    size = sum(size for _, size in found)
    state = {"directory": None if where is None else str(where), "models": len(found), "bytes": size}
    text = f"{where or 'no cache (AOTC_CACHE_DIR is empty)'}: {len(found)} compiled models, {size:,} bytes"
    return answer(arguments, state, text)


def phases_command(arguments: argparse.Namespace) -> int:
    """`aotc phases`."""
    from aotc.cli.tables import as_json, every_row, what_runs
    from aotc.compiler.lowering import require_suitable

    options = options_from(arguments, emit=arguments.emit, profile=arguments.profile)
    asked = options if arguments.target is not None or options != CompileOptions() else None
    if asked is not None:
        require_suitable(asked)
    return answer(arguments, as_json(asked), every_row() if asked is None else what_runs(asked))


def targets_command(arguments: argparse.Namespace) -> int:
    """`aotc targets`."""
    from aotc.machines.targets import named_targets, targets_table

    return answer(arguments, {each.name: each.as_json() for each in named_targets()}, targets_table().rstrip("\n"))


def ops_command(arguments: argparse.Namespace) -> int:
    """`aotc ops`."""
    from aotc.frontend.onnx import support, text_of

    rows = support()
    if (wanted := arguments.operator) is not None:
        lower = wanted.lower()
        rows = [row for row in rows if lower in (row.operator.lower(), row.operator.lower().rpartition(".")[2])]
        if not rows:
            raise UsageError("unknown-operator", f"there is no operator {wanted}", fix="`aotc ops` lists all")
    known = [row.operator for row in rows if not row.refused]
    found = {"operators": known, "support": [row.as_json() for row in rows]}
    return answer(arguments, found, "\n".join(known if wanted is None else map(text_of, rows)))


def runtime_command(arguments: argparse.Namespace) -> int:
    """`aotc runtime`."""
    from importlib.resources import files

    from aotc.model.files import write_files

    sources = {
        source.name: source.read_bytes()
        for source in sorted(files("aotc.runtime").iterdir(), key=lambda source: source.name)
        if source.name.endswith((".c", ".h", ".hpp"))
    }
    written = write_files(Path(arguments.output), sources)
    return answer(arguments, {"files": [*map(str, written)]}, _sizes(written))


def _sizes(files: Iterable[Path]) -> list[str]:
    return [f"{path.stat().st_size:>12,}  {path}" for path in files]


def answer(arguments: argparse.Namespace, value: Any, text: str | Sequence[str]) -> int:
    """Print a value as JSON where that is asked for, else as text, or as lines of it."""
    if arguments.json:
        return print_json(value)
    show(*(text.split("\n") if isinstance(text, str) else text))
    return EXIT_OK


def _print_timings(timings: tuple[PassTiming, ...]) -> None:
    total = sum(timing.seconds for timing in timings)
    for timing in timings:
        print(f"{timing.seconds * 1e3:10.1f} ms  {timing.phase:10} {timing.pass_name}", file=sys.stderr)
    print(f"{total * 1e3:10.1f} ms  total", file=sys.stderr)


def _line(item: object) -> str:
    """A value of a description on one line; of what is nested deeper only how many there are."""
    if isinstance(item, dict):
        return ", ".join(f"{key} {_inner(value)}" for key, value in item.items() if value is not None)
    return _inner(item)


def _inner(value: object) -> str:
    if isinstance(value, dict):
        return f"({len(value)})"
    if not isinstance(value, list | tuple):
        return str(value)
    if any(isinstance(item, dict) for item in value):
        return f"({len(value)})"
    return "[" + ", ".join(map(str, value)) + "]"


def _numbers(array: Any) -> Any:
    """An array as nested lists of what JSON has: what is not finite is text."""
    from aotc.dialects.dtypes import number_kind

    if number_kind(array.dtype) != "f":
        return array.astype(bool if number_kind(array.dtype) == "b" else int).tolist()
    flat = [value if math.isfinite(value) else str(value) for value in array.astype(float).reshape(-1).tolist()]
    for extent in reversed(array.shape[1:]):
        flat = [flat[start : start + extent] for start in range(0, len(flat), extent)] if extent else []
    return flat if array.shape else flat[0]


def print_json(value: Any) -> int:
    """One object on standard output and nothing else; the exit code."""
    import json

    print(json.dumps(value, indent=2))
    return EXIT_OK


@contextmanager
def progress() -> Generator[Callable[[str], None] | None]:
    """A listener to what begins, on a line that goes again; None in a pipe, where nothing is said."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from aotc.pipeline.workers import bystander

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    start = time.monotonic()
    with bystander(), Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda step: shown.update(task, description=printable(step))
    print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)
