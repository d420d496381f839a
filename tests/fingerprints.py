"""Hashes of all that models compile to, so that a change which should alter nothing can be shown to.

    python tests/fingerprints.py > OLD.txt              before
    python tests/fingerprints.py --compare OLD.txt      after: prints what differs; exits with 1 if anything does

A line for each file: model, target, file, SHA-256. Files are the C source, the header, the LLVM IR, the report with the
memory plan, and weights beside them; where a model cannot be compiled for a target, the message is the file `error`.
Models are those of tests/models/data and benchmarks/networks.py, or every .onnx file below the folder of `--models`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path

os.environ["AOTC_CACHE_DIR"] = ""

import aotc

ROOT = Path(__file__).parents[1]
TARGETS = ("host", "x86-64-v4", "aarch64", "cortex-m4", "cortex-m4f", "rv32imac")
MOST_EMBEDDED = 3 << 20
"""Bytes of a model whose weights are still written as C; those of larger ones go into a file."""

Key = tuple[str, str, str]
"""Model, target, file."""


def models_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and path of every model in a folder; `model.onnx` is called as the folder that it is in."""
    for path in sorted(folder.rglob("*.onnx")):
        name = path.relative_to(folder).with_suffix("")
        yield str(name.parent if name.name == "model" and name.parent.name else name), path


def shipped_models(scratch: Path) -> Iterator[tuple[str, Path]]:
    """The models of the tests, and those of the benchmarks, which are written into `scratch`."""
    yield from models_below(ROOT / "tests" / "models" / "data")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import networks

    for name in networks.MODELS:
        yield name, networks.write(name, scratch)


def compiled(job: tuple[str, Path, str], keep: Path | None = None) -> dict[Key, str]:
    """The hashes of one model for one target; the files go into a folder of `keep`, too."""
    name, model, target = job
    weights = "external" if model.stat().st_size > MOST_EMBEDDED else "embedded"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if keep is None else keep / name / target
        folder.mkdir(parents=True, exist_ok=True)
        try:
            aotc.compile_to(
                model, folder, name="model", target=target, weights=weights, emit=("c", "header", "llvm-ir")
            )
        except aotc.AotcError as error:
            (folder / "error").write_text(str(error).replace(str(model), "MODEL"), encoding="utf-8")
        return {(name, target, path.name): _hash(path) for path in sorted(folder.iterdir())}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(text: str) -> dict[Key, str]:
    """The lines of an earlier run."""
    rows = (line.split(" ") for line in text.splitlines())
    return {(model, target, file): value for model, target, file, value in rows}


def differences(old: Mapping[Key, str], new: Mapping[Key, str]) -> list[str]:
    """A line for each file that is in one run only, or not the same in both."""
    found: list[str] = []
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            what = "new" if key not in old else "gone" if key not in new else "differs"
            found.append(" ".join((*key, what)))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Hashes of all that models compile to.")
    parser.add_argument("--models", type=Path, help="a folder of models instead of those that are shipped")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="instead of %(default)s")
    parser.add_argument("--compare", type=Path, metavar="OLD.txt", help="print what differs from an earlier run")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the files, in DIR/<model>/<target>")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the hashes, or what differs from those of an earlier run."""
    options = _parser().parse_args(arguments)
    old = None if options.compare is None else read(options.compare.read_text(encoding="utf-8"))
    if options.keep is not None and options.keep.exists() and any(options.keep.iterdir()):
        sys.exit(f"{options.keep} is not empty")
    new: dict[Key, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        models = shipped_models(Path(scratch)) if options.models is None else models_below(options.models)
        jobs = [(name, path, target) for name, path in models for target in options.targets]
        for hashes in _each(jobs, options.jobs, options.keep):
            new |= hashes
            if old is None:
                for key, value in hashes.items():
                    print(*key, value, flush=True)
    if not new:
        sys.exit(f"no models in {options.models}")
    if old is None:
        return 0
    found = differences(old, new)
    print("\n".join(found) or f"{len(new)} files, all the same")
    return int(bool(found))


def _each(jobs: Sequence[tuple[str, Path, str]], processes: int, keep: Path | None) -> Iterable[dict[Key, str]]:
    work = partial(compiled, keep=keep)
    if processes == 1:
        yield from map(work, jobs)
        return
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, jobs)


if __name__ == "__main__":
    sys.exit(main())
