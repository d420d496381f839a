"""Sums of products of narrow integers."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.dtypes import MOST_BITS, integer_range, is_narrow_integer
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.interfaces import AnchorOp, Array, ShapeError, element_type_of, narrowest_element_type


class AccumulatingOp(AnchorOp, ABC):
    """Sums of products of the elements of the first two operands, the values, perhaps of another that sums start with.

    With `accumulator = i32` the operands are integers of at most 16 bits, each type of its own, and each element counts
    less the zero point of its operand; what lies outside of an operand counts for nothing. Sums, and the operand that
    they start with, are i32 and wrap, so the order of terms does not matter. Without it all have one element type.
    """

    accumulator = opt_prop_def(Attribute)

    ZERO_POINTS: ClassVar[tuple[str, str]]
    """The properties, i64, that are the zero points of the first two operands; an absent one is 0."""

    @property
    def sums_integers(self) -> bool:
        """Whether narrow integers are summed up in i32."""
        return self.accumulator is not None

    @property
    def zero_points(self) -> tuple[int, int]:
        """The zero points of the first two operands."""
        first, second = (getattr(self, name) or 0 for name in self.ZERO_POINTS)
        return first, second

    def summed_type(self, *starts: SSAValue) -> Attribute:
        """The element type of the sums, which begin with `starts`; raises ShapeError where types do not fit."""
        values = self.operands[:2]
        if self.accumulator is None:
            if any(name in self.properties for name in self.ZERO_POINTS):
                raise ShapeError("only integers that are summed up in an accumulator have zero points")
            return narrowest_element_type(*values, *starts)
        if self.accumulator != i32:
            raise ShapeError(f"the accumulator must be i32, found {self.accumulator}")
        for name, value, point in zip(self.ZERO_POINTS, values, self.zero_points, strict=True):
            kind = element_type_of(value)
            if not is_narrow_integer(kind):
                raise ShapeError(f"an accumulator sums up integers of 2 to {MOST_BITS} bits, found {kind}")
            low, high = integer_range(kind)
            if not low <= point <= high:
                raise ShapeError(f"{name} is {point}, {kind} has {low} to {high}")
        for value in starts:
            if element_type_of(value) != i32:
                raise ShapeError(f"sums in i32 start with i32, found {element_type_of(value)}")
        return i32

    def factors(self, b: Builder, *values: Scalar) -> list[Scalar]:
        """Elements of the first two operands as they are multiplied."""
        if not self.sums_integers:
            return list(values)
        return [b.cast(value, i32) - point for value, point in zip(values, self.zero_points, strict=True)]

    def factor_array(self, operand: int, values: Array) -> Array:
        """All elements of one of the first two operands as they are multiplied."""
        return values.astype(np.int32) - np.int32(self.zero_points[operand]) if self.sums_integers else values


def integer_sums(module: ModuleOp) -> list[AccumulatingOp]:
    """Operations that sum up integers of a module before it has kernels, in control flow, too."""
    return [op for op in graph_operations(module) if isinstance(op, AccumulatingOp) and op.sums_integers]
