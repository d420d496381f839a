"""Interfaces by which a graph operation tells the compiler about itself.

An operator, ours or one from outside, is one class: its operands and attributes, the types of its results, its value on
constants, how it fuses, and what each element of its results is. How that is computed fast is for kernel strategies to
say (`passes/kernel`). No pass knows operators by name; they ask these interfaces.

* `GraphOp`      operands and results are tensors of static shape; `infer_types`, `evaluate`, one assembly format.
* `ElementOp`    one result; a result element is an expression over elements of the operands (`element`).
* `ConstantPackerOp` has no kernel: what it computes from constants is known when a model is compiled.
* `AnchorOp`     has a kernel of its own; mostly a `LoopNestOp`, which writes its loop nest (`loops`): reductions,
                 contractions, windows, state across elements.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain, repeat
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, FunctionType, ShapedType, TensorType, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarOperandDef,
    VarResultDef,
    VerificationContext,
    result_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.arrays import Array
from aotc.dialects.attributes import to_attribute
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width, compute_type, is_narrow_float
from aotc.dialects.evaluation import evaluate_element, evaluate_loops, evaluate_places
from aotc.dialects.graph.patterns import Op, patterns_of
from aotc.dialects.properties import Flag, ints


class ShapeError(Exception):
    """The operand shapes, types or attributes of an operation do not fit together; the message says how."""


class Fusion(Enum):
    """How an operation takes part in fusion (pattern kinds of TVM, arXiv:1802.04799, section 3)."""

    POINTWISE = "pointwise"
    """Element i of the result reads element i (or its broadcast) of each operand: prologue, epilogue and chains."""
    INJECTIVE = "injective"
    """Each result element reads at most one element of each operand, elsewhere: prologue only."""
    ANCHOR = "anchor"
    """Has its own loop nest and writes every result element once: accepts prologues and epilogues, one per kernel."""
    NEVER = "never"
    """Stands alone, or is no kernel at all (constants, views)."""


class Quantization(NamedTuple):
    """How integers stand for real numbers: by (integer - zero_point) * scale."""

    scale: SSAValue
    zero_point: SSAValue | None


def tensor_type(value: SSAValue) -> TensorType:
    """The tensor type of `value`; graph operations have no other."""
    assert isinstance(value.type, TensorType), value.type
    return cast(TensorType, value.type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of `value`."""
    return tensor_type(value).get_shape()


def element_type_of(value: SSAValue) -> Attribute:
    """The element type of `value`: one of `dtypes.ELEMENT_TYPES`."""
    return tensor_type(value).get_element_type()


def bytes_of(value: SSAValue) -> int:
    """The size of a tensor in memory."""
    return math.prod(shape_of(value)) * byte_width(element_type_of(value))


def producer(value: SSAValue, op_class: type[Op]) -> Op | None:
    """The operation that computes `value`, if it is one of a class."""
    return value.op if isinstance(value, OpResult) and isinstance(value.op, op_class) else None


def common_element_type(*values: SSAValue) -> Attribute:
    """The one element type of all `values`; raises ShapeError where they have several."""
    kinds = list(dict.fromkeys(map(element_type_of, values)))
    if len(kinds) > 1:
        raise ShapeError("element types differ: " + ", ".join(map(str, kinds)))
    return kinds[0]


def narrowest_element_type(*values: SSAValue) -> Attribute:
    """The one element type of all `values`; f16 or bf16 where some have that type and others the one that it is
    computed in. Raises ShapeError where they have several otherwise."""
    narrow = {kind for kind in map(element_type_of, values) if is_narrow_float(kind)}
    if len(narrow) == 1:
        (kind,) = narrow
        return common_element_type(*(value for value in values if element_type_of(value) != compute_type(kind)))
    return common_element_type(*values)


