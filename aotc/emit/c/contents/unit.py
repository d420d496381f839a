"""Requests of functions to their C file: symbols and their types, weights, helpers, headers; of expressions to
their functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import prod

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import (
    WEIGHTS_POOL,
    Argument,
    arguments_of,
    entries,
    has_plan,
    is_kernel,
    model_name_or,
    plan_of,
)
from aotc.dialects.operations import walk
from aotc.emit.c.analyses.ranges import Interval, Ranges
from aotc.emit.c.analyses.values import is_unsigned_buffer, root, size
from aotc.emit.c.contents import tables
from aotc.emit.c.contents.array_initialisers import LONG, element_ctype
from aotc.emit.c.contents.preamble import MACROS
from aotc.emit.c.definitions.helpers import HELPERS
from aotc.emit.c.syntax.c_types import BOOL, RESERVED, SIGNED, UNSIGNED, VOID, CType, ctype_of, dtype_ctype, pointer_to
from aotc.emit.c.syntax.expr import Expr, name_expr
from aotc.model import conventions
from aotc.model.naming import c_identifier
from aotc.model.weight_store import WeightStore

PACKED_HEADER = "aotc_packed.h"
THREADS = ("aotc_threads.c", "aotc_threads.h")
"""The runtime of models for several threads."""
PROVIDED = {conventions.CALL_PACKED: PACKED_HEADER, conventions.THREADS_RUN: THREADS[1]}
"""External functions that a header declares."""


class Part(Enum):
    """The part of a model that a file defines."""

    ALL = "all"
    OPERATORS = "operators"
    NETWORK = "network"
    """All but the operators: entry, tables and descriptor."""


@dataclass
class Unit:
    """The symbols, types, weights, helpers and headers of one C source file."""

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
    _workspaces: dict[str, int] = field(default_factory=dict[str, int])
    _external: dict[str, int] = field(default_factory=dict[str, int])
    _helpers: set[str] = field(default_factory=set[str])
    _headers: set[str] = field(default_factory=lambda: {"stdint.h"})

    def __post_init__(self) -> None:
        for op in self.module.ops:
            if isinstance(op, FuncOp):
                self._functions[op.sym_name.data] = op
            elif isinstance(op, aot.GlobalOp):
                self._tables[op.sym_name.data] = op
                self.struct(op.element)
        kinds: dict[int, Attribute] = {}  # by identity: they recur, and hashing one means hashing all that is in it
        for op in walk(self.module):
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)
            for result in op.results:
                kinds[id(result.type)] = result.type
        if any(element_count(kind) >= 2**31 for kind in kinds.values()):
            self.index = SIGNED[64]
        self.taken |= {
            *self._functions,
            *self._tables,
            *HELPERS,
            *aot.STRUCTS,
            *MACROS,
            *RESERVED,
            *(
                symbol(self.model_name)
                for symbol in (conventions.supported_symbol, conventions.workspace_symbol, conventions.weights_symbol)
            ),
            *(conventions.pool_symbol(self.model_name, pool) for pool in self.arenas),
            *map(conventions.pool_macro, self.arenas),
            self.weights_macro,
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

    @property
    def weights_macro(self) -> str:
        """The macro of attributes that stands before weights."""
        return conventions.weights_macro(WEIGHTS_POOL.get(self.module) or "")

    @property
    def arenas(self) -> Sequence[str]:
        """The pools that the workspace is in; "" where it is one arena."""
        return list(plan_of(self.module).arenas) if has_plan(self.module) else [""]

    def _defined(self) -> Iterator[FuncOp]:
        """The functions that the file defines."""
        for function in self._functions.values():
            is_operator = is_kernel(function)
            if function.body.blocks and self.part is not (Part.NETWORK if is_operator else Part.OPERATORS):
                yield function

    def _operations(self) -> Iterator[Operation]:
        return (op for function in self._defined() for op in walk(function))

    def _is_integer_model(self) -> bool:
        """Whether no input or output of the entry is a float: such a model should not need libm."""
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

    def table(self, symbol: str) -> Expr:
        """A constant table as a pointer to its first element; a function."""
        if symbol in self._functions:
            return name_expr(symbol, pointer_to(VOID))
        element = self._tables[symbol].element
        self.struct(element)
        return name_expr(symbol, pointer_to(tables.element_ctype(element, self.model_name), const=True))

    def weight(self, op: aot.WeightOp) -> Expr:
        """The array of a weight."""
        key = op.key.data
        if key not in self._weights:
            name = c_identifier(conventions.operator_symbol(self.model_name, key), self.taken)
            self.taken.add(name)
            self._weights[key] = name, op.result.type
        name, kind = self._weights[key]
        place = f"{name}.values" if self._as_bytes(key) else name
        return name_expr(place, pointer_to(self._weight_ctype(key, kind), const=True))

    def workspace(self, op: aot.WorkspaceOp) -> Expr:
        """The array of the workspace, or of that in a pool."""
        self._workspaces.setdefault(op.pool_name, op.result.type.get_shape()[0])
        return name_expr(conventions.pool_symbol(self.model_name, op.pool_name), pointer_to(UNSIGNED[8]))

    def weights(self, op: aot.WeightsOp) -> Expr:
        """The array of external weights."""
        self._external[op.symbol.data] = op.result.type.get_shape()[0]
        return name_expr(op.symbol.data, pointer_to(UNSIGNED[8], const=True))

    def struct(self, kind: Attribute) -> None:
        """Have a structure declared."""
        if isinstance(kind, aot.StructType) and kind.struct.data != "AOTCTypedModel":
            self._headers.add(PACKED_HEADER)

    def contents(self, buffer: SSAValue) -> Interval | None:
        """The interval of a buffer's integers where every call of the function passes weights."""
        base = root(buffer)
        if isinstance(base, BlockArgument):
            function = base.block.parent_op()
            if not isinstance(function, FuncOp) or not is_private(function):
                return None
            calls = self._calls.get(function.sym_name.data, [])
            sources = [root(call.arguments[base.index]) for call in calls]
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
        """Whether a weight is written as a string literal of its bytes: long ones in files that are GNU C anyway."""
        return self.widest > 0 and key in self.store and self.store[key].nbytes >= LONG

    def _weight_ctype(self, key: str, kind: MemRefType[Attribute]) -> CType:
        return element_ctype(self.store[key]) if key in self.store else ctype_of(kind.get_element_type(), self.index)

    def _parameter(self, kind: Attribute, argument: SSAValue | None, given: Argument) -> CType:
        if not isinstance(kind, aot.PtrType):
            return ctype_of(kind, self.index)
        self.struct(kind.pointee)
        const = given.readonly
        if given.dtype is not None:
            return pointer_to(dtype_ctype(given.dtype), const)
        plain = ctype_of(kind, self.index).pointee
        assert plain is not None
        if argument is None or not isinstance(kind.pointee, IntegerType) or kind.pointee.width.data == 1:
            return pointer_to(plain, const)
        return pointer_to(self._integer_pointee(argument, kind.pointee, plain), const)

    def _integer_pointee(self, argument: SSAValue, kind: IntegerType, plain: CType) -> CType:
        """The elements behind an integer pointer, from its uses: signed or unsigned elements, or (i8) just bytes."""
        buffers: list[SSAValue] = []
        for use in argument.uses:
            op = use.operation
            if isinstance(op, CallOp) and op.callee.string_value() not in PROVIDED:
                pointee = self.parameters(op.callee.string_value())[use.index].pointee
                if pointee is not None and pointee != VOID:
                    return pointee
            elif isinstance(op, aot.BufferOp):
                users = [each.operation for each in op.result.uses]
                if any(not isinstance(user, memref.ViewOp) for user in users):
                    buffers.append(op.result)
        if not buffers:
            return plain
        unsigned = all(is_unsigned_buffer(buffer) for buffer in buffers)
        return ctype_of(kind, self.index, unsigned)

    @cached_property
    def widest(self) -> int:
        """The bytes of the longest vector, to which arrays are aligned; 0 without vectors."""
        values = {id(value.type): value for op in walk(self.module) for value in op.results}
        return max(map(size, values.values()), default=0)

    @property
    def model_name(self) -> str:
        return model_name_or(self.module, "model")


def element_count(kind: Attribute) -> int:
    """How many elements a buffer of this type has; 0 for other types."""
    if not isinstance(kind, MemRefType):
        return 0
    return prod(max(extent, 0) for extent in kind.get_shape())


def is_private(function: FuncOp) -> bool:
    """Whether a function has internal linkage."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


class Scope(ABC):
    """The function that expressions are built in: its values by name, and what they ask its file for."""

    unit: Unit
    ranges: Ranges

    @property
    def index(self) -> CType:
        """The C type of an index."""
        return self.unit.index

    @abstractmethod
    def operand(self, value: SSAValue) -> Expr:
        """The expression of an operand, inlined or a name."""

    @abstractmethod
    def atom(self, value: SSAValue) -> Expr:
        """The expression of an operand that is mentioned more than once: a name or a literal."""

    @abstractmethod
    def temporary(self, e: Expr) -> Expr:
        """A name for a part of the expression being built."""

    @abstractmethod
    def note_read(self, base: SSAValue) -> None:
        """The expression being built loads from the memory behind `base`."""

    def helper(self, name: str) -> str:
        """Have the file define a helper; returns its name."""
        return self.unit.helper(name)

    def include(self, header: str) -> None:
        """Have the file include a standard header."""
        self.unit.include(header)
