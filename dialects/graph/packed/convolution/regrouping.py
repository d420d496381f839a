"""Moving channels of blocked tensors [N, blocks, spatial.., B] to other lanes (see `channels` for the layout)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, common_element_type, element_type_of, shape_of

PADDING_LANE = -1
"""The source of a padding lane."""


@dataclass(frozen=True)
class _Strip:
    """Lanes of the result that come from equally spaced lanes of one part; without a part they are zeros."""

    first: int
    count: int
    part: int | None
    start: int
    stride: int


@irdl_op_definition
class RegroupChannelsOp(LoopNestOp):
    """Blocks whose lanes are lanes of other blocks, position by position.

    Lane i of the result, numbered through its blocks, is lane `sources[i]` of the parts, numbered through the blocks of
    all of them; it is arbitrary where that is -1 (0 in constants). All blocks have the same number of lanes, B.
    """

    name = "graph.regroup_channels"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    parts = var_operand_def(TensorType)
    sources = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        if not self.parts:
            raise ShapeError("there are no parts to take lanes from")
        shapes, sources = [shape_of(part) for part in self.parts], self.ints("sources")
        if any(len(shape) < 3 for shape in shapes):
            raise ShapeError("operands must be [N, blocks, spatial..., lanes], found " + str(list(map(list, shapes))))
        first, lanes = shapes[0], shapes[0][-1]
        if len({(shape[0], *shape[2:]) for shape in shapes}) > 1:
            raise ShapeError("operands differ in more than their blocks: " + str(list(map(list, shapes))))
        slots = sum(shape[1] for shape in shapes) * lanes
        if lanes < 1 or len(sources) % lanes or any(not PADDING_LANE <= source < slots for source in sources):
            raise ShapeError(f"{len(sources)} sources among {slots} lanes make no blocks of {lanes}")
        kind = common_element_type(*self.parts)
        return [TensorType(kind, [first[0], len(sources) // lanes, *first[2:]])]

    def operations(self) -> int:
        """None: data only moves."""
        return 0

    @property
    def lanes(self) -> int:
        """The lanes of a block."""
        return shape_of(self.result)[-1]

    def origins(self) -> list[tuple[SSAValue, int] | None]:
        """For each lane of the result, the part and the lane in it, numbered through its blocks; None: a padding
        lane."""
        slots = [(part, lane) for part in self.parts for lane in range(shape_of(part)[1] * self.lanes)]
        return [None if source == PADDING_LANE else slots[source] for source in self.ints("sources")]

    def numbered_origins(self) -> list[tuple[int, int] | None]:
        """As `origins`, with the parts' numbers."""
        parts = list(self.parts)
        return [None if origin is None else (parts.index(origin[0]), origin[1]) for origin in self.origins()]

    def _strips(self) -> Iterator[_Strip]:
        origins, first = self.numbered_origins(), 0
        while first < len(origins):
            origin, count, stride = origins[first], 1, 0
            following = origins[first + 1] if first + 1 < len(origins) else None
            if origin and following and origin[0] == following[0]:
                stride = following[1] - origin[1]
            while first + count < len(origins):
                expected = origin and (origin[0], origin[1] + count * stride)
                if origins[first + count] != expected or (origin and not stride):
                    break
                count += 1
            yield _Strip(first, count, origin[0] if origin else None, origin[1] if origin else 0, stride)
            first += count

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        inside = axis not in (1, len(shape_of(self.result)) - 1)
        return {place: AxisReads(axis) for place in range(len(self.parts))} if inside else None

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        self.write_strips(b, reads, writes, b.parallel_for)

    def write_strips(
        self,
        b: Builder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        over: Callable[[Sequence[int], Callable[[list[Scalar]], None]], None],
    ) -> None:
        """As `loops`, with `over` for loops over images, positions and the lanes of a strip."""
        batch, _, *spatial, lanes = shape_of(self.result)
        zero = b.const(0, element_type_of(self.result))

        def place(slot: Scalar) -> tuple[Scalar, Scalar]:
            return slot / lanes, b.rem(slot, b.index(lanes))

        for strip in self._strips():

            def body(index: list[Scalar], strip: _Strip = strip) -> None:
                image, *position, number = index
                block, lane = place(number + strip.first)
                value = zero
                if strip.part is not None:
                    source, source_lane = place(number * strip.stride + strip.start)
                    value = reads[strip.part]([image, source, *position, source_lane])
                writes[0]([image, block, *position, lane], value)

            over([batch, *spatial, strip.count], body)


def regrouped(origins: Sequence[tuple[SSAValue, int] | None], like: RegroupChannelsOp) -> RegroupChannelsOp:
    """The operation whose lanes come from `origins`; None stands for padding lanes."""
    parts = list(dict.fromkeys(origin[0] for origin in origins if origin is not None)) or [like.parts[0]]
    sizes = (shape_of(part)[1] * shape_of(part)[-1] for part in parts)
    first = dict(zip(parts, accumulate(sizes, initial=0), strict=False))
    sources = [PADDING_LANE if origin is None else first[origin[0]] + origin[1] for origin in origins]
    return RegroupChannelsOp.get(parts, sources=sources)
