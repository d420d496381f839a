"""When a convolution is worth computing by Winograd's minimal filtering, and in what portions: sizes only, no IR.

The estimate counts cycles: those of the products on their register tiles, beside which the weight comes, 1.78 (m = 2)
or 4 (m = 4) times larger than for direct convolution, from where the weights of the model stay: at batch 1, in a
network larger than the caches, memory; and those of the transforms. Measured on a Zen 5 at 4 GHz, one core, in us;
"cold" with everything out of the caches; direct convolution at its peak of 256 GFLOP/s:

| C -> M, H = W | direct | m = 2 | m = 4 | m = 2 cold | m = 4 cold |
|---|---|---|---|---|---|
| 64 -> 64, 56 | 903 | | 276 | | 342 |
| 128 -> 128, 28 | 903 | | 258 | | 349 |
| 256 -> 256, 14 | 903 | 423 | 315 | 518 | 504 |
| 512 -> 512, 7 | 903 | 579 | 804 | 813 | 1009 |
| 128 -> 32, 56 | 903 | | 314 | | |
| 128 -> 32, 28 | 226 | | 93 | | |
| 128 -> 32, 14 | 56 | | 24 | | 61 |
| 128 -> 32, 7 | 14 | 10 | 7 | 26 | 30 |
| 16 -> 16, 32 | 18 | 13 | 9 | | |
| 32 -> 32, 16 | 18 | 11 | 7 | | |
| 64 -> 64, 8 | 18 | 10 | 6 | | |

Of 8-bit integers the elements and weights of a pair of channels take as much space as one f32. The weight is read as
direct convolution reads it, and transformed for each block of rows. On a Zen 4 at 3.6 GHz, in us; direct with AVX-512
VNNI: four products a lane and cycle, with AVX2: as it is best without:

| C -> C, H = W | VNNI: direct | m = 4 | AVX2: m = 2 | m = 4 |
|---|---|---|---|---|
| 64, 56 | 486 | 348 | 740 | 416 |
| 128, 28 | 472 | 336 | 654 | 441 |
| 256, 14 | 447 | 440 | 702 | 529 |
| 512, 7 | 406 | 554 | 921 | 725 |
| 16, 32 | 10.1 | 9.6 | 20.1 | 13.4 |
| 32, 16 | 9.4 | 8.6 | 16.6 | 11.1 |
| 64, 8 | 8.6 | 10.2 | 14.8 | 11.7 |

With a stride of 2, "direct" with pairs of steps where these are faster:

| C -> M, H = W of x | VNNI: direct | m = 2 | m = 4 | AVX2: direct | m = 2 | m = 4 |
|---|---|---|---|---|---|---|
| 64 -> 128, 56 | | | | 603 | 517 | 489 |
| 128 -> 128, 56 | 484 | 868 | 735 | 1309 | 1078 | 956 |
| 256 -> 256, 28 | 470 | 863 | 925 | 1416 | 1120 | 1204 |
| 512 -> 512, 14 | | | | 1428 | 1397 | 1309 |
| 16 -> 32, 32 | | | | 12.6 | 12.7 | 12.6 |
| 32 -> 64, 16 | | | | 12.2 | 12.1 | 11.4 |
"""

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntAttr, f32, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, compute_type
from aotc.dialects.graph.schedules import MatmulSchedule, WinogradAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.mathematics.winograd_transforms import OUTPUT_TILES, TAPS
from aotc.passes.kernel.costs.conv_cost import conv_cycles, conv_schedule
from aotc.passes.kernel.costs.lanes import lanes_of, lanes_of_products
from aotc.passes.kernel.costs.product_cost import (
    BlockedWork,
    batched_matmul_schedule,
    far_cycles,
    product_cycles,
    with_fetching,
)


