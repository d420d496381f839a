"""Attributes that say by what algorithm an operation is computed, instead of by its definition (`AnchorOp.ALGORITHM`).

`choose-algorithms` writes them, `assign-layouts` replaces the operation by one that is defined by the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.graph.packed.winograd_transforms import OUTPUT_TILES


@irdl_attr_definition
class StrassenAttr(ParametrizedAttribute):
    """`#graph.strassen<rows = 128>`: the algorithm of a matrix product; see `strassen_matmul`."""

    name = "graph.strassen"
    rows: IntAttr
    """In a block."""

    def verify(self) -> None:
        if self.rows.data < 2 or self.rows.data % 2:
            raise VerifyException(f"the rows of a block are even and at least 2, found {self.rows.data}")

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<rows = {self.rows.data}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("rows")
            parser.parse_punctuation("=")
            return [IntAttr(parser.parse_integer())]


@irdl_attr_definition
class WinogradAttr(ParametrizedAttribute):
    """`#graph.winograd<output_tile = 4, tile_rows = 2>`: the algorithm of a convolution; see `winograd_conv`."""

    name = "graph.winograd"
    output_tile: IntAttr
    tile_rows: IntAttr

    def verify(self) -> None:
        if self.output_tile.data not in OUTPUT_TILES or self.tile_rows.data < 1:
            raise VerifyException("the output tile is 2 or 4, and there is at least one row of tiles in a block")

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<output_tile = {self.output_tile.data}, tile_rows = {self.tile_rows.data}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        numbers: list[Attribute] = []
        with parser.in_angle_brackets():
            for name in ("output_tile", "tile_rows"):
                if numbers:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                numbers.append(IntAttr(parser.parse_integer()))
        return numbers


ALGORITHM_ATTRIBUTES = (StrassenAttr, WinogradAttr)
"""Those of the dialect."""
