"""Making operations by the ten thousand, and walking over them: what xDSL's own functions do, in a third of their time.

`Operation.create` passes each operand, result and successor through several functions and looks up the definition of
the class. Where passes write the many operations of unrolled kernels, they are put together here instead; verifying
looks at all of them at the end of the phase. The version of xDSL is pinned, and a test compares what is made.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import cast

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef, traits_def
from xdsl.traits import IsTerminator, Pure


def make(
    kind: type[Operation],
    operands: Iterable[SSAValue] = (),
    result: Attribute | None = None,
    properties: Mapping[str, Attribute] | None = None,
    successors: Sequence[Block] = (),
) -> Operation:
    """An operation without regions, in no block, that has a result of type `result` or none."""
    op = kind.__new__(kind)
    op._operands = values = SSAValues(operands)
    op._operand_uses = _uses(op, values)
    op.results = SSAValues((OpResult(result, op, 0),) if result is not None else ())
    op.properties = dict(properties or ())
    op.attributes = {}
    op.location = UNKNOWN_LOC
    op._successors = tuple(successors)
    op._successor_uses = _uses(op, op._successors)
    op.regions = ()
    for name, value in _defaults(kind):
        op.properties.setdefault(name, value)
    return op


def _uses(op: Operation, values: Sequence[SSAValue] | Sequence[Block]) -> tuple[Use, ...]:
    """The operands of `op`, each at the head of the list of the value's uses, as xDSL puts it."""
    uses: list[Use] = []
    for index, value in enumerate(values):
        use = Use(op, index, None, first := value.first_use)
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


@cache
def _defaults(kind: type[Operation]) -> Sequence[tuple[str, Attribute]]:
    """The properties that an operation of a class has where they are not given."""
    definition = cast("type[IRDLOperation]", kind).get_irdl_definition()
    assert all(each.default_value is None for each in definition.attributes.values()), kind
    required = ((name, each) for name, each in definition.properties.items() if not isinstance(each, OptionalDef))
    return [(name, each.default_value) for name, each in required if each.default_value is not None]


def append(block: Block, op: Operation) -> None:
    """Put an operation that is in no block, and has no regions, at the end of one. As `block.add_op(op)`."""
    op.parent = block
    if (last := block._last_op) is None:
        block._first_op = op
    else:
        last._next_op, op._prev_op = op, last
    block._last_op = op


def take_name(value: SSAValue, of: SSAValue) -> None:
    """Give a value that has no name that of another."""
    if value._name is None:
        value._name = of._name


def walk(op: Operation) -> Iterator[Operation]:
    """An operation and all in it, in the order of the text; the one that is at hand may be erased. As `op.walk()`."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            following = block._first_op
            while (each := following) is not None:
                following = each._next_op
                if each.regions:
                    yield from walk(each)
                else:
                    yield each


@cache
def is_terminator(kind: type[Operation]) -> bool:
    """Whether operations of this class end a block."""
    return kind.has_trait(IsTerminator)


class PureOp(IRDLOperation, ABC):
    """An operation without effects."""

    traits = traits_def(Pure())


def operations_in(package: str) -> Iterator[type[Operation]]:
    """The operations that the modules of a package define."""
    path = import_module(package).__path__
    for module in walk_packages(path, f"{package}."):
        for op in vars(import_module(module.name)).values():
            if (
                isinstance(op, type)
                and issubclass(op, Operation)
                and op.__module__ == module.name
                and "name" in vars(op)
            ):
                yield op
