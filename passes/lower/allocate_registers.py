"""Give every value of bytecode a register, by liveness: values that are not alive at once may share one.

```mlir
vm.func @main(%x: !vm.reg) {
  %a = vm.call "f"(%x) : (!vm.reg) -> !vm.reg
  %b = vm.call "g"(%a, %a) : (!vm.reg, !vm.reg) -> !vm.reg
  vm.goto ^end(%b : !vm.reg)
^end(%r: !vm.reg):
```
becomes
```mlir
vm.func @main(%x: !vm.reg<0>) {
  %a = vm.call "f"(%x) : (!vm.reg<0>) -> !vm.reg<0>
  %b = vm.call "g"(%a, %a) : (!vm.reg<0>, !vm.reg<0>) -> !vm.reg<0>
  vm.goto ^end(%b : !vm.reg<0>)
^end(%r: !vm.reg<0>):
```
What is passed to a block in another register is moved there before the jump, as if all moves were made at once.

Values are coloured where they are defined, dominating definitions first, with the lowest register that nothing alive
has: in SSA form that takes as few registers as are alive at once (Hack, Grund, Goos: Register Allocation for Programs
in SSA-Form, 2006), but for the moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.vm import CallOp, FuncOp, GotoOp, RegisterType, register_of

_Values = frozenset[SSAValue]


@dataclass(frozen=True)
class AllocateRegistersPass(ModulePass):
    """See the module."""

    name = "allocate-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [each for each in op.walk() if isinstance(each, FuncOp)]:
            if any(register_of(argument) is not None for argument in function.args):
                continue  # it has registers already
            registers = _coloured(function)
            for value, register in registers.items():
                Rewriter.replace_value_with_new_type(value, RegisterType(register))
            spare = max(registers.values(), default=-1) + 1
            for goto in [each for each in function.walk() if isinstance(each, GotoOp)]:
                _move(goto, spare)


# --- liveness --------------------------------------------------------------------------------------------------------


def _coloured(function: FuncOp) -> dict[SSAValue, int]:
    """A register for each value in one."""
    blocks = _in_order(function)
    alive_in, alive_out = _alive(blocks)
    registers: dict[SSAValue, int] = {}

    def colour(value: SSAValue, alive: Iterable[SSAValue]) -> None:
        taken = {registers[other] for other in alive if other in registers}
        registers[value] = next(number for number in count() if number not in taken)

    for block in blocks:
        for argument in block.args:
            colour(argument, (*alive_in[block], *block.args))
        after = _alive_after(block, alive_out[block])
        for operation in block.ops:
            for result in operation.results:
                if isinstance(result.type, RegisterType):
                    colour(result, after[operation] - {result})
    return registers


def _in_order(function: FuncOp) -> list[Block]:
    """The blocks so that a block comes after those that dominate it: in reverse postorder; then those that nothing
    leads to."""
    first = function.body.blocks.first
    assert first is not None
    done: dict[Block, None] = {}
    met = {first}
    path = [(first, iter(_successors(first)))]
    while path:
        block, successors = path[-1]
        for successor in successors:
            if successor not in met:
                met.add(successor)
                path.append((successor, iter(_successors(successor))))
                break
        else:
            done[block] = None
            path.pop()
    return [*reversed(done), *(block for block in function.body.blocks if block not in done)]


def _successors(block: Block) -> Iterable[Block]:
    return block.last_op.successors if block.last_op is not None else ()


def _alive(blocks: list[Block]) -> tuple[Mapping[Block, _Values], Mapping[Block, _Values]]:
    """The values alive at the start of each block, its arguments left out, and at its end, those among them that are
    in no register, too: backward data flow until nothing changes."""
    alive_in: dict[Block, _Values] = dict.fromkeys(blocks, frozenset())
    alive_out: dict[Block, _Values] = dict.fromkeys(blocks, frozenset())
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            alive = frozenset[SSAValue]().union(*(alive_in[successor] for successor in _successors(block)))
            alive_out[block] = alive
            for operation in reversed(list(block.ops)):
                alive = alive.difference(operation.results).union(operation.operands)
            alive = alive.difference(block.args)
            changed |= alive != alive_in[block]
            alive_in[block] = alive
    return alive_in, alive_out


def _alive_after(block: Block, alive: _Values) -> dict[Operation, _Values]:
    """The values alive behind each operation of a block."""
    after: dict[Operation, _Values] = {}
    for operation in reversed(list(block.ops)):
        after[operation] = alive
        alive = alive.difference(operation.results).union(operation.operands)
    return after


# --- jumps -----------------------------------------------------------------------------------------------------------


def _move(goto: GotoOp, spare: int) -> None:
    """Move what a jump passes to the registers where its target has it; `spare` is one that nobody else uses."""
    build = Builder(InsertPoint.before(goto))
    passed = list(goto.arguments)
    pending = {
        place: (value, argument.type)
        for place, (value, argument) in enumerate(zip(goto.arguments, goto.target.args, strict=True))
        if value.type != argument.type
    }

    def move(value: SSAValue, to: RegisterType) -> SSAValue:
        made = build.insert(CallOp("vm.builtin.move", [value], to))
        made.location = goto.location
        assert made.result is not None
        return made.result

    while pending:
        read = {value.type for value, _ in pending.values()}
        free = next((place for place, (_, to) in pending.items() if to not in read), None)
        if free is None:  # each register is still to be read: a circle, which one more register opens
            value = next(iter(pending.values()))[0]
            copy = move(value, RegisterType(spare))
            pending = {
                each: (copy if other.type == value.type else other, target) for each, (other, target) in pending.items()
            }
            continue
        value, to = pending.pop(free)
        assert isinstance(to, RegisterType)
        passed[free] = move(value, to)
    goto.operands = passed