class GraphOp(IRDLOperation, HasCanonicalizationPatternsInterface, ABC):
    """An operation on tensors: pure, statically shaped, results' types a function of operands and attributes."""

    traits = traits_def(Pure())

    FUSION: ClassVar[Fusion] = Fusion.NEVER

    ORDERS_WEIGHTS: ClassVar[bool] = False
    """Whether it packs a constant into the order in which kernels read it: done at compile time, even if that adds
    elements."""

    @property
    def label(self) -> str:
        """The names of kernels after it."""
        return self.name.rsplit(".", 1)[-1]

    @abstractmethod
    def infer_types(self) -> Sequence[TensorType]:
        """The result types that the operands and attributes give; raises `ShapeError` where they do not fit."""

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The results on constant operands, or None where the operation does not fold."""
        return None

    def note(self) -> str | None:
        """Numbers in its code and what they are, for readers of C; None where that needs no saying."""
        return None

    def operations(self) -> int:
        """How many arithmetic operations a profile counts, whatever algorithm computes them: two for each
        multiply-add of a sum of products, one for each element of anything else, none where data only moves."""
        if self.FUSION in (Fusion.INJECTIVE, Fusion.NEVER):
            return 0
        return max(math.prod(shape_of(value)) for value in (*self.operands[:1], self.results[0]))

    def view_offset(self) -> int | None:
        """For a view, whose result is a contiguous range of the first operand's elements: where the range begins.

        The order is row-major. A view has one result, and is never a kernel. None: the operation is no view.
        """
        return None

    def part_offsets(self) -> Sequence[int] | None:
        """For a result that is the operands' elements, one operand after the other: where each operand begins.

        The order is row-major. The kernels that compute the operands can then write them in place. None: the operation
        is no such.
        """
        return None

    def part_starts(self) -> tuple[int, Sequence[int]] | None:
        """For a result whose parts are written where they belong, however far apart their elements are there: the axis
        along which the operands lie one after the other, and where each begins. None: the operation is no such."""
        return None

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        """For each operand of which one position of the first result along `axis` reads some positions along an axis:
        which ones; others are read as a whole. None: nothing is known."""
        return None

    def contracted_axes(self) -> tuple[int, int] | None:
        """For a contraction of the first two operands along one axis of each: the two axes.

        Permuting both alike changes nothing but the order of the terms. None: the operation is no contraction.
        """
        return None

    def operand_quantization(self) -> Quantization | None:
        """The quantisation of the first operand's integers, if the operation computes with real numbers that they stand
        for."""
        return None

    def result_quantization(self) -> Quantization | None:
        """The quantisation of the first result's integers, if they stand for real numbers."""
        return None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The patterns that `canonicalize` tries on operations of this class: all that are registered with
        `simplifies`."""
        return patterns_of(cls)

    @classmethod
    def get(cls, *operands: SSAValue | Operation | Sequence[SSAValue] | None, **attributes: object) -> Self:
        """Build the operation with inferred result types.

        Operands stand in declaration order (None for an absent optional one, a sequence for a variadic one);
        attributes are plain Python values (see `to_attribute`), None leaves one out; an optional result is there where
        its name is given as true. Raises `ShapeError`, and TypeError for a property of another kind than is declared.
        """
        definition = cls.get_irdl_definition()
        given = [
            () if operand is None and isinstance(operand_def, VarOperandDef) else operand
            for (_, operand_def), operand in zip(definition.operands, chain(operands, repeat(None)), strict=False)
        ]
        properties = {
            name: attribute
            for name, value in attributes.items()
            if value is not None and name not in dict(definition.results)
            if (attribute := cls._property(name, value)) is not None
        }
        placeholder = TensorType(i64, [])
        results = [
            [placeholder] * bool(attributes.get(name)) if isinstance(result_def, VarResultDef) else placeholder
            for name, result_def in definition.results
        ]
        op = cls(operands=given, result_types=results, properties=properties)
        op.refine()
        return op

    @classmethod
    def _property(cls, name: str, value: object) -> Attribute | None:
        """The attribute for a property, None for a flag that does not hold; raises TypeError where there is no such
        property, or one of another kind."""
        if (declared := cls.get_irdl_definition().properties.get(name)) is None:
            raise TypeError(f"{cls.name} has no property {name}")
        field = getattr(cls, name, None)
        if isinstance(field, Flag) and isinstance(value, bool):
            return field.attribute(value)
        try:
            declared.constr.verify(attribute := to_attribute(value), VerificationContext())
        except VerifyException as error:
            wanted = "a bool" if isinstance(field, Flag) else error
            raise TypeError(f"{cls.name}: the property {name} wants {wanted}, and is given {value!r}") from error
        return attribute

    def refine(self) -> bool:
        """Set the result types to the inferred ones; True if that changed any."""
        changed = False
        for result, inferred in zip(self.results, self.infer_types(), strict=True):
            if result.type != inferred:
                result._type = inferred  # pyright: ignore[reportPrivateUsage]
                changed = True
        return changed

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, TensorType) or not cast(ShapedType, value.type).has_static_shape():
                raise VerifyException(f"operands and results are tensors of static shape, found {value.type}")
        try:
            inferred = self.infer_types()
        except ShapeError as error:
            raise VerifyException(str(error)) from error
        for result, expected in zip(self.results, inferred, strict=True):
            if result.type != expected:
                raise VerifyException(f"result type is {result.type}, operands and attributes give {expected}")

    # One assembly for all: `graph.conv %x, %w {group = 1 : i64} : (tensor<..>, tensor<..>) -> tensor<..>`

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes({**self.properties, **self.attributes}, print_keyword=False)
        printer.print_string(" : ")
        signature = FunctionType.from_lists([v.type for v in self.operands], [v.type for v in self.results])
        printer.print_attribute(signature)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = []
        if (first := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(first)
            while parser.parse_optional_punctuation(","):
                operands.append(parser.parse_unresolved_operand())
        everything = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        signature = parser.parse_function_type()
        resolved = parser.resolve_operands(operands, signature.inputs.data, position)
        known = set(cls.get_irdl_definition().properties) | {AttrSizedOperandSegments.attribute_name}
        properties = {name: value for name, value in everything.items() if name in known}
        attributes = {name: value for name, value in everything.items() if name not in known}
        return cls.create(
            operands=resolved, result_types=signature.outputs.data, properties=properties, attributes=attributes
        )

    # Reading attributes as Python values

    def ints(self, name: str) -> tuple[int, ...]:
        """The property `name`, an `array<i64: ...>`, as Python ints."""
        return ints(cast(DenseArrayBase[I64], self.properties[name]))


class ElementOp(GraphOp, ABC):
    """One result, each element an expression: elementwise arithmetic (POINTWISE) and data movement (INJECTIVE)."""

    FUSION: ClassVar[Fusion] = Fusion.POINTWISE
    result = result_def(TensorType)

    MOVES: ClassVar[bool] = False
    """Whether a result element is an operand's element unchanged, or zero: encoded elements need not be decoded, see
    `encodings`."""

    BROADCASTS: ClassVar[bool] = False
    """Whether every result element is the same function of the operands' elements at its index, with numpy's
    broadcasting."""

    BRANCHES: ClassVar[bool] = False
    """Whether an element takes few of many branches: see `BRANCHES` of the contract."""

    def single_elements(self) -> Iterable[int]:
        """The operands of which a single element may stand for many equal ones."""
        return range(len(self.operands)) if self.BROADCASTS else ()

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        """For each operand that must be permuted for the result to be permuted along `axis`: its axis; None: that is
        impossible."""
        if not self.BROADCASTS:
            return None
        rank = len(shape_of(self.results[0]))
        shapes = [(1,) * (rank - len(shape_of(value))) + shape_of(value) for value in self.operands]
        absent = [rank - len(shape_of(value)) for value in self.operands]
        return {place: axis - absent[place] for place, shape in enumerate(shapes) if shape[axis] > 1}

    def permuted_axes(self) -> Sequence[int] | None:
        """Where the result is the operand with its axes permuted, but for some of extent 1: of each axis of the result
        that of the operand."""
        return None

    def reads_once(self) -> bool:
        """Whether each element of an operand is used by at most one result element, even where the operand is the
        smaller tensor."""
        return False

    def outliers(self) -> tuple[Sequence[int], int] | None:
        """Where all of a matrix is 0 but for a diagonal: the index of its first element, and how many it has."""
        return None

    @property
    def is_movable(self) -> bool:
        """Whether elements are the same wherever they stand: functions of the operands' elements alone."""
        return self.FUSION is Fusion.POINTWISE

    @abstractmethod
    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        """Emit the value of the result element at `index`.

        `index` has one index per result dimension; `reads[k](i)` emits the element of operand k at `i`: a number or,
        where the operation MOVES and its element type is encoded, the encoded element. The result may be either. Reads
        may happen inside `b.when`, so that an out-of-range element is never read.
        """

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """`element`, computed on arrays."""
        kind = tensor_type(self.results[0])
        shape = kind.get_shape()
        if (offset := self.view_offset()) is not None:
            return [operands[0].reshape(-1)[offset : offset + math.prod(shape)].reshape(shape)]
        if self.part_offsets() is not None:
            return [np.concatenate([operand.reshape(-1) for operand in operands]).reshape(shape)]
        if self.BROADCASTS:
            found = self.evaluate_places(operands)
        else:
            found = evaluate_element(self.element, operands, kind, encoded=self.MOVES)
        return None if found is None else [np.broadcast_to(found, shape)]

    def evaluate_places(self, operands: Sequence[Array]) -> Array | None:
        """The elements of the result for those of operands at the same places, arrays that broadcast to a shape,
        whatever those of the operands; of an operation whose elements depend on nothing else."""
        return evaluate_places(self.element, operands, tensor_type(self.results[0]), encoded=self.MOVES)


