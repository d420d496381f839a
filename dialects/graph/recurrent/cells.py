"""The cells of recurrent layers: simple ones, gated recurrent units, long short-term memory.

The order of gates is that of ONNX: i, o, f, c of an LSTM, z, r, h of a GRU.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
)

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp, Steps
from aotc.dialects.properties import opt_bool_prop


@irdl_op_definition
class RnnOp(RecurrenceOp):
    """h' = f(x + h R)."""

    name = "graph.rnn"
    GATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[int] = 1
    y = result_def(TensorType)
    y_h = result_def(TensorType)
    following = opt_result_def(TensorType)
    h = result_def(TensorType)
    sums = result_def(TensorType)

    def start(self, steps: Steps) -> None:
        steps.set_state(self.h, self.initial_h)

    def step(self, steps: Steps, time: Scalar) -> None:
        h = steps.writer(self.h)

        def finish(row: Scalar, unit: Scalar, total: Scalar) -> None:
            state = steps.gate(0, total)
            h([row, unit], state)
            steps.made(time, row, unit, state)

        if not self.by_units:
            steps.multiply(self.h, self.weight, self.columns)
            steps.units(lambda row, unit: finish(row, unit, steps.total(time, row, unit, 0)))
            return

        def one(row: Scalar, unit: Scalar) -> None:
            (total,) = steps.products(self.h, self.weight, unit, [0], steps.inputs(time, unit, [0]))
            steps.writer(self.sums)([row, unit], total)

        steps.units(one)
        steps.units(lambda row, unit: finish(row, unit, steps.sum(row, unit, 0)))

    def end(self, steps: Steps) -> None:
        steps.get_state(self.h, self.y_h)


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
    input_weight = opt_operand_def(TensorType)
    input_bias = opt_operand_def(TensorType)
    begun = opt_operand_def(TensorType)
    following_weight = opt_operand_def(TensorType)
    following_bias = opt_operand_def(TensorType)
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

    def vectors(self) -> Sequence[tuple[str, SSAValue | None, tuple[int, ...]]]:
        return [*super().vectors(), ("candidate_bias", self.candidate_bias, (self.sizes[2],))]

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

    def start(self, steps: Steps) -> None:
        steps.set_state(self.h, self.initial_h)

    def step(self, steps: Steps, time: Scalar) -> None:
        units = self.sizes[2]
        if self.by_units:
            self._step_by_units(steps, time)
            return
        sums, old, bias = steps.writer(self.sums), steps.reader(self.h), self.candidate_bias

        def opened(row: Scalar, unit: Scalar, gate: int) -> Scalar:
            return steps.gate(0, steps.total(time, row, unit, gate))

        def finish(row: Scalar, unit: Scalar, update: Scalar, total: Scalar) -> None:
            self._finish(steps, time, row, unit, self._mixed(steps, row, unit, update, total))

        def reset_after(row: Scalar, unit: Scalar) -> None:
            term = steps.sum(row, unit, 2)
            if bias is not None:
                term = term + steps.reader(bias)([unit])
            total = steps.input(time, row, unit, 2) + opened(row, unit, 1) * term
            finish(row, unit, opened(row, unit, 0), total)

        steps.multiply(self.h, self.weight, self.columns)
        if self.candidate_weight is None or self.gated is None:
            steps.units(reset_after)
            return
        gated = steps.writer(self.gated)

        def reset_before(row: Scalar, unit: Scalar) -> None:
            sums([row, unit], opened(row, unit, 0))
            gated([row, unit], opened(row, unit, 1) * old([row, unit]))

        steps.units(reset_before)
        steps.multiply(self.gated, self.candidate_weight, units, first=2 * units)
        steps.units(lambda row, unit: finish(row, unit, steps.sum(row, unit, 0), steps.total(time, row, unit, 2)))

    def _mixed(self, steps: Steps, row: Scalar, unit: Scalar, update: Scalar, total: Scalar) -> Scalar:
        """The next state of a unit."""
        return (1 - update) * steps.gate(1, total) + update * steps.reader(self.h)([row, unit])

    def _finish(self, steps: Steps, time: Scalar, row: Scalar, unit: Scalar, state: Scalar) -> None:
        steps.writer(self.h)([row, unit], state)
        steps.made(time, row, unit, state)

    def _step_by_units(self, steps: Steps, time: Scalar) -> None:
        """All gates of a unit at once."""
        sums, old, bias = steps.writer(self.sums), steps.reader(self.h), self.candidate_bias
        gated = None if self.gated is None else steps.writer(self.gated)

        def reset_after(row: Scalar, unit: Scalar) -> None:
            update, reset, given = steps.inputs(time, unit, [0, 1, 2])
            zero = steps.b.const(0, steps.kind)
            update, reset, term = steps.products(self.h, self.weight, unit, [0, 1, 2], [update, reset, zero])
            if bias is not None:
                term = term + steps.reader(bias)([unit])
            total = given + steps.gate(0, reset) * term
            sums([row, unit], self._mixed(steps, row, unit, steps.gate(0, update), total))

        def reset_before(row: Scalar, unit: Scalar) -> None:
            update, reset = steps.products(self.h, self.weight, unit, [0, 1], steps.inputs(time, unit, [0, 1]))
            assert gated is not None
            gated([row, unit], steps.gate(0, reset) * old([row, unit]))
            sums([row, unit], steps.gate(0, update))

        def candidate(row: Scalar, unit: Scalar) -> None:
            assert self.candidate_weight is not None and self.gated is not None
            (total,) = steps.products(self.gated, self.candidate_weight, unit, [0], steps.inputs(time, unit, [2]))
            self._finish(steps, time, row, unit, self._mixed(steps, row, unit, steps.sum(row, unit, 0), total))

        if gated is None:
            steps.units(reset_after)
            steps.units(lambda row, unit: self._finish(steps, time, row, unit, steps.sum(row, unit, 0)))
            return
        steps.units(reset_before)
        steps.units(candidate)

    def end(self, steps: Steps) -> None:
        steps.get_state(self.h, self.y_h)


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
    input_weight = opt_operand_def(TensorType)
    input_bias = opt_operand_def(TensorType)
    begun = opt_operand_def(TensorType)
    following_weight = opt_operand_def(TensorType)
    following_bias = opt_operand_def(TensorType)
    input_forget = opt_bool_prop()
    y = result_def(TensorType)
    y_h = result_def(TensorType)
    y_c = result_def(TensorType)
    following = opt_result_def(TensorType)
    h = result_def(TensorType)
    c = result_def(TensorType)
    sums = result_def(TensorType)

    def vectors(self) -> Sequence[tuple[str, SSAValue | None, tuple[int, ...]]]:
        _, batch, units = self.sizes
        more = [("initial_c", self.initial_c, (batch, units)), ("peepholes", self.peepholes, (3 * units,))]
        return [*super().vectors(), *more]

    def states(self) -> Sequence[SSAValue | None]:
        return [self.initial_h, self.initial_c]

    def start(self, steps: Steps) -> None:
        steps.set_state(self.h, self.initial_h)
        steps.set_state(self.c, self.initial_c)

    def step(self, steps: Steps, time: Scalar) -> None:
        units = self.sizes[2]
        h, c = steps.writer(self.h), steps.writer(self.c)
        old = steps.reader(self.c)
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
            kept = 1 - entered if self.input_forget else opened(2, 0, memory, 2)
            memory = kept * memory + entered * opened(3, 1)
            state = opened(1, 0, memory, 1) * steps.activation(2, memory)
            c([row, unit], memory)
            if by_units:  # the others still read the last state
                steps.writer(self.sums)([row, unit], state)
                return
            h([row, unit], state)
            steps.made(time, row, unit, state)

        def finish(row: Scalar, unit: Scalar) -> None:
            state = steps.sum(row, unit, 0)
            h([row, unit], state)
            steps.made(time, row, unit, state)

        steps.units(unit)
        if by_units:
            steps.units(finish)

    def multiply_state(self, steps: Steps) -> None:
        """Emit the products of the state with the weight in a step."""
        steps.multiply(self.h, self.weight, self.columns)

    def end(self, steps: Steps) -> None:
        steps.get_state(self.h, self.y_h)
        steps.get_state(self.c, self.y_c)


@irdl_op_definition
class LstmOp(LstmCell):
    """A long short-term memory (`LstmCell`)."""

    name = "graph.lstm"
