"""Constants, copies, fused groups and their terminator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, GraphOp, tensor_type


@irdl_op_definition
class ConstantOp(GraphOp):
    """A constant tensor: `dense<...>` up to 64 elements, else `dense_resource<key>` in the WeightStore."""

    name = "graph.constant"
    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr)
    result = result_def(TensorType)
    FUSION: ClassVar[Fusion] = Fusion.NEVER

    INLINE_LIMIT: ClassVar[int] = 64
    """The most elements that stand in the IR itself."""

    def __init__(self, value: DenseIntOrFPElementsAttr | DenseResourceAttr) -> None:
        super().__init__(properties={"value": value}, result_types=[value.get_type()])

    def infer_types(self) -> Sequence[TensorType]:
        kind = self.value.get_type()
        assert isinstance(kind, TensorType)
        return [cast(TensorType, kind)]

    @property
    def key(self) -> str | None:
        """The WeightStore key, or None for an inline value."""
        return self.value.resource_handle.data if isinstance(self.value, DenseResourceAttr) else None

    def inline_array(self) -> Array:
        """The value of a constant that stands in the IR itself, with its own shape and dtype, read-only."""
        kind = self.infer_types()[0]
        assert isinstance(self.value, DenseIntOrFPElementsAttr)
        dtype = numpy_dtype(kind.get_element_type())
        flat = np.frombuffer(self.value.data.data, np.uint8 if dtype == np.bool_ else dtype)
        flat = (flat != 0) if dtype == np.bool_ else flat  # a parsed boolean is a byte of ones
        shape = kind.get_shape()
        is_splat = flat.size == 1  # the parser keeps `dense<0> : tensor<3xi8>` as a single element
        return np.broadcast_to(flat.reshape(()), shape) if is_splat else flat.reshape(shape)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=False)
        printer.print_string(" ")
        if (hexadecimal := self._hexadecimal()) is not None:
            printer.print_string(f'dense<"{hexadecimal}"> : ')
            printer.print_attribute(self.value.get_type())
        else:
            printer.print_attribute(self.value)

    def _hexadecimal(self) -> str | None:
        """The bytes of an inline value that xDSL prints, or reads back, as another.

        Infinities and NaNs it reads as integers, zeros of both signs it prints as zeros of one.
        """
        if not isinstance(self.value, DenseIntOrFPElementsAttr) or not isinstance(
            self.value.get_element_type(), AnyFloat
        ):
            return None
        values = list(cast(Iterable[float], self.value.iter_values()))
        signs_of_zeros = {math.copysign(1, item) for item in values if item == 0}
        if all(math.isfinite(item) for item in values) and len(signs_of_zeros) < 2:
            return None
        return "0x" + self.value.data.data.hex().upper()

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = _parse_resource(parser) or parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            parser.raise_error("expected dense<...> or dense_resource<...>")
        op = cls(cast(DenseIntOrFPElementsAttr | DenseResourceAttr, value))
        op.attributes |= attributes
        return op


def _parse_resource(parser: Parser) -> DenseResourceAttr | None:
    """`dense_resource<key> : type` with the key as written: xDSL's parser makes it unique in the process, but it names
    an array of the WeightStore."""
    if parser.parse_optional_keyword("dense_resource") is None:
        return None
    parser.parse_punctuation("<")
    key = parser.parse_identifier()
    parser.parse_punctuation(">")
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    if not isinstance(kind, TensorType):
        parser.raise_error("expected a tensor type")
    return DenseResourceAttr.from_params(key, cast(TensorType, kind))


@irdl_op_definition
class CopyOp(ElementOp):
    """The operand in a buffer of its own: for an output that is also an input, a constant or another output."""

    name = "graph.copy"
    x = operand_def(TensorType)
    MOVES: ClassVar[bool] = True

    def infer_types(self) -> Sequence[TensorType]:
        return [tensor_type(self.x)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[0](index)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a fused group with its results."""

    name = "graph.yield"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


def print_group(printer: Printer, op: Operation, attributes: Mapping[str, Attribute]) -> None:
    """` (%a = %x : type, ...) -> (type, ...) attributes {..} {..}`: the arguments of the only block of `op` and the
    operands that they are, the types of the results, attributes where there are some, and the region."""

    def binding(both: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(both[0])
        printer.print_string(" = ")
        printer.print_ssa_value(both[1])
        printer.print_string(" : ")
        printer.print_attribute(both[1].type)

    printer.print_string(" (")
    printer.print_list(list(zip(op.regions[0].block.args, op.operands, strict=True)), binding)
    printer.print_string(") -> (")
    printer.print_list([value.type for value in op.results], printer.print_attribute)
    printer.print_string(") ")
    if attributes:
        printer.print_op_attributes(attributes, print_keyword=True)
        printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False)


def parse_group(parser: Parser) -> tuple[Sequence[SSAValue], Sequence[Attribute], dict[str, Attribute], Region]:
    """The parts that `print_group` prints: the operands, the types of the results, the attributes, the region."""
    arguments: list[Parser.Argument] = []
    operands: list[UnresolvedOperand] = []
    types: list[Attribute] = []

    def binding() -> None:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        types.append(parser.parse_type())
        arguments.append(argument.resolve(types[-1]))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
    given = parser.resolve_operands(operands, types, parser.pos)
    parser.parse_punctuation("->")
    results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return given, results, {} if attributes is None else dict(attributes.data), parser.parse_region(arguments)


@irdl_op_definition
class FusedOp(IRDLOperation):
    """A group of operations that becomes one kernel: `graph.fused (%p = %x : t, ...) -> t { ... graph.yield }`.

    The region sees only its arguments. Operations keep their order; at most one of them is an AnchorOp.
    """

    name = "graph.fused"
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(Pure())

    def __init__(self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region) -> None:
        super().__init__(operands=[inputs], result_types=[result_types], regions=[body])

    @property
    def block(self) -> Block:
        """The group's block."""
        return self.body.block

    @property
    def yield_op(self) -> YieldOp:
        """The terminator."""
        op = self.body.block.last_op
        assert isinstance(op, YieldOp)
        return op

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the region must end in graph.yield")
        if [arg.type for arg in self.block.args] != [value.type for value in self.inputs]:
            raise VerifyException("the region's arguments must have the types of the inputs")
        if [value.type for value in self.yield_op.values] != [value.type for value in self.outputs]:
            raise VerifyException("graph.yield must give the types of the results")

    def print(self, printer: Printer) -> None:
        print_group(printer, self, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> FusedOp:
        operands, results, attributes, region = parse_group(parser)
        op = cls(operands, results, region)
        op.attributes |= attributes
        return op
