"""Products of floats with matrices of few bits, of random sizes, blocks and zero points: against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from harness import by_c_and_llvm
from quantized import CASES, MICROSOFT, Array, Graph, pick

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.packed.products.packed_matmul import FewBitsMatMulOp
from aotc.machines.targets import lookup
from aotc.pipeline.options import CompileOptions

TOGETHER = 10
"""Cases of one model."""
SEEDS = range(max(CASES // (2 * TOGETHER), 2))
CLOSE = 1e-5
"""The greatest difference, relative to the greatest result."""
TARGETS = ["host", "x86-64-v3", "x86-64"] if "+avx2" in lookup("host").features.split(",") else ["host"]


def rows_of(g: Graph, depth: int) -> str:
    """A left operand: a few rows or many, in batches now and then."""
    batch = [int(g.r.integers(1, 4))] * pick(g, 0, 0, 1)
    name = g.name()
    g.inputs[name] = g.r.standard_normal((*batch, int(pick(g, 1, 1, 2, 3, 4, 5, 17)), depth)).astype(np.float32)
    return name


def n_bits(g: Graph) -> None:
    """MatMulNBits, with every kind of zero points."""
    bits, block = pick(g, 2, 4, 4, 8), pick(g, 16, 32, 64, 128)
    columns, depth = int(g.r.integers(1, 80)), int(g.r.integers(1, 200))
    blocks = -(-depth // block)
    stored = g.constant(g.r.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8))
    operands = [rows_of(g, depth), stored, g.constant(g.r.uniform(0.01, 0.1, columns * blocks).astype(np.float32))]
    points = int(g.r.integers(3))
    if points == 1:
        operands.append(g.constant(g.r.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8)))
    elif points == 2 and bits == 4:  # onnxruntime has none of others
        operands.append(g.constant(g.r.uniform(0, 15, columns * blocks).astype(np.float32)))
    else:
        operands.append("")
    if g.r.integers(2):
        operands += ["", g.constant(g.r.standard_normal(columns).astype(np.float32))]
    given = {"N": columns, "K": depth, "bits": bits, "block_size": block, "accuracy_level": 1}
    g.outputs.append(g.node("MatMulNBits", *operands, domain=MICROSOFT, **given))


def dequantized(g: Graph) -> None:
    """DequantizeLinear of int4 and uint4 before MatMul and Gemm: one scale, one a column, or blocks."""
    dtype = pick(g, ml_dtypes.int4, ml_dtypes.uint4)
    low = -8 if dtype is ml_dtypes.int4 else 0
    columns, depth, transposed = int(g.r.integers(1, 80)), int(g.r.integers(1, 200)), int(g.r.integers(2))
    shape = (columns, depth) if transposed else (depth, columns)
    along, how = 1 if transposed else 0, pick(g, "tensor", "column", "block", "block")
    block = pick(g, 16, 32, 64)
    scales: tuple[int, ...] = {"tensor": (), "column": (columns,)}.get(how, ())
    if how == "block":
        scales = tuple(-(-extent // block) if axis == along else extent for axis, extent in enumerate(shape))
    operands = [
        g.constant(g.r.integers(low, low + 16, shape).astype(dtype)),
        g.constant(g.r.uniform(0.01, 0.1, scales).astype(np.float32)),
    ]
    if g.r.integers(2):
        operands.append(g.constant(g.r.integers(low, low + 16, scales).astype(dtype)))
    given = {"axis": along, "block_size": block} if how == "block" else {"axis": 1 - along}
    weight = g.node("DequantizeLinear", *operands, **given)
    if transposed:
        x = rows_of(g, depth)
        g.inputs[x] = g.inputs[x].reshape(-1, depth)
        g.outputs.append(g.node("Gemm", x, weight, transB=1))
    else:
        g.outputs.append(g.node("MatMul", rows_of(g, depth), weight))


def made(make: Callable[[Graph], None], seed: int) -> tuple[Graph, list[Array]]:
    """Some cases in one graph, and what onnxruntime makes of them, node by node."""
    g = Graph(np.random.default_rng(seed), opset=21)
    for _ in range(TOGETHER):
        make(g)
    return g, reference(g)


def reference(g: Graph) -> list[Array]:
    """The results of onnxruntime for a graph, node by node."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(g.model().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(g.outputs, g.inputs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [n_bits, dequantized], ids=lambda make: make.__name__)
def test_products_are_those_of_onnxruntime(make: Callable[[Graph], None], seed: int) -> None:
    g, wanted = made(make, seed)
    turn = ({"optimize": 0}, *({"target": target} for target in TARGETS), {"target": TARGETS[0], "threads": 2})
    computed = aotc.compile(g.model(), **turn[seed % len(turn)])(g.inputs)
    for number, (name, value) in enumerate(zip(g.outputs, wanted, strict=True)):
        assert computed[name].shape == value.shape
        error = np.abs(computed[name].astype(np.float64) - value).max()
        assert error <= CLOSE * np.abs(value).max(), f"case {number} of seed {seed}"