class ConstantPackerOp(GraphOp, ABC):
    """Computes what kernels read from constants, when a model is compiled: it has no kernel."""

    ORDERS_WEIGHTS: ClassVar[bool] = True

    @abstractmethod
    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]: ...


class ScaleShiftOp(ElementOp, ABC):
    """x * factor + offset of the first operand x, where factor and offset depend on the other operands alone."""

    @abstractmethod
    def factor_and_offset(self, parameters: Sequence[Array]) -> tuple[Array, Array]:
        """Both, as they broadcast to x, from the other operands' values in f64."""


class AnchorOp(GraphOp, ABC):
    """An operation with a loop nest of its own, which writes every result element once; what is fused with it is
    evaluated where the nest reads and writes."""

    FUSION: ClassVar[Fusion] = Fusion.ANCHOR

    COMPUTED: ClassVar[int | None] = None
    """How many results are not scratch buffers; None: all."""

    def scratch(self) -> Sequence[OpResult]:
        """The last results, where they are scratch buffers.

        No operation uses them, and they live only while the kernel runs. Both kinds of loop nests have readers of them
        after those of the operands, and may write and read an element any number of times.
        """
        return () if self.COMPUTED is None else self.results[self.COMPUTED :]

    def overwrites(self) -> Mapping[int, int]:
        """For results that may be written over an operand of their shape: the position of that operand, by that of the
        result. No element of it is read after the element at its place has been written."""
        return {}

    ALGORITHM: ClassVar[str] = "algorithm"
    """The attribute that names the algorithm by which an operation is computed, if not by its definition."""


