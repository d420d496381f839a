"""Write operations on registers as instructions that the target has, or as a few others.

`attach-target{target="x86-64-v3"},select-instructions`, before:
```mlir
%r = aot.tile_dot %x, %w, %sums {lhs_unsigned, narrow_pairs} : vector<32xi8>, vector<8xi32>
```
After:
```mlir
%ones = arith.constant dense<1> : vector<16xi16>
%0 = aot.instruction "pmaddubsw.256" %x, %w : vector<32xi8>, vector<32xi8> -> vector<16xi16>
%1 = aot.instruction "pmaddwd.256" %0, %ones : vector<16xi16>, vector<16xi16> -> vector<8xi32>
%r = arith.addi %sums, %1 : vector<8xi32>
```
Both emitters take what is left: neither knows what an instruction computes. Without a target none is used. What is
equal within a block is written once. Extremes beside a number become a comparison and a selection; products and sums of
twice the bits are those of wider integers.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from math import copysign
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, VectorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import TARGET
from aotc.dialects.operations import take_name, walk
from aotc.machines.expansions.dots import dot, dot_pair
from aotc.machines.expansions.narrowing import Narrowing
from aotc.machines.expansions.permutations import lookup, pick
from aotc.machines.expansions.rescaling import rescaled
from aotc.machines.instructions.rows import joined
from aotc.machines.instructions.values import bits_of
from aotc.machines.targets import instructions_of
from aotc.passes.loops.float_parts import constant_number
from aotc.passes.loops.function_pass import FunctionPass
from aotc.passes.loops.moved_lanes import narrowed, widened
from aotc.passes.loops.registers import Register, Writer

Expansion: TypeAlias = "Callable[[Writer, Any], Sequence[Register] | Register | None]"
"""The result of an operation, or several, written with a writer; None where it stays as it is."""


class SelectInstructionsPass(FunctionPass):
    name = "select-instructions"

    def function(self, ctx: Context, function: FuncOp) -> None:
        found: dict[Block, list[Operation]] = {}
        for op in walk(function):
            if type(op) in _EXPANSIONS:
                assert op.parent is not None
                found.setdefault(op.parent, []).append(op)
        if not found:
            return
        module = function.parent_op()
        target = TARGET.get(module) if isinstance(module, ModuleOp) else None
        if not any(map(_may_need_one, chain.from_iterable(found.values()))):
            target = None
        writer = Writer(frozenset() if target is None else instructions_of(target))
        for block, ops in found.items():
            writer.start()
            for op in ops:
                _replace(op, writer, block)


def _replace(op: Operation, writer: Writer, block: Block) -> None:
    if (written := _EXPANSIONS[type(op)](writer, op)) is None:
        return
    for result, value in zip(op.results, written if isinstance(written, Sequence) else [written], strict=True):
        take_name(value.ssa, result)
        result.replace_all_uses_with(value.ssa)
    for each in writer.new:
        each.location = op.location
    block.insert_ops_before(writer.new, op)
    writer.new = []
    sources = [value.owner for value in op.operands]
    op.detach()
    op.erase()
    for each in sources:
        if isinstance(each, aot.TileLoadOp | aot.TileConvertOp) and not each.result.uses:
            each.detach()
            each.erase()


def _scalar(value: SSAValue) -> Attribute:
    return value.type.element_type if isinstance(value.type, VectorType) else value.type


def _factor(bits: int, unsigned: bool) -> str:
    return f"{'u' if unsigned else 's'}{bits}"


def _dot(w: Writer, op: aot.TileDotOp) -> Register:
    lhs, rhs = (
        w.value(factor, _factor(op.bits, unsigned))
        for factor, unsigned in zip((op.lhs, op.rhs), op.unsigned, strict=True)
    )
    return dot(w, lhs, rhs, w.value(op.sums, "s32"), narrow=op.narrow_pairs, complement=op.complement)


def _dot_pair(w: Writer, op: aot.TileDotPairOp) -> Register:
    kind = _factor(8, unsigned=op.lhs_unsigned)
    first, following = (
        (w.value(lhs, kind), w.value(rhs, "s8")) for lhs, rhs in ((op.lhs, op.rhs), (op.next_lhs, op.next_rhs))
    )
    return dot_pair(w, (first, following), w.value(op.sums, "s32"), complement=op.complement)


def _lookup(w: Writer, op: aot.TileLookupOp) -> Register:
    return lookup(w, w.value(op.x, "u8"), [w.value(each, "u8") for each in op.table])


def _pick(w: Writer, op: aot.TilePickOp) -> Register:
    return pick(w, *(w.value(each, "u32") for each in (op.a, op.b, op.numbers)))


def _rescale(w: Writer, op: aot.TileRescaleOp) -> Register:
    return rescaled(w, *(w.value(each, "s32") for each in op.operands))


def _narrow(w: Writer, op: aot.TileNarrowOp) -> Register:
    kind = "f32" if _scalar(op.parts[0]) == f32 else "s32"
    narrowing = Narrowing(w, *op.numbers, _factor(8, unsigned=op.unsigned))
    return narrowing.result([w.value(part, kind) for part in op.parts])


def _extreme(w: Writer, op: arith.MaximumfOp | arith.MinimumfOp) -> Register | None:
    """Beside a number one comparison does, which NaN fails; between zeros it decides which one stays. Where either zero
    will do, x86's instruction does, which takes the second operand of zeros, and where one is NaN."""
    is_maximum, dtype = isinstance(op, arith.MaximumfOp), str(_scalar(op.result))
    for bound, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        number = constant_number(bound.owner.source if isinstance(bound.owner, vector.BroadcastOp) else bound)
        if number is None or number != number:
            continue
        if number == 0 and (copysign(1, number) == 1) != is_maximum:
            continue  # some compilers take -0 for 0 in comparisons with the other one
        limit, x = w.value(bound, dtype), w.value(other, dtype)
        if number == 0:
            return (x <= limit if is_maximum else x >= limit).select(limit, x)
        return (x < limit if is_maximum else x > limit).select(limit, x)
    bits = bits_of(dtype) * (aot.tile_shape(op.result)[0] if isinstance(op.result.type, VectorType) else 1)
    instruction = f"v{'max' if is_maximum else 'min'}p{'s' if dtype == 'f32' else 'd'}.{bits}"
    if not (_takes_either_zero(op) and w.has(instruction)):
        return None
    x, y = w.value(op.lhs, dtype), w.value(op.rhs, dtype)
    return x.is_nan().select(x, w.apply(instruction, x, y))


