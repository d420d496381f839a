"""Symbolic dimensions: fixed by name or by shape, or one error that says what is open."""

from __future__ import annotations

import pytest
from onnx_text import Imported, parse

from aotc.errors import CompileError, UsageError

TWO = parse("g (float[batch, seq, 8] x, float[batch, seq] m) => (float[batch, seq, 8] y) { y = Relu(x) }")
OPEN = parse("g (float[?, 3] x) => (float[?, 3] y) { y = Relu(x) }")


def shapes(imported: Imported) -> list[tuple[int, ...]]:
    return [kind.get_shape() for kind in imported.function.function_type.inputs]  # pyright: ignore


def test_dimensions_by_name() -> None:
    assert shapes(Imported(TWO, dims={"batch": 2, "seq": 5})) == [(2, 5, 8), (2, 5)]


def test_a_shape_fixes_its_symbols_everywhere() -> None:
    assert shapes(Imported(TWO, input_shapes={"x": (2, 5, 8)})) == [(2, 5, 8), (2, 5)]
    assert shapes(Imported(TWO, input_shapes={"m": (2, 5)})) == [(2, 5, 8), (2, 5)]
    assert shapes(Imported(TWO, dims={"seq": 5}, input_shapes={"x": (2, 5, 8)})) == [(2, 5, 8), (2, 5)]


def test_open_dimensions_are_one_error_with_the_options_to_give() -> None:
    with pytest.raises(CompileError) as caught:
        Imported(TWO, dims={"batch": 2})
    (problem,) = caught.value.problems
    assert "x [batch, seq, 8], m [batch, seq]" in problem.what
    assert problem.fix == "fix them with --dim seq=N"
    with pytest.raises(CompileError) as caught:
        Imported(OPEN)
    assert caught.value.problems[0].fix == "fix them with --input-shape x=N,3"


def test_an_input_without_a_rank() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(CompileError, match=r"--input-shape x.*\[open-shapes\]"):
        Imported(model)
    assert shapes(Imported(model, input_shapes={"x": (4,)})) == [(4,)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dims": {"bacth": 1}}, "unknown-dimension"),
        ({"dims": {"batch": 0}}, "out-of-range"),
        ({"input_shapes": {"z": (1,)}}, "unknown-input"),
        ({"input_shapes": {"m": (1, 2, 3)}}, "mismatched-shape"),
        ({"input_shapes": {"x": (1, 2, 9)}}, "mismatched-shape"),
        ({"input_shapes": {"x": (1, -2, 8)}}, "out-of-range"),
        ({"dims": {"seq": 3}, "input_shapes": {"m": (1, 2)}}, "mismatched-shape"),
        ({"input_shapes": {"x": (1, 2, 8), "m": (1, 3)}}, "mismatched-shape"),
    ],
)
def test_contradictions_are_usage_errors(options: dict[str, dict[str, object]], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Imported(TWO, **options)


def test_sizes_are_bounded() -> None:
    with pytest.raises(CompileError, match="unsupported-input"):
        Imported(TWO, dims={"batch": 1 << 20, "seq": 1 << 20})


def test_operators_without_an_importer_are_reported_with_open_dimensions() -> None:
    model = parse("g (float[n] x) => (float[n] y) { y = Hardmax_(x) }")
    with pytest.raises(CompileError) as caught:
        Imported(model)
    assert len(caught.value.problems) == 2
    assert "Hardmax__0 (Hardmax_): operator Hardmax_ is not supported; ONNX has none of that name" in str(caught.value)
