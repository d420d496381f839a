"""Add, subtract and multiply quantised tensors in fixed point, where that gives the same results: floats are slow, or
missing, and vectors have a division for each.

Of two integers of 8 bits there are 65,536 cases: what the graph computes of each of them is evaluated, as constants are
folded, with what follows up to the quantisation, and integers that are the same for all are looked for. Functions of
one operand, before they meet, are tables of terms. Where errors of floats decide, sums in the middle between two
integers, there are none, and numbers stay floats.

Before:
```mlir
%0 = graph.dequantize %x, %sx, %zx {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%1 = graph.dequantize %y, %sy, %zy {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%2 = graph.add %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
%3 = graph.relu %2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
%4 = graph.quantize %3, %s, %z {to = i8, ..} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
```
After:
```mlir
%0 = graph.fixed_add %x, %y {x_factor = 1273401 : i64, y_factor = 771054 : i64, offset = 2097152 : i64,
    shift = 21 : i64, low = 3 : i64, high = 127 : i64, to = i8}
    : (tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x4xi8>
```
A product of the integers less their zero points is requantised. Sums of terms that are rescaled to i32, as TFLite adds,
are `graph.fixed_add` where that has the same results for all cases, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import wrap
from aotc.dialects.graph.conversion import CastOp, QuantizeOp
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp, SubOp
from aotc.dialects.graph.interfaces import Array, ElementOp, producer, shape_of
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedAddOp, RequantizeOp
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.binary import FixedSum, Numbers, Terms, fixed_sum, product_multiplier
from aotc.passes.graph.quantization.chains import Chain, evaluated, is_number, is_pointwise
from aotc.passes.graph.quantization.real_values import Parameters, dequantized, quantization
from aotc.passes.graph.rewriting import Constants, Raised, with_constants


@dataclass(frozen=True)
class FixArithmeticPass(ModulePass):
    name = "fix-arithmetic"

    tables: bool = True
    """Whether terms may be looked up: not on vectors, whose registers have no tables of 32 bits."""
    most_numbers: int = 1 << 12
    """Different ones of a constant operand: as many times 256 cases are tried."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each, constants in with_constants(op, ctx, ElementOp):
            fixed = None
            if isinstance(each, QuantizeOp):
                fixed = self._fixed(each, constants)
            elif isinstance(each, DoublingRequantizeOp):
                fixed = self._rescaled(each, constants)
            if fixed is not None:
                location = fuse_locations(old.location for old in fixed.replaced)
                for new in fixed.ops:
                    new.location = location
                Rewriter.replace_op(each, fixed.ops)

    def _fixed(self, op: QuantizeOp, constants: Constants) -> Raised | None:
        target, found = quantization(op, constants.store), _arithmetic(op, constants.store)
        if target is None or found is None:
            return None
        root, after = found
        left, right = (_operand(value, constants.store, self.most_numbers) for value in (root.lhs, root.rhs))
        if left is None or right is None or (left.source is None and right.source is None):
            return None
        wanted = _wanted(root, after, left, right, constants.store)
        if wanted is None or wanted.min() == wanted.max():
            return None
        raised = Raised(replaced=[*left.ops, *right.ops, root, *after])
        if isinstance(root, MulOp):
            return raised if _product(raised, left, right, wanted, target, constants) else None
        numbers = _added(root, right)
        fixed = fixed_sum(left.numbers, numbers, wanted, float(target.scale), target.zero_point)
        return raised if self._sum(raised, left, right, fixed, wanted, target.kind, constants) else None

    def _rescaled(self, op: DoublingRequantizeOp, constants: Constants) -> Raised | None:
        """A sum of two terms that are rescaled to i32, and rescaled again."""
        store, root = constants.store, producer(op.x, BinaryOp)
        parameters = [computed_array(value, store) for value in (op.factor, op.shift)]
        if not isinstance(root, AddOp | SubOp) or op.to == i32 or not all(_is_one(each) for each in parameters):
            return None
        left, right = (_rescaled_operand(value, store) for value in (root.lhs, root.rhs))
        if left is None or right is None:
            return None
        numbers = _added(root, right)
        sums = (left.numbers.values[:, None] + numbers.values[None, :]).astype(np.int32)
        given = [np.broadcast_to(each.reshape(()), sums.shape) for each in parameters if each is not None]
        wanted = op.evaluate_places([sums, *given])
        factor, shift = (int(each.flat[0]) for each in given)
        if wanted is None or wanted.min() == wanted.max():
            return None
        scale = 2.0 ** (_FRACTION + shift) / factor
        fixed = fixed_sum(left.numbers, numbers, wanted.astype(np.int64), scale, op.zero_point)
        raised = Raised(replaced=[*left.ops, *right.ops, root, op])
        return raised if self._sum(raised, left, right, fixed, wanted, op.to, constants) else None

    def _sum(
        self,
        raised: Raised,
        left: _Operand,
        right: _Operand,
        fixed: FixedSum | None,
        wanted: Array,
        kind: Attribute,
        constants: Constants,
    ) -> bool:
        """Add the sum; False where there is none, or no register has the table that it takes."""
        if fixed is None:
            return False
        sides = ((left, fixed.left), (right, fixed.right))
        if not self.tables and any(side.source is not None and terms.factor is None for side, terms in sides):
            return False
        _sum(raised, left, right, fixed, wanted, kind, constants)
        return True


