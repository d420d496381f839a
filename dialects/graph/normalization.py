"""Normalisations: softmax, zero mean and unit variance, the affine map of batch normalisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import Array, ScaleShiftOp, element_type_of, shape_of, tensor_type
from aotc.dialects.graph.reduction import RowwiseOp, merge_index, reduced_shape
from aotc.dialects.properties import bool_prop, float_prop


class RowOp(RowwiseOp, ABC):
    """A result of the shape and type of x (floats); its rows, the elements along `axes`, are functions of x's rows."""

    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.FLOAT.require(element_type_of(self.x), "the operand")
        self.along()
        return [tensor_type(self.x)]

    def row_extents(self) -> list[int]:
        """The extents of a row."""
        return [shape_of(self.x)[axis] for axis in self.along()]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axes = shape_of(self.x), self.along()

        def each(outer: list[Scalar]) -> None:
            def read(inner: Sequence[Scalar]) -> Scalar:
                return reads[0](merge_index(len(shape), axes, inner, outer))

            def write(inner: Sequence[Scalar], value: Scalar) -> None:
                writes[0](merge_index(len(shape), axes, inner, outer), value)

            self.row(b, read, write)

        b.parallel_for(reduced_shape(shape, axes, keepdims=False), each)

    @abstractmethod
    def row(self, b: Builder, read: Reader, write: Writer) -> None:
        """Emit the loops of one row; `read` and `write` take indices within it."""


@irdl_op_definition
class SoftmaxOp(RowOp):
    """exp(x - max) / sum(exp(x - max)) over `axes`; with `log` its logarithm."""

    name = "graph.softmax"
    log = bool_prop(False)

    def row(self, b: Builder, read: Reader, write: Writer) -> None:
        extents = self.row_extents()
        bounds = [(0, extent) for extent in extents]
        kind = element_type_of(self.x)

        def larger(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            value = read(inner)
            # a NaN may be passed over here: it is met again, and spreads, in the sum
            return [b.select(b.compare("gt", value, carried[0]), value, carried[0])]

        (top,) = b.reduce(bounds, [b.const(-np.inf, kind)], larger)

        def add(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            return [carried[0] + b.exp_of_nonpositive(read(inner) - top)]

        (total,) = b.reduce(bounds, [b.const(0, kind)], add)
        if self.log:
            shift = b.math("log", total)
            b.parallel_for(extents, lambda inner: write(inner, read(inner) - top - shift))
        else:
            b.parallel_for(extents, lambda inner: write(inner, b.exp_of_nonpositive(read(inner) - top) / total))


@irdl_op_definition
class NormalizeOp(RowOp):
    """(x - mean) / sqrt(variance + epsilon) over `axes`: the mean first, then the squared distances.

    Between them the mean of the distances is found, which would be 0 if the mean had not been rounded, and taken off:
    far from 0 a mean has fewer digits than the distances from it (the corrected two-pass algorithm; Chan, Golub,
    LeVeque: Algorithms for Computing the Sample Variance, 1983).
    """

    name = "graph.normalize"
    epsilon = float_prop()

    def row(self, b: Builder, read: Reader, write: Writer) -> None:
        extents = self.row_extents()
        bounds = [(0, extent) for extent in extents]
        zero, count = b.const(0, element_type_of(self.x)), float(np.prod(extents))
        (total,) = b.reduce(bounds, [zero], lambda inner, carried: [carried[0] + read(inner)])
        mean = total / count

        (distances,) = b.reduce(bounds, [zero], lambda inner, carried: [carried[0] + (read(inner) - mean)])
        drift = distances / count

        def square(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            distance = read(inner) - mean - drift
            return [carried[0] + distance * distance]

        (squares,) = b.reduce(bounds, [zero], square)
        inverse = 1 / b.math("sqrt", squares / count + self.epsilon)
        b.parallel_for(extents, lambda inner: write(inner, (read(inner) - mean - drift) * inverse))


@irdl_op_definition
class BatchNormOp(ScaleShiftOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias with one of each for every index of axis 1, the channels.

    The four may have another float type than x.
    """

    name = "graph.batch_norm"
    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    epsilon = float_prop()

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        each = f"{shape[1] if len(shape) > 1 else 1} float"
        expect(self, x=".. float", scale=each, bias=each, mean=each, variance=each)
        return [tensor_type(self.x)]

    def factor_and_offset(self, parameters: Sequence[Array]) -> tuple[Array, Array]:
        scale, bias, mean, variance = parameters
        factor = scale / np.sqrt(variance + self.epsilon)
        rank = len(shape_of(self.x))
        column = [-1] + [1] * (rank - 2) if rank > 1 else [1]
        return factor.reshape(column), (bias - mean * factor).reshape(column)

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        channel = [index[1] if len(index) > 1 else b.index(0)]
        kind = compute_type(element_type_of(self.x))
        scale, bias, mean, variance = (b.cast(read(channel), kind) for read in reads[1:])
        factor = scale / b.math("sqrt", variance + self.epsilon)
        return reads[0](index) * factor + (bias - mean * factor)
