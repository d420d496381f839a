"""Kernels of many cases as one model in the syntax of the IR, which is compiled once for each way to run it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from kernel_program import DTYPES, on_tiles
from memory import kept_for_a_file
from quick_c import c_quickly

from aotc.compiler.driver import in_process
from aotc.compiler.lowering import import_source, run_phases
from aotc.dialects.dtypes import element_type
from aotc.executor import compiled_in_process
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]


def tensor(shape: Sequence[int], dtype: str = "f32") -> str:
    """A type as it is written."""
    return f"tensor<{'x'.join([*map(str, shape), dtype])}>"


def array_attributes(values: Mapping[str, Sequence[int]]) -> str:
    """Attributes of an operation as they are written."""
    return ", ".join(f"{name} = array<i64: {', '.join(map(str, given))}>" for name, given in values.items())


def window_values(
    kernel: Sequence[int], strides: Sequence[int] = (), pads: Sequence[int] = (), dilations: Sequence[int] = ()
) -> dict[str, Sequence[int]]:
    """The attributes of a window; what is empty is as ONNX has it by default."""
    ones = (1,) * len(kernel)
    return {"strides": strides or ones, "pads": pads or (0,) * 2 * len(kernel), "dilations": dilations or ones}


@kept_for_a_file(1)
def _lowered(text: str, threads: int) -> Compilation:
    """IR of the `schedule` phase after the last one: the same for each route. What has a schedule must be on tiles."""
    options = in_process(CompileOptions.of(start_at="fuse", optimize="0", threads=threads))
    with TemporaryDirectory(prefix="aotc-cases.") as folder, uncollected():
        path = Path(folder) / "model.mlir"
        path.write_text(text)
        compilation = import_source(str(path), replace(options, weights="embedded"))

        def check(phase: str) -> None:
            if phase == "interface":  # which begins: kernels are loops
                on_tiles(compilation.module)

        run_phases(compilation, check)
    return compilation


def run_on_tiles(text: str, folder: Path, route: str, feed: Mapping[str, Array], threads: int = 1) -> dict[str, Array]:
    """The results of IR of the `schedule` phase by the route "jit" or "c" of `open_model`, the C compiled quickly.

    What has a schedule must be on tiles.
    """
    compilation = _lowered(text, threads)
    with uncollected():
        if route == "jit":
            return compiled_in_process(compilation)(dict(feed))
        compiled = c_quickly(compilation, folder)
    return compiled(dict(feed))


class Operation(Protocol):
    """One operation, which may have a schedule."""

    @property
    def op(self) -> str:
        """Its name in the dialect `graph`."""
        ...

    def inputs(self) -> Sequence[Array]:
        """The operands that it reads."""
        ...

    def attributes(self, scheduled: bool) -> str:
        """As in the IR."""
        ...

    def result_type(self) -> str:
        """The type of its result."""
        ...


class Case(Protocol):
    """One kernel of a model."""

    def inputs(self) -> Sequence[Array]:
        """The operands that it reads: the inputs x`number`_0 and following."""
        ...

    def lines(self, number: int, tiled: bool) -> tuple[list[str], str, str]:
        """The operations, on tiles or not, the last value and its type."""
        ...


@dataclass
class CaseModel:
    """A model under construction; `body` takes operations."""

    name: str
    body: list[str] = field(default_factory=list[str])
    feed: dict[str, Array] = field(default_factory=dict[str, Array])
    _arguments: list[str] = field(default_factory=list[str])
    _results: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def input(self, name: str, array: Array) -> str:
        """The value %name, which is `array` in a run; its type."""
        self.feed[name] = array
        kind = tensor(array.shape, str(element_type(array.dtype)))
        self._arguments.append(f"%{name}: {_named(kind, name)}")
        return kind

    def output(self, name: str, value: str, kind: str) -> None:
        """`value` of a type under a name."""
        self._results.append((value, _named(kind, name), kind))

    def add_operations(self, cases: Sequence[Operation], memory: Mapping[int, str] = MappingProxyType({})) -> None:
        """Every case twice: as outputs `plainN`, as it is defined, and `tiledN`, as it is scheduled; `memory` are the
        types of scratch buffers of some."""
        for number, case in enumerate(cases):
            given = [f"x{number}_{k}" for k in range(len(case.inputs()))]
            kinds = ", ".join(map(self.input, given, case.inputs()))
            operands, kind = ", ".join(f"%{name}" for name in given), case.result_type()
            for way in ("plain", "tiled"):
                value, attributes = f"{way}{number}", case.attributes(way == "tiled")
                names, types = f"%{value}", kind
                if number in memory:
                    names, types = f"%{value}, %{value}_memory", f"({kind}, {memory[number]})"
                self.body.append(f"{names} = graph.{case.op} {operands} {{{attributes}}} : ({kinds}) -> {types}")
                self.output(value, f"%{value}", kind)

    def add(self, cases: Sequence[Case], numbers: Iterable[int], plain: Container[int]) -> None:
        """`cases` of these `numbers` as outputs `tiledN`, those in `plain` also by scalar loops as `plainN`."""
        for number in numbers:
            for k, array in enumerate(cases[number].inputs()):
                self.input(f"x{number}_{k}", array)
            for tiled in (True, False) if number in plain else (True,):
                lines, value, kind = cases[number].lines(number, tiled)
                self.body += lines
                self.output(f"{'tiled' if tiled else 'plain'}{number}", value, kind)

    def text(self) -> str:
        """The module."""
        values, types, kinds = (", ".join(column) for column in zip(*self._results, strict=True))
        lines = "\n".join([*self.body, f"func.return {values} : {kinds}"])
        entry = f"func.func @main({', '.join(self._arguments)}) -> ({types}) attributes {{aot.entry}} {{\n{lines}\n}}"
        return f'builtin.module attributes {{aot.name = "{self.name}"}} {{\n{entry}\n}}'

    def run(self, route: str, folder: Path) -> dict[str, Array]:
        """All results, as `run_on_tiles` has them."""
        return run_on_tiles(self.text(), folder, route, self.feed)


class CaseRuns:
    """The results of a model of cases by each route, which is compiled and run once; `make` gets the route."""

    def __init__(self, make: Callable[[str], CaseModel]) -> None:
        self._make = make
        self._found: dict[str, dict[str, Array]] = {}

    @classmethod
    def of(cls, cases: Sequence[Operation], memory: Mapping[int, str] = MappingProxyType({})) -> CaseRuns:
        """Of operations, as `add_operations` takes them."""

        def made(_: str) -> CaseModel:
            model = CaseModel("cases")
            model.add_operations(cases, memory)
            return model

        return cls(made)

    def __call__(self, route: str) -> dict[str, Array]:
        if route not in self._found:
            with TemporaryDirectory(prefix="aotc-cases.") as folder:
                self._found[route] = self._make(route).run(route, Path(folder))
        return self._found[route]


class PartialRuns:
    """The same where C has some of the cases only: these are a model that is lowered once for both routes, the others
    are one of their own. `make` gets the numbers of either."""

    def __init__(self, make: Callable[[Sequence[int]], CaseModel], count: int, in_c: Sequence[int]) -> None:
        others = [number for number in range(count) if number not in in_c]
        self._in_c, self._by_both = in_c, CaseRuns(lambda _: make(in_c))
        self._others = CaseRuns(lambda _: make(others))

    def __call__(self, route: str, number: int) -> dict[str, Array]:
        """The results of the model of case `number`."""
        if number in self._in_c:
            return self._by_both(route)
        assert route == "jit", f"C does not have case {number}"
        return self._others(route)


def _named(kind: str, name: str) -> str:
    dtype = DTYPES[re.split("[<x>]", kind)[-2]]
    return f'{kind} {{aot.name = "{name}", aot.dtype = "{dtype}"}}'
