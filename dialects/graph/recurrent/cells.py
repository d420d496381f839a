"""The cells of recurrent layers: simple ones, gated recurrent units, long short-term memory.

The order of gates is that of ONNX: i, o, f, c of an LSTM, z, r, h of a GRU. States may be rounded to 8 bits in each
step, and multiplied with weights of integers.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
)

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import compute_type, integer_range
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, shape_of
from aotc.dialects.graph.packed.integers.dot_products import GROUP, DotOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp, Steps
from aotc.dialects.graph.recurrent.rows import Factors
from aotc.dialects.properties import opt_bool_prop


@irdl_op_definition
class RnnOp(RecurrenceOp):
    """h' = f(x + h R)."""

    name = "graph.rnn"
    GATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[int] = 1

    def step(self, steps: Steps, time: Scalar) -> None:
        def finish(row: Scalar, unit: Scalar, total: Scalar) -> None:
            steps.made(time, row, unit, steps.gate(0, total))

        if not self.by_units:
            steps.multiply(self.h, self.weight, self.columns)
            steps.units(lambda row, unit: finish(row, unit, steps.total(time, row, unit, 0)))
            return

        def one(row: Scalar, unit: Scalar) -> None:
            (total,) = steps.products(self.h, self.weight, unit, [0], steps.inputs(time, unit, [0]))
            steps.writer(self.sums)([row, unit], total)

        steps.units(one)
        steps.units(lambda row, unit: finish(row, unit, steps.sum(row, unit, 0)))


@irdl_op_definition
class GruOp(RecurrenceOp):
    """z = f(xz + h Rz), r = f(xr + h Rr), n = g(xh + r * (h Rh + candidate_bias)), h' = (1 - z) * n + z * h.

    With `candidate_weight` [H, H], which is Rh and then not in `weight`, the reset gate comes before the product:
    n = g(xh + (r * h) Rh); `gated` is then the buffer for r * h. (K. Cho et al., arXiv:1406.1078, has the latter;
    NVIDIA's cuDNN, and so what comes from PyTorch, the former.)
    """

    name = "graph.gru"
    GATES: ClassVar[int] = 3
    ACTIVATIONS: ClassVar[int] = 2
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    candidate_weight = opt_operand_def(TensorType)
    candidate_bias = opt_operand_def(TensorType)
    y = result_def(TensorType)
    y_h = result_def(TensorType)
    following = opt_result_def(TensorType)
    h = result_def(TensorType)
    sums = result_def(TensorType)
    gated = opt_result_def(TensorType)
    irdl_options = (AttrSizedResultSegments(as_property=True),)

    @property
    def columns(self) -> int:
        return (2 if self.candidate_weight is not None else 3) * self.sizes[2]

    def matrices(self) -> Sequence[tuple[SSAValue, int]]:
        more = [] if self.candidate_weight is None else [(self.candidate_weight, self.sizes[2])]
        return [*super().matrices(), *more]

    def vectors(self) -> Mapping[str, Sequence[int]]:
        return {**super().vectors(), "candidate_bias": [self.sizes[2]]}

    def infer_types(self) -> Sequence[TensorType]:
        if (self.gated is None) != (self.candidate_weight is None):
            raise ShapeError("there must be a buffer `gated` with a candidate_weight, and only then")
        if self.candidate_weight is not None and self.candidate_bias is not None:
            raise ShapeError("with a candidate_weight the bias of the candidate is part of x")
        return super().infer_types()

    @property
    def products(self) -> int:
        return 3 * self.sizes[2]

    def _more_buffers(self) -> Sequence[int]:
        return [] if self.gated is None else [self.sizes[2]]

    def step(self, steps: Steps, time: Scalar) -> None:
        units, by_units, bias = self.sizes[2], self.by_units, self.candidate_bias
        sums, old = steps.writer(self.sums), steps.reader(self.h)

        def mixed(row: Scalar, unit: Scalar, update: Scalar, total: Scalar) -> Scalar:
            return (1 - update) * steps.gate(1, total) + update * old([row, unit])

        def reset_after(row: Scalar, unit: Scalar) -> None:
            given = steps.inputs(time, unit, [0, 1, 2]) if by_units else []
            none = steps.b.const(0, steps.kind)
            found = steps.products(self.h, self.weight, unit, [0, 1, 2], [*given[:2], none]) if by_units else []

            def opened(gate: int) -> Scalar:
                return steps.gate(0, found[gate] if by_units else steps.total(time, row, unit, gate))

            term = found[2] if by_units else steps.sum(row, unit, 2)
            if bias is not None:
                term = term + steps.reader(bias)([unit])
            total = (given[2] if by_units else steps.input(time, row, unit, 2)) + opened(1) * term
            steps.follow(time, row, unit, mixed(row, unit, opened(0), total))

        if not by_units:
            steps.multiply(self.h, self.weight, self.columns)
        if self.candidate_weight is None or self.gated is None:
            steps.units(reset_after)
            steps.settle(time)
            return
        state, candidate, gated = self.gated, self.candidate_weight, steps.writer(self.gated)

        def reset_before(row: Scalar, unit: Scalar) -> None:
            if by_units:
                update, reset = steps.products(self.h, self.weight, unit, [0, 1], steps.inputs(time, unit, [0, 1]))
                gated([row, unit], steps.gate(0, reset) * old([row, unit]))
                sums([row, unit], steps.gate(0, update))
                return
            sums([row, unit], steps.gate(0, steps.total(time, row, unit, 0)))
            gated([row, unit], steps.gate(0, steps.total(time, row, unit, 1)) * old([row, unit]))

        def finish(row: Scalar, unit: Scalar) -> None:
            inputs = steps.inputs(time, unit, [2]) if by_units else []
            found = steps.products(state, candidate, unit, [0], inputs) if by_units else []
            update = steps.sum(row, unit, 0)
            steps.made(time, row, unit, mixed(row, unit, update, *found or [steps.total(time, row, unit, 2)]))

        steps.units(reset_before)
        if not by_units:
            steps.multiply(state, candidate, units, first=2 * units)
        steps.units(finish)


