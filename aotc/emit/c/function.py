"""One IR function as a C function: structured control flow, and values inlined or named (see c_scope).

A loop-carried value is a mutable local, shared by the nested loops and conditionals that hand it on; a conditional of
short sides is an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import arguments_of, is_kernel
from aotc.emit.c import memory as c_memory
from aotc.emit.c import vectors as c_vectors
from aotc.emit.c.expressions import supports
from aotc.emit.c.placement import Expr, Level, binary, call, name_expr, negated
from aotc.emit.c.scope import INLINE, FunctionScope, Unit
from aotc.emit.c.text import WIDTH, without_unused, words_of, wrapped
from aotc.emit.c.types import BOOL, SIGNED, CType, ctype_of
from aotc.errors import Problem
from aotc.model.locations import node_names

_TERNARY_OPERATIONS = 12
"""The most operations in both sides of a conditional expression."""
_STATEMENTS = (
    *(memref.StoreOp, scf.ForOp, scf.IfOp, scf.YieldOp, func.CallOp, func.ReturnOp),
    *(aot.CheckOp, aot.RequireOp, aot.AllocaOp, aot.SetElementOp, aot.SetFieldOp),
    *(aot.TileStoreOp, aot.PrefetchOp),
)
"""Operations that are statements of their own."""


class FunctionPrinter(FunctionScope):
    """Prints one function with a body."""

    def __init__(self, unit: Unit, function: func.FuncOp) -> None:
        super().__init__(unit, function)
        self._function = function
        self._parameters = unit.parameters(function.sym_name.data)
        self._loops = 0
        self._status = ""

    def lines(self) -> list[str]:
        """The definition, line by line."""
        function = self._function
        restrict = [given.noalias for given in arguments_of(function)]
        arguments: list[str] = []
        hints = argument_names(function)
        for argument, hint, ctype, noalias in zip(function.args, hints, self._parameters, restrict, strict=True):
            name = self._name(hint)
            self._values[argument] = name_expr(name, ctype)
            arguments.append(ctype.declare(f"restrict {name}" if noalias and ctype.kind == "pointer" else name))
        static = "static " if function.sym_visibility is not None and function.sym_visibility.data == "private" else ""
        if is_kernel(function):
            static += "AOTC_OPERATOR "
        head = f"{static}{result_type(function, self.index)} {function.sym_name.data}("
        if any(isinstance(op, aot.CheckOp) and _follows_its_call(op) for op in function.walk()):
            self._status = self._name("status")
            self._emit(f"int32_t {self._status};")
        self._block(function.body.block)
        body = without_unused(self._lines, self._declarations)
        mentioned = words_of(body)
        unused = [self._values[argument].text for argument in function.args]
        casts = [f"    (void){name};" for name in unused if name not in mentioned]
        return [*wrapped(head, arguments or ["void"], ")"), "{", *casts, *body, "}"]

    # Statements

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op not in self._dead and not isinstance(op, scf.YieldOp):
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        match op:
            case memref.StoreOp():
                self._store(op)
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case func.CallOp():
                self._call(op)
            case func.ReturnOp():
                for value in op.arguments:
                    e = self._compose(lambda v=value: self._assigned(v, ctype_of(v.type, self.index)))
                    self._emit(f"return {e.text};")
            case aot.CheckOp():
                if not _follows_its_call(op):
                    status = self._compose(lambda: self.atom(op.status)).text
                    self._emit(f"if ({status} != 0) {{")
                    self._emit(f"    return {status};")
                    self._emit("}")
            case aot.RequireOp():
                condition = negated(self._compose(lambda: self.operand(op.condition)))
                self._emit(f"if ({condition}) {{")
                self._emit("    return -1;")
                self._emit("}")
            case aot.AllocaOp():
                self._alloca(op)
            case aot.SetElementOp() | aot.SetFieldOp():
                target = self._compose(lambda: c_memory.member(self, op)).text
                kind = ctype_of(op.value.type, self.index)
                value = self._compose(lambda: self._convert(self.operand(op.value), op.value, kind))
                self._flush(None)
                self._emit(f"{target} = {value.text};")
            case aot.TileStoreOp():
                statement = self._compose(lambda: self.vectors.store(op))
                self._flush([c_memory.root(op.buffer)])
                self._emit(f"{statement.text};")
            case aot.PrefetchOp():
                self._emit(f"{self._compose(lambda: self.vectors.prefetch(op)).text};")
            case _ if c_vectors.concerns(op):
                self._vector(op)
            case _:
                for position, result in enumerate(op.results):
                    self._define(result, self._compose(lambda k=position: self._expression(op, k), INLINE))

    def _vector(self, op: Operation) -> None:
        """A vector operation; products are written with the sums that they go into, so that few are alive at a time."""
        if not self._is_summand(op):
            for value in op.operands:
                if value not in self._values:
                    self._write(cast(Operation, value.owner))
            self._write(op)

    def _is_summand(self, op: Operation) -> bool:
        users = self._uses(op.results[0])
        return (
            isinstance(op, arith.MulfOp)
            and len(users) == 1
            and isinstance(users[0], arith.AddfOp)
            and users[0].parent is op.parent
            and not any(self._values[value].variables for value in op.operands if value in self._values)
        )

    def _write(self, op: Operation) -> None:
        """A vector operation, into the variable of an accumulator that only it reads where there is one.

        Accumulators are updated where the IR does it: compilers keep to that order, and have registers for no other.
        """
        result = op.results[0]
        e = self._compose(lambda: self.vectors.build(op), INLINE)
        for operand in reversed(op.operands):
            held = self._values[operand]
            if held.text in self._mutable and held.ctype == e.ctype and self._is_last_use(operand, op):
                self._overwrite(held)
                accumulation = self.vectors.accumulation(op, held)
                self._emit(_assignment(held, e) if accumulation is None else f"{accumulation.text};")
                self._values[result] = held
                return
        self._define(result, e)

    def _is_last_use(self, value: SSAValue, op: Operation) -> bool:
        """Whether `op` is the only user of a value of its own block."""
        return len(self._uses(value)) == 1 and _block_of(value) is op.parent

    def _expression(self, op: Operation, result: int) -> Expr:
        if supports(op):
            return self.expressions.build(op, result)
        return c_memory.expression(self, op)

    def _alloca(self, op: aot.AllocaOp) -> None:
        pointee = op.result.type.pointee
        if isinstance(pointee, aot.StructType):
            self.unit.struct(pointee)
        ctype = cast(CType, ctype_of(op.result.type, self.index).pointee) if pointee != IntegerType(8) else SIGNED[8]
        name = self._name(op.result.name_hint or "values")
        self._emit(f"{ctype.declare(name)}[{op.count.value.data}];")
        self._values[op.result] = name_expr(name, ctype_of(op.result.type, self.index))

    def _store(self, op: memref.StoreOp) -> None:
        target = self._compose(lambda: c_memory.element(self, op.memref, op.indices))
        value = self._compose(
            lambda: self._stored(op.value, target.ctype), max(WIDTH - len(target.text) - 4 * self._depth, 40)
        )
        self._flush([c_memory.root(op.memref)])
        self._emit(_assignment(target, value))

    def _stored(self, value: SSAValue, ctype: CType) -> Expr:
        e = self.operand(value)
        if isinstance(value.type, IntegerType) and value.type != i1:
            if ctype.kind == "unsigned" and not e.unsigned and self.ranges.of(value)[0] < 0 and e.literal is None:
                e = self.expressions.unsigned(value)
            return self.expressions.convert(e, value, ctype)
        return e

    def _call(self, op: func.CallOp) -> None:
        callee = op.callee.string_value()
        types = self.unit.parameters(callee)
        as_is = self.unit.provided(callee)
        arguments = [
            self._compose(
                lambda v=value, t=ctype: self._argument(v) if as_is else self._convert(self._argument(v), v, t)
            )
            for value, ctype in zip(op.arguments, types, strict=True)
        ]
        self._flush(None)
        prefix, suffix = "", ");"
        checked = op.next_op
        if isinstance(checked, aot.CheckOp) and _follows_its_call(checked):
            prefix = f"{self._status} = "
        elif op.results and self._uses(op.results[0]):
            result = op.results[0]
            ctype = ctype_of(result.type, self.index)
            name = self._name(result.name_hint or self._fresh("v"))
            self._values[result] = name_expr(name, ctype)
            prefix = f"const {ctype.declare(name)} = "
        elif op.results:
            prefix = "(void)"
        indent = "    " * self._depth
        self._lines.extend(wrapped(f"{indent}{prefix}{callee}(", [e.text for e in arguments], suffix))
        if self._status and prefix == f"{self._status} = ":
            self._emit(f"if ({self._status} != 0) {{")
            self._emit(f"    return {self._status};")
            self._emit("}")

    def _argument(self, value: SSAValue) -> Expr:
        if isinstance(value.type, IntegerType) and value.type != i1:
            return self.expressions.signed(value)
        return self.operand(value)

    # Loops

    def _for(self, op: scf.ForOp) -> None:
        self._flush_region(op)
        for position, initial in enumerate(op.iter_args):
            self._carry(op, position, initial)
        step = self._compose(lambda: self.expressions.signed(op.step))
        low = self._compose(lambda: self.expressions.signed(op.lb))
        high = self._compose(lambda: self.expressions.signed(op.ub))
        if high.reads or high.variables:
            high = self._compose(lambda: self.expressions.signed(op.ub, atom=True))
        if any(map(c_vectors.is_vector, op.iter_args)) and _is_short(low, high, step):
            high = self.temporary(call(self.helper(f"aotc_unknown{self.index.bits}"), high, ctype=self.index))
        body = op.body.block
        lines, self._lines = self._lines, []
        with self._scope():
            variable = body.args[0]
            ctype = ctype_of(variable.type, self.index)
            name = self._name(variable.name_hint or self._loop_name())
            self._values[variable] = name_expr(name, ctype)
            self._loops += 1
            self._block(body)
            self._assign(body, [(self._values[arg], arg) for arg in body.args[1:]])
            self._loops -= 1
        inside, self._lines = self._lines, lines
        increment = f"++{name}" if step.text == "1" else f"{name} += {step.text}"
        bound = binary("<", name_expr(name, ctype), high, BOOL).text
        self._emit(f"for ({ctype.declare(name)} = {low.text}; {bound}; {increment}) {{")
        self._lines.extend(inside)
        self._emit("}")

    def _loop_name(self) -> str:
        """i0, i1, ... by depth; a name of its own where a model's name is in the way."""
        name = f"i{self._loops}"
        return name if name not in self._taken else self._fresh("i")

    def _carry(self, op: scf.ForOp, position: int, initial: SSAValue) -> None:
        """The variable of a loop-carried value: the initial value's own where nobody else reads that, or a new one."""
        argument, result = op.body.block.args[position + 1], op.results[position]
        given = self._values[initial]
        if given.text in self._mutable and len(self._uses(initial)) == 1 and _block_of(initial) is op.parent:
            variable = given
        else:
            ctype = ctype_of(initial.type, self.index)
            if ctype == BOOL:
                self.include("stdbool.h")
            start = self._compose(lambda: self._assigned(initial, ctype))
            hint = argument.name_hint or result.name_hint or "acc"
            name = self._name(hint)
            self._mutable.add(name)
            self._emit(f"{ctype.declare(name)} = {start.text};")
            variable = Expr(name, Level.PRIMARY, ctype, variables=frozenset({name}))
        self._values[argument] = self._values[result] = variable

    def _assign(self, block: Block, targets: Sequence[tuple[Expr, object]]) -> None:
        """The yield of `block`: all assignments at once, through temporaries where one would overwrite another."""
        terminator = block.last_op
        if not isinstance(terminator, scf.YieldOp):
            return
        todo: list[tuple[Expr, Expr, SSAValue]] = []
        for (target, _), value in zip(targets, terminator.arguments, strict=True):
            limit = WIDTH - 4 * self._depth - len(target.text)
            e = self._compose(lambda v=value, t=target: self._assigned(v, t.ctype), limit)
            if e.text != target.text:
                todo.append((target, e, value))
        while todo:
            for position, (target, e, _) in enumerate(todo):
                others = todo[:position] + todo[position + 1 :]
                if not any(target.text in other.variables for _, other, _ in others):
                    self._emit(_assignment(target, e))
                    del todo[position]
                    break
            else:
                target, e, value = todo[-1]
                name = self._name(self._fresh("next"))
                self._emit(f"const {target.ctype.declare(name)} = {e.text};")
                todo[-1] = (target, name_expr(name, target.ctype), value)

    # Conditionals

    def _if(self, op: scf.IfOp, targets: Sequence[Expr] | None = None) -> None:
        if targets is None and len(op.results) == 1 and self._try_conditional(op):
            return
        self._flush_region(op)
        condition = self._compose(lambda: self.operand(op.cond))
        if targets is None:
            targets = [self._result_variable(op, position) for position in range(len(op.results))]
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

    def _branch(self, blocks: Sequence[Block], targets: Sequence[Expr]) -> list[str]:
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
                        self._values[result] = target
                    continue
                self._operation(op)
            self._assign(block, [(target, None) for target in targets])
        lines, self._lines = self._lines, saved
        return lines

    def _hands_on(self, op: scf.IfOp, last: scf.YieldOp) -> bool:
        """Whether the results of an inner conditional are just those of the outer one."""
        return (
            bool(op.results)
            and tuple(op.results) == tuple(last.arguments)
            and all(len(self._uses(result)) == 1 for result in op.results)
        )

    def _result_variable(self, op: scf.IfOp, position: int) -> Expr:
        """The variable of a result: that of a value which one side hands on and nobody reads later, or a new one."""
        result = op.results[position]
        sides = [cast(scf.YieldOp, region.block.last_op).arguments[position] for region in op.regions]
        claimed = {self._values[r].text for r in op.results[:position]}
        for value in sides:
            e = self._values.get(value)
            if (
                e is not None
                and e.text in self._mutable
                and e.text not in claimed
                and _block_of(value) is op.parent
                and all(_is_inside(user, op) for user in self._uses(value))
            ):
                self._values[result] = e
                return e
        ctype = ctype_of(result.type, self.index)
        if ctype == BOOL:
            self.include("stdbool.h")
        name = self._name(result.name_hint or self._fresh("v"))
        self._mutable.add(name)
        self._emit(f"{ctype.declare(name)};")
        e = Expr(name, Level.PRIMARY, ctype, variables=frozenset({name}))
        self._values[result] = e
        return e

    def _try_conditional(self, op: scf.IfOp) -> bool:
        """Print `condition ? a : b` where both sides are short expressions; leaves no trace if they are not."""
        inner = [each for region in op.regions for each in region.walk()]
        if len(inner) > _TERNARY_OPERATIONS or not all(
            isinstance(each, memref.LoadOp | scf.YieldOp | scf.IfOp) or supports(each) for each in inner
        ):
            return False
        if any(map(c_vectors.concerns, (op, *inner))):
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
            e = None if mutable else self._compose(lambda: self._choice(op, sides), 1000)
            if e is not None and len(e.text) <= INLINE:
                self._define(op.results[0], e)
                return True
        self._taken, self._mutable = taken, mutable_names
        for each in inner:
            for result in each.results:
                self._values.pop(result, None)
                self._pending.discard(result)
        return False

    def _choice(self, op: scf.IfOp, sides: Sequence[SSAValue]) -> Expr:
        condition = self.operand(op.cond)
        return self.expressions.choose(condition, sides[0], sides[1])


