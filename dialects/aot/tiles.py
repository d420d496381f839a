"""Tiles: n-dimensional vectors of static shape, the registers a kernel works in.

A tile is a value of type `vector<A x .. x L x T>`. Its last dimension lies along the lanes of a vector register (L is a
power of two), the others count registers. arith and math operations work on tiles element by element;
`vector.broadcast` makes a tile of a scalar; the operations here are what those dialects lack: parts of tiles,
reductions, and the comparisons and conversions that xDSL's arith has for scalars only. Tiles stay rolled until
`unroll-tiles` writes them register by register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Literal, TypeAlias, cast, get_args

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    StringAttr,
    VectorType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.dtypes import is_narrow_float
from aotc.dialects.operations import PureOp
from aotc.dialects.properties import int_array, ints, string

Reduction: TypeAlias = Literal["add", "mul", "max", "min", "umax", "umin", "ogt"]
"""Kinds of `aot.tile_reduce`; `max` and `min` take integers for signed, `umax` and `umin` for unsigned; `ogt` keeps
what compares greater, which may pass over NaN."""
COMPARISONS = (
    "oeq",
    "une",
    "olt",
    "ole",
    "ogt",
    "oge",
    "eq",
    "ne",
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
)
"""Predicates of `aot.tile_compare`: arith.cmpf's on floats, arith.cmpi's on integers."""
CONVERSIONS: dict[str, Callable[[SSAValue, Any], Operation]] = {
    "extf": arith.ExtFOp,
    "truncf": arith.TruncFOp,
    "fptosi": arith.FPToSIOp,
    "fptoui": arith.FPToUIOp,
    "sitofp": arith.SIToFPOp,
    "uitofp": arith.UIToFPOp,
    "extsi": arith.ExtSIOp,
    "extui": arith.ExtUIOp,
    "trunci": arith.TruncIOp,
}
"""Kinds of `aot.tile_convert`, each as the arith operation of that name."""

TILE = VarConstraint("T", VectorType.constr(AnyAttr()))
"""The type of several tiles of an operation."""


def tile_type(shape: Iterable[int], element: Attribute) -> VectorType[Attribute]:
    """The type of tiles of `shape`; the last dimension is the lanes."""
    return _tile_type(tuple(shape), element)


@lru_cache(maxsize=4096)
def _tile_type(shape: tuple[int, ...], element: Attribute) -> VectorType[Attribute]:
    return VectorType(element, shape)


def tile_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tile; () of a scalar."""
    return value.type.get_shape() if isinstance(value.type, VectorType) else ()


def is_splat(value: DenseIntOrFPElementsAttr) -> bool:
    """Whether every element has the same bits: -0 is not 0, and NaN is itself."""
    data = value.data.data
    return data == data[: len(data) // len(value)] * len(value)


def fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute | None] | None = None,
) -> None:
    """Make `op` as it is, without looking what each argument is for; the verifier does."""
    given = {name: value for name, value in (properties or {}).items() if value is not None}
    Operation.__init__(op, operands=operands, result_types=result_types, properties=given)


@irdl_op_definition
class TileSliceOp(PureOp):
    """A part of a tile: `sizes` registers from `offsets` on, in all dimensions but the lanes.

    `aot.tile_slice %t {offsets = array<i64: 1, 0>, sizes = array<i64: 3, 2>} : vector<4x2x8xf32> -> vector<3x2x8xf32>`
    """

    name = "aot.tile_slice"
    tile = operand_def(VectorType)
    offsets = prop_def(DenseArrayBase.constr(i64))
    sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile attr-dict `:` type($tile) `->` type($result)"

    def __init__(self, tile: SSAValue, offsets: Sequence[int], sizes: Sequence[int]) -> None:
        assert isinstance(tile.type, VectorType)
        kind = tile_type([*sizes, tile.type.get_shape()[-1]], cast(Attribute, tile.type.get_element_type()))
        fill(self, [tile], [kind], {"offsets": int_array(tuple(offsets)), "sizes": int_array(tuple(sizes))})

    def verify_(self) -> None:
        _verify_part(tile_shape(self.tile), tile_shape(self.result), ints(self.offsets))