def _added(root: BinaryOp, right: _Operand) -> Numbers:
    """The numbers that a sum or difference adds to those of its left side."""
    return right.numbers.negated() if isinstance(root, SubOp) else right.numbers


_FRACTION = 31
"""Bits of factors of `graph.doubling_requantize` behind the point."""


def _is_one(array: Array | None) -> bool:
    return array is not None and array.size == 1


def _rescaled_operand(value: SSAValue, store: WeightStore) -> _Operand | None:
    """A term in i32 that is a multiple of 8-bit integers less a zero point, but for its rounding."""
    term, chain = producer(value, DoublingRequantizeOp), Chain(store)
    before = None if term is None else producer(term.x, ElementOp)
    if term is None or before is None or not term.is_whole or not chain.take(before) or chain.source is None:
        return None
    parameters, integers = [computed_array(each, store) for each in (term.factor, term.shift)], chain.table(term.x)
    if integers is None or not all(_is_one(each) for each in parameters):
        return None
    given = [np.broadcast_to(each.reshape(()), integers.shape) for each in parameters if each is not None]
    table, arguments = term.evaluate_places([integers, *given]), chain.arguments().astype(np.int64)
    if table is None or np.count_nonzero(table == 0) != 1:
        return None
    values = table.astype(np.float64)
    point = int(arguments[table == 0][0])
    scale = float(np.ptp(values)) / float(np.ptp(arguments))
    return _Operand(Numbers(values, arguments, point, scale), [*chain.ops, term], chain.source)


@dataclass(frozen=True)
class _Operand:
    """One side of a sum or product: a function of 8-bit integers, or a constant."""

    numbers: Numbers
    ops: Sequence[ElementOp]
    source: SSAValue | None = None
    """The integers, by the bits of which `numbers` are in order; None: a constant."""
    places: Array | None = None
    """Of a constant: which of the numbers each element is."""


def _arithmetic(op: QuantizeOp, store: WeightStore) -> tuple[BinaryOp, list[ElementOp]] | None:
    """The last sum, difference or product of two tensors before `op`, and the functions of one after it, in order."""
    after: list[ElementOp] = []
    at: ElementOp | None = op
    while at is not None and is_pointwise(at):
        varying = [value for value in at.operands if not is_number(value, store)]
        if len(varying) == 2 and isinstance(at, AddOp | SubOp | MulOp):
            return at, after[::-1]
        if len(varying) != 1 or shape_of(varying[0]) != shape_of(op.result):
            return None
        after.append(at)
        at = producer(varying[0], ElementOp)
    return None


