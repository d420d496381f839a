"""Data movement: each result element is one element of an operand, or a constant.

Reads that could leave the operand stand inside a conditional.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import accumulate
from operator import and_
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, var_operand_def

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect_choice
from aotc.dialects.graph.interfaces import ElementOp, Fusion, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import broadcast, broadcast_index, delinearize, linearize, require_axis
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.properties import bool_prop, int_prop, opt_bool_prop


class MovingOp(ElementOp, ABC):
    """Each result element is one of the elements of an operand, or a constant."""

    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    MOVES: ClassVar[bool] = True


class MovementOp(MovingOp, ABC):
    """One operand, each result element one of its elements."""

    x = operand_def(TensorType)


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in row-major order under another shape."""

    name = "graph.reshape"
    shape = prop_def(DenseArrayBase)
    FUSION: ClassVar[Fusion] = Fusion.NEVER

    def infer_types(self) -> Sequence[TensorType]:
        source, target = shape_of(self.x), self.ints("shape")
        if any(extent < 0 for extent in target) or math.prod(source) != math.prod(target):
            raise ShapeError(f"{math.prod(source)} elements of shape {list(source)} have no shape {list(target)}")
        return [TensorType(element_type_of(self.x), target)]

    def view_offset(self) -> int | None:
        return 0

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        source, target = shape_of(self.x), self.ints("shape")
        if 0 in source or not target:
            return None
        before, extent = math.prod(target[:axis]), target[axis]
        for own, each in enumerate(source):
            if math.prod(source[:own]) != before or each == 1 < extent:
                continue
            if extent % each == 0:  # several positions for each of the operand
                return {0: AxisReads(own, 1, extent // each)}
            if each % extent == 0:
                return {0: AxisReads(own, each // extent, high=each // extent - 1)}
        return None

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[0](delinearize(b, linearize(b, index, self.ints("shape")), shape_of(self.x)))


@irdl_op_definition
class TransposeOp(MovementOp):
    """Result axis i is operand axis permutation[i]."""

    name = "graph.transpose"
    permutation = prop_def(DenseArrayBase)

    def infer_types(self) -> Sequence[TensorType]:
        shape, permutation = shape_of(self.x), self.ints("permutation")
        if sorted(permutation) != list(range(len(shape))):
            raise ShapeError(f"{list(permutation)} is not a permutation of the {len(shape)} axes")
        return [TensorType(element_type_of(self.x), [shape[axis] for axis in permutation])]

    def permuted_axes(self) -> Sequence[int]:
        return self.ints("permutation")

    def view_offset(self) -> int | None:
        moved = [axis for axis in self.ints("permutation") if shape_of(self.x)[axis] != 1]
        return 0 if moved == sorted(moved) else None

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        return {0: AxisReads(self.ints("permutation")[axis])}

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        source = dict(zip(self.ints("permutation"), index, strict=True))
        return reads[0]([source[axis] for axis in range(len(index))])


@irdl_op_definition
class BroadcastOp(MovementOp):
    """The operand repeated along its axes of extent 1, and along new leading ones, to `shape`."""

    name = "graph.broadcast"
    shape = prop_def(DenseArrayBase)

    def infer_types(self) -> Sequence[TensorType]:
        shape = self.ints("shape")
        if broadcast(shape_of(self.x), shape) != shape:
            raise ShapeError(f"shape {list(shape_of(self.x))} does not broadcast to {list(shape)}")
        return [TensorType(element_type_of(self.x), shape)]

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        own = axis - (len(self.ints("shape")) - len(shape_of(self.x)))
        return {0: AxisReads(own)} if own >= 0 and shape_of(self.x)[own] > 1 else {}

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[0](broadcast_index(b, index, shape_of(self.x)))


@irdl_op_definition
class SliceOp(MovementOp):
    """Along each axis, the `shape` elements `start`, `start + step`, `start + 2 step`... (steps may be negative)."""

    name = "graph.slice"
    starts = prop_def(DenseArrayBase)
    steps = prop_def(DenseArrayBase)
    shape = prop_def(DenseArrayBase)

    def infer_types(self) -> Sequence[TensorType]:
        source, shape = shape_of(self.x), self.ints("shape")
        starts, steps = self.ints("starts"), self.ints("steps")
        if not len(source) == len(shape) == len(starts) == len(steps):
            raise ShapeError(f"starts, steps and shape must have one value for each of the {len(source)} axes")
        for axis, (extent, start, step, count) in enumerate(zip(source, starts, steps, shape, strict=True)):
            if count < 0 or step == 0:
                raise ShapeError(f"axis {axis}: {count} elements with step {step} are not a slice")
            if count > 0 and not (0 <= start < extent and 0 <= start + (count - 1) * step < extent):
                raise ShapeError(
                    f"axis {axis}: elements {start}..{start + (count - 1) * step} are not in 0..{extent - 1}"
                )
        return [TensorType(element_type_of(self.x), shape)]

    def view_offset(self) -> int | None:
        """A strip: one index of each leading axis, consecutive ones of one axis, all of those behind it."""
        source, shape = shape_of(self.x), self.ints("shape")
        starts, steps = self.ints("starts"), self.ints("steps")
        if 0 in shape:
            return 0
        leading = next((axis for axis, count in enumerate(shape) if count != 1), len(shape))
        if any(shape[axis] != source[axis] for axis in range(leading + 1, len(shape))):
            return None
        if any(step != 1 for step, count in zip(steps, shape, strict=True) if count != 1):
            return None
        return sum(start * math.prod(source[axis + 1 :]) for axis, start in enumerate(starts))

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        start, step = self.ints("starts")[axis], self.ints("steps")[axis]
        return {0: AxisReads(axis, step, low=start, high=start)} if step > 0 else None

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        starts, steps = self.ints("starts"), self.ints("steps")
        return reads[0]([i * step + start for i, start, step in zip(index, starts, steps, strict=True)])


@irdl_op_definition
class ConcatOp(MovingOp):
    """The operands one after another along `axis`."""

    name = "graph.concat"
    parts = var_operand_def(TensorType)
    axis = int_prop()
    in_place = opt_bool_prop()
    """Whether the kernels that compute the parts write them into the result, wherever their elements lie there."""

    def infer_types(self) -> Sequence[TensorType]:
        if not self.parts:
            raise ShapeError("there is nothing to concatenate")
        shapes, kind = [shape_of(part) for part in self.parts], common_element_type(*self.parts)
        rank = len(shapes[0])
        if rank == 0 or any(len(shape) != rank for shape in shapes):
            raise ShapeError(
                "operands must have one rank of at least 1, found " + ", ".join(str(list(s)) for s in shapes)
            )
        axis = self.axis
        require_axis(axis, rank)
        if len({shape[:axis] + shape[axis + 1 :] for shape in shapes}) > 1:
            raise ShapeError(f"shapes differ beyond axis {axis}: " + ", ".join(str(list(shape)) for shape in shapes))
        total = sum(shape[axis] for shape in shapes)
        return [TensorType(kind, [*shapes[0][:axis], total, *shapes[0][axis + 1 :]])]

    def part_offsets(self) -> Sequence[int] | None:
        shape, axis = shape_of(self.result), self.axis
        if math.prod(shape[:axis]) != 1:
            return None
        return [math.prod(shape[axis + 1 :]) * start for start in self._starts]

    def part_starts(self) -> tuple[int, Sequence[int]] | None:
        return (self.axis, self._starts) if self.in_place and self.part_offsets() is None else None

    @property
    def _starts(self) -> Sequence[int]:
        return [0, *accumulate(shape_of(part)[self.axis] for part in self.parts)][:-1]

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        starts = self._starts if axis == self.axis else [0] * len(self.parts)
        return {place: AxisReads.shifted(axis, -start) for place, start in enumerate(starts)}

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis = self.axis
        parts = [(read, shape_of(part)[axis]) for read, part in zip(reads, self.parts, strict=True)]

        def pick(parts: list[tuple[Reader, int]], offset: int) -> list[Scalar]:
            (read, extent), *rest = parts

            def here() -> list[Scalar]:
                return [read([*index[:axis], index[axis] - offset, *index[axis + 1 :]])]

            if not rest:
                return here()
            return b.when(b.compare("lt", index[axis], offset + extent), here, lambda: pick(rest, offset + extent))

        return pick([(read, extent) for read, extent in parts if extent > 0], 0)[0]


@irdl_op_definition
class PadOp(MovingOp):
    """The operand with elements added around it: `pads` has all begins, then all ends, none negative.

    `mode` is "constant" (the scalar `value`, 0 where it is left out), "edge" (the nearest element), "reflect" (mirrored
    at the outermost element) or "wrap" (periodic).
    """

    name = "graph.pad"
    x = operand_def(TensorType)
    value = opt_operand_def(TensorType)
    pads = prop_def(DenseArrayBase)
    mode = prop_def(StringAttr)

    def infer_types(self) -> Sequence[TensorType]:
        shape, pads, mode = shape_of(self.x), self.ints("pads"), self.mode.data
        if len(pads) != 2 * len(shape) or any(pad < 0 for pad in pads):
            raise ShapeError(f"pads must be {2 * len(shape)} numbers of at least 0, found {list(pads)}")
        expect_choice(self, "mode", ("constant", "edge", "reflect", "wrap"))
        if self.value is not None:
            if mode != "constant":
                raise ShapeError(f"mode {mode} takes no value")
            if math.prod(shape_of(self.value)) != 1 or element_type_of(self.value) != element_type_of(self.x):
                raise ShapeError(f"the value must be one {element_type_of(self.x)}, found {self.value.type}")
        if mode != "constant" and any(extent == 0 < before + after for extent, before, after in self._axes()):
            raise ShapeError(f"mode {mode} cannot pad an axis of no elements")
        return [TensorType(element_type_of(self.x), [sum(axis) for axis in self._axes()])]

    def _axes(self) -> list[tuple[int, int, int]]:
        """Extent, begin and end pad of each axis."""
        shape, pads = shape_of(self.x), self.ints("pads")
        return list(zip(shape, pads[: len(shape)], pads[len(shape) :], strict=True))

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        extent, before, after = self._axes()[axis]
        if before == after == 0 or self.mode.data == "constant":
            return {0: AxisReads.shifted(axis, -before)}
        period = max(2 * (extent - 1), 1) if self.mode.data == "reflect" else extent
        places = [place % period for place in range(-before, extent + after)]
        if self.mode.data == "edge":
            places = [0] * before + [*range(extent)] + [extent - 1] * after
        folded = (min(place, period - place) if self.mode.data == "reflect" else place for place in places)
        return {0: AxisReads.covering(axis, extent, [(place, place) for place in folded])}

    def reads_once(self) -> bool:
        return self.mode.data == "constant"

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        if self.mode.data != "constant":
            return reads[0]([self._folded(b, i, *axis) for i, axis in zip(index, self._axes(), strict=True)])
        tests: list[Scalar] = []
        for i, (extent, before, after) in zip(index, self._axes(), strict=True):
            tests += [b.compare("ge", i, before)] if before > 0 else []
            tests += [b.compare("lt", i, before + extent)] if after > 0 else []

        def inside() -> list[Scalar]:
            return [reads[0]([i - before for i, (_, before, _) in zip(index, self._axes(), strict=True)])]

        def outside() -> list[Scalar]:
            if self.value is None:
                return [b.zero(element_type_of(self.x))]
            return [reads[1]([b.index(0)] * len(shape_of(self.value)))]

        return b.when(reduce(and_, tests), inside, outside)[0] if tests else inside()[0]

    def _folded(self, b: Builder, i: Scalar, extent: int, before: int, after: int) -> Scalar:
        """The element of the operand that element i of the padded axis repeats."""
        if before == after == 0:
            return i
        match self.mode.data:
            case "edge":
                return b.min(b.max(i - before, 0), extent - 1)
            case "wrap":
                return b.rem(i + -before % extent, b.index(extent))
            case _:
                period = max(2 * (extent - 1), 1)
                within = b.rem(i + -before % period, b.index(period))
                return b.min(within, period - within)


@irdl_op_definition
class TriluOp(ElementOp):
    """The upper (or lower) triangle of each matrix, or its last diagonal `alone`; the rest 0. `diagonal` is one i64:
    where the triangle ends. With `shape` the matrices are x broadcast to it."""

    name = "graph.trilu"
    x = operand_def(TensorType)
    diagonal = operand_def(TensorType)
    upper = bool_prop()
    alone = opt_bool_prop()
    shape = opt_prop_def(DenseArrayBase)
    MOVES: ClassVar[bool] = True

    @property
    def is_movable(self) -> bool:
        return False

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x) if self.shape is None else self.ints("shape")
        if len(shape) < 2:
            raise ShapeError(f"the operand must be a matrix or a batch of them, found {list(shape)}")
        if broadcast(shape_of(self.x), shape) != shape:
            raise ShapeError(f"shape {list(shape_of(self.x))} does not broadcast to {list(shape)}")
        if math.prod(shape_of(self.diagonal)) != 1 or element_type_of(self.diagonal) != i64:
            raise ShapeError(f"the diagonal must be one i64, found {self.diagonal.type}")
        return [TensorType(element_type_of(self.x), shape)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        diagonal = reads[1]([b.index(0)] * len(shape_of(self.diagonal)))
        offset = b.cast(index[-1], i64) - b.cast(index[-2], i64)
        in_triangle = b.compare("eq" if self.alone else "ge" if self.upper else "le", offset, diagonal)
        x, zero = broadcast_index(b, index, shape_of(self.x)), b.zero(element_type_of(self.x))
        if math.prod(shape_of(self.x)) == 1:
            return b.select(in_triangle, reads[0](x), zero)
        return b.when(in_triangle, lambda: [reads[0](x)], lambda: [zero])[0]

    def outliers(self) -> tuple[Sequence[int], int] | None:
        shape, known = shape_of(self.result), self.diagonal.owner
        if not self.alone or len(shape) != 2 or not isinstance(known, ConstantOp):
            return None
        offset = int(known.inline_array().item())
        (rows, columns), first = shape, [max(-offset, 0), max(offset, 0)]
        return first, max(min(rows - first[0], columns - first[1]), 0)
