"""Verifying whole modules between phases: everything xDSL checks, but what is alike only once.

After unrolling, a module has tens of thousands of operations of a few hundred kinds. Whether an operation without
regions is well formed depends on its class, its types and its attributes alone, so one of each kind stands for all.
"""

from collections.abc import Iterable
from functools import cache

from xdsl.dialects import memref
from xdsl.dialects.bufferization import ToTensorOp
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import OpTrait, SameOperandsAndResultType
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot import PrefetchOp, TileLoadOp
from aotc.dialects.aot.contract import IN_PLACE, is_kernel, kernels

_DIALECTS = ("aot.", "arith.", "math.", "memref.", "vector.")
"""Dialects whose verifiers look at nothing but types and attributes."""


_READS = (memref.LoadOp, memref.DimOp, ToTensorOp, TileLoadOp, PrefetchOp)
"""Operations that read a buffer and no more. One that makes another memref of it is followed; all others may write."""


class InvalidOperation(VerifyException):
    """Something about an operation that its own verifier does not see."""

    def __init__(self, operation: Operation, what: str) -> None:
        super().__init__(what)
        self.operation = operation


def verify(module: ModuleOp) -> None:
    """Raise what `module.verify()` raises, VerifyException or ValueError, and InvalidOperation for the use of a value
    that is not defined before, and for a kernel that never writes one of its results."""
    _Verifier().operation(module)
    for function in kernels(module):
        _require_writes(function)


def verify_selected(selected: Iterable[Operation]) -> None:
    """`verify` of some operations at the top of a module."""
    verifier = _Verifier()
    for one in selected:
        verifier.operation(one)
        if isinstance(one, FuncOp) and is_kernel(one):
            _require_writes(one)


def _require_writes(kernel: FuncOp) -> None:
    """Raise InvalidOperation where a kernel never writes one of its results."""
    results = len(IN_PLACE.get(kernel) or ())
    if kernel.is_declaration or not results or kernel.body.block.first_op is kernel.body.block.last_op:
        return  # without a body, or one that only returns: no nest at all
    for argument in kernel.body.block.args[-results:]:
        kind = argument.type
        if isinstance(kind, MemRefType) and 0 not in kind.get_shape() and not _may_be_written(argument):
            name = f"%{argument.name_hint}" if argument.name_hint else f"argument {argument.index}"
            what = f"the kernel {kernel.sym_name.data} never writes its result {name}"
            raise InvalidOperation(kernel, f"{what}; store every element of it once")


def _may_be_written(buffer: SSAValue) -> bool:
    """Whether some use of a buffer, or of a view of it, is more than a read."""
    pending = [buffer]
    for value in pending:
        for use in value.uses:
            op = use.operation
            views = [result for result in op.results if isinstance(result.type, MemRefType)]
            if not isinstance(op, _READS) and not views:
                return True
            pending += views
    return False


class _Verifier:
    """One walk; `_defined` are the values that may be used where it is."""

    def __init__(self) -> None:
        self._known: set[tuple[object, ...]] = set()
        self._defined: set[SSAValue] = set()
        self._numbers: dict[Attribute, int] = {}
        self._of_object: dict[int, int] = {}

    def _number(self, attribute: Attribute) -> int:
        """The same for equal attributes. Objects recur, and hashing one means hashing all that is in it."""
        number = self._of_object.get(id(attribute))
        if number is None:
            number = self._of_object[id(attribute)] = self._numbers.setdefault(attribute, len(self._numbers))
        return number

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
                raise InvalidOperation(op, f"{op.name} uses a value that is not defined before it:\n{op}")
            if op is last or op.regions or not _by_signature(type(op)):
                self.operation(op)
            else:
                number = self._number
                types = [number(value.type) for value in (*operands, *results)]
                named = [
                    each
                    for table in (op.properties, op.attributes)
                    for name, value in table.items()
                    for each in (name, number(value))
                ]
                key = (type(op), len(operands), *types, *named)
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