@pytest.mark.parametrize("make", [n_bits, dequantized], ids=lambda make: make.__name__)
def test_c_and_llvm_give_the_same_bits(make: Callable[[Graph], None], tmp_path: Path) -> None:
    g, _ = made(make, 0)
    by_c, by_llvm = (compiled(g.inputs) for compiled in by_c_and_llvm(g.model(), tmp_path))
    for name in g.outputs:
        assert by_c[name].tobytes() == by_llvm[name].tobytes(), name


def test_sums_of_parts_of_a_panel() -> None:
    """Where a panel of all steps would not stay in L2: partial sums, also of batches and on threads."""
    g = Graph(np.random.default_rng(0), opset=21)
    for bits, block, batch, rows, columns, depth in (
        (4, 32, (), 40, 40, 700),
        (4, 256, (3,), 20, 33, 700),
        (8, 16, (), 30, 50, 333),
        (2, 64, (2,), 21, 20, 1000),
    ):
        name, blocks = g.name(), -(-depth // block)
        g.inputs[name] = g.r.standard_normal((*batch, rows, depth)).astype(np.float32)
        given = [
            g.constant(g.r.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)),
            g.constant(g.r.uniform(0.01, 0.1, columns * blocks).astype(np.float32)),
            g.constant(g.r.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8)),
        ]
        attributes = {"N": columns, "K": depth, "bits": bits, "block_size": block, "accuracy_level": 1}
        g.outputs.append(g.node("MatMulNBits", name, *given, domain=MICROSOFT, **attributes))
    name, weight = g.name(), g.r.integers(-8, 8, (700, 40)).astype(ml_dtypes.int4)
    g.inputs[name] = g.r.standard_normal((30, 700)).astype(np.float32)
    scales = g.constant(g.r.uniform(0.01, 0.1, 40).astype(np.float32))
    g.outputs.append(g.node("MatMul", name, g.node("DequantizeLinear", g.constant(weight), scales, axis=1)))
    target = f"{TARGETS[1 % len(TARGETS)]}@l2=16K,l3=64K"  # x86-64-v3, whose row every machine has
    module = lower(g.model(), CompileOptions(target=target, stop_after="schedule")).module
    found = [op for op in module.walk() if isinstance(op, FewBitsMatMulOp)]
    assert len(found) == len(g.outputs)
    parted = [op.kc is not None and op.kc < op.sizes()[-1] for op in found]
    assert sum(parted) >= len(parted) - 1  # a block of 256 steps is not parted, and may fit
    wanted = reference(g)
    for threads in (1, 2):
        computed = aotc.compile(g.model(), target=target, threads=threads)(g.inputs)
        for name, value in zip(g.outputs, wanted, strict=True):
            assert np.abs(computed[name].astype(np.float64) - value).max() <= CLOSE * np.abs(value).max(), name


def test_rows_in_half_precision(tmp_path: Path) -> None:
    """Scales of f16 are widened where they are read; onnxruntime computes the reference in f32."""
    g, wanted = made(n_bits, 1)
    narrow = Graph(g.r, opset=21, nodes=g.nodes, outputs=g.outputs)
    halves = {
        name: array.astype(np.float16) if array.dtype == np.float32 else array
        for name, array in (g.initializers | g.inputs).items()
    }
    narrow.initializers = {name: halves[name] for name in g.initializers}
    narrow.inputs = {name: halves[name] for name in g.inputs}
    computed = aotc.compile(narrow.model())(narrow.inputs)
    for name, value in zip(g.outputs, wanted, strict=True):
        assert computed[name].dtype == np.float16
        assert np.abs(computed[name].astype(np.float64) - value).max() <= 4e-3 * np.abs(value).max(), name


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rows_of_a_weight_in_any_order(bits: int) -> None:
    """g_idx has the block of each; as MatMulNBits is defined: onnxruntime is right in blocks that are whole only."""
    g, columns, depth, block = Graph(np.random.default_rng(bits), opset=21), 20, 75, 32
    fields, scales = g.r.integers(0, 2**bits, (columns, 96)), g.r.uniform(0.01, 0.1, (columns, 3)).astype(np.float32)
    points, groups = g.r.integers(0, 2**bits, (columns, 8)), (g.r.permutation(depth) // block).astype(np.int32)
    shifts = np.arange(8 // bits) * bits
    packed, point_bytes = (
        (each.reshape(columns, -1, 8 // bits) << shifts).sum(axis=-1).astype(np.uint8)
        for each in (fields, points[:, : -(-3 // (8 // bits)) * (8 // bits)])
    )
    given = [packed.reshape(columns, 3, -1), scales.reshape(-1), point_bytes.reshape(-1), groups]
    x = rows_of(g, depth)
    attributes = {"N": columns, "K": depth, "bits": bits, "block_size": block}
    y = g.node("MatMulNBits", x, *map(g.constant, given), domain=MICROSOFT, **attributes)
    g.outputs.append(y)
    weight = (fields[:, :depth] - points[:, groups]) * scales[:, groups].astype(np.float64)
    wanted = g.inputs[x] @ weight.T
    for level in (0, 3):
        computed = aotc.compile(g.model(), optimize=level)(g.inputs)[y]
        assert np.abs(computed - wanted).max() <= CLOSE * np.abs(wanted).max()
