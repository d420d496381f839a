"""Reductions and normalisations vectorised against numpy and scalar loops, over odd sizes, ranks, axes; C with LLVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kernel_program import ENTRY, Array, as_loops, kernel, lowered, on_tiles, through_c, through_llvm
from memory import kept_for_a_file
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.schedules import RowSchedule, Schedule, ScheduleAttr
from aotc.machines.families import ARM64_NEON, X86_AVX2, X86_AVX512
from aotc.machines.machine import Machine
from aotc.passes.kernel.strategy import strategy_of

MACHINES = (X86_AVX512, X86_AVX2, ARM64_NEON)
NUMPY = {"f32": np.float32, "f64": np.float64, "i64": np.int64}


@dataclass(frozen=True)
class Case:
    """One operation: its name and attributes, the shape of x and of the result."""

    name: str
    attributes: str
    shape: tuple[int, ...]
    result: tuple[int, ...]
    dtype: str = "f32"
    result_dtype: str | None = None

    def operation(self, schedule: Schedule | None) -> str:
        """The IR, with or without a schedule."""
        chosen = "" if schedule is None else f", schedule = {ScheduleAttr.of(schedule)}"
        x, r = self.types()
        return f"%r0 = graph.{self.name} %x0 {{{self.attributes}{chosen}}} : (tensor<{x}>) -> tensor<{r}>"

    def types(self) -> tuple[str, str]:
        """Of x and of the result, without `tensor`."""
        kinds = (self.dtype, self.result_dtype or self.dtype)
        shapes = (self.shape, self.result)
        x, r = ("x".join([*map(str, shape), kind]) for shape, kind in zip(shapes, kinds, strict=True))
        return x, r

    def source(self, schedule: Schedule | None) -> str:
        """The kernel as a model."""
        x, r = self.types()
        return kernel(self.operation(schedule), [x], [r])

    def tiled(self, schedule: Schedule) -> ModuleOp:
        """The kernel after the `interface` phase, vectorised."""
        return on_tiles(as_loops(self.source(schedule)))

    def schedule(self, machine: Machine) -> Schedule:
        """The choice of the operation."""
        anchor = self.anchor()
        schedule = strategy_of(anchor).schedule(anchor, machine)
        assert schedule is not None, self
        return schedule

    def evaluated(self, x: Array) -> Array:
        """The result by numpy."""
        results = self.anchor().evaluate([x])
        assert results is not None
        return results[0]

    def anchor(self) -> AnchorOp:
        """The operation."""
        return _anchor(self.source(None))

    def data(self, seed: int = 0) -> Array:
        """Values for x."""
        return np.random.default_rng(seed).normal(0, 2, self.shape).astype(NUMPY[self.dtype])

    def empty(self) -> Array:
        """Room for the result."""
        return np.full(self.result, 77, NUMPY[self.result_dtype or self.dtype])


@kept_for_a_file(4)
def _anchor(text: str) -> AnchorOp:
    (op,) = (op for op in lowered(text, "").walk() if isinstance(op, AnchorOp))
    return op


def reduced(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    return tuple(1 if axis in axes else n for axis, n in enumerate(shape) if keepdims or axis not in axes)


SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((7,), (0,)),
    ((16,), (0,)),
    ((1000,), (0,)),
    ((5, 10), (1,)),
    ((9, 128), (1,)),
    ((3, 385), (1,)),
    ((2, 1030), (1,)),
    ((37, 5), (0,)),
    ((13, 70), (0,)),
    ((1, 33), (0,)),
    ((2, 3, 41), (0, 1)),
    ((3, 50, 7), (1,)),
    ((2, 21, 5, 9), (1,)),
    ((2, 3, 7, 7), (2, 3)),
    ((2, 3, 20, 17), (2, 3)),
    ((2, 3, 10, 17), (0, 2, 3)),
    ((2, 3, 7, 9, 8), (2, 3)),
    ((4, 6, 3, 1), (1,)),
    ((4, 6, 30, 1), (2, 3)),
    ((3, 4, 5, 6), (0, 1, 2, 3)),
)


def cases() -> Iterator[Case]:
    for number, (shape, axes) in enumerate(SHAPES):
        listed = "axes = array<i64: " + ", ".join(map(str, axes)) + ">"
        yield Case("softmax", f"{listed}, log = {'true' if number % 3 else 'false'}", shape, shape)
        yield Case("normalize", f"{listed}, epsilon = 1.0e-5", shape, shape)
        for position, kind in enumerate(("sum", "mean", "prod", "max", "min")):
            keepdims = position % 2 == 0
            attributes = f'{listed}, kind = "{kind}", keepdims = {str(keepdims).lower()}'
            yield Case("reduce", attributes, shape, reduced(shape, axes, keepdims))
        for position, kind in enumerate(("max", "min")) if len(axes) == 1 else ():
            for last in (False, True):
                keepdims = position % 2 == 0
                flags = f"keepdims = {str(keepdims).lower()}, last = {str(last).lower()}"
                attributes = f'axis = {axes[0]}, kind = "{kind}", {flags}'
                yield Case("arg_reduce", attributes, shape, reduced(shape, axes, keepdims), result_dtype="i64")
        for position, kind in enumerate(("sum", "prod")) if len(axes) == 1 and axes[0] < len(shape) - 1 else ():
            for reverse in (False, True):
                flags = f"reverse = {str(reverse).lower()}, exclusive = {str(reverse != (position == 0)).lower()}"
                yield Case("cumulative", f'axis = {axes[0]}, kind = "{kind}", {flags}', shape, shape)
    yield Case("normalize", "axes = array<i64: 1>, epsilon = 1.0e-5", (5, 21), (5, 21), "f64")
    yield Case("reduce", 'axes = array<i64: 1>, kind = "sum"', (5, 21), (5,), "f64")
    yield Case("arg_reduce", 'axis = 1, kind = "min"', (5, 21), (5,), "f64", "i64")
    yield Case("arg_reduce", 'axis = 0, kind = "min"', (5, 21), (21,), "f64", "i64")


CASES = tuple(cases())


def close(case: Case, found: Array, expected: Array) -> None:
    tolerance = 1e-12 if case.dtype == "f64" else 1e-5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=10 * tolerance, err_msg=str(case))


@pytest.mark.parametrize("family", sorted({case.name for case in CASES}))
def test_tiles_compute_what_numpy_does(family: str) -> None:
    for number, case in enumerate(case for case in CASES if case.name == family):
        x, found = case.data(), case.empty()
        through_llvm(case.tiled(case.schedule(MACHINES[number % len(MACHINES)])), ENTRY)(x, found)
        close(case, found, case.evaluated(x))


def test_running_totals_along_the_lanes_are_scalar_loops() -> None:
    case = Case("cumulative", 'axis = 1, kind = "sum", reverse = true, exclusive = false', (5, 21), (5, 21))
    anchor = case.anchor()
    assert strategy_of(anchor).schedule(anchor, MACHINES[0]) is None
    module = as_loops(case.source(RowSchedule(8, 1)))
    assert [op.attributes["aot.scalar_fallback"] for op in module.walk() if "aot.scalar_fallback" in op.attributes]
    x, found = case.data(), case.empty()
    through_llvm(module, ENTRY)(x, found)
    close(case, found, case.evaluated(x))


SPECIAL: tuple[Case, ...] = (
    Case("softmax", "axes = array<i64: 1>, log = false", (6, 21), (6, 21)),
    Case("softmax", "axes = array<i64: 0>, log = true", (6, 21), (6, 21)),
    Case("normalize", "axes = array<i64: 1>, epsilon = 1.0e-5", (6, 21), (6, 21)),
    Case("reduce", 'axes = array<i64: 1>, kind = "max"', (6, 21), (6,)),
    Case("reduce", 'axes = array<i64: 0>, kind = "min"', (6, 21), (21,)),
    Case("reduce", 'axes = array<i64: 1>, kind = "prod"', (6, 21), (6,)),
    Case("arg_reduce", 'axis = 1, kind = "max", last = false', (6, 21), (6,), result_dtype="i64"),
    Case("arg_reduce", 'axis = 1, kind = "max", last = true', (6, 21), (6,), result_dtype="i64"),
    Case("arg_reduce", 'axis = 1, kind = "min", last = true', (6, 21), (6,), result_dtype="i64"),
    Case("arg_reduce", 'axis = 0, kind = "min", last = false', (6, 21), (21,), result_dtype="i64"),
)


@pytest.mark.parametrize("case", SPECIAL, ids=lambda case: f"{case.name} {case.attributes}")
def test_special_values_and_ties(case: Case) -> None:
    x = np.round(case.data())
    for row, column, value in ((0, 0, np.nan), (1, 20, np.nan), (2, 3, np.inf), (3, 4, -np.inf)):
        x[row, column] = value
    x[4, :] = -np.inf
    found, expected = case.empty(), case.empty()
    through_llvm(case.tiled(case.schedule(MACHINES[0])), ENTRY)(x, found)
    through_llvm(as_loops(case.source(None)), ENTRY)(x, expected)
    close(case, found, expected)


@pytest.mark.parametrize("case", CASES[::29], ids=lambda case: f"{case.name} {case.shape} {case.attributes}")
def test_c_and_llvm_agree_bit_for_bit(case: Case, tmp_path: Path) -> None:
    module = case.tiled(case.schedule(MACHINES[0]))
    x, found, expected = case.data(), case.empty(), case.empty()
    through_c(module, ENTRY, tmp_path)(x, found)
    through_llvm(module, ENTRY)(x, expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "schedule",
    [
        RowSchedule(8, 1),
        RowSchedule(8, 3),
        RowSchedule(8, 2, rows=3),
        RowSchedule(8, 2, steps=3),
        RowSchedule(4, 1, steps=4, rows=5),
        RowSchedule(8, 2, rows=2, stages=3),
    ],
    ids=str,
)
def test_any_schedule_is_obeyed(schedule: Schedule) -> None:
    for case in CASES[::11]:
        x, found = case.data(), case.empty()
        through_llvm(case.tiled(schedule), ENTRY)(x, found)
        close(case, found, case.evaluated(x))


@pytest.mark.parametrize(
    ("case", "count"),
    [
        (Case("softmax", "axes = array<i64: 1>, log = false", (9, 40), (9, 40)), 9),
        (Case("reduce", 'axes = array<i64: 1>, kind = "sum"', (3, 385), (3,)), 7),
    ],
    ids=["rows in a pipeline", "registers"],
)
def test_candidates_compute_the_same(case: Case, count: int) -> None:
    anchor, schedule = case.anchor(), case.schedule(MACHINES[0])
    candidates = list(strategy_of(anchor).candidates(anchor, schedule, MACHINES[0]))
    assert len({schedule, *candidates}) == 1 + len(candidates) == 1 + count
    x = case.data()
    for candidate in candidates:
        found = case.empty()
        through_llvm(case.tiled(candidate), ENTRY)(x, found)
        close(case, found, case.evaluated(x))


@pytest.mark.parametrize("single", ["1", "5x1", "1x40"])
def test_prologues_and_epilogues(single: str) -> None:
    """Also where tiles have an operand of one element."""
    random = np.random.default_rng(0)
    x = random.normal(0, 2, [int(extent) for extent in single.split("x")]).astype(np.float32)
    scale = random.normal(0, 2, (5, 1)).astype(np.float32)
    whole = np.broadcast_to(x, (5, 40))
    chosen = f"schedule = {ScheduleAttr.of(RowSchedule(16, 3, rows=2))}"
    kind = "tensor<5x40xf32>"
    spread = f"%b = graph.broadcast %x0 {{shape = array<i64: 5, 40>}} : (tensor<{single}xf32>) -> {kind}\n"

    softmax = f"%s = graph.softmax %b {{axes = array<i64: 1>, log = false, {chosen}}} : ({kind}) -> {kind}\n"
    multiply = f"%r0 = graph.mul %s, %x1 : ({kind}, tensor<5x1xf32>) -> {kind}"
    module = on_tiles(as_loops(kernel(spread + softmax + multiply, [f"{single}xf32", "5x1xf32"], ["5x40xf32"])))
    found = np.empty((5, 40), np.float32)
    through_llvm(module, ENTRY)(x, scale, found)
    expected = np.exp(whole) / np.exp(whole).sum(1, keepdims=True) * scale
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)

    for axis, name in ((0, "sum"), (1, "sum"), (0, "max"), (1, "max")):
        extent = (40, 5)[axis]
        attributes = f'axes = array<i64: {axis}>, kind = "{name}", {chosen}'
        reduce = f"%r0 = graph.reduce %b {{{attributes}}} : ({kind}) -> tensor<{extent}xf32>"
        module = on_tiles(as_loops(kernel(spread + reduce, [f"{single}xf32"], [f"{extent}xf32"])))
        found = np.empty(extent, np.float32)
        through_llvm(module, ENTRY)(x, found)
        expected = whole.sum(axis) if name == "sum" else whole.max(axis)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
