"""Write every kernel's body as loops: the anchor's nest, or a parallel nest over the result; all else is inlined.

A kernel's tensors are expressions, its destinations the roots. With an anchor, its nest calls a writer for every result
element, where the operations after it (the epilogue) are evaluated; without one, a parallel nest over the
destination's index space evaluates the expression. Operands are read where they are used (the prologue). With a
schedule, on the anchor or as the function's `aot.schedule`, all of this is vectorised; where that is not possible,
`aot.scalar_fallback` says why. `aot.notes` are what operations say of numbers in their code. All memrefs of the module
become signless on the way.

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Attribute, Block, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.aot.contract import NOTES, SCALAR_FALLBACK, SCHEDULE, TARGET, kernels
from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.constants import constant_array
from aotc.dialects.dtypes import storage_type
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, element_type_of, shape_of
from aotc.dialects.graph.schedules import ElementwiseSchedule, SumsSchedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.targets import core_of
from aotc.model.progress import Progress
from aotc.model.weight_store import WeightStore
from aotc.passes.kernel.builders.expressions import Destination, Expressions, epilogue_shape, failure
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.space_builder import SpaceBuilder
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.builders.word_builder import QuadBuilder, WordBuilder
from aotc.passes.kernel.nest import LoopNest, Nest
from aotc.passes.kernel.nests.elementwise_nest import write_on_tiles
from aotc.passes.kernel.strategy import strategy_of

_MOST_ZEROS = 1 << 16
"""Elements of the rows that are written together where few are other than 0."""


@dataclass(frozen=True)
class ConvertGraphToLoopsPass(ModulePass):
    name = "convert-graph-to-loops"
    check_indices: bool = False
    """Whether kernels end with a status where an index known only at run time is out of range."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        functions = [kernel for kernel in kernels(op) if not kernel.is_declaration]
        target = TARGET.get(op)
        fuses = target is not None and core_of(target).fma
        for function in Progress.of(ctx).kernels(functions):
            notes = [note for each in function.walk() if isinstance(each, GraphOp) and (note := each.note())]
            NOTES.set(function, list(dict.fromkeys(notes)) or None)
            _lower(function, store, self.check_indices, fuses)
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            _make_signless(function)


def _lower(function: FuncOp, store: WeightStore, check: bool, fuses: bool) -> None:
    """Lower one kernel: vectorised where it has a schedule and is vectorizable, else to scalar loops."""
    anchored = any(schedule_of(op) is not None for op in function.body.block.ops)
    if anchored or schedule_of(function, SCHEDULE) is not None:
        why = ""
        for builder in _builders(function) if anchored else (SpaceBuilder,):
            try:
                KernelLowering(function, store, builder, check, fuses).run()
                return
            except NotVectorizable as error:
                why = str(error)
        SCALAR_FALLBACK.set(function, why)
    KernelLowering(function, store, LoopBuilder, check, fuses).run()


def _builders(function: FuncOp) -> Sequence[type[LoopBuilder]]:
    """The builders that may write the nest of a kernel's anchor, the fastest first: where quads do not do, scalars
    may."""
    schedules = map(schedule_of, function.body.block.ops)
    quads = any(isinstance(each, SumsSchedule) for each in schedules)
    return (QuadBuilder, WordBuilder) if quads else (WordBuilder,)


