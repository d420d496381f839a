"""Give activations the sign that the machine's dot product wants, where they are made: x and its zero point shift.

An instruction that multiplies unsigned by signed integers takes signed weights and unsigned activations; one that
multiplies signed integers only, signed ones. One that adds neighbours in 16 bits takes unsigned ones where no two
weights bring a sum beyond these, and signed ones, which never do, elsewhere. A tensor is flipped together with all that
it moves through; what makes it makes it flipped, and what reads it subtracts another zero point. Only where neither
can, a `graph.flip_sign` is left. States that a recurrent layer rounds are rounded to the type that is wanted.

Before, for x86 with VNNI:
```mlir
%0 = graph.requantize %x, %m {zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8, ..}
%1 = graph.conv %0, %w {accumulator = i32, x_zero_point = -128 : i64, ..}
```
After:
```mlir
%0 = graph.requantize %x, %m {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, to = ui8, ..}
%1 = graph.conv %0, %w {accumulator = i32, x_zero_point = 0 : i64, ..}
```
"""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, TensorType, i8, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import wrap
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.conversion import CastOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import BinaryOp, SubOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.integers.channels_last import FEW_BITS
from aotc.dialects.graph.packed.integers.dot_products import is_narrow_anyhow
from aotc.dialects.graph.quantized.bytes import FLIPPED, UI8, FlipSignOp, LookupOp, flipped_type
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedAddOp, RequantizeOp
from aotc.dialects.graph.recurrent.cells import RoundedLstmOp
from aotc.dialects.graph.schedules import PairedSchedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp
from aotc.machines.expansions.dots import Unsigned
from aotc.machines.machine import Machine
from aotc.machines.targets import core_of
from aotc.model.weight_store import WeightStore


class FlipSignsPass(ModulePass):
    name = "flip-signs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        core = core_of(target_of(op))
        unsigned = core.dot.unsigned if isinstance(core, Machine) else "none" if core.quads else "any"
        if unsigned == "any":
            return
        store = WeightStore.of(ctx)
        for block in graph_blocks(op):
            _flip(block, unsigned, store)


def _flip(block: Block, unsigned: Unsigned, store: WeightStore) -> None:
    flips = _Flips()
    for op in list(block.ops):
        if isinstance(op, RoundedLstmOp) and _wants(op.state_type, op.weight, unsigned, store):
            op.state_type = flipped_type(op.state_type)
            op.refine()
        elif isinstance(op, ConvOp | MatMulOp) and op.sums_integers and _is_flipped(op, unsigned, store):
            name = op.ZERO_POINTS[0]
            op.properties[name] = IntegerAttr(op.zero_points[0] + _shift(op.operands[0]), i64)
            op.operands[0] = flips.of(op.operands[0])
    # A value is flipped where it is made once all of its flips are known: the last ones first.
    for op in reversed(list(block.ops)):
        if len(op.results) == 1 and op.results[0] in flips.known:
            flips.make(op.results[0])


def _is_flipped(op: AccumulatingOp, which: Unsigned, store: WeightStore) -> bool:
    """Whether the activations of `op` should be flipped: as its schedule says, or as its weights want."""
    schedule = schedule_of(op)
    if isinstance(schedule, PairedSchedule):
        return element_type_of(op.operands[0]) == flipped_type(UI8 if schedule.unsigned else i8)
    return _wants(element_type_of(op.operands[0]), op.operands[1], which, store)


def _wants(activation: Attribute, weight: SSAValue, which: Unsigned, store: WeightStore) -> bool:
    """Whether integers of the type `activation` should be flipped against weights with a sign."""
    known = known_array(weight, store)
    if element_type_of(weight) not in (i8, *FEW_BITS) or known is None:
        return False
    unsigned = which == "one" or (which == "narrow" and is_narrow_anyhow(known))
    return activation == flipped_type(UI8 if unsigned else i8)


def _shift(value: SSAValue) -> int:
    """The addend of numbers of `value`'s type when it is flipped."""
    return FLIPPED if element_type_of(value) == i8 else -FLIPPED


Maker: TypeAlias = "Callable[[_Flips, Any], GraphOp]"
"""The operation that makes the flipped result of another one."""


