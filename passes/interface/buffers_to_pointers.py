"""Rewrite the signatures of typed functions: a buffer argument becomes its data pointer, plus what else of it is used.

```mlir
func.func @aotc_kws_run(%x: memref<8xf32>, %y: memref<8xf32>) attributes {aot.entry, ..} {
  func.call @aotc_kws_relu_0(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @aotc_kws_relu_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {aot.kernel, ..} {
  %v = memref.load %x[..] ...
```
becomes
```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.readonly, ..}, %y: !aot.ptr<f32> {aot.noalias, ..}) -> i32 {
  %s = func.call @aotc_kws_relu_0(%x, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
  aot.check %s
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 {
  %0 = aot.buffer %x : !aot.ptr<f32> to memref<8xf32>
  %v = memref.load %0[..] ...
```
Legal when the data pointer covers every field of the buffer that is used (a static shape and layout). A dynamic extent
that is used follows its pointer as an i32; accesses through a layout that is not static row-major are linearised.
Anything else (a dynamic stride, a view of a dynamic buffer) is an error. A workspace or weights of the caller's become
pointer arguments behind the tensors; of weights that are apart, a pointer to a table whose elements point to them.
Operators of the packed conventions keep their buffers for `lower-calls`.
"""

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects import aot
from aotc.dialects.aot import contract
from aotc.passes.interface.buffer_attributes import record_buffer_attributes, said_shape
from aotc.passes.interface.buffer_uses import declare_with_pointers, replace_buffer, require_buffers, used_extents


class BuffersToPointersPass(ModulePass):
    name = "buffers-to-pointers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        require_buffers([main, *contract.kernels(op)])
        typed = [
            kernel for kernel in contract.kernels(op) if contract.CONVENTION.get(kernel) is aot.Convention.UNPACKED
        ]
        signatures = {kernel.sym_name.data: used_extents(kernel) for kernel in typed}
        record_buffer_attributes(op)
        for kernel in typed:
            if kernel.is_declaration:
                declare_with_pointers(kernel)
            else:
                _rewrite(kernel, signatures[kernel.sym_name.data])
        _rewrite_calls(main, signatures)
        _rewrite(main, used_extents(main))
        _take_from_caller(op, main)


def _rewrite(function: FuncOp, extents_of: list[list[int]]) -> None:
    """Change the arguments of `function` and make it return a status."""
    block = function.body.block
    done = arith.ConstantOp.from_int_and_width(0, 32)
    Rewriter.insert_op(done, InsertPoint.at_start(block))
    collected: list[contract.Argument] = []
    given_attributes = contract.arguments_of(function)
    for argument, extents, given in zip(list(function.args), extents_of, given_attributes, strict=True):
        collected.append(given)
        given.scratch = False
        if given.io is None:  # what reads or writes through the pointer knows
            given.dtype = None
        kind = argument.type
        assert isinstance(kind, MemRefType)
        if given.io is not None:  # a pointer no longer says it
            given.shape = said_shape(kind)
        pointer = block.insert_arg(aot.PtrType(kind.element_type), argument.index)
        pointer.name_hint = argument.name_hint
        sizes: dict[int, SSAValue] = {}
        for dimension in extents:
            size = block.insert_arg(i32, argument.index)
            size.name_hint = f"{argument.name_hint or 'arg'}_dim{dimension}"
            extent = contract.Argument()
            extent.dimension = dimension
            collected.append(extent)
            cast_op = arith.IndexCastOp(size, IndexType())
            block.insert_op_before(cast_op, done)
            sizes[dimension] = cast_op.result
        replace_buffer(argument, pointer, sizes, done)
        block.erase_arg(argument)
    last = block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [done.result]
    contract.set_signature(function, collected, [i32])


def _rewrite_calls(function: FuncOp, signatures: dict[str, list[list[int]]]) -> None:
    """Let the calls of typed operators pass pointers, and stop at the first status that is not 0."""
    pointers: dict[SSAValue, SSAValue] = {}

    def pointer_to(buffer: SSAValue) -> SSAValue:
        while isinstance(buffer.owner, memref.CastOp):
            buffer = buffer.owner.source
        if buffer not in pointers:
            data = aot.DataOp(buffer)
            data.result.name_hint = buffer.name_hint
            owner = buffer.owner
            place = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
            Rewriter.insert_op(data, place)
            pointers[buffer] = data.result
        return pointers[buffer]

    for call in [op for op in function.walk() if isinstance(op, CallOp)]:
        signature = signatures.get(call.callee.string_value())
        if signature is None:
            continue
        arguments: list[SSAValue] = []
        for operand, extents in zip(call.operands, signature, strict=True):
            arguments.append(pointer_to(operand))
            for dimension in extents:
                index = arith.ConstantOp(IntegerAttr.from_index_int_value(dimension))
                size = memref.DimOp(operand, index)
                narrow = arith.IndexCastOp(size, i32)
                Rewriter.insert_op([index, size, narrow], InsertPoint.before(call))
                arguments.append(narrow.result)
        typed = CallOp(call.callee, arguments, [i32])
        typed.location = call.location
        typed.attributes |= call.attributes
        Rewriter.replace_op(call, [typed, aot.CheckOp(typed.results[0])], [])


def _take_from_caller(module: ModuleOp, main: FuncOp) -> None:
    """Make the workspace and the weights arguments of the entry where they are the caller's to supply."""
    if contract.WORKSPACE.require(module) == "caller":
        arenas = [op for op in main.walk() if isinstance(op, aot.WorkspaceOp)]
        for given in contract.workspace_arguments(module):
            pool = given.pool or ""
            pointer = contract.append_argument(main, aot.VOID_PTR, given, pool or "workspace")
            _replace_by_buffer([op for op in arenas if op.pool_name == pool], pointer)
    if contract.WEIGHTS.require(module) == "caller":
        layout = contract.WEIGHT_LAYOUT.require(module)
        given = contract.Argument(io="weights")
        given.align, given.readonly = 8 if layout.apart else layout.alignment, True
        if layout.apart:
            _replace_by_elements(
                main, contract.append_argument(main, aot.PtrType(aot.VOID_PTR), given, "weights"), layout.order
            )
        else:
            pointer = contract.append_argument(main, aot.VOID_PTR, given, "weights")
            _replace_by_buffer([op for op in main.walk() if isinstance(op, aot.WeightsOp)], pointer)


def _replace_by_elements(main: FuncOp, table: SSAValue, order: Sequence[int]) -> None:
    """Let what are views of the blob, at offsets in `order`, be what the elements of a table point to."""
    for blob in [op for op in main.walk() if isinstance(op, aot.WeightsOp)]:
        for view in [use.operation for use in blob.result.uses]:
            assert isinstance(view, memref.ViewOp) and isinstance(view.byte_shift.owner, arith.ConstantOp)
            offset = view.byte_shift.owner.value
            assert isinstance(offset, IntegerAttr)
            address = aot.ElementOp(table, order.index(offset.value.data))
            pointer = aot.PtrCastOp(address.result, aot.PtrType(view.result.type.element_type))
            buffer = aot.BufferOp(pointer.result, view.result.type)
            Rewriter.insert_op([address, pointer], InsertPoint.before(view))
            Rewriter.replace_op(view, buffer)
        Rewriter.erase_op(blob)


def _replace_by_buffer(ops: Sequence[aot.WorkspaceOp | aot.WeightsOp], pointer: SSAValue) -> None:
    for op in ops:
        Rewriter.replace_op(op, aot.BufferOp(pointer, op.result.type))