class LoopNestOp(AnchorOp, ABC):
    """An anchor with a scalar loop nest, which defines it, and which is its kernel where no strategy has a faster
    one."""

    @abstractmethod
    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Emit the whole nest; call `writes[k](index, value)` exactly once for every element of result k.

        A result is write-only: it may have another type in memory (a fused epilogue), so it cannot hold partial sums.
        An operand read through `reads` may be an expression (a fused prologue); read it as often as needed.
        """

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """`loops`, computed on arrays."""
        return evaluate_loops(self.loops, operands, list(map(tensor_type, self.results)), len(self.scratch()))


class ParallelOp(LoopNestOp, ABC):
    """One result, whose elements are computed in loops of their own, in any order."""

    result = result_def(TensorType)

    @abstractmethod
    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        """Emit the value of the result element at `index`."""

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        b.parallel_for(shape_of(self.results[0]), lambda index: writes[0](index, self.compute(b, index, reads)))


class ChannelWeightsOp(AnchorOp, ABC):
    """An operation whose result is linear in a weight, its second operand, with separate weights for each channel: for
    each index of the result's axis `CHANNELS`."""

    CHANNELS: ClassVar[int]

    BIAS: ClassVar[int | None] = None
    """The position of the optional last operand, a bias with one element for each channel; None: there is none."""

    @abstractmethod
    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        """The weight with which each channel of the result is multiplied by its factor, which is f64; so may it be."""


# Parts of the entry


def is_view(op: Operation) -> bool:
    """Whether `op` is a view: its result is a contiguous range of its first operand's elements, in another shape."""
    return isinstance(op, GraphOp) and op.view_offset() is not None


def is_join(op: Operation) -> bool:
    """Whether the result of `op` is its operands, each of which can be written in its place, as of a concatenation
    along the first axis."""
    return isinstance(op, GraphOp) and (op.part_offsets() is not None or op.part_starts() is not None)


def is_kernel(op: Operation) -> bool:
    """Whether `op` becomes a kernel, alone or in a group."""
    return isinstance(op, ElementOp | AnchorOp) and not is_view(op)


def viewed_whole(value: SSAValue) -> SSAValue:
    """The value that `value` is a view of, as a whole; `value` itself where it is no view."""
    while isinstance(value, OpResult) and is_view(value.op):
        source = value.op.operands[0]
        if math.prod(shape_of(source)) != math.prod(shape_of(value)):
            break
        value = source
    return value
