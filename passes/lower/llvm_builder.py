"""Writing llvm dialect operations quickly: one moving block, constants shared by a function.

Thousands of operations pass through here, so they are made with `create` (which skips argument checking; the verifier
at the end of the phase looks at all of them) and attributes that recur are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()
UNIT = UnitAttr()
NSW = IntegerAttr(1, i32)
"""overflowFlags of the llvm dialect: 1 = nsw, 2 = nuw."""
NO_FAST_MATH = llvm.FastMathAttr(None)
_C_CALL = llvm.CallingConventionAttr("ccc")
_NO_TAIL_CALL = llvm.TailCallKindAttr(llvm.TailCallKind.NONE)
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_PLAIN = IntegerAttr(0, i64)

FLOAT_BITS: dict[type[Attribute], int] = {Float16Type: 16, BFloat16Type: 16, Float32Type: 32, Float64Type: 64}
ICMP = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.ICmpPredicateFlag}
FCMP = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.FCmpPredicateFlag}


@cache
def integer(width: int) -> IntegerType:
    """The signless integer type of `width` bits."""
    return IntegerType(width)


@cache
def segments(*sizes: int) -> DenseArrayBase:
    """Operand segment sizes."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def alignment(size: int) -> IntegerAttr:
    """An alignment in bytes as an attribute."""
    return IntegerAttr(size, i64)


def width(kind: Attribute) -> int:
    """Bits of a scalar type."""
    return kind.width.data if isinstance(kind, IntegerType) else FLOAT_BITS[type(kind)]


