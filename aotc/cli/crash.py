"""The files of `--crash-report DIR` after a fault of the compiler: all that is needed to see it again."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from aotc.errors import AotcError, InternalError
from aotc.model.files import Content, write_files

_PACKAGES = ("aotc", "xdsl", "llvmlite", "onnx", "numpy", "ml_dtypes")


def write_report(
    directory: Path, error: InternalError, argv: Sequence[str], arguments: argparse.Namespace | None
) -> list[Path]:
    """Write the error, the versions and the command as report.txt, the model, and the IR before the phase that failed.

    Raises OSError where a file cannot be written.
    """
    files: dict[str, Content] = {}
    model = Path(getattr(arguments, "model", None) or "")
    with suppress(OSError):
        if model.is_file():
            files[model.name] = model.read_bytes()
    lines = [f"aotc {shlex.join(argv)}", "", *map(str, error.problems), ""]
    if error.phase and arguments is not None:
        found, resume = _before(error.phase, str(model), arguments)
        files |= found
        lines += [*resume, ""]
    lines += [f"{name} {_version(name)}" for name in _PACKAGES]
    lines += [f"Python {sys.version.split()[0]} on {platform.platform()}", ""]
    lines += traceback.format_exception(error)
    files["report.txt"] = "\n".join(lines)
    return write_files(directory, files)


def _before(phase: str, model: str, arguments: argparse.Namespace) -> tuple[dict[str, Content], list[str]]:
    """The IR that the phase was given, and how to go on with it; nothing where it cannot be had again."""
    from aotc.cli.arguments import options_from
    from aotc.compiler.driver import lower
    from aotc.pipeline.phases import PHASE_NAMES, phase_index
    from aotc.pipeline.textual_ir import ir_files

    previous = PHASE_NAMES[max(phase_index(phase) - 1, 0)]
    with suppress(AotcError, OSError):
        compilation = lower(model, options_from(arguments, stop_after=previous))
        stem = f"{compilation.name}.{previous}"
        return ir_files(compilation, stem), [
            f"or, from the IR: aotc compile {stem}.mlir --start-at {previous} -o out .."
        ]
    return {}, []


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"
