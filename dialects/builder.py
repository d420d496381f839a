"""The abstract builder of kernel code, and typed scalars: what an operation's `element` and `loops` are written with.

An operation defines each element of its result in terms of a `Builder`. What becomes of that (scalar loops, vectorised
loops, an estimate of its cost) is decided by the builders in `passes/kernel/builders`.

`Scalar` remembers the signedness that arith's signless integers lack. f16 and bf16 are computed in f32: memory keeps
the narrow type, arithmetic does not. A scalar of a minifloat or sub-byte integer type is an encoded element;
`Builder.decode` gives its number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.dtypes import compute_type, is_float
from aotc.mathematics.linear_combinations import Sum

Number: TypeAlias = int | float
ScalarLike: TypeAlias = "Scalar | Number"
Comparison: TypeAlias = Literal["eq", "ne", "lt", "le", "gt", "ge"]
Bitwise: TypeAlias = Literal["and", "or", "xor"]
Rounding: TypeAlias = Literal["up", "down", "nearest"]
"""How a number is rounded to a power of two (f8E8M0FNU): `up` is away from zero, `nearest` takes ties up."""

Reader: TypeAlias = "Callable[[Sequence[Scalar]], Scalar]"
"""Emits the value of one operand element at an index."""
Writer: TypeAlias = "Callable[[Sequence[Scalar], Scalar], None]"
"""Emits the store of one result element at an index."""

INDEX = IndexType()


@dataclass(frozen=True, eq=False)
class Scalar:
    """One element: an SSA value with its graph element type, or a constant not emitted yet.

    `+ - * /` (true division on floats, truncating on integers), unary `-`, `& | ^ ~` work between scalars of one type
    and with Python numbers, which take the other side's type. Comparisons are methods of the builder.
    """

    b: Builder
    dtype: Attribute
    value: SSAValue | None = None
    constant: Number | None = None
    index: Scalar | None = None
    """The same number as an index, where it has been made of one that is in the range of `dtype`."""

    @property
    def ssa(self) -> SSAValue:
        """The SSA value; a constant is emitted once per function, in its entry block."""
        return self.value if self.value is not None else self.b.materialize(cast(Number, self.constant), self.dtype)

    @property
    def key(self) -> object:
        """A key for caches: scalars with equal keys have equal values."""
        return self.value if self.value is not None else self.constant

    def typed(self, other: ScalarLike) -> Scalar:
        """`other`; a Python number takes this scalar's type."""
        return other if isinstance(other, Scalar) else self.b.const(other, self.dtype)

    def __add__(self, other: ScalarLike) -> Scalar:
        return self.b.add(self, self.typed(other))

    def __radd__(self, other: Number) -> Scalar:
        return self.b.add(self.typed(other), self)

    def __sub__(self, other: ScalarLike) -> Scalar:
        return self.b.sub(self, self.typed(other))

    def __rsub__(self, other: Number) -> Scalar:
        return self.b.sub(self.typed(other), self)

    def __mul__(self, other: ScalarLike) -> Scalar:
        return self.b.mul(self, self.typed(other))

    def __rmul__(self, other: Number) -> Scalar:
        return self.b.mul(self.typed(other), self)

    def __truediv__(self, other: ScalarLike) -> Scalar:
        return self.b.div(self, self.typed(other))

    def __rtruediv__(self, other: Number) -> Scalar:
        return self.b.div(self.typed(other), self)

    def __neg__(self) -> Scalar:
        return self.b.neg(self)

    def __and__(self, other: ScalarLike) -> Scalar:
        return self.b.bitwise("and", self, self.typed(other))

    def __or__(self, other: ScalarLike) -> Scalar:
        return self.b.bitwise("or", self, self.typed(other))

    def __xor__(self, other: ScalarLike) -> Scalar:
        return self.b.bitwise("xor", self, self.typed(other))

    def __invert__(self) -> Scalar:
        return self ^ (1 if self.dtype == i1 else -1)


