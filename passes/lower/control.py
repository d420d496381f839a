"""Structured control flow and calls as blocks and branches."""

from __future__ import annotations

from xdsl.dialects import func, llvm, scf
from xdsl.ir import Block

from aotc.errors import CompileError
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import NSW


def _for(f: FunctionLowering, op: scf.ForOp) -> None:
    """A loop tested at its head; LLVM rotates it."""
    b, types = f.b, f.types
    body = op.body.block
    head = Block(arg_types=[types.value(arg.type) for arg in body.args])
    inside, after = Block(), Block()
    head.name_hint, inside.name_hint, after.name_hint = "for", "body", "done"
    b.branch(head, [f.get(op.lb), *(f.get(value) for value in op.iter_args)])
    b.start(head)
    f.set_all(body.args, head.args)
    b.branch_if(b.icmp("slt", head.args[0], f.get(op.ub)), inside, after)
    b.start(inside)
    f.lower_block(body)
    terminator = body.last_op
    assert isinstance(terminator, scf.YieldOp)
    following = b.integer_op(llvm.AddOp, head.args[0], f.get(op.step), NSW)
    b.branch(head, [following, *(f.get(value) for value in terminator.arguments)])
    b.start(after)
    f.set_all(op.results, head.args[1:])


def _while(f: FunctionLowering, op: scf.WhileOp) -> None:
    """A loop tested where its first region ends."""
    b, types = f.b, f.types
    before, body = op.before_region.block, op.after_region.block
    head = Block(arg_types=[types.value(arg.type) for arg in before.args])
    inside, after = Block(), Block()
    head.name_hint, inside.name_hint, after.name_hint = "while", "body", "done"
    b.branch(head, [f.get(value) for value in op.arguments])
    b.start(head)
    f.set_all(before.args, head.args)
    f.lower_block(before)
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    handed_on = [f.get(value) for value in condition.args]
    b.branch_if(f.get(condition.condition), inside, after)
    b.start(inside)
    f.set_all(body.args, handed_on)
    f.lower_block(body)
    terminator = body.last_op
    assert isinstance(terminator, scf.YieldOp)
    b.branch(head, [f.get(value) for value in terminator.arguments])
    b.start(after)
    f.set_all(op.results, handed_on)


def _if(f: FunctionLowering, op: scf.IfOp) -> None:
    b = f.b
    then, after = Block(), Block(arg_types=[f.types.value(result.type) for result in op.results])
    otherwise = Block() if op.false_region.blocks else after
    then.name_hint, after.name_hint = "then", "endif"
    b.branch_if(f.get(op.cond), then, otherwise)
    for block, region in ((then, op.true_region), (otherwise, op.false_region)):
        if block is after:
            continue
        block.name_hint = "then" if block is then else "else"
        b.start(block)
        f.lower_block(region.block)
        last = region.block.last_op
        b.branch(after, [f.get(value) for value in last.operands] if isinstance(last, scf.YieldOp) else [])
    b.start(after)
    f.set_all(op.results, after.args)


def _call(f: FunctionLowering, op: func.CallOp) -> None:
    results = op.results
    if len(results) > 1:
        raise CompileError("no-form-in-llvm", f"a call of {op.callee.string_value()} has {len(results)} results")
    arguments = [f.get(value) for value in op.arguments]
    returned = f.b.call(op.callee.string_value(), arguments, f.types.value(results[0].type) if results else None)
    made = f.b.block.last_op
    assert made is not None
    made.location = op.location
    f.set_all(results, returned)


LOWERINGS: Lowerings = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    func.CallOp: _call,
    func.ReturnOp: lambda f, op: f.b.ret(f.get(op.arguments[0]) if op.arguments else None),
}