def unsupported(function: func.FuncOp) -> Iterator[Problem]:
    """One problem for each operation of a function that has no C."""
    for op in function.walk():
        known = c_vectors.supports if c_vectors.concerns(op) else supports
        if op is not function and not (known(op) or isinstance(op, _STATEMENTS + c_memory.OPERATIONS)):
            where = ", ".join(node_names(op.location)) or function.sym_name.data
            yield Problem(f"{op.name} cannot be written in C", node=where)


def argument_names(function: func.FuncOp) -> list[str]:
    """What to call a function's arguments: the tensor's name, or a hint of the IR."""
    hints = [argument.name_hint for argument in function.args] if function.body.blocks else []
    names: list[str] = []
    for position, given in enumerate(arguments_of(function)):
        hint = hints[position] if hints else None
        names.append((hint if given.name is None else given.name) or "arg")
    return names


def result_type(function: func.FuncOp, index: CType) -> str:
    """The C result type of a function."""
    outputs = function.function_type.outputs.data
    return ctype_of(outputs[0], index).text if outputs else "void"


def _assignment(target: Expr, value: Expr) -> str:
    """`target = value;`, or `target += rest;` where that is the same."""
    if value.parts is not None and (value.ctype == target.ctype or value.ctype.bits == target.ctype.bits == 32):
        symbol, left, right = value.parts
        if left == target.text and symbol in ("+", "-", "*", "/"):
            return f"{target.text} {symbol}= {right};"
        if right == target.text and symbol in ("+", "*"):
            return f"{target.text} {symbol}= {left};"
    return f"{target.text} = {value.text};"


def _is_short(low: Expr, high: Expr, step: Expr) -> bool:
    """Whether a loop has so few iterations that compilers write them out (GCC's `max-completely-peel-times`)."""
    if low.literal is None or high.literal is None or step.literal is None:
        return False
    return high.literal - low.literal <= 16 * step.literal


def _is_chain(lines: Sequence[str], indent: str) -> bool:
    """Whether the lines of an else branch are one conditional."""
    inner = indent + "    "
    if len(lines) < 3 or not lines[0].startswith(f"{inner}if (") or lines[-1] != f"{inner}}}":
        return False
    return all(line.startswith((f"{inner} ", f"{inner}}} else")) for line in lines[1:-1])


def _follows_its_call(op: aot.CheckOp) -> bool:
    """Whether the checked status is the result of the call just before, and used nowhere else."""
    owner = op.status.owner
    return isinstance(owner, func.CallOp) and op.prev_op is owner and len(list(op.status.uses)) == 1


def _block_of(value: SSAValue) -> Block | None:
    """The block that defines `value`; only there is a use the last one, further in it may run again."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def _is_inside(op: Operation, ancestor: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if parent is ancestor:
            return True
        parent = parent.parent_op()
    return False
