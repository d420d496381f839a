"""Small models that ask for much: bounds on what importing and folding make, and the options that lift them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from memory import most_more
from onnx_text import Imported, parse
from xdsl.context import Context

import aotc
from aotc import CompiledModel
from aotc.dialects.constants import constant_op, folded
from aotc.dialects.graph.movement import BroadcastOp, ConcatOp
from aotc.errors import CompileError, OutOfMemoryError
from aotc.frontend.onnx import import_model, load_model
from aotc.frontend.onnx.registry import Node
from aotc.model.weight_store import WeightStore

LOCAL = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'
"""Two operator sets: ONNX's, and that of the functions below."""

GREEDY = {
    "Range": """g (float[1] x) => (float y)
        <int64 zero = {0}, int64 end = {1000000000}, int64 one = {1}>
        { r = Range(zero, end, one)  f = Cast<to = 1>(r)  s = ReduceSum<keepdims = 0>(f)  y = Add(s, x) }""",
    "OneHot": """g (int64[1] x) => (float[1, 2000000000] y)
        <int64 depth = {2000000000}, float[2] values = {0, 1}> { y = OneHot(x, depth, values) }""",
    "Hardmax": "g (float[1000000000] x) => (float[1000000000] y) { y = Hardmax<axis = 0>(x) }",
    "STFT": """g (float[1, 60000, 1] x) => (float[1, 30001, 15001, 2] y) <int64 step = {1}, int64 length = {30000}>
        { y = STFT(x, step, , length) }""",
    "Resize": """g (float[4] x) => (float[M] y) <float[1] s = {1e8}> { y = Resize<mode = "linear">(x, , s) }""",
    "TreeEnsembleRegressor": """g (float[1, 1] x) => (float[1, 1000000000] y)
        { y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1000000000, nodes_treeids = [0, 0, 0],
            nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_values = [0.0, 0.0, 0.0], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0],
            target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [1.0, 2.0]>(x) }""",
    "TfIdfVectorizer": """g (int64[4] x) => (float[M] y)
        { y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
            ngram_counts = [0], ngram_indexes = [1000000000], pool_int64s = [7]>(x) }""",
    "AffineGrid": """g (float[1, 2, 3] t) => (float[1, 0, 100000000, 2] y) <int64[4] size = {1, 1, 0, 100000000}>
        { y = AffineGrid(t, size) }""",
}


def problem_of(graph: str, most_computed: int | None = None) -> str:
    ctx = Context()
    if most_computed is not None:
        WeightStore.of(ctx).most_computed = most_computed
    header = '<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 3]>'
    with pytest.raises(CompileError) as caught:
        import_model(load_model(parse(graph, header=header)), ctx)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize("op", GREEDY)
def test_a_constant_that_is_too_large_is_refused_before_it_is_made(op: str) -> None:
    problem = problem_of(GREEDY[op])
    assert f"({op}): constants of " in problem and "--max-constants" in problem


@pytest.mark.parametrize(
    ("op", "size"),
    [("STFT", ("30000", "2000", "30001", "2001", "60000", "4000", "15001", "1001")), ("TreeEnsembleRegressor", ())],
)
def test_what_is_made_takes_little_more_memory_than_is_allowed(op: str, size: tuple[str, ...]) -> None:
    """Constants of 16 MB, with all that they are made of."""
    graph = GREEDY[op].replace("1000000000", "2000000")
    for old, new in zip(size[::2], size[1::2], strict=True):
        graph = graph.replace(old, new)
    model = load_model(parse(graph, header='<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 3]>'))
    assert most_more(lambda: import_model(model, Context())) < 100 << 20


def test_a_large_unit_matrix_is_no_constant() -> None:
    graph = "g (float[40000, 40000] x) => (float[40000, 40000] y) { e = EyeLike(x)  y = Add(e, x) }"
    ctx = Context()
    import_model(load_model(parse(graph, header='<ir_version: 10, opset_import: ["" : 20]>')), ctx)
    assert all(WeightStore.of(ctx)[key].size == 1 for key in WeightStore.of(ctx))


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


def test_what_grows_by_being_repeated_is_not_folded() -> None:
    store = WeightStore()
    one = constant_op(np.ones(1000, np.float32), "one", store)
    assert folded(ConcatOp.get([one.result, one.result], axis=0), store) is None
    other = constant_op(np.zeros(1000, np.float32), "other", store)
    assert folded(ConcatOp.get([one.result, other.result], axis=0), store) is not None


def test_options_lift_the_bounds() -> None:
    source = parse(ranges(1)).SerializeToString()
    with pytest.raises(CompileError, match=r"max_constants=SIZE.*\[too-large\]"):
        aotc.compile(source, max_constants="4K")
    model = aotc.compile(source, max_constants="8K")
    assert (model(np.zeros(1000, np.int64))["y0"] == np.arange(1000)).all()


def test_tables_of_angles_are_constants_or_computed() -> None:
    text = """g (float[16, 16] x) => (float[64, 16] y)
    <int64 from = {0}, int64 to = {64}, int64 by = {1}, int64[1] axis = {1}, float[1, 16] f = {FREQUENCIES}> {
        range = Range(from, to, by)  positions = Unsqueeze(range, axis)  reals = Cast<to = 1>(positions)
        angles = MatMul(reals, f)  c = Cos(angles)  y = MatMul(c, x) }"""
    frequencies = np.float32(10) ** -np.arange(16, dtype=np.float32)
    source = parse(text.replace("FREQUENCIES", ", ".join(map(str, frequencies)))).SerializeToString()
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    folded, computed = (aotc.compile(source, max_folded=most) for most in ("4K", "4095"))
    np.testing.assert_allclose(folded(x)["y"], computed(x)["y"], atol=1e-5)
    assert isinstance(folded, CompiledModel) and isinstance(computed, CompiledModel)
    assert (folded.plan.peak_bytes, computed.plan.peak_bytes) == (0, 4096)


def nested(depth: int) -> bytes:
    """A call of a function that calls another twice, and so on: 2^depth nodes."""
    functions = '<domain: "local", opset_import: ["" : 17]> f0 (x) => (y) { y = Relu(x) }'
    for level in range(1, depth + 1):
        functions += (
            f'<domain: "local", opset_import: ["" : 17, "local" : 1]> '
            f"f{level} (x) => (y) {{ a = local.f{level - 1}(x)  y = local.f{level - 1}(a) }}"
        )
    return parse(f"g (float[2] x) => (float[2] y) {{ y = local.f{depth}(x) }}", functions, LOCAL).SerializeToString()


def test_memory_that_is_short_where_a_node_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def allocating(*_: object) -> None:
        raise MemoryError("Unable to allocate 9. GiB")

    monkeypatch.setattr(Node, "emit", allocating)
    with pytest.raises(OutOfMemoryError, match=r"Relu_0 \(Relu\): .*Unable to allocate .*\[out-of-memory\]"):
        Imported(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"))


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
