"""Text for the expressions that builders of kernels write: `subi(x, addi(y, 3))`."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, UnitAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import storage_type

_PLAIN = {"fastmath", "overflowFlags", "operandSegmentSizes", "sizes", "nontemporal"}
"""Properties that are not shown."""
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une"),
}


def arguments(*kinds: Attribute) -> Block:
    """A block with arguments for values of these types in memory: `x`, `y`, `z`."""
    block = Block(arg_types=[storage_type(kind) for kind in kinds])
    for name, arg in zip("xyz", block.args, strict=False):
        arg.name_hint = name
    return block


def written(value: Scalar | SSAValue) -> str:
    """An expression; operations that change types say to which: `extui(x):i32`."""
    if isinstance(value, Scalar):
        value = value.ssa
    if not isinstance(owner := value.owner, Operation):
        return value.name_hint or "?"
    if isinstance(owner, arith.ConstantOp):
        return _number(owner.value)
    name = owner.name.removeprefix(f"{owner.dialect_name()}.")
    if owner.name in PREDICATES:
        name = f"{name} {PREDICATES[owner.name][owner.properties['predicate'].value.data]}"  # pyright: ignore
    elif shown := [_property(key, each) for key, each in owner.properties.items() if key not in _PLAIN]:
        name = f"{name}[{' '.join(shown)}]"
    text = f"{name}({', '.join(map(written, owner.operands))})"
    is_known = owner.name in PREDICATES or owner.name == "memref.load"
    same = is_known or any(value.type == each.type for each in owner.operands)
    return text if same else f"{text}:{_type(value.type)}"


def effects(block: Block) -> list[str]:
    """The operations of a block that are done for their effect, and what is in their regions."""
    found: list[str] = []
    for op in block.ops:
        inner = [f"{{{'; '.join(effects(each))}}}" for region in op.regions for each in region.blocks]
        if inner or not op.results:
            name = op.name.removeprefix(f"{op.dialect_name()}.")
            found.append(" ".join([f"{name}({', '.join(map(written, op.operands))})", *inner]))
    return found


def _type(kind: Attribute) -> str:
    if isinstance(kind, VectorType):
        return f"{'x'.join(map(str, kind.get_shape()))}x{kind.element_type}"
    return str(kind)


def _number(value: Attribute) -> str:
    if isinstance(value, DenseIntOrFPElementsAttr):
        first = value.get_values()[0]
        return f"{first}s"
    assert isinstance(value, IntegerAttr | FloatAttr)
    return str(value.value.data)


def _property(name: str, value: Attribute) -> str:
    if isinstance(value, UnitAttr):
        return name
    return f"{name}={value}".replace(" : i64", "").replace("array<i64: ", "<")
