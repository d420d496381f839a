"""One IR function as a C function: statements, and values inlined or named (see `functions.scope`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from aotc.dialects import aot
from aotc.dialects.aot.contract import BRANCHES, arguments_of, is_kernel
from aotc.dialects.aot.tiles import computes_narrow
from aotc.dialects.operations import walk
from aotc.emit.c.analyses.values import concerns, root
from aotc.emit.c.contents.unit import PROVIDED, Unit
from aotc.emit.c.expressions.memory import OPERATIONS
from aotc.emit.c.expressions.scalars import supports
from aotc.emit.c.expressions.vector_memory import adds_product
from aotc.emit.c.expressions.vectors import supports as vector_supports
from aotc.emit.c.functions.control_flow import ControlFlow, assignment, block_of
from aotc.emit.c.functions.scope import INLINE
from aotc.emit.c.syntax.c_types import SIGNED, CType, ctype_of, pointer_to
from aotc.emit.c.syntax.expr import Expr, name_expr, negated
from aotc.emit.c.syntax.text import WIDTH, names_of, without_unused, wrapped
from aotc.errors import Problem
from aotc.model.locations import node_names

_STATEMENTS = (
    *(memref.StoreOp, scf.ForOp, scf.IfOp, scf.YieldOp, func.CallOp, func.ReturnOp),
    *(scf.WhileOp, scf.ConditionOp, memref.AllocaOp),
    *(aot.CheckOp, aot.RequireOp, aot.AllocaOp, aot.SetElementOp, aot.SetFieldOp),
    *(aot.TileStoreOp, aot.WordStoreOp, aot.PrefetchOp),
)
"""Operations that are statements of their own."""


class FunctionPrinter(ControlFlow):
    """Prints one function with a body."""

    def __init__(self, unit: Unit, function: func.FuncOp) -> None:
        super().__init__(unit, function)
        self._function = function
        self._parameters = unit.parameters(function.sym_name.data)
        self._status = ""
        self._skips = False
        """Whether calls behind one that fails are skipped, so that there is one return, as MISRA's rule 15.5 asks."""

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
            static += "AOTC_OPERATOR AOTC_BRANCHES " if BRANCHES.on(function) else "AOTC_OPERATOR "
        head = f"{static}{result_type(function, self.index)} {function.sym_name.data}("
        if any(isinstance(op, aot.CheckOp) and _follows_its_call(op) for op in function.walk()):
            self._status = self._name("status")
            self._skips = _is_sequence_of_calls(function.body.block)
            if not self._skips:
                self._emit(f"int32_t {self._status};")
        self._keep_constants(function)
        self._block(function.body.block)
        body = without_unused(self._lines, self._declarations)
        mentioned = names_of(body)
        unused = [self._values[argument].text for argument in function.args]
        casts = [f"    (void){name};" for name in unused if name not in mentioned]
        return [*wrapped(head, arguments or ["void"], ")"), "{", *casts, *body, "}"]

    # Statements

    def _operation(self, op: Operation) -> None:
        match op:
            case memref.StoreOp():
                self._store(op)
            case scf.ForOp():
                self._for(op)
            case scf.WhileOp():
                self._while(op)
            case scf.IfOp():
                self._if(op)
            case func.CallOp():
                self._call(op)
            case func.ReturnOp() if self._skips:
                self._emit(f"return {self._status};")
            case func.ReturnOp():
                for value in op.arguments:
                    e = self._compose(lambda v=value: self._assigned(v, ctype_of(v.type, self.index)))
                    self._emit(f"return {e.text};")
            case aot.CheckOp():
                if not _follows_its_call(op):
                    status = self._compose(lambda: self.atom(op.status)).text
                    self._leave_if(f"{status} != 0", f"return {status};")
            case aot.RequireOp():
                condition = negated(self._compose(lambda: self.operand(op.condition)))
                self._leave_if(condition, "return -1;")
            case aot.AllocaOp():
                self._alloca(op)
            case memref.AllocaOp():
                self._array(op)
            case aot.SetElementOp() | aot.SetFieldOp():
                target = self._compose(lambda: self.memory.member(op)).text
                kind = ctype_of(op.value.type, self.index)
                value = self._compose(lambda: self._convert(self.operand(op.value), op.value, kind))
                self._flush(None)
                self._emit(f"{target} = {value.text};")
            case aot.TileStoreOp():
                statement = self._compose(lambda: self.vectors.store(op))
                self._flush([root(op.buffer)])
                self._emit(f"{statement.text};")
            case aot.WordStoreOp():
                statement = self._compose(lambda: self.memory.store(op))
                self._flush([root(op.buffer)])
                self._emit(f"{statement.text};")
            case aot.PrefetchOp():
                self._emit(f"{self._compose(lambda: self.vectors.prefetch(op)).text};")
            case _ if concerns(op):
                self._vector(op)
            case _:
                build = partial(self.scalars.build if supports(op) else self.memory.expression, op)
                for result in op.results:
                    self._define(result, self._compose(build, INLINE))

    def _vector(self, op: Operation) -> None:
        """A vector operation; a product is written with the sum that it goes into, so that few vectors are live."""
        if not self._is_summand(op) and not any(result in self._values for result in op.results):
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

        Accumulators are updated in the order of the IR, which compilers keep: another would need more registers.
        """
        result = op.results[0]
        e = self._compose(lambda: self.vectors.build(op), INLINE)
        for operand in reversed(op.operands):
            found = self._values[operand]
            if found.text in self._mutable and found.ctype == e.ctype and self._is_last_use(operand, op):
                self._overwrite(found)
                accumulation = self.vectors.accumulation(op, operand)
                self._emit(assignment(found, e) if accumulation is None else f"{accumulation.text};")
                self._values[result] = found
                return
        if self._is_partial_sum(op):
            self._values[result] = self._local(e.ctype, "acc", e)
        else:
            self._define(result, e)

    def _is_partial_sum(self, op: Operation) -> bool:
        """Whether the next product is added to a sum with one, and nothing else reads it."""
        users = self._uses(op.results[0])
        return len(users) == 1 and users[0].parent is op.parent and all(map(adds_product, (op, *users)))

    def _is_last_use(self, value: SSAValue, op: Operation) -> bool:
        """Whether `op` is the only user of a value of its own block."""
        return len(self._uses(value)) == 1 and block_of(value) is op.parent

    def _alloca(self, op: aot.AllocaOp) -> None:
        pointee = op.result.type.pointee
        if isinstance(pointee, aot.StructType):
            self.unit.struct(pointee)
        ctype = cast(CType, ctype_of(op.result.type, self.index).pointee) if pointee != IntegerType(8) else SIGNED[8]
        name = self._name(op.result.name_hint or "values")
        self._emit(f"{ctype.declare(name)}[{op.count}];")
        self._values[op.result] = name_expr(name, ctype_of(op.result.type, self.index))

    def _array(self, op: memref.AllocaOp) -> None:
        ctype = ctype_of(op.memref.type.element_type, self.index)
        name = self._name(op.memref.name_hint or "array")
        self._emit(f"{ctype.declare(name)}[{op.memref.type.element_count()}];")
        self._values[op.memref] = name_expr(name, pointer_to(ctype))

    def _store(self, op: memref.StoreOp) -> None:
        target = self._compose(lambda: self.memory.element(op.memref, op.indices))
        value = self._compose(
            lambda: self._stored(op.value, target.ctype), max(WIDTH - len(target.text) - 4 * self._depth, 40)
        )
        self._flush([root(op.memref)])
        self._emit(assignment(target, value))

    def _stored(self, value: SSAValue, ctype: CType) -> Expr:
        e = self.operand(value)
        if isinstance(value.type, IntegerType) and value.type != i1:
            if ctype.kind == "unsigned" and not e.unsigned and self.ranges.of(value)[0] < 0 and e.literal is None:
                e = self.scalars.unsigned(value)
            return self.scalars.convert(e, value, ctype)
        return e

    def _call(self, op: func.CallOp) -> None:
        callee = op.callee.string_value()
        types = self.unit.parameters(callee)
        as_is = callee in PROVIDED
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
        indent, texts = "    " * self._depth, [e.text for e in arguments]
        if self._skips and op is not _first_call(op):
            guarded = wrapped(f"{indent}    {prefix}{callee}(", texts, suffix)
            self._lines.extend([f"{indent}if ({self._status} == 0) {{", *guarded, f"{indent}}}"])
            return
        declared = "int32_t " if self._skips else ""
        self._lines.extend(wrapped(f"{indent}{declared}{prefix}{callee}(", texts, suffix))
        if self._status and prefix == f"{self._status} = " and not self._skips:
            self._leave_if(f"{self._status} != 0", f"return {self._status};")

    def _argument(self, value: SSAValue) -> Expr:
        if isinstance(value.type, IntegerType) and value.type != i1:
            return self.scalars.signed(value)
        return self.operand(value)


def unsupported(function: func.FuncOp) -> Iterator[Problem]:
    """One problem for each operation of a function that has no C."""
    written = {*_STATEMENTS, *OPERATIONS}
    for op in walk(function):
        known = vector_supports if concerns(op) else supports
        is_known = op is function or type(op) in written or known(op)
        if not is_known or computes_narrow(op):
            where = ", ".join(node_names(op.location)) or function.sym_name.data
            name = f"{op.name} of f16 or bf16" if is_known else op.name
            yield Problem("no-form-in-c", f"{name} cannot be written in C", node=where)


def argument_names(function: func.FuncOp) -> list[str]:
    """Names of a function's arguments: the tensor's name, or a hint of the IR."""
    hints = [argument.name_hint for argument in function.args] if function.body.blocks else []
    given = zip_longest(arguments_of(function), hints)
    return [(hint if each.name is None else each.name) or "arg" for each, hint in given]


def result_type(function: func.FuncOp, index: CType) -> str:
    """The C result type of a function."""
    outputs = function.function_type.outputs.data
    return ctype_of(outputs[0], index).text if outputs else "void"


def _is_sequence_of_calls(block: Block) -> bool:
    """Whether what stands behind the first checked call of a function may run after a failure, but for the calls."""
    first = next((op for op in block.ops if isinstance(op, func.CallOp)), None)
    if first is None or not isinstance(returned := block.last_op, func.ReturnOp) or len(returned.arguments) != 1:
        return False
    value = returned.arguments[0].owner
    if not isinstance(value, arith.ConstantOp) or value.value != IntegerAttr(0, i32):
        return False
    for op in block.ops:
        match op:
            case func.CallOp():
                if not (isinstance(op.next_op, aot.CheckOp) and _follows_its_call(op.next_op)):
                    return False
            case aot.CheckOp():
                if not _follows_its_call(op):
                    return False
            case func.ReturnOp() | aot.AllocaOp() | memref.AllocaOp():
                pass
            case _ if op.regions or not (is_side_effect_free(op) or op.is_before_in_block(first)):
                return False
            case _:
                pass
    return True


def _first_call(op: func.CallOp) -> func.CallOp:
    """The first call in the block of a call."""
    block = op.parent
    assert block is not None
    return next(each for each in block.ops if isinstance(each, func.CallOp))


def _follows_its_call(op: aot.CheckOp) -> bool:
    """Whether the checked status is the result of the call just before, and used nowhere else."""
    owner = op.status.owner
    return isinstance(owner, func.CallOp) and op.prev_op is owner and len(list(op.status.uses)) == 1
