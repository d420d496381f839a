"""Helper functions that the module defines where the target has no instruction and may have no library.

Functions of floats are their meanings (`aotc.machines.instructions.floats`). Each is an internal function, emitted when
first used, for LLVM to inline. Names are those of the helpers in C:
`aotc.f32_to_bf16` of scalars, `aotc.f32_to_bf16.v8` of eight lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, StringAttr, VectorType, f32, i16, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.llvm_ext import suffix
from aotc.machines.instructions.floats import FUNCTIONS
from aotc.passes.lower.formulas import Formula
from aotc.passes.lower.llvm_builder import NO_FAST_MATH, LLVMBuilder, element, like

_NATIVE = {"maximum": "maximum", "minimum": "maximum"}
"""How `Target.native` calls what LLVM has intrinsics for, but for rounding."""
_IN_PLACE = ("bf16_to_f32",)
"""Functions of so few operations that they are written where they are used."""


class Helpers:
    """Emits uses of the helper functions, which get the properties `base`; `functions` are those used so far.

    `native` is `Target.native`.
    """

    def __init__(self, native: Iterable[str], base: Mapping[str, Attribute | None]) -> None:
        self.native = frozenset(native)
        self.functions: dict[str, llvm.FuncOp] = {}
        self._base = base

    def _call(
        self,
        b: LLVMBuilder,
        name: str,
        a: Sequence[SSAValue],
        to: Attribute,
        body: Callable[..., SSAValue],
        attributes: Sequence[str] = (),
    ) -> SSAValue:
        if name not in self.functions:
            inputs = [each.type for each in a]
            block = Block(arg_types=inputs)
            for argument, hint in zip(block.args, "xy", strict=False):
                argument.name_hint = hint
            inner = LLVMBuilder(block)
            inner.ret(body(inner, *block.args))
            if isinstance(to, VectorType):  # a call would spill every vector register
                attributes = ("alwaysinline",)
            properties = dict(self._base)
            if attributes:
                given = properties.get("passthrough")
                words = given.data if isinstance(given, ArrayAttr) else ()
                properties["passthrough"] = ArrayAttr([*words, *map(StringAttr, attributes)])
            kind = llvm.LLVMFunctionType(inputs, to)
            self.functions[name] = llvm.FuncOp(name, kind, body=inner.finish(), other_props=properties)
        return b.call(name, a, to)[0]

    def apply(
        self, b: LLVMBuilder, name: str, *operands: SSAValue, flags: llvm.FastMathAttr = NO_FAST_MATH
    ) -> SSAValue:
        """A function of `FUNCTIONS`; f16 and bf16 are their bits."""
        kind, function = operands[0].type, FUNCTIONS[name]
        dtype = suffix(element(kind))
        if function.is_of_any and f"{_NATIVE.get(name, 'round')}-{dtype}" in self.native:
            return b.intrinsic(f"llvm.{name}.{suffix(kind)}", operands, kind, flags)
        types, result = function.types(dtype)

        def body(inner: LLVMBuilder, *arguments: SSAValue) -> SSAValue:
            given = (Formula(inner, *each) for each in zip(arguments, types, strict=True))
            found = function.meaning(*given)
            assert isinstance(found, Formula)
            return found.ssa

        if name in _IN_PLACE:
            return body(b, *operands)
        to = like(kind, {"f32": f32, "u16": i16}.get(result) or element(kind))
        where = f".{suffix(kind)}" if function.is_of_any else _lanes(operands[0])
        return self._call(b, f"aotc.{name}{where}", operands, to, body)

    # Integers

    def round_product(self, b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int) -> SSAValue:
        """x * factor / 2^shift as floats round it (`aot.round_product`): seldom called, and from many places."""
        given = (x, factor, above, b.constant(shift, i32))
        return self._call(b, "aotc.round_product", given, i32, _round_product, ("noinline", "cold"))

    def round_near_product(
        self, b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int
    ) -> SSAValue:
        """The same of a product whose distance from the middle is an i32."""
        given = (x, factor, above, b.constant(shift, i32))
        return self._call(b, "aotc.round_near_product", given, i32, _round_near_product, ("noinline", "cold"))


def _lanes(value: SSAValue) -> str:
    """The suffix of a helper's name: its lanes; nothing for scalars."""
    return f".v{value.type.get_shape()[0]}" if isinstance(value.type, VectorType) else ""


