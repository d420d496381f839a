"""Every command of `aotc` with its arguments, and where they go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from aotc import __version__
from aotc.cli import arguments as shared
from aotc.cli import commands
from aotc.errors import EXIT_USAGE, Problem

EPILOG = """\
exit codes: 0 done; 1 wrong result or over budget; 2 usage; 3 the model cannot be compiled;
4 a file cannot be read or written; 70 a fault of aotc itself; 130 interrupted"""


class _Parser(argparse.ArgumentParser):
    """Usage errors in the project's form."""

    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"error: {Problem('usage', message, fix=f'see {self.prog} --help')}\n")


def build_parser() -> argparse.ArgumentParser:
    """Every command and option."""
    parser = _Parser(
        prog="aotc",
        description="Ahead-of-time compiler for neural networks: ONNX or TensorFlow Lite in, native code out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"aotc {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(
        name: str,
        function: Callable[[argparse.Namespace], int],
        arguments: Callable[[argparse.ArgumentParser], None],
        sentence: str,
    ) -> None:
        sub = subparsers.add_parser(name, help=sentence, description=sentence[0].upper() + sentence[1:] + ".")
        sub.set_defaults(command=function, name_of_command=name)
        sub.add_argument("--json", action="store_true", help="print the result as one JSON object")
        sub.add_argument(
            "--crash-report", metavar="DIR", help="after a fault of aotc itself, write what shows it there"
        )
        arguments(sub)

    add("compile", commands.compile_command, _compile, "write C, objects, libraries or IR")
    add("runtime", commands.runtime_command, _runtime, "write the C runtime: sources and headers")
    add("run", commands.run_command, _run, "run a model on recorded or random inputs")
    add("verify", _verify_command, _verify, "compare a model's outputs with those of onnxruntime")
    add("plan", _plan_command, _plan, "print the memory plan, or prove it")
    add("link-plan", _link_command, _link, "write the memory of models that never run at the same time")
    add("check", commands.check_command, _check, "list everything that stands in the way of compiling")
    add("inspect", commands.inspect_command, _inspect, "show a model, or anything that was written of one")
    add("bench", commands.bench_command, _bench, "time a model")
    sentence = "measure schedules of a model's operations on this machine, keep the best"
    add("tune", commands.tune_command, _tune, sentence)
    sentence = "make a model of floats one of narrow integers, calibrated on data"
    add("quantize", _quantize_command, _quantize, sentence)
    sentence = "compare models over a data set: accuracy, worst samples, layers, RAM, flash, time"
    add("evaluate", _evaluate_command, _evaluate, sentence)
    add("cache", commands.cache_command, _cache, "show or empty the cache of compiled models")
    sentence = "list the passes of each phase and when they run, or what runs with some options"
    add("phases", commands.phases_command, _phases, sentence)
    add("targets", commands.targets_command, lambda sub: None, "list the named targets")
    sentence = "list the supported ONNX operators, or say what is supported of one"
    add("ops", commands.ops_command, _ops, sentence)
    return parser


def _plan_command(arguments: argparse.Namespace) -> int:
    from aotc.cli.planning import plan_command

    return plan_command(arguments)


def _link_command(arguments: argparse.Namespace) -> int:
    from aotc.cli.linking import link_command

    return link_command(arguments)


def _verify_command(arguments: argparse.Namespace) -> int:
    from aotc.cli.verification import verify_command  # which imports numpy

    return verify_command(arguments)


def _quantize_command(arguments: argparse.Namespace) -> int:
    from aotc.cli.precision import quantize_command  # which imports numpy

    return quantize_command(arguments)


def _evaluate_command(arguments: argparse.Namespace) -> int:
    from aotc.cli.precision import evaluate_command

    return evaluate_command(arguments)


# What each command takes besides the options that all have


def _compile(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    sub.add_argument("-o", "--output", metavar="DIR", required=True, help="where the artefacts go")
    shared.add_options(sub, "emit", default="c")
    shared.add_options(sub, "selftest", "selftest_outputs")
    shared.add_output_options(sub)
    shared.add_compile_options(sub)


def _runtime(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("-o", "--output", metavar="DIR", required=True, help="where the files go")


def _run(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx|LIB.so")
    sub.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    sub.add_argument("--outputs", metavar="OUT.npz", help="write the outputs there")
    sub.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route computes them")
    shared.add_loader(sub)
    shared.add_compile_options(sub)


def _verify(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    sub.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    sub.add_argument(
        "--rtol", type=float, default=1e-4, help="allowed, relative to the output's largest value (default: 1e-4)"
    )
    sub.add_argument("--atol", type=float, default=1e-5, help="allowed besides (default: 1e-5)")
    sub.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route computes them")
    shared.add_loader(sub)
    sub.add_argument(
        "--reference",
        default="auto",
        choices=("auto", "onnxruntime", "loops"),
        help="what is right: onnxruntime, or our operators' own scalar loops without schedules (default: onnxruntime, "
        "onnx.reference where it lacks a kernel, loops where both do)",
    )
    sub.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="compare N calls one after the other, on other random values each (default: 4 with --state, else 1)",
    )
    sub.add_argument("--per-op", action="store_true", help="name the first operator whose result differs")
    sub.add_argument("--bisect", action="store_true", help="name the first pass after which the outputs differ")
    shared.add_compile_options(sub)


def _plan(sub: argparse.ArgumentParser) -> None:
    about = "a model; or the NAME.json of a compiled one; or buffers with sizes and lifetimes"
    sub.add_argument("model", metavar="MODEL.onnx|NAME.json|FILE.csv", help=about)
    about = "prove, without the planner, that nothing is overwritten that is still read, and that the C does the same"
    sub.add_argument("--check", action="store_true", help=about)
    about = "print the programs from the fastest to that of the least RAM: RAM, flash, instructions, means"
    sub.add_argument("--pareto", action="store_true", help=about)
    sub.add_argument(
        "--capacity", metavar="BYTES", help="of FILE.csv: what offsets are to fit into, in bytes, or 16K, 1M"
    )
    sub.add_argument("-o", "--output", metavar="OUT.csv", help="of FILE.csv: write it with offsets there")
    shared.add_compile_options(sub)
    shared.add_options(sub, "ram", title="budgets", about="In bytes, or 16K, 1M.")


def _link(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("plans", metavar="NAME.json", nargs="+", help="of compiled models, their headers beside it")
    sub.add_argument("--name", metavar="NAME", default="shared", help="of the macros (default: shared)")
    sub.add_argument("-o", "--output", metavar="FILE.h", help="write the header there")


def _check(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    shared.add_shape_options(sub)
    shared.add_target(sub, default=None)
    shared.add_budgets(sub)


def _inspect(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx|DIR|FILE")
    sub.add_argument("--as", dest="method", metavar="METHOD", help="a view of a file (a wrong one lists them)")


def _bench(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    sub.add_argument(
        "--against",
        metavar="PEER[,PEER...]",
        help="time others in turns, each in a process of its own: onnxruntime, openvino, ncnn, emx; all installed: all",
    )
    sub.add_argument("--inputs", metavar="IN.npz", help="arrays by input name (default: seeded random values)")
    sub.add_argument("--emit", default="jit", choices=("jit", "shared", "c"), help="which route is timed")
    sub.add_argument("--profile", action="store_true", help="time each kernel instead: share, GFLOP/s, ONNX nodes")
    sub.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each has its turn (default: 5)")
    sub.add_argument(
        "--seconds", type=float, default=0.25, metavar="S", help="the least time of a turn (default: 0.25)"
    )
    shared.add_compile_options(sub)


def _tune(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    sub.add_argument("-o", "--output", metavar="TABLE.json", help="the table (default: that of this machine)")
    shared.add_compile_options(sub)


def _data(sub: argparse.ArgumentParser) -> None:
    about = "samples: a folder of npz files, an npz file of arrays by input name, or a function that gives them"
    sub.add_argument("--data", metavar="DIR|FILE.npz|MODULE:FUNCTION", required=True, help=about)
    sub.add_argument("--samples", metavar="N", type=_positive, help="take the first N samples (default: all)")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _quantize(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.onnx")
    sub.add_argument("-o", "--output", metavar="INT8.onnx", required=True, help="where the model goes")
    _data(sub)
    shared.add_options(sub, "target", default="host")
    sub.add_argument("--weights", default="int8", choices=("int8", "int4"), help="integers of weights (default: int8)")
    about = "how ranges of activations are found (default: minmax)"
    sub.add_argument("--calibration", default="minmax", choices=("minmax", "entropy", "percentile"), help=about)
    about = "leave a node on floats; may be repeated"
    sub.add_argument("--keep-float", metavar="NODE", action="append", default=[], help=about)


def _evaluate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("models", metavar="MODEL.onnx", nargs="+", help="the first is what others are compared with")
    _data(sub)
    about = "top1, mse, auc, or a function of the outputs and the label (default: top1)"
    sub.add_argument("--metric", metavar="top1|mse|auc|MODULE:FUNCTION", default="top1", help=about)
    about = "compute in N processes, or by a scheduler of dask.distributed, tcp://HOST:PORT"
    sub.add_argument("--workers", metavar="N|ADDRESS", help=about)
    about = "write what is done to this file, and go on where it ends"
    sub.add_argument("--resume", metavar="FILE.json", help=about)
    shared.add_compile_options(sub)


def _cache(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--clear", action="store_true", help="remove every entry")


def _phases(sub: argparse.ArgumentParser) -> None:
    shared.add_options(sub, "emit", default="c")
    sub.add_argument("--profile", action="store_true", help="what runs for `aotc bench --profile`")
    shared.add_compile_options(sub, target=None)


def _ops(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("operator", nargs="?", metavar="OPERATOR", help="with its versions, element types and limits")
