"""Status checks, threads, the clock of profiles, and the arithmetic that no other dialect has."""

from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, I64, AnyFloatConstr, IndexType, MemRefType, StringAttr, i1, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.types import PtrType
from aotc.dialects.operations import PureOp
from aotc.dialects.properties import flag, int_prop, integer, unit_prop


@irdl_op_definition
class IsNullOp(PureOp):
    """Whether a pointer is null."""

    name = "aot.is_null"
    pointer = operand_def(PtrType)
    result = result_def(I1)
    assembly_format = "$pointer attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue) -> None:
        super().__init__(operands=[pointer], result_types=[i1])


@irdl_op_definition
class IsAlignedOp(PureOp):
    """Whether a pointer is a multiple of `alignment` bytes, a power of two."""

    name = "aot.is_aligned"
    pointer = operand_def(PtrType)
    alignment = int_prop()
    result = result_def(I1)
    assembly_format = "$pointer `to` $alignment attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue, alignment: int) -> None:
        super().__init__(operands=[pointer], properties={"alignment": integer(alignment)}, result_types=[i1])

    def verify_(self) -> None:
        alignment = self.alignment
        if alignment < 1 or alignment & (alignment - 1):
            raise VerifyException(f"the alignment must be a power of two, found {alignment}")


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Return `status` from the function at once if it is not zero."""

    name = "aot.check"
    status = operand_def(I32)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$status attr-dict"

    def __init__(self, status: SSAValue | Operation) -> None:
        super().__init__(operands=[status])


@irdl_op_definition
class RequireOp(IRDLOperation):
    """Return -1 from the function at once if `condition` does not hold."""

    name = "aot.require"
    condition = operand_def(I1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition attr-dict"

    def __init__(self, condition: SSAValue | Operation) -> None:
        super().__init__(operands=[condition])


@irdl_op_definition
class FModOp(PureOp):
    """The exact remainder of floats with the sign of the dividend, C's `fmod`, which arith lacks."""

    name = "aot.fmod"
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """The same index, of which compilers know nothing: what is computed of it stays where it is.

    `aot.opaque %i`
    """

    name = "aot.opaque"
    value = operand_def(IndexType)
    result = result_def(IndexType)
    assembly_format = "$value attr-dict"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[IndexType()])


@irdl_op_definition
class RoundProductOp(PureOp):
    """The product x * factor / 2^shift as f32 rounds it: `above`, or the integer below it.

    The product is rounded to 24 bits first, then to the nearest integer, the middle between two to the even one. It is
    less than 1 away from the middle between `above` and the integer below; |above| < 2^22, else the result is just one
    of the two. With `near` the distance times 2^shift is an i32.

    `aot.round_product %x, %factor, %above, 40 near`
    """

    name = "aot.round_product"
    SHIFTS: ClassVar[range] = range(25, 48)
    """Those with which 48 bits hold how far a product is from the middle, and the last of its 24 bits is a whole
    number."""
    x = operand_def(I32)
    factor = operand_def(I32)
    above = operand_def(I32)
    shift = int_prop()
    near = unit_prop()
    result = result_def(I32)
    assembly_format = "$x `,` $factor `,` $above `,` $shift (`near` $near^)? attr-dict"

    def __init__(self, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int, *, near: bool = False) -> None:
        properties = {"shift": integer(shift), "near": flag(near)}
        super().__init__(operands=[x, factor, above], result_types=[i32], properties=properties)

    def verify_(self) -> None:
        if self.shift not in self.SHIFTS:
            least, most = self.SHIFTS[0], self.SHIFTS[-1]
            raise VerifyException(f"the shift must be {least} to {most}, found {self.shift}")


@irdl_op_definition
class ThreadOp(PureOp):
    """The number of the thread whose share of the work the function does."""

    name = "aot.thread"
    result = result_def(IndexType())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class PhaseOp(PureOp):
    """The phase of its work that the function is called for, from 0 to `count` - 1. All threads have done one before
    any begins the next."""

    name = "aot.phase"
    count = int_prop()
    result = result_def(IndexType())
    assembly_format = "$count attr-dict"

    def __init__(self, count: int) -> None:
        super().__init__(properties={"count": integer(count)}, result_types=[IndexType()])

    def verify_(self) -> None:
        if self.count < 2:
            raise VerifyException(f"phases are two or more, found {self.count}")


@irdl_op_definition
class TicksOp(IRDLOperation):
    """The processor's counter, which runs at a constant rate: `%0 = aot.ticks : i64`.

    It is for `profile-kernels` in this process: C99 has no cycle counter, so neither this nor `aot.counters` is C."""

    name = "aot.ticks"
    result = result_def(I64)
    traits = traits_def(MemoryWriteEffect())  # stays where it is, and is not like another one
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[i64])


@irdl_op_definition
class CountersOp(PureOp):
    """An exported static array of counters, zero at first: `aot.counters "aotc_kws_profile" : memref<12xi64>`."""

    name = "aot.counters"
    symbol = prop_def(StringAttr)
    result = result_def(MemRefType)
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, count: int) -> None:
        super().__init__(properties={"symbol": StringAttr(symbol)}, result_types=[MemRefType(i64, [count])])
