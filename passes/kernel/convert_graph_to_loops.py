"""Write every kernel's body as loops: the anchor's nest, or a parallel nest over the result; all else is inlined.

A kernel's tensors are expressions, its destinations the roots. With an AnchorOp the anchor's loops call back for every
result element, and the operations after it (the epilogue) are evaluated there; without one, a parallel nest over the
destination's index space evaluates the expression. Operands are read where they are used (the prologue). All memrefs
of the module become signless on the way.

Before:
```mlir
func.func private @add_relu_0(%x: memref<4x8xf32>, %y: memref<8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = bufferization.to_tensor %y : memref<8xf32> to tensor<8xf32>
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = graph.relu %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %3 in %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}
```
After:
```mlir
func.func private @add_relu_0(%x: memref<4x8xf32>, %y: memref<8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel} {
  scf.parallel (%i, %j) = (0, 0) to (4, 8) step (1, 1) {
    %0 = memref.load %x[%i, %j]
    %1 = memref.load %y[%j]
    %2 = arith.addf %0, %1
    %3 = arith.select (arith.cmpf olt, %2, %zero), %zero, %2
    memref.store %3, %out[%i, %j]
  }
  func.return
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from aotc.constants import constant_array
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Scalar, Writer, compute_type, storage_type
from aotc.dialects.graph.structure import ConstantOp
from aotc.weights import WeightStore

IndexKey: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class ConvertGraphToLoopsPass(ModulePass):
    """Lower the graph operations of kernels to scf, arith, math and memref."""

    name = "convert-graph-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for function in [f for f in op.walk() if isinstance(f, FuncOp)]:
            if "aot.kernel" in function.attributes and not function.is_declaration:
                KernelLowering(function, store).run()
        for function in [f for f in op.walk() if isinstance(f, FuncOp)]:
            _make_signless(function)


class KernelLowering:
    """Replaces the body of one kernel."""

    def __init__(self, function: FuncOp, store: WeightStore) -> None:
        self._function = function
        self._store = store
        old = function.body.block
        block = Block(arg_types=[_signless(arg.type) for arg in old.args])
        for arg, before in zip(block.args, old.args, strict=True):
            arg.name_hint = before.name_hint
        self._block = block
        self._b = LoopBuilder(block)
        buffer_of: dict[SSAValue, SSAValue] = dict(zip(old.args, block.args, strict=True))
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._destinations: list[tuple[SSAValue, SSAValue]] = []
        anchors: list[AnchorOp] = []
        for op in old.ops:
            match op:
                case ToTensorOp():
                    self._buffers[op.tensor] = buffer_of[op.memref]
                case MaterializeInDestinationOp():
                    self._destinations.append((op.source, buffer_of[op.dest]))
                case AnchorOp():
                    anchors.append(op)
                case ElementOp() | ConstantOp() | ReturnOp():
                    pass
                case _:
                    raise self._failure(f"{op.name} has no loops: it is neither an ElementOp nor an AnchorOp")
        if len(anchors) > 1:
            raise self._failure("more than one anchor: " + ", ".join(anchor.name for anchor in anchors))
        self._anchor = anchors[0] if anchors else None
        self._bound: dict[SSAValue, tuple[IndexKey, Scalar]] = {}
        self._cache: dict[tuple[SSAValue, Block, IndexKey], Scalar] = {}

    def run(self) -> None:
        """Emit the loops and swap the body."""
        roots: dict[SSAValue | None, list[tuple[SSAValue, SSAValue]]] = {}
        for value, buffer in self._destinations:
            roots.setdefault(self._root(value), []).append((value, buffer))
        self._emit_parallel(roots.pop(None, []))
        if self._anchor is not None:
            writers = [self._writer(result, roots.get(result, [])) for result in self._anchor.results]
            self._anchor.loops(self._b, [self._reader(operand) for operand in self._anchor.operands], writers)
        self._b.effect(ReturnOp())
        function = self._function
        function.body.detach_block(function.body.block).erase(safe_erase=False)
        function.body.add_block(self._block)
        function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in self._block.args], [])

    def _failure(self, why: str) -> PassFailedException:
        return PassFailedException(f"kernel @{self._function.sym_name.data}: {why}")

    def _root(self, value: SSAValue) -> SSAValue | None:
        """The anchor result that `value` depends on, if any."""
        found: set[SSAValue] = set()
        seen: set[SSAValue] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in seen or current in self._buffers or not isinstance(current, OpResult):
                continue
            seen.add(current)
            if current.op is self._anchor:
                found.add(current)
            else:
                pending.extend(current.op.operands)
        if len(found) > 1:
            raise self._failure("a result depends on two results of the anchor")
        return found.pop() if found else None

    def _emit_parallel(self, destinations: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """Destinations that depend on no anchor: one nest for each shape."""
        by_shape: dict[tuple[int, ...], list[tuple[SSAValue, SSAValue]]] = {}
        for value, buffer in destinations:
            by_shape.setdefault(shape_of(value), []).append((value, buffer))
        for shape, group in by_shape.items():
            self._b.for_each(shape, lambda index, group=group: self._store_all(group, index))

    def _store_all(self, destinations: Sequence[tuple[SSAValue, SSAValue]], index: Sequence[Scalar]) -> None:
        values = [self._reader(value)(index) for value, _ in destinations]
        for value, (_, buffer) in zip(values, destinations, strict=True):
            self._b.store(value, buffer, index)

    def _writer(self, result: SSAValue, destinations: list[tuple[SSAValue, SSAValue]]) -> Writer:
        for value, _ in destinations:
            if shape_of(value) != shape_of(result):
                raise self._failure(f"the epilogue's shape {shape_of(value)} is not the anchor's {shape_of(result)}")

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            self._bound[result] = (_key(index), value)
            self._store_all(destinations, index)
            del self._bound[result]

        return write

    def _reader(self, value: SSAValue) -> Reader:
        def read(index: Sequence[Scalar]) -> Scalar:
            assert len(index) == len(shape_of(value)), "an index has one entry per dimension"
            key = (value, self._b.block, _key(index))
            if (cached := self._cache.get(key)) is None:
                cached = self._value(value, index)
                self._cache[key] = cached
            return cached

        return read

    def _value(self, value: SSAValue, index: Sequence[Scalar]) -> Scalar:
        if (buffer := self._buffers.get(value)) is not None:
            return self._b.load(buffer, index, element_type_of(value))
        op = cast(OpResult, value).op
        if op is self._anchor:
            return self._anchor_value(value, index)
        if isinstance(op, ConstantOp):
            return self._constant(op)
        assert isinstance(op, ElementOp)
        result = op.element(self._b, index, [self._reader(operand) for operand in op.operands])
        assert result.dtype == compute_type(element_type_of(value)), f"{op.name} gave {result.dtype}"
        return result

    def _anchor_value(self, value: SSAValue, index: Sequence[Scalar]) -> Scalar:
        bound = self._bound.get(value)
        if bound is None:
            raise self._failure("the anchor's result is read outside the epilogue of that result")
        key, scalar = bound
        shape = shape_of(value)
        for mine, theirs, extent in zip(_key(index), key, shape, strict=True):
            if extent != 1 and mine != theirs:
                raise self._failure("an epilogue operation reads the anchor's result at another index")
        return scalar

    def _constant(self, op: ConstantOp) -> Scalar:
        array = constant_array(op, self._store)
        first = array.reshape(-1)[:1]
        if array.size == 0 or ((array != first).any() and not (array != array).all()):
            raise self._failure("a constant of several values must be an argument of the kernel")
        return self._b.const(first[0].item(), element_type_of(op.result))


def _key(index: Sequence[Scalar]) -> IndexKey:
    return tuple(i.value if i.value is not None else i.constant for i in index)


def _signless(kind: Attribute) -> Attribute:
    if not isinstance(kind, MemRefType):
        return kind
    return MemRefType(storage_type(kind.get_element_type()), kind.shape, kind.layout, kind.memory_space)


def _make_signless(function: FuncOp) -> None:
    """Give every memref in `function` the storage type of its elements."""

    def retype(value: SSAValue) -> None:
        value._type = _signless(value.type)  # pyright: ignore[reportPrivateUsage]

    def visit(op: Operation) -> None:
        for result in op.results:
            retype(result)
        for region in op.regions:
            visit_region(region)

    def visit_region(region: Region) -> None:
        for block in region.blocks:
            for arg in block.args:
                retype(arg)
            for inner in block.ops:
                visit(inner)

    visit_region(function.body)
    kind = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_signless(t) for t in kind.inputs], [_signless(t) for t in kind.outputs]
    )