class LstmCell(RecurrenceOp, ABC):
    """i = f(xi + h Ri + Pi * c), k = f(xf + h Rf + Pf * c), c' = k * c + i * g(xc + h Rc),
    o = f(xo + h Ro + Po * c'), h' = o * h(c').

    `peepholes` [3 * H] are Pi, Po and Pf (0 where absent). With `input_forget`, k = 1 - i.
    (F. Gers, N. Schraudolph, J. Schmidhuber: Learning Precise Timing with LSTM Recurrent Networks, 2002.)
    """

    GATES: ClassVar[int] = 4
    ACTIVATIONS: ClassVar[int] = 3
    STATES: ClassVar[int] = 2
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    initial_c = opt_operand_def(TensorType)
    peepholes = opt_operand_def(TensorType)
    input_forget = opt_bool_prop()
    y = result_def(TensorType)
    y_h = result_def(TensorType)
    y_c = result_def(TensorType)
    following = opt_result_def(TensorType)
    h = result_def(TensorType)
    c = result_def(TensorType)
    sums = result_def(TensorType)

    def vectors(self) -> Mapping[str, Sequence[int]]:
        _, batch, units = self.sizes
        return {**super().vectors(), "initial_c": [batch, units], "peepholes": [3 * units]}

    def states(self) -> Sequence[SSAValue | None]:
        return [self.initial_h, self.initial_c]

    def step(self, steps: Steps, time: Scalar) -> None:
        units = self.sizes[2]
        c, old = steps.writer(self.c), steps.reader(self.c)
        by_units = self.by_units
        if not by_units:
            self.multiply_state(steps)

        def unit(row: Scalar, unit: Scalar) -> None:
            gates, totals = range(self.GATES), list[Scalar]()
            if by_units:
                totals = steps.products(self.h, self.weight, unit, gates, steps.inputs(time, unit, gates))

            def opened(gate: int, activation: int, memory: Scalar | None = None, peephole: int = 0) -> Scalar:
                total = totals[gate] if by_units else steps.total(time, row, unit, gate)
                if self.peepholes is not None and memory is not None:
                    total = total + steps.reader(self.peepholes)([unit + peephole * units]) * memory
                return steps.gate(activation, total)

            memory = old([row, unit])
            entered = opened(0, 0, memory, 0)
            forgotten = 1 - entered if self.input_forget else opened(2, 0, memory, 2)
            memory = forgotten * memory + entered * opened(3, 1)
            state = opened(1, 0, memory, 1) * steps.activation(2, memory)
            c([row, unit], memory)
            steps.follow(time, row, unit, state)

        steps.units(unit)
        steps.settle(time)

    def multiply_state(self, steps: Steps) -> None:
        """Emit the products of the state with the weight in a step."""
        steps.multiply(self.h, self.weight, self.columns)


@irdl_op_definition
class LstmOp(LstmCell):
    """A long short-term memory (`LstmCell`)."""

    name = "graph.lstm"


