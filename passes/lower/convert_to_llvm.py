"""Convert the module of the `interface` phase to the llvm dialect, for one target.

`convert-to-llvm{target=cortex-m4}`:
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

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects import aot, vm
from aotc.errors import CompileError, Problem
from aotc.machines.targets import lookup
from aotc.passes.lower import arith, control, dots, lookups, math, memory, narrowing, tiles, words
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.module import ModuleLowering, ModuleOptions

LOWERINGS: Lowerings = {
    **control.LOWERINGS,
    **arith.LOWERINGS,
    **math.LOWERINGS,
    **memory.LOWERINGS,
    **tiles.LOWERINGS,
    **words.LOWERINGS,
    **dots.LOWERINGS,
    **lookups.LOWERINGS,
    **narrowing.LOWERINGS,
}
"""Every operation of the interface phase inside functions."""


@dataclass(frozen=True)
class ConvertToLLVMPass(ModulePass):
    """See the module."""

    name = "convert-to-llvm"

    target: str | None = None
    """A target in the syntax of `--target`."""
    index_bitwidth: int | None = None
    """Bits of an index; the target's pointer width if not given."""
    optimize_size: bool = False
    weights_section: str | None = None
    workspace_section: str | None = None
    """Linker sections of the embedded weights and of the workspace."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        converted = self.convert(op)
        for each in list(op.ops):
            each.detach()
        op.attributes = dict(converted.attributes)
        for each in list(converted.ops):
            each.detach()
            op.body.block.add_op(each)

    def convert(self, module: ModuleOp) -> ModuleOp:
        """A new module; the given one stays as it is. Raises CompileError that lists what has no lowering."""
        _require_supported(module)
        options = ModuleOptions(
            None if self.target is None else lookup(self.target),
            self.index_bitwidth,
            self.optimize_size,
            self.weights_section,
            self.workspace_section,
        )
        lowering = ModuleLowering(module, options)
        functions = [
            FunctionLowering(lowering, each, LOWERINGS).lower() for each in module.ops if isinstance(each, func.FuncOp)
        ]
        tables = [lowering.table(each) for each in module.ops if isinstance(each, aot.GlobalOp)]
        parts = [*lowering.globals(), *tables, *lowering.helpers.functions.values(), *functions]
        return ModuleOp([*parts, *lowering.declarations.values()], lowering.attributes)


def _require_supported(module: ModuleOp) -> None:
    unknown = {
        op.name
        for function in module.ops
        if not isinstance(function, vm.FuncOp)  # bytecode, which is no machine code
        for op in function.walk()
        if type(op) not in LOWERINGS and not isinstance(op, func.FuncOp | scf.YieldOp | scf.ConditionOp | aot.GlobalOp)
    }
    if unknown:
        raise CompileError([Problem(f"{name} cannot be lowered to LLVM") for name in sorted(unknown)])
