"""Einstein sums against numpy, over random equations (onnxruntime does not survive all of them)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import aotc

Array = np.ndarray[Any, Any]


def equation(r: np.random.Generator) -> tuple[str, list[Array]]:
    """Up to three terms, some with diagonals, some with axes that broadcast; and operands for them."""
    sizes = dict(zip("abcde", r.integers(1, 6, 5), strict=True))
    terms = ["".join(r.choice(list("abcde"), size=int(r.integers(1, 5)))) for _ in range(int(r.integers(1, 4)))]
    terms = [term if r.integers(3) == 0 else "".join(dict.fromkeys(term)) for term in terms]
    named = sorted(set("".join(terms)))
    result = "".join(r.permutation(named)[: int(r.integers(len(named) + 1))])
    shapes = [[int(sizes[axis]) for axis in term] for term in terms]
    if r.integers(2):
        outer = [int(extent) for extent in r.integers(1, 4, 2)]
        for term, shape in enumerate(shapes):
            more = [extent if r.integers(2) else 1 for extent in outer[int(r.integers(3)) :]]
            place = int(r.integers(len(shape) + 1))
            terms[term] = terms[term][:place] + "..." + terms[term][place:]
            shape[place:place] = more
        result = "..." + result
    text = ",".join(terms) + ("" if r.integers(5) == 0 else "->" + result)
    return text, [r.standard_normal(shape).astype(np.float32) for shape in shapes]


def compiled(text: str, operands: list[Array]) -> Array:
    names = [f"x{i}" for i in range(len(operands))]
    graph = helper.make_graph(
        [helper.make_node("Einsum", names, ["y"], equation=text)],
        "einsum",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in zip(names, operands, strict=True)],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return np.asarray(aotc.compile(model)(dict(zip(names, operands, strict=True)))["y"])


@pytest.mark.parametrize("seed", range(40))
def test_random_equations_agree_with_numpy(seed: int) -> None:
    text, operands = equation(np.random.default_rng(seed))
    expected = np.einsum(text, *operands)
    found = compiled(text, operands)
    assert found.shape == expected.shape, text
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=text)


@pytest.mark.parametrize(
    ("text", "shapes", "problem"),
    [
        ("ij->i", [(2, 3), (3,)], "invalid-attribute"),
        ("ij->k", [(2, 3)], "invalid-attribute"),
        ("i->i", [(2, 3)], r"input 0.*\[invalid-shape\]"),
        ("ij,jk->ik", [(2, 3), (4, 2)], "invalid-shape"),
        ("ii->i", [(1, 3)], "invalid-shape"),
        ("i1->i", [(2, 3)], "invalid-attribute"),
    ],
)
def test_equations_that_do_not_fit(text: str, shapes: list[tuple[int, ...]], problem: str) -> None:
    with pytest.raises(aotc.CompileError, match=problem):
        compiled(text, [np.zeros(shape, np.float32) for shape in shapes])