class KernelLowering:
    """Replaces the body of one kernel."""

    def __init__(
        self, function: FuncOp, store: WeightStore, builder: type[LoopBuilder], check: bool, fuses: bool
    ) -> None:
        self._function = function
        self._store = store
        old = function.body.block
        block = Block(arg_types=[_signless(arg.type) for arg in old.args])
        for arg, before in zip(block.args, old.args, strict=True):
            arg.name_hint = before.name_hint
        self._block = block
        self._b = builder(block)
        self._b.guards = check
        if isinstance(self._b, SpaceBuilder):
            self._b.fuses = fuses
        buffer_of: dict[SSAValue, SSAValue] = dict(zip(old.args, block.args, strict=True))
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._destinations: list[Destination] = []
        self._starts: dict[SSAValue, Sequence[int]] = {}
        anchors: list[AnchorOp] = []
        for op in old.ops:
            match op:
                case ToTensorOp():
                    self._buffers[op.tensor] = buffer_of[op.memref]
                case MaterializeInDestinationOp():
                    value, buffer = op.source, buffer_of[op.dest]
                    if isinstance(part := value.owner, InsertSliceOp):
                        value, self._starts[buffer] = part.source, part.static_offsets.get_values()
                    self._destinations.append((value, buffer))
                case AnchorOp():
                    anchors.append(op)
                case ElementOp() | ConstantOp() | InsertSliceOp() | ReturnOp():
                    pass
                case _:
                    raise self._failure(f"{op.name} has no loops: it is neither an ElementOp nor an AnchorOp")
        if len(anchors) > 1:
            raise self._failure("more than one anchor: " + ", ".join(anchor.name for anchor in anchors))
        self._anchor = anchors[0] if anchors else None
        self._expressions = self._values(self._b)

    def run(self) -> None:
        """Emit the loops and swap the body."""
        roots: dict[SSAValue | None, list[Destination]] = {}
        for value, buffer in self._destinations:
            roots.setdefault(self._root(value), []).append((value, buffer))
        self._emit_parallel(roots.pop(None, []))
        if (anchor := self._anchor) is not None:
            writes = [self._writer(result, roots.get(result, [])) for result in anchor.results]
            reads = [self._expressions.reader(operand) for operand in anchor.operands]
            for result in anchor.scratch():
                if result not in roots:
                    raise self._failure("a scratch buffer of the anchor has no memory")
                ((_, buffer),) = roots[result]
                writes[result.index] = lambda index, value, buffer=buffer: self._b.store(value, buffer, index)
                kind = element_type_of(result)
                reads.append(lambda index, buffer=buffer, kind=kind: self._b.load(buffer, index, kind))
            if isinstance(self._b, TileBuilder):
                if (schedule := schedule_of(anchor)) is None:
                    raise NotVectorizable("the anchor has no schedule")
                strategy_of(anchor).nest(Nest(anchor, self._b, reads, writes, schedule))
            else:
                strategy_of(anchor).scalar_nest(LoopNest(anchor, self._b, reads, writes))
        self._b.effect(ReturnOp())
        function = self._function
        function.body.detach_block(function.body.block).erase(safe_erase=False)
        function.body.add_block(self._block)
        function.update_function_type()

    def _failure(self, why: str) -> PassFailedException:
        return failure(self._function.sym_name.data, why)

    def _root(self, value: SSAValue) -> SSAValue | None:
        """The anchor result that `value` depends on, if any."""
        found: set[SSAValue] = set()
        visited: set[SSAValue] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in visited or not isinstance(current, OpResult):
                continue
            visited.add(current)
            if current.op is self._anchor:
                found.add(current)
            else:
                pending.extend(current.op.operands)
        if len(found) > 1:
            raise self._failure("a result depends on two results of the anchor")
        return found.pop() if found else None

    def _emit_parallel(self, destinations: Sequence[Destination]) -> None:
        """Write the destinations that depend on no anchor: one nest for each shape."""
        by_shape: dict[tuple[int, ...], list[Destination]] = {}
        for value, buffer in destinations:
            by_shape.setdefault(shape_of(value), []).append((value, buffer))
        for shape, group in by_shape.items():
            if isinstance(self._b, SpaceBuilder):
                schedule = schedule_of(self._function, SCHEDULE)
                assert isinstance(schedule, ElementwiseSchedule)
                write_on_tiles(self._b, schedule, shape, lambda b, i, group=group: self._values(b).store(group, i))
            else:
                self._emit_elements(shape, group)

    def _emit_elements(self, shape: tuple[int, ...], group: Sequence[Destination]) -> None:
        """Write one scalar nest; of a matrix that is 0 but for a diagonal zeros first, as fast as memory is written."""
        (value, buffer), *others = group
        owner = None if others or buffer in self._starts else value.owner
        if not isinstance(owner, ElementOp) or (diagonal := owner.outliers()) is None:
            self._b.parallel_for(shape, lambda i: self._expressions.store(group, i))
            return
        (first, column), count = diagonal
        zero = self._b.encode(self._b.zero(element_type_of(value)), element_type_of(value))

        def rows(low: Scalar, size: int) -> None:  # by one thread: the diagonal comes after the zeros
            self._b.sequential_for([size, shape[1]], lambda i: self._b.store(zero, buffer, [low + i[0], i[1]]))
            begin, end = self._b.max(low, first), self._b.min(low + size, first + count)
            self._b.sequential_range(begin, end, 1, lambda i: self._expressions.store(group, [i, i + (column - first)]))

        self._b.parallel_segments(shape[0], _MOST_ZEROS // max(shape[1], 1) or 1, rows)

    def _values(self, b: LoopBuilder) -> Expressions:
        """The kernel's tensors as expressions that `b` writes."""

        def reader(value: SSAValue, buffer: SSAValue) -> Reader:
            return lambda index: b.load_element(buffer, index, element_type_of(value))

        given = {value: reader(value, buffer) for value, buffer in self._buffers.items()}
        name = self._function.sym_name.data
        return Expressions(name, b, given, lambda op: constant_array(op, self._store), self._starts)

    def _writer(self, result: SSAValue, destinations: list[Destination]) -> Writer:
        for value, _ in destinations:
            if (shape := epilogue_shape(value)) != shape_of(result):
                raise self._failure(f"the epilogue's shape {shape} is not the anchor's {shape_of(result)}")

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            with self._expressions.bound(result, index, value):
                self._expressions.store_epilogue(destinations, index)

        return write


def _signless(kind: Attribute) -> Attribute:
    return _signless_memref(kind) if isinstance(kind, MemRefType) else kind


@lru_cache(maxsize=4096)
def _signless_memref(kind: MemRefType[Attribute]) -> MemRefType[Attribute]:
    storage = storage_type(kind.element_type)
    return kind if storage == kind.element_type else MemRefType(storage, kind.shape, kind.layout, kind.memory_space)


def _make_signless(function: FuncOp) -> None:
    """Give every memref in `function` the storage type of its elements."""
    for block in function.walk_blocks():
        for value in (*block.args, *(result for op in block.ops for result in op.results)):
            value._type = _signless(value.type)  # pyright: ignore[reportPrivateUsage]
    kind = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_signless(t) for t in kind.inputs], [_signless(t) for t in kind.outputs]
    )
