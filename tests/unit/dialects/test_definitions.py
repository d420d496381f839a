"""Operators on arrays compute what their kernels do, bit for bit: both are derived from `element` or `loops`.

`operators.txt` has rows for every operator: `graph.NAME {attributes} : (operands) -> results`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import ml_dtypes
import numpy as np
import pytest
from harness import by_c_and_llvm
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser

from aotc.dialects import array_builder
from aotc.dialects.dtypes import dtype_name, extended, integer_range, number_kind, numpy_dtype
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, LoopNestOp, element_type_of, shape_of
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

ROWS = [row for row in Path(__file__).with_name("operators.txt").read_text().splitlines() if row.startswith("graph.")]
DEFINED = [op for op in GRAPH.operations if issubclass(op, ElementOp | LoopNestOp)]
OVERRIDDEN = [op.name for op in DEFINED if op.evaluate not in (ElementOp.evaluate, LoopNestOp.evaluate)]
TOGETHER = 60
"""Rows that are compiled as one model."""
ULPS = 4
"""By which functions of libm may differ from those computed in f64."""


def name_of(row: str) -> str:
    return row.split(maxsplit=1)[0]


def parsed(row: str, prefix: str = "") -> tuple[str, list[str], GraphOp]:
    """The operation of a row: as text, with names that begin with `prefix`; the types of its operands; itself."""
    name, rest = row.split(maxsplit=1)
    attributes, signature = re.fullmatch(r"(.*?)\s*(: \(.*)", rest).groups()  # pyright: ignore[reportOptionalMemberAccess]
    operands, results = (re.findall(r"tensor<[^>]*>", part) for part in signature.split("->"))
    given = ", ".join(f"%{prefix}x{number}" for number in range(len(operands)))
    found = ", ".join(f"%{prefix}y{number}" for number in range(len(results)))
    text = f"{found} = {name} {given} {attributes} {signature}"
    arguments = ", ".join(f"%{prefix}x{number}: {kind}" for number, kind in enumerate(operands))
    context = Context()
    for dialect in (Builtin, Func, GRAPH):
        context.load_dialect(dialect)
    module = Parser(context, f"func.func @f({arguments}) {{ {text} func.return }}").parse_module()
    module.verify()
    (op,) = (op for op in module.walk() if isinstance(op, GraphOp))
    return text, operands, op


Draw = Callable[[np.random.Generator, GraphOp], Mapping[int, Array]]


def _places(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    extent = shape_of(op.operands[0])[op.properties["axis"].value.data]  # pyright: ignore[reportAttributeAccessIssue]
    return {1: rng.integers(0, extent, shape_of(op.operands[1]))}


def _children(rng: np.random.Generator, nodes: int, total: int, deep: bool = True) -> Array:
    """The children of nodes: those of the first may be nodes, those of others are leaves."""
    children = rng.integers(nodes, total, (nodes, 2))
    if deep:
        children[0] = rng.integers(1, total, 2)
    return children


def _number(op: GraphOp, name: str) -> int:
    return op.properties[name].value.data  # pyright: ignore[reportAttributeAccessIssue]


def _trees(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    nodes, total = shape_of(op.operands[1])[0], shape_of(op.operands[1])[0] + _number(op, "leaves")
    features = rng.integers(0, shape_of(op.operands[0])[1], nodes)
    children = _children(rng, nodes, total, _number(op, "depth") > 1)
    return {1: features, 3: children, 4: rng.integers(0, total, shape_of(op.operands[4]))}


def _packed_trees(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    total, inner = shape_of(op.operands[1])[0], _number(op, "inner")
    nodes = np.zeros((total, 4), np.int32)
    nodes[:, 0] = rng.integers(0, shape_of(op.operands[0])[1], total)
    nodes[:, 1] = rng.integers(-(2**31), 2**31 - 1, total)
    nodes[:, 2:] = np.arange(total)[:, None]
    nodes[:inner, 2:] = _children(rng, inner, total)
    return {1: nodes, 2: rng.integers(0, total, shape_of(op.operands[2]))}


def _masks(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    groups, rows, lanes = shape_of(op.operands[1])
    nodes = (rows - 1) // 4
    tables = rng.integers(0, nodes, (groups, rows, lanes)).astype(np.int32)
    tables[:, 0 : 3 * nodes : 3] = rng.integers(0, shape_of(op.results[1])[1], (groups, nodes, lanes))
    tables[:, 1 : 3 * nodes : 3] = rng.integers(-(2**31), 2**31 - 1, (groups, nodes, lanes))
    tables[:, 2 : 3 * nodes : 3] |= 1 << nodes  # a leaf is left
    return {1: tables}


def _steps(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    """Steps within the first block, of which one pair is plain and one of complements."""
    places, counts = (shape_of(op.operands[number]) for number in (2, 3))
    return {2: rng.integers(0, shape_of(op.operands[0])[-1] - 3, places), 3: np.ones(counts)}


def _votes(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    """Rows with numbers: of the wide ones each second is none."""
    rows, wide = shape_of(op.operands[0])[0], op.properties.get("wide")
    numbers = [row for row in range(rows) if wide is None or row < wide.value.data or (row - wide.value.data) % 2 == 0]  # pyright: ignore[reportAttributeAccessIssue]
    return {1: rng.choice(numbers, shape_of(op.operands[1]))}


def _scaled(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    x, factor, shift = map(shape_of, op.operands)
    return {0: rng.integers(-1000, 1000, x), 1: rng.integers(2**30, 2**31, factor), 2: rng.integers(0, 31, shift)}


def _lengths(rng: np.random.Generator, op: GraphOp) -> Mapping[int, Array]:
    return {2: rng.integers(1, shape_of(op.operands[1])[1], shape_of(op.operands[2]), endpoint=True)}


GIVEN: Mapping[str, Draw] = {
    "graph.resample": _places,
    "graph.tree_leaves": _trees,
    "graph.packed_tree_leaves": _packed_trees,
    "graph.masked_tree_leaves": _masks,
    "graph.paired_dot_conv": _steps,
    "graph.vote_sum": _votes,
    "graph.count_grams": _lengths,
    "graph.doubling_requantize": _scaled,
    "graph.slice_places": lambda rng, op: {0: rng.choice([5, -5], 1)},
}
"""Operands that are not free, by their position."""


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -3e38, 2.0**31, -(2.0**31), 2.0**63, 65504.0, 0.5, 2.5)


def _drawn(rng: np.random.Generator, value: SSAValue, *, special: bool = False) -> Array:
    """An operand, in which `special` numbers may be some."""
    kind, shape = element_type_of(value), shape_of(value)
    dtype = numpy_dtype(kind)
    drawn = _plain(rng, kind, shape, dtype)
    if not special or drawn.size < 8 or dtype == np.bool_:
        return drawn
    others = SPECIAL if number_kind(dtype) == "f" else integer_range(kind)
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) < 0.25, np.asarray(rng.choice(others, shape)).astype(dtype), drawn)


def _plain(rng: np.random.Generator, kind: Attribute, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    match number_kind(dtype):
        case "b":
            return np.asarray(rng.random(shape) < 0.5)
        case "f":
            scale = rng.choice([1, 100]) if dtype.itemsize > 1 else 1
            return np.asarray(rng.normal(size=shape) * scale).astype(dtype)
        case _:
            low, high = integer_range(kind)
            return np.asarray(rng.integers(max(low, -6), min(high, 6), shape, endpoint=True)).astype(dtype)


def drawn(row: str, op: GraphOp) -> list[Array]:
    """Operands for a row."""
    rng = np.random.default_rng(crc32(row.encode()))
    given = GIVEN.get(op.name, lambda rng, op: {})(rng, op)
    special = isinstance(op, ElementOp) and not given
    arrays = [given.get(number, _drawn(rng, value, special=special)) for number, value in enumerate(op.operands)]
    return [array.astype(numpy_dtype(element_type_of(value))) for array, value in zip(arrays, op.operands, strict=True)]


def derived(op: GraphOp, operands: Sequence[Array]) -> Sequence[Array]:
    """The results as the definition has them, whatever `evaluate` does."""
    found = ElementOp.evaluate(op, operands) if isinstance(op, ElementOp) else None
    found = LoopNestOp.evaluate(op, operands) if isinstance(op, LoopNestOp) else found
    assert found is not None, "it is computed on arrays"
    for value, result in zip(found, op.results, strict=True):
        assert (value.shape, value.dtype) == (shape_of(result), numpy_dtype(element_type_of(result)))
    return found


def assert_same(found: Array, expected: Array, row: str, ulps: int = 0) -> None:
    """Equal bit for bit, or within `ulps`; NaNs are equal."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), row
    if ulps and number_kind(found.dtype) == "f":
        tolerance = ulps * float(ml_dtypes.finfo(found.dtype).eps)
        wide = (array.astype(np.float64) for array in (found, expected))
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance, err_msg=row)
        return
    numbers = (found == found) | (expected == expected)
    bits = [extended(np.ascontiguousarray(array)).view(f"u{array.dtype.itemsize}") for array in (found, expected)]
    bits = [np.where(numbers, each.reshape(found.shape), 0) for each in bits]
    np.testing.assert_array_equal(*bits, err_msg=row)


