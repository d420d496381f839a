"""Vectorised kernel bodies: the expressions and loop nests of operations, evaluated on register tiles.

A buffer read at an index along the axes of a tile (`tiles`) is a tile load with the corresponding strides, and a
pointwise operation on tiles works on all their elements. Anything else (a division of a tile index, a branch on an
element) raises `NotVectorizable`, upon which the kernel is written as scalar loops. So an operation's `element` serves
both.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import inf
from typing import cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i8,
    i32,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.tile_integers import ENTRIES
from aotc.dialects.aot.tiles import Reduction, tile_shape, tile_type
from aotc.dialects.aot.words import WORD
from aotc.dialects.builder import Comparison, Reader, Rounding, Scalar, ScalarLike
from aotc.dialects.dtypes import compute_type, is_float, is_minifloat, is_narrow_float, is_unsigned, storage_type, wrap
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.scalar_builder import binary, predicate
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile, TileIndex, is_tile

_TILE_OPERATIONS: frozenset[type[Operation]] = frozenset(
    {
        *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.MaximumfOp, arith.MinimumfOp),
        *(arith.AddiOp, arith.SubiOp, arith.MuliOp),
        *(arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp),
    }
)
"""Binary operations that both emitters have for vectors."""

_ZEROS_ARE_EQUAL = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""For maxima and minima: -0 and +0 may stand for each other, which takes half the instructions on most processors."""

_TILE_MATH = frozenset({"sqrt", "floor", "ceil", "roundeven", "trunc", "absf"})
"""Functions that processors have as vector instructions."""
_ANGLES = frozenset({"sin", "cos", "tan", "asin", "acos", "atan"})
EXPANDED_MATH = _ANGLES | {"exp", "log", "log1p", "tanh", "erf", "sinh", "cosh", "asinh", "acosh", "atanh"}
"""Functions of f32 that `expand-math` expands into vector instructions."""

_MOST_QUARTERS = 16
"""The greatest exponent, in quarters, for which `pow` is written as roots and products."""


_ROUNDING, _ROUNDING_BITS = 3.0 * 2**22, 0x4B400000
"""The number to which what is added rounds, and its bits as an i32 (H. S. Warren, Hacker's Delight, chapter 17)."""


