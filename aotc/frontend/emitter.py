"""Nodes as importers see them, whatever the format of the model: building operations, constants, problems that name
the node; and tensors with arithmetic that emits graph operations.

x = node.tensor(0)
return (x < 0).choose(x * node.attr("alpha", 0.01), x)
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import BFloat16Type, Float16Type, LocationAttr, NameLoc, NoneAttr, StringAttr, f32, f64
from xdsl.ir import Attribute, Block, SSAValue

from aotc.dialects.constants import constant_op, folded, known_array
from aotc.dialects.dtypes import DType, byte_width, integer_range, numpy_dtype
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.interfaces import GraphOp, ShapeError, element_type_of, shape_of
from aotc.errors import CompileError, Problem
from aotc.model.limits import MAX_ELEMENTS
from aotc.model.naming import c_identifier
from aotc.model.weight_store import Array, WeightStore

OPERATIONS = {each.name.removeprefix("graph."): cast("type[GraphOp]", each) for each in GRAPH.operations}
"""Operations of the graph dialect by name."""

Operation: TypeAlias = "str | type[GraphOp]"
"""The name of an operation of the graph dialect, or the class of any."""


def location(name: str) -> LocationAttr:
    """The location of what a node becomes; xDSL cannot read those back that are not ASCII."""
    return NameLoc(StringAttr(name.encode("ascii", "backslashreplace").decode()), NoneAttr())


def name_value(value: object, name: str) -> None:
    """Let a value of the IR be called as in the model, in IR and in C."""
    if isinstance(value, SSAValue) and value.name_hint is None:
        # xDSL numbers equal names with suffixes of its own, which must not meet those of the model.
        value.name_hint = re.sub(r"[_\d]*$", "", c_identifier(name)) or None


def erase_unused(block: Block) -> None:
    """Erase the operations of which nothing reads a result."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.first_use for result in op.results):
            block.erase_op(op)


