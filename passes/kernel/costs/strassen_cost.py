"""When a matrix product is worth computing by Strassen's algorithm: sizes only, no IR.

The estimate counts cycles: those of the products on their register tiles, beside which the weight comes, 7 / 4 times
larger, from where the weights of the model stay; and those of the sums. Measured on a Zen 5 at 4 GHz, one core, f32,
with a bias, in us; "cold" with something else in the first two caches:

| M x K x N | direct | Strassen | gain | gain cold |
|---|---|---|---|---|
| 128 x 768 x 768 | 599 | 539 | 1.11 | 1.10 |
| 128 x 768 x 3072 | 2359 | 2120 | 1.11 | 1.09 |
| 128 x 3072 x 768 | 2471 | 2152 | 1.15 | 1.13 |
| 197 x 768 x 768 | 884 | 821 | 1.08 | 1.11 |
| 256 x 1024 x 1024 | 2074 | 1906 | 1.09 | 1.10 |
| 512 x 512 x 512 | 1055 | 979 | 1.08 | 1.07 |
| 1024 x 1024 x 1024 | 8552 | 7656 | 1.12 | 1.06 |
| 128 x 384 x 1536 | 589 | 537 | 1.10 | 1.08 |
| 64 x 768 x 768 | 289 | 264 | 1.10 | 1.09 |
| 128 x 384 x 384 | 152 | 143 | 1.07 | 1.06 |
| 197 x 192 x 768 | 225 | 217 | 1.04 | 1.05 |
| 784 x 512 x 128 | 405 | 389 | 1.04 | 1.02 |
| 128 x 128 x 512 | 64 | 62 | 1.03 | 1.02 |
| 32 x 768 x 3072 | 592 | 595 | 1.00 | 0.87 |
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, compute_type
from aotc.dialects.graph.packed.products.strassen_matmul import PRODUCTS, RESULT_SUMS
from aotc.dialects.graph.schedules import MatmulSchedule, StrassenAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs import product_cost
from aotc.passes.kernel.costs.lanes import lanes_of, lanes_of_products
from aotc.passes.kernel.costs.product_cost import BlockedWork


@dataclass(frozen=True)
class ProductSizes:
    """A product [rows, depth] x [depth, columns] for each of `batch` left matrices."""

    batch: int
    rows: int
    columns: int
    depth: int

    @property
    def upper(self) -> int:
        """The depth of the upper half of the right matrix."""
        return ceil_div(self.depth, 2)

    def left(self, lanes: int) -> int:
        """Columns of the left half of the result, whole registers."""
        return ceil_div(self.columns, 2 * lanes) * lanes


def choices(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> list[StrassenAttr]:
    """The choices of block size: all rows, or as many rows as suit the machine."""
    if lanes_of(machine, dtype) == 1 or 0 in (sizes.rows, sizes.columns, sizes.depth):
        return []
    found = dict.fromkeys(ceil_div(sizes.rows, most) for most in (machine.strassen.most_rows, sizes.rows))
    return [StrassenAttr(IntAttr(2 * ceil_div(sizes.rows, 2 * count))) for count in found]


def choose(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> StrassenAttr | None:
    """Blocks of as many rows as suit the machine, where Strassen's algorithm is estimated to be faster; else None."""
    if not machine.enlarges_weights or not (found := choices(machine, dtype, sizes)):
        return None
    most = machine.strassen.most_time * direct_cycles(machine, dtype, sizes)
    return found[0] if cycles(machine, dtype, sizes) < most else None


def direct_cycles(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> float:
    """Estimated cycles of the product by its definition."""
    schedule = product_cost.product_schedule(machine, dtype, sizes.rows, sizes.columns, sizes.depth, streamed=True)
    assert schedule is not None
    products = product_cost.product_cycles(machine, schedule, sizes.rows, sizes.columns, sizes.depth)
    weight = _direct_weight(machine, dtype, sizes)
    fetching = machine.weight_cycles(weight, times=sizes.batch) / sizes.batch
    return sizes.batch * product_cost.with_fetching(machine, schedule, sizes.rows, products, fetching)


def cycles(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> float:
    """Estimated cycles of the seven products and the sums, in as many blocks as suit the machine."""
    (chosen, *_), lanes = choices(machine, dtype, sizes), lanes_of(machine, dtype)
    blocks, weight = ceil_div(sizes.rows, chosen.rows.data), _strassen_weight(machine, dtype, sizes)
    half, registers = min(chosen.rows.data, sizes.rows + 1) // 2, sizes.left(lanes) // lanes
    schedule = product_cost.batched_matmul_schedule(machine, lanes, (PRODUCTS, half, registers, sizes.upper))
    products = PRODUCTS * product_cost.product_cycles(machine, schedule, half, sizes.left(lanes), sizes.upper)
    growth = weight / _direct_weight(machine, dtype, sizes)
    fetching = machine.weight_cycles(weight, growth, times=sizes.batch * blocks) / sizes.batch / blocks
    block = product_cost.with_fetching(machine, schedule, half, products, fetching)
    return sizes.batch * (blocks * block + sum(_sum_cycles(machine, dtype, sizes)))


def work(machine: Machine, dtype: Attribute, sizes: ProductSizes, block_rows: int, panels: int) -> BlockedWork:
    """Work that threads may share, in blocks of `block_rows` rows that stay whole, since they decide the rounding."""
    rows, lanes = sizes.batch * sizes.rows, lanes_of(machine, dtype)
    half, registers = ceil_div(sizes.rows, 2), sizes.left(lanes) // lanes
    transformed = PRODUCTS * sizes.batch * half * sizes.upper * byte_width(compute_type(dtype))
    products = half * PRODUCTS * sizes.upper * registers / machine.tiles.multipliers
    before, after = _sum_cycles(machine, dtype, sizes)
    return BlockedWork(
        rows,
        min(block_rows, sizes.rows),
        panels,
        before / sizes.rows,
        (products + after) / sizes.rows,
        machine.weight_cycles(_strassen_weight(machine, dtype, sizes)),
        transformed,
        together=sizes.batch * min(block_rows, sizes.rows),
    )


def _direct_weight(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> int:
    """Bytes of the weight, in whole registers."""
    return sizes.depth * ceil_div(sizes.columns, lanes_of(machine, dtype)) * machine.vector_bytes


def _strassen_weight(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> int:
    lanes = lanes_of(machine, dtype)
    return PRODUCTS * sizes.upper * (sizes.left(lanes) // lanes) * machine.vector_bytes


def _sum_cycles(machine: Machine, dtype: Attribute, sizes: ProductSizes) -> tuple[float, float]:
    """Estimated cycles, for one left matrix, of the sums of its quarters and of those of products."""
    lanes = lanes_of(machine, dtype)
    summed = len(RESULT_SUMS) * ceil_div(sizes.rows, 2) * machine.strassen.sum_cycles
    return summed * ceil_div(sizes.upper, lanes), summed * (sizes.left(lanes) // lanes)


def schedule(machine: Machine, dtype: Attribute, rows: int, columns: int, depth: int) -> MatmulSchedule | None:
    """The schedule of the products of quarters [rows, depth] and [depth, columns], None where there are no vectors.

    The width of its tile is that of a panel of the weight.
    """
    lanes = lanes_of_products(machine, dtype)
    if lanes == 1 or 0 in (rows, columns, depth):
        return None
    return product_cost.batched_matmul_schedule(machine, lanes, (PRODUCTS, rows, ceil_div(columns, lanes), depth))
