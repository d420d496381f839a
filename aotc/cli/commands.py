"""What each command does: one function each, options in, exit code out. Everything heavy is imported inside."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotc.cli.arguments import options_from
from aotc.errors import EXIT_MODEL, EXIT_OK, EXIT_WRONG, AotcError, Problem, UsageError

if TYPE_CHECKING:
    from aotc.pipeline.phases import PassTiming


def compile_command(arguments: argparse.Namespace) -> int:
    """`aotc compile`."""
    from aotc.cli.report import print_footprint
    from aotc.compiler.driver import compile_with

    options = options_from(arguments, emit=arguments.emit)
    with _progress() as report:
        artifacts = compile_with(arguments.model, Path(arguments.output), options, report)
    if options.time_passes:
        _print_timings(artifacts.timings)
    if arguments.json:
        _print_json(
            {
                "files": [str(path) for path in artifacts.files],
                "report": None if artifacts.info is None else asdict(artifacts.info),
            }
        )
    else:
        for path in artifacts.files:
            print(f"{path.stat().st_size:>12,}  {path}")
        if artifacts.info is not None:
            print_footprint(artifacts.info)
    return EXIT_OK


def run_command(arguments: argparse.Namespace) -> int:
    """`aotc run`."""
    import numpy as np

    from aotc.checking.recordings import read_inputs
    from aotc.measuring.routes import open_model
    from aotc.pipeline.files import write_files

    with _progress() as report:
        model = open_model(arguments.model, arguments.emit, options_from(arguments), report)
    outputs = model(read_inputs(arguments.inputs, model.inputs))
    if arguments.outputs is not None:
        from aotc.model.weights import npz_bytes

        target = Path(arguments.outputs)
        write_files(target.parent, {target.name: npz_bytes(outputs)})
        return EXIT_OK
    for name, array in outputs.items():
        flat = array.reshape(-1)
        shown = np.array2string(flat[:8], separator=", ", threshold=8)
        more = f" ... ({flat.size} values, greatest at {int(flat.argmax())})" if flat.size > 8 else ""
        print(f"{name}: {array.dtype} {list(array.shape)} {shown}{more}")
    return EXIT_OK


def verify_command(arguments: argparse.Namespace) -> int:
    """`aotc verify`."""
    from aotc.checking.recordings import read_inputs
    from aotc.checking.reference import reference_outputs, reference_session
    from aotc.cli.comparison import compare
    from aotc.measuring.routes import open_model

    with _progress() as report:
        model = open_model(arguments.model, arguments.emit, options_from(arguments), report)
        if report is not None:
            report("onnxruntime")
        inputs = read_inputs(arguments.inputs, model.inputs)
        expected = reference_outputs(reference_session(arguments.model), inputs)
    actual = model(inputs)
    comparisons = [
        compare(name, actual[name], reference, rtol=arguments.rtol, atol=arguments.atol)
        for name, reference in expected.items()
    ]
    for comparison in comparisons:
        print(comparison.line())
    wrong = [comparison for comparison in comparisons if not comparison.ok]
    if wrong:
        worst = max(wrong, key=lambda comparison: comparison.excess)
        print(f"error: {worst.name} differs most from onnxruntime: {worst.line()}", file=sys.stderr)
        return EXIT_WRONG
    return EXIT_OK


def plan_command(arguments: argparse.Namespace) -> int:
    """`aotc plan`."""
    from aotc.compiler.driver import lower

    with _progress() as report:
        info = lower(arguments.model, options_from(arguments), report).info()
    sizes = {
        "workspace_bytes": info.workspace_bytes,
        "weights_bytes": info.weights_bytes,
        "io_bytes": info.io_bytes,
    }
    if arguments.json:
        _print_json(asdict(info.plan) | sizes)
        return EXIT_OK
    plan = info.plan
    print(f"{'buffer':20} {'offset':>10} {'bytes':>10}  {'steps':>9}  nodes")
    for buffer in plan.buffers:
        nodes = ", ".join(buffer.nodes)
        print(f"{buffer.name:20} {buffer.offset:>10,} {buffer.size:>10,}  {buffer.first:>4}-{buffer.last:<4}  {nodes}")
    verdict = "optimal" if plan.optimal else f"lower bound {plan.lower_bound_bytes:,}"
    print(f"arena {plan.peak_bytes:,} bytes ({verdict}, alignment {plan.alignment})")
    print(", ".join(f"{name.removesuffix('_bytes')} {size:,} bytes" for name, size in sizes.items()))
    return EXIT_OK


def check_command(arguments: argparse.Namespace) -> int:
    """`aotc check`."""
    from aotc.compiler.driver import lower
    from aotc.dialects.aot.contract import nodes_in_floats

    problems: tuple[Problem, ...] = ()
    in_floats: list[str] = []
    try:
        in_floats = nodes_in_floats(lower(arguments.model, options_from(arguments, stop_after="graph")).module)
    except UsageError:
        raise
    except AotcError as error:
        if error.exit_code != EXIT_MODEL:
            raise
        problems = error.problems
    if arguments.json:
        listed = [asdict(problem) for problem in problems]
        _print_json({"ok": not problems, "problems": listed, "in_floats": in_floats})
    elif not problems:
        print("nothing stands in the way")
        if in_floats:
            print(f"computed with dequantised numbers, in floats: {', '.join(in_floats)}")
    else:
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
    return EXIT_MODEL if problems else EXIT_OK


def inspect_command(arguments: argparse.Namespace) -> int:
    """`aotc inspect`."""
    from aotc.cli.inspection import describe

    description = describe(Path(arguments.model))
    if arguments.json:
        _print_json(description)
        return EXIT_OK
    for key, value in description.items():
        if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
            print(f"{key}:")
            for item in value:
                print("  " + _line(item))
        else:
            print(f"{key}: {_line(value)}")
    return EXIT_OK


def bench_command(arguments: argparse.Namespace) -> int:
    """`aotc bench`."""
    from aotc.cli import timings

    options = options_from(arguments)
    if arguments.profile and (arguments.against is not None or arguments.emit != "jit"):
        what = (
            "--profile with --against" if arguments.against is not None else f"--profile with --emit {arguments.emit}"
        )
        raise UsageError(Problem(what, why="kernels are timed in code that this process compiles for itself"))
    with _progress() as report:
        if arguments.profile:
            result = timings.profile(arguments.model, options, arguments.inputs, report)
        else:
            result = timings.compare(arguments.model, options, arguments, report)
    if arguments.json:
        _print_json(result)
    else:
        print(timings.profile_table(result) if arguments.profile else timings.comparison_table(result))
    return EXIT_OK


def tune_command(arguments: argparse.Namespace) -> int:
    """`aotc tune`."""
    from aotc.cli import timings
    from aotc.compiler.cache import tuning_table
    from aotc.machines.tuning_table import TuningTable
    from aotc.measuring.tuning import Gain, tune
    from aotc.pipeline.files import write_files

    path = Path(arguments.output) if arguments.output is not None else tuning_table()
    table = TuningTable.read(path) if path.exists() else TuningTable()
    gains: list[Gain] = []
    with _progress() as report:
        for gain in tune(arguments.model, options_from(arguments), table, report):
            gains.append(gain)
            write_files(path.parent, {path.name: table.text()})
    if arguments.json:
        _print_json({"table": str(path), "gains": [asdict(gain) for gain in gains]})
    else:
        print(timings.gains_table(gains))
        print(f"{path}")
    return EXIT_OK


def cache_command(arguments: argparse.Namespace) -> int:
    """`aotc cache`."""
    from aotc.compiler import cache

    if arguments.clear:
        count, size = cache.clear()
        print(f"removed {count} compiled models, {size:,} bytes")
        return EXIT_OK
    where = cache.directory()
    found = list(cache.entries())
    size = sum(size for _, size in found)
    print(f"{where or 'no cache (AOTC_CACHE_DIR is empty)'}: {len(found)} compiled models, {size:,} bytes")
    return EXIT_OK


def targets_command(arguments: argparse.Namespace) -> int:
    """`aotc targets`."""
    from aotc.machines.targets import named_targets, targets_table

    if arguments.json:
        _print_json({target.name: target.as_json() for target in named_targets()})
    else:
        print(targets_table(), end="")
    return EXIT_OK


def ops_command(arguments: argparse.Namespace) -> int:
    """`aotc ops`."""
    from aotc.frontend.onnx import supported_operators

    operators = supported_operators()
    if arguments.json:
        _print_json({"operators": operators})
    else:
        for name in operators:
            print(name)
    return EXIT_OK


def runtime_command(arguments: argparse.Namespace) -> int:
    """`aotc runtime`."""
    from importlib.resources import files

    from aotc.pipeline.files import write_files

    sources = {
        source.name: source.read_bytes()
        for source in sorted(files("aotc.runtime").iterdir(), key=lambda source: source.name)
        if source.name.endswith((".c", ".h", ".hpp"))
    }
    for path in write_files(Path(arguments.output), sources):
        print(f"{path.stat().st_size:>12,}  {path}")
    return EXIT_OK


@contextmanager
def _progress() -> Generator[Callable[[str], None] | None]:
    """A status line while standard error is a terminal, silence in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda phase: status.update(phase)


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


def _print_json(value: Any) -> None:
    """One object on standard output and nothing else."""
    import json

    print(json.dumps(value, indent=2))