@dataclass(frozen=True)
class ConvolutionSizes:
    """A convolution with dilation 1 along the axes that are cut into tiles, and stride 1, or of integers 1 or 2."""

    images: int
    """Images, and positions along the axes before the last two."""
    channels: int
    outputs: int
    rows: int
    """Of the result, as are the columns."""
    columns: int
    group: int = 1
    """Neighbouring channels that are multiplied at once."""
    taps: int = TAPS**2
    """Of the window, along all axes."""
    segments: int = 1
    """Of the window, along all axes."""
    inside: float = 1
    """The share of all taps of all positions that are inside of the operand, not of its padding."""
    tiled: tuple[bool, bool] = (True, True)
    """Whether rows and columns are cut into tiles."""
    strides: tuple[int, int] = (1, 1)
    """Of rows and columns, where these are cut into tiles."""

    @property
    def steps(self) -> int:
        """Of a sum over all channels."""
        return ceil_div(self.channels, self.group)

    @property
    def positions(self) -> int:
        """Positions in all images."""
        return self.images * self.rows * self.columns

    def tiles(self, size: int) -> tuple[int, int]:
        """Rows of tiles in all images, and tiles in a row, with `size` results in each along an axis."""
        rows, columns = (
            ceil_div(extent, size) if tiled else extent
            for extent, tiled in zip((self.rows, self.columns), self.tiled, strict=True)
        )
        return self.images * rows, columns

    def products(self, size: int) -> int:
        """Products of matrices for tiles of `size`."""
        along = (stride * (size - 1) + TAPS for stride, tiled in zip(self.strides, self.tiled, strict=True) if tiled)
        return prod(along)

    def written(self, size: int) -> int:
        """Different filters of the products, which are transformed for each block: with a stride of 2 those of elements
        of odd number have one; 0 where the weight has been transformed."""
        return 0 if self.group == 1 else (size + TAPS - 1) ** sum(self.tiled)


def choose(machine: Machine, dtype: Attribute, sizes: ConvolutionSizes) -> WinogradAttr | None:
    """The fastest output tile and the number of rows of tiles in a block; None: convolve directly.

    Fewer channels than lanes are not worth it: half of a blocked operand would be padding.
    """
    found = choices(machine, dtype, sizes) if machine.enlarges_weights else []
    taken = {each: cycles_with_memory(machine, sizes, each.output_tile.data) for each in found}
    best = min(found, key=lambda each: taken[each], default=None)
    if best is None or taken[best] >= machine.winograd.most_time * direct_cycles(machine, sizes):
        return None
    return best


def choices(machine: Machine, dtype: Attribute, sizes: ConvolutionSizes) -> list[WinogradAttr]:
    """The choices: each output tile, with as many rows of tiles in a block as suit it."""
    if 0 in (sizes.images, sizes.outputs) or sizes.channels < lanes_of_products(machine, dtype):
        return []
    kind = compute_type(dtype)
    tiles = OUTPUT_TILES if kind in (f32, i32) else ()
    return [WinogradAttr(IntAttr(size), IntAttr(_tile_rows(machine, sizes, size))) for size in tiles]


def schedule(machine: Machine, dtype: Attribute, sizes: ConvolutionSizes, chosen: WinogradAttr) -> MatmulSchedule:
    """The schedule of the products; the width of its tile is that of a panel of the weight."""
    return _schedule(machine, lanes_of_products(machine, dtype), sizes, chosen.output_tile.data, chosen.tile_rows.data)


def _schedule(
    machine: Machine, lanes: int, sizes: ConvolutionSizes, output_tile: int, tile_rows: int
) -> MatmulSchedule:
    tiles, registers = tile_rows * sizes.tiles(output_tile)[1], ceil_div(sizes.outputs, lanes)
    products = sizes.products(output_tile), tiles, registers, sizes.segments * sizes.steps
    return batched_matmul_schedule(machine, lanes, products, written=sizes.written(output_tile))


