"""IR is read as xDSL reads it, though each type is read once."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from aotc.compiler.lowering import new_context
from aotc.pipeline.textual_ir import IRParser, ir_text

TYPES = (
    "f32",
    "index",
    "vector<4xf32>",
    "vector<4x2xf32>",
    "vector<4x2xi1>",
    "memref<4x2xf32>",
    "memref<4x2xf32, strided<[1, 4]>>",
    "memref<4x2xf32, 1>",
    "memref<?x2xf32>",
    "memref<f32>",
    "memref<4xvector<2xf32>>",
    "memref<4xindex>",
    "tensor<4x2xf32>",
    "tensor<4x2xf32, 3 : i64>",
    "tensor<*xf32>",
    "tuple<vector<4xf32>, vector<4xf32>>",
    "!aot.ptr<f32>",
    "!aot.ptr<i8>",
    "!aot.ptr<si8>",
    "(vector<4xf32>) -> memref<f32>",
)


def _read(parser: type[Parser], text: str) -> str:
    return ir_text(parser(new_context(), text, "types.mlir").parse_module())


@pytest.mark.parametrize("before", TYPES)
def test_types_are_those_that_xdsl_reads(before: str) -> None:
    """Twice, each after another."""
    listed = ", ".join(f"{before}, {kind}" for kind in (*TYPES, *TYPES))
    text = f'builtin.module {{ "test.op"() {{types = [{listed}]}} : () -> ({before}) }}'
    assert _read(IRParser, text) == _read(Parser, text)


@pytest.mark.parametrize("kind", ["vector<4xf33>", "vector<4xf32", "vector<4x>", "memref<2xf32 4>", "!aot.ptr<f33>"])
def test_what_is_no_type_is_said_where_it_is(kind: str) -> None:
    text = f'builtin.module {{ "test.op"() {{types = [vector<4xf32>, vector<4xf32>, {kind}]}} : () -> () }}'
    said: list[str] = []
    for parser in (IRParser, Parser):
        with pytest.raises(ParseError) as error:
            _read(parser, text)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_loop_with_a_condition_is_read_back_with_its_node() -> None:
    text = """builtin.module {
      func.func @f(%n: index) -> index {
        %r = scf.while (%i = %n) : (index) -> index {
          %c = arith.constant true
          scf.condition(%c) %i : index
        } do {
        ^bb0(%i: index):
          scf.yield %i : index
        } loc("Loop_2")
        func.return %r : index
      }
    }"""
    once = _read(IRParser, text)
    assert once.count('loc("Loop_2")') == 1 and _read(IRParser, once) == once
