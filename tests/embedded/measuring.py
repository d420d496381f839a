"""The recorded models on the boards: compiled with any options, run on their cases, measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
from rig import BOARDS, HERE, Board, Run, Sizes, build, run

import aotc
from aotc.compiler.checking.c_calls import checked_plan
from aotc.model.metadata import from_json

DATA = Path(__file__).parents[1] / "models" / "data"
RUNTIME = Path(aotc.__file__).parent / "runtime"
_SCRATCH = TemporaryDirectory(prefix="aotc-embedded.")
_CODES = {"i": 0, "u": 1, "f": 2}


@dataclass(frozen=True)
class Case:
    """One recorded run of a model with one input and one output."""

    input: np.ndarray[Any, Any]
    output: np.ndarray[Any, Any]


@cache
def cases(model: str) -> tuple[Case, ...]:
    """The recorded cases of a model of tests/models/data."""

    def only(path: Path) -> np.ndarray[Any, Any]:
        with np.load(path) as archive:
            (name,) = archive.files
            return archive[name]

    return tuple(
        Case(only(DATA / model / f"inputs{suffix}.npz"), only(DATA / model / f"outputs{suffix}.npz"))
        for suffix in ("", "_1")
    )


@cache
def compiled(model: str, target: str, stream: tuple[str, int] | None = None, **options: Any) -> Path:
    """The folder of a model's C files and object for `target`, called MODEL.*; options are those of `compile_to`, of
    `stream` one entry. Its memory plan is proved."""
    folder = Path(mkdtemp(prefix=f"{model}.", dir=_SCRATCH.name))
    options = {"optimize": "s", "emit": ("c", "object"), **options}
    if stream is not None:
        options["stream"] = dict([stream])
    aotc.compile_to(DATA / model / "model.onnx", folder, name=model, target=target, **options)
    info = from_json((folder / f"{model}.json").read_text())
    _, faults = checked_plan(info, "".join(each.read_text() for each in folder.glob("*.c")) or None)
    assert faults == [], faults
    return folder


def report(model: str, target: str, **options: Any) -> Any:
    """The JSON report of `compiled`."""
    return json.loads((compiled(model, target, **options) / f"{model}.json").read_text())


@dataclass(frozen=True)
class Measured:
    """A model on a board."""

    outputs: tuple[np.ndarray[Any, Any], ...]
    """One for each case."""
    stack: int
    """Bytes, the most of all cases; from the call of the entry down."""
    heap: int
    instructions: int
    """For one inference."""
    sizes: dict[str, Sizes]


def measure(
    board: Board,
    model: str,
    kind: str,
    *,
    count: int = 2,
    flags: tuple[str, ...] = ("-Os",),
    library: Sequence[Path] = (),
    **options: Any,
) -> Measured:
    """Run the first `count` cases of a model from generated C (`kind` "c"), from the LLVM object ("object"), or its
    packed operators in C with the entry in bytecode ("bytecode").

    `library` are objects that it is linked with, which count as runtime.
    """
    if kind == "bytecode":
        options |= {"executor": "vm", "interface_api": "packed", "emit": ("c",)}
    source = compiled(model, board.target, **options)
    chosen = cases(model)[:count]
    folder = Path(mkdtemp(prefix=f"{board.name}.", dir=_SCRATCH.name))
    interface = options.get("interface_api", "c")
    defines = {
        "MODEL_HEADER": f'"{model}.h"',
        "MODEL(x)": f"aotc_{model}_##x",
        f"INTERFACE_{interface.upper()}": "1",
        "CASES": str(count),
    }
    if streamed := options.get("stream"):
        defines |= {"PUSH": f"aotc_{model}_push_{streamed[0]}", "MACRO(x)": f"AOTC_{model.upper()}_##x"}
    files, runtime = [source / f"{model}.{'o' if kind == 'object' else 'c'}"], list[Path]()
    if kind == "bytecode":
        files.append(source / f"{model}_vm.c")
        runtime = [RUNTIME / "aotc_vm.c", RUNTIME / "aotc_vm_builtins.c"]
    elif options.get("operator_api") == "packed":
        runtime = [RUNTIME / "aotc_registry.c"]
    for end, array in (("INPUT", chosen[0].input), ("OUTPUT", chosen[0].output)):
        defines[f"{end}_SIZE"] = str(array.nbytes)
        defines[f"{end}_SHAPE"] = "{" + ", ".join(map(str, array.shape)) + "}"
        defines[f"{end}_DTYPE"] = f"{{{_CODES[array.dtype.kind]}, {array.dtype.itemsize * 8}, 1}}"
    program = build(
        board,
        folder,
        model=files,
        program=[HERE / "run_model.c"],
        runtime=[*runtime, *library],
        flags=flags,
        program_flags=[f"-I{source}", f"-I{RUNTIME}", *(f"-D{name}={value}" for name, value in defines.items())],
        stack=3 * 1024,
    )
    (folder / "inputs.bin").write_bytes(b"".join(case.input.tobytes() for case in chosen))
    done: Run = run(program)
    like = chosen[0].output
    outputs = np.frombuffer((folder / "outputs.bin").read_bytes(), like.dtype).reshape((count, *like.shape))
    assert done.instructions is not None
    each = done.instructions // count
    each_output = tuple(outputs[place] for place in range(count))
    return Measured(each_output, done.reports["stack"], done.reports["heap"], each, program.sizes)


__all__ = ["BOARDS", "RUNTIME", "Case", "Measured", "cases", "compiled", "measure", "report"]
