"""Convert the module of the `interface` phase to the llvm dialect, for one target.

`attach-target{target=cortex-m4},convert-to-llvm`:
```mlir
func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 {
  %a = aot.buffer %x : !aot.ptr<f32> to memref<4x8xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a[%i, %c2] : memref<4x8xf32>
    ...
```
becomes
```mlir
llvm.func @aotc_m_run(%x: !llvm.ptr {llvm.noalias, llvm.readonly, llvm.dereferenceable = 128}, %y: ...) -> i32 {
  llvm.br ^for(%c0 : i32)
^for(%i: i32):
  %more = llvm.icmp "slt" %i, %c4 : i32
  llvm.cond_br %more, ^body, ^done
^body:
  %0 = llvm.mul %i, %c8 overflow<nsw> : i32
  %1 = llvm.add %0, %c2 overflow<nsw> : i32
  %2 = llvm.getelementptr inbounds %x[%1] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %v = llvm.load %2 {alignment = 4} : !llvm.ptr -> f32
  ...
```
Embedded weights become one constant without contents whose attribute `aot.weights` says which array of the WeightStore
lies where; the workspace becomes a zero-initialised global. Without a target, code is 64-bit and fits every processor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from aotc.dialects import aot, vm
from aotc.dialects.aot.contract import TARGET
from aotc.dialects.aot.tiles import computes_narrow
from aotc.dialects.operations import walk
from aotc.errors import CompileError, Problem
from aotc.machines.targets import lookup
from aotc.passes.lower import arith, control, memory, tiles
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.module import ModuleLowering, ModuleOptions

LOWERINGS: Lowerings = {
    **control.LOWERINGS,
    **arith.LOWERINGS,
    **memory.LOWERINGS,
    **tiles.LOWERINGS,
}
"""Every operation of the interface phase inside functions."""


@dataclass(frozen=True)
class ConvertToLLVMPass(ModulePass):
    """See the module."""

    name = "convert-to-llvm"

    index_bitwidth: int | None = None
    """Bits of an index; the target's pointer width if not given."""
    optimize_size: bool = False
    weights_section: str | None = None
    workspace_section: str | None = None
    """Linker sections of the embedded weights and of the workspace."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        converted = self.convert(op, TARGET.get(op))
        for each in list(op.ops):
            each.detach()
        op.attributes = dict(converted.attributes)
        for each in list(converted.ops):
            each.detach()
            op.body.block.add_op(each)

    def convert(self, module: ModuleOp, target: str | None, only: Collection[Operation] | None = None) -> ModuleOp:
        """A new module for a target, or for any; the given one stays as it is. Raises CompileError that lists what has
        no lowering.

        Of `only` some operations of the module: for an object of their own, in which other functions are declared, and
        kernels are hidden symbols, which the other objects of the library see.
        """
        chosen = None if only is None else set(only)
        wanted = [each for each in module.ops if chosen is None or each in chosen]
        _require_supported(wanted)
        options = ModuleOptions(
            None if target is None else lookup(target),
            self.index_bitwidth,
            self.optimize_size,
            self.weights_section,
            self.workspace_section,
        )
        lowering = ModuleLowering(module, options)
        apart = only is not None
        functions = [
            FunctionLowering(lowering, each, LOWERINGS).lower(apart) for each in wanted if isinstance(each, func.FuncOp)
        ]
        if apart:
            functions += [FunctionLowering(lowering, each, LOWERINGS).declare() for each in _others(module, wanted)]
        tables = [lowering.table(each) for each in wanted if isinstance(each, aot.GlobalOp)]
        made = [*lowering.globals(), *tables, *lowering.helpers.functions.values(), *functions]
        return ModuleOp([*made, *lowering.declarations.values()], lowering.attributes)


def _others(module: ModuleOp, wanted: Iterable[Operation]) -> list[func.FuncOp]:
    """The functions that `wanted` of a module mention and are not among them."""
    chosen = set(wanted)
    mentioned = {op.callee.string_value() for one in chosen for op in walk(one) if isinstance(op, func.CallOp)}
    for table in chosen:
        if isinstance(table, aot.GlobalOp):
            mentioned |= {each.string_value() for each in _symbols(table.values)}
    functions = [each for each in module.ops if isinstance(each, func.FuncOp) and each not in chosen]
    return [each for each in functions if each.sym_name.data in mentioned]


def _symbols(value: Attribute) -> Iterator[SymbolRefAttr]:
    """The symbols in a value of a table."""
    if isinstance(value, SymbolRefAttr):
        yield value
    elif isinstance(value, ArrayAttr):
        for each in cast("ArrayAttr[Attribute]", value):
            yield from _symbols(each)


def _require_supported(wanted: Iterable[Operation]) -> None:
    structure = (func.FuncOp, scf.YieldOp, scf.ConditionOp, aot.GlobalOp)
    unknown = {
        f"{op.name} of f16 or bf16" if computes_narrow(op) else op.name
        for function in wanted
        if not isinstance(function, vm.FuncOp)  # bytecode, which is no machine code
        for op in walk(function)
        if (type(op) not in LOWERINGS and not isinstance(op, structure)) or computes_narrow(op)
    }
    if unknown:
        raise CompileError(
            [Problem("no-form-in-llvm", f"{name} cannot be lowered to LLVM") for name in sorted(unknown)]
        )
