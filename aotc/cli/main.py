"""The `aotc` command: arguments in, one call of the driver, exit code out."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from aotc import __version__
from aotc.cli.endings import ending
from aotc.errors import EXIT_USAGE, InternalError
from aotc.model.faults import explained

EPILOG = """\
exit codes: 0 done; 1 wrong result or over budget; 2 usage; 3 the model cannot be compiled;
4 a file cannot be read or written; 70 a fault of aotc itself; 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code (see EPILOG)."""
    gc.disable()  # what a command makes lives as long as it does
    _open_standard_streams()
    code = run(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)  # taking IR apart, object by object, takes a tenth of a compilation


def _open_standard_streams() -> None:
    """Let those that are closed lead nowhere: else the next file that is opened would be one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def run(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code. Errors are one line each on standard error, never a traceback."""
    arguments: argparse.Namespace | None = None
    try:
        arguments = build_parser().parse_args(argv)
        command: Callable[[argparse.Namespace], int] = arguments.command
        with explained(f"aotc {arguments.name_of_command}"):
            code = command(arguments)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        if (code := ending(error)) is None:
            raise
        if isinstance(error, InternalError):
            _report(error, argv, arguments)
        return code


def _report(error: InternalError, argv: Sequence[str], arguments: argparse.Namespace | None) -> None:
    """Write the crash report if one was asked for; what goes wrong then hides nothing."""
    if (directory := getattr(arguments, "crash_report", None)) is None:
        return
    from aotc.cli.crash import write_report

    try:
        written = write_report(Path(directory), error, argv, arguments)
    except Exception as another:
        print(f"error: no crash report in {directory}: {another}", file=sys.stderr)
        return
    print(f"wrote {', '.join(map(str, written))}: please look whether you may give them away", file=sys.stderr)


def _verify(arguments: argparse.Namespace) -> int:
    from aotc.cli.verification import verify_command  # which imports numpy

    return verify_command(arguments)


class _Parser(argparse.ArgumentParser):
    """Usage errors in the project's form."""

    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"error: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """Every command and option."""
    from aotc.cli import commands
    from aotc.cli.arguments import (
        add_budgets,
        add_compile_options,
        add_loader,
        add_output_options,
        add_shape_options,
        add_target,
    )
    from aotc.pipeline.options import KINDS

    parser = _Parser(
        prog="aotc",
        description="Ahead-of-time compiler for neural networks: ONNX in, standalone native code out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"aotc {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, function: Callable[[argparse.Namespace], int], sentence: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=sentence, description=sentence[0].upper() + sentence[1:] + ".")
        sub.set_defaults(command=function, name_of_command=name)
        sub.add_argument("--json", action="store_true", help="print the result as one JSON object")
        sub.add_argument(
            "--crash-report", metavar="DIR", help="after a fault of aotc itself, write what shows it there"
        )
        return sub

    compile_ = add("compile", commands.compile_command, "write C, objects, libraries or IR")
    compile_.add_argument("model", metavar="MODEL.onnx")
    compile_.add_argument("-o", "--output", metavar="DIR", required=True, help="where the artefacts go")
    compile_.add_argument("--emit", default="c", metavar="KIND[,KIND...]", help=", ".join(KINDS) + " (default: c)")
    compile_.add_argument("--selftest", metavar="IN.npz", help="add aotc_NAME_selftest(), which runs these inputs")
    compile_.add_argument(
        "--selftest-outputs", metavar="OUT.npz", help="what it expects (default: onnxruntime's, or else our own)"
    )
    add_output_options(compile_)
    add_compile_options(compile_)

    runtime = add("runtime", commands.runtime_command, "write the C runtime: sources and headers")
    runtime.add_argument("-o", "--output", metavar="DIR", required=True, help="where the files go")

    run_ = add("run", commands.run_command, "run a model on recorded or random inputs")
    run_.add_argument("model", metavar="MODEL.onnx|LIB.so")
    run_.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    run_.add_argument("--outputs", metavar="OUT.npz", help="write the outputs there")
    run_.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route computes them")
    add_loader(run_)
    add_compile_options(run_)

    verify = add("verify", _verify, "compare a model's outputs with those of onnxruntime")
    verify.add_argument("model", metavar="MODEL.onnx")
    verify.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    verify.add_argument("--rtol", type=float, default=1e-4, help="relative to the output's largest value")
    verify.add_argument("--atol", type=float, default=1e-5)
    verify.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route computes them")
    add_loader(verify)
    verify.add_argument(
        "--reference",
        default="auto",
        choices=("auto", "onnxruntime", "loops"),
        help="what is right: onnxruntime, or our operators' own scalar loops without schedules (default: onnxruntime, "
        "loops where it lacks an operator)",
    )
    verify.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="compare N calls one after the other, on other random values each (default: 4 with --state, else 1)",
    )
    verify.add_argument("--per-op", action="store_true", help="name the first operator whose result differs")
    verify.add_argument("--bisect", action="store_true", help="name the first pass after which the outputs differ")
    add_compile_options(verify)

    plan = add("plan", commands.plan_command, "print the memory plan")
    plan.add_argument("model", metavar="MODEL.onnx")
    add_compile_options(plan)

    check = add("check", commands.check_command, "list everything that stands in the way of compiling")
    check.add_argument("model", metavar="MODEL.onnx")
    add_shape_options(check)
    add_target(check, default=None)
    add_budgets(check)

    inspect = add("inspect", commands.inspect_command, "show a model, or anything that was written of one")
    inspect.add_argument("model", metavar="MODEL.onnx|DIR|FILE")
    inspect.add_argument("--as", dest="method", metavar="METHOD", help="a view of a file (a wrong one lists them)")

    bench = add("bench", commands.bench_command, "time a model")
    bench.add_argument("model", metavar="MODEL.onnx")
    bench.add_argument(
        "--against",
        metavar="PEER[,PEER...]",
        help="time others in turns, each in a process of its own: onnxruntime, openvino, ncnn, emx; all installed: all",
    )
    bench.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    bench.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route is timed")
    bench.add_argument("--profile", action="store_true", help="time each kernel instead: share, GFLOP/s, ONNX nodes")
    bench.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each has its turn (default: 5)")
    bench.add_argument(
        "--seconds", type=float, default=0.25, metavar="S", help="the least time of a turn (default: 0.25)"
    )
    add_compile_options(bench)

    tune = add(
        "tune", commands.tune_command, "measure schedules of a model's operations on this machine, keep the best"
    )
    tune.add_argument("model", metavar="MODEL.onnx")
    tune.add_argument("-o", "--output", metavar="TABLE.json", help="the table (default: that of this machine)")
    add_compile_options(tune)

    cache = add("cache", commands.cache_command, "show or empty the cache of compiled models")
    cache.add_argument("--clear", action="store_true", help="remove every entry")
    add("targets", commands.targets_command, "list the named targets")
    ops = add("ops", commands.ops_command, "list the supported ONNX operators, or say what is supported of one")
    ops.add_argument("operator", nargs="?", metavar="OPERATOR", help="with its versions, element types and limits")
    return parser
