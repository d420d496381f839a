"""What decides how fast an operation is, as text: by that, measured decisions are kept."""

from __future__ import annotations

from xdsl.ir import Attribute, OpResult

from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.structure import ConstantOp


def signature(op: AnchorOp, algorithm: Attribute | None = None) -> str:
    """What decides how fast `op` is: everything but the names of its operands and the values of constants.

    `algorithm` is that of `op` where it does not say so itself."""
    attributes = dict(sorted(op.properties.items()))
    if (algorithm := op.attributes.get(AnchorOp.ALGORITHM, algorithm)) is not None:
        attributes[AnchorOp.ALGORITHM] = algorithm
    operands = (
        ("constant " if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) else "") + str(value.type)
        for value in op.operands
    )
    listed = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    results = ", ".join(str(result.type) for result in op.results)
    return f"{op.name} {{{listed}}} : ({', '.join(operands)}) -> ({results})"
