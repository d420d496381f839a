"""The entry of a model with open shapes as bytecode: what is known of shapes is computed, kernels get the extents.

For `x: float32[n, 3]` and `y: float32[n, 2*n]`, of a model called m:

```mlir
vm.func @shapes(%heap) {            // the open dimensions are on the heap, the rest is computed and stored
  %n = .. ; %0 = vm.call "vm.builtin.mul"(%n, 2) ; .. "vm.builtin.store_shape"(.., %heap, ..)
}
vm.func @main(%x) {
  %heap = vm.call "vm.builtin.alloc_shape_heap"(..)
  vm.call "vm.builtin.match_shape"(%x, %heap, store at 0, equal 3)
  vm.call "shapes"(%heap)
  %y = .. "vm.builtin.alloc_tensor"(%storage, 0, %shape, f32)
  %results = vm.call "m.kernels"(%x, %y, %n)
  vm.return %results
}
```
An output whose shape does not follow from those of the inputs is no operand of `m.kernels`, which knows its shape when
it is compiled for the extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.compiler.dynamic.interface import Interface, is_known, symbol_of
from aotc.dialects.dtypes import ELEMENT_TYPES, numpy_dtype
from aotc.dialects.vm import REGISTER, CallOp, ConstantOp, FuncOp, ImmediateOp, ReturnOp, StateOp
from aotc.emit.bytecode import executable_of
from aotc.model.extents import Extent, OpenTensor, Quotient, Size, product_of
from aotc.model.weight_store import WeightStore
from aotc.pipeline.phases import PassRunner
from aotc.vm import Executable

_EQUAL, _STORE, _SAME = 0, 1, 3
"""Codes of `vm.builtin.match_shape`."""


def program(interface: Interface, model: str) -> Executable:
    """The executable of a model: `main` takes its inputs in order and returns what `kernels` returns."""
    plan = _HeapPlan(interface)
    module = ModuleOp([_shapes(plan), _main(plan, model)])
    ctx = Context()
    PassRunner(ctx).run("lower", "allocate-registers", module, verified=True)
    return executable_of(module, WeightStore.of(ctx))


@dataclass
class _HeapPlan:
    """Where on the shape heap everything is: the open dimensions, then of each output that is known its extents and its
    bytes."""

    interface: Interface
    places: dict[int, range] = field(default_factory=dict[int, range])
    """Of outputs, by number."""
    stored: list[Size] = field(default_factory=list[Size])
    """Values that are computed and stored, in order, behind the open dimensions."""

    def __post_init__(self) -> None:
        for number, tensor in enumerate(self.interface.outputs):
            if is_known(tensor):
                extents = [extent for extent in tensor.shape or () if extent is not None]
                start = self.open + len(self.stored)
                self.stored += [*extents, product_of([*extents, numpy_dtype(tensor.dtype).itemsize])]
                self.places[number] = range(start, start + len(extents) + 1)

    @property
    def open(self) -> int:
        """How many dimensions are open."""
        return len(self.interface.dims)

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.open + len(self.stored)


class _Function:
    """A function of one block while it is built."""

    def __init__(self, arguments: int) -> None:
        self.block = Block(arg_types=[REGISTER] * arguments)
        self._build = Builder(InsertPoint.at_end(self.block))

    def number(self, value: int) -> SSAValue:
        """An integer."""
        return self._build.insert(ImmediateOp(value)).result

    def call(self, name: str, *arguments: SSAValue | int) -> SSAValue:
        """The result of a call; integers stand in the instruction."""
        given = [self.number(each) if isinstance(each, int) else each for each in arguments]
        result = self._build.insert(CallOp(name, given)).result
        assert result is not None
        return result

    def do(self, name: str, *arguments: SSAValue | int) -> None:
        """A call without a result."""
        given = [self.number(each) if isinstance(each, int) else each for each in arguments]
        self._build.insert(CallOp(name, given, None))

    def dtype(self, name: str) -> SSAValue:
        """A data type."""
        return self._build.insert(ConstantOp(ELEMENT_TYPES[name])).result

    def state(self) -> SSAValue:
        """The state of the machine."""
        return self._build.insert(StateOp()).result

    def dims(self, heap: SSAValue, count: int) -> list[SSAValue]:
        """The open dimensions, which are the first on the heap."""
        shape = self.call("vm.builtin.load_shape", heap, *range(count))
        return [self.call("vm.builtin.extent", shape, place) for place in range(count)]

    def ended(self, name: str, result: SSAValue) -> FuncOp:
        """The whole function."""
        self._build.insert(ReturnOp(result))
        return FuncOp(name, Region(self.block))


def _shapes(plan: _HeapPlan) -> FuncOp:
    """The function that computes what is stored on the heap behind the open dimensions."""
    function = _Function(1)
    (heap,) = function.block.args
    names = plan.interface.dims
    arithmetic = _Arithmetic(function, dict(zip(names, function.dims(heap, len(names)), strict=True)))
    if plan.stored:
        shape = function.call("vm.builtin.make_shape", *map(arithmetic.value, plan.stored))
        function.do("vm.builtin.store_shape", shape, heap, *range(plan.open, plan.size))
    return function.ended("shapes", heap)


@dataclass
class _Arithmetic:
    """Expressions as calls of built-in functions, each once."""

    function: _Function
    symbols: dict[str, SSAValue]
    _known: dict[Extent | Quotient, SSAValue] = field(default_factory=dict[Extent | Quotient, SSAValue])

    def value(self, size: Size) -> SSAValue | int:
        """The value of an expression."""
        if isinstance(size, int):
            return size
        if size not in self._known:
            total: SSAValue | int = 0
            for product, coefficient in size.terms:
                term: SSAValue | int = 1
                for atom in product:
                    factor = self.symbols[atom] if isinstance(atom, str) else self._quotient(atom)
                    term = self._both("mul", term, factor, 1)
                total = self._both("add", total, self._both("mul", term, coefficient, 1), 0)
            assert not isinstance(total, int)
            self._known[size] = total
        return self._known[size]

    def _quotient(self, quotient: Quotient) -> SSAValue:
        if quotient not in self._known:
            operands = self.value(quotient.dividend), self.value(quotient.divisor)
            self._known[quotient] = self.function.call("vm.builtin.div", *operands)
        return self._known[quotient]

    def _both(self, name: str, a: SSAValue | int, b: SSAValue | int, neutral: int) -> SSAValue | int:
        if isinstance(a, int) and a == neutral:
            return b
        if isinstance(b, int) and b == neutral:
            return a
        return self.function.call(f"vm.builtin.{name}", a, b)


def _main(plan: _HeapPlan, model: str) -> FuncOp:
    interface = plan.interface
    function = _Function(len(interface.inputs))
    inputs = list(function.block.args)
    heap = function.call("vm.builtin.alloc_shape_heap", plan.size)
    stored: set[str] = set()
    for tensor, value in zip(interface.inputs, inputs, strict=True):
        if tensor.shape is not None:
            function.do("vm.builtin.match_shape", value, heap, *_codes(tensor, interface.dims, stored))
    function.do("shapes", heap)
    dims = function.dims(heap, plan.open)
    outputs: list[SSAValue] = []
    for number, tensor in enumerate(interface.outputs):
        if (places := plan.places.get(number)) is None:
            continue
        shape = function.call("vm.builtin.load_shape", heap, *places[:-1])
        size = function.call("vm.builtin.extent", function.call("vm.builtin.load_shape", heap, places[-1]), 0)
        storage = function.call("vm.builtin.alloc_storage", function.state(), size)
        outputs.append(function.call("vm.builtin.alloc_tensor", storage, 0, shape, function.dtype(tensor.dtype)))
    return function.ended("main", function.call(f"{model}.kernels", *inputs, *outputs, *dims))


def _codes(tensor: OpenTensor, dims: Sequence[str], stored: set[str]) -> list[int]:
    """The action of `match_shape` for each extent of an input; dimensions that are on the heap then are `stored`."""
    codes: list[tuple[int, int]] = []
    for extent in tensor.shape or ():
        if (name := symbol_of(extent)) is None:
            codes.append((_EQUAL, extent if isinstance(extent, int) else 0))
        else:
            codes.append((_SAME if name in stored else _STORE, dims.index(name)))
            stored.add(name)
    return list(chain.from_iterable(codes))
