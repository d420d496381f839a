"""The demo: a real keyword spotter for a microcontroller and for this machine, on recordings of "yes" and "no"."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import aotc

HERE = Path(__file__).parent / "micro_speech"
LABELS = ("silence", "unknown", "yes", "no")


def recording(word: str) -> np.ndarray:
    """The features of a recorded word: 49 frames of 40 bands, int8, in one row."""
    with np.load(HERE / f"{word}.npz") as archive:
        return archive["Reshape_1"]


BOARD = "cortex-m0"
"""The processor of the first micro:bit: 256 KiB of flash, 16 KiB of RAM, no FPU."""


def for_a_board(directory: Path) -> None:
    """Compile for a microcontroller: what it takes there is known without one."""
    artifacts = aotc.compile_to(
        HERE / "micro_speech.onnx", directory, target=BOARD, optimize="s", emit=("c", "header", "object")
    )
    info = artifacts.info
    assert info is not None and info.footprint is not None
    print_files(artifacts.files)
    code = info.footprint.text_bytes
    print(
        f"  flash {info.footprint.flash_bytes:,} bytes: code {code:,}, weights {info.weights_bytes:,}, other the rest"
    )
    print(f"  RAM   {info.ram_bytes:,} bytes: arena {info.workspace_bytes:,}, inputs and outputs {info.io_bytes:,}")
    print(f"  stack {info.footprint.stack_bytes} bytes")
    if calls := info.footprint.library_calls:
        print(f"  of the compiler's and the C library, whose size comes on top, it calls {', '.join(calls)}")


def print_files(files: Sequence[Path]) -> None:
    """Names and sizes; the weights are text in C."""
    for path in files:
        print(f"  {path.stat().st_size:>9,} bytes  {path.name}")


def as_c(directory: Path) -> None:
    """Compile to one C file, build it with a main of a few lines, run it on the recordings."""
    artifacts = aotc.compile_to(HERE / "micro_speech.onnx", directory, emit="c,header")
    info = artifacts.info
    assert info is not None
    print_files(artifacts.files)
    main = directory / "main.c"
    main.write_text((HERE / "main.c").read_text())
    program = directory / "micro_speech"
    flags = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, str(main), str(directory / "micro_speech.c"), "-o", str(program), "-lm"], check=True)
    for word in ("yes", "no"):
        scores = subprocess.run([program], input=recording(word).tobytes(), capture_output=True, check=True).stdout
        values = np.frombuffer(scores, np.int8)
        table = ", ".join(f"{label} {value}" for label, value in zip(LABELS, values.tolist(), strict=True))
        print(f'  recording of "{word}": {LABELS[int(values.argmax())]}  ({table})')
    print("\nIts memory plan: offset + bytes in the arena, steps in which a buffer lives, ONNX nodes")
    for buffer in info.plan.buffers:
        print(f"  {buffer.offset:>6} + {buffer.size:<6} steps {buffer.first}-{buffer.last}  {', '.join(buffer.nodes)}")
    print(f"  workspace {info.workspace_bytes:,}, weights {info.weights_bytes:,}, I/O {info.io_bytes:,} bytes")


def in_process() -> None:
    """Compile to native code in this process and call it."""
    model = aotc.compile(HERE / "micro_speech.onnx")
    for word in ("yes", "no"):
        scores = model(recording(word))
        values = next(iter(scores.values())).reshape(-1)
        print(f'  recording of "{word}": {LABELS[int(values.argmax())]}')


def main() -> None:
    """Run the demo."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"For a microcontroller ({BOARD}), small")
        for_a_board(Path(folder, "board"))
        print("\nFor this machine, fast: C for its vectors, with weights in the order in which they are read")
        as_c(Path(folder, "host"))
    print("\nFor this machine, in process, without a C compiler")
    in_process()


if __name__ == "__main__":
    main()
