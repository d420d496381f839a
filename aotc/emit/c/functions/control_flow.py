"""Loops and conditionals of a C function.

A loop-carried value is a mutable local, shared by the nested loops and conditionals that hand it on; a conditional of
short sides is an expression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from aotc.emit.c.analyses.values import concerns, is_vector
from aotc.emit.c.contents.unit import Unit
from aotc.emit.c.expressions.scalars import supports
from aotc.emit.c.functions.scope import INLINE, FunctionScope
from aotc.emit.c.syntax.c_types import BOOL, CType, ctype_of
from aotc.emit.c.syntax.expr import Expr, Level, binary, call, name_expr, negated
from aotc.emit.c.syntax.text import WIDTH

_TERNARY_OPERATIONS = 12
"""The most operations in both sides of a conditional expression."""


class ControlFlow(FunctionScope):
    """Prints structured control flow."""

    def __init__(self, unit: Unit, function: func.FuncOp) -> None:
        super().__init__(unit, function)
        self._loops = 0

    @abstractmethod
    def _operation(self, op: Operation) -> None:
        """Print one operation, or keep its expression for its use."""

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op not in self._dead and not isinstance(op, scf.YieldOp | scf.ConditionOp):
                self._operation(op)

    # Loops

    def _for(self, op: scf.ForOp) -> None:
        self._flush_region(op)
        for position, initial in enumerate(op.iter_args):
            self._carry(op, position, initial)
        step = self._compose(lambda: self.scalars.signed(op.step))
        low = self._compose(lambda: self.scalars.signed(op.lb))
        high = self._compose(lambda: self.scalars.signed(op.ub))
        if high.reads or high.variables:
            high = self._compose(lambda: self.scalars.signed(op.ub, atom=True))
        if any(map(is_vector, op.iter_args)) and _is_short(low, high, step):
            high = self.temporary(call(self.helper(f"aotc_opaque_i{self.index.bits}"), high, ctype=self.index))
        body = op.body.block
        lines, self._lines = self._lines, []
        with self._scope():
            variable = body.args[0]
            ctype = ctype_of(variable.type, self.index)
            name = self._name(variable.name_hint or self._loop_name())
            self._values[variable] = name_expr(name, ctype)
            self._loops += 1
            self._block(body)
            self._assign(body, [self._values[argument] for argument in body.args[1:]])
            self._loops -= 1
        inside, self._lines = self._lines, lines
        increment = f"++{name}" if step.text == "1" else f"{name} += {step.text}"
        bound = binary("<", name_expr(name, ctype), high, BOOL).text
        self._emit(f"for ({ctype.declare(name)} = {low.text}; {bound}; {increment}) {{")
        self._lines.extend(inside)
        self._emit("}")

    def _while(self, op: scf.WhileOp) -> None:
        """`while (condition) {`; where the first region is more than an expression, the condition is tested inside."""
        self._flush_region(op)
        before, body = op.before_region.block, op.after_region.block
        targets: list[Expr] = []
        for initial, argument in zip(op.arguments, before.args, strict=True):
            ctype = ctype_of(argument.type, self.index)
            start = self._compose(lambda v=initial, t=ctype: self._assigned(v, t))
            targets.append(self._local(ctype, argument.name_hint or self._fresh("i"), start))
        condition = cast(scf.ConditionOp, before.last_op)
        assert tuple(condition.args) == tuple(before.args), "a while loop hands on its arguments"
        self._values.update(zip((*before.args, *body.args, *op.results), targets * 3, strict=True))
        lines, self._lines = self._lines, []
        with self._scope():
            self._block(before)
            test = self._compose(lambda: self.operand(condition.condition))
            tested, self._lines = self._lines, []
            if tested:
                self._leave_if(negated(test), "break;")
            self._loops += 1
            self._block(body)
            self._assign(body, targets)
            self._loops -= 1
        inside, self._lines = [*tested, *self._lines], lines
        self._emit("for (;;) {" if tested else f"while ({test.text}) {{")
        self._lines.extend(inside)
        self._emit("}")

    def _leave_if(self, condition: str, statement: str) -> None:
        for line in (f"if ({condition}) {{", f"    {statement}", "}"):
            self._emit(line)

    def _loop_name(self) -> str:
        """i0, i1, ... by depth; a name of its own where a model's name is in the way."""
        name = f"i{self._loops}"
        return name if name not in self._taken else self._fresh("i")

    def _carry(self, op: scf.ForOp, position: int, initial: SSAValue) -> None:
        """The variable of a loop-carried value: that of the initial value where nothing else reads it, or a new one."""
        argument, result = op.body.block.args[position + 1], op.results[position]
        given = self._values[initial]
        if given.text in self._mutable and len(self._uses(initial)) == 1 and block_of(initial) is op.parent:
            variable = given
        else:
            ctype = ctype_of(initial.type, self.index)
            start = self._compose(lambda: self._assigned(initial, ctype))
            variable = self._local(ctype, argument.name_hint or result.name_hint or "acc", start)
        self._values[argument] = self._values[result] = variable

    def _local(self, ctype: CType, hint: str, start: Expr | None = None) -> Expr:
        """Declare a mutable local."""
        if ctype == BOOL:
            self.include("stdbool.h")
        name = self._name(hint)
        self._mutable.add(name)
        self._emit(f"{ctype.declare(name)}{'' if start is None else f' = {start.text}'};")
        return Expr(name, Level.PRIMARY, ctype, variables=frozenset({name}))

    def _assign(self, block: Block, targets: Sequence[Expr | None]) -> None:
        """The yield of `block`: all assignments at once, through temporaries where one would overwrite another; none of
        a result that nothing reads."""
        terminator = block.last_op
        if not isinstance(terminator, scf.YieldOp):
            return
        todo: list[tuple[Expr, Expr, SSAValue]] = []
        for target, value in zip(targets, terminator.arguments, strict=True):
            if target is None:
                continue
            limit = WIDTH - 4 * self._depth - len(target.text)
            e = self._compose(lambda v=value, t=target: self._assigned(v, t.ctype), limit)
            if e.text != target.text:
                todo.append((target, e, value))
        while todo:
            for position, (target, e, _) in enumerate(todo):
                others = todo[:position] + todo[position + 1 :]
                if not any(target.text in other.variables for _, other, _ in others):
                    self._emit(assignment(target, e))
                    del todo[position]
                    break
            else:
                target, e, value = todo[-1]
                name = self._name(self._fresh("next"))
                self._emit(f"const {target.ctype.declare(name)} = {e.text};")
                todo[-1] = (target, name_expr(name, target.ctype), value)

    # Conditionals

    def _if(self, op: scf.IfOp, targets: Sequence[Expr | None] | None = None) -> None:
        if targets is None and len(op.results) == 1 and self._try_conditional(op):
            return
        self._flush_region(op)
        condition = self._compose(lambda: self.operand(op.cond))
        if targets is None:
            targets = [
                self._result_variable(op, position) if self._uses(result) else None
                for position, result in enumerate(op.results)
            ]
        then = self._branch(op.true_region.blocks, targets)
        other = self._branch(op.false_region.blocks, targets)
        if not then and not other:
            return
        if not then:
            self._emit(f"if ({negated(condition)}) {{")
            then, other = other, []
        else:
            self._emit(f"if ({condition.text}) {{")
        self._lines.extend(then)
        indent = "    " * self._depth
        if _is_chain(other, indent):
            self._lines.append(f"{indent}}} else {other[0].strip()}")
            self._lines.extend(line[4:] for line in other[1:])
            return
        if other:
            self._emit("} else {")
            self._lines.extend(other)
        self._emit("}")

    def _branch(self, blocks: Sequence[Block], targets: Sequence[Expr | None]) -> list[str]:
        """The lines of one side, which end by assigning the results."""
        if not blocks:
            return []
        block = blocks[0]
        saved, self._lines = self._lines, []
        with self._scope():
            last = block.last_op
            inner = last.prev_op if isinstance(last, scf.YieldOp) else None
            for op in block.ops:
                if op in self._dead or isinstance(op, scf.YieldOp):
                    continue
                if op is inner and isinstance(op, scf.IfOp) and self._hands_on(op, cast(scf.YieldOp, last)):
                    self._if(op, targets)
                    for result, target in zip(op.results, targets, strict=True):
                        if target is not None:
                            self._values[result] = target
                    continue
                self._operation(op)
            self._assign(block, targets)
        lines, self._lines = self._lines, saved
        return lines

    def _hands_on(self, op: scf.IfOp, last: scf.YieldOp) -> bool:
        """Whether the results of an inner conditional are exactly those of the outer one."""
        return (
            bool(op.results)
            and tuple(op.results) == tuple(last.arguments)
            and all(len(self._uses(result)) == 1 for result in op.results)
        )

    def _result_variable(self, op: scf.IfOp, position: int) -> Expr:
        """The variable of a result: that of a value which one side yields and nothing reads later, or a new one."""
        result = op.results[position]
        sides = [cast(scf.YieldOp, region.block.last_op).arguments[position] for region in op.regions]
        claimed = {self._values[r].text for r in op.results[:position] if r in self._values}
        for value in sides:
            e = self._values.get(value)
            if (
                e is not None
                and e.text in self._mutable
                and e.text not in claimed
                and block_of(value) is op.parent
                and all(user is not op and op.is_ancestor(user) for user in self._uses(value))
            ):
                self._values[result] = e
                return e
        self._values[result] = e = self._local(ctype_of(result.type, self.index), result.name_hint or self._fresh("v"))
        return e

    def _try_conditional(self, op: scf.IfOp) -> bool:
        """Print `condition ? a : b` where both sides are short expressions; leaves no trace if they are not."""
        inner = [each for region in op.regions for each in region.walk()]
        if len(inner) > _TERNARY_OPERATIONS or not all(
            isinstance(each, memref.LoadOp | scf.YieldOp | scf.IfOp) or supports(each) for each in inner
        ):
            return False
        if any(map(concerns, (op, *inner))):
            return False
        saved, self._lines = self._lines, []
        taken, mutable_names = set(self._taken), set(self._mutable)
        with self._scope():
            for region in op.regions:
                self._block(region.block)
        sides = [cast(scf.YieldOp, region.block.last_op).arguments[0] for region in op.regions]
        spilled, self._lines = bool(self._lines), saved
        if not spilled:
            mutable = any(self._values[side].text in self._mutable for side in sides)
            e = None if mutable else self._compose(lambda: self.scalars.choose(self.operand(op.cond), *sides), 1000)
            if e is not None and len(e.text) <= INLINE:
                self._define(op.results[0], e)
                return True
        self._taken, self._mutable = taken, mutable_names
        for each in inner:
            for result in each.results:
                self._values.pop(result, None)
                self._pending.discard(result)
        return False


