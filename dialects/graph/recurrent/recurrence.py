"""The base of all recurrent layers: the steps of a sequence, lengths, directions, states in scratch buffers.

A recurrence is given x times the weights of the inputs, plus bias, for all steps at once: the products with the state
are what must be done step by step. Its state lives in scratch buffers of its kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, TensorType, f64
from xdsl.ir import OpResult, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_result_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.functions import ACTIVATIONS
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.recurrent.rows import Factors, Inputs, Row, Rows, Unit
from aotc.dialects.graph.recurrent.shared import check_shared, is_shared
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.properties import opt_bool_prop, opt_float_prop, opt_int_prop


class RecurrenceOp(LoopNestOp, ABC):
    """A recurrent layer of H units on sequences of T steps in a batch of B, in one direction.

    `x` [T, B, GATES * H] is what the inputs contribute to the gates, biases included; `weight` [columns, H] is what the
    state is multiplied with, packed by `column_panels` where it has three axes. With `input_weight` [GATES * H, I], `x`
    are the inputs [T, B, I] themselves, and each step adds the products to `input_bias` [GATES * H] (0 where absent):
    what is slower, but takes no memory for all steps. With a packed input_weight, of three axes, the inputs of several
    steps are multiplied at once, while the state of earlier ones is. With `exponent` the weight, of f32, is panels of
    eight registers in seven, i32 (`shared.py`), whose numbers are its elements / 2^exponent. `initial_h` [B, H] is 0
    where absent. `lengths` [B] are the steps of each sequence, from 0 to T (lesser and greater ones count as these);
    what is behind them is not read, and y is 0 there. With `reverse` the last step of a sequence comes first.

    `y` [T, B, H] are the states after each step and `y_h` [B, H] those after the last. What is added up for a gate is
    limited to [-clip, clip] before its activation. Activations have each a name, an alpha and a beta (0 where it has
    none). The further results are scratch buffers, `h` the state in the type that is computed with, `sums` its products
    [B, columns], to which those of the inputs are added where a step computes them. Behind them are those of all inputs
    [B, T * GATES * H], in the order of the steps, where input_weight is packed.
    """

    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    initial_h = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    input_weight = opt_operand_def(TensorType)
    input_bias = opt_operand_def(TensorType)
    begun = opt_operand_def(TensorType)
    following_weight = opt_operand_def(TensorType)
    following_bias = opt_operand_def(TensorType)
    leading = opt_int_prop()
    activations = prop_def(ArrayAttr[StringAttr])
    alphas = prop_def(DenseArrayBase.constr(f64))
    betas = prop_def(DenseArrayBase.constr(f64))
    clip = opt_float_prop()
    exponent = opt_int_prop()
    reverse = opt_bool_prop()
    y = result_def(TensorType)
    y_h = result_def(TensorType)
    following = opt_result_def(TensorType)
    h = result_def(TensorType)
    sums = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    GATES: ClassVar[int]
    ACTIVATIONS: ClassVar[int]
    """How many activations a cell has."""
    STATES: ClassVar[int] = 1
    """How many results hold states after the last step."""
    INTERLEAVED: ClassVar[int] = 1
    """So many neighbours along the reduction lie side by side in packed weights."""

    # Sizes

    @property
    def sizes(self) -> tuple[int, int, int]:
        """T, B and H; raises ShapeError."""
        x = shape_of(self.x)
        if self.input_weight is None:
            if len(x) != 3 or x[2] % self.GATES:
                raise ShapeError(f"x must be [steps, batch, {self.GATES} * units], found {list(x)}")
            return x[0], x[1], x[2] // self.GATES
        matrix = shape_of(self.input_weight)
        if len(matrix) == 3:
            matrix = (matrix[0] * matrix[2], matrix[1])
        if len(x) != 3 or len(matrix) != 2 or matrix[1] != x[2] or matrix[0] % self.GATES:
            raise ShapeError(
                f"x and input_weight must be [steps, batch, inputs] and [{self.GATES} * units, inputs],"
                f" found {list(x)} and {list(matrix)}"
            )
        return x[0], x[1], matrix[0] // self.GATES

    @property
    def columns(self) -> int:
        """The columns of `weight`: gates whose products with the state are computed together."""
        return self.GATES * self.sizes[2]

    def matrices(self) -> Sequence[tuple[SSAValue, int]]:
        """The matrices that states are multiplied with, each with its number of columns."""
        return [(self.weight, self.columns)]

    def integers(self) -> Sequence[SSAValue | None]:
        """The operands that are not of the element type of x."""
        return [self.lengths, *([] if self.exponent is None else [self.weight])]

    def vectors(self) -> Mapping[str, Sequence[int]]:
        """The shapes of the other operands, by name."""
        _, batch, units = self.sizes
        biases = {"input_bias": [self.GATES * units], "following_bias": [self._following_columns()]}
        return {"initial_h": [batch, units], "lengths": [batch], **biases}

    def infer_types(self) -> Sequence[TensorType]:
        steps, batch, units = self.sizes
        for matrix, columns in self.matrices():
            shape = shape_of(matrix)
            if (self.exponent is not None or shape != (columns, units)) and not self._is_packed(shape, columns):
                raise ShapeError(f"a weight must be [{columns}, {units}], or packed, found {list(shape)}")
        expect(self, **{name: " ".join(map(str, shape)) for name, shape in self.vectors().items()})
        expect(self, lengths=".. index")
        if self.input_bias is not None and self.input_weight is None:
            raise ShapeError("without an input_weight the bias is part of x")
        check_shared(self.exponent is not None, [element_type_of(matrix) for matrix, _ in self.matrices()])
        self._check_neighbours()
        kind = common_element_type(*(value for value in self.operands if value not in self.integers()))
        Domain.FLOAT.require(kind, "x")
        self._check_activations()
        y = [TensorType(kind, [steps, batch, units]), *[TensorType(kind, [batch, units])] * self.STATES]
        sums = units if self.by_units else self.states_behind
        if leading := self.first_steps:
            y.append(TensorType(kind, [batch, leading * self._following_columns()]))
            sums += (leading + 1) * units
        extents = [*[units] * self.STATES, sums, *self._more_buffers()]
        return [*y, *(TensorType(compute_type(kind), [batch, extent]) for extent in extents)]

    def _check_neighbours(self) -> None:
        steps, batch, units = self.sizes
        if self.begun is not None:
            row, found = self.GATES * units, shape_of(self.begun)
            if not self.ahead:
                raise ShapeError("products of inputs are begun only where the others are multiplied ahead")
            if len(found) != 2 or found[0] != batch or found[1] % row or not 0 < found[1] // row <= steps:
                raise ShapeError(f"begun must be [{batch}, n * {row}] of n <= {steps} steps, found {list(found)}")
        parts = {self.following_weight is None, self.leading is None, self.following is None}
        if len(parts) > 1 or (self.following_weight is None and self.following_bias is not None):
            raise ShapeError("following, following_weight and leading come together, and following_bias with them")
        if self.following_weight is None:
            return
        expect(self, following_weight=f"panels {units} width")
        if not 0 < self.first_steps <= steps:
            raise ShapeError(f"leading must be from 1 to {steps}, found {self.first_steps}")
        if self.alone or self.by_units:
            raise ShapeError("only a layer that makes all steps, and does not multiply unit by unit, multiplies states")

    def _following_columns(self) -> int:
        """C; 0 without a following_weight."""
        if self.following_weight is None:
            return 0
        panels, _, width = shape_of(self.following_weight)
        return panels * width

    @property
    def first_steps(self) -> int:
        """`leading`, or 0."""
        return self.leading or 0

    @property
    def begun_steps(self) -> int:
        """How many steps the products of whose inputs are in `begun`."""
        return 0 if self.begun is None else shape_of(self.begun)[1] // (self.GATES * self.sizes[2])

    @property
    def states_behind(self) -> int:
        """Where the states of the first steps are in `sums`."""
        steps, _, units = self.sizes
        return self.products + (steps * self.GATES * units if self.ahead else 0)

    def _is_packed(self, shape: Sequence[int], columns: int) -> bool:
        """Whether a weight of this shape is [columns, H] in panels."""
        group = self.INTERLEAVED
        if self.exponent is not None:
            return is_shared(shape, columns, self.sizes[2])
        if len(shape) != 3 or shape[2] == 0 or shape[2] % group:
            return False
        return (shape[0], shape[1]) == (ceil_div(columns, shape[2] // group), ceil_div(self.sizes[2], group))

    def _check_activations(self) -> None:
        names = [name.data for name in self.activations]
        if unknown := [name for name in names if name not in ACTIVATIONS]:
            raise ShapeError(f"there is no activation {unknown[0]}, only {', '.join(ACTIVATIONS)}")
        counts = {len(names), len(self.alphas), len(self.betas)}
        if counts != {self.ACTIVATIONS}:
            raise ShapeError(f"there must be {self.ACTIVATIONS} activations, alphas and betas, found {sorted(counts)}")

    @property
    def products(self) -> int:
        """How many products with the state `sums` holds of a row, where those of the inputs are in x. Where they are
        not, all gates of a unit are summed up at once, and `sums` has a number for each unit: its next state, until
        all units have read the last one."""
        return self.columns

    @property
    def ahead(self) -> bool:
        """Whether the inputs of several steps are multiplied at once."""
        return self.input_weight is not None and len(shape_of(self.input_weight)) == 3

    @property
    def by_units(self) -> bool:
        """Whether each step multiplies its inputs, unit by unit."""
        return self.input_weight is not None and not self.ahead

    @property
    def alone(self) -> bool:
        """Whether each row of the batch goes through its steps alone."""
        return self.lengths is not None

    def _more_buffers(self) -> Sequence[int]:
        """The extents of the scratch buffers behind `sums`, for each row."""
        return []

    def scratch(self) -> Sequence[OpResult]:
        return self.results[1 + self.STATES + (self.following is not None) :]

    def last_step(self) -> int | None:
        """Where in y the state after the last step is, which is y_h; None where each sequence has a length."""
        return None if self.lengths is not None else 0 if self.reverse else self.sizes[0] - 1

    def states(self) -> Sequence[SSAValue | None]:
        """The states before the first step."""
        return [self.initial_h]

    def overwrites(self) -> Mapping[int, int]:
        # the initial states of a row are read before its first step, the last ones written after all of them
        places = {value: place for place, value in enumerate(self.operands)}
        return {result: places[value] for result, value in enumerate(self.states(), 1) if value is not None}

    def operations(self) -> int:
        steps, batch, units = self.sizes
        inputs = 0 if self.input_weight is None else self.GATES * shape_of(self.x)[2]
        return 2 * steps * batch * units * (inputs + sum(columns for _, columns in self.matrices()))

    def changed(self, given: Mapping[str, SSAValue | None], **more: object) -> Self:
        """The layer with other operands, and further properties or results; without a schedule."""
        operands = [given.get(name, getattr(self, name)) for name, _ in self.get_irdl_definition().operands]
        properties = {name: value for name, value in self.properties.items() if not name.endswith("SegmentSizes")}
        results = {name: True for name, _ in self.get_irdl_definition().results if getattr(self, name) is not None}
        return type(self).get(*operands, **{**properties, **results, **more})

    # Loops

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        self.nest(b, reads, writes, Rows(b))

    def nest(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], rows: Rows) -> None:
        """Emit the whole nest, whose inner loops `rows` writes."""
        batch = self.sizes[1]
        rows.for_each(batch, self.alone, lambda row: Steps(self, b, reads, writes, row).emit())

    def start(self, steps: Steps) -> None:
        """Emit the state before the first step."""
        for buffer, initial in zip(self.scratch(), self.states(), strict=False):
            steps.set_state(buffer, initial)

    @abstractmethod
    def step(self, steps: Steps, time: Scalar) -> None:
        """Emit one step, with the inputs at `time`: its state, and its result."""

    def end(self, steps: Steps) -> None:
        """Emit the results for the state after the last step."""
        for buffer, result in zip(self.scratch()[: self.STATES], self.results[1:], strict=False):
            steps.get_state(buffer, result)


class Steps:
    """The steps of a row, while its loops are written."""

    def __init__(
        self, op: RecurrenceOp, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], row: Row
    ) -> None:
        self.op = op
        self.b = b
        self.row = row
        values = [*op.operands, *op.scratch()]
        self._reads = reads
        self._positions = {value: place for place, value in reversed(list(enumerate(values)))}
        self._writes = dict(zip(op.results, writes, strict=True))
        self.kind = compute_type(element_type_of(op.x))
        self.number: Scalar = b.index(0)
        """How many steps have been made."""

    def reader(self, value: SSAValue) -> Reader:
        """The reader of an operand or of a scratch buffer."""
        return self._reads[self._positions[value]]

    def writer(self, result: OpResult) -> Writer:
        """The writer of a result."""
        return self._writes[result]

    def emit(self) -> None:
        """Emit all steps of the row, in order."""
        op, b = self.op, self.b
        total = op.sizes[0]
        length = b.index(total)
        if op.lengths is not None:
            given = self.reader(op.lengths)([self.row.first])
            b.guard(lambda: b.compare("ge", given, 0) & b.compare("le", given, total))
            length = b.cast(b.min(b.max(given, 0), total), INDEX)
        op.start(self)

        def step(number: Scalar) -> None:
            self.number = number
            op.step(self, length - 1 - number if op.reverse else number)

        if op.ahead or op.first_steps:
            self._begin()
            self.row.emit(total, op.columns, self._all_inputs(), self._following(), self.kind, step)
        else:
            b.sequential_range(0, length, 1, step)
        if op.lengths is not None:
            write, zero = self.writer(op.results[0]), b.const(0, self.kind)
            b.sequential_range(
                length, total, 1, lambda time: self.units(lambda row, unit: write([time, row, unit], zero))
            )
        op.end(self)

    def units(self, body: Unit) -> None:
        """Emit `body` for all units."""
        self.row.for_units(self.op.sizes[2], body)

    def set_state(self, buffer: OpResult, initial: SSAValue | None) -> None:
        """Fill a scratch buffer with an initial state."""
        write, zero = self.writer(buffer), self.b.const(0, self.kind)
        read = None if initial is None else self.reader(initial)
        self.units(lambda row, unit: write([row, unit], zero if read is None else read([row, unit])))

    def get_state(self, buffer: OpResult, result: OpResult) -> None:
        """Copy a state to a result that somebody reads."""
        read, write = self.reader(buffer), self.writer(result)
        self.units(lambda row, unit: write([row, unit], read([row, unit])))

    def multiply(self, state: OpResult, matrix: SSAValue, columns: int, first: int = 0) -> None:
        """Emit the products of a state with a matrix: columns of `sums` from `first` on."""
        write = self.writer(self.op.sums)
        self.row.multiply(
            self.number,
            [self._factors(state, matrix)],
            columns,
            self.kind,
            lambda index, value: write([index[0], index[1] + first], self._scaled(value)),
        )

    def _scaled(self, total: Scalar) -> Scalar:
        """The sum of products with what the weight holds, as that of products with its elements."""
        exponent = self.op.exponent
        return total if exponent is None else total * 2.0**exponent

    def _factors(self, state: OpResult, matrix: SSAValue) -> Factors:
        shared = self.op.exponent is not None
        return Factors(self.reader(state), self.reader(matrix), shape_of(matrix), self.op.sizes[2], shared=shared)

    def inputs(self, time: Scalar, unit: Scalar, gates: Sequence[int]) -> list[Scalar]:
        """The contribution of the inputs at `time`, which are not in x, to some gates of a unit, and their biases."""
        x, weight, bias, units = self.op.x, self.op.input_weight, self.op.input_bias, self.op.sizes[2]
        assert weight is not None
        columns = [unit + gate * units for gate in gates]
        read, shape = self.reader(x), shape_of(weight)
        factors = Factors(lambda index: read([time, *index]), self.reader(weight), shape, shape[1])
        zero = self.b.const(0, self.kind)
        sums = [zero if bias is None else self.b.cast(self.reader(bias)([each]), self.kind) for each in columns]
        return self.row.add(factors, columns, sums, self.kind)

    def made(self, time: Scalar, row: Scalar, unit: Scalar, state: Scalar) -> None:
        """Emit the state after the step at `time`: the next one's, and what is kept of it."""
        op, units = self.op, self.op.sizes[2]
        self.writer(op.scratch()[0])([row, unit], state)
        self.writer(op.results[0])([time, row, unit], state)
        if op.first_steps:
            place = self.b.min(self.number, self.b.index(op.first_steps)) * units + op.states_behind
            self.writer(op.sums)([row, unit + place], state)

    def follow(self, time: Scalar, row: Scalar, unit: Scalar, state: Scalar) -> None:
        """Emit the state after the step at `time`; while others still read the last one, until `settle`, in `sums`."""
        if self.op.by_units:
            self.writer(self.op.sums)([row, unit], state)
        else:
            self.made(time, row, unit, state)

    def settle(self, time: Scalar) -> None:
        """Emit what `follow` has left to do, once all units are computed."""
        if self.op.by_units:
            self.units(lambda row, unit: self.made(time, row, unit, self.sum(row, unit, 0)))

    def _begin(self) -> None:
        """Emit the copy of the products that are begun to those of all inputs."""
        op = self.op
        if op.begun is None:
            return
        read, write = self.reader(op.begun), self.writer(op.sums)
        self.row.for_units(shape_of(op.begun)[1], lambda row, unit: write([row, unit + op.products], read([row, unit])))

    def _following(self) -> Inputs | None:
        """The products of the first states."""
        op, units = self.op, self.op.sizes[2]
        if op.following is None or op.following_weight is None:
            return None
        read = self.reader(op.sums)

        def left(index: Sequence[Scalar]) -> Scalar:
            number, row, k = index
            return read([row, k + (number * units + op.states_behind)])

        write = self.writer(op.following)
        return self._products(left, op.following_weight, op.following_bias, write, 0, range(op.first_steps))

    def _products(
        self, left: Reader, weight: SSAValue, bias: SSAValue | None, write: Writer, offset: int, steps: range
    ) -> Inputs:
        """Those of a packed weight for each of some steps, stored one step's behind the other's."""
        shape = shape_of(weight)
        columns = shape[0] * shape[2]

        def store(index: Sequence[Scalar], total: Scalar) -> None:
            number, row, column = index
            place = number * columns
            write([row, column + (place + offset if offset else place)], total)

        start = None if bias is None else self.reader(bias)
        return Inputs(left, self.reader(weight), shape, columns, start, store, steps.start, steps.stop)

    def _all_inputs(self) -> Inputs | None:
        """The products of the inputs of all steps, in their order, if the layer multiplies them."""
        if not self.op.ahead:
            return None
        op, read, last = self.op, self.reader(self.op.x), self.op.sizes[0] - 1
        assert op.input_weight is not None

        def left(index: Sequence[Scalar]) -> Scalar:
            number, row, k = index
            return read([last - number if op.reverse else number, row, k])

        steps = range(op.begun_steps, op.sizes[0])
        return self._products(left, op.input_weight, op.input_bias, self.writer(op.sums), op.products, steps)

    def products(
        self, state: OpResult, matrix: SSAValue, unit: Scalar, gates: Sequence[int], sums: Sequence[Scalar]
    ) -> list[Scalar]:
        """The sums with the products of a state with a matrix, for some gates of a unit."""
        columns = [unit + gate * self.op.sizes[2] for gate in gates]
        return self.row.add(self._factors(state, matrix), columns, sums, self.kind)

    def input(self, time: Scalar, row: Scalar, unit: Scalar, gate: int) -> Scalar:
        """The contribution of the inputs to a gate; their products are in x, or behind those of the state."""
        units = self.op.sizes[2]
        if self.op.ahead:
            place = self.number * (self.op.GATES * units) + (self.op.products + gate * units)
            return self.reader(self.op.sums)([row, unit + place])
        return self.reader(self.op.x)([time, row, unit + gate * self.op.sizes[2]])

    def sum(self, row: Scalar, unit: Scalar, gate: int) -> Scalar:
        """The contribution of the state to a gate."""
        return self.reader(self.op.sums)([row, unit + gate * self.op.sizes[2]])

    def total(self, time: Scalar, row: Scalar, unit: Scalar, gate: int) -> Scalar:
        """The contribution of the inputs and the state to a gate."""
        return self.input(time, row, unit, gate) + self.sum(row, unit, gate)

    def activation(self, number: int, x: Scalar) -> Scalar:
        """An activation of the cell."""
        alpha, beta = (float(values.get_values()[number]) for values in (self.op.alphas, self.op.betas))
        return ACTIVATIONS[self.op.activations.data[number].data].formula(self.b, x, alpha, beta)

    def gate(self, number: int, x: Scalar) -> Scalar:
        """A gate: the activation of what was added up, within the limits."""
        if self.op.clip is not None:
            limit = self.op.clip
            x = self.b.min(self.b.max(x, -limit), limit)
        return self.activation(number, x)