class TileBuilder(LoopBuilder):
    """A LoopBuilder whose elements may be tiles; a scalar that meets a tile is broadcast."""

    _prefetching = False
    """Whether loads are emitted as prefetches."""

    def __init__(self, entry: Block) -> None:
        super().__init__(entry)
        self._tables: dict[int, Tile] = {}
        """Tables in registers of so many bytes."""
        self._wide: dict[SSAValue, Callable[[Attribute], Scalar]] = {}
        """Of tiles of bytes, what makes the same numbers of wider integers."""

    def insert(self, op: Operation) -> SSAValue:
        """As `Builder.insert`. An operation that is neither of the aot nor of the vector dialect raises NotVectorizable
        where one of its operands is a tile."""
        for part in op.walk():
            meets = any(isinstance(value.type, VectorType) for value in part.operands)
            if meets and part.dialect_name() not in (aot.AOT.name, vector.Vector.name):
                raise NotVectorizable(f"{part.name} is an operation on scalars")
        return self.emit(op)

    # Tiles

    def splat(self, value: ScalarLike, tile: Tile, dtype: Attribute | None = None) -> Scalar:
        """`value` (a number needs a dtype) in every element of a tile."""
        given = value if isinstance(value, Scalar) else self.const(value, cast(Attribute, dtype))
        return Scalar(self, given.dtype, self._spread(given, tile.shape))

    def slice(self, a: Scalar, offsets: Sequence[int], sizes: Sequence[int]) -> Scalar:
        """The slice of `sizes` registers of a tile from `offsets` on."""
        if tuple(sizes) == tile_shape(a.ssa)[:-1]:
            return a
        return Scalar(self, a.dtype, self.emit(aot.TileSliceOp(a.ssa, offsets, sizes)))

    def replace(self, part: Scalar, whole: Scalar, offsets: Sequence[int]) -> Scalar:
        """The tile `whole` with the slice from `offsets` on replaced by `part`."""
        if tile_shape(part.ssa) == tile_shape(whole.ssa):
            return part
        return Scalar(self, whole.dtype, self.emit(aot.TileInsertOp(part.ssa, whole.ssa, offsets)))

    def shuffle(self, a: Scalar, c: Scalar, lanes: Sequence[int]) -> Scalar:
        """Registers of `lanes` picked from corresponding registers of two tiles; lanes of `c` are numbered after those
        of `a`."""
        return Scalar(self, a.dtype, self.emit(aot.TileShuffleOp(a.ssa, c.ssa, lanes)))

    def together(self, found: Sequence[Scalar], moved: Sequence[Sequence[tuple[int, int]]]) -> Scalar:
        """Registers of lanes from those of several tiles, for each of which `moved` has (lane of the result, lane); a
        lane that no tile has is any. The first two take one shuffle, every other one more."""
        value, *rest = found
        lanes = tile_shape(value.ssa)[-1]
        taken = list(range(lanes))
        for to, lane in moved[0]:
            taken[to] = lane
        for read, others in zip(rest, moved[1:], strict=True):
            for to, lane in others:
                taken[to] = lanes + lane
            value, taken = self.shuffle(value, read, taken), list(range(lanes))
        return value if taken == list(range(lanes)) else self.shuffle(value, value, taken)

    def pick(self, a: Scalar, c: Scalar, numbers: Scalar) -> Scalar:
        """Lanes of two tiles of i32 by their `numbers` (`aot.tile_pick`)."""
        return Scalar(self, a.dtype, self.emit(aot.TilePickOp(a.ssa, c.ssa, numbers.ssa)))

    def total(self, kind: Reduction, a: Scalar) -> Scalar:
        """All elements of a tile reduced to one scalar (see `aot.tile_reduce` for the order)."""
        return Scalar(self, a.dtype, self.emit(aot.TileReduceOp(kind, a.ssa)))

    def fma(self, a: Scalar, c: Scalar, addend: Scalar) -> Scalar:
        """a * c + addend; floats are rounded once."""
        if not is_float(a.dtype):
            return self.add(self.mul(a, c), addend)
        x, y, z = self._operands(a, c, addend)
        return Scalar(self, a.dtype, self.emit(math.FmaOp(x, y, z)))

    def dot(
        self, a: Scalar, c: Scalar, sums: Scalar, *, narrow_pairs: bool = False, complement: bool = False
    ) -> Scalar:
        """`sums`, a tile of i32, plus the dot products of the groups of elements in their lanes (`aot.tile_dot`)."""
        unsigned = is_unsigned(a.dtype), is_unsigned(c.dtype)
        op = aot.TileDotOp(a.ssa, c.ssa, sums.ssa, unsigned=unsigned, narrow_pairs=narrow_pairs, complement=complement)
        return Scalar(self, sums.dtype, self.emit(op))

    def lookup(self, x: Scalar, table: Reader, registers: tuple[int, int] | None = None) -> Scalar:
        if not is_tile(x):
            return super().lookup(x, table, registers)
        if registers is None:
            raise NotVectorizable("each element is looked up by itself")
        width, row = registers
        tile = self._tables.setdefault(row, Tile((ENTRIES // row, row)))
        entries = table([tile.index(self, 0, {0: row, 1: 1})])
        if not isinstance(entries.dtype, IntegerType) or entries.dtype.width.data != 8:
            raise NotVectorizable(f"tiles are looked up in a table of {entries.dtype}")
        return Scalar(self, entries.dtype, self.emit(aot.TileLookupOp(x.ssa, [entries.ssa], width)))

    def prefetch(self, read: Reader, index: Sequence[Scalar]) -> None:
        """Prefetch the cache line of the element that `read`, the reader of a buffer, would load at `index`.

        No other read in the same block may have this index, or the two would be merged.
        """
        self._prefetching = True
        read(index)
        self._prefetching = False

    # Memory

    def load(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        tile = next((i.tile for i in index if isinstance(i, TileIndex)), None)
        if self._prefetching:
            self.effect(aot.PrefetchOp(buffer, [i.ssa for i in index]))
            return self.const(0, dtype)
        if tile is None:
            return super().load(buffer, index, dtype)
        _check_elements(dtype)
        base, strides = self._address(buffer, index, tile)
        if tile.group > 1 and strides[-1] == 0:
            op = aot.TileLoadOp(buffer, base, tile.shape, strides, tile.present, group=tile.group)
            return Scalar(self, dtype, self.emit(op))
        if _is_across(strides, tile):
            return Scalar(self, compute_type(dtype), self._load_across(buffer, base, strides, tile))
        valid = tile.valid if any(strides[-2:]) else None
        return self._widened(self.emit(aot.TileLoadOp(buffer, base, tile.shape, strides, valid)), dtype)

    def _widened(self, value: SSAValue, dtype: Attribute) -> Scalar:
        """A tile of `dtype` as memory holds it in its compute type: f16 and bf16 in f32."""
        if not is_narrow_float(dtype):
            return Scalar(self, dtype, value)
        wide = compute_type(dtype)
        return Scalar(self, wide, self._converted("extf", value, wide))

    def _load_across(self, buffer: SSAValue, base: Sequence[SSAValue], strides: Sequence[int], tile: Tile) -> SSAValue:
        """A tile contiguous from register to register, not along lanes: its columns are loaded, then transposed."""
        rows, lanes = tile.shape[0], tile.shape[-1]
        present = lanes if tile.valid is None else tile.valid
        shape = (present, *tile.shape[1:-1], lanes)
        steps = (strides[-1], *strides[1:-1], strides[0])
        kind = cast(MemRefType[Attribute], buffer.type).get_element_type()
        loaded = self.emit(aot.TileLoadOp(buffer, base, shape, steps, None if rows == lanes else rows))
        square = self._widened(loaded, kind).ssa
        if present < lanes:
            zeros = self._spread(self.const(0, kind), (lanes, *shape[1:]))
            square = self.emit(aot.TileInsertOp(square, zeros, [0] * (len(shape) - 1)))
        square = self.emit(aot.TileTransposeOp(square))
        if rows == lanes:
            return square
        return self.emit(aot.TileSliceOp(square, [0] * (len(shape) - 1), tile.shape[:-1]))

    def store(self, value: Scalar, buffer: SSAValue, index: Sequence[Scalar]) -> None:
        tile = next((i.tile for i in index if isinstance(i, TileIndex)), None)
        if tile is None:
            if is_tile(value):
                raise NotVectorizable("a tile is stored to a single element")
            super().store(value, buffer, index)
            return
        kind = cast(MemRefType[Attribute], buffer.type).get_element_type()
        _check_elements(kind)
        base, strides = self._address(buffer, index, tile)
        spread = self._spread(value, tile.shape)
        if is_narrow_float(kind):
            spread = self._converted("truncf", spread, kind)
        self.effect(aot.TileStoreOp(spread, buffer, base, strides, tile.valid))

    def store_words(self, parts: Sequence[Scalar], buffer: SSAValue, index: Sequence[Scalar]) -> None:
        """Store tiles of bytes, the first, second, .. of each four neighbours in memory, as words; `index` is that of
        the first ones, and four elements further from lane to lane."""
        tile = next(i.tile for i in index if isinstance(i, TileIndex))
        base, strides = self._address(buffer, index, tile)
        if strides[-1] != WORD:
            raise NotVectorizable(f"words are {strides[-1]} elements apart")
        word = self.const(0, i32)
        for number, part in enumerate(parts):
            if part.constant == 0:
                continue
            wide = Scalar(self, i32, self._converted("extui", self._spread(part, tile.shape), i32))
            placed = wide if number == 0 else self.shift_left(wide, self.const(8 * number, i32))
            word = placed if word.constant == 0 else self.bitwise("or", word, placed)
        kind = tile_type((*tile.shape[:-1], tile.shape[-1] * WORD), i8)
        stored = self.emit(vector.BitcastOp(self._spread(word, tile.shape), kind))
        valid = None if tile.valid is None else tile.valid * WORD
        self.effect(aot.TileStoreOp(stored, buffer, base, [*strides[:-1], 1], valid))

    def _address(self, buffer: SSAValue, index: Sequence[Scalar], tile: Tile) -> tuple[list[SSAValue], list[int]]:
        kind = cast(MemRefType[Attribute], buffer.type)
        pitch, pitches = 1, [0] * len(index)
        for axis in reversed(range(len(index))):
            pitches[axis] = pitch
            pitch *= kind.get_shape()[axis]
        strides = [0] * len(tile.shape)
        base: list[SSAValue] = []
        for i, distance in zip(index, pitches, strict=True):
            if isinstance(i, TileIndex):
                if i.tile is not tile:
                    raise NotVectorizable("an index mixes two tiles")
                for axis, step in i.steps.items():
                    strides[axis] += step * distance
                i = i.base
            base.append(i.ssa)
        return base, strides

    # Arithmetic: what ScalarBuilder does, vectorised where an operand is a tile

    def _spread(self, a: Scalar, shape: tuple[int, ...]) -> SSAValue:
        """`a` broadcast to a tile of `shape`."""
        kind = storage_type(a.dtype)
        if a.constant is not None:
            key = (f"{a.constant!r}{shape}", kind)
            if key not in self._constants:
                number = wrap(int(a.constant), kind) if isinstance(kind, IntegerType) else a.constant
                splat = DenseIntOrFPElementsAttr.from_list(tile_type(shape, kind), [number])  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
                self._head(arith.ConstantOp(splat), key)  # pyright: ignore[reportUnknownArgumentType]
            return self._constants[key]
        value = a.ssa
        if tile_shape(value) == shape:
            return value
        if isinstance(value.type, VectorType):
            raise NotVectorizable(f"tiles of shapes {tile_shape(value)} and {shape} meet")
        return self.emit(vector.BroadcastOp(value, tile_type(shape, kind)))

    def _operands(self, *operands: Scalar) -> list[SSAValue]:
        shape = next((tile_shape(x.ssa) for x in operands if is_tile(x)), None)
        return [x.ssa for x in operands] if shape is None else [self._spread(x, shape) for x in operands]

    def _binary(self, a: Scalar, c: Scalar, of_float: type[Operation], of_int: type[Operation]) -> Scalar:
        if not (is_tile(a) or is_tile(c)):
            return super()._binary(a, c, of_float, of_int)
        assert a.dtype == c.dtype, f"operand types differ: {a.dtype}, {c.dtype}"
        op = of_float if is_float(a.dtype) else of_int
        if op not in _TILE_OPERATIONS:
            raise NotVectorizable(f"{op.name} of tiles")
        x, y = self._operands(a, c)
        result = binary(op, x, y)
        if op in (arith.MaximumfOp, arith.MinimumfOp):
            result.properties["fastmath"] = _ZEROS_ARE_EQUAL
        return Scalar(self, a.dtype, self.emit(result))

    def add(self, a: Scalar, c: Scalar) -> Scalar:
        if isinstance(a, TileIndex) and isinstance(c, TileIndex):
            if a.tile is not c.tile:
                raise NotVectorizable("an index mixes two tiles")
            steps = {axis: a.steps.get(axis, 0) + c.steps.get(axis, 0) for axis in {*a.steps, *c.steps}}
            return a.tile.index(self, self.add(a.base, c.base), steps)
        if isinstance(a, TileIndex):
            return a.moved(self.add(a.base, c))
        if isinstance(c, TileIndex):
            return c.moved(self.add(a, c.base))
        return super().add(a, c)

    def sub(self, a: Scalar, c: Scalar) -> Scalar:
        if isinstance(c, TileIndex):
            return self.add(a, c.scaled(self.mul(c.base, self.index(-1)), -1))
        if isinstance(a, TileIndex):
            return a.moved(self.sub(a.base, c))
        return super().sub(a, c)

    def mul(self, a: Scalar, c: Scalar) -> Scalar:
        for x, y in ((a, c), (c, a)):
            if isinstance(x, TileIndex):
                if y.constant is None:
                    raise NotVectorizable("a tile index is multiplied by a variable")
                return x.scaled(self.mul(x.base, y), int(y.constant))
        return super().mul(a, c)

    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        if not (is_tile(a) or is_tile(c)):
            return super().compare(how, a, c)
        x, y = self._operands(a, c)
        return Scalar(self, i1, self.emit(aot.TileCompareOp(predicate(how, a.dtype), x, y)))

    def single(self, condition: Scalar) -> Scalar:
        if is_tile(condition):
            raise NotVectorizable("each index of a tile is checked")
        return condition

    def select(self, condition: Scalar, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        if not any(is_tile(x) for x in (condition, a, c)):
            return super().select(condition, a, c)
        x, y, z = self._operands(condition, a, c)
        return Scalar(self, a.dtype, self.emit(aot.TileSelectOp(x, y, z)))

    def math(self, name: str, a: Scalar) -> Scalar:
        known = _TILE_MATH | EXPANDED_MATH if isinstance(a.dtype, Float32Type) else _TILE_MATH
        if is_tile(a) and name not in known:
            raise NotVectorizable(f"{name} of a tile of {a.dtype}")
        return super().math(name, a)

    def rounded(self, a: Scalar) -> Scalar:
        """Tiles: 3 * 2^22 more has its units in the last bits, where adding rounds; vectors have no faster way."""
        if not is_tile(a):
            return super().rounded(a)
        shifted = self.add(a, self.const(_ROUNDING, a.dtype))
        return self.sub(self.bits_of(shifted), self.const(_ROUNDING_BITS, i32))

    def quantized(
        self, a: Scalar, zero_point: int, low: int, high: int, dtype: Attribute, *, bounded: bool = False
    ) -> Scalar:
        wide = partial(super().quantized, a, zero_point, low, high)
        return self._narrowed(a, (zero_point, low, high), dtype, wide) if bounded else wide(dtype)

    def clamped(self, a: Scalar, zero_point: int, low: int, high: int, dtype: Attribute) -> Scalar:
        return self._narrowed(a, (zero_point, low, high), dtype, partial(super().clamped, a, zero_point, low, high))

    def _narrowed(
        self, a: Scalar, numbers: tuple[int, int, int], dtype: Attribute, wide: Callable[[Attribute], Scalar]
    ) -> Scalar:
        """A tile of f32 or i32 as bytes; `wide` makes the same numbers of any type, in lanes as they are."""
        if not is_tile(a) or storage_type(dtype) != i8:
            return wide(dtype)
        op = aot.TileNarrowOp([a.ssa], *numbers, unsigned=is_unsigned(dtype))
        result = Scalar(self, dtype, self.emit(op))
        self._wide[result.ssa] = wide
        return result

    def rescaled(self, x: Scalar, factor: Scalar, shift: Scalar, *, small: bool = False) -> Scalar:
        if not any(map(is_tile, (x, factor, shift))):
            return super().rescaled(x, factor, shift, small=small)
        return Scalar(self, i32, self.emit(aot.TileRescaleOp(*self._operands(x, factor, shift))))

    def bits_of(self, a: Scalar) -> Scalar:
        """The bits of a tile of f32 as i32."""
        return Scalar(self, i32, self.emit(arith.BitcastOp(a.ssa, tile_type(tile_shape(a.ssa), i32))))

    def pow(self, a: Scalar, exponent: Scalar) -> Scalar:
        """A multiple of 1/4 is computed by roots and products, within 2 units in the last place."""
        power = exponent.constant
        if not (is_tile(a) or is_tile(exponent)):
            return super().pow(a, exponent)
        if power is None or power == 0 or power % 0.25 or abs(power) > _MOST_QUARTERS / 4:
            raise NotVectorizable("a power with an exponent that is not constant")
        quarters = int(abs(power) * 4)
        if quarters % 4:  # the roots of -0 and of -inf are not their powers
            infinite = self.compare("eq", a, -inf)
            a = self.select(infinite, self.const(inf, a.dtype), self.add(a, self.const(0, a.dtype)))
        root = self.math("sqrt", a) if quarters % 4 else a
        factors = [a] * (quarters // 4)
        factors += [root] if quarters & 2 else []
        factors += [self.math("sqrt", root)] if quarters & 1 else []
        product = reduce(self.mul, factors)
        return product if power > 0 else self.div(self.const(1, a.dtype), product)

    def encode(self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up") -> Scalar:
        if is_tile(value) and is_minifloat(dtype):
            raise NotVectorizable(f"tiles of {dtype}")
        return super().encode(value, dtype, saturate=saturate, rounding=rounding)

    def cast(self, a: Scalar, dtype: Attribute) -> Scalar:
        if is_tile(a):
            _check_elements(dtype)
        if dtype == i32 and a.value in self._wide:
            return self._wide[a.ssa](i32)
        return super().cast(a, dtype)

    def _converted(self, kind: str, value: SSAValue, target: Attribute) -> SSAValue:
        if not isinstance(value.type, VectorType):
            return super()._converted(kind, value, target)
        return self.emit(aot.TileConvertOp(kind, value, target))

    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        if is_tile(condition):
            raise NotVectorizable("a branch depends on an element of a tile")
        return super().when(condition, then, otherwise)

    def _alike(self, value: Scalar, other: Scalar) -> SSAValue:
        return self._spread(value, tile_shape(other.ssa)) if is_tile(other) else value.ssa


def _check_elements(dtype: Attribute) -> None:
    """Raise NotVectorizable for types that no vector holds: indices, and minifloats, which are decoded one by one."""
    if not isinstance(dtype, AnyFloat | IntegerType) or is_minifloat(dtype):
        raise NotVectorizable(f"tiles of {dtype}")


def _is_across(strides: Sequence[int], tile: Tile) -> bool:
    """Whether an operand of stride 1 from register to register, not so along the lanes, is best loaded transposed."""
    if len(tile.shape) == 1:
        return False
    rows, *between, lanes = tile.shape
    if strides[-1] in (0, 1) or strides[0] != 1 or rows > lanes or any(extent != 1 for extent in between):
        return False
    return bool(between) or (rows == lanes and tile.valid is None)  # else `valid` would count through the rows
