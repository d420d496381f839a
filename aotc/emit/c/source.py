"""One file of C99 from the `interface` phase: weights, arena, kernels, entry and descriptor, or some of them.

Only the entry and the descriptor have external linkage, and operators that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import (
    Argument,
    arguments_of,
    entries,
    is_entry,
    is_kernel,
    model_name_or,
    shares_workspace,
    workspace_alignment,
)
from aotc.emit.c import macros as c_macros
from aotc.emit.c import memory as c_memory
from aotc.emit.c import tables as c_tables
from aotc.emit.c import types as c_types
from aotc.emit.c import vector_macros as c_vector_macros
from aotc.emit.c import vectors as c_vectors
from aotc.emit.c.function import FunctionPrinter, argument_names, result_type, unsupported
from aotc.emit.c.header import Descriptor, Prototype
from aotc.emit.c.helpers import HELPERS, helper_text
from aotc.emit.c.placement import Expr, name_expr
from aotc.emit.c.ranges import Interval
from aotc.emit.c.text import comment_text, wrapped
from aotc.emit.c.types import BOOL, SIGNED, UNSIGNED, VOID, CType, ctype_of, pointer_to
from aotc.emit.c.weights import LONG, definition, element_ctype, needs_math
from aotc.errors import CompileError, Problem
from aotc.model.conventions import CALL_PACKED, THREADS_BARRIER, THREADS_RUN, workspace_symbol
from aotc.model.locations import node_names
from aotc.model.naming import c_identifier
from aotc.model.weights import WeightStore

PACKED_HEADER = "aotc_packed.h"
THREADS = ("aotc_threads.c", "aotc_threads.h")
"""The runtime of models for several threads."""
_PROVIDED = {CALL_PACKED: PACKED_HEADER} | dict.fromkeys((THREADS_RUN, THREADS_BARRIER), THREADS[1])
"""External functions that a header declares."""


class Part(Enum):
    """What of a model a file defines."""

    ALL = "all"
    OPERATORS = "operators"
    NETWORK = "network"
    """All but the operators: entry, tables and descriptor."""


@dataclass
class CSource:
    """One C source file; what its functions need of it (`c_scope.Unit`)."""

    module: ModuleOp
    store: WeightStore
    part: Part = Part.ALL
    index: CType = SIGNED[32]
    freestanding: bool = False
    taken: set[str] = field(default_factory=set[str])
    _functions: dict[str, FuncOp] = field(default_factory=dict[str, FuncOp])
    _calls: dict[str, list[CallOp]] = field(default_factory=dict[str, list[CallOp]])
    _tables: dict[str, aot.GlobalOp] = field(default_factory=dict[str, aot.GlobalOp])
    _parameters: dict[str, tuple[CType, ...]] = field(default_factory=dict[str, tuple[CType, ...]])
    _weights: dict[str, tuple[str, MemRefType[Attribute]]] = field(
        default_factory=dict[str, tuple[str, MemRefType[Attribute]]]
    )
    _arena: tuple[str, int] | None = None
    _external: dict[str, int] = field(default_factory=dict[str, int])
    _helpers: set[str] = field(default_factory=set[str])
    _headers: set[str] = field(default_factory=lambda: {"stdint.h"})
    _body: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        for op in self.module.ops:
            if isinstance(op, FuncOp):
                self._functions[op.sym_name.data] = op
            elif isinstance(op, aot.GlobalOp):
                self._tables[op.sym_name.data] = op
                self.struct(op.element)
        sizes: dict[Attribute, int] = {}
        for op in self.module.walk():
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)
            for result in op.results:
                if isinstance(kind := result.type, MemRefType):
                    sizes[kind] = _elements(kind)
        if any(size >= 2**31 for size in sizes.values()):
            self.index = SIGNED[64]
        self.taken |= {
            *self._functions,
            *self._tables,
            *HELPERS,
            *aot.STRUCTS,
            *c_macros.MACROS,
            *c_vector_macros.RESERVED,
        }
        for op in self._operations():  # before any function is printed: no local may take such a name
            if isinstance(op, aot.WeightOp):
                self.weight(op)
            elif isinstance(op, aot.WorkspaceOp):
                self.workspace(op)
            elif isinstance(op, CallOp):
                self.parameters(op.callee.string_value())
            elif len(op.results) == 1 and isinstance(kind := op.results[0].type, aot.PtrType):
                self.struct(kind.pointee)
        for function in self._defined():
            self.parameters(function.sym_name.data)
        self.freestanding = self.freestanding or self._is_integer_model()

    def _defined(self) -> Iterator[FuncOp]:
        """The functions that the file defines."""
        for function in self._functions.values():
            is_operator = is_kernel(function)
            if function.body.blocks and self.part is not (Part.NETWORK if is_operator else Part.OPERATORS):
                yield function

    def _operations(self) -> Iterator[Operation]:
        return (op for function in self._defined() for op in function.walk())

    def _is_integer_model(self) -> bool:
        """Whether no input or output of the entry is a float: such a model shall not need libm."""
        arguments = [given for function in entries(self.module) for given in arguments_of(function)]
        dtypes = [given.dtype for given in arguments if given.dtype is not None]
        return bool(dtypes) and not any("float" in dtype for dtype in dtypes)

    # What functions ask for

    def helper(self, name: str) -> str:
        """Have a helper function defined; returns its name."""
        self._helpers.add(name)
        return name

    def include(self, header: str) -> None:
        """Have a standard header included."""
        self._headers.add(header)

    def parameters(self, symbol: str) -> Sequence[CType]:
        """The C types of a function's parameters."""
        if symbol not in self._parameters:
            function = self._functions[symbol]
            attributes = arguments_of(function)
            kinds = function.function_type.inputs.data
            arguments: Sequence[SSAValue | None] = function.args if function.body.blocks else [None] * len(kinds)
            self._parameters[symbol] = tuple(
                self._parameter(kind, argument, given)
                for kind, argument, given in zip(kinds, arguments, attributes, strict=True)
            )
            if any(BOOL in (ctype, ctype.pointee) for ctype in self._parameters[symbol]):
                self.include("stdbool.h")
        return self._parameters[symbol]

    def provided(self, symbol: str) -> bool:
        """Whether a header declares the function, with types of its own."""
        return symbol in _PROVIDED

    def table(self, symbol: str) -> Expr:
        """A constant table as a pointer to its first element; a function."""
        if symbol in self._functions:
            return name_expr(symbol, pointer_to(VOID))
        element = self._tables[symbol].element
        self.struct(element)
        return name_expr(symbol, pointer_to(c_tables.element_ctype(element, self._model), const=True))

    def weight(self, op: aot.WeightOp) -> Expr:
        """The array of a weight."""
        key = op.key.data
        if key not in self._weights:
            name = c_identifier(key, self.taken)
            self.taken.add(name)
            self._weights[key] = name, op.result.type
        name, kind = self._weights[key]
        place = f"{name}.values" if self._as_bytes(key) else name
        return name_expr(place, pointer_to(self._weight_ctype(key, kind), const=True))

    def workspace(self, op: aot.WorkspaceOp) -> Expr:
        """The arena."""
        if self._arena is None:
            shared = shares_workspace(self.module)
            name = workspace_symbol(self._model) if shared else c_identifier("workspace", self.taken)
            self.taken.add(name)
            self._arena = name, op.result.type.get_shape()[0]
        return name_expr(self._arena[0], pointer_to(UNSIGNED[8]))

    def weights(self, op: aot.WeightsOp) -> Expr:
        """The blob of external weights."""
        self._external[op.symbol.data] = op.result.type.get_shape()[0]
        return name_expr(op.symbol.data, pointer_to(UNSIGNED[8], const=True))

    def struct(self, kind: Attribute) -> None:
        """Have a structure declared."""
        if isinstance(kind, aot.StructType) and kind.struct.data != "AOTCTypedModel":
            self._headers.add(PACKED_HEADER)

    def contents(self, buffer: SSAValue) -> Interval | None:
        """The interval of a buffer's integers where every call of the function passes weights."""
        base = c_memory.root(buffer)
        if isinstance(base, BlockArgument):
            function = base.block.parent_op()
            if not isinstance(function, FuncOp) or not _is_private(function):
                return None
            calls = self._calls.get(function.sym_name.data, [])
            sources = [c_memory.root(call.arguments[base.index]) for call in calls]
        else:
            sources = [base]
        arrays = [self._array(source.owner) for source in sources]
        if not arrays or any(array is None or not array.size or array.dtype.kind not in "iu" for array in arrays):
            return None
        signed = [array.view(f"i{array.dtype.itemsize}") for array in arrays if array is not None]
        return (min(int(array.min()) for array in signed), max(int(array.max()) for array in signed))

    def _array(self, owner: object) -> np.ndarray | None:
        if isinstance(owner, aot.WeightOp) and owner.key.data in self.store:
            return self.store[owner.key.data]
        return None

    def _as_bytes(self, key: str) -> bool:
        """Whether a weight is written as a string: long ones where the code is GNU C anyway."""
        return self._widest > 0 and key in self.store and self.store[key].nbytes >= LONG

    def _weight_ctype(self, key: str, kind: MemRefType[Attribute]) -> CType:
        return element_ctype(self.store[key]) if key in self.store else ctype_of(kind.get_element_type(), self.index)

    def _parameter(self, kind: Attribute, argument: SSAValue | None, given: Argument) -> CType:
        if not isinstance(kind, aot.PtrType):
            return ctype_of(kind, self.index)
        self.struct(kind.pointee)
        const = given.readonly
        if given.dtype is not None:
            return pointer_to(c_types.dtype_ctype(given.dtype), const)
        plain = ctype_of(kind, self.index).pointee
        assert plain is not None
        if argument is None or not isinstance(kind.pointee, IntegerType) or kind.pointee.width.data == 1:
            return pointer_to(plain, const)
        return pointer_to(self._integer_pointee(argument, kind.pointee, plain), const)

    def _integer_pointee(self, argument: SSAValue, kind: IntegerType, plain: CType) -> CType:
        """What an integer pointer points to, from its uses: signed or unsigned elements, or (i8) just bytes."""
        buffers: list[SSAValue] = []
        for use in argument.uses:
            op = use.operation
            if isinstance(op, CallOp) and not self.provided(op.callee.string_value()):
                pointee = self.parameters(op.callee.string_value())[use.index].pointee
                if pointee is not None and pointee != VOID:
                    return pointee
            elif isinstance(op, aot.BufferOp):
                users = [each.operation for each in op.result.uses]
                if any(not isinstance(user, c_memory.VIEW) for user in users):
                    buffers.append(op.result)
        if not buffers:
            return plain
        unsigned = all(c_memory.is_unsigned_buffer(buffer) for buffer in buffers)
        return ctype_of(kind, self.index, unsigned)

    # The file

    def _print_functions(self) -> None:
        self._body.clear()
        defined = {*self._defined()}
        functions = [function for function in _callees_first(self._functions) if function in defined]
        if problems := [problem for function in functions for problem in unsupported(function)]:
            raise CompileError(problems)
        for function in functions:
            lines = FunctionPrinter(self, function).lines()
            self._body.append("\n".join([*self._comment(function), *lines, ""]))

    @property
    def local_headers(self) -> list[str]:
        """Headers of the runtime that the file and the model's header include."""
        needed = {PACKED_HEADER} & self._headers
        return sorted(
            needed | ({_PROVIDED[f.sym_name.data] for f in self._functions.values() if _provided(f)} - {THREADS[1]})
        )

    @property
    def inner_headers(self) -> list[str]:
        """Headers of the runtime that the file includes and the model's header does not."""
        return [THREADS[1]] if {THREADS_RUN, THREADS_BARRIER} & {*self._calls} else []

    def exported(self) -> list[Prototype]:
        """The functions with external linkage that the file defines."""
        return [self._prototype(f) for f in self._functions.values() if f.body.blocks and not _is_private(f)]

    def descriptors(self) -> list[Descriptor]:
        """The public tables."""
        found: list[Descriptor] = []
        for symbol, table in self._tables.items():
            if c_tables.is_public(table):
                ctype = c_tables.element_ctype(table.element, self._model).text
                typed = isinstance(table.element, aot.StructType) and table.element.struct.data == c_tables.TYPED_MODEL
                run = self._prototype(self._functions[next(c_tables.symbols(table))]) if typed else None
                found.append(Descriptor(symbol, ctype, run))
        return found

    def _prototype(self, function: FuncOp) -> Prototype:
        symbol = function.sym_name.data
        names: list[str] = []
        for hint in argument_names(function):
            names.append(c_identifier(hint, {*names, *self.taken}))
        return Prototype(
            result_type(function, self.index),
            symbol,
            tuple(ctype.declare(name) for ctype, name in zip(self.parameters(symbol), names, strict=True)),
        )

    def text(self, header: str | None = None) -> Iterator[str]:
        """The source, in pieces; it includes `header`, or says itself what that would. Raises CompileError at once."""
        self._print_functions()
        return self._pieces(header)

    def _pieces(self, header: str | None) -> Iterator[str]:
        defined = [key for key in self._weights if key in self.store]
        if any(needs_math(self.store[key]) for key in defined if not self._as_bytes(key)):
            self._headers.add("math.h")
        vectors = self._vectors()
        local = [*([header] if header is not None else self.local_headers), *self.inner_headers]
        yield "".join(f'#include "{name}"\n' for name in local) + ("\n" if local else "")
        yield "".join(f"#include <{name}>\n" for name in sorted(self._headers - {PACKED_HEADER}))
        if vectors:
            yield c_macros.VECTOR_CONTRACTION
        elif self._helpers or any(isinstance(op, arith.MulfOp) for op in self._operations()):
            yield c_macros.CONTRACTION
        for text in helper_text(self._helpers):
            yield f"\n{text}"
        yield vectors
        yield from self._prototypes(header is None)
        yield from self._constants()
        yield from self._static_memory()
        tables = [] if self.part is Part.OPERATORS else self._tables.values()
        for table in tables:
            if not c_tables.is_public(table):
                yield "\n" + c_tables.definition(table, self._model)
        if any(is_kernel(function) for function in self._defined()):
            yield c_macros.OPERATOR
        for function in self._body:
            yield f"\n{function}"
        for table in tables:
            if c_tables.is_public(table):
                yield "\n" + c_tables.definition(table, self._model)

    def _vectors(self) -> str:
        """The types and macros of vector code; nothing where there is none."""
        if not any(map(c_vectors.concerns, self._operations())):
            return ""
        found = c_vector_macros.prologue(self._body)
        self._headers |= found.headers
        self._helpers |= found.helpers
        return found.text

    def _prototypes(self, alone: bool) -> Iterator[str]:
        """External functions, functions that tables point to, and without a header (`alone`) what is exported."""
        tables = [table for table in self._tables.values() if not c_tables.is_public(table)]
        named = {symbol for table in tables for symbol in c_tables.symbols(table)}
        named &= {function.sym_name.data for function in self._defined()}
        lines: list[str] = []
        for symbol, function in self._functions.items():
            prototype = self._prototype(function)
            if not function.body.blocks:
                linkage = None if _provided(function) else "extern "
            elif _is_private(function):
                linkage = "static " if symbol in named else None
            else:
                linkage = "" if alone else None
            if linkage is not None:
                head = f"{linkage}{prototype.result} {symbol}("
                lines.extend(wrapped(head, prototype.parameters or ("void",), ");"))
        if alone:
            lines.extend(descriptor.declaration().rstrip("\n") for descriptor in self.descriptors())
        if lines:
            yield "\n" + "\n".join(lines) + "\n"

    def _constants(self) -> Iterator[str]:
        """The weights."""
        defined = {key: value for key, value in self._weights.items() if key in self.store}
        aligned = f" AOTC_ALIGNED({self._widest})" if self._widest else ""
        if aligned and (defined or self._arena is not None):
            yield c_macros.ALIGNED
        if any(map(self._as_bytes, defined)):
            yield c_macros.BYTES
        if defined:
            yield c_macros.SECTION.format(name="WEIGHTS", what="weights")
        for key, (name, kind) in self._weights.items():
            ctype = self._weight_ctype(key, kind)
            if key not in defined:
                yield f"\nextern const {ctype.declare(name)}[{max(1, _elements(kind))}];\n"
                continue
            array = self.store[key]
            comment = comment_text(f"{key}: {array.dtype.name}[{', '.join(map(str, array.shape))}]")
            yield f"\n/* {comment} */\n"
            yield from definition(f"static const AOTC_WEIGHTS{aligned}", name, array, self._as_bytes(key))
        for symbol, size in self._external.items():
            yield f"\n/* The application links the weights. */\nextern const unsigned char {symbol}[{max(1, size)}];\n"

    def _static_memory(self) -> Iterator[str]:
        """The arena."""
        if self._arena is None:
            return
        name, size = self._arena
        alignment = workspace_alignment(self.module)
        yield c_macros.SECTION.format(name="WORKSPACE", what="workspace")
        if not self._widest:
            yield c_macros.ALIGNED
        linkage = "" if shares_workspace(self.module) else "static "
        yield f"\n{linkage}AOTC_WORKSPACE AOTC_ALIGNED({alignment}) uint8_t {name}[{max(1, size)}];\n"

    def _comment(self, function: FuncOp) -> list[str]:
        """A comment that names the ONNX nodes of a kernel, of all its calls."""
        if is_entry(function):
            return []
        places = [*self._calls.get(function.sym_name.data, []), *function.walk()]
        names = list(dict.fromkeys(name for place in places for name in node_names(place.location)))
        if not names:
            return []
        lines = wrapped("/* ", [comment_text(name) for name in names], " */")
        return [lines[0], *(f" * {line.strip()}" for line in lines[1:])]

    @cached_property
    def _widest(self) -> int:
        """The bytes of the longest vector, to which arrays are aligned; 0 without vectors."""
        return max((c_vectors.size(value) for op in self.module.walk() for value in op.results), default=0)

    @property
    def _model(self) -> str:
        return model_name_or(self.module, "model")


def _elements(kind: Attribute) -> int:
    if not isinstance(kind, MemRefType):
        return 0
    return int(np.prod([max(extent, 0) for extent in kind.get_shape()], dtype=object))


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _provided(function: FuncOp) -> bool:
    return not function.body.blocks and function.sym_name.data in _PROVIDED


def _callees_first(functions: dict[str, FuncOp]) -> list[FuncOp]:
    """Every function after those it calls."""
    ordered: dict[str, FuncOp] = {}

    def visit(symbol: str, path: tuple[str, ...]) -> None:
        if symbol in ordered:
            return
        if symbol in path:
            raise CompileError(Problem(f"{symbol} calls itself"))
        for op in functions[symbol].walk():
            if isinstance(op, CallOp) and op.callee.string_value() in functions:
                visit(op.callee.string_value(), (*path, symbol))
        ordered[symbol] = functions[symbol]

    for symbol in functions:
        visit(symbol, ())
    return list(ordered.values())
