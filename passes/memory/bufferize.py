"""Give every tensor a buffer: kernels write into arguments, the entry allocates, outputs are the caller's.

A state, an argument that has the value of a result at the next call, is one buffer for both: `aot.io = "state"`.

Control flow becomes `scf.if`, `scf.for` and `scf.while`, whose regions write into the buffers of the results: that of a
carried value is one for all iterations, and what is scanned or stacked is read and written where it lies, as views at
an offset of the iteration.

Reshapes and contiguous slices become views, and so do the parts of a concatenation that is left in the entry; a kernel
whose result has room between its elements there (`aot.within`) is given the whole, and inserts its part. A kernel
result that is an output, even one reshaped, is written straight into the output's buffer. Each element is written once;
sharing memory is the planner's business. The scratch buffers of a kernel (`AnchorOp.scratch`) become more destinations,
last in its signature, with a buffer for each call. A kernel without a body, of a code generator from outside, gets the
same signature.

Before:
```mlir
func.func private @relu_0(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.kernel, aot.in_place = [[0]]} {
  %0 = graph.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
func.func @main(%x: tensor<2x4xf32> {aot.name = "x"}) -> (tensor<8xf32> {aot.name = "y"}) attributes {aot.entry} {
  %0 = func.call @relu_0(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = func.call @relu_0(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  func.return %2 : tensor<8xf32>
}
```
After:
```mlir
func.func private @relu_0(%x: memref<2x4xf32>, %out: memref<2x4xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  %0 = bufferization.to_tensor %x : memref<2x4xf32> to tensor<2x4xf32>
  %1 = graph.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  bufferization.materialize_in_destination %1 in writable %out : (tensor<2x4xf32>, memref<2x4xf32>) -> ()
  func.return
}
func.func @main(%x: memref<2x4xf32> {aot.name = "x", aot.io = "input"},
                %y: memref<8xf32> {aot.name = "y", aot.io = "output"}) attributes {aot.entry} {
  %0 = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xf32> to memref<2x4xf32>
  %1 = memref.alloc() : memref<2x4xf32>
  func.call @relu_0(%x, %1) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
  func.call @relu_0(%1, %0) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
  func.return
}
```
"""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, builtin, memref, scf
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.aot import WeightOp, contract
from aotc.dialects.constants import constant_array
from aotc.dialects.dtypes import dtype_name, storage_type
from aotc.dialects.graph.compound.control_flow import MOST_TRIPS, ControlOp, IfOp, LoopOp, yield_of
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, is_join, is_view, shape_of, tensor_type, viewed_whole
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.model.weight_store import WeightStore


class BufferizePass(ModulePass):
    name = "bufferize"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        by_symbol = {kernel.sym_name.data: kernel for kernel in contract.kernels(op)}
        for kernel in by_symbol.values():
            bufferize_kernel(kernel)
        for entry in contract.entries(op):
            _Entry(entry, by_symbol, WeightStore.of(ctx)).run()


def buffer_type(value: SSAValue) -> builtin.MemRefType:
    """The contiguous row-major memref of a tensor's shape and element type."""
    return _memref(tensor_type(value))


def strides_of(kind: builtin.MemRefType) -> list[int]:
    """The distances between neighbours along each axis of a row-major buffer."""
    return [cast(int, stride) for stride in builtin.ShapedType.strides_for_shape(kind.get_shape())]


@lru_cache(maxsize=4096)
def _memref(kind: builtin.TensorType[Attribute]) -> builtin.MemRefType:
    return builtin.MemRefType(kind.element_type, kind.get_shape())


def _whole(kind: builtin.MemRefType, axis: int, _: int, extent: int) -> builtin.MemRefType:
    """The buffer of `extent` along an axis in which one of type `kind` is."""
    shape = kind.get_shape()
    return builtin.MemRefType(kind.element_type, [*shape[:axis], extent, *shape[axis + 1 :]])


