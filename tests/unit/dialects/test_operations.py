"""Operations of `dialects.operations` are those that xDSL makes."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects import arith, llvm, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, VectorType, f32, i1, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotc.dialects.operations import append, make, take_name, walk

LANES = VectorType(f32, [8])


def _uses(value: SSAValue | Block) -> list[tuple[int, int]]:
    return [(id(use.operation), use.index) for use in value.uses]


@pytest.mark.parametrize(
    ("kind", "operands", "result", "properties"),
    [
        (arith.AddfOp, (0, 1), LANES, {}),  # which has a default property
        (arith.AddfOp, (0, 0), LANES, {"fastmath": arith.FastMathFlagsAttr("fast")}),
        (arith.ConstantOp, (), f32, {"value": FloatAttr(1.0, f32)}),
        (llvm.FAddOp, (1, 0), LANES, {"fastmathFlags": llvm.FastMathAttr(None)}),
        (llvm.LoadOp, (2,), LANES, {"ordering": IntegerAttr(0, i64), "alignment": IntegerAttr(32, i64)}),
        (llvm.StoreOp, (0, 2), None, {"ordering": IntegerAttr(0, i64)}),
        (llvm.ReturnOp, (), None, {}),
    ],
)
def test_an_operation_is_as_created(
    kind: type[Operation], operands: tuple[int, ...], result: Any, properties: dict[str, Any]
) -> None:
    types = (LANES, LANES, llvm.LLVMPointerType())
    ours, theirs = Block(arg_types=types), Block(arg_types=types)
    made = make(kind, [ours.args[at] for at in operands], result, properties)
    created = kind.create(
        operands=[theirs.args[at] for at in operands],
        result_types=() if result is None else (result,),
        properties=properties,
    )
    append(ours, made)
    theirs.add_op(created)
    assert vars(made).keys() == vars(created).keys()
    assert list(made.properties.items()) == list(created.properties.items())
    assert made.properties is not properties and made.attributes == {} and made.location == created.location
    assert ours.is_structurally_equivalent(theirs)
    for ours_arg, theirs_arg in zip(ours.args, theirs.args, strict=True):
        assert [index for _, index in _uses(ours_arg)] == [index for _, index in _uses(theirs_arg)]
    assert all(operation == id(made) for arg in ours.args for operation, _ in _uses(arg))


def test_uses_can_be_replaced_and_dropped() -> None:
    block = Block(arg_types=[LANES, LANES])
    a, b = block.args
    ops = [make(arith.AddfOp, (a, b), LANES), make(arith.MulfOp, (a, a), LANES)]
    for op in ops:
        append(block, op)
    assert a.uses.get_length() == 3
    a.replace_all_uses_with(b)
    assert a.first_use is None and b.uses.get_length() == 4
    for op in reversed(ops):
        Rewriter.erase_op(op)
    assert b.first_use is None and block.is_empty


def test_a_branch_uses_its_block() -> None:
    target, block = Block(), Block(arg_types=[i1])
    branch = make(llvm.BrOp, (), None, {}, (target,))
    append(block, branch)
    assert _uses(target) == [(id(branch), 0)] and [*branch.successors] == [target]


def test_operations_are_appended_in_order() -> None:
    block = Block()
    ops = [make(arith.ConstantOp, (), f32, {"value": FloatAttr(float(number), f32)}) for number in range(3)]
    for op in ops:
        append(block, op)
    assert [*block.ops] == ops and [*reversed(block.ops)] == ops[::-1]
    assert block.last_op is ops[-1] and all(op.parent is block for op in ops)


def test_a_name_is_taken_where_there_is_none() -> None:
    a, b, c = Block(arg_types=[f32, f32, f32]).args
    a.name_hint, c.name_hint = "a", "c"
    for value in (b, c):
        take_name(value, a)
    assert (b.name_hint, c.name_hint) == ("a", "c")


def test_walking_is_in_the_order_of_the_text() -> None:
    block = Block(arg_types=[MemRefType(f32, [8])])
    bounds = [make(arith.ConstantOp, (), IndexType(), {"value": IntegerAttr.from_index_int_value(n)}) for n in (0, 8)]
    inner = Block(arg_types=[IndexType()])
    load = memref.LoadOp.get(block.args[0], [inner.args[0]])
    inner.add_ops([load, scf.YieldOp()])
    for op in bounds:
        append(block, op)
    block.add_op(scf.ForOp(bounds[0], bounds[1], bounds[1], [], inner))
    module = ModuleOp([])
    module.body.block.add_ops(block.detach_op(op) for op in list(block.ops))
    assert [*walk(module)] == [*module.walk()]
    for op in walk(module):  # what is at hand may go
        if op is load:
            Rewriter.erase_op(op)
    assert load not in module.walk()
