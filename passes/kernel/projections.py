"""Operands of recurrent layers: products of their inputs, for all steps at once, and the layers before them."""

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.packed.pack import PackOp
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.structure import ConstantOp


@dataclass(frozen=True)
class Projection:
    """The product of rows of inputs, one for each row of each step, and a matrix; a bias is added."""

    rows: SSAValue
    weight: SSAValue
    bias: SSAValue | None


def projection(x: SSAValue) -> Projection | None:
    """The product that `x` is for several steps, if nothing else reads it."""
    reshaped = producer(x, ReshapeOp)
    if reshaped is None or shape_of(x)[0] < 2 or not x.has_one_use():
        return None
    total, bias = reshaped.x, None
    if (added := producer(total, AddOp)) is not None and total.has_one_use():
        total, bias = added.lhs, added.rhs
    product = producer(total, MatMulOp)
    if product is None or not total.has_one_use() or (bias is not None and shape_of(bias) != shape_of(x)[2:]):
        return None
    matrices = len(shape_of(product.lhs)) == len(shape_of(product.rhs)) == 2
    plain = product.transpose_rhs and not product.transpose_lhs
    return Projection(product.lhs, product.rhs, bias) if matrices and plain else None


def given(op: RecurrenceOp) -> Projection | None:
    """The inputs that a layer multiplies itself, or those whose product `x` is."""
    if op.input_weight is None:
        return projection(op.x)
    return Projection(op.x, op.input_weight, op.input_bias)


def single(op: RecurrenceOp) -> bool:
    """Whether a layer makes all steps of one row, in f32, each with one product of its state."""
    plain = op.lengths is None and len(op.matrices()) == 1 and op.INTERLEAVED == 1
    return plain and op.sizes[1] == 1 and element_type_of(op.x) == f32


def preceding(op: RecurrenceOp) -> RecurrenceOp | None:
    """The layer whose states are the inputs of this one, step by step, if the weight of these is known before."""
    found = given(op)
    if found is None or not single(op) or not all(map(_is_constant, (found.weight, found.bias))):
        return None
    before = made_by(found.rows)
    if before is None or before.parent is not op.parent or not single(before):
        return None
    together = before.sizes[0] == op.sizes[0] and before.reverse == op.reverse
    return before if together else None


def made_by(rows: SSAValue) -> RecurrenceOp | None:
    """The layer whose states, of all steps, some rows are."""
    while (reshaped := producer(rows, ReshapeOp)) is not None:
        rows = reshaped.x
    made = producer(rows, RecurrenceOp)
    return made if made is not None and rows is made.results[0] else None


def following(op: RecurrenceOp) -> RecurrenceOp | None:
    """The one layer that this one is `preceding` to."""
    around = () if op.parent is None else op.parent.ops
    found = [each for each in around if isinstance(each, RecurrenceOp) and preceding(each) is op]
    return found[0] if len(found) == 1 else None


def _is_constant(value: SSAValue | None) -> bool:
    """Whether a value, if there is one, is a constant, which may be packed."""
    if value is not None and (packed := producer(value, PackOp)) is not None:
        value = packed.operands[0]
    return value is None or producer(value, ConstantOp) is not None
