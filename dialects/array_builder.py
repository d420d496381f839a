"""Operations computed on arrays as their definitions say: `element` and `loops`, on whole index grids.

The index of a parallel loop is an array along an axis of its own of the grid. What is computed from indices has the
axes of those that it depends on, and extent 1 or none elsewhere, as numpy broadcasts: reading at steps along different
axes is a view, reading elsewhere gathers. Where a condition differs within the grid, both sides are computed and each
place takes its own. A sequential loop is one of Python, over all places at once: in each step those take part whose
loop has not ended.

Values are those of scalar kernels, bit for bit, but for functions of libm, which are computed in f64 and rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects import arrays
from aotc.dialects.arrays import Array
from aotc.dialects.builder import (
    INDEX,
    Bitwise,
    Builder,
    Comparison,
    Number,
    Reader,
    Rounding,
    Scalar,
    ScalarLike,
    Writer,
)
from aotc.dialects.dtypes import (
    ELEMENT_TYPES,
    DType,
    compute_type,
    element_type,
    is_encoded,
    is_float,
    is_narrow_float,
    numpy_dtype,
)

MOST_WORK = 1 << 32
"""Elements that the evaluation of an operation may compute in loops: some seconds' worth. What takes longer is not
folded."""
_WORK_PER_ELEMENT = 1 << 8
"""And for each element of a result without loops."""
_CALL = 1 << 13
"""Elements that numpy computes while one of its functions is called."""

_UI8 = ELEMENT_TYPES["uint8"]
_EXACT: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "roundeven": np.rint,
    "trunc": np.trunc,
    "absf": np.abs,
}
_MATH: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, name.replace("a", "arc", 1)) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "erf": arrays.erf,
}
_COMPARISONS: dict[Comparison, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_BITWISE: dict[Bitwise, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class NotEvaluable(Exception):
    """The operation is not computed on arrays: it writes operations of IR, or would take too long."""


@dataclass(frozen=True, eq=False)
class Elements(Scalar):
    """A scalar for each place of the grid; narrow floats may still be as memory holds them."""

    array: Array = field(kw_only=True)

    @property
    def ssa(self) -> SSAValue:
        raise NotEvaluable("elements of arrays are no SSA values")


class ArrayBuilder(Builder):
    """Computes instead of writing; without loops, so many `elements`."""

    def __init__(self, elements: int = 0) -> None:
        self._work_left = MOST_WORK + _WORK_PER_ELEMENT * elements
        self._rank = 0
        """Axes of the grid; the outermost loop has the last."""
        self._taking_part: Array | None = None
        """Which places of the grid take part in what is computed; None: all."""

    def insert(self, op: Operation) -> NoReturn:
        raise NotEvaluable(f"{op.name} is not computed on arrays")

    def scalar(self, value: SSAValue, dtype: Attribute) -> NoReturn:
        raise NotEvaluable("an SSA value is not computed on arrays")

    def materialize(self, constant: Number, dtype: Attribute) -> NoReturn:
        raise NotEvaluable("a constant is no SSA value")

    def const(self, value: Number, dtype: Attribute) -> Scalar:
        return Scalar(self, compute_type(dtype), constant=value)

    def index(self, value: int) -> Scalar:
        return Scalar(self, INDEX, constant=value)

    def guard(self, condition: Callable[[], Scalar]) -> None:
        pass

    def require(self, condition: Scalar) -> None:
        if not np.all(self._array(condition)):
            raise NotEvaluable("the kernel ends with a status")

    # Arrays

    def _new(self, array: Any, dtype: Attribute) -> Elements:
        array = np.asarray(array)
        self._work_left -= array.size + _CALL
        if self._work_left < 0:
            raise NotEvaluable("it would take too long")
        return Elements(self, dtype, array=array)

    def _array(self, a: Scalar) -> Array:
        """The value of `a` in the type that it is computed in; an encoded element as it is."""
        dtype = _dtype(a.dtype)
        if isinstance(a, Elements):
            return a.array.astype(dtype, copy=False)
        assert a.constant is not None
        if dtype.kind in "iu":
            return np.array(int(a.constant) & 2 ** (8 * dtype.itemsize) - 1, f"u{dtype.itemsize}").view(dtype)
        return np.array(a.constant, dtype)

    def stored(self, value: Scalar, kind: Attribute) -> Array:
        """`value` as memory holds elements of `kind`."""
        value = self.encode(value, kind)
        array = value.array if isinstance(value, Elements) else self._array(value)
        return array.astype(numpy_dtype(kind), copy=False)

    def reader(self, source: Array, *, encoded: bool = False, changes: bool = False) -> Reader:
        """A reader of an array, which may change afterwards; of numbers, or `encoded` of elements as they are."""
        if source.size == 1 and not changes:
            return self.single(source, encoded=encoded)

        def read(index: Sequence[Scalar]) -> Scalar:
            places = [self._inside(i, extent) for i, extent in zip(index, source.shape, strict=True)]
            found = _at(source, places)
            return self._loaded(found.copy() if changes else found, encoded)

        return read

    def single(self, source: Array, *, encoded: bool) -> Reader:
        """A reader of the only element of an array, a constant, as kernels have it; or of all its elements at once."""
        kind = element_type(source.dtype)
        is_known = source.size == 1 and not is_encoded(kind)
        value = self.const(arrays.widen(source).item(), kind) if is_known else self._loaded(source, encoded)
        return lambda index: value

    def _loaded(self, elements: Array, encoded: bool) -> Scalar:
        kind = element_type(elements.dtype)
        found = self._new(elements, kind if is_encoded(kind) else compute_type(kind))
        return found if encoded else self.decode(found)

    def _inside(self, index: Scalar, extent: int) -> Array:
        """An index along an axis; where it is outside and does not take part, another one."""
        places = self._array(index)
        if places.min() >= 0 and places.max() < extent:
            return places
        taking_part = True if self._taking_part is None else self._taking_part
        if (taking_part & ((places < 0) | (places >= extent))).any():
            raise NotEvaluable("it would read outside of an operand")
        return np.clip(places, 0, max(extent - 1, 0))

    def writer(self, target: Array, kind: Attribute) -> Writer:
        """A writer into an array of elements of `kind`."""

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            places, elements = [self._array(i) for i in index], self.stored(value, kind)
            self._work_left -= elements.size + _CALL
            if self._taking_part is None:
                if (view := _steps(target, places)) is not None:
                    view[...] = elements
                else:
                    target[tuple(places)] = elements
                return
            taking_part, elements, *places = np.broadcast_arrays(self._taking_part, elements, *places)
            if taking_part.any():
                target[tuple(place[taking_part] for place in places)] = elements[taking_part] if places else elements[0]

        return write

    # Arithmetic

    def _binary(self, function: Callable[[Any, Any], Array], a: Scalar, c: Scalar) -> Scalar:
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        if a.constant is not None and c.constant is not None and a.dtype == INDEX:
            return self.index(int(function(a.constant, c.constant)))
        return self._new(function(self._array(a), self._array(c)), a.dtype)

    def add(self, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(np.add, a, c)

    def sub(self, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(np.subtract, a, c)

    def mul(self, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(np.multiply, a, c)

    def div(self, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(np.floor_divide if a.dtype == INDEX else arrays.divide, a, c)

    def rem(self, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(np.fmod, a, c)

    def neg(self, a: Scalar) -> Scalar:
        if a.constant is not None:
            return Scalar(self, a.dtype, constant=-a.constant)
        return self._new(np.negative(self._array(a)), a.dtype)

    def abs(self, a: Scalar) -> Scalar:
        return self._new(np.abs(self._array(a)), a.dtype)

    def bitwise(self, how: Bitwise, a: Scalar, c: Scalar) -> Scalar:
        return self._binary(_BITWISE[how], a, c)

    def shift_left(self, a: Scalar, by: Scalar) -> Scalar:
        return self._binary(np.left_shift, a, by)

    def shift_right(self, a: Scalar, by: Scalar) -> Scalar:
        return self._binary(np.right_shift, a, by)

    def bitcast(self, a: Scalar, dtype: Attribute) -> Scalar:
        return self._new(self._array(a).view(_dtype(dtype)), dtype)

    def from_bits(self, a: Scalar) -> Scalar:
        return self.bitcast(a, f32)

    def max(self, a: Scalar, c: ScalarLike) -> Scalar:
        return self._extreme("lt", np.maximum, 1, a, a.typed(c))

    def min(self, a: Scalar, c: ScalarLike) -> Scalar:
        return self._extreme("gt", np.minimum, -1, a, a.typed(c))

    def _extreme(self, beyond: Comparison, function: np.ufunc, sign: int, a: Scalar, c: Scalar) -> Scalar:
        """The greater, of sign 1, or the lesser; `beyond` is how the other one compares to it."""
        if not is_float(a.dtype):
            return self._binary(function, a, c)
        if c.constant is not None and not math.isnan(c.constant):
            return self.select(self.compare(beyond, a, c), c, a)  # as kernels do: a zero of either sign stays itself
        x, y = self._array(a), self._array(c)
        zero = sign * (sign * x + sign * y)
        return self._new(np.where((x == 0) & (y == 0), zero, function(x, y)), a.dtype)

    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        return self._new(_COMPARISONS[how](self._array(a), self._array(c)), i1)

    def select(self, condition: Scalar, a: Scalar, c: ScalarLike) -> Scalar:
        c, which = a.typed(c), self._array(condition)
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        if which.size == 1:
            return a if which.all() else c
        if isinstance(a, Elements) and isinstance(c, Elements) and a.array.dtype == c.array.dtype:
            return self._new(np.where(which, a.array, c.array), a.dtype)
        return self._new(np.where(which, self._array(a), self._array(c)), a.dtype)

    def math(self, name: str, a: Scalar) -> Scalar:
        x = self._array(a)
        return self._new(_EXACT[name](x) if name in _EXACT else _rounded(_MATH[name], x), a.dtype)

    def exp_of_nonpositive(self, a: Scalar) -> Scalar:
        return self.math("exp", a)

    def pow(self, a: Scalar, exponent: Scalar) -> Scalar:
        if exponent.constant in (2, 3):
            return a * a if exponent.constant == 2 else a * a * a
        return self._new(_rounded(np.power, self._array(a), self._array(exponent)), a.dtype)

    def opaque(self, a: Scalar) -> Scalar:
        return a

    def lookup(self, x: Scalar, table: Reader, registers: tuple[int, int] | None = None) -> Scalar:
        return table([self.cast(self.cast(x, _UI8), INDEX)])

    def round_product(self, x: Scalar, factor: Scalar, above: Scalar, shift: int, *, near: bool = False) -> Scalar:
        product = self._array(self.cast(x, i64) * self.cast(factor, i64)).astype(np.float32)
        return self._new(np.rint(np.ldexp(product, -shift)).astype(np.int32), i32)

    # Conversion

    def rounded(self, a: Scalar) -> Scalar:
        return self.cast(self.math("roundeven", a), i32)

    def cast(self, a: Scalar, dtype: Attribute) -> Scalar:
        if dtype == i1 and a.dtype != i1:
            return self.compare("ne", a, 0)
        if is_narrow_float(dtype):
            return self._new(self._array(self.cast(a, f32)).astype(numpy_dtype(dtype)), f32)
        if a.dtype == dtype:
            return a
        if dtype == INDEX and a.index is not None:
            return a.index
        if a.constant is not None and not is_float(a.dtype) and is_float(dtype):
            return Scalar(self, dtype, constant=float(a.constant))
        return self._new(arrays.convert(self._array(a), _dtype(dtype)), dtype)

    def convert(self, a: Scalar, dtype: Attribute) -> Scalar:
        return self.cast(a, dtype)

    def zero(self, dtype: Attribute) -> Scalar:
        return self.bitcast(self.const(0, _UI8), dtype) if is_encoded(dtype) else self.const(0, dtype)

    def decode(self, element: Scalar) -> Scalar:
        if not is_encoded(element.dtype):
            return element
        return self._new(arrays.widen(self._array(element)), compute_type(element.dtype))

    def encode(self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up") -> Scalar:
        if not is_encoded(dtype) or value.dtype == dtype:
            return value
        assert value.dtype == compute_type(dtype), f"{value.dtype} has no code as {dtype}"
        return self.convert_element(value, dtype, saturate=saturate, rounding=rounding)

    def convert_element(
        self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up"
    ) -> Scalar:
        value = self.decode(value)
        if not is_encoded(dtype):
            return self.convert(value, dtype)
        converted = arrays.convert(self._array(value), numpy_dtype(dtype), saturate=saturate, rounding=rounding)
        return self._new(converted, dtype)

    # Structure

    def parallel_for(self, extents: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
        if 0 not in extents:
            self._along([range(extent) for extent in extents], body)

    def parallel_range(self, low: int, high: int, step: int, body: Callable[[Scalar], None]) -> None:
        if low < high:
            self._along([range(low, high, step)], lambda index: body(index[0]))

    def _along(self, ranges: Sequence[range], body: Callable[[list[Scalar]], None]) -> None:
        """`body` at all places of `ranges`, each along another axis of the grid."""
        index = [self.index(places.start) for places in ranges]
        before = self._rank
        for number, places in reversed(list(enumerate(ranges))):
            if len(places) > 1:
                array = np.arange(places.start, places.stop, places.step).reshape(-1, *[1] * self._rank)
                index[number] = self._new(array, INDEX)
            self._rank += 1
        body(index)
        self._rank = before

    @contextmanager
    def _among(self, places: Scalar) -> Generator[bool]:
        """A context in which only `places` take part; whether there are any."""
        before, own = self._taking_part, self._array(places)
        self._taking_part = own if before is None else own & before
        yield bool(self._taking_part.any())
        self._taking_part = before

    def _selected(self, condition: Scalar, new: Sequence[Scalar], old: Sequence[Scalar]) -> list[Scalar]:
        return [self.select(condition, one, other) for one, other in zip(new, old, strict=True)]

    def loop(
        self,
        low: ScalarLike,
        high: ScalarLike,
        step: int,
        init: Sequence[Scalar],
        body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        first, last = (bound if isinstance(bound, Scalar) else self.index(int(bound)) for bound in (low, high))
        carried, starts, ends = list(init), self._array(first), self._array(last)
        if starts.size == ends.size == 1:
            for position in range(starts.item(), ends.item(), step):
                carried = list(body(self.index(position), carried))
            return carried
        alike = starts.size == 1 or step == 1  # places are in the same position, if not all of them as long
        count = ends.max() - starts.min() if alike else (ends - starts).max()
        for position in range(0, count, step):
            at = self.index(int(starts.min()) + position) if alike else first + position
            inside = self.compare("ge", at, first) & self.compare("lt", at, last)
            with self._among(inside) as some:
                carried = self._selected(inside, body(at, carried), carried) if some else carried
        return carried

    def loop_while(
        self,
        init: Sequence[Scalar],
        condition: Callable[[list[Scalar]], Scalar],
        body: Callable[[list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        carried, going, some = list(init), self.const(1, i1), True
        while some:
            going = going & condition(carried)
            with self._among(going) as some:
                carried = self._selected(going, body(carried), carried) if some else carried
        return carried

    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        with self._among(~condition) as some:
            no = list(otherwise()) if some else None
        with self._among(condition) as some:
            yes = list(then()) if some or no is None else None
        return (yes or no or []) if yes is None or no is None else self._selected(condition, yes, no)


def _dtype(kind: Attribute) -> DType:
    return np.dtype(np.int64) if kind == INDEX else numpy_dtype(kind)


def _rounded(function: Callable[..., Array], *operands: Array) -> Array:
    """A function of libm: of f32 computed in f64, which rounds as correct results do but for one in millions."""
    return np.asarray(function(*(operand.astype(np.float64) for operand in operands))).astype(operands[0].dtype)


def _at(source: Array, places: Sequence[Array]) -> Array:
    """source[places]; anything where there is nothing."""
    if not source.size:
        return np.zeros((), source.dtype)
    found = _steps(source, places)
    return source[tuple(places)] if found is None else found


def _steps(source: Array, places: Sequence[Array]) -> Array | None:
    """source[places] as a view, where places are steps along an axis of the grid each; None where they are not."""
    picks: list[int | slice] = []
    axes: list[int] = []
    for place in places:
        if place.size == 1:
            picks.append(int(place.item()))
            continue
        (axis, *others) = [place.ndim - number for number, extent in enumerate(place.shape) if extent > 1]
        first, second, last = place.flat[0], place.flat[1], place.flat[-1]
        step = int(second - first)
        if others or axis in axes or not step or (np.diff(place.reshape(-1)) != step).any():
            return None
        end = int(last) + step
        picks.append(slice(int(first), None if end < 0 else end, step))
        axes.append(axis)
    order = sorted(range(len(axes)), key=lambda number: -axes[number])
    spread = [slice(None) if axis in axes else None for axis in range(max(axes, default=0), 0, -1)]
    return source[(*picks, ...)].transpose(order)[(*spread, ...)]