@dataclass(eq=False, kw_only=True)
class Emitter(ABC):
    """A node during import: its inputs as SSA values, and `emit`."""

    SHAPE_ADVICE: ClassVar[str] = "make the model again"
    """Advice about shapes that do not fit."""

    name: str
    op_type: str
    outputs: list[str]
    """Names of the outputs; an empty name is an output that nothing reads."""
    builder: Builder
    store: WeightStore
    location: LocationAttr
    notes: list[Problem]

    @abstractmethod
    def optional(self, position: int) -> SSAValue | None:
        """An optional input, None where it is left out."""

    def input(self, position: int) -> SSAValue:
        """A required input."""
        value = self.optional(position)
        if value is None:
            self.fail("missing-input", f"input {position} is missing", "the operator requires it")
        return value

    def tensor(self, position: int) -> Tensor:
        """A required input to compute with."""
        return Tensor(self, self.input(position))

    def optional_tensor(self, position: int) -> Tensor | None:
        """An optional input to compute with, None where it is left out."""
        return None if self.optional(position) is None else self.tensor(position)

    def shape(self, position: int) -> tuple[int, ...]:
        """The shape of a required input."""
        return shape_of(self.input(position))

    def element_type(self, position: int) -> Attribute:
        """The graph element type of a required input."""
        return element_type_of(self.input(position))

    def known(self, position: int) -> Array | None:
        """The value of an input if it is a constant by now; None where it is absent or computed at run time."""
        value = self.optional(position)
        return None if value is None else self.known_value(value)

    def known_value(self, value: SSAValue) -> Array | None:
        """The same of any value."""
        return known_array(value, self.store)

    def constant(self, array: Array | Sequence[Any] | float, dtype: Any = None) -> SSAValue:
        """A constant from a numpy array (or what np.array makes one of)."""
        array = np.asarray(array, dtype=dtype)
        self.store.count_computed(array.nbytes, self.name, self.op_type)
        return self._constant(array)

    def given(self, array: Array) -> SSAValue:
        """A constant that the node has as an attribute."""
        self.store.count_given(array.nbytes, self.name, self.op_type)
        return self._constant(array)

    def numbers(self, count: int, dtype: Any = np.int64) -> Array:
        """0 to `count` - 1; fails where a constant may not be as large."""
        self.require_room(count, dtype)
        return np.arange(count, dtype=dtype)

    def filled(self, shape: Sequence[int], value: float, dtype: Any) -> Array:
        """`value` in that shape; fails where a constant may not be as large."""
        self.require_room(math.prod(shape), dtype)
        return np.full(shape, value, dtype)

    def require_room(self, count: int, dtype: Any) -> None:
        """Fail before a constant of `count` elements is computed that may not be: whoever makes one whose extents are
        those of other tensors, or numbers in the model, asks first, as `numbers` and `filled` do."""
        self.require_countable([count])
        self.store.require_room(count * np.dtype(dtype).itemsize, self.name, self.op_type)

    def require_countable(self, shape: Sequence[float]) -> None:
        """Fail where a result of that shape would have more elements than are supported."""
        if not (count := math.prod(shape)) < MAX_ELEMENTS:
            self.fail("too-large", f"its result has {count} elements, 2^31 or more")

    def require_broadcast(self, position: int, shape: Sequence[int], what: str) -> None:
        """Fail where an input does not broadcast to `shape`, that of `what`, which must not change."""
        if not _fits(own := self.shape(position), shape):
            what = f"input {position} of shape {list(own)} does not broadcast to that of {what}, {list(shape)}"
            self.fail("invalid-shape", what)

    def require_fit(self, x: Tensor, shape: Sequence[int]) -> None:
        """Fail where `x`, an operand in another shape than it came, does not broadcast to `shape`."""
        if not _fits(x.shape, shape):
            self.fail("invalid-shape", f"an operand seen as {list(x.shape)} does not broadcast to {list(shape)}")

    def _constant(self, array: Array) -> SSAValue:
        self.require_countable(array.shape)
        op = constant_op(array, self.outputs[0] or self.name, self.store)
        return self._insert(op)

    def emit(self, operation: Operation, *operands: Operands, **attributes: object) -> SSAValue:
        """Build an operation by `get` of its class, fold it if its operands are constants, insert it; its first result.

        A dequantisation does not fold: what is stored may be computed with.
        """
        return self.emit_all(operation, *operands, **attributes)[0]

    def emit_all(self, operation: Operation, *operands: Operands, **attributes: object) -> list[SSAValue]:
        """As `emit`, with every result."""
        try:
            op_class = OPERATIONS[operation] if isinstance(operation, str) else operation
            op = op_class.get(*map(_value, operands), **attributes)
        except ShapeError as error:
            self.fail("invalid-shape", str(error), fix=self.SHAPE_ADVICE)
        try:
            for result in op.results:
                self.require_countable(shape_of(result))
        except CompileError:
            op.erase()
            raise
        values = folded(op, self.store, self.name, self.op_type) if op.operand_quantization() is None else None
        if values is not None:
            op.erase()
            return [self._constant(value) for value in values]
        self._insert(op)
        return list(op.results)

    def fail(self, kind: str, what: str, why: str = "", fix: str = "") -> NoReturn:
        """Stop importing this node with a problem that names it; `kind` is the problem's id."""
        raise CompileError(kind, what, why, fix, self.name, self.op_type)

    def note(self, kind: str, what: str, why: str = "") -> None:
        """Tell the user, once the model is imported, what is otherwise than the model says."""
        self.notes.append(Problem(kind, what, why, node=self.name, op_type=self.op_type))

    def _insert(self, op: GraphOp) -> SSAValue:
        op.location = self.location
        self.builder.insert(op)
        return op.results[0]


def _arithmetic(operation: str) -> Callable[[Tensor, Operand], Tensor]:
    return lambda self, other: self.emit(operation, self.beside(other))


def _comparison(how: str) -> Callable[[Tensor, Operand], Tensor]:
    return lambda self, other: self.compare(how, other)


