"""The demo: a real keyword-spotting model to C and to native code, run on real recordings of "yes" and "no"."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import aotc

HERE = Path(__file__).parent / "micro_speech"
LABELS = ("silence", "unknown", "yes", "no")


def recording(word: str) -> np.ndarray:
    """The features of a recorded word: 49 frames of 40 bands, int8, in one row."""
    with np.load(HERE / f"{word}.npz") as archive:
        return archive["Reshape_1"]


def as_c(directory: Path) -> None:
    """Compile to one C file, build it with a main of a few lines, run it on the recordings."""
    artifacts = aotc.compile_to(HERE / "micro_speech.onnx", directory, emit="c,header")
    info = artifacts.info
    assert info is not None
    for path in artifacts.files:
        print(f"  {path.stat().st_size:>9,} bytes  {path.name}")
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
    print("\nMemory plan")
    for buffer in info.plan.buffers:
        print(f"  {buffer.offset:>6} + {buffer.size:<6} steps {buffer.first}-{buffer.last}  {', '.join(buffer.nodes)}")
    print(f"  workspace {info.workspace_bytes:,}, weights {info.weights_bytes:,}, I/O {info.io_bytes:,} bytes")
    subprocess.run(["size", str(program)], check=False)


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
        print("To C")
        as_c(Path(folder))
    print("\nTo native code, in process")
    in_process()


if __name__ == "__main__":
    main()
