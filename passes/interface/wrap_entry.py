"""Add what the application sees: the entry in the convention that was asked for, and the descriptor of the model.

```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>, %resource_handle: !aot.ptr<i8>) -> i32
    attributes {aot.entry, aot.convention = #aot<convention micro>} { .. }
```
becomes, for `micro` (for `packed` the wrapper takes argument structures apart and checks them),
```mlir
func.func private @aotc_kws_run(..) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} { .. }
func.func @aotc_kws_run_micro(%inputs: !aot.ptr<!aot.ptr<i8>>, %outputs: .., %resource_handle: !aot.ptr<i8>) -> i32 {
  %0 = aot.element %inputs[0] : ..
  ..
  %s = func.call @aotc_kws_run(%x, %y, %resource_handle) : ..
  func.return %s
}
aot.global @aotc_kws_model_micro : !aot.struct<"AOTCTypedModel"> = [[@aotc_kws_run_micro, 1 : i32, 1 : i32]]
```
Extents that are open and used are those of the DLTensors; without these, of `micro`, they are an error.
A caller's workspace and weights come behind the tensors: further elements of `inputs`, further packed arguments.
A packed model also gets its metadata as tables, and a table of its packed functions by name. `packed-wrapper` adds the
packed entry to a model with a typed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot import VOID_PTR, Convention, ElementOp, GlobalOp, PtrCastOp, PtrType, StructType, integers
from aotc.dialects.aot.contract import (
    CONVENTION,
    Argument,
    arguments_of,
    entry,
    kernels,
    model_name,
    set_signature,
    tensors_of,
)
from aotc.errors import CompileError
from aotc.model.conventions import entry_symbol, model_symbol, operator_symbol
from aotc.passes.interface.metadata_tables import add_metadata
from aotc.passes.interface.packing import PACKED_NAMES, PACKED_TYPES, DLType, Unpacker

_HANDLES: Final = PtrType(VOID_PTR)
_CALLER_MEMORY: Final = {"workspace": 1, "weights": 2}
"""The bits of the descriptor's `caller_memory` (kAOTCCallerWorkspace, kAOTCCallerWeights)."""


@dataclass(frozen=True)
class WrapEntryPass(ModulePass):
    name = "wrap-entry"

    packed_wrapper: bool = False
    """Also export a packed entry and its descriptor, so that what calls packed models can call this one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = entry(op)
        chosen = CONVENTION.get(main)
        CONVENTION.set(main, Convention.C)
        if chosen is Convention.C:
            _describe_typed(op, main, "c")
        else:
            main.properties["sym_visibility"] = StringAttr("private")
        if chosen is Convention.MICRO:
            _wrap(op, main, "micro", (_HANDLES, _HANDLES, VOID_PTR), ("inputs", "outputs", "resource_handle"), _micro)
            _describe_typed(op, main, "micro")
        if chosen is Convention.PACKED_ENTRY or self.packed_wrapper:
            _wrap(op, main, "packed", PACKED_TYPES, PACKED_NAMES, _packed)
            _describe_packed(op, main)


_Arguments = Callable[[Builder, FuncOp, Sequence[SSAValue]], list[SSAValue]]
"""Makes the arguments of the typed entry out of the wrapper's."""


def _wrap(
    module: ModuleOp,
    main: FuncOp,
    interface: str,
    kinds: Sequence[Attribute],
    names: Sequence[str],
    arguments_of: _Arguments,
) -> None:
    """Add the public function of `interface` that calls `main`."""
    wrapper = FuncOp(entry_symbol(model_name(module), interface), (kinds, [i32]))
    CONVENTION.set(wrapper, Convention.of_entry(interface))
    block = wrapper.body.block
    for argument, name in zip(block.args, names, strict=True):
        argument.name_hint = name
    set_signature(wrapper, [Argument(name=name) for name in names], [i32])
    build = Builder(InsertPoint.at_end(block))
    status = build.insert(CallOp(main.sym_name.data, arguments_of(build, main, block.args), [i32])).results[0]
    build.insert(ReturnOp(status))
    module.body.block.add_op(wrapper)


