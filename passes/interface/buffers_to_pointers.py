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
pointer arguments behind the tensors. Operators of the packed conventions keep their buffers for `lower-calls`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot import VOID_PTR, BufferOp, CheckOp, Convention, DataOp, PtrType, WeightsOp, WorkspaceOp
from aotc.errors import CompileError, Problem
from aotc.passes.interface.buffer_attributes import record_buffer_attributes, workspace_alignment
from aotc.passes.interface.place_weights import WEIGHT_ALIGNMENT
from aotc.passes.interface.signature import (
    Attributes,
    append_argument,
    argument_attributes,
    convention,
    entry,
    kernels,
    option,
    set_signature,
)

Buffer = MemRefType[Attribute]


@dataclass(frozen=True)
class BuffersToPointersPass(ModulePass):
    """See the module."""

    name = "buffers-to-pointers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = entry(op)
        record_buffer_attributes(op)
        typed = [kernel for kernel in kernels(op) if convention(kernel) is Convention.UNPACKED]
        signatures = {kernel.sym_name.data: _Signature.of(kernel) for kernel in typed}
        for kernel in typed:
            _rewrite(kernel, signatures[kernel.sym_name.data])
        _rewrite_calls(main, signatures)
        _rewrite(main, _Signature.of(main))
        _take_from_caller(op, main)


# --- what of a buffer is used ----------------------------------------------------------------------------------------


@dataclass
class _Signature:
    """For each buffer argument of a function the dynamic extents that are used: the i32s behind its pointer."""

    extents: list[list[int]] = field(default_factory=list)

    @staticmethod
    def of(function: FuncOp) -> _Signature:
        """Raises CompileError naming each buffer that cannot become a pointer, and why."""
        problems: list[Problem] = []
        signature = _Signature()
        for position, argument in enumerate(function.args):
            used: set[int] = set()
            if isinstance(argument.type, MemRefType):
                why = _used_extents(argument, used)
                if why:
                    problems.append(
                        Problem(f"argument {position} of {function.sym_name.data} cannot become a pointer", why=why)
                    )
            elif not isinstance(argument.type, PtrType):
                problems.append(
                    Problem(f"argument {position} of {function.sym_name.data} is {argument.type}, no buffer")
                )
            signature.extents.append(sorted(used))
        if problems:
            raise CompileError(problems)
        return signature


def _used_extents(argument: BlockArgument, used: set[int]) -> str:
    """Collect the dynamic extents that uses of `argument` need; returns why it is illegal, or nothing."""
    kind = cast(Buffer, argument.type)
    shape = kind.get_shape()
    if not isinstance(kind.layout, NoneAttr | StridedLayoutAttr):
        return f"its layout {kind.layout} is not strided"
    if isinstance(kind.layout, StridedLayoutAttr) and None in (*kind.layout.get_strides(), kind.layout.get_offset()):
        return f"the strides or the offset of {kind} are known at run time only"
    for use in argument.uses:
        user = use.operation
        if isinstance(user, memref.DimOp):
            index = user.index.owner
            if not isinstance(index, arith.ConstantOp) or not isinstance(index.value, IntegerAttr):
                return "memref.dim of it takes a dimension that is not constant"
            if shape[index.value.value.data] == DYNAMIC_INDEX:
                used.add(index.value.value.data)
        elif isinstance(user, memref.LoadOp | memref.StoreOp):
            if isinstance(kind.layout, NoneAttr):
                used.update(d for d, extent in enumerate(shape) if d > 0 and extent == DYNAMIC_INDEX)
        elif not _is_contiguous(kind):
            return f"{user.name} needs a static row-major buffer, not {kind}"
    return ""


def _is_contiguous(kind: Buffer) -> bool:
    """Whether the data pointer alone says everything: static shape, row-major layout without gaps."""
    if DYNAMIC_INDEX in kind.get_shape():
        return False
    if isinstance(kind.layout, NoneAttr):
        return True
    return isinstance(kind.layout, StridedLayoutAttr) and [*kind.layout.get_strides()] == _row_major(kind)


