"""Elementwise arithmetic with numpy broadcasting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.graph.interfaces import Array, ElementOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Scalar
from aotc.dialects.graph.shapes import broadcast, broadcast_index


class BroadcastOp(ElementOp, ABC):
    """An operation whose result element depends on the operands' elements at the same (broadcast) index."""

    @abstractmethod
    def scalar(self, b: LoopBuilder, *operands: Scalar) -> Scalar:
        """Emit the result element from the operands' elements."""

    def result_element_type(self) -> Attribute:
        """The result's element type; that of the first operand unless overridden."""
        return element_type_of(self.operands[0])

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(self.result_element_type(), broadcast(*(shape_of(value) for value in self.operands)))]

    def element(self, b: LoopBuilder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        values = [
            read(broadcast_index(b, index, shape_of(value))) for read, value in zip(reads, self.operands, strict=True)
        ]
        return self.scalar(b, *values)


class UnaryOp(BroadcastOp, ABC):
    """One operand, a result of its type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


class BinaryOp(BroadcastOp, ABC):
    """Two operands of one element type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        if element_type_of(self.lhs) != element_type_of(self.rhs):
            raise ShapeError(f"element types differ: {element_type_of(self.lhs)} and {element_type_of(self.rhs)}")
        return super().infer_types()


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap."""

    name = "graph.add"

    def scalar(self, b: LoopBuilder, *operands: Scalar) -> Scalar:
        return operands[0] + operands[1]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [np.add(*operands)]


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0)."""

    name = "graph.relu"

    def scalar(self, b: LoopBuilder, *operands: Scalar) -> Scalar:
        return b.max(operands[0], 0)

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [np.maximum(operands[0], np.zeros((), operands[0].dtype))]
