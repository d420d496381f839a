"""Words of four bytes: instructions of Arm's DSP extension where the target has it, a few others elsewhere."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i8, i16, i32, i64
from xdsl.ir import SSAValue

from aotc.dialects.aot import (
    LANES,
    QUAD,
    RUN,
    LaneDotOp,
    LaneSumOp,
    OpaqueOp,
    QuadOp,
    QuadQuantizeOp,
    QuadRescaleOp,
    RoundProductOp,
    RunDotOp,
    WordLoadOp,
)
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.memory import element_address


def _load(f: FunctionLowering, op: WordLoadOp) -> None:
    f.set(op.result, f.b.load(element_address(f, op.buffer, op.indices), i32, 1))


def _run_dot(f: FunctionLowering, op: RunDotOp) -> None:
    """In a vector where the run is whole, which LLVM makes one instruction of, else one element after the other."""
    b, count, total = f.b, op.count, f.get(op.sum)
    factors: list[list[SSAValue]] = []
    lanes = count if count == RUN else 1
    kinds = {width: VectorType(kind, [lanes]) if lanes > 1 else kind for width, kind in ((8, i8), (16, i16), (32, i32))}
    for buffer, indices, unsigned in (
        (op.x, op.x_indices, op.x_zero_extend),
        (op.w, op.w_indices, op.w_zero_extend),
    ):
        address = element_address(f, buffer, indices)
        extend = llvm.SExtOp if not unsigned else llvm.ZExtOp
        loads = [b.load(b.offset(address, i8, at), kinds[8], 1) for at in range(0, count, lanes)]
        factors.append([b.convert(extend, each, kinds[16]) for each in loads])
    for x, w in zip(*factors, strict=True):
        if op.added:
            x = b.integer_op(llvm.AddOp, x, b.constant(op.added, x.type))
        wide_x, wide_w = b.convert(llvm.SExtOp, x, kinds[32]), b.convert(llvm.SExtOp, w, kinds[32])
        terms = b.integer_op(llvm.MulOp, wide_x, wide_w)
        if lanes > 1:
            terms = b.intrinsic(f"llvm.vector.reduce.add.v{lanes}i32", (terms,), i32)
        total = b.integer_op(llvm.AddOp, total, terms)
    f.set(op.result, total)


def _lanes(f: FunctionLowering, total: SSAValue, *factors: SSAValue) -> SSAValue:
    """A sum plus the products of bytes, or plus those of one vector; LLVM makes one instruction of it."""
    b, wide = f.b, VectorType(i32, [LANES])
    terms, *others = (b.convert(llvm.SExtOp, f.get(each), wide) for each in factors)
    for other in others:
        terms = b.integer_op(llvm.MulOp, terms, other)
    return b.integer_op(llvm.AddOp, f.get(total), b.intrinsic(f"llvm.vector.reduce.add.v{LANES}i32", (terms,), i32))


def _quad(f: FunctionLowering, op: QuadOp) -> None:
    value = f.b.constant(0, op.result.type)
    for lane, each in enumerate(op.lanes):
        value = f.b.insert(value, f.get(each), lane)
    f.set(op.result, value)


def _quad_quantize(f: FunctionLowering, op: QuadQuantizeOp) -> None:
    b, wide = f.b, VectorType(i32, [QUAD])
    whole = b.intrinsic("llvm.roundeven.v4f32", (f.get(op.x),), op.x.type)
    value = b.intrinsic("llvm.fptosi.sat.v4i32.v4f32", (whole,), wide)
    value = b.intrinsic("llvm.sadd.sat.v4i32", (value, b.constant(op.zero_point, wide)), wide)
    for name, bound in zip(("smax", "smin"), op.bounds, strict=True):
        value = b.intrinsic(f"llvm.{name}.v4i32", (value, b.constant(bound, wide)), wide)
    f.set(op.result, b.convert(llvm.TruncOp, value, op.result.type))


def _quad_rescale(f: FunctionLowering, op: QuadRescaleOp) -> None:
    b, kind = f.b, op.result.type
    x, factor, shift = map(f.get, op.operands)
    if f.module.has_mve:
        doubled = b.intrinsic("llvm.arm.mve.vqrdmulh.v4i32", (x, factor), kind)
        back = b.integer_op(llvm.SubOp, b.constant(0, kind), shift)
        less = b.integer_op(llvm.AShrOp, b.integer_op(llvm.AndOp, doubled, back), b.constant(31, kind))
        doubled = b.intrinsic("llvm.sadd.sat.v4i32", (doubled, less), kind)
        options = (b.constant(0, i32), b.constant(1, i32), b.constant(0, i32))  # no saturation, rounded, signed
        f.set(op.result, b.intrinsic("llvm.arm.mve.vshl.vector.v4i32.v4i32", (doubled, back, *options), kind))
        return
    wide = VectorType(i64, [QUAD])
    product = b.integer_op(llvm.MulOp, b.convert(llvm.SExtOp, x, wide), b.convert(llvm.SExtOp, factor, wide))
    product = b.integer_op(llvm.AddOp, product, b.constant(1 << 30, wide))
    value = b.convert(llvm.TruncOp, b.integer_op(llvm.AShrOp, product, b.constant(31, wide)), kind)
    mask = b.integer_op(llvm.SubOp, b.integer_op(llvm.ShlOp, b.constant(1, kind), shift), b.constant(1, kind))
    negative = b.convert(llvm.ZExtOp, b.icmp("slt", value, b.constant(0, kind)), kind)
    middle = b.integer_op(llvm.AddOp, b.integer_op(llvm.LShrOp, mask, b.constant(1, kind)), negative)
    up = b.convert(llvm.ZExtOp, b.icmp("sgt", b.integer_op(llvm.AndOp, value, mask), middle), kind)
    f.set(op.result, b.integer_op(llvm.AddOp, b.integer_op(llvm.AShrOp, value, shift), up))


def _round_product(f: FunctionLowering, op: RoundProductOp) -> None:
    x, factor, above = map(f.get, op.operands)
    helpers = f.module.helpers
    helper = helpers.round_product if not op.near else helpers.round_near_product
    f.set(op.result, helper(f.b, x, factor, above, op.shift))


LOWERINGS: Lowerings = {
    WordLoadOp: _load,
    RunDotOp: _run_dot,
    LaneDotOp: lambda f, op: f.set(op.result, _lanes(f, op.sum, op.x, op.w)),
    LaneSumOp: lambda f, op: f.set(op.result, _lanes(f, op.sum, op.w)),
    QuadOp: _quad,
    QuadRescaleOp: _quad_rescale,
    QuadQuantizeOp: _quad_quantize,
    RoundProductOp: _round_product,
    OpaqueOp: lambda f, op: f.set(op.result, f.get(op.value)),
}
