"""Convolutions and matrix products on cores without vectors: channels last, interleaved weights, sums in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, f32, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.aot import LANES, QUAD, RUN, WORD
from aotc.dialects.builder import Reader, Writer
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.convolution.blocked_conv import PackChannelsOp
from aotc.dialects.graph.packed.convolution.channels import Channels
from aotc.dialects.graph.packed.integers.channels_last import (
    ChannelsLastConvOp,
    ChannelsLastDepthwiseConvOp,
    InterleavedMatMulOp,
    InterleavedOp,
)
from aotc.dialects.graph.packed.integers.interleaved import InterleaveWordsOp
from aotc.dialects.graph.packed.integers.paired_nibbles import FEW_BITS, NIBBLE, PairNibblesOp
from aotc.dialects.graph.schedules import Schedule, SumsSchedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Core
from aotc.passes.kernel.accesses import Accesses, element_by_element
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.costs.sums_cost import (
    depthwise_schedule,
    patch_fits,
    patch_pays,
    quads_schedule,
    runs_schedule,
    sums_schedule,
)
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nests.sums.depthwise_sums_nest import DepthwiseSums
from aotc.passes.kernel.nests.sums.patches import PatchSums
from aotc.passes.kernel.nests.sums.position_axes import last_axis
from aotc.passes.kernel.nests.sums.sums_nest import ConvSums, MatMulSums, Operand, Products
from aotc.passes.kernel.strategies.convolution.conv_strategy import window_properties
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

Sum = TypeVar("Sum", bound=AccumulatingOp)


class SumsStrategy(KernelStrategy[Sum]):
    """What strategies for sums in the registers of a core share: operands are read as they lie in memory."""

    SCHEDULES = (SumsSchedule,)
    SUMS_INTEGERS = True
    TILES = False

    def prologue(self, op: Sum, operand: int) -> Prologue:
        return Prologue.STORED

    def accesses(self, op: Sum, schedule: SumsSchedule) -> Accesses | None:
        return element_by_element(op)


def _applies(op: AccumulatingOp, core: Core, x: SSAValue, weight: SSAValue) -> bool:
    """Whether sums of products of x with a weight are computed in registers of the core: integers, or f32 with an
    FPU."""
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


def _pairs(op: AccumulatingOp, outputs: int, depth: int, groups: int = 1) -> bool:
    """Whether weights of two outputs are stored in a byte: of 4 bits, for an even number of outputs of a group, so that
    16 times a sum of `depth` products is an i32."""
    x, kind = element_type_of(op.operands[0]), element_type_of(op.operands[1])
    if kind not in FEW_BITS or not isinstance(x, IntegerType) or op.zero_points[1]:
        return False
    few = outputs < 2 or (groups > 1 and outputs // groups % 2 > 0)
    return not few and depth << (x.width.data + 2 * NIBBLE - 1) < 2**31


def _whole_bias(op: AccumulatingOp, bias: SSAValue | None, rows: SSAValue, layouts: Layouts) -> SSAValue | None:
    """What sums start with that take x as it is: less its zero point times all weights of an output, a row of `rows`
    [M, K]."""
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
    return layouts.add(PackChannelsOp.get(value, block=shape[1]))


def _accumulation(op: AccumulatingOp) -> dict[str, object]:
    """The properties that say how products are summed up."""
    names = ("accumulator", *op.ZERO_POINTS)
    return {name: op.properties.get(name) for name in names}


def _runs(op: ConvOp) -> bool:
    return op.ints("dilations")[-1] == 1 and op.groups == 1


class ChannelsLastStrategy(SumsStrategy[ConvOp]):
    """Lowers to `graph.channels_last_conv`, or where each channel is a group of one output to
    `graph.channels_last_depthwise_conv`."""

    def scalar_schedule(self, op: ConvOp, core: Core, size: bool) -> Schedule | None:
        if not _applies(op, core, op.x, op.weight) or 0 in (*shape_of(op.x), *shape_of(op.result)):
            return None
        floats, last = not op.sums_integers, op.windows()[-1]
        if op.is_depthwise:
            words = _are_bytes(op.x, op.weight)
            return depthwise_schedule(
                core.scalars, last.positions, shape_of(op.x)[1], words=words, floats=floats, size=size
            )
        outputs, channels, *kernel = shape_of(op.weight)  # the channels of a group
        step = 2 if _pairs(op, outputs, channels * math.prod(kernel), op.groups) else 1
        outputs //= op.groups
        run = channels * (kernel[-1] if _runs(op) else 1)

        def known(word: int) -> bool:
            return not _runs(op) or last_axis(last, specialized=not size, word=word, channels=channels).is_static

        bytes_ = _are_bytes(op.x, op.weight)
        if _are_signed(op.x, op.weight):
            rows = channels * math.prod(kernel) // run
            fitting = outputs if op.groups == 1 or outputs % QUAD == 0 else 0
            quads = quads_schedule(core.scalars, last.positions, fitting, rows, run, size=size)
            elements = math.prod(shape_of(op.result))
            small = op.groups == 1 and patch_fits(core.scalars, elements, rows, run)
            direct = known(LANES) or channels % LANES == 0
            if quads is not None and small and (not direct or patch_pays(core.scalars, outputs, rows, run)):
                return replace(quads, patch=True)
            if quads is not None and direct:
                return quads
        if bytes_ and run >= RUN and op.groups == 1 and known(RUN) and step == 1:
            on_vectors = runs_schedule(core.scalars, last.positions, outputs, run, size=size)
            if on_vectors is not None:
                return on_vectors
        words = bytes_ and run >= WORD and (known(WORD) or run % WORD == 0)
        depth = channels * math.prod(kernel)
        schedule = sums_schedule(
            core.scalars, last.positions, outputs, depth, words=words, floats=floats, size=size, step=step
        )
        if schedule is None or op.groups == 1:
            return schedule
        fitting = max(count for count in range(step, schedule.columns + 1, step) if outputs % count == 0)
        return replace(schedule, columns=fitting)

    def lay_out(self, op: ConvOp, layouts: Layouts) -> Blocked | None:
        schedule = schedule_of(op)
        if not isinstance(schedule, SumsSchedule):
            return None
        return _depthwise(op, layouts, schedule) if op.is_depthwise else _conv(op, layouts, schedule)


def _conv(op: ConvOp, layouts: Layouts, schedule: SumsSchedule) -> Blocked:
    images, channels, *spatial = shape_of(op.x)
    outputs, inputs, *kernel = shape_of(op.weight)
    x = layouts.add(ReshapeOp.get(channels_last(op.x, layouts), shape=[images, *spatial[:-1], spatial[-1] * channels]))
    axes = range(2, 2 + len(kernel))
    turned = layouts.add(TransposeOp.get(_as_bytes(op.weight, layouts), permutation=[0, *axes, 1]))
    run = inputs * (math.prod(kernel) if schedule.patch else kernel[-1] if _runs(op) else 1)
    matrix = layouts.add(ReshapeOp.get(turned, shape=[outputs, inputs * math.prod(kernel)]))
    rows = layouts.add(ReshapeOp.get(matrix, shape=[outputs, inputs * math.prod(kernel) // run, run]))
    bias = op.bias if schedule.lanes == 1 else _whole_bias(op, op.bias, matrix, layouts)
    paired = _pairs(op, outputs, inputs * math.prod(kernel), op.groups)
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
        paired=True if paired else None,
        patch=schedule.patch,
    )
    return Blocked(layouts.scheduled(conv, schedule), Channels.of([outputs], outputs))


def _interleaved(rows: SSAValue, schedule: SumsSchedule, paired: bool, layouts: Layouts) -> SSAValue:
    """Weights [M, S, R] in the order of a schedule, as they are or in pairs."""
    if not paired:
        return layouts.add(InterleaveWordsOp.get(rows, columns=schedule.columns, word=schedule.word))
    pairs = layouts.add(PairNibblesOp.get(rows))
    return layouts.add(InterleaveWordsOp.get(pairs, columns=schedule.columns // 2, word=schedule.word))


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

    def scalar_schedule(self, op: MatMulOp, core: Core, size: bool) -> Schedule | None:
        if not _applies(op, core, op.lhs, op.rhs) or op.flag("transpose_lhs") or len(shape_of(op.rhs)) != 2:
            return None
        _, rows, columns, depth = op.sizes()
        bytes_, step = _are_bytes(op.lhs, op.rhs), 2 if _pairs(op, columns, depth) else 1
        if _are_signed(op.lhs, op.rhs):
            quads = quads_schedule(core.scalars, rows, columns, 1, depth, size=size)
            if quads is not None:
                return quads
        if bytes_ and depth >= RUN and step == 1:
            on_vectors = runs_schedule(core.scalars, rows, columns, depth, size=size)
            if on_vectors is not None:
                return on_vectors
        words = bytes_ and depth >= WORD
        floats = not op.sums_integers
        return sums_schedule(core.scalars, rows, columns, depth, words=words, floats=floats, size=size, step=step)

    def lay_out(self, op: MatMulOp, layouts: Layouts) -> SSAValue | None:
        schedule = schedule_of(op)
        if not isinstance(schedule, SumsSchedule):
            return None
        *_, columns, depth = op.sizes()
        weight, paired = _as_bytes(op.rhs, layouts), _pairs(op, columns, depth)
        if not op.flag("transpose_rhs"):
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
            paired=True if paired else None,
        )
        return layouts.scheduled(product, schedule)


def _flattened(lhs: SSAValue, weight: SSAValue, layouts: Layouts) -> tuple[SSAValue, SSAValue]:
    """The operands of a product with a weight [N, K]; where lhs is a tensor with its channels last, seen as a matrix,
    its elements stay where they are, and the weights are moved."""
    flat = producer(lhs, ReshapeOp)
    x = None if flat is None else layouts.computed(flat.x)
    if flat is None or x is None:
        return lhs, weight
    images, channels, *spatial = shape_of(flat.x)
    shape, size = shape_of(lhs), channels * math.prod(spatial)
    if x.channels != Channels.of([channels], channels) or shape[-1] != size or math.prod(shape[:-1]) != images:
        return lhs, weight
    outputs = shape_of(weight)[0]
    split = layouts.add(ReshapeOp.get(weight, shape=[outputs, channels, math.prod(spatial)]))
    turned = layouts.add(TransposeOp.get(split, permutation=[0, 2, 1]))
    return (
        layouts.add(ReshapeOp.get(x.value, shape=shape)),
        layouts.add(ReshapeOp.get(turned, shape=[outputs, size])),
    )


# --- nests -----------------------------------------------------------------------------------------------------------


def _operands(op: AccumulatingOp, reads: Sequence[Reader]) -> tuple[Operand, Operand]:
    points = op.zero_points
    x, weight = (
        Operand(read, element_type_of(value), point)
        for read, value, point in zip(reads, op.operands[:2], points, strict=False)
    )
    return x, weight


def _products(op: InterleavedOp, b: TileBuilder, reads: Sequence[Reader], schedule: SumsSchedule) -> Products:
    x, weight = _operands(op, reads)
    outputs = op.outputs.value.data
    return Products(b, schedule, x, weight, _summed(op), op.interleaving, outputs, paired=op.flag("paired"))


def _summed(op: AccumulatingOp) -> Attribute:
    return element_type_of(op.results[0])


class ChannelsLastConvStrategy(SumsStrategy[ChannelsLastConvOp]):
    """`graph.channels_last_conv`."""

    def nest(
        self,
        op: ChannelsLastConvOp,
        b: TileBuilder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        schedule: SumsSchedule,
    ) -> None:
        bias, channels = None if op.bias is None else reads[2], op.channels.value.data
        products = replace(_products(op, b, reads, schedule), aligned=channels % WORD == 0)
        windows = op.windows()
        if op.patch is not None:
            PatchSums(products, shape_of(op.result), channels, windows, bias, reads[-1], writes, op.beyond).run()
            return
        # code of their own makes no difference to a tile of one position whose steps are not unrolled
        differ = schedule.positions > 1 or schedule.word > 1
        axis = last_axis(
            windows[-1], specialized=schedule.specialized and differ, word=schedule.word, channels=channels
        )
        sizes = shape_of(op.result), op.kernel(), channels, op.groups
        ConvSums(products, *sizes, windows, axis, bias, writes[0], op.beyond).run()


class ChannelsLastDepthwiseStrategy(SumsStrategy[ChannelsLastDepthwiseConvOp]):
    """`graph.channels_last_depthwise_conv`."""

    def nest(
        self,
        op: ChannelsLastDepthwiseConvOp,
        b: TileBuilder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        schedule: SumsSchedule,
    ) -> None:
        bias, result = None if op.bias is None else reads[2], shape_of(op.result)
        operands = _operands(op, reads)
        DepthwiseSums(b, schedule, *operands, _summed(op), result, op.windows(), bias, writes[0], op.beyond).run()


class InterleavedMatMulStrategy(SumsStrategy[InterleavedMatMulOp]):
    """`graph.interleaved_matmul`."""

    def nest(
        self,
        op: InterleavedMatMulOp,
        b: TileBuilder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        schedule: SumsSchedule,
    ) -> None:
        bias = None if op.bias is None else reads[2]
        MatMulSums(_products(op, b, reads, schedule), shape_of(op.lhs)[:-1], bias, writes[0]).run()
