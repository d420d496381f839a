"""Signatures of operations and blocks: where they are equal, what is found out about one holds for the other."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue


def signature(op: Operation) -> object:
    """Equal for two operations of the same class, properties, attributes and operand types, and with equal regions."""
    dictionaries = (frozenset(op.properties.items()), frozenset(op.attributes.items()))
    inner = tuple(block_signature(region.block) for region in op.regions)
    return (type(op), tuple(value.type for value in op.operands), *dictionaries, inner)


def block_signature(block: Block) -> object:
    """Equal for two blocks exactly when their operations, types and constants are, whatever their names.

    Regions in it see only their own arguments.
    """
    number: dict[SSAValue, int] = {}

    def define(values: Sequence[SSAValue]) -> tuple[object, ...]:
        for value in values:
            number[value] = len(number)
        return tuple(value.type for value in values)

    parts: list[object] = [define(block.args)]
    for op in block.ops:
        operands = tuple(number[operand] for operand in op.operands)
        parts.append((signature(op), operands, define(op.results)))
    return tuple(parts)
