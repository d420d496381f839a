"""Winograd's minimal filtering: `graph.winograd_conv` on a transformed weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Attribute

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.winograd.winograd_axes import INNER, WinogradWeightOp
from aotc.dialects.graph.packed.winograd.winograd_conv import WinogradConvOp
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, WinogradAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.mathematics.winograd_transforms import TAPS
from aotc.passes.kernel.costs.dot_cost import pair_machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.parts_cost import choose_parts
from aotc.passes.kernel.costs.product_cost import batched_matmul_schedule
from aotc.passes.kernel.costs.winograd_cost import (
    ConvolutionSizes,
    choose_winograd,
    winograd_choices,
    winograd_cycles,
    winograd_schedule,
    winograd_work,
)
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.winograd_nest import WinogradNest
from aotc.passes.kernel.strategies.convolution.conv_strategy import ConvolutionStrategy, packed_bias, result_channels
from aotc.passes.kernel.strategies.convolution.narrow_conv_strategy import cycles_of_few_outputs
from aotc.passes.kernel.strategy import KernelStrategy, Prologue


class WinogradStrategy(ConvolutionStrategy[ConvOp]):
    """`graph.conv` with stride and dilation 1 along some of the last two axes, with a constant weight, where its
    `algorithm` says so."""

    SCHEDULES = (MatmulSchedule,)
    ALGORITHMS = (WinogradAttr,)

    def algorithm(self, op: ConvOp, machine: Machine) -> Attribute | None:
        """Winograd's minimal filtering where that is faster."""
        if not is_applicable(op):
            return None
        kind, sizes = element_type_of(op.x), _sizes(op)
        chosen = choose_winograd(machine, kind, sizes)
        if chosen and cycles_of_few_outputs(op, machine) < winograd_cycles(machine, sizes, chosen.output_tile.data):
            return None
        return chosen

    def algorithms(self, op: ConvOp, machine: Machine) -> Sequence[Attribute]:
        return winograd_choices(machine, element_type_of(op.x), _sizes(op)) if is_applicable(op) else ()

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        if not isinstance(algorithm := op.attributes.get(op.ALGORITHM), WinogradAttr):
            return None
        return winograd_schedule(machine, element_type_of(op.x), _sizes(op), algorithm)

    def cost(self, op: ConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        algorithm = op.attributes[op.ALGORITHM]
        assert isinstance(algorithm, WinogradAttr)
        return winograd_cycles(machine, _sizes(op), algorithm.output_tile.data)

    def lower(self, op: ConvOp, layouts: Layouts, schedule: MatmulSchedule) -> Blocked | None:
        algorithm = op.attributes.get(op.ALGORITHM)
        if not isinstance(algorithm, WinogradAttr):
            return None
        output_tile, width = algorithm.output_tile.data, schedule.nr * schedule.lanes
        x, results = layouts.blocked(op.x, schedule.lanes), result_channels(op, layouts, schedule.lanes)
        weight, window = layouts.spread(op.weight, 0, results), _window(op)
        conv = WinogradConvOp.get(
            x.value,
            layouts.add(
                WinogradWeightOp.get(weight, output_tile=output_tile, width=width, tiled_axes=window["tiled_axes"])
            ),
            packed_bias(op, layouts, results),
            **window,
            pads=op.pads,
            channels=x.channels.count,
            parts=x.channels.parts if x.channels.has_padding else None,
            outputs=results.slots,
            output_tile=output_tile,
            tile_rows=algorithm.tile_rows.data,
        )
        return Blocked(layouts.narrowed(layouts.scheduled(conv, schedule), op.result), results)


def tiled_axes(op: ConvOp) -> list[int]:
    """The spatial axes of the last two along which the window has 3 taps or more, and stride and dilation 1."""
    taps, strides, dilations = shape_of(op.weight)[2:], op.ints("strides"), op.ints("dilations")
    return [
        axis
        for axis in range(max(len(taps) - INNER, 0), len(taps))
        if taps[axis] >= TAPS and strides[axis] == dilations[axis] == 1
    ]


def is_applicable(op: ConvOp) -> bool:
    """Whether Winograd's algorithm applies: there is something to tile, one group, a constant weight."""
    return bool(tiled_axes(op)) and op.groups == 1 and isinstance(op.weight.owner, ConstantOp)


def _window(op: ConvOp) -> dict[str, Sequence[int] | None]:
    """The attributes of `graph.winograd_conv` that say what the window is like, where it is not 3 x 3 taps."""
    taps, tiled = shape_of(op.weight)[2:], tiled_axes(op)
    strides, dilations, once = op.ints("strides"), op.ints("dilations"), (1,) * len(taps)
    return {
        "kernel": None if taps == (TAPS,) * len(taps) else taps,
        "strides": None if strides == once else strides,
        "dilations": None if dilations == once else dilations,
        "tiled_axes": None if len(tiled) == len(taps) else tiled,
    }


def _sizes(op: ConvOp) -> ConvolutionSizes:
    images, outputs, *extents = shape_of(op.result)
    *outer, rows, columns = (1, *extents)[-max(len(extents), INNER) :]
    taps, tiled = shape_of(op.weight)[2:], tiled_axes(op)
    last = range(len(taps) - INNER, len(taps))
    return ConvolutionSizes(
        prod((images, *outer)),
        shape_of(op.x)[1],
        outputs,
        rows,
        columns,
        taps=prod(taps),
        segments=prod(ceil_div(count, TAPS) if axis in tiled else count for axis, count in enumerate(taps)),
        tiled=(last[0] in tiled, last[1] in tiled),
        inside=prod(window.inside for window in op.windows()),
    )


def _multiplier(op: WinogradConvOp, machine: Machine) -> Machine | None:
    """The machine as it multiplies the factors of `op`; None: it has no instruction for that."""
    return machine if op.types.group == 1 else pair_machine(machine)


def _sizes_of(op: WinogradConvOp) -> ConvolutionSizes:
    sizes = op.sizes
    rows, columns = sizes.rows, sizes.columns
    return ConvolutionSizes(
        prod(sizes.planes),
        op.channels,
        op.outputs,
        rows.window.positions,
        columns.window.positions,
        op.types.group,
        taps=prod(axis.window.size for axis in op.axes),
        segments=prod(sizes.segments),
        tiled=(rows.taps == TAPS, columns.taps == TAPS),
        strides=(rows.window.stride, columns.window.stride),
    )


class WinogradConvStrategy(KernelStrategy[WinogradConvOp]):
    """`graph.winograd_conv`: transform, batched matmul, transform, for each block of rows of tiles."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: WinogradConvOp, machine: Machine) -> Schedule | None:
        block, sizes, multiplier = shape_of(op.x)[-1], op.sizes, _multiplier(op, machine)
        lanes = lanes_of_products(machine, sizes.types.sums)
        if multiplier is None or lanes != block or block == 1 or 0 in shape_of(op.result):
            return None
        products = sizes.products, sizes.block_tiles, sizes.width // block, ceil_div(sizes.steps, sizes.types.group)
        streamed = sizes.types.group == 1
        return batched_matmul_schedule(multiplier, block, products, sizes.panels, streamed=streamed)

    def cost(self, op: WinogradConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return winograd_cycles(_multiplier(op, machine) or machine, _sizes_of(op), op.output_tile)

    def parts(self, op: WinogradConvOp, machine: Machine, threads: int) -> Mapping[str, int]:
        sizes, multiplier = op.sizes, _multiplier(op, machine) or machine
        work = winograd_work(multiplier, _sizes_of(op), op.output_tile, sizes.tile_rows, sizes.panels)
        parts = choose_parts(machine, work, threads)
        return {"row_parts": parts.rows, "panel_parts": parts.panels}

    def nest(self, nest: Nest[WinogradConvOp, MatmulSchedule]) -> None:
        zero = nest.b.index(0)
        WinogradNest.of(nest, first=zero, first_filter=zero).emit()
