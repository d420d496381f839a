"""Make the entry a function of the vm dialect: its calls of kernels, its control flow and its memory become bytecode.

```mlir
func.func @main(%x: memref<2x4xf32>, %y: memref<8xf32>) attributes {aot.entry} {
  %ws = aot.workspace : memref<64xi8>
  %c = arith.constant 32 : index
  %t = memref.view %ws[%c][] : memref<64xi8> to memref<8xf32>
  %w = aot.weight "w" : memref<8xf32>
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
  func.call @mul_0(%v, %w, %t) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  func.call @relu_0(%t, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
```
becomes
```mlir
vm.func @main(%x: !vm.reg, %y: !vm.reg) {
  %t = vm.place 32 : memref<8xf32>
  %w = vm.constant dense_resource<w> : tensor<8xf32>
  %v = vm.call "vm.builtin.view"(%x, %f32, %8) : (!vm.reg, !vm.inline, !vm.inline) -> !vm.reg
  vm.call "mul_0"(%v, %w, %t) : (!vm.reg, !vm.inline, !vm.inline) -> ()
  vm.call "relu_0"(%t, %y) : (!vm.inline, !vm.reg) -> ()
  vm.return %y : !vm.reg
}
```
It returns its first output, which it has as an argument like in C. An input whose type users see with a sign is viewed
as what kernels take. Before `plan-memory` buffers are allocated when the function runs, also those whose extents are
operands; `scf.if`, `scf.for` and `scf.while` become blocks, what they compute calls of built-in functions. With `keep`
the entry stays, and the function is called `main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Final

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseResourceAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects import vm
from aotc.dialects.aot import WeightOp, WorkspaceOp
from aotc.dialects.aot.contract import arguments_of, entry
from aotc.dialects.dtypes import byte_width, dtype_name, storage_type
from aotc.errors import CompileError, Problem
from aotc.model.locations import node_names

MAIN: Final = "main"

_ARITHMETIC: Final[dict[type[Operation], str]] = {arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul"}
"""Operations on integers that a built-in function computes, whatever their width: indices and conditions are small."""

_COMPARISONS: Final[dict[int, tuple[str, bool, bool]]] = {
    0: ("equal", False, False),
    1: ("equal", False, True),
    2: ("less", False, False),
    3: ("less", True, True),
    4: ("less", True, False),
    5: ("less", False, True),
}
"""The predicates of `arith.cmpi`: the built-in function, whether its operands change places, whether it is negated."""


@dataclass(frozen=True)
class ConvertEntryToVMPass(ModulePass):
    """See the module."""

    name = "convert-entry-to-vm"

    keep: bool = False
    """Whether the entry stays, too, beside a function that is called MAIN."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = entry(op)
        if self.keep:
            Rewriter.insert_op(_Conversion(main).function(MAIN), InsertPoint.after(main))
        else:
            Rewriter.replace_op(main, _Conversion(main).function(main.sym_name.data), [])


