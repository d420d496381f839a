"""Operators of TensorFlow Lite as importers see them.

Their tensors have channels last, ours of convolutions and pools have them first. A value of rank 4 is made in one of
both orders, and is there in the other for those who ask; what treats all elements alike takes it as it was made, so
that between convolutions nothing is transposed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, f16, f32, f64, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects.dtypes import element_type, integer_range, numpy_dtype
from aotc.dialects.graph.compound.control_flow import LoopOp
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of
from aotc.dialects.graph.structure import YieldOp
from aotc.frontend.emitter import Emitter, Tensor, erase_unused
from aotc.frontend.tflite import file, fixed_point, flexbuffer, words
from aotc.frontend.tflite.arithmetic import Multiplier, quantized_number
from aotc.frontend.tflite.states import Key, States
from aotc.model.weight_store import Array

TO_FIRST = (0, 3, 1, 2)
"""The permutation that brings channels to the front."""
TO_LAST = (0, 2, 3, 1)
PLACES = TO_LAST
"""Of each axis of a tensor with channels last, where it is with channels first."""

ACTIVATIONS = {0: None, 1: (0.0, np.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}
"""The real numbers to which fused activations clamp, by their numbers in the schema."""

_MOST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class First:
    """A result of rank 4 with channels first."""

    value: SSAValue | Tensor


@dataclass(frozen=True)
class Handle:
    """A name that stands for a variable."""

    name: str


class Calls(ABC):
    """The import of a model as operators with subgraphs or variables see it. Outputs are None where one of them could
    not be imported."""

    states: States
    decides: bool = False
    """Whether it is in a subgraph that may not run."""
    begins: bool = False
    """Whether it is in one that gives variables their first values."""

    @abstractmethod
    def called(self, node: Node, index: int, given: Sequence[SSAValue]) -> list[SSAValue] | None:
        """The outputs of a subgraph, computed where the import is."""

    @abstractmethod
    def region(
        self, kinds: Sequence[Attribute], fill: Callable[[list[SSAValue]], list[SSAValue] | None]
    ) -> Region | None:
        """A region with arguments of these types, and what `fill` computes of them yielded."""

    @abstractmethod
    def beginning(self, node: Node, index: int) -> None:
        """Give variables the first values that a subgraph writes."""


@dataclass(eq=False)
class Value:
    """A value of the model in both orders of axes, as far as it was asked for."""

    tensor: file.Tensor
    last: SSAValue | None = None
    """As the model has it, channels last."""
    first: SSAValue | None = None
    """Channels first."""
    known: Array | None = None
    """Of a constant, as the model has it."""
    constant: Callable[[Array], SSAValue] | None = None
    """Makes a constant of an array, where it is one."""
    handle: Handle | None = None
    """Of a variable."""
    is_memory: bool = False
    """Whether it is a tensor that keeps its value from one call to the next."""

    @property
    def made_first(self) -> bool:
        """Whether it was made with channels first."""
        return self.last is None and self.first is not None


@dataclass(frozen=True)
class Memory:
    """Something kept from one call to the next: before the first one zeros, or in int8 what stands for them."""

    node: Node
    tensor: file.Tensor
    key: Key

    def __call__(self) -> Tensor:
        """The value now."""
        node, tensor = self.node, self.tensor
        for unsure, where in ((node.calls.decides, "may not run"), (node.calls.begins, "gives variables first values")):
            node.require(not unsure, "unsupported-operator", f"it keeps values in a subgraph that {where}")
        point = 0 if tensor.dtype != "int8" or tensor.quantization is None else node.quantization(tensor)[1]
        initial = node.filled(tensor.shape, point, tensor.dtype) if point else None
        return Tensor(node, node.calls.states.read(self.key, tensor, initial))

    def becomes(self, value: Tensor) -> None:
        """Say what it is from here on."""
        self.node.calls.states.write(self.key, value.reshape(self.tensor.shape).value)


@dataclass(eq=False, kw_only=True)
class Node(Emitter):
    """One operator during import: its inputs as values, and `emit`."""

    inputs: list[Value | None]
    """None stands for an optional input left out."""
    results: list[file.Tensor]
    """The outputs as the model declares them."""
    options: file.Table | None
    custom_options: bytes
    calls: Calls
    real: bool
    """Whether quantised operands and results are real numbers here: the integers are dequantised before, and results
    quantised after."""
    taken: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Of integers, the real numbers that they stand for."""

    # --- values -------------------------------------------------------------------------------------------------------

    def optional(self, position: int) -> SSAValue | None:
        """An optional input as the model has it, None where it is left out."""
        value = self.value(position)
        return None if value is None else self._real(value, self._last(value))

    def value(self, position: int) -> Value | None:
        """An optional input in all its forms."""
        return self.inputs[position] if position < len(self.inputs) else None

    def channels_first(self, position: int) -> Tensor:
        """A required input of rank 4 with channels first."""
        value = self.declared(position)
        if len(value.tensor.shape) != 4:
            self.fail("invalid-shape", f"input {position} has rank {len(value.tensor.shape)}", "it must have rank 4")
        if value.first is None:
            if value.known is not None and value.constant is not None:
                value.first = value.constant(value.known.transpose(TO_FIRST))
            else:
                value.first = self.emit("transpose", self._last(value), permutation=list(TO_FIRST))
        return Tensor(self, self._real(value, value.first))

    def declared(self, position: int) -> Value:
        """A required input in all its forms."""
        value = self.value(position)
        if value is None:
            self.fail("missing-input", f"input {position} is missing", "the operator requires it")
        return value

    def alike(self, *positions: int) -> tuple[list[Tensor], Callable[[Tensor], Tensor | First]]:
        """Inputs of an operator that treats all elements alike, in one order of axes, and what says so of a result."""
        given = [self.declared(position) for position in positions]
        ranks = [len(each.tensor.shape) for each in given]
        if not any(each.made_first for each in given) or max(ranks) > 4:
            return [self.tensor(position) for position in positions], lambda result: result
        found: list[Tensor] = []
        for position, each, rank in zip(positions, given, ranks, strict=True):
            if rank == 4:
                found.append(self.channels_first(position))
            else:
                wide = self.tensor(position).reshape([1] * (4 - rank) + list(each.tensor.shape))
                found.append(wide.transpose(TO_FIRST))
        return found, First

    def _last(self, value: Value) -> SSAValue:
        if value.last is None:
            if value.known is not None and value.constant is not None:
                value.last = value.constant(value.known)
            elif value.is_memory:
                return self.memory_of(value.tensor)().value
            elif value.handle is not None:
                self.fail("unsupported-type", f"it is given the variable {value.handle.name!r}", "and takes tensors")
            else:
                assert value.first is not None
                value.last = self.emit("transpose", value.first, permutation=list(TO_LAST))
        return value.last

    def _real(self, value: Value, as_asked: SSAValue) -> SSAValue:
        """A value as the real numbers that it stands for, where these are asked for."""
        numbers = value.tensor.quantization
        if not self.real or numbers is None:
            return as_asked
        if as_asked not in self.taken:
            axis = PLACES[numbers.axis] if as_asked is value.first else numbers.axis
            self.taken[as_asked] = self.dequantized(as_asked, value.tensor, axis)
        return self.taken[as_asked]

    def dequantized(self, value: SSAValue, tensor: file.Tensor, axis: int | None = None) -> SSAValue:
        """The real numbers that integers of a tensor stand for; `axis` is that of several scales."""
        found = tensor.quantization
        assert found is not None
        shape = () if found.is_single else (-1,)
        scale = self.constant(found.scales.reshape(shape))
        point = self.constant(found.zero_points.astype(numpy_dtype(tensor.dtype)).reshape(shape))
        place = found.axis if axis is None else axis
        return self.emit("dequantize", value, scale, point, axis=place, block_size=0, to=f32)

    def array(self, position: int, what: str) -> Array:
        """The value of an input that must be constant (a shape, axes, weights..)."""
        return self._stored(position, what).astype(numpy_dtype(self.declared(position).tensor.dtype), copy=False)

    def _stored(self, position: int, what: str) -> Array:
        """The same as it is stored: of weights that are widened, their halves."""
        value = self.declared(position)
        known = value.known
        if known is None and value.last is not None:
            made = value.last.owner
            half = made.x if isinstance(made, CastOp) and element_type_of(made.x) == f16 else None
            known = self.known_value(value.last if half is None else half)
        if known is None:
            problem = f"{what} (input {position}) is computed at run time"
            self.fail("unknown-value", problem, "it must be known when compiling", "make it a constant of the model")
        return known

    def integers_of(self, position: int, what: str) -> list[int]:
        """The same of one that is a list of integers, or one of them."""
        return [int(each) for each in self.array(position, what).reshape(-1)]

    def integer_of(self, position: int, what: str) -> int:
        """The same of one that is one integer."""
        found = self.integers_of(position, what)
        self.require(len(found) == 1, "invalid-value", f"{what} (input {position}) are {len(found)} numbers")
        return found[0]

    def rows_of(self, position: int, what: str) -> Array:
        """The same of one that is rows of two integers, i64."""
        found = self.array(position, what)
        self.require(found.size % 2 == 0, "invalid-value", f"{what} (input {position}) are {found.size} numbers")
        return found.reshape(-1, 2).astype(np.int64)

    def axis(self, position: int, axis: int, more: int = 0) -> int:
        """An axis of an input, and `more` that there are; counted from the end where it is negative."""
        rank = len(self.declared(position).tensor.shape) + more
        if not -rank <= axis < rank:
            self.fail("invalid-value", f"axis {axis} is out of range for rank {rank}")
        return axis % rank

    def permuted(
        self, position: int, what: str, permutation: Sequence[int], shape: Sequence[int], axis: int = 0
    ) -> SSAValue:
        """A constant with its axes in another order and then seen as another shape; as real numbers, where these are
        asked for and it is quantised, with the scales along `axis`."""
        array, tensor = self._stored(position, what).transpose(permutation), self.declared(position).tensor
        value = Tensor(self, self.constant(array.reshape(shape))).cast(element_type(tensor.dtype)).value
        return self.dequantized(value, tensor, axis) if self.real and tensor.quantization is not None else value

    # --- what is kept from one call to the next -----------------------------------------------------------------------

    def state(self, position: int) -> Memory:
        """An input that the operator changes."""
        tensor = self.declared(position).tensor
        self.require(tensor.is_variable, "invalid-model", f"input {position}, the state, is no variable tensor")
        return self.memory_of(tensor)

    def memory_of(self, tensor: file.Tensor) -> Memory:
        """A variable tensor."""
        return Memory(self, tensor, (id(tensor), ""))

    def memory(self, what: str, shape: Sequence[int], dtype: str) -> Memory:
        """Something that is no tensor of the model."""
        kind = next(kind for kind, each in file.DTYPES.items() if each == dtype)
        self.require_countable(shape)
        tensor = file.Tensor(f"{self.name}_{what}", kind, tuple(shape), None, None, True, None)
        return Memory(self, tensor, (id(self.results[0]), what))

    # --- facts --------------------------------------------------------------------------------------------------------

    def option(self, name: str, default: int = 0) -> int:
        """An option by its name in the schema; `default` where the model has none."""
        try:
            value = file.option(self.options, name)
        except ValueError as error:
            self.fail("invalid-attribute", str(error))
        return default if value is None else int(value)

    def real_option(self, name: str, default: float = 0.0) -> float:
        """The same of one that is a real number."""
        try:
            value = file.option(self.options, name)
        except ValueError as error:
            self.fail("invalid-attribute", str(error))
        return default if value is None else float(value)

    def text_option(self, name: str) -> str:
        """The same of one that is text."""
        try:
            return file.text_option(self.options, name)
        except ValueError as error:
            self.fail("invalid-attribute", str(error))

    @cached_property
    def _custom(self) -> dict[str, flexbuffer.Number]:
        try:
            return flexbuffer.read_options(self.custom_options)
        except ValueError as error:
            self.fail("invalid-attribute", "the options cannot be read", str(error))

    def custom(self, name: str, default: flexbuffer.Number | None = None) -> flexbuffer.Number:
        """An option of a custom operator; `default` where it has none of that name, which is required else."""
        value = self._custom.get(name, default)
        if value is None:
            self.fail("missing-attribute", f"the option {name} is missing", "the operator requires it")
        return value

    def custom_count(self, name: str, least: int = 0, most: int = _MOST_COUNT) -> int:
        """The same of one that is an integer within these."""
        value = int(self.custom(name))
        self.require(least <= value <= most, "invalid-attribute", f"the option {name} is {value}")
        return value

    def require(self, holds: bool, kind: str, what: str, why: str = "") -> None:
        """Fail unless something holds."""
        if not holds:
            self.fail(kind, what, why)

    def require_outputs(self, count: int) -> None:
        """Fail unless there are so many outputs."""
        found = len(self.results)
        self.require(found == count, "invalid-model", f"it has {found} outputs, the operator gives {count}")

    def require_type(self, position: int, *dtypes: str) -> None:
        """Fail where an input has none of these element types."""
        kind = self.declared(position).tensor.kind
        if kind.lower() not in dtypes:
            what = f"input {position} is {kind}, and the operator is there for {', '.join(dtypes).upper()}"
            self.fail("unsupported-type", what)

    @property
    def is_quantized(self) -> bool:
        """Whether the operator computes with integers that stand for real numbers."""
        return not self.real and self.results[0].quantization is not None and self.results[0].dtype != "float32"

    def quantization(self, tensor: file.Tensor) -> tuple[np.float32, int]:
        """The scale and the zero point of a tensor that has one of each."""
        found = tensor.quantization
        if found is None or not found.is_single:
            what = f"the tensor {tensor.name!r} has no single scale"
            self.fail("unsupported-type", what, "the operator computes with one for all elements")
        self.require(bool(found.scales.all()), "unsupported-type", f"the scale of the tensor {tensor.name!r} is 0")
        return np.float32(found.scales.reshape(-1)[0]), int(found.zero_points.reshape(-1)[0])

    def input_quantization(self, position: int) -> tuple[np.float32, int]:
        """The scale and the zero point of an input."""
        return self.quantization(self.declared(position).tensor)

    @property
    def to(self) -> Attribute:
        """The element type of the result."""
        return element_type(self.results[0].dtype)

    def steps(
        self, scanned: Sequence[Tensor], carried: Sequence[Tensor], body: Callable[..., tuple[Sequence[Tensor], Tensor]]
    ) -> tuple[list[Tensor], Tensor]:
        """The last of `carried` values, and what is stacked: `body` is given a slice of each of `scanned` along the
        first axis, then the carried values, and gives the next of these and a slice."""
        trips = scanned[0].shape[0]
        kinds = [TensorType(each.kind, each.shape[1:]) for each in scanned]
        block = Block(arg_types=[TensorType(i64, []), *(each.value.type for each in carried), *kinds])
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(block))
        arguments = [Tensor(self, value) for value in block.args[1:]]
        try:
            following, slice_ = body(*arguments[len(carried) :], *arguments[: len(carried)])
        finally:
            self.builder = outer
        block.add_op(YieldOp([each.value for each in (*following, slice_)]))
        erase_unused(block)
        begin, given = ([each.value for each in values] for values in (carried, scanned))
        *last, stacked = self.insert(LoopOp.of(Region(block), count=trips, carried=begin, scanned=given))
        return [Tensor(self, value) for value in last], Tensor(self, stacked)

    def insert(self, op: GraphOp) -> list[SSAValue]:
        """The results of an operation, which is inserted where the import is."""
        self._insert(op)
        return list(op.results)

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def activation(self) -> tuple[float, float] | None:
        """The real numbers to which the fused activation clamps; None where there is none."""
        kind = self.option("FusedActivationFunction")
        if kind not in ACTIVATIONS:
            self.fail("unsupported-attribute", f"the fused activation is number {kind}", fix="have it by itself")
        return ACTIVATIONS[kind]

    def clamp(self) -> tuple[int, int]:
        """The integers of the result to which the fused activation clamps."""
        scale, point = self.quantization(self.results[0])
        least, greatest = integer_range(self.to)
        low, high = self.activation() or (-np.inf, np.inf)
        low = least if low == -np.inf else max(least, quantized_number(low, scale, point))
        high = greatest if high == np.inf else min(greatest, quantized_number(high, scale, point))
        return low, high

    def activated(self, x: Tensor) -> Tensor:
        """Real numbers clamped by the fused activation."""
        low, high = self.activation() or (-np.inf, np.inf)
        if (low, high) == (0.0, np.inf):
            return x.emit("relu")
        x = x if low == -np.inf else x.at_least(low)
        return x if high == np.inf else x.at_most(high)

    def integers(self, x: Tensor, zero_point: int) -> Tensor:
        """Narrow integers as i32, less their zero point."""
        wide = x.cast(i32)
        return wide - zero_point if zero_point else wide

    def rescaled(self, sums: Tensor, by: Multiplier, *, axis: int = 0) -> Tensor:
        """i32 times real numbers, as TFLite multiplies: one for all, or one for each index of `axis`; i32."""
        low, high = integer_range(i32)
        return self._rescaled(sums, by, axis, zero_point=0, low=low, high=high, to=i32)

    def requantized(self, sums: Tensor, by: Multiplier, *, axis: int = 0) -> Tensor:
        """The same, plus the zero point of the result and clamped by the fused activation, as the result has it."""
        _, point = self.quantization(self.results[0])
        low, high = self.clamp()
        return self._rescaled(sums, by, axis, zero_point=point, low=low, high=high, to=self.to)

    def requantized_once(self, sums: Tensor, by: Multiplier, most: Array, *, axis: int = 0) -> Tensor:
        """The same of sums in i32 or i64, at most `most` in magnitude, by factors of 15 bits with one rounding, the
        middle up (`MultiplyByQuantizedMultiplier` of int64).

        In i32 that is the product that is rounded twice, where nothing is left for the second time: the factors are
        shifted, and so are sums that have room.
        """
        factors = np.where(by.factors < 0x7FFF0000, (by.factors + (1 << 15)) >> 16, 0x7FFF)
        up, down = np.maximum(by.exponents, 0), np.maximum(-by.exponents, 0)
        self.require(int(up.max()) < 15, "unsupported-type", "the scales make factors of 2^14 and more")
        if sums.kind == i32 and int(down.max()) <= 16 and int((most << up).max()) < 1 << 31:
            return self.requantized(sums, Multiplier(factors << 16 - down, up), axis=axis)
        _, point = self.quantization(self.results[0])
        found, (low, high) = words.requantized(sums.cast(i64), by, axis=axis), self.clamp()
        return (found + point if point else found).at_least(low).at_most(high).cast(self.to)

    def requantized_in_double(self, sums: Tensor, real: Array) -> Tensor:
        """The same in f64, one factor or one for each index of the last axis: rounded once, the middle away from
        zero."""
        _, point = self.quantization(self.results[0])
        low, high = self.clamp()
        nearest = fixed_point.nearest(sums.cast(f64) * Tensor(self, self.constant(real)))
        whole = nearest.at_least(float(low - point)).at_most(float(high - point)).cast(i32)
        return (whole + point if point else whole).cast(self.to)

    def _rescaled(self, sums: Tensor, by: Multiplier, axis: int, **numbers: object) -> Tensor:
        up = np.maximum(by.exponents, 0)
        if up.any():
            behind = [1] * (len(sums.shape) - 1 - axis) if up.ndim else []
            sums = sums * self.constant((1 << up.astype(np.int64)).astype(np.int32).reshape([*up.shape, *behind]))
        factors, shifts = by.factors.astype(np.int32), np.maximum(-by.exponents, 0).astype(np.int32)
        made = self.constant(factors), self.constant(shifts)
        return sums.emit("doubling_requantize", *made, axis=axis, **numbers)

    def shaped(self, x: Tensor) -> Tensor:
        """A result in the shape that the model declares, which has as many elements."""
        return x.reshape(self.results[0].shape)

    def along_axes(self, reduction: Callable[[Tensor, list[int]], Tensor]) -> Tensor:
        """The result of `reduction` of input 0 along the axes of input 1, which it keeps, in the shape that the model
        declares; both are given in the order of axes that is there."""
        value = self.declared(0)
        given = self.integers_of(1, "the axes") if value.tensor.shape else []
        axes = sorted({self.axis(0, axis) for axis in given})
        if not value.made_first:
            return self.shaped(reduction(self.tensor(0), axes))
        result = reduction(self.channels_first(0), [PLACES[axis] for axis in axes])
        return self.shaped(result.transpose(TO_LAST))
