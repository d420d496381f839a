"""Small graphs under `raise-quantization`: which operations there are then, and the same numbers as before.

Scales are powers of two, so that floats are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f16, f32, i8, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from aotc.dialects.aot.contract import ENTRY
from aotc.dialects.arrays import Array
from aotc.dialects.constants import constant_op
from aotc.dialects.dtypes import integer_range, numpy_dtype
from aotc.dialects.graph.conversion import CastOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.convolution import ConvOp, ConvTransposeOp
from aotc.dialects.graph.elementwise import SubOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.raise_quantization import RaiseQuantizationPass

Given: TypeAlias = Any
"""An operand: a value, a number or an array (a constant, f32 unless it has another type)."""
W = np.array([[1, -2], [3, 4]], np.int8)
K = np.array([[[1, -2, 3]], [[4, 5, -6]]], np.int8)


class Graph:
    """Operations of one block."""

    def __init__(self) -> None:
        self.ctx = Context()
        self.store = WeightStore.of(self.ctx)
        self.block = Block()

    def x(self, *shape: int, kind: Attribute = i8) -> SSAValue:
        return self.block.insert_arg(TensorType(kind, shape), len(self.block.args))

    def of(self, given: Given) -> SSAValue | None:
        if given is None or isinstance(given, SSAValue):
            return given
        array = np.asarray(given, None if isinstance(given, np.ndarray | np.generic) else np.float32)
        return self.add(constant_op(array, "c", self.store))

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def op(self, kind: type[GraphOp], /, *operands: Given, **properties: Any) -> SSAValue:
        values = [self.of(each) for each in operands]
        return self.add(kind.get(*values, **properties))

    def joined(self, *parts: Given, axis: int = 0) -> SSAValue:
        values = [value for part in parts if (value := self.of(part)) is not None]
        return self.add(ConcatOp.get(values, axis=axis))

    def real(self, x: Given, scale: Given = 0.5, point: Given = None, axis: int = 0, **given: Any) -> SSAValue:
        """Numbers of integers."""
        return self.op(DequantizeOp, x, scale, point, **{"axis": axis, "block_size": 0, "to": f32} | given)

    def quantized(self, x: Given, scale: Given = 0.5, point: Given = None, to: Attribute = i8, **more: Any) -> SSAValue:
        return self.op(QuantizeOp, x, scale, point, axis=0, block_size=0, to=to, **more)

    def wide(self, x: Given, point: Given = None) -> SSAValue:
        """Integers in i32, less a zero point."""
        value = self.op(CastOp, x, to=i32)
        return value if point is None else self.op(SubOp, value, point)

    def conv(self, x: Given, weight: Given, bias: Given = None, **given: Any) -> SSAValue:
        spatial = len(shape_of(x)) - 2
        window = {"strides": [1] * spatial, "pads": [0] * 2 * spatial, "dilations": [1] * spatial, "group": 1}
        return self.op(ConvOp, x, weight, bias, **window | given)

    def transposed(self, x: Given, weight: Given, bias: Given = None, group: int = 1) -> SSAValue:
        window = {"strides": [2], "pads": [0, 0], "dilations": [1], "output_padding": [0], "group": group}
        return self.op(ConvTransposeOp, x, weight, bias, **window)

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """The results, for some inputs."""
        return _evaluated(self.block, inputs, self.store)[0]

    def product(self, after: Callable[[SSAValue], SSAValue], scale: float = 0.25) -> SSAValue:
        """A quantised product, with something after it."""
        return self.quantized(after(self.op(MatMulOp, self.real(self.x(3, 2)), self.real(W, scale))))

    def integers(self, after: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """A product of integers in i32, with something after it."""
        return self.quantized(after(self.op(MatMulOp, self.wide(self.x(3, 2)), W.astype(np.int32))))


def _evaluated(block: Block, inputs: Sequence[Array], store: WeightStore) -> tuple[list[Array], list[str]]:
    """The results, one operation after the other as each is defined, and the names of those that they are made of."""
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = op.inline_array() if op.key is None else store[op.key]
        elif isinstance(op, GraphOp):
            found = op.evaluate([values[value] for value in op.operands])
            assert found is not None
            values[op.results[0]] = found[0]
    end = block.last_op
    assert end is not None
    alive, names = set(end.operands), list[str]()
    for op in reversed(list(block.ops)):
        if isinstance(op, GraphOp) and not isinstance(op, ConstantOp) and op.results[0] in alive:
            alive |= set(op.operands)
            names.append(op.name.removeprefix("graph."))
            for name in ("x_zero_point", "lhs_zero_point", "rhs_zero_point"):
                assert op.name == "graph.fixed_average_pool" or getattr(op, name, None) != 0  # it is left out
    return [values[value] for value in end.operands], names[::-1]


def _inputs(block: Block) -> list[list[Array]]:
    rng, found = np.random.default_rng(0), list[list[Array]]()
    for how in (-1, 0, 1):
        arrays: list[Array] = []
        for argument in block.args:
            kind, shape = element_type_of(argument), shape_of(argument)
            if kind in (f32, f16):
                arrays.append(rng.integers(-8, 9, shape).astype(numpy_dtype(kind)) / 4)
                continue
            low, high = (-3000, 3000) if kind == i32 else (0, 0) if kind == i64 else integer_range(kind)
            array = rng.integers(low, high + 1, shape) if how == 0 else np.full(shape, low if how < 0 else high)
            arrays.append(array.astype(numpy_dtype(kind)))
        found.append(arrays)
    return found


def raised(build: Callable[[Graph], SSAValue], **options: Any) -> tuple[str, Graph]:
    """The names of the operations of a graph after the pass, whose results are what they were; and the graph."""
    graph = Graph()
    result = build(graph)
    graph.block.add_op(ReturnOp(result))
    cases = _inputs(graph.block)
    before = [_evaluated(graph.block, case, graph.store)[0] for case in cases]
    types = [argument.type for argument in graph.block.args], [result.type]
    function = FuncOp("main", types, Region(graph.block))
    ENTRY.set(function)
    module = ModuleOp([function])
    RaiseQuantizationPass(**options).apply(graph.ctx, module)
    module.verify()
    after = [_evaluated(graph.block, case, graph.store) for case in cases]
    for wanted, (found, _) in zip(before, after, strict=True):
        for one, other in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
    return " ".join(after[0][1]), graph


Case: TypeAlias = tuple[Callable[[Graph], SSAValue], str]
