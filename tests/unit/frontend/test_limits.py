"""Small models that ask for much: bounds on what importing and folding make, and the options that lift them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_text import Imported, parse
from xdsl.context import Context

import aotc
from aotc.dialects.constants import constant_op, folded
from aotc.dialects.graph.movement import BroadcastOp
from aotc.errors import CompileError
from aotc.frontend.onnx import import_model, load_model
from aotc.model.weight_store import WeightStore

LOCAL = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'
"""Two operator sets: ONNX's, and that of the functions below."""

GREEDY = {
    "Range": """g (float[1] x) => (float y)
        <int64 zero = {0}, int64 end = {1000000000}, int64 one = {1}>
        { r = Range(zero, end, one)  f = Cast<to = 1>(r)  s = ReduceSum<keepdims = 0>(f)  y = Add(s, x) }""",
    "OneHot": """g (int64[1] x) => (float[1, 2000000000] y)
        <int64 depth = {2000000000}, float[2] values = {0, 1}> { y = OneHot(x, depth, values) }""",
    "EyeLike": "g (float[40000, 40000] x) => (float[40000, 40000] y) { e = EyeLike(x)  y = Add(e, x) }",
    "Hardmax": "g (float[1000000000] x) => (float[1000000000] y) { y = Hardmax<axis = 0>(x) }",
}


def problem_of(graph: str, most_computed: int | None = None) -> str:
    ctx = Context()
    if most_computed is not None:
        WeightStore.of(ctx).most_computed = most_computed
    with pytest.raises(CompileError) as caught:
        import_model(load_model(parse(graph)), ctx)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize("op", GREEDY)
def test_a_constant_that_is_too_large_is_refused_before_it_is_made(op: str) -> None:
    problem = problem_of(GREEDY[op])
    assert f"({op}): constants of " in problem and "--max-constants" in problem


def ranges(count: int) -> str:
    sums = "".join(f"r{i} = Range(zero, end, one)  y{i} = Add(x, r{i})  " for i in range(count))
    outputs = ", ".join(f"int64[1000] y{i}" for i in range(count))
    return (
        f"g (int64[1000] x) => ({outputs}) <int64 zero = {{0}}, int64 end = {{1000}}, int64 one = {{1}}> {{ {sums} }}"
    )


def test_all_constants_of_a_model_count_together() -> None:
    Imported(parse(ranges(3)))
    assert "r2" not in problem_of(ranges(3), most_computed=20_000)
    assert "after 16,000 of other nodes" in problem_of(ranges(3), most_computed=20_000)


def with_its_own(calls: int) -> onnx.ModelProto:
    """Calls of a function that holds a constant of 4,000 bytes."""
    values = ", ".join("1.5" for _ in range(1000))
    body = f"{{ c = Constant<value = float[1000] {{{values}}}>()  y = Add(x, c) }}"
    nodes = "".join(f"a{i + 1} = local.shift(a{i})  " for i in range(calls))
    graph = f"g (float[1000] a0) => (float[1000] a{calls}) {{ {nodes} }}"
    return parse(graph, f'<domain: "local", opset_import: ["" : 17]> shift (x) => (y) {body}', LOCAL)


def test_a_constant_of_the_file_counts_where_calls_repeat_it() -> None:
    def compiled(calls: int) -> aotc.CompiledModel:
        return aotc.compile(with_its_own(calls).SerializeToString(), max_constants="1K")

    assert (compiled(1)(np.ones(1000, np.float32))["a1"] == 2.5).all()
    with pytest.raises(CompileError, match="too-large"):
        compiled(3)


def test_what_is_folded_counts_by_what_it_adds() -> None:
    store = WeightStore()
    one = constant_op(np.ones(1, np.float32), "one", store)
    store.most_computed = 4 * 1000 - 4
    assert folded(BroadcastOp.get(one, shape=[1000]), store) is not None
    with pytest.raises(CompileError, match="too-large"):
        folded(BroadcastOp.get(one, shape=[2]), store, "grow", "Expand")


def test_options_lift_the_bounds() -> None:
    source = parse(ranges(1)).SerializeToString()
    with pytest.raises(CompileError, match=r"max_constants=SIZE.*\[too-large\]"):
        aotc.compile(source, max_constants="4K")
    model = aotc.compile(source, max_constants="8K")
    assert (model(np.zeros(1000, np.int64))["y0"] == np.arange(1000)).all()


def nested(depth: int) -> bytes:
    """A call of a function that calls another twice, and so on: 2^depth nodes."""
    functions = '<domain: "local", opset_import: ["" : 17]> f0 (x) => (y) { y = Relu(x) }'
    for level in range(1, depth + 1):
        functions += (
            f'<domain: "local", opset_import: ["" : 17, "local" : 1]> '
            f"f{level} (x) => (y) {{ a = local.f{level - 1}(x)  y = local.f{level - 1}(a) }}"
        )
    return parse(f"g (float[2] x) => (float[2] y) {{ y = local.f{depth}(x) }}", functions, LOCAL).SerializeToString()


def test_functions_that_grow_without_bound_are_refused() -> None:
    with pytest.raises(CompileError, match=r"max_nodes=N.*\[too-large\]"):
        aotc.compile(nested(40), max_nodes=100)
    with pytest.raises(CompileError, match=r"max_nodes=N.*\[too-large\]"):
        aotc.compile(nested(4), max_nodes=20)
    model = aotc.compile(nested(4), max_nodes=50)
    assert model(np.array([-1, 2], np.float32))["y"].tolist() == [0, 2]


def test_nodes_of_the_graph_itself_do_not_count() -> None:
    nodes = "".join(f"a{i + 1} = Neg(a{i})  " for i in range(30))
    Imported(parse(f"g (float[2] a0) => (float[2] a30) {{ {nodes} }}"), max_nodes=0)
