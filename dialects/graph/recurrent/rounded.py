"""Recurrent layers whose states are rounded to 8 bits in each step, and multiplied with weights of integers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import compute_type, integer_range
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.integers.dot_products import GROUP, DotOp
from aotc.dialects.graph.quantized.flip import UI8
from aotc.dialects.graph.recurrent.cells import LstmCell
from aotc.dialects.graph.recurrent.lines import Factors
from aotc.dialects.graph.recurrent.recurrence import Steps

_LEVELS = 255
"""The greatest number in 8 bits."""


class RoundedStateOp(LoopNestOp, ABC):
    """What there is of a layer beside its cell, behind the cell's own operands and results."""

    state_scales = operand_def(TensorType)
    weight_sums = operand_def(TensorType)
    weight_points = opt_operand_def(TensorType)
    rounded = result_def(TensorType)


@irdl_op_definition
class RoundedLstmOp(LstmCell, RoundedStateOp, DotOp):
    """An LSTM of f32 (`LstmCell`) with a weight of integers: (weight - `weight_points`) * `state_scales`.

    In each step those of a line's state, to which it is rounded as `state_type` (`ui8` or `i8`) in the scratch buffer
    `rounded`, are multiplied with `weight`, i8, and the sums, in i32, with both scales. `state_scales` [4 * H], and
    `weight_points`, i32 [4 * H] (0 where absent), are of each column; `weight_sums`, i32 [4 * H], are what the weights
    of a column, less its point, add up to. Packed weights have interleaved rows.
    (com.microsoft DynamicQuantizeLSTM.)
    """

    name = "graph.rounded_lstm"
    INTERLEAVED: ClassVar[int] = GROUP
    state_type = prop_def(Attribute)

    @property
    def alone(self) -> bool:
        return True

    @property
    def left_type(self) -> Attribute:
        return self.state_type

    def integers(self) -> Sequence[SSAValue | None]:
        return [*super().integers(), self.weight, self.weight_sums, self.weight_points]

    def vectors(self) -> Sequence[tuple[str, SSAValue | None, tuple[int, ...]]]:
        columns = (self.columns,)
        more = [("state_scales", self.state_scales, columns), ("weight_sums", self.weight_sums, columns)]
        return [*super().vectors(), *more, ("weight_points", self.weight_points, columns)]

    def infer_types(self) -> Sequence[TensorType]:
        if self.input_weight is not None:
            raise ShapeError("the products of the inputs are in x")
        if self.following_weight is not None:
            raise ShapeError("states are not multiplied for a following layer")
        if self.state_type not in (i8, UI8):
            raise ShapeError(f"states are rounded to {self.state_type}, not to an integer of 8 bits")
        kinds = [None if value is None else element_type_of(value) for value in self.integers()[1:]]
        if kinds[:2] != [i8, i32] or kinds[2] not in (None, i32) or element_type_of(self.x) != f32:
            found = ", ".join(str(kind) for kind in [element_type_of(self.x), *kinds] if kind is not None)
            raise ShapeError(f"x is f32, the weight i8, weight_sums and weight_points are i32, found {found}")
        _, batch, units = self.sizes
        return [*super().infer_types(), TensorType(self.state_type, [batch, units])]

    def multiply_state(self, steps: Steps) -> None:
        state = self._round(steps)
        b, write = steps.b, steps.writer(self.sums)
        scales, sums = steps.reader(self.state_scales), steps.reader(self.weight_sums)
        read, points = steps.reader(self.rounded), None
        total = b.const(0, i32)
        if self.weight_points is not None:
            points = steps.reader(self.weight_points)
            (total,) = b.reduce(
                [(0, self.sizes[2])],
                [total],
                lambda at, sums: [sums[0] + b.cast(read([steps.line.first, at[0]]), i32)],
            )

        def store(index: Sequence[Scalar], products: Scalar) -> None:
            column = [index[1]]
            products = products - sums(column) * state.point
            if points is not None:
                products = products - points(column) * total
            write(index, b.cast(products, f32) * (scales(column) * state.scale))

        shape = shape_of(self.weight)
        group = self.INTERLEAVED if len(shape) == 3 else 1
        factors = Factors(read, steps.reader(self.weight), shape, self.sizes[2], group, self.narrow)
        steps.line.multiply(steps.number, [factors], self.columns, i32, store)

    def _round(self, steps: Steps) -> _Rounding:
        """Fill `rounded` with the integers that stand for the state: the least and the greatest element, and 0, are
        among what 8 bits hold. (ONNX: DynamicQuantizeLinear.)"""
        b, kind, read, write = steps.b, self.state_type, steps.reader(self.h), steps.writer(self.rounded)
        least, _ = integer_range(kind)
        low, high = steps.line.extremes(self.sizes[2], f32, read)
        extent = high - low
        scale = b.select(b.compare("eq", extent, 0), b.const(1, f32), extent / _LEVELS)
        point = b.rounded(b.min(b.max(-(low / scale), 0), _LEVELS))
        first = -b.cast(point, f32)
        last = first + _LEVELS

        def unit(row: Scalar, unit: Scalar) -> None:
            number = read([row, unit]) / scale
            number = b.select(b.compare("gt", number, first), number, first)
            number = b.rounded(b.select(b.compare("lt", number, last), number, last)) + (point + least)
            write([row, unit], b.encode(b.cast(number, compute_type(kind)), kind))

        steps.units(unit)
        return _Rounding(scale, point + least)


@dataclass(frozen=True)
class _Rounding:
    """How integers stand for a state: by (integer - point) * scale."""

    scale: Scalar
    point: Scalar
