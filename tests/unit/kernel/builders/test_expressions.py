"""Elements of a kernel's tensors as expressions over its operands, and what breaks the rules of outlining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from kernel_program import lowered
from kernels.written import effects, written
from xdsl.dialects import test
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.builder import INDEX, Reader, Scalar
from aotc.dialects.dtypes import storage_type
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, element_type_of, shape_of
from aotc.passes.kernel.builders.expressions import Expressions, epilogue_shape
from aotc.passes.kernel.builders.loop_builder import LoopBuilder


class Kernel:
    """Graph operations over tensors %0, %1, .., whose elements are read from memory: `m0[i, j]`."""

    def __init__(self, arguments: str, body: str, starts: Sequence[int] | None = None) -> None:
        given = ", ".join(f"%{n}: tensor<{kind}>" for n, kind in enumerate(arguments.split(", ")))
        self.module: ModuleOp = lowered(f"func.func @f({given}) {{ {body}\n func.return }}", "")
        (function,) = (op for op in self.module.ops if isinstance(op, FuncOp))
        self.ops = [op for op in function.body.block.ops if isinstance(op, GraphOp)]
        inputs = function.body.block.args
        self.result = self.ops[-1].results[0]
        block = Block(arg_types=[*map(_memory, inputs), _memory(self.result), *[INDEX] * 3])
        names = [*(f"m{n}" for n in range(len(inputs))), "out", "i", "j", "k"]
        for arg, name in zip(block.args, names, strict=True):
            arg.name_hint = name
        self.b = LoopBuilder(block)
        self.i, self.j, self.k = (self.b.scalar(arg, INDEX) for arg in block.args[-3:])
        self.out = block.args[len(inputs)]
        readers = dict(zip(inputs, map(self._reader, inputs, block.args), strict=False))
        placed: Mapping[SSAValue, Sequence[int]] | None = None if starts is None else {self.out: starts}
        self.values = Expressions("k", self.b, readers, lambda op: op.inline_array(), placed)

    def _reader(self, tensor: SSAValue, memory: SSAValue) -> Reader:
        return lambda index: self.b.load_element(memory, index, element_type_of(tensor))

    def element(self, *index: Scalar, encoded: bool = False) -> str:
        return written(self.values.reader(self.result, encoded)(index))

    def stored(self, *index: Scalar) -> list[str]:
        self.values.store([(self.result, self.out)], index)
        return effects(self.b.block)


def _memory(tensor: SSAValue) -> MemRefType[Attribute]:
    kind = tensor.type
    assert isinstance(kind, TensorType)
    return MemRefType(storage_type(kind.element_type), kind.get_shape())


SUM = "%s = graph.add %0, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>"
TURNED = "%t = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>"
PRODUCT = "%p = graph.matmul %0, %1 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>"


def test_elements_of_operations() -> None:
    kernel = Kernel("4x5xf32, 4x5xf32", SUM)
    assert kernel.element(kernel.i, kernel.j) == "addf(load(m0, i, j), load(m1, i, j))"
    kernel = Kernel("4x5xf32", TURNED)
    assert kernel.element(kernel.i, kernel.j) == "load(m0, j, i)"


def test_what_is_needed_again_at_an_index_is_written_once() -> None:
    kernel = Kernel("4x5xf32, 4x5xf32", SUM)
    read = kernel.values.reader(kernel.result)
    first = read([kernel.i, kernel.j])
    assert read([kernel.i, kernel.j]) is first
    assert read([kernel.j, kernel.i]) is not first
    inner = Block()
    kernel.b.within(inner, lambda: kernel.b.effect(test.TestOp([read([kernel.i, kernel.j]).ssa])))
    assert effects(inner) == ["op(addf(load(m0, i, j), load(m1, i, j)))"]
    assert inner.first_op is not first.ssa.owner


def test_elements_are_decoded_where_they_are_computed_with() -> None:
    kernel = Kernel("4x5xi4", "%r = graph.reshape %0 {shape = array<i64: 20>} : (tensor<4x5xi4>) -> tensor<20xi4>")
    low = "shrsi(shli(load(m0, divui(i, 5), remui(i, 5)), 4), 4)"
    assert kernel.element(kernel.i) == kernel.element(kernel.i, encoded=True) == low
    kinds = [kernel.values.reader(kernel.result, encoded)([kernel.i]).dtype for encoded in (False, True)]
    assert kinds[0] != kinds[1] == element_type_of(kernel.result)


def test_results_are_stored_from_where_their_buffer_begins() -> None:
    text = "addf(load(m0, i, j), load(m1, i, j))"
    kernel = Kernel("4x5xf32, 4x5xf32", SUM)
    assert kernel.stored(kernel.i, kernel.j) == [f"store({text}, out, i, j)"]
    kernel = Kernel("4x5xf32, 4x5xf32", SUM, [0, 3])
    assert kernel.stored(kernel.i, kernel.j) == [f"store({text}, out, i, addi(j, 3))"]


def test_constants_of_one_value() -> None:
    def added(values: str) -> Kernel:
        constant = f"%c = graph.constant dense<{values}> : tensor<2xf32>"
        return Kernel("2xf32", f"{constant}\n %s = graph.add %0, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>")

    for values, text in (("1.5", "1.5"), ("[1.5, 1.5]", "1.5"), ('"0x0000C07F0000C07F"', "nan")):
        kernel = added(values)
        assert kernel.element(kernel.i) == f"addf(load(m0, i), {text})"
    for values in ("[1.5, 2.5]", '"0x0000C03F0000C07F"'):
        kernel = added(values)
        with pytest.raises(PassFailedException, match="several values"):
            kernel.element(kernel.i)


def test_constants_of_no_value_are_arguments() -> None:
    kernel = Kernel("2xf32", "%c = graph.constant dense<[]> : tensor<0xf32>")
    with pytest.raises(PassFailedException, match="several values"):
        kernel.element(kernel.i)


def test_anchors_are_what_they_are_bound_to() -> None:
    scaled = "%s = graph.add %p, %p : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>"
    kernel = Kernel("4x6xf32, 6x5xf32", f"{PRODUCT}\n{scaled}")
    anchor = next(op for op in kernel.ops if isinstance(op, AnchorOp)).results[0]
    index, value = [kernel.i, kernel.j], kernel.b.load(kernel.out, [kernel.k] * 2, element_type_of(anchor))
    with pytest.raises(PassFailedException, match="outside the epilogue"):
        kernel.element(*index)
    with kernel.values.bound(anchor, index, value):
        assert kernel.element(*index) == "addf(load(out, k, k), load(out, k, k))"
        with pytest.raises(PassFailedException, match="at another index"):
            kernel.element(kernel.j, kernel.i)
    with pytest.raises(PassFailedException, match="outside the epilogue"):
        kernel.values.reader(anchor)([kernel.i, kernel.k])


def test_axes_of_one_element_are_read_anywhere() -> None:
    product = "%p = graph.matmul %0, %1 : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>"
    kernel = Kernel("1x6xf32, 6x5xf32", product)
    with kernel.values.bound(kernel.result, [kernel.i, kernel.j], kernel.b.const(1, element_type_of(kernel.result))):
        assert kernel.element(kernel.b.index(0), kernel.j) == "1.0"


def test_permuted_results_are_stored_where_they_belong() -> None:
    turned = "%t = graph.transpose %p {permutation = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>"
    kernel = Kernel("4x6xf32, 6x5xf32", f"{PRODUCT}\n{turned}", [2, 0])
    anchor = kernel.ops[0].results[0]
    assert epilogue_shape(kernel.result) == (4, 5)
    assert epilogue_shape(anchor) == (4, 5)
    with kernel.values.bound(anchor, [kernel.i, kernel.j], kernel.b.const(1, element_type_of(anchor))):
        kernel.values.store_epilogue([(kernel.result, kernel.out)], [kernel.i, kernel.j])
    assert effects(kernel.b.block) == ["store(1.0, out, addi(j, 2), i)"]
    assert shape_of(kernel.result) == (5, 4)
