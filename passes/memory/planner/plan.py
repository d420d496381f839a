"""Order, sharing and offsets together: the memory plan of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aotc.passes.memory.planner.placement import Buffer, Placement, Tenants, Trails, place, search
from aotc.passes.memory.planner.program import Program, Role
from aotc.passes.memory.planner.schedule import SCHEDULERS


@dataclass(frozen=True)
class Block:
    """Storages that use the same memory one after the other. `host` is the output whose memory it is, or None."""

    storages: tuple[int, ...]
    size: int
    first: int
    last: int
    host: int | None

    @property
    def buffer(self) -> Buffer:
        """The block as something to place."""
        return Buffer(f"block of {self.storages[0]}", self.size, self.first, self.last)


@dataclass(frozen=True)
class MemoryPlan:
    """`order` holds task numbers, `placement.offsets` are those of `blocks`; `hosted` blocks lie in outputs instead."""

    order: tuple[int, ...]
    blocks: tuple[Block, ...]
    placement: Placement
    hosted: tuple[Block, ...]
    trails: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """For the first storage of a block and the last one of another: how many bytes below it the first one may begin,
    where it is written while that is read for the last time."""
    pools: tuple[str, ...] = ()
    """The pool of each of `blocks`, in which it has its offset, so that `placement.peak` is that of all pools together;
    nothing where there is one arena."""
    arenas: Mapping[str, Placement] = field(default_factory=dict[str, Placement])
    """The placement in each pool, of the blocks that are there."""

    @property
    def peaks(self) -> dict[str, int]:
        """The bytes of each pool; of the one arena under the name ""."""
        return {name: each.peak for name, each in self.arenas.items()} or {"": self.placement.peak}

    @property
    def trails_of_blocks(self) -> Trails:
        """The same by numbers of blocks."""
        return trails_of(self.blocks, self.trails)


def trails_of(blocks: Sequence[Block], trails: Mapping[tuple[int, int], int]) -> Trails:
    """Which blocks trail which, of those that do by their storages."""
    firsts = {block.storages[0]: number for number, block in enumerate(blocks)}
    lasts = {block.storages[-1]: number for number, block in enumerate(blocks)}
    return {
        (firsts[result], lasts[operand]): distance
        for (result, operand), distance in trails.items()
        if result in firsts and operand in lasts and firsts[result] != lasts[operand]
    }


def plan_memory(
    program: Program, alignment: int = 16, schedule: str = "auto", in_place: bool = True, threads: int = 1
) -> MemoryPlan:
    """The plan with the smallest arena among those of the schedulers asked for (`auto`: all of them)."""
    if schedule != "auto" and schedule not in SCHEDULERS:
        raise ValueError(f"no schedule {schedule!r}; there are auto, {', '.join(SCHEDULERS)}")
    chosen = [run for name, run in SCHEDULERS.items() if schedule in ("auto", name)]
    best: MemoryPlan | None = None
    for order in dict.fromkeys(tuple(run(program)) for run in chosen):
        plan = _plan_order(program, order, alignment, in_place, threads)
        if best is None or plan.placement.peak < best.placement.peak:
            best = plan
    assert best is not None
    if threads > 1 or best.trails_of_blocks:  # several threads have buffers with the same middle
        return best
    return replace(best, placement=search([each.buffer for each in best.blocks], best.placement))


def _trails(program: Program, order: Sequence[int]) -> dict[tuple[int, int], int]:
    """Which storages may trail which: those of the arena that are born where the others die."""
    lifetimes, found = program.lifetimes(order), dict[tuple[int, int], int]()
    for position, number in enumerate(order):
        for result, operand, distance in program.tasks[number].trails:
            roles = {program.storages[storage].role for storage in (result, operand)}
            if roles == {Role.ARENA} and lifetimes[result][0] == position == lifetimes[operand][1]:
                found[result, operand] = distance
    return found


def _plan_order(program: Program, order: Sequence[int], alignment: int, in_place: bool, threads: int) -> MemoryPlan:
    blocks = share_in_place(program, order) if in_place else share_nothing(program, order)
    inside = tuple(block for block in blocks if block.host is None)
    hosted = tuple(block for block in blocks if block.host is not None)
    trails = _trails(program, order) if in_place and threads == 1 else {}
    plan = MemoryPlan(tuple(order), inside, _placed(inside, trails, alignment, threads), hosted, trails)
    return _use_outputs_as_scratch(program, plan, threads)


def share_nothing(program: Program, order: Sequence[int]) -> list[Block]:
    """A block for each storage of the arena that is used."""
    lifetimes = program.lifetimes(order).items()
    arena = [(s, lifetime) for s, lifetime in lifetimes if program.storages[s].role in (Role.ARENA, Role.STATE)]
    return [Block((s,), program.storages[s].size, first, last, None) for s, (first, last) in arena]


def share_in_place(program: Program, order: Sequence[int]) -> list[Block]:
    """Let results take over the memory of operands that die where they are born, outputs that of their whole chain."""
    lifetimes = program.lifetimes(order)
    chains: dict[int, list[int]] = {s: [s] for s in lifetimes if program.storages[s].role is not Role.FIXED}
    chain_of = dict.fromkeys(chains, -1) | {s: s for s in chains}
    for position, number in enumerate(order):
        for result, operand in program.tasks[number].in_place:
            is_free = program.storages[result].role in (Role.ARENA, Role.OUTPUT)
            born = is_free and lifetimes[result][0] == position and chain_of[result] == result
            if not born or program.storages[operand].role is not Role.ARENA or lifetimes[operand][1] != position:
                continue
            head = chain_of[operand]
            if chains[head][-1] != operand:
                continue  # another result has it already
            is_output = program.storages[result].role is Role.OUTPUT
            if is_output and program.stays(order, lifetimes[head][0], position):
                continue  # the caller's memory may be another one meanwhile
            chains[head].append(result)
            chain_of[result] = head
            del chains[result]
    blocks: list[Block] = []
    for chain in chains.values():
        last = chain[-1]
        host = last if program.storages[last].role is Role.OUTPUT else None
        members = tuple(chain if host is None else chain[:-1])
        if members:
            size = max(program.storages[s].size for s in members)
            blocks.append(Block(members, size, lifetimes[members[0]][0], lifetimes[members[-1]][1], host))
    return blocks


def _use_outputs_as_scratch(program: Program, plan: MemoryPlan, threads: int) -> MemoryPlan:
    """Move blocks that are dead before an output is first written into its memory, where that shrinks the arena."""
    occupied = {s: range(first, last + 1) for s, (first, last) in program.lifetimes(plan.order).items()}
    kinds = {block: {program.storages[s].kind for s in block.storages} for block in plan.blocks}
    moving = [block for block in plan.blocks if not program.stays(plan.order, block.first, block.last)]
    guests: dict[Block, Block] = {}
    by_size = sorted(moving, key=lambda block: (-block.size, block.first))
    for output, storage in enumerate(program.storages):
        if storage.role is not Role.OUTPUT or output not in occupied:
            continue
        start = min([occupied[output].start, *(block.first for block in plan.hosted if block.host == output)])
        tenants = Tenants()
        for block in by_size:
            fits = block.size <= storage.size and block.last < start and kinds[block] == {storage.kind}
            if fits and block not in guests and tenants.add(block.first, block.last):
                guests[block] = Block(block.storages, block.size, block.first, block.last, output)
    ranked = sorted(guests, key=lambda block: (-block.size, block.first))
    best = _without(plan, ranked, guests, threads)
    if best.placement.peak >= plan.placement.peak:
        return plan
    few, many = 0, len(ranked)  # as few of them as reach the same peak
    while many - few > 1:
        middle = (few + many) // 2
        trial = _without(plan, ranked[:middle], guests, threads)
        if trial.placement.peak <= best.placement.peak:
            best, many = trial, middle
        else:
            few = middle
    return best


def _without(plan: MemoryPlan, moved: Sequence[Block], guests: dict[Block, Block], threads: int) -> MemoryPlan:
    """The plan with the blocks `moved` in outputs."""
    gone = set(moved)
    blocks = tuple(block for block in plan.blocks if block not in gone)
    placement = _placed(blocks, plan.trails, plan.placement.alignment, threads)
    return MemoryPlan(plan.order, blocks, placement, (*plan.hosted, *(guests[block] for block in moved)), plan.trails)


def at_home(plan: MemoryPlan, moved: Sequence[Block]) -> MemoryPlan:
    """The plan with hosted blocks in the arena after all, as its last ones; of one thread."""
    blocks = (*plan.blocks, *(replace(block, host=None) for block in moved))
    hosted = tuple(block for block in plan.hosted if block not in moved)
    placement = _placed(blocks, plan.trails, plan.placement.alignment, 1)
    return replace(plan, blocks=blocks, hosted=hosted, placement=placement)


def _placed(blocks: Sequence[Block], trails: Mapping[tuple[int, int], int], alignment: int, threads: int) -> Placement:
    buffers = [block.buffer for block in blocks]
    return place(buffers, alignment, threads=threads, trails=trails_of(blocks, trails))
