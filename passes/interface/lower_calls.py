"""Make every call of an operator a plain C call of its convention, and let the resource handle reach every operator.

```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32>, ..) -> i32 attributes {aot.entry, aot.resource_handle, ..} {
  func.call @aotc_kws_relu_0(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  ...
func.func private @aotc_kws_relu_0(%x: memref<8xf32>, %y: memref<8xf32>) attributes {.. cpacked ..} {
```
becomes
```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32>, .., %resource_handle: !aot.ptr<i8>) -> i32 {
  %values = aot.alloca 2 : !aot.ptr<!aot.struct<"AOTCValue">>      // and the other structures, once per entry
  ...                                                              // filled
  %s = func.call @aotc_kws_relu_0(%args, %type_ids, %num_args, %ret_value, %ret_tcode, %resource_handle) : ..
  aot.check %s
  ...
func.func private @aotc_kws_relu_0(%args: !aot.ptr<i8>, .., %resource_handle: !aot.ptr<i8>) -> i32 {
  aot.require ..                                                   // type codes, ndim, dtype, shape, strides, device
  %0 = aot.buffer %data : !aot.ptr<f32> to memref<8xf32>
```
A `packed` operator is called as `AOTCCallPacked(functions, "aotc_kws_relu_0", ..)` instead, by name in the model's
table `aotc_kws_functions` (from `wrap-entry`) or, for what is not in it, in the runtime's registry: so are operators
from outside that are not linked. Unpacked operators, which `buffers-to-pointers` has typed, only gain the handle as a
last argument.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot import VOID_PTR, CheckOp, Convention, PtrType, StructType, contract
from aotc.model.conventions import CALL_PACKED, operator_symbol
from aotc.passes.interface.buffer_uses import declare_with_pointers, replace_buffer, used_extents
from aotc.passes.interface.packing import PACKED_NAMES, PACKED_TYPES, DLType, Packer, Unpacker

_PACKED = (Convention.CPACKED, Convention.PACKED)


class LowerCallsPass(ModulePass):
    name = "lower-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        arguments = contract.operator_arguments(op)
        by_symbol = {kernel.sym_name.data: kernel for kernel in contract.kernels(op)}
        conventions = {symbol: contract.CONVENTION.get(kernel) for symbol, kernel in by_symbol.items()}
        handle = None
        if contract.RESOURCE_HANDLE.on(main):
            handle = contract.append_argument(
                main, VOID_PTR, contract.Argument(io="resource_handle"), "resource_handle"
            )
        registry = operator_symbol(contract.model_name(op), "functions")
        calls = [call for call in main.walk() if isinstance(call, CallOp)]
        packed = [call for call in calls if conventions.get(call.callee.string_value()) in _PACKED]
        if packed:
            packer = Packer(main.body.block, packed, arguments)
            for call in packed:
                kernel = by_symbol[call.callee.string_value()]
                by_name = contract.CONVENTION.get(kernel) is Convention.PACKED
                _pack_call(packer, call, _dtypes(kernel), handle, registry if by_name else None)
        for symbol, kernel in by_symbol.items():
            if conventions[symbol] in _PACKED:
                _pack_function(kernel, arguments)
            elif handle is not None:
                _take_handle(kernel)
        if handle is not None:
            for call in calls:
                if conventions.get(call.callee.string_value()) is Convention.UNPACKED:
                    call.operands = [*call.operands, handle]
        if Convention.PACKED in conventions.values():
            kinds = [PtrType(StructType("AOTCFunctionEntry")), VOID_PTR, *PACKED_TYPES]
            op.body.block.add_op(FuncOp.external(CALL_PACKED, kinds, [i32]))


def _take_handle(kernel: FuncOp) -> None:
    given = contract.Argument(io="resource_handle")
    if not kernel.is_declaration:
        contract.append_argument(kernel, VOID_PTR, given, "resource_handle")
        return
    arguments, signature = [*contract.arguments_of(kernel), given], kernel.function_type
    kernel.properties["function_type"] = FunctionType.from_lists([*signature.inputs, VOID_PTR], [*signature.outputs])
    contract.set_arguments(kernel, arguments)


def _dtypes(kernel: FuncOp) -> list[DLType]:
    """The element types of a kernel's buffers, as users see them."""
    kinds = (cast(MemRefType[Attribute], kind) for kind in kernel.function_type.inputs)
    given = contract.arguments_of(kernel)
    return [DLType.of(each.dtype or kind.element_type) for each, kind in zip(given, kinds, strict=True)]


def _pack_call(
    packer: Packer, call: CallOp, dtypes: Sequence[DLType], handle: SSAValue | None, registry: str | None
) -> None:
    build = Builder(InsertPoint.before(call))
    status = packer.call(build, call, dtypes, handle, registry)
    made = status.owner
    assert isinstance(made, CallOp)
    made.location = call.location
    made.attributes |= call.attributes
    build.insert(CheckOp(status))
    Rewriter.erase_op(call)


def _pack_function(kernel: FuncOp, given: str) -> None:
    """Give `kernel` the packed signature, its arguments taken out of the structures and checked."""
    if kernel.is_declaration:
        declare_with_pointers(kernel)  # nothing but its name is called; this is for who defines it
        return
    dtypes = _dtypes(kernel)
    extents_of = used_extents(kernel)
    block = kernel.body.block
    done = arith.ConstantOp.from_int_and_width(0, 32)
    Rewriter.insert_op(done, InsertPoint.at_start(block))
    buffers = list(kernel.args)
    arguments = [block.insert_arg(kind, len(block.args)) for kind in PACKED_TYPES]
    for argument, name in zip(arguments, PACKED_NAMES, strict=True):
        argument.name_hint = name
    unpacker = Unpacker(Builder(InsertPoint.before(done)), arguments, len(buffers), given)
    for position, (buffer, extents) in enumerate(zip(buffers, extents_of, strict=True)):
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        pointer, sizes = unpacker.buffer(position, kind, dtypes[position], extents)
        pointer.name_hint = buffer.name_hint
        replace_buffer(buffer, pointer, sizes, done)
        block.erase_arg(buffer)
    last = block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [done.result]
    contract.set_signature(kernel, [contract.Argument() for _ in arguments], [i32])
