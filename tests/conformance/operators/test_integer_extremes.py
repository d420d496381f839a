"""The standard's node cases on integers at the ends of their types, whatever the type of the case: operators that
usually take floats, and attributes that only matter for one type, are right there, too.

onnxruntime is the judge; where it has no kernel, the reference evaluator of the onnx package is.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from harness import Array, Feed, assert_close, assert_same_bits, by_every_route, reference, with_known
from node_suite.cases import node_cases
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.reference import ReferenceEvaluator
from together import batches, computed, imported
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

import aotc
from aotc.dialects.constants import known_array
from aotc.frontend.onnx import import_model, load_model, supported_operators
from aotc.frontend.onnx.tensors import DTYPES
from aotc.measuring.differences import cut_to_counts
from aotc.model.weight_store import WeightStore

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64")
UNDECIDED = {
    "Einsum": "onnxruntime's sums of integers saturate on the way for some equations",
    "Cast": "which values an 8-bit float does not hold is the case's own",
    "CastLike": "the same",
    "Gemm": "the reference evaluator multiplies by alpha in float64, which has not all integers: see test_gemm",
    "Scan": "the bodies have types of their own",
    "GridSample": "the standard does not say to which integer an interpolation rounds",
}

OTHERWISE = re.compile("test_resize_downsample_scales_(linear|cubic)_align_corners")
"""Cases that onnxruntime computes otherwise than they say, of floats, too."""
MOST = {"Pow": 3, "Resize": 1 << 15, "ReduceProd": 2} | {
    f"Reduce{kind}": 100 for kind in ("L1", "L2", "LogSum", "LogSumExp", "Mean", "Sum", "SumSquare")
}
"""The greatest magnitude of operands where a result that the type does not hold is open."""


TOGETHER = 40
"""Cases of one model."""
WAITING = {"unknown-value", "sequence-at-run-time", "open-shapes"}
"""Problems of a model whose integers are shapes, axes and the like, or optional."""


@dataclass(frozen=True)
class Case:
    """A node with integers for its first operand, and for all that must have the same type."""

    name: str
    model: ModelProto
    """Other elements are constants in it."""
    feed: dict[str, Array]
    whole: ModelProto
    """With all inputs as inputs."""
    values: dict[str, Array]
    """Of all inputs."""


def extremes(random: np.random.Generator, op_type: str, dtype: str, shape: tuple[int, ...]) -> Array:
    """The least and the greatest integers, and small ones; fewer where the standard leaves open what a result is that
    the type does not hold, or where it is only as exact as floats are."""
    limits, most = np.iinfo(dtype), MOST.get(op_type, 1 << 64)
    ends = [limits.min, limits.min + 1, limits.max // 2, limits.max - 1, limits.max, 0, 1, 3, 100]
    ends += [-1, -2] if limits.min else []
    pool = [each for each in ends if abs(each) <= most and (each or op_type != "Mod")]
    return random.choice(np.array(pool, dtype), shape)


@cache
def cases() -> list[Case]:
    """Each of the standard's cases with some types: an operator's have all that it allows, in turns."""
    known: dict[str, list[tuple[TestCase, list[str]]]] = defaultdict(list)
    for source in node_cases():
        if allowed := _integers_of(source):
            known[source.model.graph.node[0].op_type].append((source, allowed))
    return [
        found
        for alike in known.values()
        for place, (source, allowed) in enumerate(alike)
        for dtype in allowed[place :: len(alike)] or [allowed[place % len(allowed)]]
        if (found := _retyped(source, dtype)) is not None
    ]


def _integers_of(source: TestCase) -> list[str]:
    """The types of integers that a case of one operator may have for its first operand."""
    given = source.model
    assert given is not None
    node = given.graph.node[0]
    plain = len(given.graph.node) == 1 and not given.functions and not node.domain
    if not plain or node.op_type in UNDECIDED or OTHERWISE.fullmatch(source.name):
        return []
    schema = defs.get_schema(node.op_type, given.opset_import[0].version)
    is_sequence = any(value.type.HasField("sequence_type") for value in given.graph.output)
    if node.op_type not in supported_operators() or not schema.inputs or is_sequence:
        return []
    return [each for each in INTEGERS if f"tensor({each})" in schema.inputs[0].types]


def _retyped(source: TestCase, dtype: str) -> Case | None:
    given, name = source.model, source.name
    assert given is not None
    node = given.graph.node[0]
    schema = defs.get_schema(node.op_type, given.opset_import[0].version)
    arrays = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in source.data_sets[0][0]]
    if not all(isinstance(x, np.ndarray) for x in arrays):
        return None
    feed = dict(zip((value.name for value in given.graph.input), arrays, strict=False))
    kinds = [each.type_str for each in schema.inputs]
    alike = {x for place, x in enumerate(node.input) if kinds[min(place, len(kinds) - 1)] == kinds[0] and x in feed}
    if not {*node.input[:1]} & alike:
        return None
    random, model = np.random.default_rng(crc32(f"{name}-{dtype}".encode())), ModelProto()
    model.CopyFrom(given)
    for value in model.graph.input:
        if value.name in alike:
            value.type.tensor_type.elem_type = next(code for code, each in DTYPES.items() if each == dtype)
            feed[value.name] = extremes(random, node.op_type, dtype, feed[value.name].shape)
            if node.op_type == "DequantizeLinear" and dtype == "int32" and value.name in node.input[2:]:
                feed[value.name][...] = 0  # as the standard has it
    for value in model.graph.output:
        value.type.Clear()
    known = with_known(model, feed, [each for each in feed if each not in alike])
    return Case(f"{name}-{dtype}", known, {each: feed[each] for each in feed if each in alike}, model, feed)


@cache
def _wanted(number: int) -> list[Array] | None:
    """The outputs of a case by its judge; None where there is none."""
    case = cases()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the judges warn of overflows
        try:
            found = None if _is_misjudged(case) else reference(case.whole, case.values)
            found = _evaluated(case) if found is None else found
        except Exception:
            return None
    return [np.asarray(value) for value in found]


def _is_misjudged(case: Case) -> bool:
    """Whether onnxruntime clamps what it resizes of int8 to the ends of uint8."""
    node, dtype = case.model.graph.node[0], next(iter(case.feed.values())).dtype
    return dtype == np.int8 and any(each.name == "antialias" and each.i for each in node.attribute)


def _evaluated(case: Case) -> list[Array]:
    """By the reference evaluator, whose sums of unsigned integers are wider than the standard's."""
    found = ReferenceEvaluator(case.whole).run(None, case.values)
    dtype = next(iter(case.feed.values())).dtype
    is_sum = case.model.graph.node[0].op_type.startswith("Reduce")
    return [np.asarray(value).astype(dtype) if is_sum else np.asarray(value) for value in found]