def bufferize_kernel(kernel: FuncOp) -> None:
    """Let a kernel read and write buffers: arguments for its operands, then its results, then its scratch buffers."""
    if (external := contract.EXTERNAL.get(kernel)) is not None:
        _bufferize_declaration(kernel, external)
        return
    old = kernel.body.block
    end = old.last_op
    assert isinstance(end, ReturnOp)
    scratch = [result for op in old.ops if isinstance(op, AnchorOp) for result in op.scratch()]
    results = [*end.operands, *scratch]
    within = contract.WITHIN.get(kernel) or ()
    contract.WITHIN.set(kernel, None)
    if (in_place := contract.IN_PLACE.get(kernel)) is not None:
        contract.IN_PLACE.set(kernel, [*in_place, *([] for _ in scratch)])
    old.erase_op(end)
    kinds = [buffer_type(value) for value in (*old.args, *results)]
    for place, apart in enumerate(within, len(old.args)):
        if apart:
            kinds[place] = _whole(kinds[place], *apart)
    block = Block(arg_types=kinds)
    reads = [ToTensorOp(arg) for arg in block.args[: len(old.args)]]
    for read, arg, new in zip(reads, old.args, block.args, strict=False):
        new.name_hint = arg.name_hint
        arg.replace_all_uses_with(read.tensor)
    block.add_ops(reads)
    for op in list(old.ops):
        op.detach()
        block.add_op(op)
    for value, out in zip(results, block.args[len(old.args) :], strict=True):
        out.name_hint = "scratch" if value in scratch else "out"
        if out.type != buffer_type(value):
            axis, start, _ = within[out.index - len(old.args)]
            starts = [start if axis == each else 0 for each in range(len(shape_of(value)))]
            block.add_op(before := ToTensorOp(out))
            block.add_op(inserted := InsertSliceOp.get(value, before.tensor, shape_of(value), starts))
            value = inserted.result
        block.add_op(
            MaterializeInDestinationOp(
                operands=[value, out], result_types=[[]], properties={"writable": builtin.UnitAttr()}
            )
        )
    block.add_op(ReturnOp())
    _replace_body(kernel, block)
    _describe(kernel, [tensor_type(value).get_element_type() for value in (*old.args, *results)], len(scratch))


def _bufferize_declaration(kernel: FuncOp, external: contract.External) -> None:
    """The signature of a kernel that is defined elsewhere."""
    signature = kernel.function_type
    tensors = [cast(builtin.TensorType[Attribute], kind) for kind in (*signature.inputs, *signature.outputs)]
    scratch = [builtin.MemRefType(builtin.i8, [external.scratch_bytes])] if external.scratch_bytes else []
    kernel.properties["function_type"] = builtin.FunctionType.from_lists([*map(_memref, tensors), *scratch], [])
    kernel.properties.pop("res_attrs", None)
    contract.IN_PLACE.set(kernel, [*(contract.IN_PLACE.get(kernel) or ()), *([] for _ in scratch)])
    _describe(kernel, [*(kind.element_type for kind in tensors), *(builtin.i8 for _ in scratch)], len(scratch))


def _describe(kernel: FuncOp, elements: Sequence[Attribute], scratch: int) -> None:
    """Note what the types of a kernel's buffers will not say: which memory holds as others, which are scratch."""
    given = contract.arguments_of(kernel)
    for argument, element in zip(given, elements, strict=True):
        if storage_type(element) != element or contract.EXTERNAL.get(kernel) is not None:
            argument.dtype = dtype_name(element)
    for argument in given[len(given) - scratch :]:
        argument.scratch = True
    if any(argument.attributes for argument in given):
        contract.set_arguments(kernel, given)