def _takes_either_zero(op: arith.MaximumfOp | arith.MinimumfOp) -> bool:
    return FastMathFlag.NO_SIGNED_ZEROS in op.fastmath.data


def _may_need_one(op: Operation) -> bool:
    """Whether an operation may become an instruction of the target."""
    return not isinstance(op, _WIDE) and not (isinstance(op, _EXTREMES) and not _takes_either_zero(op))


def _wide_product(w: Writer, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> Sequence[Register]:
    """Both halves of a product of twice the bits."""
    letter, bits = "s" if isinstance(op, arith.MulSIExtendedOp) else "u", cast(IntegerType, _scalar(op.lhs)).width.data
    a, b = (w.value(each, f"{letter}{bits}").convert(f"{letter}{2 * bits}") for each in (op.lhs, op.rhs))
    product = a * b
    return [each.convert(f"{letter}{bits}") for each in (product, product >> bits)]


def _wide_sum(w: Writer, op: arith.AddUIExtendedOp) -> Sequence[Register]:
    """A sum, and whether it wrapped."""
    a, b = (w.value(each, f"u{cast(IntegerType, _scalar(each)).width.data}") for each in (op.lhs, op.rhs))
    total = a + b
    return total, total < a


def _is_zero(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data == 0


def _instruction(w: Writer, op: aot.InstructionOp) -> Register | None:
    """The same with less to do, or its meaning."""
    row = op.row
    if w.has(row.name) and not (row.alone and _is_zero(op.arguments[-1])):
        return None
    given = [
        w.value(ssa, "s32" if row.is_word(lanes) else lanes.dtype)
        for ssa, lanes in zip(op.arguments, row.operands, strict=True)
    ]
    if w.has(row.name):
        return w.apply(row.alone, *given[:-1])
    return cast("Register", row.meaning(*given)) if row.is_lanewise else joined(row.lane_by_lane(given))


_EXTREMES = (arith.MaximumfOp, arith.MinimumfOp)
_WIDE = (arith.MulSIExtendedOp, arith.MulUIExtendedOp, arith.AddUIExtendedOp)
_EXPANSIONS: dict[type[Operation], Expansion] = {
    aot.InstructionOp: _instruction,
    **dict.fromkeys(_EXTREMES, _extreme),
    **dict.fromkeys(_WIDE[:2], _wide_product),
    arith.AddUIExtendedOp: _wide_sum,
    aot.TileConvertOp: widened,
    aot.TileStoreOp: narrowed,
    aot.TileDotOp: _dot,
    aot.TileDotPairOp: _dot_pair,
    aot.TileLookupOp: _lookup,
    aot.TileNarrowOp: _narrow,
    aot.TilePickOp: _pick,
    aot.TileRescaleOp: _rescale,
}
