"""The view that kernels have of the threads that run them together: whose share of the work to do, and which phase of
it."""

from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.irdl import irdl_op_definition, result_def
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.operations import PureOp
from aotc.dialects.properties import int_prop


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
        super().__init__(properties={"count": IntegerAttr(count, i64)}, result_types=[IndexType()])

    def verify_(self) -> None:
        if self.count < 2:
            raise VerifyException(f"phases are two or more, found {self.count}")