def _round_product(b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: SSAValue) -> SSAValue:
    """By the distance of the product from the middle between `above` and the integer below, in units of 2^16 and what
    is below them, and half of the last of 24 bits of a number near this middle."""
    zero, one, half = (b.constant(value, i32) for value in (0, 1, 16))

    def op(kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
        return b.integer_op(kind, left, right)

    def flipped(value: SSAValue) -> SSAValue:
        return op(llvm.XOrOp, value, b.constant(-1, i32))

    middle = op(llvm.SubOp, op(llvm.AddOp, above, above), one)
    low = b.constant(0xFFFF, i32)
    part = op(llvm.AndOp, factor, low)
    least = op(llvm.MulOp, op(llvm.AndOp, x, low), part)
    upper = op(llvm.MulOp, x, op(llvm.AShrOp, factor, half))
    upper = op(llvm.SubOp, upper, op(llvm.ShlOp, middle, op(llvm.SubOp, shift, b.constant(17, i32))))
    upper = op(llvm.AddOp, upper, op(llvm.MulOp, op(llvm.AShrOp, x, half), part))
    upper = op(llvm.AddOp, upper, op(llvm.LShrOp, least, half))
    lower = op(llvm.ShlOp, least, half)
    is_below = b.icmp("slt", upper, zero)
    moved = b.icmp("ne", op(llvm.OrOp, upper, lower), zero)  # a distance of 0 is none less
    borrowed = b.convert(llvm.ZExtOp, b.integer_op(llvm.AndOp, moved, b.icmp("eq", lower, zero)), i32)
    lower = op(llvm.SubOp, lower, b.convert(llvm.ZExtOp, moved, i32))
    upper = b.select(is_below, flipped(upper), op(llvm.SubOp, upper, borrowed))
    lower = b.select(is_below, op(llvm.SubOp, b.constant(-2, i32), lower), lower)  # what it was, flipped
    whole = op(llvm.LShrOp, upper, op(llvm.SubOp, shift, b.constant(41, i32)))
    parts = (
        op(llvm.ShlOp, upper, op(llvm.SubOp, b.constant(41, i32), shift)),
        op(llvm.LShrOp, lower, op(llvm.SubOp, shift, b.constant(9, i32))),
    )
    steps = b.select(b.icmp("slt", shift, b.constant(41, i32)), op(llvm.OrOp, *parts), whole)
    return _nearer(b, above, middle, steps, is_below)


def _round_near_product(b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: SSAValue) -> SSAValue:
    """By the distance of the product from the middle between `above` and the integer below."""
    zero, one = b.constant(0, i32), b.constant(1, i32)
    middle = b.integer_op(llvm.SubOp, b.integer_op(llvm.AddOp, above, above), one)
    moved = b.integer_op(llvm.SubOp, shift, one)
    low = b.icmp("slt", moved, b.constant(32, i32))
    moved = b.integer_op(llvm.ShlOp, middle, b.select(low, moved, zero))
    product = b.integer_op(llvm.MulOp, x, factor)
    distance = b.integer_op(llvm.SubOp, product, b.select(low, moved, zero))
    is_below = b.icmp("slt", distance, zero)
    less = b.integer_op(llvm.SubOp, distance, b.convert(llvm.ZExtOp, b.icmp("ne", distance, zero), i32))
    flipped = b.integer_op(llvm.XOrOp, distance, b.constant(-1, i32))
    steps = b.select(is_below, flipped, less)
    steps = b.integer_op(llvm.LShrOp, steps, b.integer_op(llvm.SubOp, shift, b.constant(25, i32)))
    return _nearer(b, above, middle, steps, is_below)


def _nearer(b: LLVMBuilder, above: SSAValue, middle: SSAValue, steps: SSAValue, is_below: SSAValue) -> SSAValue:
    """The even integer where `steps`, the distance in halves of the last of 24 bits of a number near `middle` / 2, has
    fewer bits than this; else the nearer one."""
    zero, one = b.constant(0, i32), b.constant(1, i32)
    size = b.select(b.icmp("slt", middle, zero), b.integer_op(llvm.SubOp, zero, middle), middle)
    flipped = b.integer_op(llvm.XOrOp, steps, b.constant(-1, i32))
    near = b.icmp("ugt", b.integer_op(llvm.AndOp, size, flipped), steps)
    even = b.integer_op(llvm.SubOp, above, b.integer_op(llvm.AndOp, above, one))
    return b.select(near, even, b.integer_op(llvm.SubOp, above, b.convert(llvm.ZExtOp, is_below, i32)))
