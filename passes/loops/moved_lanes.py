"""Loads that widen integers and stores that narrow them, where the processor has them."""

from typing import Literal, cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from aotc.dialects import aot
from aotc.dialects.operations import make
from aotc.dialects.properties import string
from aotc.machines.instructions import moving
from aotc.machines.instructions.rows import Lanes
from aotc.passes.loops.registers import Register, Writer


def widened(w: Writer, op: aot.TileConvertOp) -> Register | None:
    """A load of neighbouring integers as wider ones, where they were loaded: memory may change in between."""
    load, sign = op.tile.owner, {"extsi": "s", "extui": "u"}.get(op.kind.data)
    if sign is None or not isinstance(load, aot.TileLoadOp) or load.element_strides() != (1,) or load.parent is None:
        return None
    name = _name(w, op.tile, op.result, sign, "loaded")
    if name is None or len([*load.result.uses]) > 1:
        return None
    wide = make(aot.TileLoadOp, load.operands, op.result.type, {**load.properties, "instruction": string(name)})
    wide.location = load.location
    load.parent.insert_op_before(wide, load)
    return w.value(wide.results[0], sign)


def narrowed(w: Writer, op: aot.TileStoreOp) -> list[Register] | None:
    """A store of the low bits of whole registers, in place of one of narrower integers."""
    convert = op.tile.owner
    if not isinstance(convert, aot.TileConvertOp) or convert.kind.data != "trunci" or op.element_strides() != (1,):
        return None
    name = _name(w, op.tile, convert.tile, "u", "stored")
    if name is None or op.count() not in (None, aot.tile_shape(op.tile)[0]):
        return None
    operands = (convert.tile, op.buffer, *op.indices)
    w.new.append(make(aot.TileStoreOp, operands, None, {**op.properties, "instruction": string(name)}))
    return []


def _name(w: Writer, narrow: SSAValue, wide: SSAValue, sign: str, how: Literal["loaded", "stored"]) -> str | None:
    """The instruction between registers of these lanes."""
    if not w.moves:
        return None
    lanes = (Lanes(f"{sign}{_bits(each)}", aot.tile_shape(each)[0]) for each in (narrow, wide))
    return next((row.name for row in moving(*lanes, how) if w.has(row.name)), None)


def _bits(value: SSAValue) -> int:
    kind = cast("VectorType[Attribute]", value.type).element_type
    return kind.width.data if isinstance(kind, IntegerType) else 0
