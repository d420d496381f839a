"""How kernels are computed fast: one strategy for an operator class, or several, of which the cheapest is chosen.

An operation says what it computes. A `KernelStrategy` says how: which schedules and algorithms there are on a machine
and what they cost, in which layout tensors lie, how a result is computed in spatial tiles, and the loop nest on
register tiles. The passes ask the strategy and write what it answers as attributes; later passes obey the attributes.

Strategies are found through the entry point group `aotc.kernels`: each entry is a mapping from operator classes to the
strategies for them and their subclasses. Ours (`passes/kernel/strategies`) register like anybody's. (MLIR attaches such
knowledge as external interface models, IREE as lowering configurations.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Generic, TypeGuard, TypeVar, cast

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph import schedules
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, LoopNestOp, ParallelOp
from aotc.dialects.graph.packed.products.packed_matmul import ProductOp
from aotc.dialects.graph.quantized.nibbles import is_packed
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr, schedule_of
from aotc.errors import CompileError, FileError
from aotc.machines.machine import Core, Machine
from aotc.machines.tuning_table import DIRECT, TuningTable
from aotc.model import extensions
from aotc.model.locations import node_names
from aotc.model.memo import Memo
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.candidates import near
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts
from aotc.passes.kernel.nest import Accesses, LoopNest, Nest, traced
from aotc.passes.kernel.signature import signature
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation

Op = TypeVar("Op", bound=GraphOp)


class Prologue(IntEnum):
    """The work that may be fused into a vectorised anchor where it reads an operand; a greater value allows less."""

    COMPUTED = 0
    """Any computation: the nest reads each element about once."""
    MOVED = 1
    """Data movement only: the nest reads each element for many tiles, and arithmetic would be repeated each time."""
    STORED = 2
    """Nothing: the kernel streams the operand, which must lie in memory in the order of the reads."""


class KernelStrategy(Generic[Op]):
    """One way to compute the kernels of an operator class; every method but `schedule` and `nest` has a default.

    The `core` that methods are given is a `Machine`, or where the strategy is not ON_VECTORS a plain `Core`.

    Stateless: one instance serves all operations.
    """

    SCHEDULES: ClassVar[tuple[type[Schedule], ...]] = ()
    """The kinds of schedules that `nest` follows. The kind tells which strategy an operation's schedule belongs to."""
    ALGORITHMS: ClassVar[tuple[type[Attribute], ...]] = ()
    """The algorithms that `schedule` and `lay_out` know, besides the operation's own."""
    ON_VECTORS: ClassVar[bool] = True
    """Whether it is for machines with vectors; else it is asked on cores without."""
    SUMS_INTEGERS: ClassVar[bool] = False
    """Whether it knows operations that sum up narrow integers (`AccumulatingOp`): no other strategy is asked."""

    KEEPS_PACKED: ClassVar[bool] = False
    """Whether constants of few bits stay so in memory: what it proposes is chosen before anything that widens them, and
    no other strategy is asked where the model packs several elements in a byte."""

    TILES: ClassVar[bool] = True
    """Whether `nest` works on tiles, so that only what can be computed on tiles is fused into it."""
    BROADCASTS: ClassVar[bool] = False
    """Whether the nest reads the elements of the first operand, an activation, one by one, each for all lanes. Where
    they are f16 or bf16, `widen-operands` then makes them f32 in memory: a conversion for each such read would take as
    long as the arithmetic."""
    NEST: ClassVar[type[Nest[Any, Any]] | None] = None
    """The loops that `nest` writes; None: it has none, or writes some itself."""
    PROLOGUES: ClassVar[tuple[Prologue, ...]] = (Prologue.COMPUTED,)
    """The work that may be fused where `nest` reads the first operands; the last of these is for all others, too."""

    # What to choose

    def schedule(self, op: Op, core: Any, /) -> Schedule | None:
        """The best schedule on `core`; None where scalar loops are as good, or this strategy does not apply."""
        return None

    def cost(self, op: Op, schedule: Any, core: Any, /) -> float:
        """Estimated cycles of one core with `schedule`; by default one for each operation on a register."""
        return op.operations() / schedule.lanes

    def candidates(self, op: Op, schedule: Any, machine: Machine) -> Iterable[Schedule]:
        """Schedules near `schedule`, for a search that measures them."""
        return near(schedule, machine)

    def algorithm(self, op: Op, machine: Machine) -> Attribute | None:
        """A faster algorithm that rounds differently (by at most 1e-4 of the greatest result), if there is one."""
        return None

    def algorithms(self, op: Op, machine: Machine) -> Sequence[Attribute]:
        """All algorithms that `algorithm` chooses from, for a search that measures them."""
        return ()

    # Layout

    def lay_out(self, op: Op, layouts: Layouts) -> SSAValue | Blocked | None:
        """The result as it is computed best: in the NCHWc layout, on packed weights, with a scratch buffer.

        For an operation with several results it is the first result of the new operation, whose first results must
        correspond to the old ones. None: the operation works on plain tensors (row-major, not blocked). By default the
        same operation on a first operand in blocks as `on_blocks` says; else that of `lower`, where it has a schedule.
        """
        x = layouts.computed(op.operands[0]) if op.operands else None
        if x is not None and (changed := self.on_blocks(op)) is not None:
            return layouts.copied_on_blocks(op, x, *op.operands[1:], **changed)
        schedule = schedule_of(op)
        return self.lower(op, layouts, schedule) if isinstance(schedule, self.SCHEDULES) else None

    def on_blocks(self, op: Op) -> Mapping[str, object] | None:
        """The properties that change where the first operand is in the NCHWc layout and channels stay in their lanes;
        None where the operation cannot be computed so."""
        return None

    def lower(self, op: Op, layouts: Layouts, schedule: Any) -> SSAValue | Blocked | None:
        """As `lay_out`, for an operation with a schedule of one of the kinds in `SCHEDULES`."""
        return None

    def lay_out_reshaped(self, op: Op, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """The result reshaped to `shape` [N, C, spatial..], in NCHWc; None where that is no better.

        For operations between two reshapes, of which the first splits the channels and the second merges them again.
        """
        return None

    def block_starts(self, op: Op, channels_of: ChannelsOf) -> Iterable[int] | None:
        """The channels of the operands that should begin a block, so that `lay_out` leaves channels in their lanes.

        None: any; the first result's blocks then begin at the same channels.
        """
        return ()

    # Fusion

    def prologue(self, op: Op, operand: int) -> Prologue:
        """The work that may be fused where `nest` reads an operand. (For scalar loops the operation's cost decides.)"""
        return self.PROLOGUES[min(operand, len(self.PROLOGUES) - 1)]

    def accesses(self, op: Op, schedule: Any) -> Accesses | None:
        """How `nest` reads its operands and writes its results; None where it raises `NotVectorizable`.

        By default this is found by writing the nest; of one that is not on tiles there are none, so that anything is
        fused into it. A strategy may return it directly. It must depend on nothing but the operation's types,
        properties and attributes.
        """
        if not isinstance(op, AnchorOp):
            return None
        if self.TILES:
            return traced(op, schedule, self.nest)
        return Accesses(tuple(() for _ in (*op.operands, *op.scratch())), tuple(() for _ in op.results))

    def spatial_tiling(self, op: Op, schedule: Any) -> SpatialTiling | None:
        """How the first result may be computed in spatial tiles; None: only as a whole."""
        return None

    def tiled_implementation(self, op: Op, box: Box) -> TiledImplementation | None:
        """The operation that computes a box of the first result at a cost proportional to the box; None: there is none.

        As `getTiledImplementation` of MLIR's TilingInterface.
        """
        return None

    # Threads

    def parts(self, op: Op, machine: Machine, threads: int) -> Mapping[str, int]:
        """Properties with which the operation has scratch buffers for parts that so many threads compute at the same
        time; none where that is no faster than to share every loop."""
        return {}

    # Code

    def row_reads(self, op: Op, axis: int) -> Mapping[int, AxisReads] | None:
        """Where the nests can compute one row of the result along `axis` (`LoopNest.only`): for each operand of which
        that reads some rows which ones; others are read as a whole. None: they cannot."""
        return op.reads_along(axis) if isinstance(op, ParallelOp) and schedule_of(op) is None else None

    def rows_at_once(self, op: Op, axis: int) -> int:
        """How many neighbouring rows along `axis` `nest` computes at once where it computes some of the result."""
        return 1

    def nest(self, nest: Nest[Op, Any]) -> None:
        """As `LoopNestOp.loops`, vectorised: indices may be `TileIndex`es, values read and written may be tiles.

        The schedule is of one of the kinds in `SCHEDULES`. Raises `NotVectorizable` where the operation cannot be
        vectorised; the kernel then falls back to scalar loops.
        """
        if self.NEST is None:
            raise NotVectorizable(f"no kernel strategy for {nest.op.name} follows its schedule")
        self.NEST.of(nest).emit()

    def scalar_nest(self, nest: LoopNest[Op]) -> None:
        """The scalar loops; by default those that define the operation (`LoopNestOp.loops`)."""
        assert isinstance(nest.op, LoopNestOp)
        if nest.only is None:
            nest.op.loops(nest.b, nest.reads, nest.writes)
            return
        op = nest.op
        assert isinstance(op, ParallelOp), "rows are computed by strategies, or element by element"
        nest.over(range(len(nest.shape)), lambda index: nest.write(index, op.compute(nest.b, index, nest.reads)))


Strategies = Mapping[type[GraphOp], Sequence[KernelStrategy[Any]]]
"""The protocol of an entry point of the group `aotc.kernels`."""


_DEFAULT: KernelStrategy[GraphOp] = KernelStrategy()


OURS = EntryPoint("aotc", "aotc.passes.kernel.strategies:STRATEGIES", extensions.KERNELS)


@cache
def registered() -> tuple[Strategies, ...]:
    """All mappings: ours, also in a checkout that is not installed, then those of other packages."""
    ours: Strategies = OURS.load()
    found = [loaded for _, loaded in extensions.load_all(extensions.KERNELS, _check)]
    return (ours, *(mapping for mapping in found if mapping is not ours))


def _check(point: EntryPoint, loaded: object) -> str | None:
    if not isinstance(loaded, Mapping):
        return f"a {type(loaded).__name__} is not a mapping of operator classes to kernel strategies"
    for op_class, known in cast(Mapping[object, object], loaded).items():
        if not (isinstance(op_class, type) and issubclass(op_class, GraphOp)):
            return f"{op_class!r} is not a class of graph operations"
        if not isinstance(known, Sequence) or not all(isinstance(each, KernelStrategy) for each in known):
            return f"the strategies for {op_class.__name__} are not a sequence of KernelStrategy objects"
    return None


@cache
def strategies_of(op_class: type[GraphOp]) -> tuple[KernelStrategy[Any], ...]:
    """The strategies for an operator class: its own, then those of its base classes."""
    return tuple(
        strategy
        for base in op_class.__mro__
        for mapping in registered()
        for strategy in mapping.get(base, ())  # pyright: ignore[reportArgumentType, reportCallIssue]
    )


def _able(op: GraphOp) -> tuple[KernelStrategy[Any], ...]:
    """The strategies for an operation with these types of operands."""
    known = strategies_of(type(op))
    if isinstance(op, AccumulatingOp) and op.sums_integers:
        return tuple(each for each in known if each.SUMS_INTEGERS)
    if isinstance(op, ProductOp) and is_packed(op.rhs):
        return tuple(each for each in known if each.KEEPS_PACKED)
    return known


def _knowing(op: GraphOp) -> tuple[KernelStrategy[Any], ...]:
    """The strategies that implement the algorithm that `op` carries, or all of them where it carries none."""
    known = _able(op)
    if (algorithm := op.attributes.get(AnchorOp.ALGORITHM)) is not None:
        known = tuple(each for each in known if isinstance(algorithm, each.ALGORITHMS))
    return known or (_DEFAULT,)


def strategy_of(op: GraphOp) -> KernelStrategy[Any]:
    """The first strategy that implements the algorithm and the kind of schedule that `op` carries."""
    known, schedule = _knowing(op), schedule_of(op)
    if schedule is None:
        return known[0]
    return next((each for each in known if isinstance(schedule, each.SCHEDULES)), _DEFAULT)


@dataclass(frozen=True)
class Choice:
    """A proposal of a strategy, and its estimated cycles."""

    schedule: Schedule
    cycles: float
    keeps_packed: bool = False


def choose_schedule(op: GraphOp, core: Core) -> Schedule | None:
    """The schedule of least estimated cycles that a strategy has for `op`; None where scalar loops are as good."""
    choice = _choose(op, core)
    return None if choice is None else choice.schedule


def least_cycles(op: GraphOp, machine: Machine) -> float:
    """The estimated cycles of `op` by the fastest algorithm and schedule; infinite where there is no schedule."""
    algorithm = None if AnchorOp.ALGORITHM in op.attributes else choose_algorithm(op, machine)
    if algorithm is not None:
        op.attributes[AnchorOp.ALGORITHM] = algorithm
    choice = _choose(op, machine)
    if algorithm is not None:
        del op.attributes[AnchorOp.ALGORITHM]
    return float("inf") if choice is None else choice.cycles


def _choose(op: GraphOp, core: Core) -> Choice | None:
    choices: list[Choice] = []
    for strategy in _knowing(op):
        if strategy.ON_VECTORS is not isinstance(core, Machine) or (schedule := strategy.schedule(op, core)) is None:
            continue
        if not isinstance(schedule, strategy.SCHEDULES):
            what = f"the strategy {type(strategy).__name__} of {type(strategy).__module__} proposes a schedule"
            why = f"{type(schedule).__name__} is not among its SCHEDULES"
            node = ", ".join(node_names(op.location))
            raise CompileError("broken-package", what, why, "list it there", node, op.name)
        choices.append(Choice(schedule, strategy.cost(op, schedule, core), strategy.KEEPS_PACKED))
    staying_packed = [choice for choice in choices if choice.keeps_packed]
    return min(staying_packed or choices, key=lambda choice: choice.cycles, default=None)


def keeps_packed(op: GraphOp, core: Core) -> bool:
    """Whether `op` reads constants of few bits that stay packed on `core`, whatever was measured of its types."""
    if not isinstance(core, Machine):
        return False
    return any(each.KEEPS_PACKED and each.schedule(op, core) is not None for each in _able(op))


def algorithms_for(op: GraphOp, machine: Machine) -> list[Attribute]:
    """The algorithms that the strategies of `op` choose from, for a search that measures."""
    return [found for each in _able(op) or (_DEFAULT,) for found in each.algorithms(op, machine)]


def choose_algorithm(op: GraphOp, machine: Machine) -> Attribute | None:
    """The cheapest algorithm that a strategy of `op` proposes; None: compute it by its definition.

    Where several are proposed, the estimated cycles of their schedules decide.
    """
    proposed = [(each, found) for each in _able(op) if (found := each.algorithm(op, machine))]
    if len(proposed) < 2:
        return proposed[0][1] if proposed else None

    def cycles(proposal: tuple[KernelStrategy[Any], Attribute]) -> float:
        strategy, algorithm = proposal
        op.attributes[AnchorOp.ALGORITHM] = algorithm
        schedule = strategy.schedule(op, machine)
        cost = float("inf") if schedule is None else strategy.cost(op, schedule, machine)
        del op.attributes[AnchorOp.ALGORITHM]
        return cost

    return min(proposed, key=cycles)[1]


def measured_algorithm(table: TuningTable, ctx: Context, op: AnchorOp) -> Attribute | str | None:
    """The algorithm for `op` in the table: DIRECT for its definition, None where the table has no entry."""
    text = table.algorithms.get(schedules.signature(op))
    return text if text is None or text == DIRECT else _attribute(ctx, text)


def measured_schedule(table: TuningTable, ctx: Context, op: AnchorOp) -> ScheduleAttr[Any] | None:
    """The schedule for `op` in the table; None where the table has no entry."""
    text = table.schedules.get(schedules.signature(op))
    if text is None:
        return None
    attribute = _attribute(ctx, text)
    if not isinstance(attribute, ScheduleAttr):
        raise FileError("invalid-file", f"{text} is not a schedule")
    return attribute


def _attribute(ctx: Context, text: str) -> Attribute:
    """An attribute of a tuning table."""
    try:
        return Parser(ctx, text).parse_attribute()
    except ParseError as error:
        raise FileError("invalid-file", f"{text} is not an attribute", "the table is of another version") from error


def is_vectorized(op: Operation) -> TypeGuard[AnchorOp]:
    """Whether `op` is an anchor with a schedule and a vectorised nest."""
    if not isinstance(op, AnchorOp) or schedule_of(op) is None:
        return False
    strategy = strategy_of(op)
    return strategy.NEST is not None or type(strategy).nest is not KernelStrategy.nest


def works_on_tiles(op: Operation) -> bool:
    """Whether `op` is an anchor with a schedule and a nest on tiles."""
    return is_vectorized(op) and strategy_of(op).TILES


_accesses = Memo[tuple[object, ...], Accesses | None]()


def accesses_of(op: AnchorOp) -> Accesses | None:
    """How the vectorised nest of `op` accesses memory, cached for equal operations; None where it has none."""
    if (schedule := schedule_of(op)) is None:
        return None
    strategy = strategy_of(op)
    return _accesses.of((strategy, signature(op)), lambda: strategy.accesses(op, schedule))
