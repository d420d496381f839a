"""The clock of `profile-kernels`, in this process: C99 has no cycle counter, so nothing here prints as C."""

from xdsl.dialects.builtin import I64, MemRefType, StringAttr, i64
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect

from aotc.dialects.operations import PureOp


@irdl_op_definition
class TicksOp(IRDLOperation):
    """The processor's counter, which runs at a constant rate: `%0 = aot.ticks : i64`."""

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
