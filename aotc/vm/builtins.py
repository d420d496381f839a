"""The built-in functions of every machine, `vm.builtin.*`.

Shapes are computed on a shape heap, a tensor of int64: `match_shape` and `store_shape` put extents into it, a compiled
function computes others from them, `load_shape` makes a shape of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from inspect import Parameter, signature
from math import prod
from operator import add, and_, eq, floordiv, index, lt, mul, sub
from types import MappingProxyType
from typing import Any, Final, TypeVar, overload

import numpy as np

from aotc.vm.errors import OperandError, VMError
from aotc.vm.file_format import MOST_DIMENSIONS
from aotc.vm.instructions import is_name
from aotc.vm.values import UNSET, Array, ShapeTuple, Storage, ViewSlot, VMState

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_FUNCTIONS: dict[str, Callable[..., Any]] = {}

REGISTERED: Mapping[str, Callable[..., Any]] = MappingProxyType(_FUNCTIONS)
"""Every registered function by name."""


@overload
def register(name: str, *, override: bool = False) -> Callable[[F], F]: ...
@overload
def register(name: str, function: F, *, override: bool = False) -> F: ...
def register(name: str, function: Callable[..., Any] | None = None, *, override: bool = False) -> Any:
    """Have bytecode find a function by name, as a decorator or at once:

        @aotc.vm.register("vm.add")
        def add(a, b):
            return a + b

    Raises VMError where the name is taken, unless `override` says to replace it.
    """
    if not is_name(name):
        raise VMError("invalid-name", f"{name!r} is no name of a function", "names are printable, without blanks")

    def add(function: F) -> F:
        if not callable(function):
            raise TypeError(f"{name} is to be a function, not a {type(function).__name__}")
        if name in _FUNCTIONS and not override:
            raise VMError("duplicate-name", "a function of this name is registered", fix="say override=True", node=name)
        _FUNCTIONS[name] = function
        return function

    return add if function is None else add(function)


def arity_problem(function: Callable[..., Any], given: int) -> str | None:
    """The problem of calling `function` with so many operands; None where there is none, or nobody can know."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of C that does not say
        return None
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = [each for each in parameters if each.kind in positional]
    fewest = sum(each.default is Parameter.empty for each in places)
    many = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    if given >= fewest and (many or given <= len(places)):
        return None
    taken = f"{fewest} or more" if many else str(fewest) if fewest == len(places) else f"{fewest} to {len(places)}"
    return f"{given} operands for {taken}"


MOST_HEAP: Final = 1 << 16
"""Elements of a shape heap."""


class Match(IntEnum):
    """The action of `match_shape` for an extent."""

    EQUAL_IMMEDIATE = 0
    STORE = 1
    ANY = 2
    EQUAL_HEAP = 3


# --- what operands are -----------------------------------------------------------------------------------------------


def _integer(value: Any, position: int) -> int:
    try:
        return index(value)
    except TypeError as error:
        raise OperandError(position, f"expected an integer, got {_kind(value)}") from error


def _size(value: Any, position: int, most: int = (1 << 63) - 1) -> int:
    size = _integer(value, position)
    if not 0 <= size <= most:
        raise OperandError(position, f"{size} is not within 0 to {most}")
    return size


def _heap(value: Any, position: int) -> Array:
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1 or not value.flags.writeable:
        raise OperandError(position, f"expected a shape heap, got {_kind(value)}")
    return value


def _place(heap: Array, value: Any, position: int) -> int:
    place = _integer(value, position)
    if not 0 <= place < len(heap):
        raise OperandError(position, f"place {place} is not on a shape heap of {len(heap)}")
    return place


def _a(kind: type[T], value: Any, position: int, what: str) -> T:
    if not isinstance(value, kind):
        raise OperandError(position, f"expected {what}, got {_kind(value)}")
    return value


def _shape(value: Any, position: int) -> ShapeTuple:
    return _a(ShapeTuple, value, position, "a shape")


def _shape_or_tensor(value: Any, position: int) -> ShapeTuple:
    return ShapeTuple(value.shape) if isinstance(value, np.ndarray) else _shape(value, position)


def _dtype(value: Any, position: int) -> np.dtype[Any]:
    return _a(np.dtype, value, position, "a data type")