@irdl_op_definition
class TileInsertOp(PureOp):
    """`tile` with `part` in place of the registers from `offsets` on.

    `aot.tile_insert %p, %t {offsets = array<i64: 1, 0>} : vector<3x2x16xf32>, vector<4x2x16xf32>`
    """

    name = "aot.tile_insert"
    part = operand_def(VectorType)
    tile = operand_def(TILE)
    offsets = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TILE)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$part `,` $tile attr-dict `:` type($part) `,` type($tile)"

    def __init__(self, part: SSAValue, tile: SSAValue, offsets: Sequence[int]) -> None:
        fill(self, [part, tile], [tile.type], {"offsets": int_array(tuple(offsets))})

    def verify_(self) -> None:
        _verify_part(tile_shape(self.tile), tile_shape(self.part), ints(self.offsets))


def _verify_part(whole: Sequence[int], part: Sequence[int], given: Sequence[int]) -> None:
    if len(part) != len(whole) or len(given) != len(whole) - 1 or part[-1] != whole[-1]:
        raise VerifyException(f"a part of shape {list(part)} at {given} in a tile of shape {list(whole)}")
    if any(low < 0 or low + size > extent for low, size, extent in zip(given, part, whole, strict=False)):
        raise VerifyException(f"a part of shape {list(part)} at {given} reaches out of a tile of shape {list(whole)}")


@irdl_op_definition
class TileReduceOp(PureOp):
    """All elements of a tile as one scalar, in a fixed order: registers by halves, then lanes by halves.

    n values are combined by halves: value i with value i + ceil(n/2), until one is left; the dimensions before the
    lanes count as one, row by row. `max` and `min` give NaN where any element is.

    `aot.tile_reduce "add" %t : vector<4x16xf32> -> f32`
    """

    name = "aot.tile_reduce"
    kind = prop_def(StringAttr)
    tile = operand_def(VectorType)
    result = result_def(AnyAttr())
    assembly_format = "$kind $tile attr-dict `:` type($tile) `->` type($result)"

    def __init__(self, kind: Reduction, tile: SSAValue) -> None:
        assert isinstance(tile.type, VectorType)
        element = cast(Attribute, tile.type.get_element_type())
        fill(self, [tile], [element], {"kind": string(kind)})

    def verify_(self) -> None:
        if self.kind.data not in get_args(Reduction):
            raise VerifyException(f"no reduction {self.kind.data}")
        if (lanes := tile_shape(self.tile)[-1]) & (lanes - 1):
            raise VerifyException(f"{lanes} lanes are not a power of two")


@irdl_op_definition
class TileShuffleOp(PureOp):
    """Register by register, `lanes` of those of two tiles, counted through both.

    `aot.tile_shuffle %a, %b {lanes = array<i64: 0, 4, 1, 5>} : vector<3x4xf32> -> vector<3x4xf32>`
    """

    name = "aot.tile_shuffle"
    a = operand_def(TILE)
    b = operand_def(TILE)
    lanes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `->` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> None:
        kind = cast(VectorType[Attribute], a.type)
        result = tile_type((*tile_shape(a)[:-1], len(lanes)), kind.element_type)
        fill(self, [a, b], [result], {"lanes": int_array(tuple(lanes))})

    def verify_(self) -> None:
        (*outer, count), lanes, kind = tile_shape(self.a), ints(self.lanes), self.a.type
        assert isinstance(kind, VectorType)
        if not lanes or any(not 0 <= lane < 2 * count for lane in lanes):
            raise VerifyException(f"{list(lanes)} are not lanes of two registers of {count}")
        if self.result.type != tile_type((*outer, len(lanes)), kind.element_type):
            raise VerifyException(f"{len(lanes)} lanes of {self.a.type} are not {self.result.type}")


