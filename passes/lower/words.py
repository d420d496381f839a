"""Words of four bytes from memory, four integers side by side, and roundings that are functions of their own."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from aotc.dialects.aot import OpaqueOp, QuadOp, RoundProductOp, WordLoadOp
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.memory import element_address


def _load(f: FunctionLowering, op: WordLoadOp) -> None:
    f.set(op.result, f.b.load(element_address(f, op.buffer, op.indices), i32, 1))


def _quad(f: FunctionLowering, op: QuadOp) -> None:
    value = f.b.constant(0, op.result.type)
    for lane, each in enumerate(op.lanes):
        value = f.b.insert(value, f.get(each), lane)
    f.set(op.result, value)


def _round_product(f: FunctionLowering, op: RoundProductOp) -> None:
    name = "round_product" if not op.near else "round_near_product"
    operands = *map(f.get, op.operands), f.b.constant(op.shift, i32)
    f.set(op.result, f.module.helpers.rounding(f.b, name, *operands))


LOWERINGS: Lowerings = {
    WordLoadOp: _load,
    QuadOp: _quad,
    RoundProductOp: _round_product,
    OpaqueOp: lambda f, op: f.set(op.result, f.get(op.value)),
}
