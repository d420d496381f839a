"""The `signal` dialect: one operation, complete in one class, and the schedules of `dot` and `fir`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.interfaces import ElementOp, Fusion, ShapeError, element_type_of, shape_of, tensor_type
from aotc.dialects.properties import float_prop
from aotc_signal.dot import DotScheduleAttr
from aotc_signal.fir import FirScheduleAttr


@irdl_op_definition
class PreemphasisOp(ElementOp):
    """y[..., t] = x[..., t] - coefficient * x[..., t - 1], with x[..., -1] = 0: a first-order high-pass filter."""

    name = "signal.preemphasis"
    x = operand_def(TensorType)
    coefficient = float_prop()
    result = result_def(TensorType)

    FUSION: ClassVar[Fusion] = Fusion.NEVER  # an element reads two elements of x: neither pointwise nor injective

    def infer_types(self) -> Sequence[TensorType]:
        if not is_float(element_type_of(self.x)):
            raise ShapeError("pre-emphasis filters floats")
        if not shape_of(self.x):
            raise ShapeError("pre-emphasis needs a time axis")
        return [tensor_type(self.x)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        *outer, t = index
        value = reads[0](index)
        (before,) = b.when(
            b.compare("gt", t, 0),
            lambda: [reads[0]([*outer, t - 1])],
            lambda: [b.const(0.0, element_type_of(self.x))],
        )
        return value - before * self.coefficient


SIGNAL = Dialect("signal", [PreemphasisOp], [DotScheduleAttr, FirScheduleAttr])
