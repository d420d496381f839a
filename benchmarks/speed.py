"""Speed against ONNX Runtime, in turns in one process on one core; prints a Markdown table.

    chrt -f 1 taskset -c 1 python benchmarks/speed.py [MODEL.onnx ...] [--repeat 9]

Without arguments the models under tests/models/data. Quote the ratios, not the times.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from aotc.cli.samples import measure
from aotc.options import CompileOptions

DATA = Path(__file__).resolve().parents[1] / "tests" / "models" / "data"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, default=sorted(DATA.glob("*/model.onnx")))
    parser.add_argument("--repeat", type=int, default=9, help="turns")
    arguments = parser.parse_args()
    options = CompileOptions.of(optimize=3)
    print("| model | aotc, ms | onnxruntime, ms | onnxruntime / aotc |\n| --- | ---: | ---: | ---: |")
    for path in arguments.models:
        name = path.parent.name if path.stem == "model" else path.stem
        result = measure(str(path), options, against="onnxruntime", number=0, repeat=arguments.repeat, report=None)
        ours, theirs = result["seconds"] * 1e3, result["peer_seconds"] * 1e3
        print(f"| {name} | {ours:.4f} | {theirs:.4f} | {result['ratio']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
