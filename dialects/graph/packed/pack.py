"""Tensors into a layout and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from aotc.dialects.attributes import parse_field
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.layout import Layout, Mode


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """`#graph.layout<columns (d1 floordiv 16, d0, d1 mod 16)>`; behind the axes may be `parts = [24, 20]`, `groups = 2`
    and `tight`. An axis of several digits is in parentheses of its own."""

    name = "graph.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            position = parser.pos
            name = parser.parse_identifier()
            axes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_axis(parser))
            given = dict[str, Any]()
            while parser.parse_optional_punctuation(","):
                given.update([parse_field(parser)])
            try:
                return Layout(name, tuple(axes), **given)
            except (ShapeError, TypeError) as error:
                parser.raise_error(str(error), position)

    def print_parameter(self, printer: Printer) -> None:
        layout = self.data
        axes = (_text(*axis) if len(axis) == 1 else f"({', '.join(map(_text, axis))})" for axis in layout.axes)
        printer.print_string(f"<{layout.name} ({', '.join(axes)})")
        printer.print_string(f", parts = {list(layout.parts)}" if layout.parts else "")
        printer.print_string(f", groups = {layout.groups}" if layout.groups > 1 else "")
        printer.print_string(", tight>" if layout.tight else ">")


def _text(mode: Mode) -> str:
    stride = f" floordiv {mode.stride}" if mode.stride > 1 else ""
    return f"d{mode.dim}{stride}" + ("" if mode.extent is None else f" mod {mode.extent}")


def _parse_axis(parser: AttrParser) -> tuple[Mode, ...]:
    modes = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_mode(parser))
    return (_parse_mode(parser),) if modes is None else tuple(modes)


def _parse_mode(parser: AttrParser) -> Mode:
    position = parser.pos
    dim = parser.parse_identifier()
    if dim[:1] != "d" or not dim[1:].isdigit():
        parser.raise_error(f"a dimension is d0, d1, ..., found {dim}", position)
    stride = parser.parse_integer() if parser.parse_optional_keyword("floordiv") else 1
    extent = parser.parse_integer() if parser.parse_optional_keyword("mod") else None
    return Mode(int(dim[1:]), stride, extent)


@irdl_op_definition
class PackOp(ElementOp):
    """x in a layout; what is missing in blocks is zero."""

    name = "graph.pack"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)
    layout = prop_def(LayoutAttr)

    @property
    def label(self) -> str:
        return f"pack_{self.layout.data.name}"

    def infer_types(self) -> Sequence[TensorType]:
        if self.layout.data.parts:
            raise ShapeError("what puts channels into parts is regroup_channels")
        return [TensorType(element_type_of(self.x), self.layout.data.packed(shape_of(self.x)))]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [self.layout.data.pack(operands[0])]

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        layout = self.layout.data
        dim = next((dim for dim in range(layout.rank) if layout.axis_of(dim) == axis), None)
        return None if dim is None or layout.groups > 1 else {0: AxisReads(dim)}

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        source, inside = self.layout.data.source(b, index, shape_of(self.x))
        if not inside:
            return reads[0](source)
        zero = b.const(0, element_type_of(self.x))
        return b.when(reduce(and_, inside), lambda: [reads[0](source)], lambda: [zero])[0]


@irdl_op_definition
class UnpackOp(ElementOp):
    """The tensor of `shape` that x is in a layout; what fills up blocks is left out."""

    name = "graph.unpack"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    x = operand_def(TensorType)
    layout = prop_def(LayoutAttr)
    shape = prop_def(DenseArrayBase)

    @property
    def label(self) -> str:
        return f"unpack_{self.layout.data.name}"

    def infer_types(self) -> Sequence[TensorType]:
        layout, shape = self.layout.data, self.ints("shape")
        if layout.groups > 1:
            raise ShapeError("what each group sees is not taken apart again")
        if (packed := layout.packed(shape)) != list(shape_of(self.x)):
            raise ShapeError(f"{list(shape)} in this layout is {packed}, found {list(shape_of(self.x))}")
        return [TensorType(element_type_of(self.x), shape)]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [self.layout.data.unpack(operands[0], self.ints("shape"))]

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        layout = self.layout.data
        own = layout.axis_of(axis)
        return None if own is None else {0: AxisReads(own)}

    def view_offset(self) -> int | None:
        return 0 if self.layout.data.keeps_order(self.ints("shape")) else None

    def permuted_axes(self) -> Sequence[int] | None:
        return self.layout.data.permuted_axes(self.ints("shape"))

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return self.layout.data.reader(b, reads[0], self.ints("shape"))(index)


def pack(x: SSAValue | Operation, layout: Layout) -> PackOp:
    """x in a layout; raises ShapeError."""
    return PackOp.get(x, layout=LayoutAttr(layout))


def unpack(x: SSAValue | Operation, layout: Layout, shape: Sequence[int]) -> UnpackOp:
    """The tensor of `shape` of x, which has it in a layout; raises ShapeError."""
    return UnpackOp.get(x, layout=LayoutAttr(layout), shape=list(shape))
