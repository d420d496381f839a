"""What a graph operation tells the compiler about itself.

An operator, ours or one from outside, is one class: its operands and attributes, the types of its results, its value on
constants, how it fuses, and what each element of its results is. How that is computed fast is for kernel strategies to
say (`passes/kernel`). No pass knows operators by name; they ask these interfaces.

* `GraphOp`      operands and results are tensors of static shape; `infer_types`, `evaluate`, one assembly format.
* `ElementOp`    one result; a result element is an expression over elements of the operands (`element`).
* `AnchorOp`     has a kernel of its own; mostly a `LoopNestOp`, which writes its loop nest (`loops`): reductions,
                 contractions, windows, state across elements.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    ShapedType,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i64,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.patterns import patterns_of

Op = TypeVar("Op", bound=Operation)


class ShapeError(Exception):
    """The operand shapes, types or attributes of an operation do not fit together; the message says how."""


class Fusion(Enum):
    """How an operation takes part in fusion (the pattern kinds of TVM, arXiv:1802.04799, section 3)."""

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


def producer(value: SSAValue, op_class: type[Op]) -> Op | None:
    """The operation that computes `value`, if it is one of a class."""
    return value.op if isinstance(value, OpResult) and isinstance(value.op, op_class) else None


def common_element_type(*values: SSAValue) -> Attribute:
    """The one element type of all `values`; raises ShapeError where they have several."""
    kinds = list(dict.fromkeys(map(element_type_of, values)))
    if len(kinds) > 1:
        raise ShapeError("element types differ: " + ", ".join(map(str, kinds)))
    return kinds[0]


def to_attribute(value: object) -> Attribute:
    """The attribute for a plain Python value: ints i64, floats f64, bools i1, strings, sequences of ints or floats."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            items = cast(Sequence[Any], value)
            if any(isinstance(item, str) for item in items):
                return ArrayAttr([StringAttr(item) for item in items])
            if any(isinstance(item, float) for item in items):
                return DenseArrayBase.from_list(f64, [float(item) for item in items])
            return DenseArrayBase.from_list(i64, [int(item) for item in items])
        case _:
            raise TypeError(f"no attribute for {value!r}")


class GraphOp(IRDLOperation, HasCanonicalizationPatternsInterface, ABC):
    """An operation on tensors: pure, statically shaped, results' types a function of operands and attributes."""

    traits = traits_def(Pure())

    FUSION: ClassVar[Fusion] = Fusion.NEVER

    ORDERS_WEIGHTS: ClassVar[bool] = False
    """Whether it puts a constant into the order kernels read it in: at compile time, even if that adds elements."""

    @abstractmethod
    def infer_types(self) -> Sequence[TensorType]:
        """The result types that the operands and attributes give; raises `ShapeError` where they do not fit."""

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The results on constant operands, or None where the operation does not fold. Must agree with the kernel."""
        return None

    def operations(self) -> int:
        """How many arithmetic operations a profile counts, whatever algorithm computes them: two for each
        multiply-add of a sum of products, one for each element of anything else, none where data only moves."""
        if self.FUSION in (Fusion.INJECTIVE, Fusion.NEVER):
            return 0
        return max(math.prod(shape_of(value)) for value in (*self.operands[:1], self.results[0]))

    def view_offset(self) -> int | None:
        """Where the only result is a run of the first operand's elements in row-major order: the position of its first
        element. Such an operation is a view and never a kernel. None: it is not one."""
        return None

    def part_offsets(self) -> Sequence[int] | None:
        """Where the only result is the elements of the operands one after the other, in row-major order: the position
        of each one's first. What computes the operands can then write them where they belong. None: it is not."""
        return None

    def contracted_axes(self) -> tuple[int, int] | None:
        """Where the result is sums of products of elements of the first two operands along one axis of each: the axes.
        Permuting both alike changes the order of the terms and nothing else. None: it is no such sum."""
        return None

    def operand_quantization(self) -> Quantization | None:
        """How the first operand's integers stand for the numbers that the operation computes with, if they do."""
        return None

    def result_quantization(self) -> Quantization | None:
        """How the first result's integers stand for numbers that the operation computed, if they do."""
        return None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """What the `canonicalize` pass tries on operations of this class: all that is registered with `simplifies`."""
        return patterns_of(cls)

    @classmethod
    def get(cls, *operands: SSAValue | Operation | Sequence[SSAValue] | None, **attributes: object) -> Self:
        """Build the operation with inferred result types.

        Operands stand in declaration order (None for an absent optional one, a sequence for a variadic one);
        attributes are plain Python values (see `to_attribute`), None leaves one out; an optional result is there where
        its name is given as true. Raises `ShapeError`.
        """
        definition = cls.get_irdl_definition()
        given: list[Sequence[SSAValue] | SSAValue] = []
        declared = list(definition.operands)
        for position, (_, operand_def) in enumerate(declared):
            operand = operands[position] if position < len(operands) else None
            if isinstance(operand_def, VarOperandDef):
                if operand is None or isinstance(operand, SSAValue | Operation):
                    given.append([] if operand is None else [SSAValue.get(operand)])
                else:
                    given.append(list(operand))
            else:
                assert operand is None or isinstance(operand, SSAValue | Operation)
                assert operand is not None or isinstance(operand_def, OptOperandDef), "a required operand is missing"
                given.append([] if operand is None else SSAValue.get(operand))
        asked = {name for name, each in definition.results if isinstance(each, OptResultDef) and attributes.get(name)}
        declared_results = dict(definition.results)
        properties = {
            name: to_attribute(value)
            for name, value in attributes.items()
            if value is not None and name not in declared_results
        }
        for name, property_def in definition.properties.items():
            if name not in properties and property_def.default_value is not None:
                properties[name] = property_def.default_value
        placeholder = TensorType(i64, [])
        results = [
            [placeholder] * (name in asked) if isinstance(result_def, VarResultDef) else placeholder
            for name, result_def in definition.results
        ]
        op = cls(operands=given, result_types=results, properties=properties)
        op.refine()
        return op

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
        attribute = self.properties[name]
        assert isinstance(attribute, DenseArrayBase)
        return tuple(int(item) for item in attribute.get_values())

    def flag(self, name: str) -> bool:
        """The property `name`, a unit or i1 attribute (absent: false)."""
        attribute = self.properties.get(name)
        if isinstance(attribute, IntegerAttr):
            return bool(attribute.value.data)
        return isinstance(attribute, UnitAttr)


