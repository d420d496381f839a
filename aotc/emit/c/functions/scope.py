"""Values of a function in C: which are inlined where they are used, which get a name, and in which order.

A pure value used once, in the block that defines it, is inlined; a load only as long as no store that may overwrite it
comes first. Everything else gets a name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from aotc.dialects import aot
from aotc.dialects.operations import walk
from aotc.emit.c.analyses.ranges import Ranges
from aotc.emit.c.analyses.values import constants_of_sums, is_mutable, is_vector, may_alias, root
from aotc.emit.c.contents.unit import Scope, Unit
from aotc.emit.c.expressions.memory import Memory, convert_pointer
from aotc.emit.c.expressions.scalars import Scalars
from aotc.emit.c.expressions.vectors import Vectors
from aotc.emit.c.syntax.c_types import BOOL, SIGNED, UNSIGNED, CType
from aotc.emit.c.syntax.expr import Expr, name_expr
from aotc.emit.c.syntax.text import WIDTH
from aotc.model.naming import c_variable

INLINE = 90
"""The longest expression that is still inlined into another."""
_WORTH_A_NAME = 24
"""Characters; naming shorter parts makes an expression hardly shorter."""
_STRUCT_NAMES = {"DLTensor": "tensor", "AOTCValue": "values"}
"""The name of a pointer to a structure."""


class FunctionScope(Scope):
    """The values, names and lines of one function while it is being printed."""

    def __init__(self, unit: Unit, function: func.FuncOp) -> None:
        self.unit = unit
        self.ranges = Ranges(unit.contents)
        self.scalars = Scalars(self)
        self.memory = Memory(self, self.scalars)
        self.vectors = Vectors(self, self.memory)
        self._values: dict[SSAValue, Expr] = {}
        self._pending: set[SSAValue] = set()
        self._order: dict[SSAValue, int] = {}
        self._mutable: set[str] = set()
        self._scopes: list[list[str]] = [[]]
        self._taken = set(unit.taken)
        self._lines: list[str] = []
        self._declarations: dict[str, str] = {}
        self._depth = 1
        self._consumed: list[SSAValue] = []
        self._reads: set[SSAValue] = set()
        self._variables: set[str] = set()
        self._dead = _dead_operations(function)

    # Scope, for expressions

    def operand(self, value: SSAValue) -> Expr:
        if value in self._pending and is_vector(value) and len(self._uses(value)) > 1:
            self._declare(value)
        e = self._values[value]
        if value in self._pending:
            self._consumed.append(value)
        self._reads |= e.reads
        self._variables |= e.variables
        return e

    def atom(self, value: SSAValue) -> Expr:
        if not self._values[value].is_atom:
            self._declare(value)
        return self.operand(value)

    def temporary(self, e: Expr) -> Expr:
        """A name for a part of the expression being built."""
        if e.is_atom:
            return e
        name = self._name(self._fresh("v"))
        self._constant(name, e.ctype, e.text)
        return name_expr(name, e.ctype)

    def note_read(self, base: SSAValue) -> None:
        """The expression being built loads from the memory behind `base`."""
        self._reads.add(base)

    # Composition

    def _compose(self, build: Callable[[], Expr], limit: int = WIDTH) -> Expr:
        """Build an expression; while it is too long, give its longest inlined part a name and build it again."""
        while True:
            self._consumed, self._reads, self._variables = [], set(), set()
            e = build()
            inlined = [value for value in self._consumed if value in self._pending]
            if len(e.text) <= limit or not inlined:
                break
            longest = max(inlined, key=lambda value: len(self._values[value].text))
            if len(self._values[longest].text) < _WORTH_A_NAME:
                break
            self._declare(longest)
        self._pending.difference_update(self._consumed)
        return replace(e, reads=frozenset(self._reads), variables=frozenset(self._variables))

    def _define(self, value: SSAValue, e: Expr) -> None:
        """Keep the expression of `value` for its one use, or declare it."""
        self._values[value] = e
        if e.is_atom and not e.variables:
            return
        uses = self._uses(value)
        if not uses:
            return
        self._order[value] = len(self._order)
        self._pending.add(value)
        alone = len(uses) == 1 and uses[0].parent is value.owner.parent
        if is_vector(value) and all(use.parent is value.owner.parent for use in uses):
            return  # named where it is first used: fewer live vectors leave more registers for accumulators
        if isinstance(value.owner, aot.OpaqueOp) or not alone or (len(e.text) > INLINE and not e.text.startswith("(")):
            self._declare(value)

    def _declare(self, value: SSAValue) -> None:
        """Give `value` a name, here."""
        e = self._values[value]
        ctype, e = self._variable(value, e)
        hint = value.name_hint or _name_hint(value)
        name = self._name(hint or self._fresh("t" if ctype.kind == "pointer" else "v"))
        if self.vectors.stays(value):
            self._keep(name, ctype, value, e)
        else:
            self._constant(name, ctype, self._convert(e, value, ctype).text)
        self._values[value] = name_expr(name, ctype, e.unsigned)
        self._pending.discard(value)

    def _keep(self, name: str, ctype: CType, value: SSAValue, e: Expr) -> None:
        self._emit(f"{ctype.declare(name)} = {self._convert(e, value, ctype).text};")
        self._emit(self.vectors.keep_in_register(value, name))

    def _keep_constants(self, function: func.FuncOp) -> None:
        """Declare the constants that loops of sums take at the top, once: compilers make them in every turn."""
        names: dict[Expr, Expr] = {}
        for value in dict.fromkeys(filter(self._uses, constants_of_sums(function))):
            e = self._compose(lambda v=value: self.vectors.build(cast(Operation, v.owner)))
            if e not in names:
                names[e] = name_expr(self._name(self._fresh("c")), e.ctype)
                self._keep(names[e].text, e.ctype, value, e)
            self._values[value] = names[e]

    def _constant(self, name: str, ctype: CType, text: str) -> None:
        qualifier = "" if ctype.kind == "pointer" else "const "
        declaration = f"{qualifier}{ctype.declare(name)} = {text};"
        self._declarations[declaration] = name
        self._emit(declaration)

    def _variable(self, value: SSAValue, e: Expr) -> tuple[CType, Expr]:
        """The type of a constant variable for `e`."""
        kind = value.type
        if kind == i1:
            self.include("stdbool.h")
            return BOOL, e
        if isinstance(kind, IntegerType):
            bits = kind.width.data
            return (UNSIGNED if e.unsigned else SIGNED)[bits], e
        if isinstance(kind, IndexType):
            return self.index, e
        return e.ctype, e

    def _convert(self, e: Expr, value: SSAValue, target: CType) -> Expr:
        if target.kind == "pointer":
            return convert_pointer(e, target)
        if target.is_integer and isinstance(value.type, IntegerType | IndexType):
            return self.scalars.convert(e, value, target)
        return self.vectors.mask(e, target.bits) if target.kind == "mask" else e

    def _assigned(self, value: SSAValue, target: CType) -> Expr:
        """The expression of `value` for a mutable variable of type `target`, which holds signed readings."""
        if isinstance(value.type, IntegerType) and value.type != i1:
            return self.scalars.convert(self.scalars.signed(value), value, target)
        return self._convert(self.operand(value), value, target)

    # Names and lines

    def _name(self, hint: str) -> str:
        name = c_variable(hint, self._taken)
        self._taken.add(name)
        self._scopes[-1].append(name)
        return name

    def _fresh(self, prefix: str) -> str:
        number = 0
        while f"{prefix}{number}" in self._taken:
            number += 1
        return f"{prefix}{number}"

    def _emit(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    @contextmanager
    def _scope(self) -> Generator[None]:
        self._scopes.append([])
        self._depth += 1
        yield
        self._depth -= 1
        gone = self._scopes.pop()
        self._taken.difference_update(gone)
        self._mutable.difference_update(gone)

    # Memory order

    def _flush(self, roots: Iterable[SSAValue] | None) -> None:
        """Name every pending value that loads from memory which a write to `roots` (None: anywhere) may change."""
        written = None if roots is None else list(roots)
        changed = [
            value
            for value in self._pending
            if any(
                is_mutable(read) and (written is None or any(may_alias(read, w) for w in written))
                for read in self._values[value].reads
            )
        ]
        for value in sorted(changed, key=self._order.__getitem__):
            self._declare(value)

    def _overwrite(self, variable: Expr) -> None:
        """Name every pending value that mentions a variable, which is about to change."""
        for value in sorted(self._pending, key=self._order.__getitem__):
            if variable.text in self._values[value].variables:
                self._declare(value)

    def _flush_region(self, op: Operation) -> None:
        roots: list[SSAValue] = []
        for inner in walk(op):
            kind = type(inner)
            if kind in (func.CallOp, aot.SetElementOp, aot.SetFieldOp):
                self._flush(None)
                return
            if kind is memref.StoreOp:
                roots.append(root(cast("memref.StoreOp", inner).memref))
            elif kind in (aot.TileStoreOp, aot.WordStoreOp):
                roots.append(root(cast("aot.TileStoreOp", inner).buffer))
        if roots:
            self._flush(roots)

    # Uses

    def _uses(self, value: SSAValue) -> list[Operation]:
        """The live operations that use `value`, once for each use."""
        return [use.operation for use in value.uses if use.operation not in self._dead]


def _dead_operations(function: func.FuncOp) -> set[Operation]:
    """Operations without effect whose results no live operation uses."""
    dead: set[Operation] = set()
    for op in reversed(list(function.walk())):
        if op.results and all(use.operation in dead for result in op.results for use in result.uses):
            reads = isinstance(op, memref.LoadOp | aot.TileLoadOp | aot.WordLoadOp)
            pure = reads or is_side_effect_free(op)
            if pure and not op.regions:
                dead.add(op)
    return dead


def _name_hint(value: SSAValue) -> str | None:
    """The name of a pointer or a member that needs one and has none."""
    match value.owner:
        case aot.FieldOp() as op:
            return op.field.data.rpartition(".")[2]
        case aot.PtrCastOp() as op if isinstance(op.result.type.pointee, aot.StructType):
            return _STRUCT_NAMES.get(op.result.type.pointee.struct.data)
        case _:
            return None
