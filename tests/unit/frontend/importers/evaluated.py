"""Small models imported and evaluated by the definitions of their operations: nothing is compiled, so that many take
little time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pytest
from harness import Array, Feed, assert_close, reference, with_known
from node_suite.cases import Case, load_cases
from node_suite.outcomes import Route, cut_to_counts, expected_reason, outcome
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx_text import Imported, parse

import aotc
from aotc.dialects.aot.contract.arguments import arguments_of, results_of
from aotc.dialects.constants import constant_array
from aotc.dialects.dtypes import ELEMENT_TYPES, number_kind, numpy_dtype
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.errors import CompileError
from aotc.frontend.onnx.registry import IMPORTERS, load_importers
from aotc.frontend.onnx.tensors import DTYPES


def evaluate(model: ModelProto, feed: Feed) -> dict[str, Array]:
    """The outputs of a model for the inputs that are left to run time."""
    imported = Imported(model)
    block = imported.function.body.block
    values = {value: feed[given.name] for value, given in zip(block.args, arguments_of(imported.function), strict=True)}
    for op in block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = constant_array(op, imported.store)
        elif isinstance(op, GraphOp):
            with np.errstate(all="ignore"):
                found = op.evaluate([values[operand] for operand in op.operands])
            if found is None:
                return aotc.compile(model, optimize=0)(feed)  # it has no definition but its kernel
            values.update(zip(op.results, found, strict=True))
    assert block.last_op is not None
    names = [result.name for result in results_of(imported.function)]
    return {name: values[value] for name, value in zip(names, block.last_op.operands, strict=True)}


def outputs(model: ModelProto, feed: Feed) -> list[Any]:
    """The outputs in order, with as many inputs left to run time as may be: shapes and the like must be known."""
    empty = [name for name, value in feed.items() if value.size == 0]
    others = [name for name, value in feed.items() if value.size]
    for known in (empty, empty + others[1:], empty + others):
        try:
            return cut_to_counts(evaluate(with_known(model, feed, known), feed))
        except CompileError as error:
            if "unknown-value" not in {problem.id for problem in error.problems} or len(known) == len(feed):
                raise
    raise AssertionError("the last try returns or raises")


@cache
def _recorded() -> list[Case]:
    """The onnx package's cases of single operators from tensors to tensors, which have numbers."""
    found = (case for case in load_cases() if not case.name.endswith("_expanded"))
    return [case for case in found if not expected_reason(case.name) and _is_plain(case)]


def _is_plain(case: Case) -> bool:
    values = (*case.model.graph.input, *case.model.graph.output)
    return not case.has_control_flow and all(value.type.HasField("tensor_type") for value in values)


def recorded(module: str) -> list[Any]:
    """Those cases whose operator an importer of a module imports, for pytest."""
    load_importers()
    own = {key for key, importer in IMPORTERS.items() if importer.__module__ == module}
    keys = ({(node.domain, node.op_type) for node in case.model.graph.node} for case in _recorded())
    return [pytest.param(case, id=case.name) for case, of in zip(_recorded(), keys, strict=True) if of & own]


def check_recorded(case: Case) -> None:
    """Fail where a case's outputs are not those recorded, or onnxruntime's."""
    for feed, _ in case.data():
        found = outcome(case, Route(), outputs(case.model, feed))
        assert found.status == "passed", found.reason


def drawn(model: ModelProto) -> dict[str, Array]:
    """An input for each that a model has: integers below 4, floats about 0."""
    random = np.random.default_rng(3)
    found: dict[str, Array] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape, dtype = [dim.dim_value for dim in kind.shape.dim], numpy_dtype(ELEMENT_TYPES[DTYPES[kind.elem_type]])
        most = 2 if dtype.kind == "b" else 4
        number = random.normal(size=shape) if number_kind(dtype) == "f" else random.integers(0, most, shape)
        found[value.name] = np.asarray(number).astype(dtype)
    return found


def parsed(graph: str) -> ModelProto:
    """A model of a graph in ONNX's syntax, as `17 | float[2] x; float[2] w = {1, 2} | y = Add(x, w)`: the version of
    the operator set, inputs and constants, and nodes, whose results are the outputs `y`, `y2` and so on. `ms.`
    and `ml.` stand for the domains com.microsoft and ai.onnx.ml, of whose set the version follows after a comma."""
    graph = graph.replace(" ms.", " com.microsoft.").replace(" ml.", " ai.onnx.ml.")
    versions, given, nodes = (part.strip() for part in graph.split("|", 2))
    version, _, learning = versions.partition(", ")
    inputs, _, constants = given.partition(";")
    outputs = ", ".join(dict.fromkeys(re.findall(r"\by[0-9]?\b(?=[^=()<>{}]*=)", nodes)))
    sets = f'"" : {version}, "com.microsoft" : 1, "ai.onnx.ml" : {learning or 3}, "ai.onnx.preview.training" : 1'
    text = f"g ({inputs}) => ({outputs}) <{constants}> {{ {nodes} }}"
    return parse(text, header=f"<ir_version: 10, opset_import: [{sets}]>")


def rows(table: str) -> list[Any]:
    """The lines of a table, for `check`: a graph as of `parsed`, and after another | the outcome that is expected. A
    line that begins with spaces continues the one before it."""
    lines = re.sub(r"\n +", " ", table).strip().splitlines()
    parts = (tuple(part.strip() for part in line.rpartition("|")) for line in lines)
    return [pytest.param(graph, expected, id=f"{graph} | {expected}") for graph, _, expected in parts]


def agrees(graph: str, **feed: Array) -> None:
    """Fail where the outputs of a graph are not onnxruntime's, or those of the onnx package where that has none."""
    model = parsed(graph)
    feed = drawn(model) | feed
    expected = reference(model, feed, optimized=False)
    if expected is None:
        expected = ReferenceEvaluator(model).run(None, feed)
    assert_outputs(graph, feed, expected)


def assert_outputs(graph: str, feed: Feed, expected: Sequence[Any]) -> None:
    """Fail where the outputs of a graph are not these; of one with a count its first are."""
    found = cut_to_counts(evaluate(parsed(graph), feed))
    assert len(found) == len(expected)
    for actual, value in zip(found, expected, strict=True):
        assert_close(graph, actual.like(value) if hasattr(actual, "like") else actual, np.asarray(value))


def refused(graph: str) -> list[str]:
    """The ids of the problems that a graph is refused with."""
    with pytest.raises(CompileError) as caught:
        Imported(parsed(graph))
    return [problem.id for problem in caught.value.problems]


def names(graph: str) -> list[str]:
    """The operations of the graph dialect that a graph becomes."""
    return Imported(parsed(graph)).names


def check(graph: str, expected: str) -> None:
    """Fail where a graph does not give onnxruntime's numbers (where nothing is said), does not become these operations
    (`-> NAME NAME`, where * is any of them), or is not refused with a problem of this id."""
    if not expected:
        agrees(graph)
    elif expected.startswith("->"):
        assert fnmatchcase(" ".join(names(graph)), expected[2:].strip())
    else:
        assert refused(graph) == [expected]


def refused_with(graph: str) -> str:
    """The text of the one problem that a graph is refused with."""
    with pytest.raises(CompileError) as caught:
        Imported(parsed(graph))
    (problem,) = caught.value.problems
    return str(problem)
