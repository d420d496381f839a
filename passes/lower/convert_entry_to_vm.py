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
  vm.call "vm.builtin.match_tensor"(%x, %f32, %2, %4) : (!vm.reg, !vm.inline, !vm.inline, !vm.inline) -> ()
  vm.call "vm.builtin.match_tensor"(%y, %f32, %8) : (!vm.reg, !vm.inline, !vm.inline) -> ()
  %v = vm.call "vm.builtin.view"(%x, %0, %f32, %8) : (!vm.reg, !vm.inline, !vm.inline, !vm.inline) -> !vm.reg
  vm.call "mul_0"(%v, %w, %t) : (!vm.reg, !vm.inline, !vm.inline) -> ()
  vm.call "relu_0"(%t, %y) : (!vm.inline, !vm.reg) -> ()
  vm.return %y : !vm.reg
}
```
It returns its first output, which it has as an argument like in C, and looks at its arguments first. Tensors have the
element types that kernels say they take: memory does not tell signs. What takes memory until the function returns is
made once: views in loops have room of their own for one at a time. Before `plan-memory` buffers are allocated when the
function runs, also those whose extents are operands; `scf.if`, `scf.for` and `scf.while` become blocks, what they
compute calls of built-in functions. With `keep` the entry stays, and the function is called `main`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    IntegerType,
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
from aotc.dialects.aot.contract import Argument, arguments_of, entry
from aotc.dialects.dtypes import byte_width, element_type
from aotc.errors import CompileError
from aotc.model.locations import node_names

MAIN: Final = "main"

_ARITHMETIC: Final = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MaxSIOp, arith.MinSIOp, arith.AndIOp)
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
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, func.FuncOp)}
        made = _Conversion(main, functions).function(MAIN if self.keep else main.sym_name.data)
        if self.keep:
            Rewriter.insert_op(made, InsertPoint.after(main))
        else:
            Rewriter.replace_op(main, made, [])


class _Conversion:
    """One function on its way: values of its body, and what stands for them."""

    def __init__(self, main: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
        self._main = main
        self._functions = functions
        self._values: dict[SSAValue, SSAValue] = {}
        """Integers, and buffers that are in registers."""
        self._elements: dict[SSAValue, Attribute] = {}
        """The element types of buffers in registers, where they are known."""
        self._places: dict[SSAValue, int] = {}
        """Buffers in the workspace: their bytes from its start."""
        self._weights: dict[SSAValue, str] = {}
        self._output: SSAValue | None = None
        self._body = Region(Block(arg_types=[vm.REGISTER] * len(main.args)))
        self._constants: dict[tuple[Attribute, ...], vm.PlaceOp | vm.ConstantOp] = {}
        """Places and weights, which are made once, at the head of the function."""
        self._copies: dict[SSAValue, SSAValue] = {}
        """Places and constants in registers, which are moved there once."""
        self._head: list[Operation] = []
        """Work that the function does once, behind those."""
        self._loops = 0
        """How many loops the operation at hand is in."""
        self._first = self._body.block
        self._build = Builder(InsertPoint.at_end(self._first))

    def function(self, name: str) -> vm.FuncOp:
        """The function of bytecode."""
        given = zip(self._main.args, self._first.args, arguments_of(self._main), strict=True)
        for old, new, argument in given:
            new.name_hint = old.name_hint
            self._values[old] = new
            if argument.io == "output" and self._output is None:
                self._output = new
            if isinstance(kind := old.type, MemRefType):
                self._elements[old] = kind.element_type if argument.dtype is None else element_type(argument.dtype)
                if argument.io in ("input", "output") and kind.has_static_shape():
                    dtype, *extents = vm.ConstantOp(self._elements[old]), *map(vm.ImmediateOp, kind.get_shape())
                    given_as = [new, dtype.result, *(extent.result for extent in extents)]
                    self._head += [dtype, *extents, vm.CallOp("vm.builtin.match_tensor", given_as, None)]
        for op in list(self._main.body.block.ops):
            self._operation(op)
        Rewriter.insert_op([*self._constants.values(), *self._head], InsertPoint.at_start(self._first))
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

    def _copy(self, value: SSAValue) -> SSAValue:
        """`value` in a register."""
        if isinstance(value.type, vm.RegisterType):
            return value
        if not isinstance(value.owner, vm.PlaceOp | vm.ConstantOp):
            return self._call("move", value)
        if value not in self._copies:
            self._copies[value] = self._at_head(vm.CallOp("vm.builtin.move", [value]))
        return self._copies[value]

    def _at_head(self, call: vm.CallOp) -> SSAValue:
        self._head.append(call)
        assert call.result is not None
        return call.result

    def _dtype(self, kind: Attribute) -> SSAValue:
        return self._build.insert(vm.ConstantOp(kind)).result

    def _view(
        self,
        tensor: SSAValue,
        element: Attribute,
        kind: MemRefType,
        offset: SSAValue | None = None,
        *,
        again: bool = False,
    ) -> SSAValue:
        """A view of a tensor; if `again`, in the room of the one before."""
        start = self._immediate(0) if offset is None else offset
        dtype = self._dtype(element)
        extents = [self._immediate(extent) for extent in kind.get_shape()]
        if not again:
            return self._call("view", tensor, start, dtype, *extents)
        rank = vm.ImmediateOp(len(extents))
        self._head.append(rank)
        room = self._at_head(vm.CallOp("vm.builtin.alloc_view", [rank.result]))
        return self._call("view_in", room, tensor, start, dtype, *extents)

    def _buffer(self, buffer: SSAValue, element: Attribute | None = None) -> SSAValue:
        """A buffer as a tensor of elements of this type, of its own if none is given."""
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        wanted = kind.element_type if element is None else element
        if buffer in self._places:
            return self._once(vm.PlaceOp(self._places[buffer], MemRefType(wanted, kind.get_shape())), buffer)
        if buffer in self._weights:
            tensor = TensorType(wanted, kind.get_shape())
            return self._once(vm.ConstantOp(DenseResourceAttr.from_params(self._weights[buffer], tensor)), buffer)
        found = self._values[buffer]
        if element is None or self._elements.get(buffer) == element or not kind.has_static_shape():
            return found
        return self._view(found, wanted, kind, again=self._loops > 0)

    def _once(self, op: vm.PlaceOp | vm.ConstantOp, named: SSAValue) -> SSAValue:
        """The value of an operation without operands that will be at the head, or of an equal one."""
        key = tuple(op.properties.values())
        if key not in self._constants:
            op.result.name_hint = named.name_hint
            self._constants[key] = op
        return self._constants[key].result

    # --- operations ---

    def _operation(self, op: Operation) -> None:
        match op:
            case func.CallOp():
                self._kernel(op)
            case func.ReturnOp():
                self._return()
            case WeightOp():
                self._weights[op.result] = op.key.data
            case WorkspaceOp():
                self._places[op.result] = 0
            case memref.ViewOp():
                self._workspace_view(op)
            case memref.ReinterpretCastOp():
                self._reinterpret(op)
            case memref.AllocOp():
                self._allocate(op)
            case memref.LoadOp():
                self._values[op.res] = self._call("read", self._element(op, op.memref))
            case memref.StoreOp():
                element = self._element(op, op.memref)
                self._build.insert(vm.CallOp("vm.builtin.write", [element, self._values[op.value]], None))
            case memref.DimOp():
                self._values[op.result] = self._call("extent", self._buffer(op.source), self._values[op.index])
            case arith.ConstantOp():
                self._constant(op)
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
            case _ if type(op) in _ARITHMETIC:
                operands = [self._values[operand] for operand in op.operands]
                self._values[op.results[0]] = self._call(op.name.removeprefix("arith.")[:3], *operands)
            case _:
                raise _unsupported(op, "bytecode has calls, jumps, and integers")

    def _workspace_view(self, op: memref.ViewOp) -> None:
        shift = op.byte_shift.owner
        if op.source not in self._places or not isinstance(shift, arith.ConstantOp):
            raise _unsupported(op, "it is a view of something else than the workspace")
        assert isinstance(shift.value, IntegerAttr)
        self._places[op.result] = self._places[op.source] + shift.value.value.data

    def _reinterpret(self, op: memref.ReinterpretCastOp) -> None:
        kind = op.result.type
        assert isinstance(kind, MemRefType)
        if not kind.has_static_shape() or not _is_contiguous(op, kind):
            raise _unsupported(op, "it is not a contiguous part of a buffer")
        width, known = byte_width(kind.element_type), not op.offsets
        if known and op.source in self._places:
            self._places[op.result] = self._places[op.source] + op.static_offsets.get_values()[0] * width
            return
        element = self._elements.get(op.source, kind.element_type)
        if known:
            start = self._immediate(op.static_offsets.get_values()[0] * width)
        else:
            start = self._call("mul", self._values[op.offsets[0]], self._immediate(width))
        again = self._loops > 0 and not _outlives_iteration(op.result)
        self._values[op.result] = self._view(self._buffer(op.source), element, kind, start, again=again)
        self._elements[op.result] = element

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
        self._values[op.memref] = self._call("alloc_tensor", storage, zero, shape, self._dtype(kind.element_type))

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

    def _element(self, op: Operation, buffer: SSAValue) -> SSAValue:
        """The tensor of one element that an operation reads or writes."""
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        if prod(kind.get_shape()) != 1 or not isinstance(kind.element_type, IntegerType):
            raise _unsupported(op, "bytecode reads and writes tensors of one integer only")
        return self._buffer(buffer)

    def _kernel(self, op: func.CallOp) -> None:
        if op.results:
            raise _unsupported(op, "kernels write their results to buffers")
        declared = self._functions.get(op.callee.string_value())
        given = arguments_of(declared) if declared is not None else [Argument() for _ in op.operands]
        operands = [self._operand(operand, each) for operand, each in zip(op.operands, given, strict=True)]
        made = self._build.insert(vm.CallOp(op.callee.string_value(), operands, None))
        made.location = op.location

    def _operand(self, value: SSAValue, argument: Argument) -> SSAValue:
        if not isinstance(kind := value.type, MemRefType):
            return self._values[value]
        return self._buffer(value, kind.element_type if argument.dtype is None else element_type(argument.dtype))

    def _value(self, value: SSAValue) -> SSAValue:
        return self._buffer(value) if isinstance(value.type, MemRefType) else self._values[value]

    def _return(self) -> None:
        result = self._output if self._output is not None else self._copy(self._immediate(0))
        self._build.insert(vm.ReturnOp(result))

    # --- control flow ---

    def _block(self, arguments: int) -> Block:
        block = Block(arg_types=[vm.REGISTER] * arguments)
        self._body.add_block(block)
        return block

    def _go_on_in(self, block: Block) -> None:
        self._build = Builder(InsertPoint.at_end(block))

    def _goto(self, target: Block, values: Sequence[SSAValue]) -> None:
        self._build.insert(vm.GotoOp(target, [self._copy(self._value(value)) for value in values]))

    def _region(self, block: Block, arguments: Sequence[SSAValue]) -> Operation:
        """Convert a region of one block, its arguments standing for these values; returns its terminator."""
        self._values |= dict(zip(block.args, arguments, strict=True))
        last = block.last_op
        assert last is not None
        for op in list(block.ops)[:-1]:
            self._operation(op)
        return last

    def _if(self, op: scf.IfOp) -> None:
        then, otherwise, end = self._block(0), self._block(0), self._block(len(op.output))
        self._build.insert(vm.IfOp(self._copy(self._values[op.cond]), then, otherwise))
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
        self._loops += 1
        last = self._region(op.body.block, head.args)
        following = self._call("add", self._values[op.body.block.args[0]], self._values[op.step])
        carried = [self._copy(self._value(value)) for value in last.operands]
        self._loops -= 1
        self._build.insert(vm.GotoOp(head, [following, *carried]))
        self._go_on_in(end)
        self._values |= dict(zip(op.res, head.args[1:], strict=True))

    def _while(self, op: scf.WhileOp) -> None:
        head, body, end = self._block(len(op.arguments)), self._block(0), self._block(0)
        self._goto(head, op.arguments)
        self._go_on_in(head)
        self._loops += 1
        condition = self._region(op.before_region.block, head.args)
        assert isinstance(condition, scf.ConditionOp)
        passed = [self._copy(self._value(value)) for value in condition.args]
        self._build.insert(vm.IfOp(self._copy(self._values[condition.condition]), body, end))
        self._go_on_in(body)
        self._goto(head, self._region(op.after_region.block, passed).operands)
        self._loops -= 1
        self._go_on_in(end)
        self._values |= dict(zip(op.res, passed, strict=True))


def _outlives_iteration(value: SSAValue) -> bool:
    """Whether a value of a loop's body is handed on to the next iteration, or out of the loop."""
    for use in value.uses:
        parent = use.operation.parent_op()
        if isinstance(use.operation, scf.YieldOp) and isinstance(parent, scf.IfOp):
            if _outlives_iteration(parent.results[use.index]):
                return True
        elif isinstance(use.operation, scf.YieldOp | scf.ConditionOp | scf.WhileOp | scf.ForOp):
            return True
    return False


def _is_contiguous(op: memref.ReinterpretCastOp, kind: MemRefType) -> bool:
    """Whether the result has no gaps; strides of axes of one element say nothing."""
    shape, strides = kind.get_shape(), op.static_strides.get_values()
    expected = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    given = zip(shape, strides, expected, strict=True)
    return all(size == 1 or a == b for size, a, b in given)


def _unsupported(op: Operation, why: str) -> CompileError:
    nodes = ", ".join(node_names(op.location))
    what = "it has no form in bytecode"
    return CompileError("no-form-in-bytecode", what, why, "compile the entry to code", nodes, op.name)
