"""The machine as cost models see it for a whole model, whose weights together decide where each is at its next use."""

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from aotc.dialects.aot.contract import target_of
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import ElementOp, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of


def machine_for(module: ModuleOp) -> Machine | None:
    """The machine that a module is compiled for, and the bytes of weights that the module reads in an inference; None
    where it has no vectors."""
    machine = machine_of(target_of(module))
    return None if machine is None else machine.with_weights(read_bytes(module))


def read_bytes(module: ModuleOp) -> int:
    """Bytes of all constants of a module that an inference reads: of a table, those of the rows that it looks up."""
    return sum(_read_of(op.result) for op in module.walk() if isinstance(op, ConstantOp))


def _read_of(value: SSAValue) -> int:
    """Bytes that are read of a constant: an element at most for each of a result, where all results are such."""
    elements = math.prod(shape_of(value))
    users = [use.operation for use in value.uses]
    if all(isinstance(user, ElementOp) for user in users):
        elements = min(elements, sum(math.prod(shape_of(user.results[0])) for user in users))
    return elements * byte_width(element_type_of(value))