_LEVELS = 255
"""The greatest number in 8 bits."""


class RoundedStateOp(LoopNestOp, ABC):
    """The parts of a layer beside its cell, behind the cell's own operands and results."""

    state_scales = operand_def(TensorType)
    weight_sums = operand_def(TensorType)
    weight_points = opt_operand_def(TensorType)
    rounded = result_def(TensorType)


@irdl_op_definition
class RoundedLstmOp(LstmCell, RoundedStateOp, DotOp):
    """An LSTM of f32 (`LstmCell`) with a weight of integers: (weight - `weight_points`) * `state_scales`.

    In each step those of a row's state, to which it is rounded as `state_type` (`ui8` or `i8`) in the scratch buffer
    `rounded`, are multiplied with `weight`, i8, and the sums, in i32, with both scales. `state_scales` [4 * H], and
    `weight_points`, i32 [4 * H] (0 where absent), are of each column; `weight_sums`, i32 [4 * H], are what the weights
    of a column, less its point, add up to. Packed weights have interleaved rows.
    (com.microsoft DynamicQuantizeLSTM.)
    """

    name = "graph.rounded_lstm"
    INTERLEAVED: ClassVar[int] = GROUP
    state_type = prop_def(Attribute)

    @property
    def alone(self) -> bool:
        return True

    @property
    def left_type(self) -> Attribute:
        return self.state_type

    def integers(self) -> Sequence[SSAValue | None]:
        return [*super().integers(), self.weight, self.weight_sums, self.weight_points]

    def vectors(self) -> Mapping[str, Sequence[int]]:
        names = ("state_scales", "weight_sums", "weight_points")
        return {**super().vectors(), **{name: [self.columns] for name in names}}

    def infer_types(self) -> Sequence[TensorType]:
        if self.input_weight is not None:
            raise ShapeError("the products of the inputs are in x")
        if self.following_weight is not None:
            raise ShapeError("states are not multiplied for a following layer")
        if self.state_type not in (i8, UI8):
            raise ShapeError(f"states are rounded to {self.state_type}, not to an integer of 8 bits")
        expect(self, x=".. f32", weight=".. i8", weight_sums=".. i32", weight_points=".. i32")
        _, batch, units = self.sizes
        return [*super().infer_types(), TensorType(self.state_type, [batch, units])]

    def multiply_state(self, steps: Steps) -> None:
        scale, point = self._round(steps)
        b, write = steps.b, steps.writer(self.sums)
        scales, sums = steps.reader(self.state_scales), steps.reader(self.weight_sums)
        read, points = steps.reader(self.rounded), None
        total = b.const(0, i32)
        if self.weight_points is not None:
            points = steps.reader(self.weight_points)
            (total,) = b.reduce(
                [(0, self.sizes[2])], [total], lambda at, sums: [sums[0] + b.cast(read([steps.row.first, at[0]]), i32)]
            )

        def store(index: Sequence[Scalar], products: Scalar) -> None:
            column = [index[1]]
            products = products - sums(column) * point
            if points is not None:
                products = products - points(column) * total
            write(index, b.cast(products, f32) * (scales(column) * scale))

        shape = shape_of(self.weight)
        group = self.INTERLEAVED if len(shape) == 3 else 1
        factors = Factors(read, steps.reader(self.weight), shape, self.sizes[2], group, self.narrow)
        steps.row.multiply(steps.number, [factors], self.columns, i32, store)

    def _round(self, steps: Steps) -> tuple[Scalar, Scalar]:
        """Fill `rounded` with the integers that stand for the state, by (integer - point) * scale; scale and point.

        The least and the greatest element, and 0, are among what 8 bits hold. (ONNX: DynamicQuantizeLinear.)"""
        b, kind, read, write = steps.b, self.state_type, steps.reader(self.h), steps.writer(self.rounded)
        least, _ = integer_range(kind)
        low, high = steps.row.extremes(self.sizes[2], f32, read)
        extent = high - low
        scale = b.select(b.compare("eq", extent, 0), b.const(1, f32), extent / _LEVELS)
        point = b.rounded(b.min(b.max(-(low / scale), 0), _LEVELS))
        first = -b.cast(point, f32)
        last = first + _LEVELS

        def unit(row: Scalar, unit: Scalar) -> None:
            number = b.rounded(b.limited(read([row, unit]) / scale, first, last)) + (point + least)
            write([row, unit], b.encode(b.cast(number, compute_type(kind)), kind))

        steps.units(unit)
        return scale, point + least