def _row_major(kind: Buffer) -> list[int]:
    strides, stride = [], 1
    for extent in reversed(kind.get_shape()):
        strides.insert(0, stride)
        stride *= extent
    return strides


# --- rewriting -------------------------------------------------------------------------------------------------------


def _rewrite(function: FuncOp, signature: _Signature) -> None:
    """Change the arguments of `function` and make it return a status."""
    block = function.body.block
    body = block.first_op
    assert body is not None
    collected: list[Attributes] = []
    given_attributes = argument_attributes(function)
    for argument, extents, given in zip(list(function.args), signature.extents, given_attributes, strict=True):
        collected.append(given)
        if not isinstance(kind := argument.type, MemRefType):
            continue
        if "aot.io" in given:  # a pointer no longer says it
            given["aot.shape"] = DenseArrayBase.from_list(i64, kind.get_shape())
        pointer = block.insert_arg(PtrType(kind.element_type), argument.index)
        pointer.name_hint = argument.name_hint
        sizes: dict[int, SSAValue] = {}
        for dimension in extents:
            size = block.insert_arg(i32, argument.index)
            size.name_hint = f"{argument.name_hint or 'arg'}_dim{dimension}"
            collected.append({"aot.dim": IntegerAttr(dimension, i64)})
            cast_op = arith.IndexCastOp(size, IndexType())
            block.insert_op_before(cast_op, body)
            sizes[dimension] = cast_op.result
        _replace(argument, pointer, sizes, body)
        block.erase_arg(argument)
    last = block.last_op
    assert isinstance(last, ReturnOp)
    done = arith.ConstantOp.from_int_and_width(0, 32)
    block.insert_op_before(done, last)
    last.operands = [done.result]
    set_signature(function, collected, [i32])


def _replace(argument: BlockArgument, pointer: SSAValue, sizes: dict[int, SSAValue], body: Operation) -> None:
    """Let every use of the buffer `argument`, from `body` on, go through `pointer` and the `sizes` of dimensions."""
    kind = cast(Buffer, argument.type)
    for use in list(argument.uses):
        user = use.operation
        if isinstance(user, DataOp):
            user.result.replace_all_uses_with(pointer)
            _erase(user)
        elif isinstance(user, memref.DimOp):
            _replace_dim(user, kind, sizes)
    if not argument.uses:
        return
    if _is_contiguous(kind):
        plain: Buffer = MemRefType(kind.element_type, kind.get_shape())
        buffer = BufferOp(pointer, plain)
        argument.replace_all_uses_with(buffer.result)
    else:
        buffer = BufferOp(pointer, MemRefType(kind.element_type, [DYNAMIC_INDEX]))
        for use in list(argument.uses):
            _linearise(use.operation, buffer.result, kind, sizes)
    buffer.result.name_hint = argument.name_hint
    argument.block.insert_op_before(buffer, body)


def _replace_dim(user: memref.DimOp, kind: Buffer, sizes: dict[int, SSAValue]) -> None:
    index = user.index.owner
    assert isinstance(index, arith.ConstantOp) and isinstance(index.value, IntegerAttr)
    dimension = index.value.value.data
    if dimension in sizes:
        user.result.replace_all_uses_with(sizes[dimension])
    else:
        constant = arith.ConstantOp(IntegerAttr.from_index_int_value(kind.get_shape()[dimension]))
        assert user.parent is not None
        user.parent.insert_op_before(constant, user)
        user.result.replace_all_uses_with(constant.result)
    _erase(user)


