"""Verification between phases: what is wrong is found, also where something alike was right before."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from aotc.compiler.lowering import new_context
from aotc.pipeline.verification import verify

TEXT = """
func.func @f(%x: f32, %n: index, %m: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = arith.addf %x, %x : f32
  %b = arith.addf %a, %x : f32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %b) -> (f32) {
    %v = memref.load %m[%i] : memref<8xf32>
    %u = arith.addf %t, %v : f32
    scf.yield %u : f32
  }
  func.return %s : f32
}
"""


def _module() -> tuple[ModuleOp, list[Operation]]:
    module = Parser(new_context(), TEXT).parse_module()
    return module, list(module.walk())


def _find(ops: list[Operation], name: str, number: int = 0) -> Operation:
    return [op for op in ops if op.name == name][number]


def test_a_valid_module_is_valid() -> None:
    verify(_module()[0])


@pytest.mark.parametrize("number", range(3))
def test_types_are_checked_although_a_like_operation_was_right(number: int) -> None:
    module, ops = _module()
    _find(ops, "arith.addf", number).results[0]._type = i32  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(VerifyException):
        verify(module)


def test_attributes_are_checked_although_a_like_operation_was_right() -> None:
    module, ops = _module()
    _find(ops, "arith.constant", 1).properties["value"] = f32
    with pytest.raises(VerifyException):
        verify(module)


def test_a_value_must_be_defined_before_its_use() -> None:
    module, ops = _module()
    first, second = _find(ops, "arith.addf"), _find(ops, "arith.addf", 1)
    first.detach()
    assert second.parent is not None
    second.parent.insert_op_after(first, second)
    with pytest.raises(VerifyException, match=r"arith\.addf uses a value that is not defined before"):
        verify(module)


def test_a_value_of_a_loop_is_not_defined_after_it() -> None:
    module, ops = _module()
    _find(ops, "func.return").operands[0] = _find(ops, "memref.load").results[0]
    with pytest.raises(VerifyException, match="not defined before"):
        verify(module)


def test_a_value_of_another_function_is_not_defined() -> None:
    module, ops = _module()
    other = Parser(new_context(), TEXT.replace("@f", "@g")).parse_module()
    function = next(iter(other.ops))
    assert isinstance(function, FuncOp)
    function.detach()
    module.body.block.add_op(function)
    _find(list(function.walk()), "func.return").operands[0] = _find(ops, "arith.addf").results[0]
    with pytest.raises(VerifyException):
        verify(module)


def test_a_block_ends_with_a_terminator() -> None:
    module, ops = _module()
    last = _find(ops, "func.return")
    block = last.parent
    assert block is not None
    last.detach()
    with pytest.raises(VerifyException, match="terminator"):
        verify(module)
    block.add_op(arith.AddfOp(block.args[0], block.args[0]))
    with pytest.raises(VerifyException, match="terminator"):
        verify(module)


def test_a_region_has_no_empty_block() -> None:
    module, ops = _module()
    block = _find(ops, "scf.for").regions[0].block
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase()
    with pytest.raises(VerifyException):
        verify(module)
