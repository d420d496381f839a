"""What users read, word for word, of a handful of problems, which other tests know by id; and messages about models
that mean harm: nothing that a terminal obeys, no length without bound, each once."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

import aotc
from aotc.errors import AotcError, CompileError, Problem

HEADER = '<ir_version: 10, opset_import: ["" : 17]> '
CONV = (
    "g (float[1, 1, 4, 4] x) => (float[n] y) <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Conv%s(x, w) }"
)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (
            "g (float[2] x) => (float[n] y) { [last] y = Relv(x) }",
            {},
            "last (Relv): operator Relv is not supported; ONNX has none of that name; give a custom operator a domain "
            "and an importer (entry point aotc.onnx_importers) [unsupported-operator]",
        ),
        (
            CONV % "<kernel_shape = [5, 5]>",
            {},
            "Conv_0 (Conv): kernel_shape is [5, 5], the weight's is [3, 3] [invalid-attribute]",
        ),
        (
            CONV % "",
            {"target": "cortex-m5"},
            'target="cortex-m5"; there is no such target; did you mean cortex-m55 or cortex-m7 or cortex-m4? '
            "[unknown-target]",
        ),
        (
            CONV % "",
            {"input_shapes": {"x": (1, 1, 3)}},
            'input_shapes={"x": (1, 1, 3)}: the input has 4 dimensions, not 3: [1, 1, 4, 4] [mismatched-shape]',
        ),
        (
            CONV % "",
            {"threads": 2, "executor": "vm"},
            'executor="vm" with threads=2; bytecode calls operators on one thread; use threads=1 [option-conflict]',
        ),
    ],
)
def test_the_whole_message(graph: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(AotcError) as caught:
        aotc.compile(parse_model(HEADER + graph), **options)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert str(caught.value) == message


def test_what_a_terminal_would_obey_is_spelt_out() -> None:
    problem = Problem("usage", "no\x00pe", node="a\x1b[2J", op_type="Re\u202elu")
    assert str(problem) == "a\\x1b[2J (Re\\u202elu): no\\x00pe [usage]"
    assert str(Problem("usage", "größer; 大", fix="two\nlines")) == "größer; 大; two\nlines [usage]"


def test_names_without_end_are_cut_in_the_middle() -> None:
    text = str(Problem("usage", "what" * 10000, node="n", fix="do it"))
    assert len(text) < 4100 and text.startswith("n: what") and text.endswith("do it [usage]") and " ... " in text


def test_a_problem_is_said_once() -> None:
    one, other = Problem("usage", "one"), Problem("usage", "other")
    assert CompileError([one, other, one, one]).problems == (one, other)
    assert CompileError("usage", "one").problems == (one,)
    assert str(Problem("usage", "what", op_type="graph.add")) == "(graph.add): what [usage]"
