"""Costs of a model that the user's own compiler makes of the generated C: its objects and stack are measured."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.emit.footprint import footprint_of
from aotc.emit.llvm.costs import Frame, ObjectSizes, frames, object_sizes
from aotc.errors import CompileError, UsageError
from aotc.machines.compilers import compiler_flags
from aotc.machines.targets import Target, lookup
from aotc.model.files import Content, write_files
from aotc.model.metadata import Footprint, ModelInfo

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation

_USAGE = re.compile(r"^.*:(?P<function>[^\s:]+)\t(?P<bytes>\d+)\t(?P<kind>\S+)$", re.MULTILINE)


def compiled_footprint(compilation: Compilation, info: ModelInfo, sources: Mapping[str, Content]) -> Footprint:
    """The footprint of the C `sources` (name: content) as the options' `cc` compiles them for their target.

    `cc` is a command of GCC or Clang; flags of the target go before its own. Raises UsageError where there is none,
    CompileError where it refuses.
    """
    target = lookup(compilation.options.target)
    command = _Command(shlex.split(compilation.options.cc or ""), target, compilation.options.optimize)
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder, as_file(files("aotc.runtime")) as runtime:
        written = write_files(Path(folder), sources)
        units = [path for path in written if path.suffix == ".c" and path.name.startswith(info.name)]
        measured = [command.measure(unit, runtime) for unit in units]
    sizes = [object_sizes(image) for image, _ in measured]
    text, constants, data = (sum(getattr(each, name) for each in sizes) for name in ("text", "constants", "data"))
    functions = {symbol: size for each in sizes for symbol, size in each.functions.items()}
    total = ObjectSizes(text, constants, data, sum(each.zeroed for each in sizes), functions)
    found = {symbol: frame for _, sizes in measured for symbol, frame in sizes.items()}
    return footprint_of(total, found, compilation, info, target, compiler=command.version())


class _Command:
    """A compiler with the flags of a target."""

    def __init__(self, argv: list[str], target: Target, optimize: str) -> None:
        if not argv:
            raise UsageError("invalid-option", "--cc is empty", fix="name a compiler: --cc arm-none-eabi-gcc")
        self._program, *given = argv
        self._flags = ["-std=c99", "-w", *compiler_flags(target, optimize), *given]

    def version(self) -> str:
        """The first line of what it says of itself."""
        return self._run(["--version"], None).splitlines()[0]

    def measure(self, source: Path, runtime: Path) -> tuple[bytes, dict[str, Frame]]:
        """The object of a file of C, and the frame of each function in it."""
        flags = [*self._flags, f"-I{runtime}", source.name]
        self._run(["-S", "-fstack-usage", *flags, "-o", f"{source.stem}.s"], source)
        self._run(["-c", *flags, "-o", f"{source.stem}.o"], source)
        usage = source.with_suffix(".su")
        if not usage.exists():
            what = f"--cc {self._program}: it does not say the stack"
            raise CompileError("failed-tool", what, "there is no .su file")
        found = frames(source.with_suffix(".s").read_text())
        sizes = stack_usage(usage.read_text())
        measured = {name: replace(frame, size=sizes.get(_original(name))) for name, frame in found.items()}
        return source.with_suffix(".o").read_bytes(), measured

    def _run(self, arguments: list[str], source: Path | None) -> str:
        folder = None if source is None else source.parent
        try:
            done = subprocess.run([self._program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError("missing-tool", f"--cc {self._program}", why, "name a compiler of C") from error
        if done.returncode:
            why = done.stderr.strip().splitlines()[:1]
            raise CompileError("failed-tool", f"--cc {self._program} refuses the generated C", "".join(why))
        return done.stdout


def stack_usage(text: str) -> dict[str, int | None]:
    """Bytes of each function in what `-fstack-usage` writes, the most of its clones; None for one without a bound."""
    found: dict[str, int | None] = {}
    for line in _USAGE.finditer(text):
        size = None if line["kind"] == "dynamic" else int(line["bytes"])
        name = _original(line["function"])
        before = found.get(name, 0)
        found[name] = None if size is None or before is None else max(size, before)
    return found


def _original(symbol: str) -> str:
    """The function of which a compiler's clone, such as `f.constprop.0`, is one."""
    return symbol.partition(".")[0]