def test_every_operator_has_rows() -> None:
    assert sorted({op.name for op in DEFINED} - set(map(name_of, ROWS))) == []


@pytest.fixture
def libm(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Functions of libm that have been computed since it was cleared."""
    used: list[str] = []
    rounded = array_builder._rounded  # pyright: ignore[reportPrivateUsage]

    def counted(function: Any, *operands: Array) -> Array:
        used.append(function.__name__)
        return rounded(function, *operands)

    monkeypatch.setattr(array_builder, "_rounded", counted)
    return used


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_what_numpy_computes_faster_is_what_the_definition_says(name: str) -> None:
    for row in ROWS:
        if name_of(row) == name:
            _, _, op = parsed(row)
            operands = drawn(row, op)
            for one, other in zip(op.evaluate(operands) or (), derived(op, operands), strict=False):
                assert_same(np.asarray(one), other, row)


@pytest.mark.parametrize("first", range(0, len(ROWS), TOGETHER))
def test_kernels_compute_what_the_definition_says(first: int, libm: list[str], tmp_path: Path) -> None:
    texts: list[str] = []
    arguments: list[str] = []
    returned: list[tuple[str, str]] = []
    feed: dict[str, Array] = {}
    expected: dict[str, tuple[Array, str, int]] = {}
    for number, row in enumerate(ROWS[first : first + TOGETHER]):
        text, kinds, op = parsed(row, f"r{number}")
        operands = drawn(row, op)
        libm.clear()
        results = derived(op, operands)
        texts.append(text)
        for place, (kind, value) in enumerate(zip(kinds, operands, strict=True)):
            dtype = dtype_name(element_type_of(op.operands[place]))
            arguments.append(f'%r{number}x{place}: {kind} {{aot.name = "r{number}x{place}", aot.dtype = "{dtype}"}}')
            feed[f"r{number}x{place}"] = value
        kept = len(results) - (len(op.scratch()) if isinstance(op, AnchorOp) else 0)
        for place, value in enumerate(results[:kept]):
            returned.append((f"r{number}y{place}", str(op.results[place].type)))
            expected[f"r{number}y{place}"] = value, row, ULPS if libm else 0
    dtypes = {name: value.dtype.name for name, (value, _, _) in expected.items()}
    listed = ", ".join(f'{kind} {{aot.name = "{name}", aot.dtype = "{dtypes[name]}"}}' for name, kind in returned)
    body = "\n".join([*texts, f"func.return {', '.join('%' + name for name, _ in returned)} : "])
    body += ", ".join(kind for _, kind in returned)
    path = tmp_path / "operators.mlir"
    path.write_text(
        f'builtin.module attributes {{aot.name = "operators"}} {{ func.func @main({", ".join(arguments)})'
        f" -> ({listed}) attributes {{aot.entry}} {{\n{body} }} }}"
    )
    options = CompileOptions.of(optimize=0, start_at="import")
    for compiled in by_c_and_llvm(path, tmp_path, options):
        found = compiled(feed)
        for name, (value, row, ulps) in expected.items():
            assert_same(np.asarray(found[name]), value, row, ulps)