class _Flips:
    """The flipped form of values, each made once."""

    def __init__(self) -> None:
        self.known: dict[SSAValue, FlipSignOp] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """`value` flipped; right behind what makes it."""
        if value not in self.known:
            self.known[value] = flip = FlipSignOp.get(value)
            if isinstance(value, OpResult):
                flip.location = value.op.location
                Rewriter.insert_op(flip, InsertPoint.after(value.op))
            else:
                Rewriter.insert_op(flip, InsertPoint.at_start(cast(Block, value.owner)))
        return self.known[value].result

    def make(self, value: SSAValue) -> None:
        """Make `value` flipped in the first place, where it can be; its other readers get it flipped back."""
        assert isinstance(value, OpResult)
        maker, flip = value.op, self.known[value]
        if (make := _MAKERS.get(type(maker))) is None:
            return
        new = make(self, maker)
        new.location, new.results[0].name_hint = maker.location, value.name_hint
        Rewriter.insert_op(new, InsertPoint.before(maker))
        flip.result.replace_all_uses_with(new.results[0])
        Rewriter.erase_op(flip)
        back: FlipSignOp | None = None
        for use in list(value.uses):
            reader = use.operation
            if isinstance(reader, DequantizeOp) and use.index == 0:
                _read_flipped(reader, new.results[0])
                continue
            if isinstance(reader, FixedAddOp):
                _add_flipped(reader, use.index, new.results[0])
                continue
            if isinstance(reader, CastOp) and (less := _zero_point_taken(reader)) is not None:
                _factor_flipped(reader, *less, new.results[0])
                continue
            if back is None:
                back = FlipSignOp.get(new.results[0])
                back.location = maker.location
                Rewriter.insert_op(back, InsertPoint.after(maker))
            reader.operands[use.index] = back.result
        Rewriter.erase_op(maker)


def _read_flipped(op: DequantizeOp, value: SSAValue) -> None:
    """Dequantise the flipped operand instead: by a flipped zero point."""
    point = _flipped_point(op, op.scale, op.zero_point, element_type_of(op.x))
    new = DequantizeOp.get(value, op.scale, point, **op.properties)
    new.location = op.location
    Rewriter.replace_op(op, new)


def _add_flipped(op: FixedAddOp, operand: int, value: SSAValue) -> None:
    """Add the flipped operand instead: with what the sum is more in its offset."""
    more = (op.x_factor, op.y_factor)[operand] * _shift(op.operands[operand])
    op.offset = wrap(op.offset - more, i32)
    op.operands[operand] = value


def _zero_point_taken(op: CastOp) -> tuple[BinaryOp, int] | None:
    """Operations that take the zero point, one number, off integers that nothing else reads as i32; and that number."""
    reader = op.result.get_user_of_unique_use()
    if op.to != i32 or not isinstance(reader, SubOp):
        return None
    constant = producer(reader.rhs, ConstantOp)  # which `op.result` is not
    value = None if constant is None else constant.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or len(value) != 1:
        return None
    return reader, cast(int, value.get_values()[0])


def _factor_flipped(op: CastOp, less: BinaryOp, point: int, value: SSAValue) -> None:
    """Take the flipped zero point off the flipped integers instead."""
    kind = TensorType(i32, shape_of(less.rhs))
    flipped = ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, [point + _shift(op.x)]))
    op.operands[0] = value
    Rewriter.insert_op(flipped, InsertPoint.before(less))
    less.operands[1] = flipped.results[0]


def _flipped_point(op: GraphOp, scale: SSAValue, point: SSAValue | None, kind: Any) -> SSAValue:
    """The flipped zero point, one for each scale, inserted before `op`; an absent one is 0."""
    made: list[GraphOp] = []
    if point is None:
        made.append(ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(kind, shape_of(scale)), [0])))
        point = made[0].results[0]
    made.append(FlipSignOp.get(point))
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made[-1].results[0]


def _quantize(flips: _Flips, op: QuantizeOp) -> GraphOp:
    point = _flipped_point(op, op.scale, op.zero_point, op.to)
    return QuantizeOp.get(op.x, op.scale, point, **(op.properties | {"to": flipped_type(op.to)}))


def _requantize(flips: _Flips, op: RequantizeOp | DoublingRequantizeOp | FixedAddOp) -> GraphOp:
    moved = {name: getattr(op, name) + _shift(op.result) for name in ("zero_point", "low", "high")}
    return type(op).get(*op.operands, **(op.properties | moved | {"to": flipped_type(op.to)}))


def _lookup(flips: _Flips, op: LookupOp) -> GraphOp:
    table = FlipSignOp.get(op.table)
    Rewriter.insert_op(table, InsertPoint.before(op))
    return LookupOp.get(op.x, table.result, **op.properties)


def _moved(flips: _Flips, op: GraphOp) -> GraphOp:
    """Operations that move or compare elements: on flipped operands."""
    new = op.clone()
    new.operands = [flips.of(value) for value in op.operands]
    new.refine()
    return new


_MAKERS: dict[type[Operation], Maker] = {
    QuantizeOp: _quantize,
    RequantizeOp: _requantize,
    DoublingRequantizeOp: _requantize,
    FixedAddOp: _requantize,
    LookupOp: _lookup,
    **dict.fromkeys((ReshapeOp, TransposeOp, SliceOp, ConcatOp, MaxPoolOp), _moved),
}
