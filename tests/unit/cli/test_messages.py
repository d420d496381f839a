"""Messages, word for word, of a handful of problems, which other tests know by id; and messages about models
that mean harm: nothing that a terminal obeys, no length without bound, each once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.parser import parse_model

import aotc
from aotc.cli.main import run
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


HARM = "\x1b]0;owned\x07\x1b[2J\u202e\u2066\u2028\u2029\x85\r\nerror: "
"""A title, a cleared screen, text from right to left, and lines of its own."""


@pytest.mark.parametrize(
    "command",
    [
        *("inspect {model}", "inspect {out}", "inspect {out}/m.json --as plan", "inspect {out}/m.json --as signatures"),
        *("inspect {out}/m.json --as pretty", "inspect {out}/m.c --as text", "inspect {out}/m.c --as functions"),
        *("plan {model}", "check {model}", "check {model} --json", "check {model} --target cortex-m4", "run {model}"),
        *("run {model} --json", "verify {model} --per-op", "compile {model} -o {out}"),
    ],
)
def test_names_in_models_reach_no_terminal(
    command: str, hostile: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = hostile
    assert run(command.format(model=model, out=out).split()) == 0
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert text and all(char.isprintable() or char == "\n" for char in text)
    assert not any(line.startswith("error:") for line in text.split("\n"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model whose names mean harm, and what is compiled of it."""
    x, y, between = (helper.make_tensor_value_info(f"{name}{HARM}", 1, [3]) for name in "xyb")
    nodes = [helper.make_node("CumSum", [x.name, "axis"], [between.name], name=f"n{HARM}")]
    nodes.append(helper.make_node("CumSum", [between.name, "axis"], [y.name], name=f"m{HARM}"))
    axis = numpy_helper.from_array(np.array(0, np.int32), "axis")
    graph = helper.make_graph(nodes, f"g{HARM}", [x], [y], [axis])
    folder = tmp_path_factory.mktemp("hostile")
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "model.onnx"
    )
    aotc.compile_to(folder / "model.onnx", folder / "out", name="m")
    return folder / "model.onnx", folder / "out"


def test_names_without_end_are_cut_in_the_middle() -> None:
    text = str(Problem("usage", "what" * 10000, node="n", fix="do it"))
    assert len(text) < 4100 and text.startswith("n: what") and text.endswith("do it [usage]") and " ... " in text


def test_a_problem_is_said_once() -> None:
    one, other = Problem("usage", "one"), Problem("usage", "other")
    assert CompileError([one, other, one, one]).problems == (one, other)
    assert CompileError("usage", "one").problems == (one,)
    assert str(Problem("usage", "what", op_type="graph.add")) == "(graph.add): what [usage]"
