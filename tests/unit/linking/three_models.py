"""Two models, one of them under two names, for one program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aotc

DATA = Path(__file__).parents[2] / "models" / "data"
MODELS = {"sine": "hello_world_float", "quantised": "hello_world_int8", "again": "hello_world_int8"}
MAIN = Path(__file__).parent / "main.c"


def compile_models(folder: Path, emit: dict[str, str] | str, target: str = "host") -> list[Path]:
    """Compile each to the kind of `emit` and write cases.h; returns what the linker takes."""
    files: list[Path] = []
    for name, model in MODELS.items():
        kind = emit if isinstance(emit, str) else emit[name]
        aotc.compile_to(DATA / model / "model.onnx", folder, name=name, emit=kind, target=target)
        files.append(folder / {"c": f"{name}.c", "object": f"{name}.o", "static": f"lib{name}.a"}[kind])
    lines = ["#include <stdint.h>"]
    for name in ("sine", "quantised"):
        for end in ("input", "output"):
            with np.load(DATA / MODELS[name] / f"{end}s.npz") as archive:
                (array,) = (archive[key].ravel() for key in archive.files)
            real = array.dtype.kind == "f"
            numbers = ", ".join(f"{float(value):.9e}f" if real else str(value) for value in array)
            lines.append(f"static const {'float' if real else 'int8_t'} {name}_{end}[] = {{{numbers}}};")
    (folder / "cases.h").write_text("\n".join(lines) + "\n")
    return files