class Tensor:
    """A value during import, with arithmetic that emits graph operations at its node.

    A number beside it is a constant of rank 0 in its type (`scalar`).
    """

    def __init__(self, node: Emitter, value: SSAValue) -> None:
        self.node: Any = node
        """Of the format at hand, whose importers know more of it."""
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return shape_of(self.value)

    @property
    def kind(self) -> Attribute:
        """Its element type in IR."""
        return element_type_of(self.value)

    @property
    def dtype(self) -> DType:
        """Its element type in numpy."""
        return numpy_dtype(self.kind)

    def emit(self, operation: Operation, *operands: Operands, **attributes: object) -> Tensor:
        """The first result of an operation whose first operand this is."""
        return Tensor(self.node, self.node.emit(operation, self, *operands, **attributes))

    def scalar(self, value: float) -> Tensor:
        """The constant `value` of rank 0 in this type. Fails where that is an integer and `value` is none, or beyond
        it: an importer computes in floats then."""
        found = np.array(value).astype(self.dtype)
        if self.dtype.kind in "iu" and found.item() != value:
            fix = "cast the operands to floats before, and the result back"
            self.node.fail("invalid-value", f"the number {value} is no {self.dtype}", fix=fix)
        return Tensor(self.node, self.node.constant(found))

    def beside(self, other: Operand) -> Tensor:
        """A value to compute this with: a number in this type."""
        if isinstance(other, Tensor):
            return other
        return Tensor(self.node, other) if isinstance(other, SSAValue) else self.scalar(other)

    __add__ = _arithmetic("add")
    __sub__ = _arithmetic("sub")
    __mul__ = _arithmetic("mul")
    __truediv__ = _arithmetic("div")
    at_least = _arithmetic("max")
    """The greater of two, element by element."""
    at_most = _arithmetic("min")
    """The lesser of two, element by element."""

    def __rsub__(self, other: float) -> Tensor:
        return self.scalar(other) - self

    def __rtruediv__(self, other: float) -> Tensor:
        return self.scalar(other) / self

    def __matmul__(self, other: Tensor) -> Tensor:
        return self.emit("matmul", other)

    def compare(self, how: str, other: Operand) -> Tensor:
        """Booleans; `how` is one of `graph.compare`."""
        return self.emit("compare", self.beside(other), how=how)

    __lt__ = _comparison("lt")
    __le__ = _comparison("le")
    __gt__ = _comparison("gt")
    __ge__ = _comparison("ge")

    def choose(self, yes: Operand, no: Operand) -> Tensor:
        """`yes` where this holds, else `no`; at most one of them is a number."""
        if isinstance(yes, Tensor | SSAValue):
            yes = self.beside(yes)
            return self.emit("where", yes, yes.beside(no))
        no = self.beside(no)
        return self.emit("where", no.scalar(yes), no)

    def sqrt(self) -> Tensor:
        """The square roots."""
        return self.emit("sqrt")

    def reduce(self, kind: str, axes: Sequence[int], keepdims: bool = True) -> Tensor:
        """The sum, mean, max, min or prod along axes."""
        return self.emit("reduce", kind=kind, axes=list(axes), keepdims=keepdims)

    def cast(self, kind: Attribute) -> Tensor:
        """In another element type; itself where it has that already."""
        return self if self.kind == kind else self.emit("cast", to=kind)

    def widened(self) -> Tensor:
        """In f32 where it is f16 or bf16, so that intermediate results neither overflow nor round."""
        return self.cast(f32) if isinstance(self.kind, Float16Type | BFloat16Type) else self

    def saturated(self, kind: Attribute) -> Tensor:
        """Floats as the nearest integers of a type, to even; what is beyond them becomes the least or the greatest."""
        node, dtype = self.node, numpy_dtype(kind)
        if byte_width(kind) <= 2:
            one, zero = node.constant(np.ones((), np.float32)), node.constant(np.zeros((), dtype))
            return self.cast(f32).emit("quantize", one, zero, to=kind)
        low, high = integer_range(kind)
        whole = self.cast(f64).emit("round")
        least, beyond = whole.scalar(low), whole.scalar(high + 1)
        number = (whole < beyond).emit("and", whole > least).choose(whole, least).cast(kind)
        return (whole >= beyond).choose(node.constant(np.array(high, dtype)), number)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape; itself where it has that already."""
        return self if self.shape == tuple(shape) else self.emit("reshape", shape=list(shape))

    def transpose(self, permutation: Sequence[int]) -> Tensor:
        """The axes in another order."""
        return self.emit("transpose", permutation=list(permutation))


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one behind the other along an axis; one alone as it is."""
    return parts[0] if len(parts) == 1 else Tensor(parts[0].node, parts[0].node.emit("concat", parts, axis=axis))


Operand: TypeAlias = "Tensor | SSAValue | float"
Operands: TypeAlias = "Tensor | SSAValue | Sequence[Tensor | SSAValue] | None"


def _value(operand: Operands) -> SSAValue | list[SSAValue] | None:
    if operand is None or isinstance(operand, SSAValue):
        return operand
    if isinstance(operand, Tensor):
        return operand.value
    return [each.value if isinstance(each, Tensor) else each for each in operand]


def _fits(own: Sequence[int], shape: Sequence[int]) -> bool:
    each = zip(reversed(own), reversed(shape), strict=False)
    return len(own) <= len(shape) and all(mine in (1, extent) for mine, extent in each)
