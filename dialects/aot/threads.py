"""What kernels know of the threads that run them together: which one this is, and where they wait for each other."""

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import MemoryWriteEffect, Pure


@irdl_op_definition
class ThreadOp(IRDLOperation):
    """The number of the thread that runs the function: 0 is the caller's."""

    name = "aot.thread"
    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """No thread goes on before all are here; what each wrote before, all read after."""

    name = "aot.barrier"
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()
