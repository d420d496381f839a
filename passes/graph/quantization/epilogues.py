"""The operations on sums of products before they are quantised, as one requantisation."""

from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.conversion import CastOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.elementwise import AddOp, MaxOp, MinOp, MulOp, ReluOp
from aotc.dialects.graph.interfaces import Array, GraphOp, element_type_of, producer, shape_of
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.real_values import Parameters, is_scale, quantization

_SAME_SCALE = 1e-5
"""How far, relatively, the scale of a bias may be from that of the sums: models have its product rounded somehow."""
_MOST_BIAS = 1 << 21
"""The greatest integer that a bias in f32 is taken for: its neighbours are then far enough for rounding errors."""


@dataclass
class Epilogue:
    """Operations on sums of products, in order: an optional constant to add, scales, clamps, the quantisation."""

    scale: Array
    """The factor by which a sum becomes the real number that it stands for: one f32 or one for each index of `axis`."""
    axis: int
    bias: Array | None = None
    """i32, in units of the sums."""
    low: float = -np.inf
    high: float = np.inf
    target: Parameters | None = None
    """To what it is quantised."""
    ops: list[GraphOp] = field(default_factory=list[GraphOp])

    def multiplier(self, counts: Array | int = 1) -> Array:
        """The factors by which sums, or the means of so many terms that they are, become integers of the target, as
        onnxruntime rounds them: f32."""
        assert self.target is not None
        return np.asarray(self.scale / (self.target.scale * np.float32(counts)), np.float32)

    @property
    def clamp(self) -> tuple[int, int]:
        """The least and greatest integer of the target."""
        assert self.target is not None
        least, greatest = integer_range(self.target.kind)
        bounds = [
            np.rint(np.float32(each) / self.target.scale) + self.target.zero_point for each in (self.low, self.high)
        ]
        low, high = (int(np.clip(each, least, greatest)) for each in bounds)
        return low, high

    @property
    def integers(self) -> dict[str, object]:
        """The integers of the target, as requantisations have them."""
        assert self.target is not None
        low, high = self.clamp
        return {"zero_point": self.target.zero_point, "low": low, "high": high, "to": self.target.kind}


def epilogue(result: SSAValue, scale: Array, axis: int, store: WeightStore) -> Epilogue | None:
    """The use of `result`, sums times `scale` along `axis` (in i32, which stand for integers, times 1), up to a
    quantisation; None where it is none, or something else reads what is between."""
    found = Epilogue(scale, axis)
    value = result
    while (use := value.get_user_of_unique_use()) is not None:
        if (
            not isinstance(use, GraphOp)
            or shape_of(use.results[0]) != shape_of(value)
            or not _extend(found, use, value, store)
        ):
            return None
        found.ops.append(use)
        if found.target is not None:
            return found if is_scale(found.multiplier()) else None
        value = use.results[0]
    return None


def _extend(so_far: Epilogue, op: Operation, value: SSAValue, store: WeightStore) -> bool:
    """Take in `op`, which reads `value`; False where that is impossible."""
    is_clamped = so_far.low > -np.inf or so_far.high < np.inf
    match op:
        case CastOp():
            return element_type_of(value) == i32
        case AddOp() if so_far.bias is None and not is_clamped:
            scale = broadcast_along(so_far.scale, so_far.axis, len(shape_of(value)))
            so_far.bias = bias(op.rhs if op.lhs is value else op.lhs, scale, store)
            return so_far.bias is not None
        case MulOp() if not is_clamped:
            factor = computed_array(op.rhs if op.lhs is value else op.lhs, store)
            if factor is None or not is_scale(factor):
                return False
            along = along_axis_only(factor, so_far.axis, len(shape_of(value)))
            if along is None:
                return False
            so_far.scale = np.asarray(so_far.scale * along, np.float32)
            return True
        case ReluOp():
            so_far.low, so_far.high = max(so_far.low, 0.0), max(so_far.high, 0.0)
            return True
        case MaxOp() | MinOp():
            bound = computed_array(op.rhs if op.lhs is value else op.lhs, store)
            if bound is None or bound.size != 1 or np.isnan(bound.item()):
                return False
            pick = max if isinstance(op, MaxOp) else min
            so_far.low, so_far.high = pick(so_far.low, bound.item()), pick(so_far.high, bound.item())
            return True
        case QuantizeOp():
            so_far.target = quantization(op, store)
            return so_far.target is not None
        case _:
            return False


def along_axis_only(array: Array, axis: int, rank: int) -> Array | None:
    """A constant that broadcasts to `rank` dimensions as one element (shape []), or one for each index of `axis`; None
    where it differs along others."""
    if array.size == 1:
        return array.reshape(())
    shape = (1,) * (rank - array.ndim) + array.shape
    axis %= rank
    return array.reshape(-1) if all(extent == 1 or each == axis for each, extent in enumerate(shape)) else None


def bias(value: SSAValue, scale: Array, store: WeightStore) -> Array | None:
    """A constant that is added to sums, in their units: i32. None where no integers are as good.

    `scale`, of the sums, broadcasts to the constant; it is 1 where that is in i32, as the sums are.
    """
    if element_type_of(value) == i32:
        return computed_array(value, store)
    op = producer(value, DequantizeOp)
    if op is not None and element_type_of(op.x) == i32:
        array, given = computed_array(op.x, store), computed_array(op.scale, store)
        if array is None or given is None or op.block_size or given.size not in (1, scale.size):
            return None
        point = None if op.zero_point is None else computed_array(op.zero_point, store)
        if op.zero_point is not None and (point is None or point.any()):
            return None
        if np.broadcast_shapes(array.shape, scale.shape) != array.shape:
            return None  # it lies along another axis than the scales
        near = np.abs(given.astype(np.float64).reshape(-1) / scale.astype(np.float64).reshape(-1) - 1)
        return array if bool((near <= _SAME_SCALE).all()) else None
    floats = computed_array(value, store)
    if floats is None or not bool(np.isfinite(floats).all()):
        return None
    exact = floats.astype(np.float64) / scale.astype(np.float64)
    whole = np.rint(exact)
    allowed = np.maximum(np.abs(whole), 1) * 2.0**-22
    is_whole = bool(((np.abs(exact - whole) <= allowed) & (np.abs(whole) <= _MOST_BIAS)).all())
    return whole.astype(np.int32) if is_whole else None


def broadcast_along(parameters: Array, axis: int, rank: int) -> Array:
    """Parameters, one or one for each index of `axis`, as they broadcast to `rank` dimensions."""
    return parameters if parameters.size == 1 else parameters.reshape([-1, *[1] * (rank - 1 - axis % rank)])