def _micro(build: Builder, main: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    inputs, outputs, handle = arguments
    taken = {"input": 0, "output": 0}
    passed: list[SSAValue] = []
    for argument, given in zip(main.args, arguments_of(main), strict=True):
        if given.io == "resource_handle":
            passed.append(handle)
            continue
        if given.dimension is not None:
            what, why = f"an extent of {main.sym_name.data} that is open", "pointers do not carry it"
            raise CompileError("open-shapes", what, why, "use the interface c or packed")
        side = "output" if given.io == "output" else "input"
        pointer = build.insert(ElementOp(outputs if side == "output" else inputs, taken[side])).result
        passed.append(_cast(build, pointer, argument.type))
        taken[side] += 1
    return passed


def _packed(build: Builder, main: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    attributes = arguments_of(main)
    given_packed = [each for each in attributes if each.io != "resource_handle" and each.dimension is None]
    unpacker = Unpacker(build, arguments, len(given_packed))
    positions = iter(range(len(given_packed)))
    passed: list[SSAValue] = []
    extents: dict[int, SSAValue] = {}
    for place, (argument, given) in enumerate(zip(main.args, attributes, strict=True)):
        if given.io == "resource_handle":
            passed.append(arguments[-1])
        elif given.dimension is not None:
            passed.append(build.insert(IndexCastOp(extents[given.dimension], i32)).result)
        elif given.io in ("input", "output"):
            assert isinstance(argument.type, PtrType)
            tensor, pointee = given.tensor(), argument.type.pointee
            following = takewhile(lambda each: each is not None, (each.dimension for each in attributes[place + 1 :]))
            used = [dimension for dimension in following if dimension is not None]
            data, extents = unpacker.tensor(next(positions), tensor.shape, DLType.of(tensor.dtype), pointee, used)
            passed.append(data)
        else:
            passed.append(unpacker.pointer(next(positions), given.align or 1))
    return passed


def _cast(build: Builder, pointer: SSAValue, kind: Attribute) -> SSAValue:
    assert isinstance(kind, PtrType)
    return pointer if pointer.type == kind else build.insert(PtrCastOp(pointer, kind)).result


# --- descriptors -----------------------------------------------------------------------------------------------------


def _counts(main: FuncOp) -> list[Attribute]:
    """The numbers of inputs and outputs."""
    io = [tensor.io for tensor in tensors_of(main)]
    return integers(i32, io.count("input"), io.count("output"))


def _describe_typed(module: ModuleOp, main: FuncOp, interface: str) -> None:
    name = model_name(module)
    row = ArrayAttr([SymbolRefAttr(entry_symbol(name, interface)), *_counts(main)])
    module.body.block.add_op(GlobalOp(model_symbol(name, interface), StructType("AOTCTypedModel"), [row], None))


def _describe_packed(module: ModuleOp, main: FuncOp) -> None:
    """The descriptor, the metadata, and the table of packed functions: entry, operators by name, get_model_metadata."""
    name = model_name(module)
    run, functions = entry_symbol(name, "packed"), operator_symbol(name, "functions")
    metadata, getter = add_metadata(module, main, run)
    packed = [kernel for kernel in kernels(module) if CONVENTION.get(kernel) is Convention.PACKED]
    operators = [kernel.sym_name.data for kernel in packed if not kernel.is_declaration]
    rows = [("run", run), ("get_model_metadata", getter), *((symbol, symbol) for symbol in operators)]
    table = [ArrayAttr([StringAttr(key), SymbolRefAttr(symbol)]) for key, symbol in rows]
    end = ArrayAttr([UnitAttr(), UnitAttr()])
    block = module.body.block
    block.add_op(GlobalOp(functions, StructType("AOTCFunctionEntry"), [*table, end]))
    io = [given.io for given in arguments_of(main)]
    memory = integers(i32, sum(bit for what, bit in _CALLER_MEMORY.items() if what in io))
    row = ArrayAttr([SymbolRefAttr(run), *_counts(main), *memory, SymbolRefAttr(metadata), SymbolRefAttr(functions)])
    block.add_op(GlobalOp(model_symbol(name, "packed"), StructType("AOTCModel"), [row], None))