def _agrees(case: Case, how: str, found: Array, expected: Array) -> None:
    if case.model.graph.node[0].op_type == "Resize":  # of floats, which are cut off or rounded
        assert np.abs(found.astype(np.float64) - expected).max() <= 1, how
    else:
        assert_close(f"{case.name} {how}", found, expected)


@pytest.mark.parametrize("number", range(len(cases())), ids=lambda number: cases()[number].name)
def test_integers_at_the_ends_of_their_types_are_folded(number: int) -> None:
    case, wanted = cases()[number], _wanted(number)
    if wanted is None:
        pytest.skip("no judge")
    ctx = Context()
    module = import_model(load_model(with_known(case.whole, case.values, list(case.values))), ctx)
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    returned = main.body.block.last_op
    assert returned is not None
    for value, expected in zip(returned.operands, wanted, strict=True):
        if (found := known_array(value, WeightStore.of(ctx))) is not None:
            _agrees(case, "as a constant", found, expected)


@cache
def _batches() -> list[list[int]]:
    return batches(range(len(cases())), lambda number: imported(cases()[number]), TOGETHER)


@pytest.mark.parametrize("batch", range(len(_batches())))
def test_integers_at_the_ends_of_their_types_are_computed(batch: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By vectors, by scalars, and by C."""
    chosen = [number for number in _batches()[batch] if _wanted(number) is not None]
    if not chosen:
        pytest.skip("no judge")

    def compute(model: ModelProto, feed: Feed) -> dict[str, dict[str, Array]]:
        ways = by_every_route(model, tmp_path_factory.mktemp("c"), threads=False)
        found = {how: each(feed) for how, each in ways.items() if how != "by definition"}
        assert_same_bits(found)
        return {name: {how: each[name] for how, each in found.items()} for name in found["by C"]}

    parts = [(cases()[number].model, cases()[number].feed) for number in chosen]
    for number, found in zip(chosen, computed(parts, compute), strict=True):
        case, wanted = cases()[number], _wanted(number)
        assert wanted is not None
        if found is None:
            try:
                found = compute(case.model, case.feed)
            except aotc.CompileError as error:
                assert {problem.id for problem in error.problems} <= WAITING, case.name
                continue
        right = dict(zip((output.name for output in case.model.graph.output), wanted, strict=True))
        for how in next(iter(found.values())):
            values = cut_to_counts({name: each[how] for name, each in found.items()}, right)
            for name, expected in right.items():
                _agrees(case, how, values[name], expected)


def test_there_are_cases_of_operators_that_usually_take_floats() -> None:
    names = {case.model.graph.node[0].op_type for case in cases()}
    assert {"Resize", "ReduceMean", "Clip", "Sign", "MaxPool", "Pow"} <= names and len(cases()) > 500


@pytest.mark.parametrize("attributes", [{"mode": "cubic"}, {"mode": "linear", "antialias": 1}], ids=["cubic", "linear"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint64"])
def test_pictures_of_integers_are_resized_alike_by_every_route(
    dtype: str, attributes: dict[str, str | int], tmp_path: Path
) -> None:
    """Within one of the reference evaluator's, or as far as places in single precision are off."""
    limits, random = np.iinfo(dtype), np.random.default_rng(4)
    most = min(limits.max, 1 << 30)
    x = random.choice(np.array([max(limits.min, -most), most, 0, 1, most // 2], dtype), (1, 2, 5, 6))
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)],
        "resize",
        [helper.make_tensor_value_info("x", code, x.shape)],
        [helper.make_tensor_value_info("y", code, None)],
        [numpy_helper.from_array(np.array([1, 1, 1.6, 1.5], np.float32), "scales")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    found = {how: each({"x": x}) for how, each in by_every_route(model, tmp_path, threads=False).items()}
    assert_same_bits(found)
    for how, each in found.items():
        off = np.abs(each["y"].astype(np.float64) - np.asarray(wanted).astype(np.float64))
        assert off.max() <= max(1, 1e-6 * most), how
