"""Expressions written for tiles: operations on all elements, loads along their axes, and what no tile can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from kernels.written import arguments, effects, written
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from aotc.dialects import aot
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, storage_type
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile, TileIndex, is_tile

U8, U32, E4M3 = (ELEMENT_TYPES[name] for name in ("uint8", "uint32", "float8_e4m3fn"))

Expression: TypeAlias = Callable[[TileBuilder, Scalar, Scalar, Scalar], Scalar]

TILE = Tile((2, 4))


def tiles(kind: Attribute) -> tuple[TileBuilder, Scalar, Scalar, Scalar]:
    """A builder, two tiles of a type, and one number of it."""
    many = VectorType(storage_type(kind), TILE.shape)
    block = arguments(many, many, kind)
    b = TileBuilder(block)
    x, y, z = (b.scalar(arg, kind) for arg in block.args)
    return b, x, y, z


WRITTEN: list[tuple[Attribute, Expression, str]] = [
    # numbers are spread where they meet tiles
    (f32, lambda b, x, y, z: x + y, "addf(x, y)"),
    (f32, lambda b, x, y, z: x + z, "addf(x, broadcast(z):2x4xf32)"),
    (f32, lambda b, x, y, z: z + x, "addf(broadcast(z):2x4xf32, x)"),
    (f32, lambda b, x, y, z: z + z, "addf(z, z)"),
    (f32, lambda b, x, y, z: x + 1, "addf(x, 1.0s)"),
    (i8, lambda b, x, y, z: x + 200, "addi(x, -56s)"),
    (i32, lambda b, x, y, z: x * y, "muli(x, y)"),
    (i32, lambda b, x, y, z: z / z, "divsi(z, z)"),
    (i32, lambda b, x, y, z: b.fma(x, y, z), "addi(muli(x, y), broadcast(z):2x4xi32)"),
    (f32, lambda b, x, y, z: b.fma(x, y, z), "fma(x, y, broadcast(z):2x4xf32)"),
    (f32, lambda b, x, y, z: b.max(x, y), "maximumf(x, y)"),
    (f32, lambda b, x, y, z: b.splat(z, TILE), "broadcast(z):2x4xf32"),
    (f32, lambda b, x, y, z: b.splat(1, TILE, f32), "1.0s"),
    (f32, lambda b, x, y, z: b.splat(x, TILE), "x"),
    # conditions
    (f32, lambda b, x, y, z: b.compare("lt", x, y), 'tile_compare[predicate="olt"](x, y):2x4xi1'),
    (U32, lambda b, x, y, z: b.compare("lt", z, x), 'tile_compare[predicate="ult"](broadcast(z):2x4xi32, x):2x4xi1'),
    (i32, lambda b, x, y, z: b.compare("eq", x, z), 'tile_compare[predicate="eq"](x, broadcast(z):2x4xi32):2x4xi1'),
    (f32, lambda b, x, y, z: b.compare("lt", z, z), "cmpf olt(z, z)"),
    (f32, lambda b, x, y, z: b.select(b.compare("lt", z, 0), z, 1), "select(cmpf olt(z, 0.0), z, 1.0)"),
    (
        f32,
        lambda b, x, y, z: b.select(b.compare("lt", z, 0), x, y),
        "tile_select(broadcast(cmpf olt(z, 0.0)):2x4xi1, x, y)",
    ),
    (
        f32,
        lambda b, x, y, z: b.select(b.compare("lt", x, 0), z, 1),
        'tile_select(tile_compare[predicate="olt"](x, 0.0s):2x4xi1, broadcast(z):2x4xf32, 1.0s)',
    ),
    # registers
    (f32, lambda b, x, y, z: b.slice(x, [0], [2]), "x"),
    (f32, lambda b, x, y, z: b.slice(x, [1], [1]), "tile_slice[offsets=<1>](x):1x4xf32"),
    (f32, lambda b, x, y, z: b.replace(x, y, [0]), "x"),
    (
        f32,
        lambda b, x, y, z: b.replace(b.slice(x, [1], [1]), y, [1]),
        "tile_insert[offsets=<1>](tile_slice[offsets=<1>](x):1x4xf32, y)",
    ),
    (f32, lambda b, x, y, z: b.together([x], [[(0, 0), (1, 1), (2, 2), (3, 3)]]), "x"),
    (f32, lambda b, x, y, z: b.together([x], [[(0, 3)]]), "tile_shuffle[lanes=<3, 1, 2, 3>](x, x)"),
    (f32, lambda b, x, y, z: b.together([x, y], [[(0, 3)], [(1, 2)]]), "tile_shuffle[lanes=<3, 6, 2, 3>](x, y)"),
    # functions
    (f32, lambda b, x, y, z: b.math("exp", x), "exp(x)"),
    (f64, lambda b, x, y, z: b.math("sqrt", x), "sqrt(x)"),
    (f64, lambda b, x, y, z: b.math("exp", z), "exp(z)"),
    (f32, lambda b, x, y, z: b.rounded(z), "fptosi(roundeven(z)):i32"),
    (f32, lambda b, x, y, z: b.rounded(x), "subi(bitcast(addf(x, 12582912.0s)):2x4xi32, 1262485504s)"),
    # powers
    (f32, lambda b, x, y, z: b.pow(z, b.const(0.5, f32)), "powf(z, 0.5)"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(2, f32)), "mulf(x, x)"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(3, f32)), "mulf(mulf(x, x), x)"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(1, f32)), "x"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(4, f32)), "mulf(mulf(mulf(x, x), x), x)"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(-1, f32)), "divf(1.0s, x)"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(0.5, f32)), "sqrt({safe})"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(0.25, f32)), "sqrt(sqrt({safe}))"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(0.75, f32)), "mulf(sqrt({safe}), sqrt(sqrt({safe})))"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(1.5, f32)), "mulf({safe}, sqrt({safe}))"),
    # conversions
    (f32, lambda b, x, y, z: b.cast(x, i32), 'tile_convert[kind="fptosi"](x):2x4xi32'),
    (f32, lambda b, x, y, z: b.cast(z, i32), "fptosi(z):i32"),
    (i32, lambda b, x, y, z: b.cast(x, i1), 'tile_compare[predicate="ne"](x, 0s):2x4xi1'),
    (
        f32,
        lambda b, x, y, z: b.cast(x, f16),
        'tile_convert[kind="extf"](tile_convert[kind="truncf"](x):2x4xf16):2x4xf32',
    ),
    (f32, lambda b, x, y, z: b.cast(z, f16), "extf(truncf(z):f16):f32"),
    (i32, lambda b, x, y, z: b.cast(z, INDEX), "index_cast(z):index"),
    # bytes
    (
        f32,
        lambda b, x, y, z: b.quantized(x, 3, 0, 255, U8, bounded=True),
        "tile_narrow[zero_point=3 low=0 high=255 unsigned](x):2x4xi8",
    ),
    (
        i32,
        lambda b, x, y, z: b.clamped(x, 3, 0, 255, U8),
        "tile_narrow[zero_point=3 low=0 high=255 unsigned](x):2x4xi8",
    ),
    (i32, lambda b, x, y, z: b.clamped(x, 0, -9, 9, i8), "tile_narrow[zero_point=0 low=-9 high=9](x):2x4xi8"),
    (i32, lambda b, x, y, z: b.cast(b.clamped(x, 0, -9, 9, i8), i32), "minsi(maxsi(x, -9s), 9s)"),
    (
        i32,
        lambda b, x, y, z: b.cast(b.clamped(x, 0, -9, 9, i8), i16),
        'tile_convert[kind="extsi"](tile_narrow[zero_point=0 low=-9 high=9](x):2x4xi8):2x4xi16',
    ),
    (i32, lambda b, x, y, z: b.clamped(z, 0, -9, 9, i8), "trunci(minsi(maxsi(z, -9), 9)):i8"),
    (
        i32,
        lambda b, x, y, z: b.clamped(x, 0, -9, 9, i16),
        'tile_convert[kind="trunci"](minsi(maxsi(x, -9s), 9s)):2x4xi16',
    ),
]
SAFE = 'tile_select(tile_compare[predicate="oeq"](x, -infs):2x4xi1, infs, addf(x, 0.0s))'


@pytest.mark.parametrize("case", range(len(WRITTEN)), ids=lambda at: f"{WRITTEN[at][0]} {WRITTEN[at][2]}")
def test_what_is_written(case: int) -> None:
    kind, expression, text = WRITTEN[case]
    assert written(expression(*tiles(kind))) == text.replace("{safe}", SAFE)


def test_zeros_of_either_sign_stand_for_each_other_in_extremes() -> None:
    b, x, y, _ = tiles(f32)
    found = [each.ssa.owner.properties.get("fastmath") for each in (b.max(x, y), b.min(x, y), x + y)]  # pyright: ignore
    assert [str(each) for each in found] == ["#arith.fastmath<nsz>"] * 2 + ["#arith.fastmath<none>"]


def test_what_is_quantized_beyond_bytes_is_limited_before() -> None:
    """A tile of any floats is not `bounded`: it is limited, rounded, and narrowed lane by lane."""
    b, x, _, z = tiles(f32)
    assert written(b.quantized(x, 0, 0, 255, U8)).startswith('tile_convert[kind="trunci"](')
    assert "tile_narrow" not in written(b.quantized(z, 0, 0, 255, U8, bounded=True))


REFUSED: list[tuple[Attribute, Expression, str]] = [
    (i32, lambda b, x, y, z: x / y, "arith.divsi of tiles"),
    (i32, lambda b, x, y, z: z / y, "arith.divsi of tiles"),
    (i32, lambda b, x, y, z: x / z, "arith.divsi of tiles"),
    (f32, lambda b, x, y, z: x + b.slice(y, [1], [1]), "tiles of shapes"),
    (f64, lambda b, x, y, z: b.math("exp", x), "exp of a tile of f64"),
    (f32, lambda b, x, y, z: b.math("cbrt", x), "cbrt of a tile of f32"),
    (f32, lambda b, x, y, z: b.cast(x, INDEX), "tiles of index"),
    (f32, lambda b, x, y, z: b.encode(x, E4M3), "tiles of f8E4M3FN"),
    (f32, lambda b, x, y, z: b.pow(x, z), "a power"),
    (f32, lambda b, x, y, z: b.pow(z, x), "a power"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(0, f32)), "a power"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(0.3, f32)), "a power"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(4.25, f32)), "a power"),
    (f32, lambda b, x, y, z: b.pow(x, b.const(-5, f32)), "a power"),
    (i8, lambda b, x, y, z: b.lookup(x, lambda index: z), "each element is looked up by itself"),
    (f32, lambda b, x, y, z: b.when(b.compare("lt", x, y), list, list)[0], "a branch depends"),
    (f32, lambda b, x, y, z: Scalar(b, f32, b.insert(arith.NegfOp(x.ssa))), "arith.negf is an operation on scalars"),
    (i32, lambda b, x, y, z: Scalar(b, i32, b.insert(arith.AddiOp(z.ssa, b.splat(z, TILE).ssa))), "arith.addi is"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)), ids=lambda at: f"{at} {REFUSED[at][2]}")
def test_what_is_refused(case: int) -> None:
    kind, expression, why = REFUSED[case]
    with pytest.raises(NotVectorizable, match=why):
        expression(*tiles(kind))


def test_scalars_and_operations_of_tiles_are_inserted() -> None:
    b, x, _, z = tiles(f32)
    assert written(b.insert(arith.NegfOp(z.ssa))) == "negf(z)"
    assert written(b.insert(aot.TileSliceOp(x.ssa, [0], [1]))) == "tile_slice[offsets=<0>](x):1x4xf32"
    assert written(b.encode(z, E4M3)).endswith(":i8")
    assert b.encode(x, f32) is x


def test_branches_carry_tiles() -> None:
    """A result that is a tile on one side is one on the other."""
    b, x, _, z = tiles(f32)
    for sides in ((x, z), (z, x)):
        (found,) = b.when(b.compare("lt", z, 0), lambda sides=sides: [sides[0]], lambda sides=sides: [sides[1]])
        assert is_tile(found)
    (alone,) = b.when(b.compare("lt", z, 0), lambda: [z], lambda: [b.const(1, f32)])
    assert not is_tile(alone)
    assert effects(b.block) == [
        "if(cmpf olt(z, 0.0)) {yield(x)} {yield(broadcast(z):2x4xf32)}",
        "if(cmpf olt(z, 0.0)) {yield(broadcast(z):2x4xf32)} {yield(x)}",
        "if(cmpf olt(z, 0.0)) {yield(z)} {yield(1.0)}",
    ]


# Memory


def buffer(kind: Attribute, *shape: int) -> tuple[TileBuilder, SSAValue, Scalar]:
    """A builder, memory for elements of a type, and an index."""
    block = arguments(MemRefType(storage_type(kind), shape), INDEX)
    b = TileBuilder(block)
    return b, block.args[0], b.scalar(block.args[1], INDEX)


Steps: TypeAlias = tuple[dict[int, int], ...]

LOADED: list[tuple[Attribute, Tile, Steps, str]] = [
    (f32, Tile((4,)), ({}, {}), "load(x, y, y)"),
    (f32, Tile((4,)), ({}, {-1: 1}), "tile_load[strides=<1>](x, y, y):4xf32"),
    (f32, Tile((4,)), ({-1: 1}, {}), "tile_load[strides=<8>](x, y, y):4xf32"),
    (f32, Tile((4,), 3), ({}, {-1: 1}), "tile_load[strides=<1> valid=3](x, y, y):4xf32"),
    (f32, Tile((2, 4), 3), ({0: 1}, {-1: 1}), "tile_load[strides=<8, 1> valid=3](x, y, y):2x4xf32"),
    (f32, Tile((2, 4), 3), ({0: 1}, {}), "tile_load[strides=<8, 0> valid=3](x, y, y):2x4xf32"),
    (f32, Tile((2, 2, 4), 3), ({0: 1}, {}), "tile_load[strides=<8, 0, 0>](x, y, y):2x2x4xf32"),
    (f32, Tile((2, 2, 4), 7), ({}, {1: 4, 2: 1}), "tile_load[strides=<0, 4, 1> valid=7](x, y, y):2x2x4xf32"),
    (f16, Tile((4,)), ({}, {-1: 1}), 'tile_convert[kind="extf"](tile_load[strides=<1>](x, y, y):4xf16):4xf32'),
    (U8, Tile((4,)), ({}, {-1: 1}), "tile_load[strides=<1>](x, y, y):4xi8"),
    # groups
    (i8, Tile((4,), group=4), ({}, {}), "tile_load[strides=<0> group=4](x, y, y):4xi8"),
    (i8, Tile((4,), group=4, present=3), ({}, {}), "tile_load[strides=<0> valid=3 group=4](x, y, y):4xi8"),
    (i8, Tile((4,), group=4), ({}, {-1: 1}), "tile_load[strides=<1>](x, y, y):4xi8"),
    (i8, Tile((4,), group=1), ({}, {}), "load(x, y, y)"),
    # squares whose registers are contiguous along the first axis are transposed
    (f32, Tile((4, 4)), ({1: 1}, {0: 1}), "tile_transpose(tile_load[strides=<8, 1>](x, y, y):4x4xf32)"),
    (f32, Tile((4, 4)), ({1: 1}, {0: 2}), "tile_load[strides=<2, 8>](x, y, y):4x4xf32"),
    (f32, Tile((4, 4)), ({}, {0: 1}), "tile_load[strides=<1, 0>](x, y, y):4x4xf32"),
    (f32, Tile((4, 4)), ({}, {0: 1, 1: 1}), "tile_load[strides=<1, 1>](x, y, y):4x4xf32"),
    (f32, Tile((4, 4), 7), ({1: 1}, {0: 1}), "tile_load[strides=<1, 8> valid=7](x, y, y):4x4xf32"),
    (f32, Tile((2, 4)), ({1: 1}, {0: 1}), "tile_load[strides=<1, 8>](x, y, y):2x4xf32"),
    (
        f32,
        Tile((2, 1, 4)),
        ({2: 1}, {0: 1}),
        "tile_slice[offsets=<0, 0>](tile_transpose(tile_load[strides=<8, 0, 1> valid=2](x, y, y):4x1x4xf32)):2x1x4xf32",
    ),
    (
        f32,
        Tile((4, 1, 4), 3),
        ({2: 1}, {0: 1}),
        "tile_transpose(tile_insert[offsets=<0, 0>](tile_load[strides=<8, 0, 1>](x, y, y):3x1x4xf32, 0.0s))",
    ),
    (f32, Tile((4, 1, 4), 4), ({2: 1}, {0: 1}), "tile_transpose(tile_load[strides=<8, 0, 1>](x, y, y):4x1x4xf32)"),
    (
        bf16,
        Tile((4, 1, 4)),
        ({2: 1}, {0: 1}),
        'tile_transpose(tile_convert[kind="extf"](tile_load[strides=<8, 0, 1>](x, y, y):4x1x4xbf16):4x1x4xf32)',
    ),
    (f32, Tile((1, 1, 4)), ({2: 1}, {0: 1}), "tile_load[strides=<0, 0, 8>](x, y, y):1x1x4xf32"),
    (f32, Tile((8, 1, 4)), ({2: 1}, {0: 1}), "tile_load[strides=<1, 0, 8>](x, y, y):8x1x4xf32"),
    (f32, Tile((4, 2, 4)), ({2: 1}, {0: 1}), "tile_load[strides=<1, 0, 8>](x, y, y):4x2x4xf32"),
    (f32, Tile((4, 2, 1, 4)), ({3: 1}, {0: 1}), "tile_load[strides=<1, 0, 0, 8>](x, y, y):4x2x1x4xf32"),
]


@pytest.mark.parametrize("case", range(len(LOADED)), ids=lambda at: f"{at} {LOADED[at][3]}")
def test_loads(case: int) -> None:
    kind, tile, steps, text = LOADED[case]
    b, memory, at = buffer(kind, 6, 8)
    assert written(b.load(memory, [tile.index(b, at, each) for each in steps], kind)) == text


def test_prefetching_loads_nothing() -> None:
    b, memory, at = buffer(f32, 6, 8)
    b.prefetch(lambda index: b.load(memory, index, f32), [at, at])
    assert effects(b.block) == ["prefetch(x, y, y)"]
    assert written(b.load(memory, [at, at], f32)) == "load(x, y, y)"


def test_stores() -> None:
    b, memory, at = buffer(bf16, 6, 8)
    whole, part = Tile((4,)), Tile((4,), 3)
    b.store(b.const(1, f32), memory, [at, whole.index(b, at, {-1: 1})])
    b.store(b.splat(2, part, f32), memory, [at, part.index(b, at, {-1: 1})])
    b.store(b.const(3, f32), memory, [at, at])
    narrow = 'tile_convert[kind="truncf"]'
    assert effects(b.block) == [
        f"tile_store({narrow}(1.0s):4xbf16, x, y, y)",
        f"tile_store({narrow}(2.0s):4xbf16, x, y, y)",
        "store(truncf(3.0):bf16, x, y, y)",
    ]
    valid = [op.valid for op in b.block.ops if isinstance(op, aot.TileStoreOp)]
    assert valid == [None, 3]
    with pytest.raises(NotVectorizable, match="a tile is stored to a single element"):
        b.store(b.splat(2, part, f32), memory, [at, at])


def test_words_are_put_together_and_stored() -> None:
    b, memory, at = buffer(U8, 6, 16)
    x = Scalar(b, U8, b.splat(b.load(memory, [at, at], U8), Tile((4,))).ssa)
    for tile, parts in ((Tile((4,)), [x, b.const(0, U8), x]), (Tile((4,), 3), [b.const(0, U8), x]), (Tile((4,)), [])):
        b.store_words(parts, memory, [at, tile.index(b, at, {-1: 4})])
    wide = 'tile_convert[kind="extui"](broadcast(load(x, y, y)):4xi8):4xi32'
    assert effects(b.block) == [
        f"tile_store(bitcast(ori({wide}, shli({wide}, 16s))):16xi8, x, y, y)",
        f"tile_store(bitcast(shli({wide}, 8s)):16xi8, x, y, y)",
        "tile_store(bitcast(0s):16xi8, x, y, y)",
    ]
    stores = [op for op in b.block.ops if isinstance(op, aot.TileStoreOp)]
    assert [op.valid for op in stores] == [None, 12, None]
    with pytest.raises(NotVectorizable, match="words are 3 elements apart"):
        b.store_words([x], memory, [at, Tile((4,)).index(b, at, {-1: 3})])


def test_what_memory_has_no_tiles_of() -> None:
    b, memory, at = buffer(E4M3, 6, 8)
    one, other = Tile((4,)), Tile((4,))
    with pytest.raises(NotVectorizable, match="tiles of f8E4M3FN"):
        b.load(memory, [at, one.index(b, at, {-1: 1})], E4M3)
    with pytest.raises(NotVectorizable, match="an index mixes two tiles"):
        b.load(memory, [other.index(b, at, {-1: 1}), one.index(b, at, {-1: 1})], i8)


def test_tables_are_looked_up_in_registers() -> None:
    block = arguments(MemRefType(i8, [256]), VectorType(i8, [64]), i8, MemRefType(i16, [256]), MemRefType(f32, [256]))
    b = TileBuilder(block)
    bytes_, x, one, words, floats = block.args

    def table(memory: SSAValue, kind: Attribute) -> Callable[..., Scalar]:
        return lambda index: b.load(memory, index, kind)

    found = b.lookup(b.scalar(x, U8), table(bytes_, U8), (64, 16))
    assert found.dtype == U8
    assert written(found) == "tile_lookup[width=64](y, tile_load[strides=<16, 1>](x, 0):16x16xi8)"
    assert written(b.lookup(b.scalar(one, U8), table(bytes_, U8), (64, 16))).startswith("load(x, index_cast(extui(z)")
    for memory, kind in ((words, i16), (floats, f32)):
        with pytest.raises(NotVectorizable, match=f"a table of {kind}"):
            b.lookup(b.scalar(x, U8), table(memory, kind), (64, 16))


# Indices


def test_indices_of_tiles_are_affine() -> None:
    b, _, at = buffer(f32, 6, 8)
    tile, other = Tile((2, 4)), Tile((2, 4))
    i, k = tile.index(b, at, {0: 4}), tile.index(b, 3, {-1: 1})

    def of(index: Scalar) -> tuple[str, dict[int, int]]:
        assert isinstance(index, TileIndex)
        return written(index.base), dict(index.steps)

    assert of(i + k) == ("addi(y, 3)", {0: 4, 1: 1})
    assert of(i + 5) == ("addi(y, 5)", {0: 4})
    assert of(5 + i) == ("addi(5, y)", {0: 4})
    assert of(i - 5) == ("subi(y, 5)", {0: 4})
    assert of(i - k) == ("addi(y, -3)", {0: 4, 1: -1})
    assert of(7 - k) == ("4", {1: -1})
    assert of(k * 3) == ("9", {1: 3})
    assert of(3 * k) == ("9", {1: 3})
    assert written(k * 0) == "0"
    assert k.key != (k + 1).key
    for mixed in (lambda: i * at, lambda: i + other.index(b, at, {0: 1}), lambda: i / 2):
        with pytest.raises(NotVectorizable):
            mixed()


@pytest.mark.parametrize(("elements", "tile"), [(8, Tile((3, 2, 4))), (7, Tile((3, 2, 4), 7)), (3, Tile((3, 1, 4), 3))])
def test_tiles_of_elements(elements: int, tile: Tile) -> None:
    found = Tile.of(3, elements, 4)
    assert (found.shape, found.valid) == (tile.shape, tile.valid)


def test_axes_of_one_register_move_nothing() -> None:
    b, _, at = buffer(f32, 6, 8)
    assert Tile((1, 4)).index(b, at, {0: 3}) is at
    assert Tile((1, 4)).index(b, at, {1: 0}) is at
    assert isinstance(Tile((1, 4)).index(b, at, {1: 2}), TileIndex)
    assert isinstance(Tile((1, 4), group=2).index(b, at, {0: 3}), TileIndex)
    assert not is_tile(at)
    assert not is_tile(b.index(3))
    assert written(Tile((4,)).index(b, 7, {})) == "7"
    assert not is_tile(b.const(1, i64))
