"""Schedules: how kernels are computed on vector registers, one attribute with named fields for each kind of loop nest.

`choose-schedule` writes a schedule on an anchor, or, for a kernel without one, on its function; the kernel strategies
(`passes/kernel/strategies`) obey it. A kernel without a schedule is computed by scalar loops. A package from outside
adds a kind as a frozen dataclass and its attribute, `class DotScheduleAttr(ScheduleAttr[DotSchedule])`
with a name.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, fields
from types import new_class
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast, get_args

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Data, Operation, OpResult, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.attributes import parse_field
from aotc.dialects.graph.interfaces import AnchorOp, LoopNestOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.mathematics.winograd_transforms import OUTPUT_TILES

Order: TypeAlias = Literal["rows", "columns"]


@dataclass(frozen=True)
class Schedule:
    """The decisions for one kernel; each is a field, and no field implies another."""

    lanes: int
    """Elements of a vector register; 1 where none is used."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, int) and value < 1 and not isinstance(value, bool):
                raise VerifyException(f"{item.name} must be positive, found {value}")


@dataclass(frozen=True)
class MatmulSchedule(Schedule):
    """Products on register tiles of MR x NR vectors (Goto and van de Geijn, doi:10.1145/1356052.1356053).

    Of convolutions, rows are neighbouring positions along the last axis and columns output channels.
    """

    mr: int
    """Rows of a register tile, each broadcast from one element of the left operand."""
    nr: int
    """Vector registers of a row of the tile: NR * lanes columns, the width of a panel of the right operand."""
    unroll: int = 1
    """Steps of the reduction in one iteration of its loop."""
    order: Order = "columns"
    """Which loop over tiles is outermost: over columns (a panel of the weight stays in cache) or over rows."""
    prefetch: bool = False
    """Whether the next panel of the weight is prefetched while the current one is used."""
    kc: int | None = None
    """Steps of the reduction before partial sums go to a scratch buffer; absent: all, and sums stay in registers.

    A panel of the right operand is then KC deep and stays in L2 from one row of tiles to the next: only with the order
    of columns. Of a convolution, KC counts whole blocks of channels with all their taps, at least one.
    """
    mc: int | None = None
    """Rows of a convolution's result, along its first spatial axis, before the next panel of the weight: what they
    read of the operand stays in L2 for all panels. Only with the order of columns; absent: all rows."""
    ahead: bool = False
    """Whether the weight is prefetched some steps before it is used: of products whose rows are one tile."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ("rows", "columns"):
            raise VerifyException(f"the order is rows or columns, found {self.order}")
        if self.kc is not None and self.order != "columns":
            raise VerifyException("kc is for the order of columns, in which rows of tiles share a panel")
        if self.mc is not None and (self.order != "columns" or self.kc is not None):
            raise VerifyException("mc is for the order of columns without kc, in which panels follow each other")


@dataclass(frozen=True)
class PairedSchedule(Schedule):
    """Convolutions of 8-bit integers on register tiles of MR positions along the last axis x a vector of outputs, whose
    steps are in pairs (`paired_dot_conv`)."""

    mr: int
    """Positions of a register tile."""
    order: Order = "columns"
    """Which loop over tiles is outermost, see `MatmulSchedule`."""
    unsigned: bool = False
    """Whether the operand should have no sign, so that there may be plain pairs."""


@dataclass(frozen=True)
class FewBitsSchedule(Schedule):
    """Products with a matrix of integers of few bits, packed in words, on register tiles of MR x NR vectors."""

    mr: int
    """Rows of a register tile."""
    nr: int
    """Vector registers of a row of the tile: NR * lanes columns, the width of a panel of words."""
    unroll: int = 1
    """Words in one iteration of the loop over them, or steps in one over a panel that is unpacked."""
    kc: int | None = None
    """Steps of the reduction that are unpacked into a scratch buffer, before all rows are multiplied with them; absent:
    words are unpacked in registers, again for each tile."""


class MatmulScheduledOp(LoopNestOp, ABC):
    """An operation that may have a `MatmulSchedule`; one with a KC takes a result `partials` for partial sums."""

    def verify_(self) -> None:
        super().verify_()
        schedule = schedule_of(self)
        if isinstance(schedule, MatmulSchedule) and schedule.kc is not None and getattr(self, "partials", None) is None:
            raise VerifyException(f"kc = {schedule.kc} needs a result of {self.name} for partial sums")


@dataclass(frozen=True)
class InnerProductSchedule(Schedule):
    """Inner products along the lanes, reduced across them at the end: for few output channels."""

    positions: int
    """Neighbouring results computed at once; as many as there are lanes are reduced by a transpose."""


@dataclass(frozen=True)
class PositionsSchedule(Schedule):
    """Convolutions on register tiles of MR output channels x NR vectors of neighbouring positions along the last axis:
    for few output channels. Pools of plain tensors have tiles of NR such vectors."""

    mr: int
    """Output channels of a register tile, whose weights are each broadcast along the lanes."""
    nr: int
    """Vector registers of positions."""
    unroll: int = 1
    """Taps along the last axis in one iteration of the loop over them."""


@dataclass(frozen=True)
class WindowSchedule(Schedule):
    """Sliding windows over the NCHWc layout: one vector register for each position."""

    positions: int
    """Neighbouring positions of a register tile."""


@dataclass(frozen=True)
class RowSchedule(Schedule):
    """Reductions and normalisations of rows."""

    registers: int
    """Vector registers of a step along the axis of the lanes."""
    steps: int = 1
    """Steps along the innermost other reduced axis in one iteration of its loop."""
    rows: int = 1
    """Rows in one register tile, where lanes lie along the rows."""
    stages: int = 1
    """Groups of such rows that are software-pipelined, each one stage behind the group before."""


@dataclass(frozen=True)
class ResampleSchedule(Schedule):
    """Weighted sums along one axis."""

    rows: int
    """Results along the axis that share the elements that are read."""
    registers: int
    """Vector registers of a step along the axis of the lanes."""


@dataclass(frozen=True)
class ElementwiseSchedule(Schedule):
    """Elementwise arithmetic and data movement."""

    registers: int
    """Vector registers of results computed at a time, which hides the latency of a chain of operations."""


@dataclass(frozen=True)
class SumsSchedule(Schedule):
    """Sums of products in the registers of a core without vectors: `lanes` is 1; or 4, where four sums become a vector
    of as many lanes."""

    positions: int
    """Neighbouring positions, or rows, that share each weight that is loaded."""
    columns: int
    """Outputs that share each element that is loaded; of a depthwise convolution, channels side by side."""
    word: int = 1
    """Elements of one load: one; four bytes, of which two are multiplied by one instruction; or as many as a vector
    holds, widened (8) or not (16)."""
    unroll: int = 1
    """Loads of each operand in one iteration of the innermost loop."""
    specialized: bool = False
    """Whether positions at a border, where the window is cut, have code of their own."""
    patch: bool = False
    """Whether what a position of a convolution sees is copied to a buffer, in the order of the weights."""
    rolled: bool = False
    """Whether a loop over the sums of a tile, put on the stack, computes the results: code for one, not for each."""


@dataclass(frozen=True)
class RecurrenceSchedule(Schedule):
    """Recurrent layers: in each step the products of a state on register tiles of MR x NR vectors, then the gates."""

    mr: int
    """Rows of the batch that go through all steps together, and share each vector of the weight."""
    nr: int
    """Vector registers of a row of the tile: NR * lanes columns, the width of a panel of the weight."""
    unroll: int = 1
    """Steps of the reduction in one iteration of its loop."""
    units: int = 1
    """Vector registers of hidden units whose gates are computed at a time."""
    turned: bool = False
    """Whether each step also reads the rows within a panel the other way round than the step before."""
    ahead: int | None = None
    """Steps whose inputs are multiplied together, beside the products with the state of steps before them; None: the
    products of all inputs are x."""
    across: int | None = None
    """Vector registers of a row of the tile of such products: ACROSS * lanes columns, the width of a panel of their
    weight."""
    beside: int | None = None
    """Panels of the weight for the state that are read while one such tile is summed up."""
    leading: int | None = None
    """Steps whose states are multiplied for the following layer, beside the last products with the state."""
    following: int | None = None
    """Panels of the weight for the state that are read while a tile of those is summed up, of the following layer's
    ACROSS."""


@dataclass(frozen=True)
class ScatterSchedule(Schedule):
    """Updates written in place into a copy of the operand, in time that does not depend on its size."""


@dataclass(frozen=True)
class TreeSchedule(Schedule):
    """Walks down several trees at once: each waits for memory, and none for the others."""

    rows: int
    """Rows of features that walk down a group of trees before the next group."""
    trees: int
    """Trees that one row of features walks down together."""
    steps: int
    """Steps before it is asked whether all are at a leaf."""
    packed: bool = False
    """Whether `assign-layouts` packs the tables first."""
    masks: bool = False
    """Whether they are then masks of leaves, of trees that lie in the lanes of registers: every node is asked."""
    branches: bool = False
    """Whether `branch-trees` makes code of the tables."""


S = TypeVar("S", bound=Schedule)


class ScheduleAttr(Data[S], Generic[S]):
    """A schedule in IR: `#graph.matmul_schedule<lanes = 16, mr = 14, nr = 2, unroll = 2, order = columns, prefetch>`.

    Fields are printed in their order, what has its default is left out unless it is a number; a true flag is its name.
    """

    KEY: ClassVar[str] = "schedule"
    """The attribute's name on operations."""
    KIND: ClassVar[type[Schedule]]
    """The kind of schedule that the attribute holds: the type argument of the class."""
    _OF_KIND: ClassVar[dict[type[Schedule], type[ScheduleAttr[Any]]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in vars(cls).get("__orig_bases__", ()):
            (cls.KIND,) = get_args(base)  # pyright: ignore[reportConstantRedefinition]
        ScheduleAttr._OF_KIND[cls.KIND] = cls

    @staticmethod
    def of(schedule: Schedule) -> ScheduleAttr[Any]:
        """The attribute for `schedule`."""
        return ScheduleAttr._OF_KIND[type(schedule)](schedule)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> S:
        given: dict[str, Any] = {}
        with parser.in_angle_brackets():
            position = parser.pos
            parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: given.update([parse_field(parser)]))
            known = {item.name for item in fields(cls.KIND)}
            needed = {item.name for item in fields(cls.KIND) if item.default is MISSING}
            if unknown := given.keys() - known:
                listed = ", ".join(item.name for item in fields(cls.KIND))
                parser.raise_error(f"{cls.name} has no field {min(unknown)}; its fields are {listed}", position)
            if missing := needed - given.keys():
                parser.raise_error(f"the field {min(missing)} of {cls.name} is missing", position)
            for item in fields(cls.KIND):
                value = given.get(item.name, item.default)
                number = isinstance(value, int) and not isinstance(value, bool)
                if number is not (value is not None and "int" in str(item.type)):
                    parser.raise_error(f"{item.name} of {cls.name} is of type {item.type}", position)
            try:
                return cls.KIND(**given)  # pyright: ignore[reportReturnType]
            except VerifyException as error:
                parser.raise_error(str(error), position)

    def print_parameter(self, printer: Printer) -> None:
        printed = [text for item in fields(self.data) if (text := _field_text(item, getattr(self.data, item.name)))]
        printer.print_string(f"<{', '.join(printed)}>")


def _field_text(item: Field[Any], value: object) -> str:
    if isinstance(value, bool):
        return item.name if value else ""
    return "" if value is None else f"{item.name} = {value}"


def _attribute(kind: type[Schedule]) -> type[ScheduleAttr[Any]]:
    """`graph.matmul_schedule` for `MatmulSchedule`."""
    name = "graph." + re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    base = cast(Any, ScheduleAttr)[kind]
    return irdl_attr_definition(
        new_class(f"{kind.__name__}Attr", (base,), exec_body=lambda body: body.update(name=name))
    )


SCHEDULE_ATTRIBUTES = tuple(map(_attribute, Schedule.__subclasses__()))
"""Those of the dialect."""


def schedule_of(op: Operation, key: str = ScheduleAttr.KEY) -> Schedule | None:
    """The schedule of an operation, if it has one; with the key `SCHEDULE` of the contract, that of a kernel without an
    anchor."""
    attribute = op.attributes.get(key)
    return attribute.data if isinstance(attribute, ScheduleAttr) else None


# Algorithms, which `choose-algorithms` writes (`AnchorOp.ALGORITHM`)


class AlgorithmAttr(ParametrizedAttribute, ABC):
    """An algorithm with numbers that have names."""

    def print_parameters(self, printer: Printer) -> None:
        numbers = zip(self.get_irdl_definition().parameters, self.parameters, strict=True)
        printer.print_string(
            f"<{', '.join(f'{name} = {cast(IntAttr, number).data}' for (name, _), number in numbers)}>"
        )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        numbers: list[Attribute] = []
        with parser.in_angle_brackets():
            for name, _ in cls.get_irdl_definition().parameters:
                if numbers:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                numbers.append(IntAttr(parser.parse_integer()))
        return numbers


@irdl_attr_definition
class StrassenAttr(AlgorithmAttr):
    """`#graph.strassen<rows = 128>`: the algorithm of a matrix product; see `strassen_matmul`."""

    name = "graph.strassen"
    rows: IntAttr
    """Rows of a block."""

    def verify(self) -> None:
        if self.rows.data < 2 or self.rows.data % 2:
            raise VerifyException(f"the rows of a block are even and at least 2, found {self.rows.data}")


@irdl_attr_definition
class WinogradAttr(AlgorithmAttr):
    """`#graph.winograd<output_tile = 4, tile_rows = 2>`: the algorithm of a convolution; see `winograd_conv`."""

    name = "graph.winograd"
    output_tile: IntAttr
    tile_rows: IntAttr

    def verify(self) -> None:
        if self.output_tile.data not in OUTPUT_TILES or self.tile_rows.data < 1:
            raise VerifyException("the output tile is 2 or 4, and there is at least one row of tiles in a block")


ALGORITHM_ATTRIBUTES = (StrassenAttr, WinogradAttr)
"""Those of the dialect."""


# The keys of tuning tables


def signature(op: AnchorOp, algorithm: Attribute | None = None) -> str:
    """All that decides how fast `op` is: everything but the names of its operands and the values of constants.

    `algorithm` is the one of `op` where its attribute is not set.
    """
    attributes = dict(sorted(op.properties.items()))
    if (algorithm := op.attributes.get(AnchorOp.ALGORITHM, algorithm)) is not None:
        attributes[AnchorOp.ALGORITHM] = algorithm
    operands = (
        ("constant " if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) else "") + str(value.type)
        for value in op.operands
    )
    listed = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    results = ", ".join(str(result.type) for result in op.results)
    return f"{op.name} {{{listed}}} : ({', '.join(operands)}) -> ({results})"
