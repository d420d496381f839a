"""Matrix products on register tiles: of panels of a constant, by Strassen's algorithm, of 8-bit integers and fewer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from xdsl.dialects.builtin import IntegerType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width, compute_type, is_float, is_unsigned
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import MulOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.integers.dot_products import GROUP, PackedDotMatMulOp, ZeroPointBiasOp
from aotc.dialects.graph.packed.products.packed_matmul import (
    WORD_BITS,
    FewBitsMatMulOp,
    PackedMatMulOp,
    PackFewBitsOp,
    ProductOp,
    column_panels,
)
from aotc.dialects.graph.packed.products.strassen_matmul import StrassenMatMulOp, StrassenWeightOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.quantized.nibbles import FewBitsMatrix
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulSchedule, Schedule, ScheduleAttr, StrassenAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs import strassen_cost
from aotc.passes.kernel.costs.dot_cost import dot_machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.product_cost import (
    choose_parts,
    few_bits_cycles,
    few_bits_schedule,
    product_cycles,
    product_schedule,
)
from aotc.passes.kernel.costs.strassen_cost import ProductSizes
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.few_bits_nest import FewBitsNest, row_axis
from aotc.passes.kernel.nests.products.matmul_nest import (
    Beside,
    MatmulNest,
    PartialSums,
    Place,
    Products,
    StepFactors,
    prefetch_ahead,
    prefetch_panel,
)
from aotc.passes.kernel.nests.products.strassen_nest import StrassenNest
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, whole
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

Product = TypeVar("Product", bound=ProductOp)
Few = TypeVar("Few", MatMulOp, FewBitsMatMulOp)
Dot = TypeVar("Dot", MatMulOp, PackedDotMatMulOp)


class ProductStrategy(KernelStrategy[Product]):
    """Matrix products, whatever the layout of the operands."""

    SCHEDULES = (MatmulSchedule,)

    def schedule(self, op: Product, machine: Machine) -> Schedule | None:
        _, m, n, depth = op.sizes()
        return product_schedule(machine, element_type_of(op.lhs), m, n, depth, streamed=self.is_streamed(op))

    def is_streamed(self, op: Product) -> bool:
        """Whether the right matrix is streamed from memory panel by panel, as weights are."""
        return True

    def cost(self, op: Product, schedule: MatmulSchedule, machine: Machine) -> float:
        batch, m, n, depth = op.sizes()
        return math.prod(batch) * product_cycles(machine, schedule, m, n, depth)

    def spatial_tiling(self, op: Product, schedule: MatmulSchedule) -> SpatialTiling | None:
        """Tiles of a product [.., M, N] are some rows of one batch index."""
        if op.scratch():
            return None
        rank = len(shape_of(op.result))
        return SpatialTiling(range(rank - 2), rank - 2, schedule.mr)

    def tiled_implementation(self, op: Product, box: Box) -> TiledImplementation | None:
        """The product of a box: some rows, all columns, of some batch indices."""
        *batch, rows, columns = box
        if columns != whole(op.result)[-1] or op.scratch():
            return None

        def batches(extents: Sequence[int]) -> Box:
            last = batch[len(batch) - len(extents) :]
            return tuple(range(1) if extent == 1 else axis for extent, axis in zip(extents, last, strict=True))

        transposed = op.transpose_lhs
        outer, matrix = shape_of(op.rhs)[: -op.MATRIX_RANK], whole(op.rhs)[-op.MATRIX_RANK :]
        depth = whole(op.lhs)[-2 if transposed else -1]
        of_lhs = (depth, rows) if transposed else (rows, depth)
        return TiledImplementation(op, ((*batches(shape_of(op.lhs)[:-2]), *of_lhs), (*batches(outer), *matrix)))

    def factors(self, nest: Nest[Product, MatmulSchedule], place: Place) -> StepFactors:
        """The two factors of each reduction step of a register tile."""
        left = nest.op.left(nest.b, nest.reads[0], place.outer, place.row)
        right = nest.op.right(nest.b, nest.reads[1], place.outer, place.column)
        return lambda k: (left(k), right(k))

    def beside(self, nest: Nest[Product, MatmulSchedule], place: Place) -> Beside | None:
        """Work beside each reduction step of a register tile."""
        return None

    def nest(self, nest: Nest[Product, MatmulSchedule]) -> None:
        def store(place: Place, total: Scalar) -> None:
            nest.write([*place.outer, place.row, place.column], total)

        (batch, *sizes), kind, partials = nest.op.sizes(), element_type_of(nest.op.lhs), PartialSums.of(nest)
        factors, beside = partial(self.factors, nest), partial(self.beside, nest)
        MatmulNest(nest.b, nest.schedule, kind, batch, sizes, factors, store, partials=partials, beside=beside).emit()


class MatMulStrategy(ProductStrategy[MatMulOp]):
    """`graph.matmul`: computed as it is, or lowered to `graph.packed_matmul`."""

    PROLOGUES = (Prologue.MOVED,)
    BROADCASTS = True

    def is_streamed(self, op: MatMulOp) -> bool:
        return isinstance(op.rhs.owner, ConstantOp)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        """Pack the right matrix into panels where it is constant (at compile time) or transposed (when the model runs).

        Without packing, the reduction is not blocked. Packing what one row is multiplied with takes longer than the
        product, which is done without where the terms of a column are neighbours.
        """
        transposed = op.transpose_rhs
        packed = transposed or layouts.is_constant(op.rhs)
        kind, one_row = element_type_of(op.lhs), op.sizes()[1] == 1 and not op.transpose_lhs
        plain = compute_type(kind) == kind == element_type_of(op.rhs)  # nothing is widened to be multiplied
        if transposed and not layouts.is_constant(op.rhs) and one_row and plain:
            terms = layouts.add(MulOp.get(op.lhs, op.rhs))
            sums = layouts.add(ReduceOp.get(terms, kind="sum", axes=[-1]))
            return layouts.add(ReshapeOp.get(sums, shape=shape_of(op.result)))
        if schedule.kc is not None and (not packed or schedule.kc >= op.sizes()[-1]):
            schedule = replace(schedule, kc=None)
            op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        if not packed:
            return None
        width = schedule.nr * schedule.lanes
        panels = layouts.packed(op.rhs, column_panels(len(shape_of(op.rhs)), width, transposed=transposed))
        product = PackedMatMulOp.get(
            op.lhs,
            panels,
            columns=shape_of(op.result)[-1],
            transpose_lhs=op.transpose_lhs,
            partials=schedule.kc is not None,
        )
        return layouts.scheduled(product, schedule)

    def nest(self, nest: Nest[MatMulOp, MatmulSchedule]) -> None:
        if nest.op.transpose_rhs:
            raise NotVectorizable("the columns of a transposed operand do not lie along the lanes")
        super().nest(nest)


class PackedMatMulStrategy(ProductStrategy[PackedMatMulOp]):
    """`graph.packed_matmul`: panels of NR vectors are streamed."""

    PROLOGUES = (Prologue.MOVED, Prologue.STORED)

    def factors(self, nest: Nest[PackedMatMulOp, MatmulSchedule], place: Place) -> StepFactors:
        op, b, (left_read, right, *_) = nest.op, nest.b, nest.reads
        left, matrix = op.left(b, left_read, place.outer, place.row), op.matrix(b, place.outer)
        lanes = place.tile.index(b, 0, {-2: nest.lanes, -1: 1})
        return lambda k: (left(k), right([*matrix, place.panel, k, lanes]))

    def beside(self, nest: Nest[PackedMatMulOp, MatmulSchedule], place: Place) -> Beside:
        op, b, schedule, right = nest.op, nest.b, nest.schedule, nest.reads[1]
        matrix, panel, element = op.matrix(b, place.outer), shape_of(op.rhs)[-2:], byte_width(element_type_of(op.rhs))

        def at(k: Scalar, in_turn: int) -> None:
            following, share = [*matrix, place.panel + 1], (op.sizes()[1], element)
            prefetch_panel(b, schedule, right, following, place.first, share, panel, (k, in_turn))
            prefetch_ahead(b, schedule, right, [*matrix, place.panel], (panel[-1], element), k)

        return at

    def nest(self, nest: Nest[PackedMatMulOp, MatmulSchedule]) -> None:
        if shape_of(nest.op.rhs)[-1] != nest.schedule.nr * nest.lanes:
            raise NotVectorizable("the panels have another width than the register tile")
        super().nest(nest)


class StrassenStrategy(KernelStrategy[MatMulOp]):
    """`graph.matmul` of an lhs that is not transposed with one constant matrix, where its `algorithm` says so."""

    SCHEDULES = (MatmulSchedule,)
    ALGORITHMS = (StrassenAttr,)
    PROLOGUES = (Prologue.MOVED,)

    def algorithm(self, op: MatMulOp, machine: Machine) -> Attribute | None:
        kind, sizes = element_type_of(op.lhs), _product_sizes(op)
        return strassen_cost.choose(machine, kind, sizes) if _takes_strassen(op) else None

    def algorithms(self, op: MatMulOp, machine: Machine) -> Sequence[Attribute]:
        kind, sizes = element_type_of(op.lhs), _product_sizes(op)
        return strassen_cost.choices(machine, kind, sizes) if _takes_strassen(op) else ()

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        if not isinstance(algorithm := op.attributes.get(op.ALGORITHM), StrassenAttr):
            return None
        sizes, kind = _product_sizes(op), element_type_of(op.lhs)
        left, rows = sizes.left(lanes_of_products(machine, kind)), min(algorithm.rows.data, sizes.rows + 1) // 2
        return strassen_cost.schedule(machine, kind, rows, left, sizes.upper)

    def cost(self, op: MatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return strassen_cost.cycles(machine, element_type_of(op.lhs), _product_sizes(op))

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        """Sums of the quarters of the constant are packed at compile time."""
        algorithm = op.attributes.get(op.ALGORITHM)
        if not isinstance(algorithm, StrassenAttr):
            return None
        left, width = _product_sizes(op).left(schedule.lanes), schedule.nr * schedule.lanes
        weight = StrassenWeightOp.get(op.rhs, left=left, width=width, transpose=op.transpose_rhs)
        columns, rows = shape_of(op.result)[-1], algorithm.rows.data
        product = StrassenMatMulOp.get(op.lhs, layouts.add(weight), columns=columns, left=left, block_rows=rows)
        return layouts.narrowed(layouts.scheduled(product, schedule), op.result)


def _takes_strassen(op: MatMulOp) -> bool:
    single = len(shape_of(op.rhs)) == 2 and not op.transpose_lhs
    return single and isinstance(op.rhs.owner, ConstantOp)


def _product_sizes(op: MatMulOp | StrassenMatMulOp) -> ProductSizes:
    if isinstance(op, MatMulOp):
        batch, m, n, depth = op.sizes()
        return ProductSizes(math.prod(batch), m, n, depth)
    sizes = op.sizes
    return ProductSizes(math.prod(sizes.batch), sizes.rows, sizes.columns, sizes.depth)


class StrassenMatMulStrategy(KernelStrategy[StrassenMatMulOp]):
    """`graph.strassen_matmul`: seven batched matmuls of sums for each block of rows."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.MOVED, Prologue.STORED)

    def schedule(self, op: StrassenMatMulOp, machine: Machine) -> Schedule | None:
        sizes = op.sizes
        return strassen_cost.schedule(machine, element_type_of(op.lhs), sizes.height, sizes.left, sizes.upper)

    def cost(self, op: StrassenMatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return strassen_cost.cycles(machine, element_type_of(op.lhs), _product_sizes(op))

    def parts(self, op: StrassenMatMulOp, machine: Machine, threads: int) -> Mapping[str, int]:
        """Parts of the blocks of rows, and of panels."""
        kind, sizes = element_type_of(op.lhs), op.sizes
        work = strassen_cost.work(machine, kind, _product_sizes(op), sizes.block_rows, sizes.panels)
        return choose_parts(machine, work, threads).properties

    def nest(self, nest: Nest[StrassenMatMulOp, MatmulSchedule]) -> None:
        StrassenNest.of(nest, first=nest.b.index(0)).emit()


def _row_sizes(op: MatMulOp | FewBitsMatMulOp) -> tuple[int, int, int, int]:
    """How many rows are neighbours, how often there are so many, N and K."""
    batch, rows, columns, depth = op.sizes()
    extents = (*batch, rows)
    repeats = extents[row_axis(extents)]
    return repeats, math.prod(extents) // max(repeats, 1), columns, depth


class _FewBits(KernelStrategy[Few]):
    """Products of floats with matrices of integers of few bits, scaled in blocks, which stay packed."""

    SCHEDULES = (FewBitsSchedule,)

    def cost(self, op: Few, schedule: FewBitsSchedule, machine: Machine) -> float:
        rows, times, columns, depth = _row_sizes(op)
        return few_bits_cycles(machine, schedule, rows, columns, depth, times)

    def candidates(self, op: Few, schedule: FewBitsSchedule, machine: Machine) -> Iterator[Schedule]:
        """And the other place to unpack to."""
        yield from super().candidates(op, schedule, machine)
        yield replace(schedule, kc=op.sizes()[-1] if schedule.kc is None else None)


class FewBitsStrategy(_FewBits[MatMulOp]):
    """Lowers to `graph.few_bits_matmul`."""

    KEEPS_PACKED = True
    PROLOGUES = (Prologue.MOVED,)
    BROADCASTS = True

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        matrix = FewBitsMatrix.of(op.rhs, op.transpose_rhs)
        kind = element_type_of(op.lhs)
        if matrix is None or op.transpose_lhs or not is_float(kind) or compute_type(kind) != f32:
            return None
        count, depth = WORD_BITS // matrix.bits, op.sizes()[-1]
        if compute_type(element_type_of(matrix.scales)) != f32 or (matrix.block % count and matrix.block < depth):
            return None
        return few_bits_schedule(machine, *_row_sizes(op), count, matrix.block)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: FewBitsSchedule) -> SSAValue | None:
        matrix = FewBitsMatrix.of(op.rhs, op.transpose_rhs)
        if matrix is None:
            return None
        width = schedule.nr * schedule.lanes
        kind = element_type_of(matrix.values)
        assert isinstance(kind, IntegerType)
        offset = 0 if is_unsigned(kind) else 2 ** (matrix.bits - 1)
        words = PackFewBitsOp.get(
            matrix.values, bits=matrix.bits, offset=offset, width=width, transpose=matrix.transposed
        )
        point, points = _known_point(matrix), None
        if point is None:
            assert matrix.points is not None
            given = matrix.points
            if not is_float(element_type_of(given)):  # a byte each, as memory holds them
                given = layouts.add(CastOp.get(given, to=ELEMENT_TYPES["uint8"] if is_unsigned(kind) else i8))
            points = self._table(given, matrix, op, width, layouts)
        product = FewBitsMatMulOp.get(
            op.lhs,
            layouts.add(words),
            self._table(matrix.scales, matrix, op, width, layouts),
            points,
            columns=op.sizes()[2],
            bits=matrix.bits,
            block=matrix.block,
            point=float(offset + (point or 0)),
            to=element_type_of(op.result),
            kc=schedule.kc,
            panel=schedule.kc is not None,
        )
        return layouts.scheduled(product, schedule)

    def _table(self, value: SSAValue, matrix: FewBitsMatrix, op: MatMulOp, width: int, layouts: Layouts) -> SSAValue:
        """Scales or zero points in panels."""
        (_, _, columns, depth), rank = op.sizes(), len(shape_of(value))
        if shape_of(value) in ((), (1,)):
            value = layouts.add(BroadcastOp.get(value, shape=[ceil_div(depth, matrix.block), columns]))
        elif rank == 1:
            value = layouts.add(ReshapeOp.get(value, shape=[1, columns]))
        return layouts.packed(value, column_panels(2, width, transposed=matrix.transposed and rank > 1))


