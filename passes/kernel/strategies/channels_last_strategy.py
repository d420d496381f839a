"""Convolutions and matrix products on cores without vectors: channels last, interleaved weights, sums in registers."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, f32, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.aot import LANES, QUAD, STRIP, WORD
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.blocked_conv import channel_blocks
from aotc.dialects.graph.packed.integers.channels_last import (
    FEW_BITS,
    NIBBLE,
    ChannelsLastConvOp,
    ChannelsLastDepthwiseConvOp,
    InterleavedMatMulOp,
    PackNibblesOp,
    words,
)
from aotc.dialects.graph.schedules import Schedule, SumsSchedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Core
from aotc.passes.kernel.costs import sums_cost
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.sums.conv_sums_nest import ConvSums, DepthwiseSums, PatchSums
from aotc.passes.kernel.nests.sums.position_axes import last_axis
from aotc.passes.kernel.nests.sums.sums_nest import MatMulSums
from aotc.passes.kernel.spatial_tiling import window_rows
from aotc.passes.kernel.strategies.conv_strategy import window_properties
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

Sum = TypeVar("Sum", bound=AccumulatingOp)


class SumsStrategy(KernelStrategy[Sum]):
    """The base of strategies for sums in the registers of a core: operands are read as they lie in memory."""

    ON_VECTORS = False
    SCHEDULES = (SumsSchedule,)
    SUMS_INTEGERS = True
    TILES = False
    PROLOGUES = (Prologue.STORED,)


def _applies(op: AccumulatingOp, core: Core, x: SSAValue, weight: SSAValue) -> bool:
    """Whether sums of products of x and weight are computed in registers of the core: integers, or f32 with an FPU."""
    if not Layouts.is_constant(weight):
        return False
    if op.sums_integers:
        return op.zero_points[1] == 0
    return element_type_of(x) == f32 and core.fpu


def _are_bytes(x: SSAValue, weight: SSAValue) -> bool:
    kinds = element_type_of(x), _kind(weight)
    return all(isinstance(kind, IntegerType) and kind.width.data == 8 for kind in kinds)


def _are_signed(x: SSAValue, weight: SSAValue) -> bool:
    return element_type_of(x) == _kind(weight) == i8


def _kind(weight: SSAValue) -> Attribute:
    """The type of weights where they are stored one by one: those of fewer bits are bytes."""
    kind = element_type_of(weight)
    return i8 if kind in FEW_BITS else kind


def _as_bytes(weight: SSAValue, layouts: Layouts) -> SSAValue:
    """A weight of the type `_kind`."""
    kind = _kind(weight)
    return weight if kind == element_type_of(weight) else layouts.add(CastOp.get(weight, to=kind))


def _packs(op: AccumulatingOp, outputs: int, depth: int, groups: int = 1) -> bool:
    """Whether weights of two outputs are stored in a byte: of 4 bits, for an even number of outputs of a group, so that
    16 times a sum of `depth` products is an i32."""
    x, kind = element_type_of(op.operands[0]), element_type_of(op.operands[1])
    if kind not in FEW_BITS:
        return False
    assert isinstance(x, IntegerType)  # as whatever is multiplied with integers
    few = outputs < 2 or (groups > 1 and outputs // groups % 2 > 0)
    return not few and depth << (x.width.data + 2 * NIBBLE - 1) < 2**31


def _whole_bias(op: AccumulatingOp, bias: SSAValue | None, rows: SSAValue, layouts: Layouts) -> SSAValue | None:
    """First addends of sums that take x as it is: less its zero point times the weights of an output, `rows` [M, K]."""
    point, (outputs, depth) = op.zero_points[0], shape_of(rows)
    if not point:
        return bias
    points = layouts.add(ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(i16, [depth, 1]), [-point])))
    less = layouts.add(MatMulOp.get(rows, points, accumulator=i32))
    more = layouts.add(ReshapeOp.get(less, shape=[outputs]))
    return more if bias is None else layouts.add(AddOp.get(bias, more))


def _accumulated(op: ConvOp, schedule: SumsSchedule) -> dict[str, object]:
    """The properties that say how products are summed up; of quads, whose bias is whole, what lies outside of x."""
    point = op.zero_points[0]
    if schedule.lanes == 1 or not point:
        return _accumulation(op)
    return {"accumulator": op.accumulator, "outside": point}


def channels_last(value: SSAValue, layouts: Layouts) -> SSAValue:
    """`value` [N, C, spatial..] with the channels last, in a tensor of any shape: [N, spatial.., C] in memory."""
    shape = shape_of(value)
    computed = layouts.computed(value)
    if computed is not None and computed.channels == Channels.of([shape[1]], shape[1]):
        return computed.value
    turned = producer(value, TransposeOp)
    if turned is not None and turned.ints("permutation") == (0, len(shape) - 1, *range(1, len(shape) - 1)):
        return turned.x
    if shape[1] == 1 or math.prod(shape[2:]) == 1:
        return value
    return layouts.packed(value, channel_blocks(len(shape), shape[1]))


def _accumulation(op: AccumulatingOp) -> dict[str, object]:
    """The properties that say how products are summed up."""
    names = ("accumulator", *op.ZERO_POINTS)
    return {name: op.properties.get(name) for name in names}


def _cycles(
    op: AccumulatingOp, schedule: SumsSchedule, core: Core, positions: int, outputs: int, rows: int, strip: int
) -> float:
    """Those of `positions` x `outputs` sums along `rows` strips of `strip` elements."""
    floats = not op.sums_integers
    return sums_cost.scheduled_cycles(core.scalars, schedule, positions, outputs, rows, strip, floats=floats)


def _depthwise_cycles(
    op: ConvOp | ChannelsLastDepthwiseConvOp, schedule: SumsSchedule, core: Core, positions: int, channels: int
) -> float:
    """Those of neighbouring `positions` of as many windows as there are channels."""
    taps, floats = math.prod(op.kernel()), not op.sums_integers
    return sums_cost.depthwise_cycles(core.scalars, schedule, positions, channels, taps, floats=floats)


def _strips(op: ConvOp) -> bool:
    return op.ints("dilations")[-1] == 1 and op.groups == 1


def _sizes(op: ConvOp) -> tuple[int, int, int]:
    """The outputs of a group, and the strips of elements that are neighbours in memory that they are summed along: how
    many there are, and their length."""
    outputs, channels, *kernel = shape_of(op.weight)
    strip = channels * (kernel[-1] if _strips(op) else 1)
    return outputs // op.groups, channels * math.prod(kernel) // max(strip, 1), strip


class ChannelsLastStrategy(SumsStrategy[ConvOp]):
    """Lowers to `graph.channels_last_conv`, or where each channel is a group of one output to
    `graph.channels_last_depthwise_conv`."""

    def schedule(self, op: ConvOp, core: Core) -> Schedule | None:
        size = core.small
        if not _applies(op, core, op.x, op.weight) or 0 in (*shape_of(op.x), *shape_of(op.result)):
            return None
        floats, last = not op.sums_integers, op.windows()[-1]
        if op.is_depthwise:
            words = _are_bytes(op.x, op.weight)
            return sums_cost.depthwise_schedule(
                core.scalars, last.positions, shape_of(op.x)[1], words=words, floats=floats, size=size
            )
        outputs, channels, *kernel = shape_of(op.weight)  # the channels of a group
        step = 2 if _packs(op, outputs, channels * math.prod(kernel), op.groups) else 1
        outputs, rows, strip = _sizes(op)

        def known(word: int) -> bool:
            return not _strips(op) or last_axis(last, specialized=not size, word=word, channels=channels).is_static

        bytes_ = _are_bytes(op.x, op.weight)
        if _are_signed(op.x, op.weight):
            fitting = outputs if op.groups == 1 or outputs % QUAD == 0 else 0
            quads = sums_cost.quads_schedule(core.scalars, last.positions, fitting, rows, strip, size=size)
            elements = math.prod(shape_of(op.result))
            small = op.groups == 1 and sums_cost.patch_fits(core.scalars, elements, rows, strip)
            direct = known(LANES) or channels % LANES == 0
            if quads is not None and small and (not direct or sums_cost.patch_pays(core.scalars, outputs, rows, strip)):
                return replace(quads, patch=True)
            if quads is not None and direct:
                return quads
        if bytes_ and strip >= STRIP and op.groups == 1 and known(STRIP) and step == 1:
            on_vectors = sums_cost.strips_schedule(core.scalars, last.positions, outputs, strip, size=size)
            if on_vectors is not None:
                return on_vectors
        words = bytes_ and strip >= WORD and (known(WORD) or strip % WORD == 0)
        schedule = sums_cost.sums_schedule(
            core.scalars, last.positions, outputs, rows * strip, words=words, floats=floats, size=size, step=step
        )
        if op.groups == 1:
            return schedule
        assert schedule is not None  # there is something to sum up
        fitting = max(count for count in range(step, schedule.columns + 1, step) if outputs % count == 0)
        return replace(schedule, columns=fitting)

    def cost(self, op: ConvOp, schedule: SumsSchedule, core: Core) -> float:
        last = op.windows()[-1].positions
        images, channels, *outer, _ = shape_of(op.result)
        repeats = images * math.prod(outer)
        if op.is_depthwise:
            return repeats * _depthwise_cycles(op, schedule, core, last, channels)
        return repeats * op.groups * _cycles(op, schedule, core, last, *_sizes(op))

    def lower(self, op: ConvOp, layouts: Layouts, schedule: SumsSchedule) -> Blocked | None:
        return _depthwise(op, layouts, schedule) if op.is_depthwise else _conv(op, layouts, schedule)


def _conv(op: ConvOp, layouts: Layouts, schedule: SumsSchedule) -> Blocked:
    images, channels, *spatial = shape_of(op.x)
    outputs, inputs, *kernel = shape_of(op.weight)
    x = layouts.add(ReshapeOp.get(channels_last(op.x, layouts), shape=[images, *spatial[:-1], spatial[-1] * channels]))
    axes = range(2, 2 + len(kernel))
    turned = layouts.add(TransposeOp.get(_as_bytes(op.weight, layouts), permutation=[0, *axes, 1]))
    strip = inputs * (math.prod(kernel) if schedule.patch else kernel[-1] if _strips(op) else 1)
    matrix = layouts.add(ReshapeOp.get(turned, shape=[outputs, inputs * math.prod(kernel)]))
    rows = layouts.add(ReshapeOp.get(matrix, shape=[outputs, inputs * math.prod(kernel) // strip, strip]))
    bias = op.bias if schedule.lanes == 1 else _whole_bias(op, op.bias, matrix, layouts)
    paired = _packs(op, outputs, inputs * math.prod(kernel), op.groups)
    conv = ChannelsLastConvOp.get(
        x,
        _interleaved(rows, schedule, paired, layouts),
        bias,
        **window_properties(op),
        **_accumulated(op, schedule),
        kernel_shape=kernel,
        channels=channels,
        group=op.group if op.groups > 1 else None,
        outputs=outputs,
        columns=schedule.columns,
        word=schedule.word,
        paired=paired,
        patch=schedule.patch,
    )
    return Blocked(layouts.scheduled(conv, schedule), Channels.of([outputs], outputs))


def _interleaved(rows: SSAValue, schedule: SumsSchedule, paired: bool, layouts: Layouts) -> SSAValue:
    """Weights [M, S, R] in the order of a schedule, as they are or two in a byte."""
    if not paired:
        return layouts.packed(rows, words(schedule.columns, schedule.word))
    return layouts.packed(layouts.add(PackNibblesOp.get(rows)), words(schedule.columns // 2, schedule.word))


def _depthwise(op: ConvOp, layouts: Layouts, schedule: SumsSchedule) -> Blocked:
    images, channels, *spatial = shape_of(op.x)
    kernel = shape_of(op.weight)[2:]
    x = layouts.add(ReshapeOp.get(channels_last(op.x, layouts), shape=[images, 1, *spatial, channels]))
    matrix = layouts.add(ReshapeOp.get(_as_bytes(op.weight, layouts), shape=[channels, math.prod(kernel)]))
    weight = layouts.add(TransposeOp.get(matrix, permutation=[1, 0]))
    bias = op.bias if schedule.lanes == 1 else _whole_bias(op, op.bias, matrix, layouts)
    conv = ChannelsLastDepthwiseConvOp.get(
        x,
        layouts.add(ReshapeOp.get(weight, shape=[*kernel, channels])),
        bias,
        **window_properties(op),
        **_accumulated(op, schedule),
    )
    return Blocked(layouts.scheduled(conv, schedule), Channels.of([channels], channels))


class InterleavedProductStrategy(SumsStrategy[MatMulOp]):
    """Lowers products with a constant matrix to `graph.interleaved_matmul`."""

    def schedule(self, op: MatMulOp, core: Core) -> Schedule | None:
        size = core.small
        if not _applies(op, core, op.lhs, op.rhs) or op.transpose_lhs or len(shape_of(op.rhs)) != 2:
            return None
        _, rows, columns, depth = op.sizes()
        bytes_, step = _are_bytes(op.lhs, op.rhs), 2 if _packs(op, columns, depth) else 1
        if _are_signed(op.lhs, op.rhs):
            quads = sums_cost.quads_schedule(core.scalars, rows, columns, 1, depth, size=size)
            if quads is not None:
                return quads
        if bytes_ and depth >= STRIP and step == 1:
            on_vectors = sums_cost.strips_schedule(core.scalars, rows, columns, depth, size=size)
            if on_vectors is not None:
                return on_vectors
        words = bytes_ and depth >= WORD
        floats = not op.sums_integers
        return sums_cost.sums_schedule(
            core.scalars, rows, columns, depth, words=words, floats=floats, size=size, step=step
        )

    def cost(self, op: MatMulOp, schedule: SumsSchedule, core: Core) -> float:
        batch, rows, columns, depth = op.sizes()
        return math.prod(batch) * _cycles(op, schedule, core, rows, columns, 1, depth)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: SumsSchedule) -> SSAValue | None:
        *_, columns, depth = op.sizes()
        weight, paired = _as_bytes(op.rhs, layouts), _packs(op, columns, depth)
        if not op.transpose_rhs:
            weight = layouts.add(TransposeOp.get(weight, permutation=[1, 0]))
        lhs, weight = _flattened(op.lhs, weight, layouts)
        rows = layouts.add(ReshapeOp.get(weight, shape=[columns, 1, depth]))
        bias, accumulation = None, _accumulation(op)
        if schedule.lanes > 1:
            bias, accumulation = _whole_bias(op, None, weight, layouts), {"accumulator": op.accumulator}
        product = InterleavedMatMulOp.get(
            lhs,
            _interleaved(rows, schedule, paired, layouts),
            bias,
            **accumulation,
            outputs=columns,
            columns=schedule.columns,
            word=schedule.word,
            paired=paired,
        )
        return layouts.scheduled(product, schedule)


def _flattened(lhs: SSAValue, weight: SSAValue, layouts: Layouts) -> tuple[SSAValue, SSAValue]:
    """The operands of a product with a weight [N, K]; where lhs is a tensor with its channels last, seen as a matrix,
    its elements stay where they are, and the weights are moved."""
    flat = producer(lhs, ReshapeOp)
    if flat is None or (x := layouts.computed(flat.x)) is None:
        return lhs, weight
    _, channels, *spatial = shape_of(flat.x)
    shape, size = shape_of(lhs), channels * math.prod(spatial)
    if x.channels != Channels.of([channels], channels) or shape[-1] != size:
        return lhs, weight
    outputs = shape_of(weight)[0]
    split = layouts.add(ReshapeOp.get(weight, shape=[outputs, channels, math.prod(spatial)]))
    turned = layouts.add(TransposeOp.get(split, permutation=[0, 2, 1]))
    return (layouts.add(ReshapeOp.get(x.value, shape=shape)), layouts.add(ReshapeOp.get(turned, shape=[outputs, size])))


def _neighbours(op: AccumulatingOp, axis: int) -> int:
    """How many rows of a result [N, 1, spatial.., C] are computed at once: neighbours along the last spatial axis."""
    schedule = schedule_of(op)
    along = axis == len(shape_of(op.results[0])) - 2
    return schedule.positions if along and isinstance(schedule, SumsSchedule) else 1


class ChannelsLastConvStrategy(SumsStrategy[ChannelsLastConvOp]):
    """`graph.channels_last_conv`."""

    def row_reads(self, op: ChannelsLastConvOp, axis: int) -> Mapping[int, AxisReads] | None:
        return window_rows(op, op.windows(), axis, first=1, unit=op.channels)

    def rows_at_once(self, op: ChannelsLastConvOp, axis: int) -> int:
        return _neighbours(op, axis) if op.patch is None else 1

    def cost(self, op: ChannelsLastConvOp, schedule: SumsSchedule, core: Core) -> float:
        *repeats, positions, outputs = shape_of(op.result)
        each = _cycles(op, schedule, core, positions, outputs // op.groups, *op.rows)
        return math.prod(repeats) * op.groups * each

    def nest(self, nest: Nest[ChannelsLastConvOp, SumsSchedule]) -> None:
        kind = ConvSums if nest.op.patch is None else PatchSums
        kind.of(nest).emit()


class ChannelsLastDepthwiseStrategy(SumsStrategy[ChannelsLastDepthwiseConvOp]):
    """`graph.channels_last_depthwise_conv`."""

    NEST = DepthwiseSums

    def row_reads(self, op: ChannelsLastDepthwiseConvOp, axis: int) -> Mapping[int, AxisReads] | None:
        return window_rows(op, op.windows(), axis)

    def rows_at_once(self, op: ChannelsLastDepthwiseConvOp, axis: int) -> int:
        return _neighbours(op, axis)

    def cost(self, op: ChannelsLastDepthwiseConvOp, schedule: SumsSchedule, core: Core) -> float:
        *repeats, positions, channels = shape_of(op.result)
        return math.prod(repeats) * _depthwise_cycles(op, schedule, core, positions, channels)


class InterleavedMatMulStrategy(SumsStrategy[InterleavedMatMulOp]):
    """`graph.interleaved_matmul`."""

    NEST = MatMulSums

    def cost(self, op: InterleavedMatMulOp, schedule: SumsSchedule, core: Core) -> float:
        *rows, outputs = shape_of(op.result)
        return _cycles(op, schedule, core, math.prod(rows), outputs, *op.rows)


STRATEGIES: Strategies = {
    ConvOp: (ChannelsLastStrategy(),),
    MatMulOp: (InterleavedProductStrategy(),),
    ChannelsLastConvOp: (ChannelsLastConvStrategy(),),
    ChannelsLastDepthwiseConvOp: (ChannelsLastDepthwiseStrategy(),),
    InterleavedMatMulOp: (InterleavedMatMulStrategy(),),
}
