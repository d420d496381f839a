"""Verifying whole modules between phases: everything xDSL checks, but what is alike only once.

After unrolling, a module has tens of thousands of operations of a few hundred kinds. Whether an operation without
regions is well formed depends on its class, its types and its attributes alone, so one of each kind stands for all.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import OpTrait, SameOperandsAndResultType
from xdsl.utils.exceptions import VerifyException

_DIALECTS = ("aot.", "arith.", "math.", "memref.", "vector.")
"""Dialects whose verifiers look at nothing but types and attributes."""


def verify(module: ModuleOp) -> None:
    """Raise what `module.verify()` raises, VerifyException or ValueError, and VerifyException for the use of a value
    that is not defined before."""
    _Verifier().operation(module)


class _Verifier:
    """One walk; `_defined` are the values that may be used where it is."""

    def __init__(self) -> None:
        self._known: set[tuple[object, ...]] = set()
        self._defined: set[SSAValue] = set()

    def operation(self, op: Operation) -> None:
        """An operation and all in it."""
        op.verify(verify_nested_ops=False)
        for region in op.regions:
            local: list[SSAValue] = [argument for block in region.blocks for argument in block.args]
            if len(region.blocks) > 1:  # whose order does not tell what runs before what
                local += [result for block in region.blocks for each in block.ops for result in each.results]
            self._defined.update(local)
            for block in region.blocks:
                self._block(block, local)
            self._defined.difference_update(local)

    def _block(self, block: Block, local: list[SSAValue]) -> None:
        if block.last_op is None:
            block.verify()
        defined, last = self._defined, block.last_op
        for op in block.ops:
            if op.parent is not block:
                raise ValueError("Parent pointer of operation does not refer to containing region")
            operands, results = tuple(op.operands), op.results
            if not defined.issuperset(operands):
                raise VerifyException(f"{op.name} uses a value that is not defined before it:\n{op}")
            if op is last or op.regions or not _by_signature(type(op)):
                self.operation(op)
            else:
                types = (id(value.type) for value in (*operands, *results))
                key = (type(op), len(operands), *types, *op.properties.items(), *op.attributes.items())
                if key not in self._known:
                    op.verify()
                    self._known.add(key)
            defined.update(results)
            local.extend(results)


@cache
def _by_signature(kind: type[Operation]) -> bool:
    """Whether the verifier of an operation class looks at types and attributes only, where there are no regions."""
    return kind.name.startswith(_DIALECTS) and all(
        isinstance(trait, SameOperandsAndResultType) or type(trait).verify is OpTrait.verify
        for trait in kind.traits.traits
    )