def direct_cycles(machine: Machine, sizes: ConvolutionSizes) -> float:
    """Estimated cycles of direct convolution of floats."""
    extents, window = (sizes.positions // sizes.columns, sizes.columns), (sizes.taps,)
    channels, outputs = sizes.channels, sizes.outputs
    schedule = conv_schedule(machine, f32, channels * sizes.positions, extents, outputs, channels, window)
    assert schedule is not None
    blocks = ceil_div(extents[0], schedule.mc or extents[0])
    products = sizes.inside * conv_cycles(machine, schedule, extents, outputs, channels, window)
    fetching = machine.weight_cycles(_weight(machine, sizes, sizes.taps), times=blocks)
    return with_fetching(machine, schedule, sizes.positions, products, fetching)


def cycles(machine: Machine, sizes: ConvolutionSizes, output_tile: int) -> float:
    """Estimated cycles with tiles of `output_tile` results."""
    rows, columns = sizes.tiles(output_tile)
    tile_rows, count = _tile_rows(machine, sizes, output_tile), sizes.products(output_tile)
    blocks, tiles = ceil_div(rows, tile_rows), tile_rows * columns
    transforms = sum(_transform_cycles(machine, sizes, output_tile))
    schedule = _schedule(machine, lanes_of(machine, f32), sizes, output_tile, tile_rows)
    if filters := sizes.written(output_tile):  # what is transformed beside written panels hides the start of tiles
        products = _product_cycles(machine, sizes, rows * columns * count)
        registers = ceil_div(sizes.outputs, lanes_of(machine, f32))
        far = far_cycles(machine, (count, tiles, registers, sizes.steps), filters, schedule.nr)
        return (
            products + transforms + blocks * (sizes.steps * registers * filters * machine.winograd.filter_cycles + far)
        )
    products = product_cycles(machine, schedule, tiles, sizes.outputs, sizes.segments * sizes.steps)
    weight, growth = _weight(machine, sizes, count * sizes.segments), count * sizes.segments / sizes.taps
    fetching = machine.weight_cycles(weight, growth, blocks)
    return with_fetching(machine, schedule, tiles, blocks * count * products, fetching) + transforms


def cycles_with_memory(machine: Machine, sizes: ConvolutionSizes, output_tile: int) -> float:
    """The same, and those in which as many bytes come from L2 as there are in the buffers of a block, since they
    displace what other kernels read: what this takes beside an algorithm without buffers."""
    tiles = _tile_rows(machine, sizes, output_tile) * sizes.tiles(output_tile)[1]
    registers = min(ceil_div(sizes.outputs, lanes_of(machine, f32)), machine.winograd.product_registers)
    steps, panel = sizes.segments * sizes.steps, registers * machine.vector_bytes
    buffers = tiles * sizes.products(output_tile) * (steps * byte_width(f32) + panel)
    filters = sizes.written(output_tile) * steps * panel  # of a panel of the weight
    return cycles(machine, sizes, output_tile) + (buffers + filters) / machine.bandwidths.l2


def _transform_cycles(machine: Machine, sizes: ConvolutionSizes, output_tile: int) -> tuple[float, float]:
    """Estimated cycles of the transforms of all tiles of the operand, and of the result."""
    (rows, columns), costs = sizes.tiles(output_tile), machine.winograd
    each = costs.transform_cycles if sizes.group == 1 else costs.narrow_cycles
    count, lanes = rows * columns * sizes.products(output_tile) * each, lanes_of(machine, f32)
    # neighbours that are multiplied at once share a lane
    return count * sizes.segments * ceil_div(sizes.steps, lanes), count * ceil_div(sizes.outputs, lanes)


def work(machine: Machine, sizes: ConvolutionSizes, output_tile: int, tile_rows: int, panels: int) -> BlockedWork:
    """Work that threads may share, in blocks of `tile_rows` rows of tiles."""
    (rows, columns), count = sizes.tiles(output_tile), sizes.products(output_tile) * sizes.segments
    before, after = _transform_cycles(machine, sizes, output_tile)
    products = _product_cycles(machine, sizes, rows * columns * count) + after
    transformed = rows * columns * count * sizes.steps * byte_width(f32)
    weight = machine.weight_cycles(_weight(machine, sizes, count))
    return BlockedWork(rows, tile_rows, panels, before / rows, products / rows, weight, transformed)


def _product_cycles(machine: Machine, sizes: ConvolutionSizes, count: int) -> float:
    """Estimated cycles of `count` products of a row of all channels with the weight, with nothing beside."""
    return count * sizes.steps * ceil_div(sizes.outputs, lanes_of(machine, f32)) / machine.tiles.multipliers


def _weight(machine: Machine, sizes: ConvolutionSizes, products: int) -> int:
    """Bytes of a weight of floats for so many products of each channel, in whole registers."""
    return products * sizes.steps * ceil_div(sizes.outputs, lanes_of(machine, f32)) * machine.vector_bytes


def _tile_rows(machine: Machine, sizes: ConvolutionSizes, output_tile: int) -> int:
    """The number of rows of tiles in a block, all blocks being equal, such that the buffers take their share of L2."""
    rows, columns = sizes.tiles(output_tile)
    costs, steps = machine.winograd, sizes.segments * sizes.steps
    resident = steps + costs.product_registers * lanes_of(machine, f32)
    buffers = columns * sizes.products(output_tile) * resident * byte_width(f32)
    most = max(int(machine.l2 * machine.shares.transforms) // buffers, ceil_div(costs.fewest_tiles, columns), 1)
    return ceil_div(rows, ceil_div(rows, most))
