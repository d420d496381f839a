"""Names while a model is imported: what each stands for, in a body of nodes and the bodies around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import TensorProto
from xdsl.ir import Block, SSAValue

from aotc.frontend.onnx.operators import OperatorSets
from aotc.frontend.onnx.parts.sequences import Items


class Poison:
    """The value of a node that could not be imported."""


POISON = Poison()

Value = SSAValue | Items | None | Poison
"""None is an optional input or output left out."""


@dataclass
class Scope:
    """The names a body of nodes sees: its own, then those of the body around it."""

    sets: OperatorSets
    block: Block
    """Where its constants go."""
    prefix: str = ""
    """Goes before the names of the nodes: the calls of functions they are in."""
    branch: str = ""
    """Goes before the names of nodes that have none of their own, in a branch, instead of `prefix`."""
    only_name: str = ""
    """The one name of all nodes, in the ONNX definition of an operator."""
    outer: Scope | None = None
    values: dict[str, Value] = field(default_factory=dict[str, "Value"])
    tensors: dict[str, TensorProto] = field(default_factory=dict[str, TensorProto])
    """Initializers that nothing has read yet."""
    captures: dict[SSAValue, SSAValue] | None = None
    """In the body of a region: for values of the bodies around it the arguments of `block` that stand for them."""
    copies: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """In the body of a region: for constants of the bodies around it the same ones in `block`."""
