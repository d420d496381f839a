"""The plan as users see it: which layers roll together, their rings, and what tasks touch."""

from __future__ import annotations

import numpy as np
import pytest
from harness import SCALAR
from onnx import TensorProto, helper, numpy_helper

from aotc.compiler.driver import in_process, lower
from aotc.model.metadata import ModelInfo, from_json, to_json
from aotc.pipeline.options import CompileOptions


def convolutions(*names: str) -> bytes:
    """Convolutions of 3 x 3 in a row, of 4 channels on 16 x 10, and a sum over all of it."""
    nodes, before = [], "x"
    for name in names:
        nodes.append(helper.make_node("Conv", [before, "w"], [name], name=name, pads=[1, 1, 1, 1]))
        before = name
    nodes.append(helper.make_node("GlobalAveragePool", [before], ["y"], name="mean"))
    weight = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 4, 16, 10]), ("y", [1, 4, 1, 1]))
    )
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight])).SerializeToString()


def info(*names: str, ram: int | str | None = "min") -> ModelInfo:
    return lower(convolutions(*names), in_process(CompileOptions.of(target=SCALAR, ram=ram))).info()


def test_rings_are_listed() -> None:
    found = info("a", "b", "c")
    (roll,) = found.plan.rolls
    assert roll.layers == ("a", "a", "b", "c", "mean")  # the first puts channels last
    assert [ring.node for ring in roll.rings] == ["a", "a", "b", "c"]
    sizes = {buffer.name: buffer.size for buffer in found.plan.buffers}
    for ring in roll.rings[1:3]:
        assert (ring.rows, ring.of, ring.row_bytes) == (3, 16, 4 * 4 * 10)
        assert sizes[ring.buffer] == 3 * ring.row_bytes
    assert from_json(to_json(found)).plan == found.plan


def test_nothing_rolls_without_a_budget() -> None:
    assert not info("a", "b", "c", ram=None).plan.rolls


@pytest.mark.parametrize("ram", [None, "min"])
def test_tasks_say_what_they_touch(ram: str | None) -> None:
    plan = info("a", "b", ram=ram).plan
    assert len(plan.tasks) == len(plan.order)
    written: set[int] = set()
    for task in plan.tasks:
        assert {read.value for read in task.reads} <= written
        written |= {write.value for write in task.writes}
    assert [buffer.output for buffer in plan.outputs] == ["y"] and written == set(range(len(plan.values)))