class _Conversion:
    """One function on its way: values of its body, and what stands for them."""

    def __init__(self, main: func.FuncOp) -> None:
        self._main = main
        self._values: dict[SSAValue, SSAValue] = {}
        self._places: dict[SSAValue, int] = {}
        """Buffers in the workspace: their bytes from its start."""
        self._output: SSAValue | None = None
        self._body = Region(Block(arg_types=[vm.REGISTER] * len(main.args)))
        self._build = Builder(InsertPoint.at_end(self._body.block))

    def function(self, name: str) -> vm.FuncOp:
        """The function of bytecode."""
        given = zip(self._main.args, self._body.block.args, arguments_of(self._main), strict=True)
        for old, new, argument in given:
            new.name_hint = old.name_hint
            self._values[old] = new
            if argument.io == "output" and self._output is None:
                self._output = new
            kind = old.type
            if isinstance(kind, MemRefType) and argument.dtype not in (None, dtype_name(_stored(kind).element_type)):
                self._values[old] = self._view(new, kind)
        self._convert(list(self._main.body.block.ops))
        made = vm.FuncOp(name, self._body)
        made.location = self._main.location
        return made

    # --- values ---

    def _immediate(self, value: int) -> SSAValue:
        return self._build.insert(vm.ImmediateOp(value)).result

    def _call(self, name: str, *arguments: SSAValue) -> SSAValue:
        made = self._build.insert(vm.CallOp(f"vm.builtin.{name}", arguments))
        assert made.result is not None
        return made.result

    def _kept(self, value: SSAValue) -> SSAValue:
        """`value` in a register."""
        return value if isinstance(value.type, vm.RegisterType) else self._call("move", value)

    def _dtype(self, kind: Attribute) -> SSAValue:
        return self._build.insert(vm.ConstantOp(kind)).result

    def _view(self, tensor: SSAValue, kind: MemRefType) -> SSAValue:
        extents = [self._immediate(extent) for extent in kind.get_shape()]
        return self._call("view", tensor, self._dtype(_stored(kind).element_type), *extents)

    # --- operations ---

    def _convert(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            self._operation(operation)

    def _operation(self, op: Operation) -> None:
        match op:
            case func.CallOp():
                self._kernel(op)
            case func.ReturnOp():
                self._return()
            case WeightOp():
                self._weight(op)
            case WorkspaceOp():
                self._places[op.result] = 0
            case memref.ViewOp():
                self._workspace_view(op)
            case memref.ReinterpretCastOp():
                self._reinterpret(op)
            case memref.AllocOp():
                self._allocate(op)
            case memref.LoadOp():
                self._load(op)
            case memref.DimOp():
                self._values[op.result] = self._call("extent", self._values[op.source], self._values[op.index])
            case arith.ConstantOp():
                self._constant(op)
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
                operands = [self._values[operand] for operand in op.operands]
                self._values[op.result] = self._call(_ARITHMETIC[type(op)], *operands)
            case arith.CmpiOp():
                self._compare(op)
            case arith.IndexCastOp():
                self._values[op.result] = self._values[op.input]
            case scf.IfOp():
                self._if(op)
            case scf.ForOp():
                self._for(op)
            case scf.WhileOp():
                self._while(op)
            case _:
                raise _unsupported(op, "bytecode has calls, jumps, and integers")

    def _weight(self, op: WeightOp) -> None:
        kind = op.result.type
        assert isinstance(kind, MemRefType)
        tensor = TensorType(_stored(kind).element_type, kind.get_shape())
        constant = vm.ConstantOp(DenseResourceAttr.from_params(op.key.data, tensor))
        self._values[op.result] = self._build.insert(constant).result

    def _workspace_view(self, op: memref.ViewOp) -> None:
        shift = op.byte_shift.owner
        if op.source not in self._places or not isinstance(shift, arith.ConstantOp):
            raise _unsupported(op, "it is a view of something else than the workspace")
        assert isinstance(shift.value, IntegerAttr)
        self._place(op.result, self._places[op.source] + shift.value.value.data)

    def _place(self, buffer: SSAValue, offset: int) -> None:
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        self._places[buffer] = offset
        self._values[buffer] = self._build.insert(vm.PlaceOp(offset, _stored(kind))).result
        self._values[buffer].name_hint = buffer.name_hint

    def _reinterpret(self, op: memref.ReinterpretCastOp) -> None:
        kind = op.result.type
        assert isinstance(kind, MemRefType)
        if not kind.has_static_shape() or not _is_contiguous(op, kind):
            raise _unsupported(op, "it is not the whole buffer in another shape")
        if op.source in self._places:
            self._place(op.result, self._places[op.source])
        else:
            self._values[op.result] = self._view(self._values[op.source], kind)

    def _allocate(self, op: memref.AllocOp) -> None:
        kind = op.memref.type
        assert isinstance(kind, MemRefType)
        sizes = iter(op.dynamic_sizes)
        known = [extent for extent in kind.get_shape() if extent != DYNAMIC_INDEX]
        extents = [
            self._immediate(extent) if extent != DYNAMIC_INDEX else self._values[next(sizes)]
            for extent in kind.get_shape()
        ]
        unknown = [each for each in extents if not isinstance(each.owner, vm.ImmediateOp)]
        size = reduce(
            lambda a, b: self._call("mul", a, b), unknown, self._immediate(prod(known) * byte_width(kind.element_type))
        )
        storage = self._call("alloc_storage", self._build.insert(vm.StateOp()).result, size)
        shape = self._call("make_shape", *extents)
        zero = self._immediate(0)
        self._values[op.memref] = self._call(
            "alloc_tensor", storage, zero, shape, self._dtype(_stored(kind).element_type)
        )

    def _constant(self, op: arith.ConstantOp) -> None:
        if not isinstance(op.value, IntegerAttr):
            raise _unsupported(op, "bytecode computes with integers only")
        value = op.value.value.data
        self._values[op.result] = self._immediate(abs(value) if op.value.type == i1 else value)

    def _compare(self, op: arith.CmpiOp) -> None:
        predicate = op.predicate.value.data
        if predicate not in _COMPARISONS:
            raise _unsupported(op, "it compares without signs")
        name, swapped, negated = _COMPARISONS[predicate]
        a, b = self._values[op.lhs], self._values[op.rhs]
        found = self._call(name, *((b, a) if swapped else (a, b)))
        self._values[op.result] = self._call("equal", found, self._immediate(0)) if negated else found

    def _load(self, op: memref.LoadOp) -> None:
        kind = op.memref.type
        assert isinstance(kind, MemRefType)
        if prod(kind.get_shape()) != 1:
            raise _unsupported(op, "bytecode reads tensors of one element only")
        self._values[op.res] = self._call("read", self._values[op.memref])

    def _kernel(self, op: func.CallOp) -> None:
        if op.results:
            raise _unsupported(op, "kernels write their results to buffers")
        operands = [self._values[operand] for operand in op.operands]
        made = self._build.insert(vm.CallOp(op.callee.string_value(), operands, None))
        made.location = op.location

    def _return(self) -> None:
        result = self._output if self._output is not None else self._kept(self._immediate(0))
        self._build.insert(vm.ReturnOp(result))

    # --- control flow ---

    def _block(self, arguments: int) -> Block:
        block = Block(arg_types=[vm.REGISTER] * arguments)
        self._body.add_block(block)
        return block

    def _go_on_in(self, block: Block) -> None:
        self._build = Builder(InsertPoint.at_end(block))

    def _goto(self, target: Block, values: Sequence[SSAValue]) -> None:
        self._build.insert(vm.GotoOp(target, [self._kept(self._values[value]) for value in values]))

    def _region(self, block: Block, arguments: Sequence[SSAValue]) -> Operation:
        """Convert a region of one block, its arguments standing for these values; returns its terminator."""
        self._values |= dict(zip(block.args, arguments, strict=True))
        last = block.last_op
        assert last is not None
        self._convert(list(block.ops)[:-1])
        return last

    def _if(self, op: scf.IfOp) -> None:
        then, otherwise, end = self._block(0), self._block(0), self._block(len(op.output))
        self._build.insert(vm.IfOp(self._kept(self._values[op.cond]), then, otherwise))
        for block, region in ((then, op.true_region), (otherwise, op.false_region)):
            self._go_on_in(block)
            yielded = self._region(region.block, ()).operands if region.blocks else ()
            self._goto(end, yielded)
        self._go_on_in(end)
        self._values |= dict(zip(op.output, end.args, strict=True))

    def _for(self, op: scf.ForOp) -> None:
        head, body, end = self._block(1 + len(op.res)), self._block(0), self._block(0)
        self._goto(head, [op.lb, *op.iter_args])
        self._go_on_in(head)
        more = self._call("less", head.args[0], self._values[op.ub])
        self._build.insert(vm.IfOp(more, body, end))
        self._go_on_in(body)
        last = self._region(op.body.block, head.args)
        following = self._call("add", self._values[op.body.block.args[0]], self._values[op.step])
        carried = [self._kept(self._values[value]) for value in last.operands]
        self._build.insert(vm.GotoOp(head, [following, *carried]))
        self._go_on_in(end)
        self._values |= dict(zip(op.res, head.args[1:], strict=True))

    def _while(self, op: scf.WhileOp) -> None:
        head, body, end = self._block(len(op.arguments)), self._block(0), self._block(0)
        self._goto(head, op.arguments)
        self._go_on_in(head)
        condition = self._region(op.before_region.block, head.args)
        assert isinstance(condition, scf.ConditionOp)
        passed = [self._kept(self._values[value]) for value in condition.args]
        self._build.insert(vm.IfOp(self._kept(self._values[condition.condition]), body, end))
        self._go_on_in(body)
        self._goto(head, self._region(op.after_region.block, passed).operands)
        self._go_on_in(end)
        self._values |= dict(zip(op.res, passed, strict=True))


def _stored(kind: MemRefType) -> MemRefType:
    """A buffer as kernels take it: of elements without a sign."""
    return MemRefType(storage_type(kind.element_type), kind.get_shape())


def _is_contiguous(op: memref.ReinterpretCastOp, kind: MemRefType) -> bool:
    """Whether the result is the whole of a buffer without gaps, from its start."""
    source = op.source.type
    assert isinstance(source, MemRefType)
    shape = kind.get_shape()
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    given = (tuple(op.static_offsets.get_values()), tuple(op.static_strides.get_values()))
    return given == ((0,), tuple(strides)) and prod(source.get_shape()) == prod(shape)


def _unsupported(op: Operation, why: str) -> CompileError:
    nodes = ", ".join(node_names(op.location))
    return CompileError(Problem("it has no form in bytecode", nodes, op.name, why, "compile the entry to code"))
