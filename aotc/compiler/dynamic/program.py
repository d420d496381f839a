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
from typing import Any

from aotc.compiler.dynamic.interface import Interface, is_known, symbol_of
from aotc.model.dlpack import dtype_of
from aotc.model.extents import Extent, OpenTensor, Quotient, Size, product_of
from aotc.vm import ExecBuilder, Executable
from aotc.vm.instructions import Operand

_EQUAL, _STORE, _SAME = 0, 1, 3
"""Codes of `vm.builtin.match_shape`."""


def program(interface: Interface, model: str) -> Executable:
    """The executable of a model: `main` takes its inputs in order and returns what `kernels` returns."""
    plan, builder = _HeapPlan(interface), ExecBuilder()
    with builder.function("shapes", num_inputs=1):
        _shapes(_Function(builder, 1), plan)
    with builder.function("main", num_inputs=len(interface.inputs)):
        _main(_Function(builder, len(interface.inputs)), plan, model)
    return builder.get()


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
                self.stored += [*extents, product_of([*extents, dtype_of(tensor.dtype).itemsize])]
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
    """A function while it is built: each result is in a register of its own."""

    def __init__(self, builder: ExecBuilder, inputs: int) -> None:
        self._builder = builder
        self.inputs = [builder.r(number) for number in range(inputs)]
        self._registers = inputs

    def call(self, name: str, *arguments: Any) -> Operand:
        """The result of a call; integers stand in the instruction."""
        result = self._builder.r(self._registers)
        self._registers += 1
        self.do(name, *arguments, to=result)
        return result

    def do(self, name: str, *arguments: Any, to: Operand | None = None) -> None:
        """A call without a result, or with one that goes to a register."""
        given = [self._builder.imm(each) if isinstance(each, int) else each for each in arguments]
        self._builder.emit_call(name, given, dst=to)

    def state(self) -> Operand:
        """The state of the machine."""
        return self._builder.vm_state()

    def dims(self, heap: Operand, count: int) -> list[Operand]:
        """The open dimensions, which are the first on the heap."""
        shape = self.call("vm.builtin.load_shape", heap, *range(count))
        return [self.call("vm.builtin.extent", shape, place) for place in range(count)]

    def ends(self, result: Operand) -> None:
        """Return a result."""
        self._builder.emit_ret(result)


def _shapes(function: _Function, plan: _HeapPlan) -> None:
    """The function that computes what is stored on the heap behind the open dimensions."""
    (heap,) = function.inputs
    names = plan.interface.dims
    arithmetic = _Arithmetic(function, dict(zip(names, function.dims(heap, len(names)), strict=True)))
    if plan.stored:
        shape = function.call("vm.builtin.make_shape", *map(arithmetic.value, plan.stored))
        function.do("vm.builtin.store_shape", shape, heap, *range(plan.open, plan.size))
    function.ends(heap)


@dataclass
class _Arithmetic:
    """Expressions as calls of built-in functions, each once."""

    function: _Function
    symbols: dict[str, Operand]
    _known: dict[Extent | Quotient, Operand] = field(default_factory=dict[Extent | Quotient, Operand])

    def value(self, size: Size) -> Operand | int:
        """The value of an expression."""
        if isinstance(size, int):
            return size
        if size not in self._known:
            total: Operand | int = 0
            for product, coefficient in size.terms:
                term: Operand | int = 1
                for atom in product:
                    factor = self.symbols[atom] if isinstance(atom, str) else self._quotient(atom)
                    term = self._both("mul", term, factor, 1)
                total = self._both("add", total, self._both("mul", term, coefficient, 1), 0)
            assert not isinstance(total, int)
            self._known[size] = total
        return self._known[size]

    def _quotient(self, quotient: Quotient) -> Operand:
        if quotient not in self._known:
            operands = self.value(quotient.dividend), self.value(quotient.divisor)
            self._known[quotient] = self.function.call("vm.builtin.div", *operands)
        return self._known[quotient]

    def _both(self, name: str, a: Operand | int, b: Operand | int, neutral: int) -> Operand | int:
        if isinstance(a, int) and a == neutral:
            return b
        if isinstance(b, int) and b == neutral:
            return a
        return self.function.call(f"vm.builtin.{name}", a, b)


def _main(function: _Function, plan: _HeapPlan, model: str) -> None:
    interface, inputs = plan.interface, function.inputs
    heap = function.call("vm.builtin.alloc_shape_heap", plan.size)
    stored: set[str] = set()
    for tensor, value in zip(interface.inputs, inputs, strict=True):
        if tensor.shape is not None:
            function.do("vm.builtin.match_shape", value, heap, *_codes(tensor, interface.dims, stored))
    function.do("shapes", heap)
    dims = function.dims(heap, plan.open)
    outputs: list[Operand] = []
    for number, tensor in enumerate(interface.outputs):
        if (places := plan.places.get(number)) is None:
            continue
        shape = function.call("vm.builtin.load_shape", heap, *places[:-1])
        size = function.call("vm.builtin.extent", function.call("vm.builtin.load_shape", heap, places[-1]), 0)
        storage = function.call("vm.builtin.alloc_storage", function.state(), size)
        outputs.append(function.call("vm.builtin.alloc_tensor", storage, 0, shape, dtype_of(tensor.dtype)))
    function.ends(function.call(f"{model}.kernels", *inputs, *outputs, *dims))


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
