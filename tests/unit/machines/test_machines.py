"""The table of machines: every target has a row, every number of a core is in it, and decisions follow it."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.dialects.aot import ThreadOp
from aotc.dialects.graph.compound.staged import StagedOp
from aotc.machines import processor
from aotc.machines.families import CORTEX_M4, FAMILIES, HOSTED, X86_AVX2, X86_AVX512, of_vendor
from aotc.machines.machine import Core, Machine, ThreadCosts
from aotc.machines.targets import TARGETS, binding, core_of, lookup
from aotc.passes.fuse import tile_and_fuse
from aotc.passes.kernel.costs import strassen_cost, winograd_cost
from aotc.passes.kernel.costs.conv_cost import conv_schedule, narrow_schedule
from aotc.passes.kernel.costs.dot_cost import dot_machine
from aotc.passes.kernel.costs.lanes import elementwise_schedule, reduction_schedule, row_schedule
from aotc.passes.kernel.costs.product_cost import (
    batched_matmul_schedule,
    far_cycles,
    panel_order,
    product_schedule,
    register_tile,
)
from aotc.passes.kernel.costs.window_cost import window_schedule
from aotc.passes.kernel.model_weights import read_bytes
from aotc.passes.kernel.nests.products.matmul_nest import CACHE_LINE, SUMS
from aotc.passes.loops import split_parallel_loops
from aotc.pipeline.phases import PassRunner

ROOT = Path(__file__).parents[3]
LIT = ROOT / "tests" / "lit" / "passes"
MACHINES = [row for row in FAMILIES.values() if isinstance(row, Machine)]


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_a_row_of_its_own_kind(name: str) -> None:
    core = lookup(name).core
    row = FAMILIES[core.name]
    if isinstance(core, Machine) and isinstance(row, Machine):
        row = replace(row, dot=core.dot, lookup=core.lookup)  # which later members of a family have others of
    assert row == core
    assert core.name != HOSTED.name and not core.name.startswith("any other")


def test_the_host_has_the_row_of_its_family_with_its_own_caches() -> None:
    core = lookup("host").core
    assert core == core_of("host")
    row = replace(FAMILIES[core.name], fma=core.fma, l1=core.l1, l2=core.l2, l3=core.l3)
    if isinstance(core, Machine):
        assert isinstance(row, Machine)
        row = replace(of_vendor(row, zen=processor.zen()), dot=core.dot, lookup=core.lookup, picks=core.picks)
    assert row == core


@pytest.mark.parametrize("name", TARGETS)
def test_llvm_agrees_about_fused_multiply_adds(name: str) -> None:
    text = (
        "define float @probe(float %x) {\n  %r = call float @llvm.fma.f32(float %x, float %x, float %x)\n"
        "  ret float %r\n}\ndeclare float @llvm.fma.f32(float, float, float)"
    )
    module = binding().parse_assembly(text)
    module.triple = lookup(name).triple
    assert lookup(name).core.fma == ("fmaf" not in lookup(name).machine().emit_assembly(module))


@pytest.mark.parametrize("name", TARGETS)
def test_targets_with_threads_say_what_they_cost(name: str) -> None:
    assert lookup(name).threads <= (lookup(name).core.threads is not None)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_kernels_keep_enough_sums_and_ask_for_whole_lines(machine: Machine) -> None:
    """These two stand in loop nests, which no machine is told to."""
    assert machine.tiles.latency * machine.tiles.multipliers <= SUMS
    assert machine.cache_line == CACHE_LINE


def test_every_record_and_field_is_documented() -> None:
    tree = ast.parse((ROOT / "aotc" / "machines" / "machine.py").read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert {each.name for each in classes} >= {"Core", "Machine"}
    for each in classes:
        assert ast.get_docstring(each), each.name
        for field, after in zip(each.body, [*each.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign):
                says = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                # `tiles: TileCosts` is documented by its class.
                assert says or (isinstance(field.annotation, ast.Name) and field.annotation.id in _records()), (
                    f"{each.name}.{ast.unparse(field.target)}"
                )


def _records() -> set[str]:
    return {type(value).__name__ for value in vars(X86_AVX512).values() if type(value).__module__ == Core.__module__}


def test_machines_import_nothing_of_the_compiler() -> None:
    for path in (ROOT / "aotc" / "machines").glob("*.py"):
        if path.name == "tuning_table.py":  # what was measured is kept as attributes of the graph dialect
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            for name in _imported(node):
                room = name.split(".")[0] if not name.startswith("aotc.") else ".".join(name.split(".")[:2])
                allowed = room in sys.stdlib_module_names or room in ("llvmlite", "aotc.errors", "aotc.machines")
                assert allowed, f"{path.name} imports {name}"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module is not None else []


# --- no number of a core in a cost model -----------------------------------------------------------------------------


def _numbers(source: str) -> Iterator[str]:
    """Constants of a module, and numbers in its code beyond those that arithmetic on sizes needs."""
    tree = ast.parse(source)
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        each = value.elts if isinstance(value, ast.Tuple) else [value]
        if any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in each):
            yield ast.unparse(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in (0, 1, 2):
            yield f"{node.value} in line {node.lineno}"


@pytest.mark.parametrize(
    "path",
    [
        path
        for folder in ("kernel/costs", "schedule")
        for path in (ROOT / "passes" / folder).rglob("*.py")
        if path.stem != "candidates"  # what a search tries and measures, no estimate
    ],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_cost_models_have_no_number_of_a_core(path: Path) -> None:
    assert list(_numbers(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    ["LATENCY = 4", "LOADS: int = 2", "MULTIPLIERS, LOADS = 2, 2", "def f(x):\n    return 0.12 * x", "x = 5 + y"],
)
def test_numbers_of_a_core_are_seen(line: str) -> None:
    assert list(_numbers(line))


# --- decisions follow the table --------------------------------------------------------------------------------------

_RANDOM = random.Random(10)
EXTENTS = (1, 3, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 197, 256, 384, 512, 768, 1000, 1024, 2048)
SIZES = [tuple(_RANDOM.choice(EXTENTS) for _ in range(3)) for _ in range(60)]
"""Rows, columns and depth of products."""


def _decisions(machine: Machine) -> list[object]:
    """The choices of all cost models."""
    found: list[object] = [
        elementwise_schedule(machine, [f32, i8]),
        window_schedule(machine, f32, machine.vector_bytes // 4),
        *(row_schedule(machine, f32, shape, (1,)) for shape in ((64, 10), (8, 100), (8, 300), (4, 9, 50), (4, 5000))),
        *(reduction_schedule(machine, f32, shape, (0,)) for shape in ((64, 100), (3, 1000), (1000, 8))),
        *(narrow_schedule(machine, f32, 64, outputs, 9, 1) for outputs in (1, 8, 11, 12, 13, 16)),
    ]
    for weights in (1 << 16, 1 << 20, 100 << 20):
        one = machine.with_weights(weights)
        for rows, depth, columns in (
            (128, 768, 768),
            (32, 768, 3072),
            (197, 192, 768),
            (31, 128, 512),
            (600, 300, 100),
        ):
            found.append(strassen_cost.choose(one, f32, strassen_cost.ProductSizes(1, rows, columns, depth)))
    for channels, outputs, extent in ((64, 64, 56), (512, 512, 7), (16, 16, 32), (128, 32, 14), (8, 64, 9), (64, 8, 5)):
        for dtype, group in ((f32, 1), (i32, 2)):
            sizes = winograd_cost.ConvolutionSizes(1, channels, outputs, extent, extent, group)
            found += [winograd_cost.choose(machine.with_weights(each), dtype, sizes) for each in (1 << 20, 100 << 20)]
    for rows, columns, depth in SIZES:
        found.append(product_schedule(machine, f32, rows, columns, depth, streamed=True))
        found.append(batched_matmul_schedule(machine, machine.vector_bytes // 4, (7, rows, columns % 40 + 1, depth)))
        found.append(conv_schedule(machine, f32, rows * depth, (rows, rows), columns, depth, (3, 3)))
    found.append(conv_schedule(machine, f32, 6400, (28, 28), 256, 128, (3, 3), 32))
    return found


USED_BY_PASSES = {"between_kernels", "line_buffers", "stages", "operands"}
"""Shares of caches that cost models do not read; they are tested with the passes that do."""

FIELDS = [
    *((None, name) for name in ("l1", "l2", "l3", "vector_bytes", "registers", "cache_line")),
    *(
        (record, field.name)
        for record in ("tiles", "use", "shares", "bandwidths", "winograd", "strassen")
        for field in fields(getattr(X86_AVX512, record))
        if field.name not in USED_BY_PASSES
    ),
]


def _scaled(machine: Machine, record: str | None, name: str, factor: float) -> Machine:
    def times(owner: Any) -> Any:
        value = getattr(owner, name)
        return replace(
            owner, **{name: type(value)(max(value * factor, 1) if isinstance(value, int) else value * factor)}
        )

    return times(machine) if record is None else replace(machine, **{record: times(getattr(machine, record))})


@pytest.mark.parametrize(("record", "name"), FIELDS)
def test_some_decision_follows_every_field(record: str | None, name: str) -> None:
    for machine in (X86_AVX512, X86_AVX2):
        usual = _decisions(machine)
        if any(_decisions(_scaled(machine, record, name, factor)) != usual for factor in (0.25, 4)):
            return
    pytest.fail(f"{name} decides nothing")


def test_panels_that_are_written_stay_in_l2_where_that_is_fastest() -> None:
    """As of 36 products of pairs of 128 channels on 28 tiles."""
    sizes, machines = (36, 28, 8, 64), [replace(X86_AVX512, l2=size << 20) for size in (1, 4)]
    widths = [batched_matmul_schedule(machine, 16, sizes, written=36).nr for machine in machines]
    usual = batched_matmul_schedule(X86_AVX512, 16, sizes).nr
    assert widths[0] < widths[1] == usual


def test_what_does_not_stay_in_l2_beside_written_panels_comes_from_l3() -> None:
    machine = replace(X86_AVX512, l2=1 << 20)
    sizes, panel = (36, 16, 32, 256), 36 * 256 * 64
    operand, results = 36 * 16 * 256 * 4, 36 * 16 * 64
    touched = operand + 2 * (panel + results)
    far = 1 - 3 / 4 * machine.l2 / touched
    expected = far * (16 * operand + 32 * panel) / machine.bandwidths.l3
    assert far_cycles(machine, sizes, 36, 2) == pytest.approx(expected)
    fits = replace(machine, l2=2 * touched)
    assert far_cycles(fits, sizes, 36, 2) == 0
    assert far_cycles(machine, sizes, 9, 2) < far_cycles(machine, sizes, 36, 2)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_panels_become_no_wider_with_half_the_l2(machine: Machine) -> None:
    half = replace(machine, l2=machine.l2 // 2)
    widths = [(register_tile(half, *sizes)[1], register_tile(machine, *sizes)[1]) for sizes in SIZES]
    assert all(narrower <= usual for narrower, usual in widths)
    quarter = replace(machine, l2=machine.l2 // 64)
    assert any(register_tile(quarter, *sizes)[1] < register_tile(machine, *sizes)[1] for sizes in SIZES)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_tiles_fit_the_registers_there_are(machine: Machine) -> None:
    for registers in (8, 16, 32):
        few = replace(machine, registers=registers)
        for sizes in SIZES:
            height, width = register_tile(few, *sizes)
            assert height == 1 or height * width + width + 1 < registers


def test_registers_of_weights_that_become_two_make_tiles_high() -> None:
    """Magnitudes and a mask: made once for all rows, and in two registers each."""
    machine = dot_machine(X86_AVX2)
    for rows, columns, depth in SIZES:
        height, width = register_tile(machine, rows, columns, depth)
        assert height == 1 or height * width + 2 * width + 1 < X86_AVX2.registers - 1
    assert register_tile(machine, 56, 8, 64)[1] == 1
    free = replace(machine, tiles=replace(machine.tiles, column_cycles=0, column_registers=1))
    assert register_tile(free, 56, 8, 64)[1] > 1


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_rows_take_no_more_registers_than_there_are(machine: Machine) -> None:
    for extent in (1, 10, 100, 300, 1000, 5000):
        schedule = row_schedule(machine, f32, (8, extent), (1,))
        assert schedule is not None and schedule.registers * schedule.steps <= machine.registers


def test_slower_multiply_adds_want_more_results_in_a_tile() -> None:
    slow = replace(X86_AVX512, tiles=replace(X86_AVX512.tiles, latency=12))
    areas = [(register_tile(slow, 64, 64, depth), register_tile(X86_AVX512, 64, 64, depth)) for depth in EXTENTS]
    assert all(a[0] * a[1] >= b[0] * b[1] for a, b in areas)
    assert any(register_tile(slow, *sizes) != register_tile(X86_AVX512, *sizes) for sizes in SIZES)


@pytest.mark.parametrize("panels", [2, 9])
def test_a_matrix_stays_in_a_larger_l1(panels: int) -> None:
    large = replace(X86_AVX512, l1=4 * X86_AVX512.l1)
    for matrix in (1 << 10, 20 << 10, 100 << 10, 1 << 20):
        if panel_order(X86_AVX512, panels, matrix, 1000) == "rows":
            assert panel_order(large, panels, matrix, 1000) == "rows"
    assert panel_order(X86_AVX512, panels, 20 << 10, 1000) != panel_order(large, panels, 20 << 10, 1000)
    assert panel_order(X86_AVX512, 1, 1 << 30, 1000) == "rows"


def test_dear_transforms_and_sums_rule_algorithms_out() -> None:
    costs = X86_AVX512.winograd, X86_AVX512.strassen
    dear = replace(
        X86_AVX512, winograd=replace(costs[0], transform_cycles=400), strassen=replace(costs[1], sum_cycles=500)
    )
    sizes = winograd_cost.ConvolutionSizes(1, 64, 64, 56, 56)
    assert winograd_cost.choose(X86_AVX512, f32, sizes) and winograd_cost.choose(dear, f32, sizes) is None
    product = strassen_cost.ProductSizes(1, 128, 768, 768)
    assert strassen_cost.choose(X86_AVX512, f32, product) and strassen_cost.choose(dear, f32, product) is None


# --- passes ----------------------------------------------------------------------------------------------------------


def _after(text: str, pipeline: str) -> ModuleOp:
    ctx = new_context()
    module = Parser(ctx, text).parse_module()
    PassRunner(ctx).run("test", pipeline, module)
    return module


def _staged(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(tile_and_fuse, "machine_of", lambda target: machine)
    text = (LIT / "fuse" / "tile-and-fuse.mlir").read_text()
    module = _after(text, "attach-target{target=x86-64-v4},choose-schedule,tile-and-fuse")
    return [str(op) for op in module.walk() if isinstance(op, StagedOp)]


def test_less_is_fused_where_caches_keep_more(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = _staged(X86_AVX512, monkeypatch)
    assert len(usual) > len(_staged(replace(X86_AVX512, l2=64 << 20), monkeypatch)) == 0


@pytest.mark.parametrize("name", ["between_kernels", "line_buffers", "stages", "operands"])
def test_fusion_follows_the_shares_of_caches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = _staged(X86_AVX512, monkeypatch)
    assert any(_staged(_scaled(X86_AVX512, "shares", name, by), monkeypatch) != usual for by in (1 / 16, 16))


def test_weights_come_from_where_all_of_them_stay() -> None:
    machine, shares = X86_AVX512, X86_AVX512.shares
    l2, l3 = int(machine.l2 * shares.resident), int(machine.l3 * shares.weights)
    of = machine.bandwidths
    for weights, growth, expected in (
        (l2, 1, of.l2),
        (l2 + 1, 1, of.l3),
        (l2, 1.5, of.l3),
        (l3, 1, of.l3),
        (l3 + 1, 1, of.memory),
        (l3, 1.5, of.memory),
    ):
        assert machine.with_weights(weights).weight_cycles(4096, growth) == 4096 / expected
    twice = machine.with_weights(l3 + 1).weight_cycles(4096, times=2)
    assert twice == 4096 / of.memory + 4096 / of.l2, "a small weight is near when it is read again"


def test_a_model_reads_its_weights_and_rows_of_its_tables() -> None:
    text = """func.func @f(%rows: tensor<5xi64>) -> tensor<5x64xf32> attributes {aot.entry} {
  %0 = graph.constant dense<0.5> : tensor<1000x64xf32>
  %1 = graph.constant dense<0.5> : tensor<64x64xf32>
  %2 = graph.gather %0, %rows {axis = 0 : i64} : (tensor<1000x64xf32>, tensor<5xi64>) -> tensor<5x64xf32>
  %3 = graph.matmul %2, %1 : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
  func.return %3 : tensor<5x64xf32>
}"""
    assert read_bytes(_after(text, "")) == 4 * (5 * 64 + 64 * 64)


THREADS = ThreadCosts(phase_operations=4000, shared_bytes=1, weight_bytes=8, most_time=0.9)


@pytest.mark.parametrize(
    ("core", "shared"),
    [
        (HOSTED, True),
        (CORTEX_M4, False),
        (replace(HOSTED, threads=replace(THREADS, phase_operations=10**9)), False),
        (replace(HOSTED, threads=replace(THREADS, most_time=0)), False),
    ],
)
def test_work_is_shared_where_threads_are_worth_it(core: Core, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_parallel_loops, "core_of", lambda target: core)
    text = (LIT / "loops" / "shares" / "split-parallel-loops.mlir").read_text()
    module = _after(text, "attach-target{target=host},split-parallel-loops{threads=2}")
    assert any(isinstance(op, ThreadOp) for op in module.walk()) is shared


def test_weights_from_memory_are_prefetched_ahead_for_one_tile_of_rows() -> None:
    """Where a step waits for multiply-adds: not with one row, nor two; nor with more rows than a tile has."""
    far = X86_AVX512.with_weights(X86_AVX512.l3)
    near = X86_AVX512.with_weights(int(X86_AVX512.l3 * X86_AVX512.shares.weights))

    def ahead(machine: Machine, rows: int, *, streamed: bool = True) -> bool:
        schedule = product_schedule(machine, f32, rows, 1536, 384, streamed=streamed)
        assert schedule is not None and not (schedule.ahead and schedule.prefetch)
        return schedule.ahead

    assert [rows for rows in (1, 2, 4, 7, 8, 16, 64) if ahead(far, rows)] == [4, 7, 8]
    assert not any(ahead(near, rows) or ahead(far, rows, streamed=False) for rows in (4, 7, 8))
