"""A function's buffer arguments: which of their fields the body uses, and how a pointer takes a buffer's place."""

from collections.abc import Iterable
from typing import cast

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.dialects import arith, builtin, memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects.aot import BufferOp, DataOp, PtrType
from aotc.dialects.aot.contract import arguments_of, set_arguments
from aotc.errors import CompileError, Problem
from aotc.passes.interface.element_loops import index_constant

Buffer = builtin.MemRefType[Attribute]


def require_buffers(functions: Iterable[FuncOp]) -> None:
    """Raise CompileError naming all arguments of functions that are no buffers."""
    problems = [
        Problem("not-a-pointer", f"argument {position} of {function.sym_name.data} is {kind}, not a buffer")
        for function in functions
        for position, kind in enumerate(function.function_type.inputs)
        if not isinstance(kind, builtin.MemRefType)
    ]
    if problems:
        raise CompileError(problems)


def used_extents(function: FuncOp) -> list[list[int]]:
    """For each argument of `function` the dynamic extents of its buffer that the body uses, ascending.

    Raises CompileError naming each buffer of which more than the data pointer and extents is used, and what.
    """
    problems: list[Problem] = []
    found: list[list[int]] = []
    if function.is_declaration:  # whose buffers are of static shape, as `graph.external` has them
        return [[] for _ in function.function_type.inputs]
    for position, argument in enumerate(function.args):
        used: set[int] = set()
        if why := _used_extents(argument, used):
            what = f"argument {position} of {function.sym_name.data} cannot become a pointer"
            problems.append(Problem("not-a-pointer", what, why))
        found.append(sorted(used))
    if problems:
        raise CompileError(problems)
    return found


def _used_extents(argument: BlockArgument, used: set[int]) -> str:
    """Collect the dynamic extents that uses of `argument` need; returns why it is illegal, or nothing."""
    kind = cast(Buffer, argument.type)
    shape = kind.get_shape()
    layout = kind.layout
    if not isinstance(layout, builtin.NoneAttr | builtin.StridedLayoutAttr):
        return f"its layout {layout} is not strided"
    if isinstance(layout, builtin.StridedLayoutAttr) and None in (*layout.get_strides(), layout.get_offset()):
        return f"the strides or the offset of {kind} are known at run time only"
    for use in argument.uses:
        user = use.operation
        if isinstance(user, memref.DimOp):
            dimension = const_evaluate_operand(user.index)
            if dimension is None:
                return "memref.dim of it takes a dimension that is not constant"
            if shape[dimension] == builtin.DYNAMIC_INDEX:
                used.add(dimension)
        elif isinstance(user, memref.LoadOp | memref.StoreOp):
            if isinstance(kind.layout, builtin.NoneAttr):
                used.update(d for d, extent in enumerate(shape) if d > 0 and extent == builtin.DYNAMIC_INDEX)
        elif not isinstance(user, DataOp) and not _is_contiguous(kind):
            return f"{user.name} needs a static row-major buffer, not {kind}"
    return ""


def _is_contiguous(kind: Buffer) -> bool:
    """Whether the data pointer alone describes the buffer: static shape, row-major layout without padding."""
    shape = kind.get_shape()
    return builtin.DYNAMIC_INDEX not in shape and kind.get_strides() == builtin.ShapedType.strides_for_shape(shape)


def declare_with_pointers(kernel: FuncOp) -> None:
    """The signature of a kernel that is defined elsewhere: pointers, which keep all that is known of their buffers."""
    given = arguments_of(kernel)
    kinds: list[Attribute] = []
    for argument, kind in zip(given, kernel.function_type.inputs, strict=True):
        assert isinstance(kind, builtin.MemRefType)
        argument.shape = kind.get_shape()
        kinds.append(PtrType(kind.element_type))
    kernel.properties["function_type"] = builtin.FunctionType.from_lists(kinds, [builtin.i32])
    set_arguments(kernel, given)


def replace_buffer(argument: BlockArgument, pointer: SSAValue, sizes: dict[int, SSAValue], body: Operation) -> None:
    """Let every use of the buffer `argument`, from `body` on, go through `pointer` and the `sizes` of dimensions."""
    kind = cast(Buffer, argument.type)
    for use in list(argument.uses):
        user = use.operation
        if isinstance(user, DataOp):
            user.result.replace_all_uses_with(pointer)
            Rewriter.erase_op(user)
        elif isinstance(user, memref.DimOp):
            _replace_dim(user, kind, sizes)
    if not argument.uses:
        return
    if _is_contiguous(kind):
        buffer = BufferOp(pointer, builtin.MemRefType(kind.element_type, kind.get_shape()))
        argument.replace_all_uses_with(buffer.result)
    else:
        buffer = BufferOp(pointer, builtin.MemRefType(kind.element_type, [builtin.DYNAMIC_INDEX]))
        for use in list(argument.uses):
            _linearise(use.operation, buffer.result, kind, sizes)
    buffer.result.name_hint = argument.name_hint
    argument.block.insert_op_before(buffer, body)


def _replace_dim(user: memref.DimOp, kind: Buffer, sizes: dict[int, SSAValue]) -> None:
    dimension = const_evaluate_operand(user.index)
    assert dimension is not None
    if dimension in sizes:
        Rewriter.replace_op(user, [], [sizes[dimension]])
    else:
        Rewriter.replace_op(user, arith.ConstantOp.from_int_and_width(kind.get_shape()[dimension], builtin.IndexType()))


def _linearise(user: Operation, buffer: SSAValue, kind: Buffer, sizes: dict[int, SSAValue]) -> None:
    """Make a load or store of a buffer with a layout of its own one of the flat `buffer`."""
    assert isinstance(user, memref.LoadOp | memref.StoreOp)
    with ImplicitBuilder(Builder(InsertPoint.before(user))):
        if isinstance(kind.layout, builtin.StridedLayoutAttr):
            strides = [index_constant(cast(int, stride)) for stride in kind.layout.get_strides()]
            linear = index_constant(0)
            for index, stride in zip(user.indices, strides, strict=True):
                linear = arith.AddiOp(linear, arith.MuliOp(index, stride)).result
        else:
            linear = user.indices[0] if user.indices else index_constant(0)
            for dimension, index in list(enumerate(user.indices))[1:]:
                extent = kind.get_shape()[dimension]
                size = sizes[dimension] if extent == builtin.DYNAMIC_INDEX else index_constant(extent)
                linear = arith.AddiOp(arith.MuliOp(linear, size), index).result
        if isinstance(user, memref.LoadOp):
            user.res.replace_all_uses_with(memref.LoadOp.get(buffer, [linear]).res)
        else:
            memref.StoreOp.get(user.value, buffer, [linear])
    Rewriter.erase_op(user)