def assignment(target: Expr, value: Expr) -> str:
    """`target = value;`, or `target += term;` where that is the same."""
    if value.parts is not None and (value.ctype == target.ctype or value.ctype.bits == target.ctype.bits == 32):
        symbol, left, right = value.parts
        if left == target.text and symbol in ("+", "-", "*", "/"):
            return f"{target.text} {symbol}= {right};"
        if right == target.text and symbol in ("+", "*"):
            return f"{target.text} {symbol}= {left};"
    return f"{target.text} = {value.text};"


def block_of(value: SSAValue) -> Block | None:
    """The block that defines `value`; only there is a use the last one, further in it may run again."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def _is_short(low: Expr, high: Expr, step: Expr) -> bool:
    """Whether a loop has so few iterations that compilers unroll it completely (GCC's `max-completely-peel-times`)."""
    if low.literal is None or high.literal is None or step.literal is None:
        return False
    return high.literal - low.literal <= 16 * step.literal


def _is_chain(lines: Sequence[str], indent: str) -> bool:
    """Whether the lines of an else branch are one conditional."""
    inner = indent + "    "
    if len(lines) < 3 or not lines[0].startswith(f"{inner}if (") or lines[-1] != f"{inner}}}":
        return False
    return all(line.startswith((f"{inner} ", f"{inner}}} else")) for line in lines[1:-1])
