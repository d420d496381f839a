"""Objects of some functions of a module: what they define, what they declare, and who else sees it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass

_MODULE = """builtin.module attributes {aot.name = "m"} {
  func.func @run() -> i32 {
    %0 = func.call @kernel() : () -> i32
    %1 = func.call @helper() : () -> i32
    %2 = func.call @elsewhere() : () -> i32
    %3 = func.call @seen() : () -> i32
    func.return %0 : i32
  }
  func.func private @kernel() -> i32 attributes {aot.kernel} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @helper() -> i32 {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func public @seen() -> i32 attributes {aot.kernel} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @elsewhere() -> i32 attributes {aot.kernel}
  aot.global @table : !aot.struct<"AOTCFunctionEntry"> = [["run", @run], ["sizes", @sizes]]
  aot.global @sizes : i64 = [1 : i64] {sym_visibility = "private"}
  vm.func @bytecode() {
    %a = vm.call "f"() : () -> !vm.reg
    vm.return %a : !vm.reg
  }
}"""
_INTERNAL, _DECLARED, _HIDDEN = "internal", "declared", "hidden"


def _functions(only: Sequence[str] | None) -> dict[str, set[str]]:
    """The functions that an object of these has, and how."""
    module = Parser(new_context(), _MODULE).parse_module()
    names = set(map(StringAttr, only or ()))
    chosen = None if only is None else [op for op in module.ops if op.properties["sym_name"] in names]
    found: dict[str, set[str]] = {}
    for op in ConvertToLLVMPass().convert(module, None, chosen).ops:
        if isinstance(op, llvm.FuncOp):
            said = {
                _INTERNAL: op.linkage.linkage.data == "internal",
                _DECLARED: not op.body.blocks,
                _HIDDEN: op.visibility_.value.data == 1,
            }
            found[op.sym_name.data] = {word for word, holds in said.items() if holds}
    return found


def test_a_module_as_a_whole_shows_what_is_public() -> None:
    assert _functions(None) == {
        "run": set(),
        "kernel": {_INTERNAL},
        "helper": {_INTERNAL},
        "seen": set(),
        "elsewhere": {_DECLARED},
    }


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (
            ["run"],
            {
                "run": set(),
                "kernel": {_DECLARED, _HIDDEN},
                "helper": {_DECLARED, _HIDDEN},
                "seen": {_DECLARED},
                "elsewhere": {_DECLARED},
            },
        ),
        (
            ["run", "kernel", "seen"],
            {
                "run": set(),
                "kernel": {_HIDDEN},
                "helper": {_DECLARED, _HIDDEN},
                "seen": set(),
                "elsewhere": {_DECLARED},
            },
        ),
        (["kernel", "helper"], {"kernel": {_HIDDEN}, "helper": {_INTERNAL}}),
        (["seen", "elsewhere"], {"seen": set(), "elsewhere": {_DECLARED}}),
        (["table"], {"run": {_DECLARED}}),
    ],
)
def test_parts_of_a_module_see_each_other(only: Sequence[str], expected: dict[str, set[str]]) -> None:
    """Kernels are for other objects of the library, and for nobody else; what is not mentioned is not there."""
    assert _functions(only) == expected