@irdl_op_definition
class TileTransposeOp(PureOp):
    """A tile of L registers of L lanes, transposed: `aot.tile_transpose %t : vector<16x16xf32>`.

    The dimensions before the lanes count as one, row by row.
    """

    name = "aot.tile_transpose"
    tile = operand_def(TILE)
    result = result_def(TILE)
    assembly_format = "$tile attr-dict `:` type($tile)"

    def __init__(self, tile: SSAValue) -> None:
        fill(self, [tile], [tile.type])

    def verify_(self) -> None:
        shape = tile_shape(self.tile)
        if prod(shape[:-1]) != shape[-1] or shape[-1] & (shape[-1] - 1):
            raise VerifyException(f"a square of a power of two is transposed, found {list(shape)}")


@irdl_op_definition
class TileCompareOp(PureOp):
    """Element by element: `aot.tile_compare "olt" %a, %b : vector<16xf32> -> vector<16xi1>` (see COMPARISONS)."""

    name = "aot.tile_compare"
    predicate = prop_def(StringAttr)
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    result = result_def(VectorType)
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> None:
        fill(self, [lhs, rhs], [tile_type(tile_shape(lhs), i1)], {"predicate": string(predicate)})

    def verify_(self) -> None:
        if self.predicate.data not in COMPARISONS:
            raise VerifyException(f"no comparison {self.predicate.data}")
        if self.result.type != tile_type(tile_shape(self.lhs), i1):
            raise VerifyException("the result has the operands' shape and elements i1")


@irdl_op_definition
class TileSelectOp(PureOp):
    """Element by element, a where the condition holds, else b: `aot.tile_select %c, %a, %b : vector<16xf32>`."""

    name = "aot.tile_select"
    condition = operand_def(VectorType)
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    result = result_def(TILE)
    assembly_format = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($result)"

    def __init__(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> None:
        fill(self, [condition, lhs, rhs], [lhs.type])

    def verify_(self) -> None:
        if self.condition.type != tile_type(tile_shape(self.lhs), i1):
            raise VerifyException("the condition has the operands' shape and elements i1")


@irdl_op_definition
class TileConvertOp(PureOp):
    """Element by element: `aot.tile_convert "fptosi" %a : vector<16xf32> -> vector<16xi32>` (see CONVERSIONS)."""

    name = "aot.tile_convert"
    kind = prop_def(StringAttr)
    tile = operand_def(VectorType)
    result = result_def(VectorType)
    assembly_format = "$kind $tile attr-dict `:` type($tile) `->` type($result)"

    def __init__(self, kind: str, tile: SSAValue, element: Attribute) -> None:
        fill(self, [tile], [tile_type(tile_shape(tile), element)], {"kind": string(kind)})

    def verify_(self) -> None:
        if self.kind.data not in CONVERSIONS:
            raise VerifyException(f"no conversion {self.kind.data}")
        if tile_shape(self.tile) != tile_shape(self.result):
            raise VerifyException("operand and result have one shape")


# f16 and bf16 where kernels are loops: memory holds them, and arithmetic is in f32

_MOVES = (arith.ConstantOp, arith.SelectOp, arith.BitcastOp)
_CONVERSIONS = (arith.ExtFOp, arith.TruncFOp, TileConvertOp)


def computes_narrow(op: Operation) -> bool:
    """Whether an operation does anything with f16 or bf16 but move them, and convert them from f32 and to it."""
    if not op.name.startswith(("arith.", "math.")) and not isinstance(op, TileCompareOp | TileConvertOp):
        return False
    kinds = [_element(value.type) for value in (*op.operands, *op.results)]
    if not any(map(is_narrow_float, kinds)) or isinstance(op, _MOVES):
        return False
    return not isinstance(op, _CONVERSIONS) or f32 not in kinds


def _element(kind: Attribute) -> Attribute:
    return kind.element_type if isinstance(kind, VectorType) else kind