def _operand(value: SSAValue, store: WeightStore, most_numbers: int) -> _Operand | None:
    chain, op = Chain(store), producer(value, ElementOp)
    if op is not None and chain.take(op) and chain.source is not None:
        numbers = chain.table(value)
        if numbers is None or numbers.dtype != np.float32 or not bool(np.isfinite(numbers).all()):
            return None
        affine = dequantized(value, store)
        if affine is None:
            return _Operand(Numbers(numbers), chain.ops, chain.source)
        integers = Numbers(numbers, chain.arguments().astype(np.int64), affine.zero_point, float(affine.scale))
        return _Operand(integers, chain.ops, chain.source)
    array = computed_array(value, store)
    if array is None or array.dtype != np.float32 or not array.size or not bool(np.isfinite(array).all()):
        return None
    numbers, places = np.unique(array, return_inverse=True)
    if numbers.size > most_numbers:
        return None
    return _Operand(Numbers(numbers), [], None, places.reshape(array.shape))


def _wanted(
    root: BinaryOp, after: Sequence[ElementOp], left: _Operand, right: _Operand, store: WeightStore
) -> Array | None:
    """The result for any two numbers, i64 [left, right]; None where an operation does not fold."""
    cases = np.broadcast_arrays(left.numbers.values[:, None], right.numbers.values[None, :])
    computed = root.evaluate_places(cases)
    if computed is None:
        return None
    result = evaluated(after, {root.result: computed}, store).get(after[-1].results[0])
    return None if result is None else result.astype(np.int64)


def _sum(
    raised: Raised,
    left: _Operand,
    right: _Operand,
    fixed: FixedSum,
    wanted: Array,
    kind: Attribute,
    constants: Constants,
) -> None:
    sides = ((left, fixed.left), (right, fixed.right))
    points = sum(operand.numbers.zero_point * (terms.factor or 0) for operand, terms in sides)
    raised.add(
        FixedAddOp.get(
            _terms(raised, left, fixed.left, constants),
            _terms(raised, right, fixed.right, constants),
            x_factor=1 if fixed.left.factor is None else fixed.left.factor,
            y_factor=1 if fixed.right.factor is None else fixed.right.factor,
            offset=wrap(fixed.offset - points, i32),
            shift=fixed.shift,
            even=fixed.even,
            zero_point=fixed.zero_point,
            low=int(wanted.min()),
            high=int(wanted.max()),
            to=kind,
        )
    )


def _terms(raised: Raised, operand: _Operand, terms: Terms, constants: Constants) -> SSAValue:
    """The integers that are multiplied by a factor, or what is added as it is."""
    if operand.source is not None and terms.factor is not None:
        return operand.source
    values = terms.values.astype(np.int32)
    if operand.source is not None:
        return raised.add(LookupOp.get(operand.source, constants.of(values, "terms")))
    assert operand.places is not None
    return constants.of(values[operand.places], "terms")


def _product(
    raised: Raised, left: _Operand, right: _Operand, wanted: Array, target: Parameters, constants: Constants
) -> bool:
    integers = [each.numbers.integers for each in (left, right)]
    if any(each is None for each in integers):
        return False
    one, other = (
        each - side.numbers.zero_point for each, side in zip(integers, (left, right), strict=True) if each is not None
    )
    scale = left.numbers.scale * right.numbers.scale / float(target.scale)
    multiplier = product_multiplier(one[:, None] * other[None, :], wanted - target.zero_point, scale)
    if multiplier is None:
        return False
    factors: list[SSAValue] = []
    for side in (left, right):
        assert side.source is not None
        factor = raised.add(CastOp.get(side.source, to=i32))
        if side.numbers.zero_point:
            point = constants.of(np.array(side.numbers.zero_point, np.int32), "zero_point")
            factor = raised.add(SubOp.get(factor, point))
        factors.append(factor)
    raised.add(
        RequantizeOp.get(
            raised.add(MulOp.get(*factors)),
            constants.of(np.array(multiplier, np.float32), "multiplier"),
            axis=0,
            zero_point=target.zero_point,
            low=int(wanted.min()),
            high=int(wanted.max()),
            to=target.kind,
        )
    )
    return True