class _Entry:
    """Bufferises the entry function."""

    def __init__(self, function: FuncOp, kernels: Mapping[str, FuncOp], store: WeightStore) -> None:
        self.function = function
        self.kernels = kernels
        self.store = store
        self.old = function.body.block
        end = self.old.last_op
        assert isinstance(end, ReturnOp)
        self.results = list(zip(end.operands, contract.results_of(function), strict=True))
        outputs = [value for value, given in self.results if given.state_of is None]
        self.block = Block(arg_types=[buffer_type(value) for value in (*self.old.args, *outputs)])
        self.head = self.block
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.conditions: dict[LoopOp, SSAValue] = {}
        """Where loops have the condition for the next iteration."""
        self.places: dict[SSAValue, tuple[SSAValue, int]] = {}
        """For each value that is part of a larger buffer: that buffer, and the position of its first element."""

    def run(self) -> None:
        """Write the new body, and replace the old one."""
        arguments = contract.arguments_of(self.function)
        for each in arguments:
            each.io = each.io or "input"
        for arg, new in zip(self.old.args, self.block.args, strict=False):
            new.name_hint = arg.name_hint
            self.buffers[arg] = new
        for value, given in self.results:
            if (place := given.state_of) is None:
                out = self.block.args[len(arguments)]
                out.name_hint = value.name_hint
                given.io = "output"
                arguments.append(given)
            else:
                out = self.block.args[place]
                arguments[place].next_name = given.name
                arguments[place].io = "state"
            self._claim(value, out)
        self._operations(self.old)
        self.block.add_op(ReturnOp())
        _replace_body(self.function, self.block)
        contract.set_arguments(self.function, arguments)
        self.function.properties.pop("res_attrs", None)

    def _operations(self, old: Block) -> None:
        """The operations of a block at the end of the new one, the places of values that have one first."""
        for op in reversed(old.ops):
            if is_join(op):
                self._join(op)
            elif isinstance(op, LoopOp):
                self._carry(op)
        for op in old.ops:
            self._bufferize(op)

    def _claim(self, output: SSAValue, buffer: SSAValue) -> None:
        """Let what computes `output`, perhaps in another shape, write into `buffer`, which is the caller's or that of
        what control flow carries and yields."""
        source = viewed_whole(output)
        if self.buffers.get(source) is buffer:
            return  # it is there already
        if not isinstance(source.owner, CallOp | ControlOp) or source in self.buffers:
            raise PassFailedException("an output is not a separate result of a kernel; run outline-kernels first")
        self.buffers[source] = self._view(buffer, buffer_type(source), 0, source.owner.location)

    def _join(self, op: Operation) -> None:
        """Let the kernels that compute the operands of `op` write into the buffer of its result."""
        assert isinstance(op, GraphOp)
        result, offsets = op.results[0], op.part_offsets()
        if op.part_starts() is not None:  # their kernels know where they write
            self.buffers.update(dict.fromkeys(op.operands, self._result(result)))
            return
        assert offsets is not None
        whole, start = self.places.get(result, (self._result(result), 0))
        for operand, offset in zip(op.operands, offsets, strict=True):
            source = viewed_whole(operand)
            if source in self.buffers:
                raise PassFailedException("a part of a concatenation has another place; outline-kernels copies it")
            self.places[source] = (whole, start + offset)
            self.buffers[source] = self._view(whole, buffer_type(source), start + offset, op.location)

    def _view(
        self, buffer: SSAValue, kind: builtin.MemRefType, offset: int, location: builtin.LocationAttr
    ) -> SSAValue:
        if buffer.type == kind:
            return buffer
        view = memref.ReinterpretCastOp(buffer, [], [], [], [offset], kind.get_shape(), strides_of(kind), kind)
        view.location = location
        self.block.add_op(view)
        return view.result

    def _buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of `value`; for a view, a cast of the buffer at the end of the chain of views."""
        if value not in self.buffers:
            source, offset = value, 0
            while isinstance(op := source.owner, GraphOp) and (begin := op.view_offset()) is not None:
                source, offset = op.operands[0], offset + begin
            assert isinstance(value.owner, Operation)
            location = value.owner.location
            whole, start = self.places.get(source, (self.buffers[source], 0))
            self.buffers[value] = self._view(whole, buffer_type(value), start + offset, location)
        return self.buffers[value]

    def _bufferize(self, op: Operation) -> None:
        match op:
            case CallOp():
                self._call(op)
            case ConstantOp():
                self._constant(op)
            case ReturnOp() | YieldOp():
                pass
            case IfOp():
                self._if(op)
            case LoopOp():
                self._loop(op)
            case _ if not (is_view(op) or is_join(op)):
                raise PassFailedException(f"{op.name} is not a call of a kernel; run outline-kernels first")
            case _:
                pass

    def _call(self, op: CallOp) -> None:
        operands = [self._buffer(value) for value in op.operands]
        operands += [self._result(result) for result in op.results]
        kernel = self.kernels.get(op.callee.string_value())
        for kind in kernel.function_type.inputs.data[len(operands) :] if kernel is not None else ():
            assert isinstance(kind, builtin.MemRefType)
            operands.append(self._allocate(kind, "scratch", op.location))
        call = CallOp(op.callee, operands, [])
        call.attributes |= op.attributes
        call.location = op.location
        self.block.add_op(call)

    def _allocate(self, kind: builtin.MemRefType, hint: str | None, location: builtin.LocationAttr) -> SSAValue:
        alloc = memref.AllocOp([], [], kind)
        alloc.location = location
        alloc.memref.name_hint = hint
        self.block.add_op(alloc)
        return alloc.memref

    def _constant(self, op: ConstantOp) -> None:
        if op.result.first_use is None:
            return
        key = (
            op.key
            if op.key is not None
            else self.store.add(op.result.name_hint or "constant", constant_array(op, self.store))
        )
        weight = WeightOp(key, buffer_type(op.result))
        weight.location = op.location
        weight.result.name_hint = op.result.name_hint
        self.head.add_op(weight)
        self.buffers[op.result] = weight.result

    # Control flow

    def _carry(self, op: LoopOp) -> None:
        """Let what computes the first carried values, and the first condition, write them where the next ones go."""
        first, count = op.overwritten
        for value, result in zip(op.operands[first : first + count], op.carried_results, strict=True):
            if result is None:
                buffer = self._allocate(buffer_type(value), "condition", op.location)
                self.conditions[op] = buffer
            else:
                buffer = self._result(result)
            self._claim(value, buffer)

    def _result(self, value: OpResult) -> SSAValue:
        """The buffer of a result, which is new where nobody has said where the result belongs."""
        if value not in self.buffers:
            self.buffers[value] = self._allocate(buffer_type(value), value.name_hint, value.op.location)
        return self.buffers[value]

    def _if(self, op: IfOp) -> None:
        condition = self._element(self._buffer(op.condition))
        captured = [self._buffer(value) for value in op.captured]
        results = [self._result(result) for result in op.results]
        regions: list[Region] = []
        for block in op.blocks:
            with self._inside(Block()) as inner:
                self.buffers.update(zip(block.args, captured, strict=True))
                for value, buffer in zip(yield_of(block).values, results, strict=True):
                    self._claim(value, buffer)
                self._operations(block)
                inner.add_op(scf.YieldOp())
            regions.append(Region(inner))
        self._add(scf.IfOp(condition, [], regions[0], regions[1]), op)

    def _loop(self, op: LoopOp) -> None:
        """A `scf.for` where the number of iterations is known before, else a `scf.while` that counts them."""
        scanned = [self._buffer(value) for value in op.scanned]
        captured = [self._buffer(value) for value in op.captured]
        results = [self._result(result) for result in op.results]
        zero, one, trips = self._index(0), self._index(1), self._trips(op)
        with self._inside(Block(arg_types=[builtin.IndexType()])) as inner:
            number = inner.args[0]
            carried = results[: len(op.carried)]
            slices = [
                self._slice(buffer, argument, number, trips if backward else None)
                for buffer, argument, backward in zip(
                    scanned, op.slices, op.backward("scanned_backward", len(scanned)), strict=True
                )
            ]
            self.buffers.update(zip(op.block.args[1:], (*carried, *slices, *captured), strict=True))
            if op.iteration.first_use is not None:
                self.buffers[op.iteration] = self._stored(number, op)
            stacked = [
                self._slice(buffer, value, number, trips if backward else None)
                for buffer, value, backward in zip(
                    results[len(carried) :],
                    op.next_slices,
                    op.backward("stacked_backward", len(op.stacked)),
                    strict=True,
                )
            ]
            conditions = [self.conditions[op]] if op.condition is not None else []
            places = (*conditions, *carried, *stacked)
            for value, buffer in zip(yield_of(op.block).values, places, strict=True):
                self._claim(value, buffer)
            self._operations(op.block)
            if not conditions and trips is not None:
                inner.add_op(scf.YieldOp())
            else:
                inner.add_op(following := arith.AddiOp(number, one))
                inner.add_op(scf.YieldOp(following.result))
        if not conditions and trips is not None:
            self._add(scf.ForOp(zero, trips, one, [], inner), op)
            return
        with self._inside(Block(arg_types=[builtin.IndexType()])) as before:
            goes_on: list[SSAValue] = [self._element(buffer) for buffer in conditions]
            if trips is not None:
                goes_on.append(self._add(arith.CmpiOp(before.args[0], trips, "slt"), op).results[0])
            if not goes_on:
                goes_on.append(self._add(arith.ConstantOp(builtin.BoolAttr.from_bool(True)), op).results[0])
            while len(goes_on) > 1:
                goes_on = [self._add(arith.AndIOp(goes_on[0], goes_on[1]), op).results[0]]
            before.add_op(scf.ConditionOp(goes_on[0], before.args[0]))
        self._add(scf.WhileOp([zero], [builtin.IndexType()], [before], [inner]), op)

    def _trips(self, op: LoopOp) -> SSAValue | None:
        """How often a loop runs, or the most with a condition; None where nothing says it."""
        if op.trips is not None:
            return self._index(op.trips)
        if op.count is None:
            return None
        count = self._element(self._buffer(op.count))
        for limit, kind in ((0, arith.MaxSIOp), (MOST_TRIPS, arith.MinSIOp)):
            bound = self._add(arith.ConstantOp(builtin.IntegerAttr(limit, builtin.i64)), op).results[0]
            count = self._add(kind(count, bound), op).results[0]
        return self._add(arith.IndexCastOp(count, builtin.IndexType()), op).results[0]

    def _slice(self, buffer: SSAValue, value: SSAValue, number: SSAValue, trips: SSAValue | None) -> SSAValue:
        """The part of `buffer` that is slice `number`, from the end where there are `trips` slices, as the tensor
        `value`."""
        kind = buffer_type(value)
        if trips is not None:
            last = self._add(arith.SubiOp(trips, self._index(1))).results[0]
            number = self._add(arith.SubiOp(last, number)).results[0]
        offset = self._add(arith.MuliOp(number, self._index(math.prod(kind.get_shape())))).results[0]
        shape, strides = kind.get_shape(), strides_of(kind)
        view = memref.ReinterpretCastOp(buffer, [offset], [], [], [builtin.DYNAMIC_INDEX], shape, strides, kind)
        self._add(view).results[0].name_hint = value.name_hint
        return view.result

    def _stored(self, number: SSAValue, op: LoopOp) -> SSAValue:
        """A buffer with the number of the iteration."""
        buffer = self._allocate(builtin.MemRefType(builtin.i64, []), op.iteration.name_hint, op.location)
        value = self._add(arith.IndexCastOp(number, builtin.i64), op).results[0]
        self._add(memref.StoreOp.get(value, buffer, []), op)
        return buffer

    def _element(self, buffer: SSAValue) -> SSAValue:
        """The only element of a buffer."""
        assert isinstance(buffer.type, builtin.MemRefType)
        return self._add(memref.LoadOp.get(buffer, [self._index(0) for _ in buffer.type.get_shape()])).results[0]

    def _index(self, value: int) -> SSAValue:
        return self._add(arith.ConstantOp(builtin.IntegerAttr(value, builtin.IndexType()))).results[0]

    def _add(self, op: Operation, of: Operation | None = None) -> Operation:
        """`op`, which is what `of` becomes or part of it, at the end of the block."""
        if of is not None:
            op.location = of.location
        self.block.add_op(op)
        return op

    @contextmanager
    def _inside(self, block: Block) -> Generator[Block]:
        """Operations that are emitted meanwhile go into `block`."""
        outer, self.block = self.block, block
        yield block
        self.block = outer


def _replace_body(function: FuncOp, block: Block) -> None:
    function.body.detach_block(function.body.block).erase(safe_erase=False)
    function.body.add_block(block)
    function.properties["function_type"] = builtin.FunctionType.from_lists([arg.type for arg in block.args], [])