class Builder(ABC):
    """Writes the code of one kernel at a moving insertion point."""

    # Values

    @abstractmethod
    def insert(self, op: Operation) -> SSAValue:
        """Insert `op`, return its only result: for operations that the builder has no method for. They are not
        vectorised."""

    @abstractmethod
    def scalar(self, value: SSAValue, dtype: Attribute) -> Scalar:
        """`value` seen as a scalar of graph type `dtype`."""

    @abstractmethod
    def materialize(self, constant: Number, dtype: Attribute) -> SSAValue:
        """The SSA value of a constant."""

    @abstractmethod
    def const(self, value: Number, dtype: Attribute) -> Scalar:
        """A constant of graph type `dtype`."""

    @abstractmethod
    def index(self, value: int) -> Scalar:
        """A constant index."""

    @abstractmethod
    def guard(self, condition: Callable[[], Scalar]) -> None:
        """Let the kernel end with a status unless `condition` holds, where input data is to be checked; else nothing,
        and the condition is not computed."""

    @abstractmethod
    def require(self, condition: Scalar) -> None:
        """Let the kernel end with a status unless `condition`, a single value, holds, whatever is to be checked."""

    # Arithmetic

    @abstractmethod
    def add(self, a: Scalar, c: Scalar) -> Scalar:
        """a + c; integers wrap."""

    @abstractmethod
    def sub(self, a: Scalar, c: Scalar) -> Scalar:
        """a - c; integers wrap."""

    @abstractmethod
    def mul(self, a: Scalar, c: Scalar) -> Scalar:
        """a * c; integers wrap."""

    def fma(self, a: Scalar, c: Scalar, addend: Scalar) -> Scalar:
        """a * c + addend; rounded once where code is vectorised, else twice."""
        return self.add(addend, self.mul(a, c))

    @abstractmethod
    def div(self, a: Scalar, c: Scalar) -> Scalar:
        """a / c: IEEE on floats, truncating on integers (unsigned where the type is; indices are never negative)."""

    @abstractmethod
    def rem(self, a: Scalar, c: Scalar) -> Scalar:
        """a - trunc(a / c) * c, exactly and with the sign of a: `%` and `fmod` of C."""

    @abstractmethod
    def neg(self, a: Scalar) -> Scalar:
        """-a; integers wrap."""

    @abstractmethod
    def abs(self, a: Scalar) -> Scalar:
        """|a|; the least integer stays itself."""

    @abstractmethod
    def bitwise(self, how: Bitwise, a: Scalar, c: Scalar) -> Scalar:
        """and, or, xor of integers or booleans."""

    @abstractmethod
    def shift_left(self, a: Scalar, by: Scalar) -> Scalar:
        """a << by for 0 <= by < width."""

    @abstractmethod
    def shift_right(self, a: Scalar, by: Scalar) -> Scalar:
        """a >> by for 0 <= by < width; arithmetic on signed types."""

    @abstractmethod
    def bitcast(self, a: Scalar, dtype: Attribute) -> Scalar:
        """The scalar of graph type `dtype`, which memory holds in as many bits as that of `a`, that has the bits of
        `a`. Bits of floats are not vectorised."""

    @abstractmethod
    def from_bits(self, a: Scalar) -> Scalar:
        """The f32 that has the bits of an i32."""

    @abstractmethod
    def max(self, a: Scalar, c: ScalarLike) -> Scalar:
        """The greater; NaN if either is NaN."""

    @abstractmethod
    def min(self, a: Scalar, c: ScalarLike) -> Scalar:
        """The lesser; NaN if either is NaN."""

    @abstractmethod
    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        """a ? c as an i1; IEEE on floats: every comparison with NaN is false, but `ne`."""

    @abstractmethod
    def select(self, condition: Scalar, a: Scalar, c: ScalarLike) -> Scalar:
        """a if condition else c; both are computed."""

    @abstractmethod
    def math(self, name: str, a: Scalar) -> Scalar:
        """A function of the math dialect: exp log sqrt sin .. tanh erf floor ceil roundeven trunc absf."""

    @abstractmethod
    def exp_of_nonpositive(self, a: Scalar) -> Scalar:
        """e^a for a <= 0; a result below the least normal number may be 0; NaN stays NaN."""

    @abstractmethod
    def pow(self, a: Scalar, exponent: Scalar) -> Scalar:
        """a ** exponent on floats; squares and cubes are products, as in onnxruntime."""

    @abstractmethod
    def lookup(self, x: Scalar, table: Reader, registers: tuple[int, int] | None = None) -> Scalar:
        """The element of a table of 256 whose number is x, an integer of 8 bits, without sign.

        `registers` are bytes: how many are looked up at once where x is many, and how many of the table lie in one
        register; None: x is one.
        """

    @abstractmethod
    def opaque(self, a: Scalar) -> Scalar:
        """The same index, of which compilers know nothing: see `aot.opaque`."""

    @abstractmethod
    def round_product(self, x: Scalar, factor: Scalar, above: Scalar, shift: int, *, near: bool = False) -> Scalar:
        """The product x * factor / 2^shift of i32 as f32 rounds it: see `aot.round_product`."""

    # Conversion

    @abstractmethod
    def rounded(self, a: Scalar) -> Scalar:
        """The nearest i32 of an f32 whose magnitude is at most 2^22, to even between two."""

    def quantized(
        self, a: Scalar, zero_point: int, low: int, high: int, dtype: Attribute, *, bounded: bool = False
    ) -> Scalar:
        """The nearest integer of an f32, to even between two, plus a zero point, at least `low`, at most `high`; of an
        integer type of at most 16 bits. `bounded` ones are below 2^31 in magnitude."""
        a = self.limited(a, low - zero_point, high - zero_point)  # what is clamped to integers before is so after
        return self.encode(self.cast(self.rounded(a) + zero_point, compute_type(dtype)), dtype)

    def limited(self, a: Scalar, low: ScalarLike, high: ScalarLike) -> Scalar:
        """At least `low`, which NaN becomes, and at most `high`."""
        a = self.select(self.compare("gt", a, low), a, low)
        return self.select(self.compare("lt", a, high), a, high)

    def clamped(self, a: Scalar, zero_point: int, low: int, high: int, dtype: Attribute) -> Scalar:
        """An i32 far from the ends of its range plus a zero point, at least `low`, at most `high`; of an integer type
        of at most 16 bits."""
        value = self.min(self.max(a + zero_point, low), high)
        return self.encode(self.cast(value, compute_type(dtype)), dtype)

    def rescaled(self, x: Scalar, factor: Scalar, shift: Scalar, *, small: bool = False) -> Scalar:
        """An i32 times factor / 2^(31 + shift), as TFLite rounds it: twice the upper half of the product to the nearest
        integer, the middle up, then its quotient, the middle away from zero. A `small` one is below 2^30 in magnitude,
        and the shift at most 30."""
        if small:  # twice of it, and its product and half a unit, are i32
            product = self.cast(x + x, i64) * self.cast(factor, i64) + (1 << 31)
            value = self.cast(self.shift_right(product, self.const(32, i64)), i32)
            half = self.shift_right(self.shift_left(self.const(1, i32), shift), self.const(1, i32))
            less = self.shift_right(value & self.const(0, i32) - shift, self.const(31, i32))
            return self.shift_right(value + less + half, shift)
        product = self.cast(x, i64) * self.cast(factor, i64) + (1 << 30)
        value = self.cast(self.shift_right(product, self.const(31, i64)), i32)
        mask = self.shift_left(self.const(1, i32), shift) - 1
        middle = self.shift_right(mask, self.const(1, i32)) + self.cast(self.compare("lt", value, 0), i32)
        up = self.compare("gt", value & mask, middle)  # the middle of what is positive, too
        return self.shift_right(value, shift) + self.cast(up, i32)

    @abstractmethod
    def cast(self, a: Scalar, dtype: Attribute) -> Scalar:
        """Convert to graph type `dtype`: integers wrap, floats truncate towards zero, a boolean is `!= 0`.

        A narrow float (f16, bf16) rounds here and stays in f32. Float to integer is for values in range: see `convert`.
        """

    @abstractmethod
    def convert(self, a: Scalar, dtype: Attribute) -> Scalar:
        """As `cast`, defined for every float: out of range and NaN give what the conversions of x86 give.

        That is the least 32-bit integer (64-bit for 64-bit types), of which narrower types take the low bits. For
        unsigned types of 32 and 64 bits, values of at least half their range are converted after subtracting that half,
        which is added again.
        """

    @abstractmethod
    def zero(self, dtype: Attribute) -> Scalar:
        """Zero as memory holds it; for f8E8M0FNU, which has powers of two only, the least of them."""

    @abstractmethod
    def decode(self, element: Scalar) -> Scalar:
        """The number that an encoded element stands for; itself where its type is not encoded."""

    @abstractmethod
    def encode(self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up") -> Scalar:
        """`value` as memory holds an element of `dtype`: integers wrap, floats round to nearest, ties to even.

        With `saturate`, values beyond the greatest finite number become that number; without it infinity, or NaN where
        the type has no infinity. Where `dtype` is not encoded, `value` is returned as it is.
        """

    @abstractmethod
    def convert_element(
        self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up"
    ) -> Scalar:
        """As `convert`, from and to every element type: encoded ones are decoded and encoded."""

    # Structure

    @abstractmethod
    def parallel_for(self, extents: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
        """Loops over the index space 0..extents, row-major, whose iterations do not depend on each other."""

    @abstractmethod
    def parallel_range(self, low: int, high: int, step: int, body: Callable[[Scalar], None]) -> None:
        """One such loop, over low..high by `step`."""

    @abstractmethod
    def loop(
        self,
        low: ScalarLike,
        high: ScalarLike,
        step: int,
        init: Sequence[Scalar],
        body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """One sequential loop that carries values: `body(position, carried)` gives the next ones."""

    @abstractmethod
    def loop_while(
        self,
        init: Sequence[Scalar],
        condition: Callable[[list[Scalar]], Scalar],
        body: Callable[[list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """One sequential loop that carries values: `body(carried)` gives the next ones as long as `condition` of them
        holds."""

    def reduce(
        self,
        bounds: Sequence[tuple[ScalarLike, ScalarLike]],
        init: Sequence[Scalar],
        body: Callable[[list[Scalar], list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """Nested sequential loops that carry values: `body(index, carried)` gives the next ones; `bounds` are (low,
        high) of each, outermost first."""

        def nest(index: list[Scalar], carried: Sequence[Scalar]) -> list[Scalar]:
            if len(index) == len(bounds):
                return list(body(index, list(carried)))
            low, high = bounds[len(index)]
            return self.loop(low, high, 1, carried, lambda i, now: nest([*index, i], now))

        return nest([], init)

    def sum(
        self, bounds: Sequence[tuple[ScalarLike, ScalarLike]], start: Scalar, term: Callable[[list[Scalar]], Scalar]
    ) -> Scalar:
        """`start` plus the terms at all indices, in the order of `reduce`."""
        return self.reduce(bounds, [start], lambda index, carried: [carried[0] + term(index)])[0]

    def sequential_range(self, low: ScalarLike, high: ScalarLike, step: int, body: Callable[[Scalar], None]) -> None:
        """As `parallel_range`, one iteration after the other."""

        def at(position: Scalar, nothing: list[Scalar]) -> list[Scalar]:
            body(position)
            return nothing

        self.loop(low, high, step, [], at)

    def sequential_for(self, extents: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
        """As `parallel_for`, one iteration after the other."""

        def at(index: list[Scalar], nothing: list[Scalar]) -> list[Scalar]:
            body(index)
            return nothing

        self.reduce([(0, extent) for extent in extents], [], at)

    @abstractmethod
    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        """A conditional with results: only the taken side is evaluated."""

    def only_when(self, condition: Scalar, then: Callable[[], None]) -> None:
        """A conditional for its effect."""

        def body() -> list[Scalar]:
            then()
            return []

        self.when(condition, body, list)


def linear_combinations(b: Builder) -> Sum[Scalar]:
    """Sums of multiples of scalars or tiles; of integers by integers."""

    def number(factor: Fraction, value: Scalar) -> Scalar:
        return b.const(float(factor) if is_float(value.dtype) else int(factor), value.dtype)

    def total(terms: Sequence[tuple[Fraction, Scalar]]) -> Scalar:
        (factor, value), *rest = sorted(terms, key=lambda term: term[0] != 1)
        result = value if factor == 1 else value * number(factor, value)
        for factor, value in rest:
            if abs(factor) == 1:
                result = result + value if factor > 0 else result - value
            elif factor < 0 and not is_float(value.dtype):  # compilers of C make no difference of a sum
                result = result - value * number(-factor, value)
            else:
                result = b.fma(value, number(factor, value), result)
        return result

    return total
