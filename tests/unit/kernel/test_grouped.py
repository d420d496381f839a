"""Convolutions in groups on vectors: of whole blocks, across blocks and depthwise ones, against onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from convolution_model import assert_as_onnxruntime, convolution
from xdsl.ir import Block

from aotc.dialects.graph.packed.channels import GroupedPanels
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.layouts import block_depth


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
    Grouped(104, 104, 13),
    Grouped(48, 48, 2),
    Grouped(72, 36, 6),
    Grouped(36, 36, 18),
    Grouped(40, 40, 5, (1, 1)),
    Grouped(40, 120, 2, (1, 1)),
    Grouped(60, 240, 3, (1, 1)),
    Grouped(240, 60, 3, (1, 1)),
    Grouped(51, 17, 17),
    Grouped(21, 70, 7),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_groups_agree_with_onnxruntime(case: Grouped) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, case.channels, 9, 10)).astype(np.float32)
    weight = rng.standard_normal((case.outputs, case.channels // case.groups, *case.kernel)).astype(np.float32)
    bias = rng.standard_normal(case.outputs).astype(np.float32)
    model = convolution("Conv", x, weight, bias, group=case.groups, auto_pad="SAME_UPPER")
    assert_as_onnxruntime(model, x, "1")


def test_panels_hold_the_blocks_that_they_see() -> None:
    weight = np.arange(1, 13, dtype=np.float32).reshape(6, 2, 1)
    panels = weight_panels(3, 2, 4, 3).pack(weight)  # channels 0, 1 | 2, 3 | 4, 5 in blocks 0..3 and 4, 5
    assert panels.shape == (3, 1, 1, 4, 2)
    assert panels[0, 0, 0].tolist() == [[1, 3], [2, 4], [0, 0], [0, 0]]
    assert panels[1, 0, 0].tolist() == [[0, 0], [0, 0], [5, 7], [6, 8]]
    assert panels[2, 0, 0].tolist() == [[9, 11], [10, 12], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("panels", "spans", "blocks_of"),
    [
        (GroupedPanels(1, 20, 40, 16, 16), [(0, 2)] * 3, (2, 1, 4)),
        (GroupedPanels(32, 4, 4, 16, 16), [(block, block + 1) for block in range(8)], (1, 7, 16)),
        (GroupedPanels(13, 8, 8, 16, 16), [(block, block + 1) for block in range(7)], (1, 6, 8)),
        (GroupedPanels(2, 24, 24, 16, 16), [(0, 2), (0, 3), (1, 3)], (3, 2, 16)),
        (GroupedPanels(2, 24, 24, 16, 8), [(0, 3), (0, 6), (3, 6)], (6, 5, 8)),
        (GroupedPanels(2, 16, 64, 32, 16), [(0, 1), (0, 1), (1, 2), (1, 2)], (1, 1, 16)),
    ],
    ids=str,
)
def test_blocks_that_panels_see(
    panels: GroupedPanels, spans: list[tuple[int, int]], blocks_of: tuple[int, int, int]
) -> None:
    assert [(span.start, span.stop) for span in panels.spans] == spans
    assert (panels.most, panels.last, panels.last_depth) == blocks_of


@pytest.mark.parametrize(
    ("groups", "inputs", "outputs", "width", "depth"),
    [
        (1, 24, 24, 16, 16),  # one group sees all
        (2, 24, 24, 16, 8),  # 24, 48 and 24 channels, where whole blocks are 32, 48 and 32
        (3, 12, 12, 16, 4),  # 24, 24 and 12 channels, where whole blocks are 32, 48 and 16
        (32, 8, 8, 16, 16),  # two groups are a block
        (4, 6, 6, 16, 4),
        (2, 16, 16, 16, 16),
    ],
)
def test_blocks_are_as_deep_as_panels_see_few_channels(
    groups: int, inputs: int, outputs: int, width: int, depth: int
) -> None:
    assert block_depth(groups, inputs, outputs, width, 16) == depth


@pytest.mark.parametrize("depth", [16, 8, 4])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_in_the_kernel_are_those_of_the_spans(case: Grouped, depth: int) -> None:
    """Kernels compute with weights as they were packed."""
    inputs, outputs = case.channels // case.groups, case.outputs // case.groups
    panels = GroupedPanels(case.groups, inputs, outputs, 16, depth)
    b = LoopBuilder(Block())
    for number, span in enumerate(panels.spans):
        panel = b.index(number)
        whole, count = panels.blocks_of(panel)
        partial = panels.last_depth < panels.depth and panels.last in span
        numbers = [panels.first(panel).constant, whole.constant, count.constant]
        assert numbers == [span.start, len(span) - partial, len(span)]
