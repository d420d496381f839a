"""Strassen's products: the sums, the choice, and the kernels on tiles and as scalar loops against float64.

The kernels of all cases are two models, compiled once: one of those that C computes as well, one of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from case_model import Array, CaseModel, PartialRuns, tensor
from codegens.tested_targets import XEON, ZEN
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import TensorType, f32, f64, i32
from xdsl.utils.test_value import create_ssa_value

from aotc.dialects.graph.packed.products.strassen_matmul import LEFT_SUMS, RESULT_SUMS, RIGHT_SUMS, StrassenWeightOp
from aotc.dialects.graph.schedules import MatmulSchedule, ScheduleAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.families import X86_AVX2, X86_AVX512, of_vendor
from aotc.machines.machine import Machine
from aotc.machines.targets import Target
from aotc.measuring.routes import open_model
from aotc.passes.kernel.costs import strassen_cost
from aotc.passes.kernel.costs.strassen_cost import ProductSizes
from aotc.pipeline.options import CompileOptions

AVX512 = replace(of_vendor(X86_AVX512, zen=5), l1=48 << 10)


# The sums


def test_seven_products_are_a_product() -> None:
    rng = np.random.default_rng(0)
    a, c = rng.integers(-9, 9, (2, 2)), rng.integers(-9, 9, (2, 2))
    products = (np.array(LEFT_SUMS) @ a.ravel()) * (np.array(RIGHT_SUMS) @ c.ravel())
    np.testing.assert_array_equal((np.array(RESULT_SUMS) @ products).reshape(2, 2), a @ c)


# The choice


@pytest.mark.parametrize("machine", [AVX512, of_vendor(X86_AVX2, zen=5)])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(128, 768, 768), (128, 768, 3072), (128, 3072, 768), (197, 768, 768), (256, 1024, 1024), (512, 512, 512)],
)
def test_large_products_are_worth_it(machine: Machine, rows: int, depth: int, columns: int) -> None:
    sizes = ProductSizes(1, rows, columns, depth)
    chosen = strassen_cost.choose(machine, f32, sizes)
    assert chosen is not None and rows <= chosen.rows.data * ceil_div(rows, 128) <= rows + 2 * ceil_div(rows, 128)
    gain = strassen_cost.direct_cycles(machine, f32, sizes) / strassen_cost.cycles(machine, f32, sizes)
    assert 1.05 < gain < 8 / 7


@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 2048, 1000), (8, 768, 768), (16, 768, 3072), (128, 128, 128), (32, 128, 512), (197, 64, 197), (0, 768, 768)],
)
def test_small_and_narrow_ones_are_not(rows: int, depth: int, columns: int) -> None:
    assert strassen_cost.choose(AVX512, f32, ProductSizes(1, rows, columns, depth)) is None


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "worth"),
    [(128, 128, 512, True), (64, 384, 384, True), (64, 192, 768, True), (8, 512, 512, False), (31, 100, 300, False)],
)
def test_few_rows_are_worth_it_where_weights_are_near(rows: int, depth: int, columns: int, worth: bool) -> None:
    near = AVX512.with_weights(4 * depth * columns)
    assert (strassen_cost.choose(near, f32, ProductSizes(1, rows, columns, depth)) is not None) == worth


LAYERS = 42 << 20
"""Bytes of the weights of six transformer layers of 384 channels, which Strassen makes 74 MB."""


@pytest.mark.parametrize(
    ("target", "weights", "few", "many"),
    [
        (ZEN, 4 * 384 * 1536, 12, 20),
        (ZEN, LAYERS, 48, 56),
        (XEON, 4 * 384 * 1536, 48, 56),
        (XEON, LAYERS, 96, 200),
        (XEON, 1 << 30, 96, 200),
    ],
)
def test_the_weights_of_all_layers_decide_how_many_rows_it_takes(
    target: Target, weights: int, few: int, many: int
) -> None:
    machine = cast(Machine, target.core).with_weights(weights)
    worth = [strassen_cost.choose(machine, f32, ProductSizes(1, rows, 1536, 384)) is not None for rows in (few, many)]
    assert worth == [False, True]


def test_very_many_weights_stay_as_they_are() -> None:
    sizes = ProductSizes(1, 512, 1024, 4096)
    assert strassen_cost.choose(AVX512.with_weights(1 << 30), f32, sizes) is not None
    assert strassen_cost.choose(AVX512.with_weights(1 << 30 | 1), f32, sizes) is None


def test_it_is_for_floats_in_vectors() -> None:
    sizes = ProductSizes(1, 512, 512, 512)
    assert strassen_cost.choose(AVX512, f64, sizes) is not None
    assert not strassen_cost.choices(AVX512, i32, sizes) and not strassen_cost.choices(
        replace(AVX512, vector_bytes=8), f64, sizes
    )


def test_a_search_tries_other_blocks() -> None:
    found = strassen_cost.choices(AVX512, f32, ProductSizes(1, 1000, 512, 512))
    assert [each.rows.data for each in found] == [126, 1000]


# The kernels


@dataclass(frozen=True)
class Case:
    """lhs [.., M, K] with a weight [K, `columns`], in registers of `lanes`; `tile` is (rows, registers of a panel)."""

    lhs: tuple[int, ...]
    columns: int
    block_rows: int = 256
    tile: tuple[int, int] = (3, 2)
    panel: int = 2
    lanes: int = 4
    prefetch: bool = False
    epilogue: bool = True
    """A bias, another tensor added, and a relu."""
    row_parts: int = 1
    panel_parts: int = 1

    @property
    def number(self) -> Any:
        return np.float32 if self.lanes == 4 else np.float64

    @property
    def left(self) -> int:
        return ceil_div(self.columns, 2 * self.lanes) * self.lanes

    def plain_inputs(self) -> list[Array]:
        """lhs, the weight, and perhaps the bias and what is added."""
        rng = np.random.default_rng(sum(self.lhs))
        shapes: list[tuple[int, ...]] = [self.lhs, (self.lhs[-1], self.columns)]
        if self.epilogue:
            shapes += [(self.columns,), (*self.lhs[:-1], self.columns)]
        return [rng.standard_normal(shape).astype(self.number) for shape in shapes]

    def expected(self) -> Array:
        lhs, weight, *rest = self.plain_inputs()
        y = lhs.astype(np.float64) @ weight.astype(np.float64)
        return np.maximum(y + rest[0] + rest[1], 0) if rest else y

    def inputs(self) -> list[Array]:
        """As the kernel takes them."""
        lhs, weight, *rest = self.plain_inputs()
        return [lhs, self.weight(weight), *rest]

    def weight(self, weight: Array) -> Array:
        """The panels, product by product."""
        upper, width = ceil_div(len(weight), 2), self.panel * self.lanes
        whole = np.zeros((2 * upper, 2 * self.left))
        whole[: len(weight), : self.columns] = weight
        quarters = [whole[k : k + upper, n : n + self.left] for k in (0, upper) for n in (0, self.left)]
        panels = np.zeros((ceil_div(self.left, width), len(RIGHT_SUMS), upper, width), self.number)
        for product, factors in enumerate(RIGHT_SUMS):
            total = sum(factor * quarter for factor, quarter in zip(factors, quarters, strict=True))
            for panel, packed in enumerate(panels):
                columns = total[:, panel * width : (panel + 1) * width]
                packed[product, :, : columns.shape[1]] = columns
        return panels

    def lines(self, number: int, tiled: bool) -> tuple[list[str], str, str]:
        """The operations, the last value and its type."""
        dtype = "f32" if self.lanes == 4 else "f64"
        kinds = [tensor(array.shape, dtype) for array in self.inputs()]
        height, line = min(self.block_rows, self.lhs[-2] + 1) // 2 | 1, 64 // np.dtype(self.number).itemsize
        pitch = (ceil_div(ceil_div(self.lhs[-1], 2), line) | 1) * line
        count = 7 * self.row_parts * self.panel_parts
        shapes = ((*self.lhs[:-1], self.columns), (count, height, pitch), (count, height, self.panel * self.lanes))
        results = [tensor(shape, dtype) for shape in shapes]
        parts = (("row_parts", self.row_parts), ("panel_parts", self.panel_parts))
        numbers = (("columns", self.columns), ("left", self.left), ("block_rows", self.block_rows), *parts)
        attributes = [f"{name} = {value} : i64" for name, value in numbers]
        if tiled:
            schedule = MatmulSchedule(self.lanes, *self.tile, 2, "columns", self.prefetch)
            attributes.append(f"schedule = {ScheduleAttr.of(schedule)}")
        y = f"%{'tiled' if tiled else 'plain'}{number}"
        types = f"({', '.join(kinds[:2])}) -> ({', '.join(results)})"
        operands = f"%x{number}_0, %x{number}_1"
        lines = [f"{y}, {y}_s, {y}_p = graph.strassen_matmul {operands} {{{', '.join(attributes)}}} : {types}"]
        if self.epilogue:
            kind = results[0]
            lines.append(f"{y}_b = graph.add {y}, %x{number}_2 : ({kind}, {kinds[2]}) -> {kind}")
            lines.append(f"{y}_a = graph.add {y}_b, %x{number}_3 : ({kind}, {kind}) -> {kind}")
            lines.append(f"{y}_r = graph.relu {y}_a : ({kind}) -> {kind}")
            y += "_r"
        return lines, y, results[0]


CASES = (
    Case((2, 8), 8),
    Case((1, 1), 1, epilogue=False),
    Case((7, 9), 13),
    Case((12, 32), 32, tile=(4, 2), prefetch=True),
    Case((10, 6), 24, tile=(4, 1), panel=3),
    Case((5, 40), 41, panel=3, tile=(2, 3)),
    Case((11, 17), 26, block_rows=4, tile=(2, 2)),
    Case((26, 31), 19, block_rows=8, tile=(5, 1), panel=1, prefetch=True),
    Case((3, 9, 16), 24, block_rows=6, epilogue=False),
    Case((2, 1, 6, 7), 5),
    Case((6, 15), 3, tile=(8, 1), panel=1),
    Case((9, 33), 10, lanes=2, tile=(4, 3), panel=3, block_rows=4),
    Case((2, 5, 6), 7, lanes=2),
    # Two blocks and one, which is smaller; two and two; one each, of each matrix, of some panels.
    Case((11, 17), 26, block_rows=4, tile=(2, 2), row_parts=2),
    Case((26, 31), 19, block_rows=8, panel=1, row_parts=2),
    Case((3, 9, 16), 24, block_rows=6, panel=1, row_parts=2, panel_parts=2),
)
PLAIN = (6, 8)
"""The cases that are also computed by scalar loops."""
IN_C = (2, 3, 7, 11)


def module(numbers: Sequence[int]) -> CaseModel:
    model = CaseModel("strassen")
    model.add(CASES, numbers, PLAIN)
    return model


results = PartialRuns(module, len(CASES), IN_C)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_kernels_agree_with_float64(number: int) -> None:
    case, found, expected = CASES[number], results("jit", number), CASES[number].expected()
    for way in ("tiled", "plain") if number in PLAIN else ("tiled",):
        tolerance = 2e-6 if case.number is np.float32 else 1e-14
        np.testing.assert_allclose(found[f"{way}{number}"], expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("number", IN_C)
def test_c_gives_the_same_bits(number: int) -> None:
    np.testing.assert_array_equal(results("c", number)[f"tiled{number}"], results("jit", number)[f"tiled{number}"])


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("number", [0, 7])
def test_the_weight_is_summed_at_compile_time(number: int, transpose: bool) -> None:
    case = CASES[number]
    weight = case.plain_inputs()[1].astype(np.float32)
    weight = np.ascontiguousarray(weight.T) if transpose else weight
    value = create_ssa_value(TensorType(f32, weight.shape))
    op = StrassenWeightOp.get(value, left=case.left, width=case.panel * case.lanes, transpose=transpose or None)
    np.testing.assert_array_equal(op.evaluate([weight])[0], case.inputs()[1].astype(np.float32))


# Whole models


def gemm(path: Path, rows: int, depth: int, columns: int) -> tuple[Array, Array]:
    """Gemm with a transposed weight and a bias, then a residual sum; x and the exact result."""
    rng = np.random.default_rng(rows)
    x, w, c = (rng.standard_normal(s).astype(np.float32) for s in ((rows, depth), (columns, depth), (columns,)))
    nodes = [helper.make_node("Gemm", ["x", "w", "c"], ["g"], transB=1), helper.make_node("Add", ["g", "c"], ["y"])]
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])]
    weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(c, "c")]
    graph = helper.make_graph(nodes, "g", infos, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return x, x.astype(np.float64) @ w.T.astype(np.float64) + 2 * c.astype(np.float64)


@pytest.mark.parametrize("sizes", [(128, 768, 768), (197, 385, 771), (300, 512, 500)])
def test_errors_are_those_of_a_sum_of_products(sizes: tuple[int, int, int], tmp_path: Path) -> None:
    """Greatest error over greatest result, as docs/architecture.md states it."""
    path = tmp_path / "gemm.onnx"
    x, expected = gemm(path, *sizes)
    errors = {}
    for accuracy in ("fast", "strict"):
        (y,) = open_model(str(path), "jit", CompileOptions.of(accuracy=accuracy))({"x": x}).values()
        errors[accuracy] = np.abs(y - expected).max() / np.abs(expected).max()
    assert errors["strict"] < 2e-6 and errors["fast"] < 3e-6
