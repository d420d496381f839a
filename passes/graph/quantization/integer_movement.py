"""Operations that move or pick elements, on the integers instead of what they stand for.

Quantisation with a positive scale keeps the order of numbers, so the greatest integer stands for the greatest number.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.attributes import to_attribute
from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import integer_range, numpy_dtype
from aotc.dialects.graph.conversion import DequantizeOp, QuantizeOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.indexing import AxisGatherOp, GatherOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.movement import ConcatOp, MovementOp, PadOp, TransposeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.vision.sampling import ResampleOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp
from aotc.passes.graph.quantization.real_values import Dequantized, Parameters, dequantized, quantization
from aotc.passes.graph.rewriting import Constants, Raised


def raise_movement(op: GraphOp, constants: Constants) -> Raised | None:
    """Movement of dequantised elements, then on the integers; None where `op` is something else."""
    match op:
        case QuantizeOp():
            return None
        case TransposeOp() if (turned := _transposed_channels(op)) is not None:
            return turned
        case ConcatOp():
            return _concatenation(op, constants)
        case _:
            pass
    source = dequantized(op.operands[0], constants.store) if op.operands else None
    if source is None:
        return None
    match op:
        case MovementOp() | AxisGatherOp() | MaxPoolOp():
            moved: GraphOp | None = _with_first(op, source.value)
        case ReduceOp() if op.kind.data in ("max", "min") and 0 not in shape_of(op.x):
            moved = _with_first(op, source.value)
        case PadOp():
            moved = _padded(op, source, constants)
        case ResampleOp():
            moved = _resampled(op, source, constants)
        case _:
            return None
    if moved is None:
        return None
    raised = Raised(replaced=[op])
    raised.add(_dequantize(raised.add(moved), source.parameters, constants))
    return raised


def same_integers(op: QuantizeOp, constants: Constants) -> SSAValue | None:
    """The integers that `op` quantises back from the numbers they stand for, at the same scale and zero point: as they
    are narrow, (q * scale) / scale is nearer to q than to its neighbours."""
    source, target = dequantized(op.x, constants.store), quantization(op, constants.store)
    return source.value if source is not None and source.parameters == target else None


def _with_first(op: GraphOp, value: SSAValue) -> GraphOp:
    """`op` on another first operand."""
    new = op.clone()
    new.operands[0] = value
    new.refine()
    return new


def _dequantize(value: SSAValue, by: Parameters, constants: Constants) -> DequantizeOp:
    assert isinstance(by.kind, IntegerType)
    point = constants.of(np.array(by.zero_point, numpy_dtype(by.kind)), "zero_point") if by.zero_point else None
    return DequantizeOp.get(value, constants.of(np.array(by.scale, np.float32), "scale"), point, to=f32)


def _transposed_channels(op: TransposeOp) -> Raised | None:
    """A transpose of weights with a scale for each channel."""
    inner = producer(op.x, DequantizeOp)
    if inner is None or inner.block_size or producer(inner.x, ConstantOp) is None:
        return None
    if shape_of(inner.scale) in ((), (1,)):
        return None
    axis = op.ints("permutation").index(inner.axis % len(shape_of(op.x)))
    raised = Raised(replaced=[op])
    moved = raised.add(TransposeOp.get(inner.x, permutation=op.ints("permutation")))
    raised.add(DequantizeOp.get(moved, inner.scale, inner.zero_point, axis=axis, to=inner.to))
    return raised


def _concatenation(op: ConcatOp, constants: Constants) -> Raised | None:
    """One of parts with one scale and zero point, or else of parts that are quantised as the whole is."""
    parts = [dequantized(part, constants.store) for part in op.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({part.parameters for part in known}) > 1:
        return _quantized_parts(op, parts, constants) if known else None
    raised = Raised(replaced=[op])
    joined = raised.add(ConcatOp.get([part.value for part in known], axis=op.axis))
    raised.add(_dequantize(joined, known[0].parameters, constants))
    return raised


def _quantized_parts(op: ConcatOp, parts: Sequence[Dequantized | None], constants: Constants) -> Raised | None:
    """A concatenation that is quantised, of parts that are quantised: those that are already stay as they are."""
    after = op.result.get_user_of_unique_use()
    if not isinstance(after, QuantizeOp) or after.x != op.result:
        return None
    if (target := quantization(after, constants.store)) is None:
        return None
    raised = Raised(replaced=[op, after])
    integers: list[SSAValue] = []
    for part, value in zip(parts, op.parts, strict=True):
        if part is not None and part.parameters == target:
            integers.append(part.value)
            continue
        new = after.clone()
        new.operands[0] = value
        new.refine()
        integers.append(raised.add(new))
    raised.add(ConcatOp.get(integers, axis=op.axis))
    return raised


def _padded(op: PadOp, source: Dequantized, constants: Constants) -> GraphOp | None:
    """Padding with a number that an integer stands for."""
    if op.mode.data != "constant":
        return _with_first(op, source.value)
    value = np.zeros((), np.float32) if op.value is None else computed_array(op.value, constants.store)
    if value is None:
        return None
    number = np.float32(value.item())
    whole = np.rint(number / source.scale)
    low, high = integer_range(element_type_of(source.value))
    if whole * source.scale != number or not low <= whole + source.zero_point <= high:
        return None
    element = np.array(int(whole) + source.zero_point).astype(numpy_dtype(element_type_of(source.value)))
    return PadOp.get(source.value, constants.of(element, "zero_point"), pads=op.pads, mode=op.mode)


def take_padding(op: ConvOp, constants: Constants) -> None:
    """Let a convolution pad itself where integers that stand for 0 were added to what it reads."""
    store = constants.store
    source = dequantized(op.x, store)
    if source is None or (pad := producer(source.value, PadOp)) is None or pad.mode.data != "constant":
        return
    value = np.zeros((), np.int32) if pad.value is None else computed_array(pad.value, store)
    if value is None or int(value.item()) != source.zero_point or (pads := op.pads_with(pad.ints("pads"))) is None:
        return
    inner = producer(op.x, DequantizeOp)
    assert inner is not None
    new = inner.clone()
    new.operands[0] = pad.x
    new.refine()
    Rewriter.insert_op(new, InsertPoint.before(op))
    op.operands[0] = new.result
    op.properties["pads"] = to_attribute(pads)


def _resampled(op: ResampleOp, source: Dequantized, constants: Constants) -> GraphOp | None:
    """Resampling that takes each element from one place, as it is."""
    places, weights = computed_array(op.places, constants.store), computed_array(op.weights, constants.store)
    if places is None or weights is None or places.shape[1] != 1 or not bool((weights == 1).all()):
        return None
    return GatherOp.get(source.value, constants.of(places[:, 0], "places"), axis=op.axis)
