"""How sums become int8 again, in the numbers that CMSIS-NN wants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedRequantizeOp, RequantizeOp
from aotc.model.weight_store import WeightStore

Integers = NDArray[np.int32]


@dataclass(frozen=True)
class Requantization:
    """sums * multipliers / 2^31 * 2^shifts, plus a zero point, clamped; for one channel of an axis each, or for all."""

    sums: SSAValue
    multipliers: Integers
    shifts: Integers
    axis: int
    zero_point: int
    low: int
    high: int

    @property
    def scales(self) -> NDArray[np.float64]:
        """The factors of sums."""
        return np.ldexp(self.multipliers.astype(np.float64), self.shifts - 31)

    def per_channel(self, count: int, axis: int) -> tuple[Integers, Integers] | None:
        """Both numbers for each of `count` channels along `axis`; None where they are those of another axis."""
        if self.multipliers.size > 1 and (self.axis != axis or self.multipliers.size != count):
            return None
        one = (
            np.broadcast_to(self.multipliers.reshape(-1), (count,)),
            np.broadcast_to(self.shifts.reshape(-1), (count,)),
        )
        return np.ascontiguousarray(one[0]), np.ascontiguousarray(one[1])


def requantization(op: Operation, store: WeightStore) -> Requantization | None:
    """The requantisation of sums that nothing else reads by `op`; None where it is something else or CMSIS-NN has no
    such."""
    if not isinstance(op, FixedRequantizeOp | DoublingRequantizeOp | RequantizeOp) or dtype_name(op.to) != "int8":
        return None
    if len(list(op.x.uses)) > 1:
        return None
    parameters = [known_array(value, store) for value in list(op.operands)[1:]]
    rank = len(shape_of(op.x))
    if any(each is None or (each.size > 1 and each.ndim > 1) for each in parameters):
        return None
    numbers = [np.asarray(each) for each in parameters]
    if isinstance(op, DoublingRequantizeOp):
        multipliers, shifts = numbers[0].astype(np.int32), -numbers[1].astype(np.int32)
    else:
        scale = numbers[0].astype(np.float64)
        if isinstance(op, FixedRequantizeOp):
            scale = np.ldexp(scale, -op.shift)
        fraction, exponent = np.frexp(scale)  # at most 24 bits of it are set
        multipliers, shifts = np.ldexp(fraction, 31).astype(np.int32), exponent.astype(np.int32)
    point, low, high = op.zero_point, op.low, op.high
    return Requantization(op.x, multipliers, shifts, op.axis % rank, point, low, high)
