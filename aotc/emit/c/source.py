"""One file of C99 from the `interface` phase: weights, workspace, kernels, entry and descriptor, or some of them.

Only the entry, the descriptor, and operators that the options export have external linkage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.func import CallOp, FuncOp

from aotc.dialects import aot
from aotc.dialects.aot.contract import (
    BRANCHES,
    ENTRY,
    NOTES,
    is_kernel,
    sections_of,
    shares_workspace,
    weight_offsets,
    workspace_alignment,
)
from aotc.emit.c.analyses.values import concerns
from aotc.emit.c.contents import tables
from aotc.emit.c.contents.array_initialisers import definition, needs_math
from aotc.emit.c.contents.preamble import TEXTS
from aotc.emit.c.contents.unit import PACKED_HEADER, PROVIDED, THREADS, Part, Unit, element_count, is_private
from aotc.emit.c.definitions.helpers import helper_text
from aotc.emit.c.definitions.macros import prologue
from aotc.emit.c.functions.printer import FunctionPrinter, argument_names, result_type, unsupported
from aotc.emit.c.header import Descriptor, Prototype
from aotc.emit.c.syntax.text import comment_text, wrapped
from aotc.errors import CompileError
from aotc.model import conventions
from aotc.model.artifacts import Pieces
from aotc.model.locations import node_names
from aotc.model.naming import c_variable


@dataclass(frozen=True)
class Printed:
    """Functions as text, by symbol, and what of a file they need."""

    functions: dict[str, str]
    helpers: frozenset[str]
    headers: frozenset[str]


@dataclass
class CSource(Unit):
    """One C source file as text."""

    _taken: dict[str, str] = field(default_factory=dict[str, str])
    """Functions that have been printed elsewhere."""

    def printed(self, functions: Sequence[FuncOp]) -> Printed:
        """Some functions of the file, for `take`. Raises CompileError with one problem for each operation that has no
        C."""
        if problems := [problem for function in functions for problem in unsupported(function)]:
            raise CompileError(problems)
        texts = {
            function.sym_name.data: "\n".join([*self._comment(function), *FunctionPrinter(self, function).lines(), ""])
            for function in functions
        }
        return Printed(texts, frozenset(self._helpers), frozenset(self._headers))

    def take(self, printed: Printed) -> None:
        """Have these functions in the file, however their operations are now."""
        self._taken |= printed.functions
        self._helpers |= printed.helpers
        self._headers |= printed.headers

    def _print_functions(self) -> list[str]:
        defined = {*self._defined()}
        functions = [function for function in _callees_first(self._functions) if function in defined]
        rest = self.printed([function for function in functions if function.sym_name.data not in self._taken])
        texts = self._taken | rest.functions
        return [texts[function.sym_name.data] for function in functions]

    @property
    def local_headers(self) -> list[str]:
        """Headers of the runtime that the file and the model's header include."""
        needed = {PACKED_HEADER} & self._headers
        return sorted(
            needed | ({PROVIDED[f.sym_name.data] for f in self._functions.values() if _provided(f)} - {THREADS[1]})
        )

    @property
    def inner_headers(self) -> list[str]:
        """Headers of the runtime that the file includes and the model's header does not."""
        return [THREADS[1]] if conventions.THREADS_RUN in self._calls else []

    def exported(self) -> list[Prototype]:
        """The functions with external linkage that the file defines, or the one with the entry's bytecode."""
        return [self._prototype(f) for f in self._functions.values() if not is_private(f)]

    def descriptors(self) -> list[Descriptor]:
        """The public tables."""
        found: list[Descriptor] = []
        for symbol, table in self._tables.items():
            if tables.is_public(table):
                ctype = tables.element_ctype(table.element, self.model_name).text
                typed = isinstance(table.element, aot.StructType) and table.element.struct.data == tables.TYPED_MODEL
                run = self._prototype(self._functions[next(tables.symbols(table))]) if typed else None
                found.append(Descriptor(symbol, ctype, run))
        return found

    def _prototype(self, function: FuncOp) -> Prototype:
        symbol = function.sym_name.data
        names: list[str] = []
        for hint in argument_names(function):
            names.append(c_variable(hint, {*names, *self.taken}))
        return Prototype(
            result_type(function, self.index),
            symbol,
            tuple(ctype.declare(name) for ctype, name in zip(self.parameters(symbol), names, strict=True)),
        )

    def text(self, header: str | None = None) -> Pieces[str]:
        """The source, in pieces; it includes `header`, or says itself what that would. Raises CompileError at once."""
        functions = self._print_functions()
        return Pieces(lambda: self._pieces(header, functions))

    def _pieces(self, header: str | None, functions: Sequence[str]) -> Iterator[str]:
        defined = [key for key in self._weights if key in self.store]
        if any(needs_math(self.store[key]) for key in defined if not self._as_bytes(key)):
            self._headers.add("math.h")
        vectors = self._vectors(functions)
        local = [*([header] if header is not None else self.local_headers), *self.inner_headers]
        yield "".join(f'#include "{name}"\n' for name in local) + ("\n" if local else "")
        yield "".join(f"#include <{name}>\n" for name in sorted(self._headers - {PACKED_HEADER}))
        if vectors:
            yield TEXTS["VECTOR_CONTRACTION"]
        elif self._helpers or any(isinstance(op, arith.MulfOp) for op in self._operations()):
            yield TEXTS["CONTRACTION"]
        if self._helpers or any(isinstance(op, arith.ShRSIOp) for op in self._operations()):
            yield TEXTS["SHIFTS"]
        if self._helpers:
            yield TEXTS["HELPER"]
        for text in helper_text(self._helpers):
            yield f"\n{text}"
        yield vectors
        yield from self._byte_order(bool(vectors))
        yield from self._prototypes(header is None)
        yield from self._constants(header is None)
        yield from self._static_memory()
        constants = [] if self.part is Part.OPERATORS else self._tables.values()
        for table in constants:
            if not tables.is_public(table):
                yield "\n" + tables.definition(table, self.model_name)
        if any(is_kernel(function) for function in self._defined()):
            yield TEXTS["OPERATOR"]
        if any(BRANCHES.on(function) for function in self._defined()):
            yield TEXTS["BRANCHES"]
        for function in functions:
            yield f"\n{function}"
        for table in constants:
            if tables.is_public(table):
                yield "\n" + tables.definition(table, self.model_name)

    def _byte_order(self, vectors: bool) -> Iterator[str]:
        """Errors on machines that have the highest byte first, where code or weights are for those that do not."""
        if vectors:
            yield TEXTS["LITTLE_ENDIAN"].format(what="parts of registers are")
        if weight_offsets(self.module) or any(self._as_bytes(key) for key in self._weights if key in self.store):
            yield TEXTS["LITTLE_ENDIAN"].format(what="the weights are")

    def _vectors(self, functions: Sequence[str]) -> str:
        """The types and macros of vector code; nothing where there is none."""
        if not any(map(concerns, self._operations())):
            return ""
        found = prologue(functions)
        self._headers |= found.headers
        return found.text

    def _prototypes(self, alone: bool) -> Iterator[str]:
        """External functions, functions that tables point to, and without a header (`alone`) what is exported."""
        private = [table for table in self._tables.values() if not tables.is_public(table)]
        named = {symbol for table in private for symbol in tables.symbols(table)}
        named &= {function.sym_name.data for function in self._defined()}
        lines: list[str] = []
        for symbol, function in self._functions.items():
            prototype = self._prototype(function)
            if not is_private(function):
                linkage = "" if alone else None
            elif not function.body.blocks:
                linkage = None if _provided(function) or symbol not in self._calls else "extern "
            else:
                linkage = "static " if symbol in named else None
            if linkage is not None:
                head = f"{linkage}{prototype.result} {symbol}("
                lines.extend(wrapped(head, prototype.parameters or ("void",), ");"))
        if alone:
            lines.extend(descriptor.declaration().rstrip("\n") for descriptor in self.descriptors())
        if lines:
            yield "\n" + "\n".join(lines) + "\n"

    def _constants(self, alone: bool) -> Iterator[str]:
        """The definitions of the weights; where there is no header (`alone`), the declaration of external ones."""
        defined = {key: value for key, value in self._weights.items() if key in self.store}
        aligned = f" AOTC_ALIGNED({self.widest})" if self.widest else ""
        if aligned and (defined or self._workspaces):
            yield TEXTS["ALIGNED"]
        if any(map(self._as_bytes, defined)):
            yield TEXTS["BYTES"]
        if defined:
            yield _section(self.weights_macro, "weights")
        for key, (name, kind) in self._weights.items():
            ctype = self._weight_ctype(key, kind)
            if key not in defined:
                yield f"\nextern const {ctype.declare(name)}[{max(1, element_count(kind))}];\n"
                continue
            array = self.store[key]
            comment = comment_text(f"{key}: {array.dtype.name}[{', '.join(map(str, array.shape))}]")
            yield f"\n/* {comment} */\n"
            yield from definition(f"static const {self.weights_macro}{aligned}", name, array, self._as_bytes(key))
        for symbol, size in self._external.items() if alone else ():
            yield f"\n/* The application links the weights. */\nextern const unsigned char {symbol}[{max(1, size)}];\n"

    def _static_memory(self) -> Iterator[str]:
        """The definition of the workspace, or of that in each pool."""
        used = [pool for pool in self.arenas if pool in self._workspaces]
        for pool in used:
            yield _section(conventions.pool_macro(pool), pool or "workspace", sections_of(self.module).get(pool, ""))
        if used and not self.widest:
            yield TEXTS["ALIGNED"]
        linkage = "" if shares_workspace(self.module) else "static "
        aligned = f"AOTC_ALIGNED({workspace_alignment(self.module)})"
        for pool in used:
            macro, name = conventions.pool_macro(pool), conventions.pool_symbol(self.model_name, pool)
            yield f"\n{linkage}{macro} {aligned} uint8_t {name}[{max(1, self._workspaces[pool])}];\n"

    def _comment(self, function: FuncOp) -> list[str]:
        """A comment that names the ONNX nodes of a kernel, of all its calls, and what numbers in it are."""
        if ENTRY.on(function):
            return []
        places = [*self._calls.get(function.sym_name.data, []), *function.walk()]
        names = list(dict.fromkeys(name for place in places for name in node_names(place.location)))
        lists = [names] if names else []
        lists += [note.split(", ") for note in NOTES.get(function) or ()]
        lines = [line.strip() for each in lists for line in wrapped("   ", list(map(comment_text, each)), "")]
        return ["/* " + "\n * ".join(lines) + " */"] if lines else []


def _section(macro: str, what: str, section: str = "") -> str:
    """The macro of attributes of `what`: the section of this name, or nothing, unless the application defines it."""
    attribute = f' __attribute__((section("{section}")))' if section else ""
    return TEXTS["SECTION"].format(name=macro, what=what, attribute=attribute)


def _provided(function: FuncOp) -> bool:
    return not function.body.blocks and function.sym_name.data in PROVIDED


def _callees_first(functions: dict[str, FuncOp]) -> list[FuncOp]:
    """Every function after those it calls."""
    ordered: dict[str, FuncOp] = {}

    def visit(symbol: str, path: tuple[str, ...]) -> None:
        if symbol in ordered:
            return
        if symbol in path:
            raise CompileError("no-form-in-c", f"{symbol} calls itself")
        for op in functions[symbol].walk():
            if isinstance(op, CallOp) and op.callee.string_value() in functions:
                visit(op.callee.string_value(), (*path, symbol))
        ordered[symbol] = functions[symbol]

    for symbol in functions:
        visit(symbol, ())
    return list(ordered.values())