def _single(value: Any) -> Array:
    if not isinstance(value, np.ndarray) or value.size != 1 or value.dtype.kind not in "biu":
        raise OperandError(0, f"expected a tensor of one integer or boolean, got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a tensor {value.dtype.name}{list(value.shape)}"
    return f"{value!r}" if isinstance(value, int | ShapeTuple) else f"a {type(value).__name__}"


# --- shapes ----------------------------------------------------------------------------------------------------------


@register("vm.builtin.alloc_shape_heap")
def alloc_shape_heap(size: Any) -> Array:
    """A shape heap of `size` elements, none of which is set."""
    return np.full(_size(size, 0, MOST_HEAP), UNSET, np.int64)


@register("vm.builtin.shape_of")
def shape_of(tensor: Any) -> ShapeTuple:
    """The shape of a tensor."""
    return ShapeTuple(_a(np.ndarray, tensor, 0, "a tensor").shape)


@register("vm.builtin.extent")
def extent_of(tensor: Any, axis: Any) -> int:
    """One extent of a tensor, or of a shape."""
    shape, place = _shape_or_tensor(tensor, 0), _integer(axis, 1)
    if not 0 <= place < len(shape):
        raise OperandError(1, f"{list(shape)} has no dimension {place}")
    return shape[place]


@register("vm.builtin.store_shape")
def store_shape(shape: Any, heap: Any, *places: Any) -> None:
    """Store the extents of a shape at these places of a heap."""
    shape, heap = _shape(shape, 0), _heap(heap, 1)
    if len(places) != len(shape):
        raise OperandError(0, f"a shape of {len(shape)} extents for {len(places)} places")
    for position, (extent, place) in enumerate(zip(shape, places, strict=True), 2):
        heap[_place(heap, place, position)] = extent


@register("vm.builtin.load_shape")
def load_shape(heap: Any, *places: Any) -> ShapeTuple:
    """A shape of what is at these places of a heap."""
    heap = _heap(heap, 0)
    extents: list[int] = []
    for position, place in enumerate(places, 1):
        extent = int(heap[_place(heap, place, position)])
        if extent < 0:
            raise OperandError(position, f"place {place} of the shape heap has no extent, but {extent}")
        extents.append(extent)
    return ShapeTuple(extents)


@register("vm.builtin.make_shape")
def make_shape(*extents: Any) -> ShapeTuple:
    """A shape of integers."""
    return ShapeTuple(_size(extent, position) for position, extent in enumerate(extents))


@register("vm.builtin.match_shape")
def match_shape(value: Any, heap: Any, *codes: Any) -> None:
    """Check and store the shape of a tensor, or a shape: two integers (code, number) for each extent.

    Codes: 0 it is the number, 1 store it at that place of the heap, 2 anything (the number is not used), 3 it is what
    is at that place.
    """
    shape, heap = _shape_or_tensor(value, 0), _heap(heap, 1)
    if len(codes) != 2 * len(shape):
        raise OperandError(0, f"{list(shape)} has {len(shape)} dimensions, expected {len(codes) // 2}")
    for axis, extent in enumerate(shape):
        code, number = _integer(codes[2 * axis], 2 + 2 * axis), _integer(codes[2 * axis + 1], 3 + 2 * axis)
        if code == Match.STORE:
            heap[_place(heap, number, 3 + 2 * axis)] = extent
        elif code in (Match.EQUAL_HEAP, Match.EQUAL_IMMEDIATE):
            expected = number if code == Match.EQUAL_IMMEDIATE else int(heap[_place(heap, number, 3 + 2 * axis)])
            if extent != expected:
                raise OperandError(0, f"dimension {axis} of {list(shape)} is {extent}, expected {expected}")
        elif code != Match.ANY:
            raise OperandError(2 + 2 * axis, f"{code} is no code of match_shape")


@register("vm.builtin.match_tensor")
def match_tensor(value: Any, dtype: Any, *extents: Any) -> None:
    """Check that a value is a contiguous tensor of a data type and these extents."""
    kind = _dtype(dtype, 1)
    shape = tuple(_size(extent, position) for position, extent in enumerate(extents, 2))
    if not isinstance(value, np.ndarray) or value.dtype != kind or value.shape != shape:
        raise OperandError(0, f"expected a tensor {kind.name}{list(shape)}, got {_kind(value)}")
    if not value.flags.c_contiguous:
        raise OperandError(0, f"expected a contiguous tensor, got one with strides {value.strides}")


# --- memory ----------------------------------------------------------------------------------------------------------


@register("vm.builtin.alloc_storage")
def alloc_storage(state: Any, size: Any, allocator: Any = 0) -> Storage:
    """`size` bytes of one of the state's allocators."""
    allocators, which = _a(VMState, state, 0, "the state of the machine").allocators, _integer(allocator, 2)
    if not 0 <= which < len(allocators):
        raise OperandError(2, f"there is no allocator {which}; the machine has {len(allocators)}")
    try:
        return allocators[which].allocate(_size(size, 1))
    except (MemoryError, ValueError) as error:  # numpy raises the latter for more than an address can count
        raise OperandError(1, f"there is no memory: {error}") from error


@register("vm.builtin.alloc_tensor")
def alloc_tensor(storage: Any, offset: Any, shape: Any, dtype: Any) -> Array:
    """A tensor on storage, `offset` bytes from its start."""
    memory = _a(Storage, storage, 0, "storage").memory
    start, extents, kind = _size(offset, 1), _shape(shape, 2), _dtype(dtype, 3)
    end = start + prod(extents) * kind.itemsize
    if end > len(memory):
        raise OperandError(2, f"{kind.name}{list(extents)} ends at byte {end} of storage of {len(memory)}")
    if start % kind.itemsize:
        raise OperandError(1, f"byte {start} is no multiple of {kind.itemsize}, the size of {kind.name}")
    return memory[start:end].view(kind).reshape(extents)


@register("vm.builtin.view")
def view(tensor: Any, offset: Any, dtype: Any, *extents: Any) -> Array:
    """The memory of a contiguous tensor, `offset` bytes from its start, as elements of a type, of this shape."""
    if not isinstance(tensor, np.ndarray) or not tensor.flags.c_contiguous:
        raise OperandError(0, f"expected a contiguous tensor, got {_kind(tensor)}")
    start, kind = _size(offset, 1), _dtype(dtype, 2)
    shape = [_size(extent, position) for position, extent in enumerate(extents, 3)]
    end = start + prod(shape) * kind.itemsize
    if end > tensor.nbytes:
        raise OperandError(0, f"{kind.name}{shape} ends at byte {end} of {_kind(tensor)}, which has {tensor.nbytes}")
    if start % kind.itemsize:
        raise OperandError(1, f"byte {start} is no multiple of {kind.itemsize}, the size of {kind.name}")
    return tensor.reshape(-1).view(np.uint8)[start:end].view(kind).reshape(shape)


@register("vm.builtin.alloc_view")
def alloc_view(ndim: Any) -> ViewSlot:
    """Room for a view of `ndim` dimensions."""
    return ViewSlot(_size(ndim, 0, MOST_DIMENSIONS))


@register("vm.builtin.view_in")
def view_in(slot: Any, tensor: Any, offset: Any, dtype: Any, *extents: Any) -> Array:
    """A view in room of its own, in which it takes the place of the one before."""
    if not isinstance(slot, ViewSlot) or slot.ndim != len(extents):
        raise OperandError(0, f"expected room for a view of {len(extents)} dimensions, got {_kind(slot)}")
    try:
        return view(tensor, offset, dtype, *extents)
    except OperandError as error:
        raise OperandError(error.position + 1, str(error)) from error


# --- values ----------------------------------------------------------------------------------------------------------


@register("vm.builtin.move")
def move(value: Any) -> Any:
    """The value itself."""
    return value


@register("vm.builtin.print")
def show(value: Any) -> None:
    """Print a value, one line on standard output."""
    print(value)


@register("vm.builtin.read")
def read(tensor: Any) -> int:
    """The one element of a tensor of integers or booleans."""
    return int(_single(tensor).reshape(()))


@register("vm.builtin.write")
def write(tensor: Any, value: Any) -> None:
    """Make an integer, modulo 2^bits, the one element of a tensor of integers or booleans."""
    if not _single(tensor).flags.writeable:
        raise OperandError(0, "it is read-only")
    tensor[...] = np.int64(_wrapped(_integer(value, 1))).astype(tensor.dtype)


def _arithmetic(name: str, function: Callable[[int, int], int], meaning: str) -> None:
    def compute(a: Any, b: Any) -> int:
        x, y = _integer(a, 0), _integer(b, 1)
        if function is floordiv and y == 0:
            raise OperandError(1, "division by zero")
        return _wrapped(int(function(x, y)))

    compute.__doc__ = f"{meaning} of two integers, modulo 2^64."
    register(f"vm.builtin.{name}", compute)


def _wrapped(value: int) -> int:
    """As an int64 holds it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


_arithmetic("add", add, "The sum")
_arithmetic("sub", sub, "The difference")
_arithmetic("mul", mul, "The product")
_arithmetic("div", floordiv, "The quotient, rounded down,")
_arithmetic("max", max, "The greater")
_arithmetic("min", min, "The lesser")
_arithmetic("and", and_, "The bits that are set in both")
_arithmetic("less", lt, "Whether the first is less,")
_arithmetic("equal", eq, "Whether they are equal,")
