"""CMSIS-NN for a board: its sources are where the variable CMSIS_NN says."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from measuring import compiled
from rig import Board, compile_objects

_SCRATCH = TemporaryDirectory(prefix="aotc-cmsis-nn.")
_FOLDERS = (
    "ConvolutionFunctions",
    "FullyConnectedFunctions",
    "PoolingFunctions",
    "NNSupportFunctions",
    "TransposeFunctions",
)
SOURCES = os.environ.get("CMSIS_NN", "")
REASON = "CMSIS_NN does not name a checkout of github.com/ARM-software/CMSIS-NN"


def is_there() -> bool:
    """Whether there are sources to compile."""
    return bool(SOURCES) and (Path(SOURCES) / "Include" / "arm_nnfunctions.h").is_file()


@cache
def library(board: Board) -> tuple[Path, ...]:
    """Its int8 kernels, compiled with -O2 as its authors advise; what is not called is not linked."""
    root = Path(SOURCES)
    files = [file for folder in _FOLDERS for file in sorted((root / "Source" / folder).glob("*.c"))]
    integers = [file for file in files if not file.stem.endswith(("f16", "f32"))]
    return compile_objects(board, Path(mkdtemp(dir=_SCRATCH.name)), integers, ("-O2", f"-I{root / 'Include'}"))


@cache
def offloaded(board: Board, model: str, optimize: str) -> tuple[Path, ...]:
    """The kernels that the code generator makes for a model, and the library."""
    folder = compiled(model, board.target, optimize=optimize, offload="cmsis-nn")
    include = f"-I{Path(SOURCES) / 'Include'}"
    made = compile_objects(board, Path(mkdtemp(dir=_SCRATCH.name)), [folder / f"{model}_cmsis_nn.c"], ("-O2", include))
    return (*made, *library(board))