def _known_point(matrix: FewBitsMatrix) -> float | None:
    """The one zero point; None where there are several."""
    if matrix.points is None:
        return 0
    constant = producer(matrix.points, ConstantOp)
    if constant is None or shape_of(matrix.points) not in ((), (1,)):
        return None
    return float(constant.inline_array().reshape(()))


class FewBitsMatMulStrategy(_FewBits[FewBitsMatMulOp]):
    """`graph.few_bits_matmul`: panels of words are streamed."""

    PROLOGUES = (Prologue.MOVED, Prologue.STORED)
    NEST = FewBitsNest

    def schedule(self, op: FewBitsMatMulOp, machine: Machine) -> Schedule | None:
        return few_bits_schedule(machine, *_row_sizes(op), op.count, op.block)


class _DotProducts(KernelStrategy[Dot]):
    """Products of 8-bit integers with a constant matrix: dot products of four steps of the reduction."""

    SCHEDULES = (MatmulSchedule,)

    def schedule(self, op: Dot, machine: Machine) -> Schedule | None:
        _, rows, columns, depth = op.sizes()
        return product_schedule(dot_machine(machine), i32, rows, columns, depth // GROUP, streamed=True)

    def cost(self, op: Dot, schedule: MatmulSchedule, machine: Machine) -> float:
        batch, rows, columns, depth = op.sizes()
        return math.prod(batch) * product_cycles(dot_machine(machine), schedule, rows, columns, depth // GROUP)


def _panel_width(schedule: MatmulSchedule, columns: int) -> int:
    """Columns of a panel in memory: those of NR registers; of a matrix that has fewer, as many as there are, rounded up
    so that a row is whole words of 16 bytes."""
    return min(schedule.nr * schedule.lanes, ceil_div(columns, GROUP) * GROUP)


class DotMatMulStrategy(_DotProducts[MatMulOp]):
    """Lowers to `graph.packed_dot_matmul`."""

    SUMS_INTEGERS = True

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        kinds = element_type_of(op.lhs), element_type_of(op.rhs)
        if (
            kinds not in ((i8, i8), (UI8, i8))
            or op.zero_points[1]
            or op.transpose_lhs
            or len(shape_of(op.rhs)) != 2
            or not Layouts.is_constant(op.rhs)
        ):
            return None
        return super().schedule(op, machine)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        transposed = op.transpose_rhs
        columns = op.rhs if transposed else layouts.add(TransposeOp.get(op.rhs, permutation=[1, 0]))
        complement = layouts.complements(op.lhs)
        window: dict[str, list[int]] = {"extents": [], "strides": [], "pads": [], "dilations": []}
        start = ZeroPointBiasOp.get(columns, None, zero_point=op.zero_points[0], complement=complement, **window)
        width = _panel_width(schedule, op.sizes()[2])
        panels = column_panels(2, width, transposed=transposed).interleaved(GROUP)
        operands = op.lhs, layouts.packed(op.rhs, panels), layouts.add(start)
        return layouts.scheduled(PackedDotMatMulOp.get(*operands, complement=complement), schedule)


class PackedDotMatMulStrategy(_DotProducts[PackedDotMatMulOp]):
    """`graph.packed_dot_matmul`: panels of NR vectors are streamed."""

    PROLOGUES = (Prologue.STORED,)

    def nest(self, nest: Nest[PackedDotMatMulOp, MatmulSchedule]) -> None:
        op, b, schedule, (left, right, start) = nest.op, nest.b, nest.schedule, nest.reads
        batch, rows, columns, depth = op.sizes()
        panel = shape_of(op.rhs)[-2:]
        if panel[-1] != _panel_width(schedule, columns) * GROUP:
            raise NotVectorizable("the panels have another width than the register tile")
        products = Products(GROUP, narrow_pairs=op.narrow, complement=op.complement)

        def factors(place: Place, present: int | None = None) -> StepFactors:
            wide = products.tile(place.tile, present)
            row = wide.index(b, place.first, {0: 1})
            stored = panel[-1] if panel[-1] % wide.shape[-1] else None  # whole registers, but where columns are few
            lanes = replace(wide, valid=stored).index(b, 0, {-2: wide.shape[-1], -1: 1})

            return lambda k: (left([*place.outer, row, k * GROUP]), right([place.panel, k, lanes]))

        def beside(place: Place) -> Beside:
            def at(k: Scalar, in_turn: int) -> None:
                prefetch_panel(b, schedule, right, [place.panel + 1], place.first, (rows, 1), panel, (k, in_turn))

            return at

        def store(place: Place, total: Scalar) -> None:
            if depth % GROUP:
                total = products.add(b, *factors(place, depth % GROUP)(b.index(depth // GROUP)), total)
            total = total + b.splat(start([place.column]), place.tile)
            nest.write([*place.outer, place.row, place.column], total)

        sizes = rows, columns, depth // GROUP
        MatmulNest(b, schedule, i32, batch, sizes, factors, store, products=products, beside=beside).emit()


STRATEGIES: Strategies = {
    MatMulOp: (MatMulStrategy(), StrassenStrategy(), FewBitsStrategy(), DotMatMulStrategy()),
    PackedMatMulOp: (PackedMatMulStrategy(),),
    StrassenMatMulOp: (StrassenMatMulStrategy(),),
    FewBitsMatMulOp: (FewBitsMatMulStrategy(),),
    PackedDotMatMulOp: (PackedDotMatMulStrategy(),),
}