class LLVMBuilder:
    """Appends to `block`; blocks are added to `region` in the order in which they are started."""

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.block = entry
        self.region = Region(entry)
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._head: list[Operation] = []

    def start(self, block: Block) -> None:
        """Go on in `block`, which is new."""
        self.region.add_block(block)
        self.block = block

    def finish(self) -> Region:
        """The body: constants and stack slots go to the head of the entry block."""
        if self._head:
            if (first := self.entry.first_op) is None:
                self.entry.add_ops(self._head)
            else:
                self.entry.insert_ops_before(self._head, first)
            self._head = []
        return self.region

    # Operations

    def op(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append an operation of one result."""
        op = kind.create(operands=operands, result_types=(result,), properties=properties or {})
        self.block.add_op(op)
        return op.results[0]

    def effect(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue] = (),
        properties: dict[str, Attribute] | None = None,
        successors: Sequence[Block] = (),
    ) -> Operation:
        """Append an operation without result."""
        op = kind.create(operands=operands, properties=properties or {}, successors=successors)
        self.block.add_op(op)
        return op

    def constant(self, value: int | float, kind: Attribute) -> SSAValue:
        """A constant, one per function and value; integers wrap to their width."""
        if isinstance(kind, IntegerType):
            bits = kind.width.data
            number = int(value) & ((1 << bits) - 1)
            if bits > 1 and number >> (bits - 1):
                number -= 1 << bits
            return self._constant(IntegerAttr(number, kind), kind, str(number))
        return self._constant(FloatAttr(float(value), cast(AnyFloat, kind)), kind, repr(value))  # tells 0.0 from -0.0

    def _constant(self, attribute: Attribute, kind: Attribute, key: str) -> SSAValue:
        found = self._constants.get((key, kind))
        if found is None:
            op = llvm.ConstantOp.create(result_types=(kind,), properties={"value": attribute})
            self._head.append(op)
            found = self._constants[(key, kind)] = op.results[0]
        return found

    def address(self, symbol: str) -> SSAValue:
        """The address of a global or function."""
        found = self._constants.get((symbol, PTR))
        if found is None:
            op = llvm.AddressOfOp.create(result_types=(PTR,), properties={"global_name": SymbolRefAttr(symbol)})
            self._head.append(op)
            found = self._constants[(symbol, PTR)] = op.results[0]
        return found

    def stack(self, count: int, kind: Attribute, align: int | None = None) -> SSAValue:
        """`count` values of type `kind` on the stack, allocated once at function entry."""
        properties: dict[str, Attribute] = {"elem_type": kind}
        if align is not None:
            properties["alignment"] = alignment(align)
        op = llvm.AllocaOp.create(operands=(self.constant(count, i32),), result_types=(PTR,), properties=properties)
        self._head.append(op)
        return op.results[0]

    def integer_op(self, kind: type[Operation], a: SSAValue, b: SSAValue, flags: IntegerAttr | None = None) -> SSAValue:
        """Integer arithmetic, `flags` as `overflowFlags`."""
        return self.op(kind, (a, b), a.type, {"overflowFlags": flags} if flags is not None else None)

    def float_op(self, kind: type[Operation], *operands: SSAValue, flags: Attribute = NO_FAST_MATH) -> SSAValue:
        """Float arithmetic of one type."""
        return self.op(kind, operands, operands[0].type, {"fastmathFlags": flags})

    def convert(self, kind: type[Operation], a: SSAValue, to: Attribute) -> SSAValue:
        """A cast; nothing where the type already is `to`."""
        return a if a.type == to else self.op(kind, (a,), to)

    def icmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare integers."""
        return self.op(llvm.ICmpOp, (a, b), i1, {"predicate": ICMP[predicate]})

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue, flags: Attribute = NO_FAST_MATH) -> SSAValue:
        """Compare floats."""
        return self.op(llvm.FCmpOp, (a, b), i1, {"predicate": FCMP[predicate], "fastmathFlags": flags})

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a if condition else b."""
        return self.op(llvm.SelectOp, (condition, a, b), a.type, {"fastmathFlags": NO_FAST_MATH})

    def intrinsic(
        self, name: str, operands: Sequence[SSAValue], result: Attribute, flags: Attribute = NO_FAST_MATH
    ) -> SSAValue:
        """Call `llvm.NAME`, the full name with its type suffixes."""
        properties: dict[str, Attribute] = {
            "intrin": StringAttr(name),
            "fastmathFlags": flags,
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": segments(len(operands), 0),
        }
        return self.op(llvm.CallIntrinsicOp, operands, result, properties)

    def call(
        self, callee: str, operands: Sequence[SSAValue], result: Attribute | None, flags: Attribute = NO_FAST_MATH
    ) -> Sequence[SSAValue]:
        """Call a function of the module."""
        op = llvm.CallOp.create(
            operands=operands,
            result_types=() if result is None else (result,),
            properties={
                "callee": SymbolRefAttr(callee),
                "fastmathFlags": flags,
                "CConv": _C_CALL,
                "TailCallKind": _NO_TAIL_CALL,
                "op_bundle_sizes": _NO_BUNDLES,
                "operandSegmentSizes": segments(len(operands), 0),
            },
        )
        self.block.add_op(op)
        return op.results

    # Memory

    def offset(self, pointer: SSAValue, kind: Attribute, *indices: int | SSAValue) -> SSAValue:
        """Address arithmetic inside one object: `&((kind *)pointer)[i0].f1[i2]...`."""
        if indices == (0,):
            return pointer
        raw = [index if isinstance(index, int) else llvm.GEP_USE_SSA_VAL for index in indices]
        return self.op(
            llvm.GEPOp,
            (pointer, *(index for index in indices if not isinstance(index, int))),
            PTR,
            {
                "elem_type": kind,
                "rawConstantIndices": segments(*raw),
                "noWrapFlags": _NO_WRAP_FLAGS,
                "inbounds": UNIT,
            },
        )

    def load(self, pointer: SSAValue, kind: Attribute, align: int) -> SSAValue:
        """Read a value."""
        return self.op(llvm.LoadOp, (pointer,), kind, {"ordering": _PLAIN, "alignment": alignment(align)})

    def store(self, value: SSAValue, pointer: SSAValue, align: int) -> None:
        """Write a value."""
        self.effect(llvm.StoreOp, (value, pointer), {"ordering": _PLAIN, "alignment": alignment(align)})

    # Control

    def branch(self, target: Block, arguments: Sequence[SSAValue] = ()) -> Operation:
        """Go to `target`."""
        return self.effect(llvm.BrOp, arguments, successors=(target,))

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        otherwise: Block,
        then_arguments: Sequence[SSAValue] = (),
        otherwise_arguments: Sequence[SSAValue] = (),
    ) -> None:
        """Go to `then` if the condition holds, else to `otherwise`."""
        self.effect(
            llvm.CondBrOp,
            (condition, *then_arguments, *otherwise_arguments),
            {"operandSegmentSizes": segments(1, len(then_arguments), len(otherwise_arguments))},
            (then, otherwise),
        )

    def ret(self, value: SSAValue | None = None) -> None:
        """Return from the function."""
        self.effect(llvm.ReturnOp, () if value is None else (value,))
