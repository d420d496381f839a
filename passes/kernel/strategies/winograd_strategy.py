"""Winograd's minimal filtering: `graph.winograd_conv` on a weight that is transformed, of integers when it is used.

Where a dot product of four 8-bit integers takes several instructions, one of two 16-bit integers takes less than half
of them, so that 2.25 times fewer multiplications are worth the transforms.
"""

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.dialects.graph.packed.winograd.winograd_axes import INNER, WinogradWeightOp
from aotc.dialects.graph.packed.winograd.winograd_conv import PAIR, WinogradConvOp, most_sum_bits, sum_bits_of
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, WinogradAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.mathematics.strided_transforms import STRIDE
from aotc.mathematics.winograd_transforms import TAPS
from aotc.passes.kernel.costs import winograd_cost
from aotc.passes.kernel.costs.dot_cost import pair_machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.product_cost import batched_matmul_schedule, choose_parts
from aotc.passes.kernel.costs.winograd_cost import ConvolutionSizes
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.winograd_nest import WinogradNest
from aotc.passes.kernel.strategies import conv_strategy
from aotc.passes.kernel.strategies.dot_conv_strategy import DotConvStrategy, sums_bytes
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies


class WinogradStrategy(conv_strategy.ConvolutionStrategy[ConvOp]):
    """`graph.conv` with stride and dilation 1 along some of the last two axes, where its `algorithm` says so."""

    SCHEDULES = (MatmulSchedule,)
    ALGORITHMS = (WinogradAttr,)

    def sums(self, op: ConvOp, machine: Machine) -> tuple[Machine, Attribute, ConvolutionSizes] | None:
        """The machine as it multiplies the factors, the type of the sums, and the sizes of the convolution; None where
        it has no instruction for these factors."""
        images, outputs, *extents = shape_of(op.result)
        *outer, rows, columns = (1, *extents)[-max(len(extents), INNER) :]
        taps, tiled = shape_of(op.weight)[2:], tiled_axes(op)
        last = range(len(taps) - INNER, len(taps))
        sizes = ConvolutionSizes(
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
        return machine, element_type_of(op.x), sizes

    def algorithm(self, op: ConvOp, machine: Machine) -> Attribute | None:
        found = self.sums(op, machine) if is_applicable(op) else None
        if found is None or (chosen := winograd_cost.choose(*found)) is None:
            return None
        _, _, sizes = found
        cycles = winograd_cost.cycles(machine, sizes, chosen.output_tile.data)
        return None if conv_strategy.cycles_of_few_outputs(op, machine) < cycles else chosen

    def algorithms(self, op: ConvOp, machine: Machine) -> Sequence[WinogradAttr]:
        found = self.sums(op, machine) if is_applicable(op) else None
        return () if found is None else winograd_cost.choices(*found)

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        if not isinstance(algorithm := op.attributes.get(op.ALGORITHM), WinogradAttr):
            return None
        return None if (found := self.sums(op, machine)) is None else winograd_cost.schedule(*found, algorithm)

    def cost(self, op: ConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        algorithm, found = op.attributes[op.ALGORITHM], self.sums(op, machine)
        assert isinstance(algorithm, WinogradAttr) and found is not None
        multiplier, _, sizes = found
        return winograd_cost.cycles(multiplier, sizes, algorithm.output_tile.data)

    def lower(self, op: ConvOp, layouts: Layouts, schedule: MatmulSchedule) -> Blocked | None:
        algorithm = op.attributes.get(op.ALGORITHM)
        if not isinstance(algorithm, WinogradAttr):
            return None
        x, results = layouts.blocked(op.x, schedule.lanes), conv_strategy.result_channels(op, layouts, schedule.lanes)
        weight, tile, width = (
            layouts.spread(op.weight, 0, results),
            algorithm.output_tile.data,
            schedule.nr * schedule.lanes,
        )
        conv = WinogradConvOp.get(
            x.value,
            self.packed(op, layouts, weight, x.channels.count, tile, width),
            conv_strategy.packed_bias(op, layouts, results),
            **self.properties(op),
            pads=op.pads,
            channels=x.channels.count,
            parts=x.channels.parts if x.channels.has_padding else None,
            outputs=results.slots,
            x_zero_point=op.zero_points[0] or None,
            sum_bits=op.sum_bits,
            output_tile=tile,
            tile_rows=algorithm.tile_rows.data,
            filters=op.sums_integers,
        )
        return Blocked(layouts.narrowed(layouts.scheduled(conv, schedule), op.result), results)

    def packed(self, op: ConvOp, layouts: Layouts, weight: SSAValue, channels: int, tile: int, width: int) -> SSAValue:
        """A weight of so many input channels, for output tiles of `tile`, in panels of `width` columns."""
        axes = self.properties(op)["tiled_axes"]
        return layouts.add(WinogradWeightOp.get(weight, output_tile=tile, width=width, tiled_axes=axes))

    def properties(self, op: ConvOp) -> Mapping[str, object]:
        """The window, where it is not 3 x 3 taps."""
        taps, tiled = shape_of(op.weight)[2:], tiled_axes(op)
        strides, dilations, once = op.ints("strides"), op.ints("dilations"), (1,) * len(taps)
        return {
            "kernel": None if taps == (TAPS,) * len(taps) else taps,
            "strides": None if strides == once else strides,
            "dilations": None if dilations == once else dilations,
            "tiled_axes": None if len(tiled) == len(taps) else tiled,
        }


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


_DIRECT = DotConvStrategy()


class WinogradDotStrategy(WinogradStrategy):
    """`graph.conv` of 8-bit integers, exact: 3 x 3 taps, strides of 1 or 2."""

    SUMS_INTEGERS = True

    def sums(self, op: ConvOp, machine: Machine) -> tuple[Machine, Attribute, ConvolutionSizes] | None:
        if (pairs := pair_machine(machine)) is None or not sums_bytes(op):
            return None
        images, outputs, rows, columns = shape_of(op.result)
        down, across = op.ints("strides")
        sizes = ConvolutionSizes(images, shape_of(op.x)[1], outputs, rows, columns, PAIR, strides=(down, across))
        return pairs, i32, sizes

    def algorithm(self, op: ConvOp, machine: Machine) -> Attribute | None:
        found, direct = self.algorithms(op, machine), _DIRECT.schedule(op, machine)
        if not found or not isinstance(direct, MatmulSchedule) or (sums := self.sums(op, machine)) is None:
            return None
        (pairs, _, sizes), chosen = sums, None
        least = machine.winograd.most_time * _DIRECT.cost(op, direct, machine)
        for each in found:
            if (cycles := winograd_cost.cycles_with_memory(pairs, sizes, each.output_tile.data)) < least:
                least, chosen = cycles, each
        return chosen

    def algorithms(self, op: ConvOp, machine: Machine) -> Sequence[WinogradAttr]:
        """Where both axes of a window of 3 x 3 taps may be transformed."""
        strides, dilations = op.ints("strides"), op.ints("dilations")
        square = shape_of(op.weight)[2:] == (TAPS,) * INNER and op.groups == 1
        if not square or not isinstance(op.weight.owner, ConstantOp) or set(dilations) != {1}:
            return ()
        if not set(strides) <= {1, STRIDE} or (found := self.sums(op, machine)) is None:
            return ()
        bits = sum_bits_of(shape_of(op.x)[1]) if op.sum_bits is None else op.sum_bits
        choices = winograd_cost.choices(*found)
        return [each for each in choices if bits <= most_sum_bits(each.output_tile.data, strides)]

    def packed(self, op: ConvOp, layouts: Layouts, weight: SSAValue, channels: int, tile: int, width: int) -> SSAValue:
        return layouts.packed(weight, weight_panels(4, width, ceil_div(channels, PAIR) * PAIR).interleaved(PAIR))

    def properties(self, op: ConvOp) -> Mapping[str, object]:
        return {"strides": super().properties(op)["strides"]}


class WinogradConvStrategy(KernelStrategy[WinogradConvOp]):
    """`graph.winograd_conv`: transform, batched matmul, transform, for each block of rows of tiles."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def _multiplier(self, op: WinogradConvOp, machine: Machine) -> Machine | None:
        return machine if op.types.group == 1 else pair_machine(machine)

    def schedule(self, op: WinogradConvOp, machine: Machine) -> Schedule | None:
        block, sizes, multiplier = shape_of(op.x)[-1], op.sizes, self._multiplier(op, machine)
        lanes = lanes_of_products(machine, sizes.types.sums)
        if multiplier is None or lanes != block or block == 1 or 0 in shape_of(op.result):
            return None
        products = sizes.products, sizes.block_tiles, sizes.width // block, ceil_div(sizes.steps, sizes.types.group)
        written = 0 if sizes.types.group == 1 else sizes.filters
        return batched_matmul_schedule(multiplier, block, products, sizes.panels, written=written)

    def cost(self, op: WinogradConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return winograd_cost.cycles(self._multiplier(op, machine) or machine, self._sizes(op), op.output_tile)

    def parts(self, op: WinogradConvOp, machine: Machine, threads: int) -> Mapping[str, int]:
        sizes, multiplier = op.sizes, self._multiplier(op, machine) or machine
        work = winograd_cost.work(multiplier, self._sizes(op), op.output_tile, sizes.tile_rows, sizes.panels)
        return choose_parts(machine, work, threads).properties

    def _sizes(self, op: WinogradConvOp) -> ConvolutionSizes:
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

    def nest(self, nest: Nest[WinogradConvOp, MatmulSchedule]) -> None:
        zero = nest.b.index(0)
        WinogradNest.of(nest, first=zero, first_filter=zero).emit()


STRATEGIES: Strategies = {
    ConvOp: (WinogradStrategy(), WinogradDotStrategy()),
    WinogradConvOp: (WinogradConvStrategy(),),
}