def _linearise(user: Operation, buffer: SSAValue, kind: Buffer, sizes: dict[int, SSAValue]) -> None:
    """Make a load or store of a buffer with a layout of its own one of the flat `buffer`."""
    assert isinstance(user, memref.LoadOp | memref.StoreOp) and user.parent is not None
    ops: list[Operation] = []

    def emit(op: arith.ConstantOp | arith.MuliOp | arith.AddiOp) -> SSAValue:
        ops.append(op)
        return op.result

    def constant(value: int) -> SSAValue:
        return emit(arith.ConstantOp(IntegerAttr.from_index_int_value(value)))

    if isinstance(kind.layout, StridedLayoutAttr):
        strides = [constant(cast(int, stride)) for stride in kind.layout.get_strides()]
        linear = constant(0)
        for index, stride in zip(user.indices, strides, strict=True):
            linear = emit(arith.AddiOp(linear, emit(arith.MuliOp(index, stride))))
    else:
        linear = user.indices[0] if user.indices else constant(0)
        for dimension, index in list(enumerate(user.indices))[1:]:
            extent = kind.get_shape()[dimension]
            size = sizes[dimension] if extent == DYNAMIC_INDEX else constant(extent)
            linear = emit(arith.AddiOp(emit(arith.MuliOp(linear, size)), index))
    user.parent.insert_ops_before(ops, user)
    if isinstance(user, memref.LoadOp):
        flat = memref.LoadOp.get(buffer, [linear])
        user.parent.insert_op_before(flat, user)
        user.res.replace_all_uses_with(flat.res)
    else:
        user.parent.insert_op_before(memref.StoreOp.get(user.value, buffer, [linear]), user)
    _erase(user)


def _rewrite_calls(function: FuncOp, signatures: dict[str, _Signature]) -> None:
    """Let the calls of typed operators pass pointers, and stop at the first status that is not 0."""
    pointers: dict[SSAValue, SSAValue] = {}

    def pointer_to(buffer: SSAValue) -> SSAValue:
        while isinstance(buffer.owner, memref.CastOp):
            buffer = buffer.owner.source
        if buffer not in pointers:
            data = DataOp(buffer)
            data.result.name_hint = buffer.name_hint
            if isinstance(buffer, BlockArgument):
                assert buffer.block.first_op is not None
                buffer.block.insert_op_before(data, buffer.block.first_op)
            else:
                owner = cast(Operation, buffer.owner)
                assert owner.parent is not None
                owner.parent.insert_op_after(data, owner)
            pointers[buffer] = data.result
        return pointers[buffer]

    for call in [op for op in function.walk() if isinstance(op, CallOp)]:
        signature = signatures.get(call.callee.string_value())
        if signature is None:
            continue
        assert call.parent is not None
        arguments: list[SSAValue] = []
        for operand, extents in zip(call.operands, signature.extents, strict=True):
            arguments.append(pointer_to(operand) if isinstance(operand.type, MemRefType) else operand)
            for dimension in extents:
                index = arith.ConstantOp(IntegerAttr.from_index_int_value(dimension))
                size = memref.DimOp(operand, index)
                narrow = arith.IndexCastOp(size, i32)
                call.parent.insert_ops_before([index, size, narrow], call)
                arguments.append(narrow.result)
        typed = CallOp(call.callee, arguments, [i32])
        typed.location = call.location
        typed.attributes |= call.attributes
        call.parent.insert_ops_before([typed, CheckOp(typed.results[0])], call)
        _erase(call)


def _take_from_caller(module: ModuleOp, main: FuncOp) -> None:
    """Make the workspace and the weights arguments of the entry where they are the caller's to supply."""
    if option(module, "aot.workspace") == "caller":
        attributes: Attributes = {
            "aot.io": StringAttr("workspace"),
            "aot.align": IntegerAttr(workspace_alignment(module), i64),
            "aot.noalias": UnitAttr(),
        }
        pointer = append_argument(main, VOID_PTR, attributes, "workspace")
        _replace_by_buffer(main, WorkspaceOp, pointer)
    if option(module, "aot.weights") == "caller":
        attributes = {
            "aot.io": StringAttr("weights"),
            "aot.align": IntegerAttr(WEIGHT_ALIGNMENT, i64),
            "aot.readonly": UnitAttr(),
        }
        pointer = append_argument(main, VOID_PTR, attributes, "weights")
        _replace_by_buffer(main, WeightsOp, pointer)


def _replace_by_buffer(main: FuncOp, kind: type[WorkspaceOp | WeightsOp], pointer: SSAValue) -> None:
    for op in [op for op in main.walk() if isinstance(op, kind)]:
        assert op.parent is not None
        buffer = BufferOp(pointer, op.result.type)
        buffer.result.name_hint = op.result.name_hint
        op.parent.insert_op_before(buffer, op)
        op.result.replace_all_uses_with(buffer.result)
        _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