class ElementOp(GraphOp, ABC):
    """One result, each element an expression: elementwise arithmetic (POINTWISE) and data movement (INJECTIVE)."""

    FUSION: ClassVar[Fusion] = Fusion.POINTWISE

    MOVES: ClassVar[bool] = False
    """Whether a result element is an operand's element unchanged, or zero: it need not be decoded, see `encodings`."""

    BROADCASTS: ClassVar[bool] = False
    """Whether a result element is a function, the same for all, of the operands' elements at its index, broadcast as
    numpy does."""

    def single_elements(self) -> Iterable[int]:
        """The operands of which a single element may stand for many equal ones."""
        return range(len(self.operands)) if self.BROADCASTS else ()

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        """The operands to permute for the result to be permuted along `axis`, and the axis of each; None: no such."""
        if not self.BROADCASTS:
            return None
        rank = len(shape_of(self.results[0]))
        shapes = [(1,) * (rank - len(shape_of(value))) + shape_of(value) for value in self.operands]
        absent = [rank - len(shape_of(value)) for value in self.operands]
        return {place: axis - absent[place] for place, shape in enumerate(shapes) if shape[axis] > 1}

    def reads_once(self) -> bool:
        """Whether no element of an operand serves two result elements, even where the operand is the smaller one."""
        return False

    @abstractmethod
    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        """Emit the value of the result element at `index`.

        `index` has one index per result dimension; `reads[k](i)` emits the value of operand k at `i`: a number or,
        where the operation MOVES and memory has codes, a code. A result may be either. Reads may happen
        inside `b.when`, so that an out-of-range element is never touched.
        """


class ScaleShiftOp(ElementOp, ABC):
    """x * factor + offset of the first operand x, where factor and offset depend on the other operands alone."""

    @abstractmethod
    def factor_and_offset(self, parameters: Sequence[Array]) -> tuple[Array, Array]:
        """Both, as they broadcast to x, from the other operands' values in f64."""


class AnchorOp(GraphOp, ABC):
    """Has a kernel of its own, which writes every result element once, and what is fused with it calls back for."""

    FUSION: ClassVar[Fusion] = Fusion.ANCHOR

    def scratch(self) -> Sequence[OpResult]:
        """The last results, where they are working memory of the loops: no operation uses them, and they are needed
        only while the kernel runs. Both kinds of loops have readers of them after those of the operands, and may write
        and read an element as often as they like, or never."""
        return ()

    ALGORITHM: ClassVar[str] = "algorithm"
    """The attribute that says by what algorithm, instead of its own, an operation is computed."""


class LoopNestOp(AnchorOp, ABC):
    """An anchor that writes its own loop nest: what defines it, and its kernel where no strategy has a faster one."""

    @abstractmethod
    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Emit the whole nest; call `writes[k](index, value)` exactly once for every element of result k.

        A result is write-only: it may have another type in memory (a fused epilogue), so it cannot hold partial sums.
        An operand read through `reads` may be an expression (a fused prologue); read it as often as needed.
        """


class ChannelWeightsOp(AnchorOp, ABC):
    """A result that is linear in weights, the second operand, with some of its own for each channel: an index of the
    result's axis `CHANNELS`."""

    CHANNELS: ClassVar[int]

    BIAS: ClassVar[int | None] = None
    """The optional last operand, if there is one, that has an element to add for each channel."""

    @abstractmethod
    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        """The weight that makes each channel its factor as large."""


# What the entry is divided into


def is_view(op: Operation) -> bool:
    """Whether `op` only gives another shape to a run of its first operand's elements."""
    return isinstance(op, GraphOp) and op.view_offset() is not None


def is_join(op: Operation) -> bool:
    """Whether the result of `op` is nothing but its operands one after the other."""
    return isinstance(op, GraphOp) and op.part_offsets() is not None


def is_kernel(op: Operation) -> bool:
    """Whether `op` computes something of its own: it becomes a kernel, alone or in a group."""
    return isinstance(op, ElementOp | AnchorOp) and not is_view(op)


def viewed_whole(value: SSAValue) -> SSAValue:
    """The value whose elements, all of them, `value` is another shape of; `value` itself where it is no view."""
    while isinstance(value, OpResult) and is_view(value.op):
        source = value.op.operands[0]
        if math.prod(shape_of(source)) != math.prod(shape_of(value)):
            break
        value = source
    return value
