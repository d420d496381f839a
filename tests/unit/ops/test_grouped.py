"""Convolutions in groups on vectors: whole blocks, joined groups and depthwise ones, against onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

import aotc
from aotc.dialects.graph.grouped import JoinGroupsOp, groups_to_join
from aotc.dialects.graph.interfaces import ShapeError


@dataclass(frozen=True)
class Grouped:
    channels: int
    outputs: int
    groups: int
    kernel: tuple[int, int] = (3, 3)


CASES = (
    Grouped(32, 32, 32),
    Grouped(20, 40, 20),
    Grouped(64, 64, 16),
    Grouped(96, 48, 3, (1, 1)),
    Grouped(32, 96, 2),
    Grouped(10, 15, 5),
    Grouped(6, 12, 3, (1, 2)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_groups_agree_with_onnxruntime(case: Grouped) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, case.channels, 9, 10)).astype(np.float32)
    weight = rng.standard_normal((case.outputs, case.channels // case.groups, *case.kernel)).astype(np.float32)
    bias = rng.standard_normal(case.outputs).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=case.groups, auto_pad="SAME_UPPER")
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["y"], ["z"])],
        "grouped",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, (2, case.outputs, 9, 10))],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    found = aotc.compile(model, optimize="1")({"x": x})["z"]
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-4)


def test_joined_groups_are_the_blocks_of_a_diagonal() -> None:
    weight = np.arange(1, 9, dtype=np.float32).reshape(4, 2, 1)
    value = Block(arg_types=[TensorType(f32, weight.shape)]).args[0]
    op = JoinGroupsOp.get(value, group=4, by=2)
    results = op.evaluate([weight])
    assert results is not None
    assert op.result.type == TensorType(f32, [4, 4, 1])
    assert results[0][..., 0].tolist() == [[1, 2, 0, 0], [0, 0, 3, 4], [5, 6, 0, 0], [0, 0, 7, 8]]
    with pytest.raises(ShapeError, match="3 groups of 4 output channels cannot be joined by 1"):
        JoinGroupsOp.get(value, group=3, by=1)


@pytest.mark.parametrize(
    ("groups", "inputs", "outputs", "expected"),
    [(1, 3, 5, 1), (32, 4, 4, 4), (32, 1, 2, 16), (2, 16, 32, 1), (5, 2, 3, 5), (6, 8, 16, 2), (1009, 1, 2, None)],
)
def test_the_fewest_groups_that_make_whole_blocks(groups: int, inputs: int, outputs: int, expected: int | None) -> None:
    assert groups_to_join(groups, inputs, outputs, 16) == expected
