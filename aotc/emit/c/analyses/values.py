"""Facts about values, read off the IR: where buffers come from, what may overlap, whether their integers are unsigned;
which values are vectors, how long they are, which operations are about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType, IntegerType, VectorType, i1
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import Argument, argument_of

# --- aliasing --------------------------------------------------------------------------------------------------------


def root(value: SSAValue) -> SSAValue:
    """The origin of a buffer or pointer: an argument, a weight, the workspace, an array on the stack."""
    while not isinstance(value, BlockArgument):
        op = cast(Operation, value.owner)
        match op:
            case memref.ViewOp() | memref.ReinterpretCastOp() | memref.CastOp():
                value = op.source
            case aot.BufferOp() | aot.PtrCastOp() | aot.AddressOp() | aot.ElementOp() | aot.FieldOp():
                value = op.pointer
            case aot.DataOp():
                value = op.buffer
            case _:
                return value
    return value


def is_mutable(base: SSAValue) -> bool:
    """Whether memory behind this root may change while the function runs."""
    if isinstance(base.owner, aot.WeightOp | aot.WeightsOp):
        return False
    return not (_argument(base).readonly and _argument(base).noalias)


def may_alias(a: SSAValue, b: SSAValue) -> bool:
    """Whether memory behind two roots may overlap."""
    return a is b or not (_argument(a).noalias or _argument(b).noalias)


def _argument(value: SSAValue) -> Argument:
    return argument_of(value) if isinstance(value, BlockArgument) else Argument()


# --- signedness ------------------------------------------------------------------------------------------------------

_UNSIGNED_USES = (
    arith.ExtUIOp,
    arith.UIToFPOp,
    arith.FPToUIOp,
    arith.DivUIOp,
    arith.RemUIOp,
    arith.ShRUIOp,
    arith.MinUIOp,
    arith.MaxUIOp,
)


def is_unsigned_buffer(buffer: SSAValue) -> bool:
    """Whether what the function does with the elements says that they are unsigned: only unsigned operations do."""
    evidence = False
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            match use.operation:
                case memref.LoadOp() as load:
                    users = [each.operation for each in load.res.uses]
                    unsigned = [isinstance(each, _UNSIGNED_USES) or _compares_unsigned(each) for each in users]
                    if not all(unsigned):
                        return False
                    evidence = evidence or bool(unsigned)
                case memref.StoreOp() as store if use.index == 1:
                    if isinstance(store.value.owner, _UNSIGNED_USES):
                        evidence = True
                    elif not isinstance(store.value.owner, arith.TruncIOp):
                        return False
                case memref.ReinterpretCastOp() as view:
                    pending.append(view.result)
                case memref.CastOp() as view:
                    pending.append(view.dest)
                case _:
                    pass
    return evidence


def _compares_unsigned(op: Operation) -> bool:
    return isinstance(op, arith.CmpiOp) and op.predicate.value.data >= 6


# --- vectors ---------------------------------------------------------------------------------------------------------


def is_vector(value: SSAValue) -> bool:
    """Whether a value is one."""
    return type(value.type) is VectorType


def size(value: SSAValue) -> int:
    """Bytes of a vector; 0 of any other value."""
    if type(kind := value.type) is not VectorType:
        return 0
    element = kind.get_element_type()
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    return -(-bits // 8) * kind.get_shape()[-1]


def concerns(op: Operation) -> bool:
    """Whether an operation takes or makes vectors, or is about them only."""
    return isinstance(op, aot.PrefetchOp) or any(map(is_vector, (*op.operands, *op.results)))


def constants_of_sums(function: func.FuncOp) -> Iterator[SSAValue]:
    """Vectors of integers, none of them 0, that loops take which carry vectors. Of factors and distances of shifts
    compilers make other instructions."""
    for loop in function.walk():
        if isinstance(loop, scf.ForOp) and any(map(is_vector, loop.iter_args)):
            for op in loop.body.walk():
                yield from filter(_is_constant_term, op.operands)


def _is_constant_term(value: SSAValue) -> bool:
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(constant := op.value, DenseIntOrFPElementsAttr):
        return False
    kind = constant.get_element_type()
    is_whole = isinstance(kind, IntegerType) and kind != i1 and all(constant.get_values())
    return is_whole and all(isinstance(use.operation, _WITH_TERMS) for use in value.uses)


_WITH_TERMS = (arith.AddiOp, arith.SubiOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, aot.InstructionOp)
