"""A proof that a memory plan is safe, of what the plan says alone: it knows nothing of who made it.

No two buffers of one memory have a common byte while both are in use, but where a task writes its result over what it
reads, element by element. Then every task is gone through in order, as memory would be: what a task writes is there,
and what it reads must still be there, byte for byte: written on one way at least, and on none overwritten since.
Branches are gone through apart, loops until nothing changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

from aotc.dialects.dtypes import numpy_dtype
from aotc.model.metadata import (
    AccessInfo,
    BufferArgument,
    BufferInfo,
    ModelInfo,
    PlanInfo,
    StateInfo,
    TaskInfo,
    TensorInfo,
)

_KINDS = ("call", "if", "loop", "load", "store")


@dataclass(frozen=True)
class Memory:
    """The memory of an output, or a pool; the arena where it is neither."""

    output: str = ""
    pool: str = ""

    def __str__(self) -> str:
        return self.output or (f"the pool {self.pool}" if self.pool else "the arena")


@dataclass(frozen=True)
class Span:
    """Bytes `start` to before `end` of a memory."""

    memory: Memory
    start: int
    end: int

    def within(self, other: Span) -> bool:
        """Whether the other one has all of its bytes."""
        return self.memory == other.memory and other.start <= self.start and self.end <= other.end

    def meets(self, other: Span) -> bool:
        """Whether both have a byte in common."""
        return self.memory == other.memory and self.start < other.end and other.start < self.end


def faults_of(info: ModelInfo) -> list[str]:
    """The faults of a model's memory plan, a sentence each; none where it is safe."""
    plan = info.plan
    found = [*_malformed(plan)]
    if not found:
        proof = _Proof(plan)
        there, outputs = list(_inside((*info.inputs, *info.states))), list(_inside(info.outputs))
        found += [*_overlaps(proof), *_wrong_sizes(info), *_wrong_tensors(info), *proof.run(there, outputs)]
    return list(dict.fromkeys(found))


def _inside(tensors: Iterable[TensorInfo | StateInfo]) -> Iterator[Span]:
    """Where tensors are that are in the arena."""
    for each in tensors:
        if each.offset is not None:
            yield Span(Memory(pool=each.pool), each.offset, each.offset + bytes_of(each))


def span_of(plan: PlanInfo, access: AccessInfo) -> Span:
    """Where the bytes of an access are."""
    buffer = _buffers(plan)[plan.values[access.value].buffer]
    return Span(_memory(buffer), buffer.offset + access.start, buffer.offset + access.end)


def _memory(buffer: BufferInfo) -> Memory:
    return Memory(buffer.output, buffer.pool)


def _buffers(plan: PlanInfo) -> Sequence[BufferInfo]:
    return (*plan.buffers, *plan.outputs)


def _malformed(plan: PlanInfo) -> Iterator[str]:
    """Numbers that mean nothing, with which no proof can begin."""
    buffers, count, pools = _buffers(plan), len(plan.order), {each.name for each in plan.pools}
    for each in plan.pools:
        if each.peak_bytes > each.size:
            yield f"the pool {each.name} has {each.size} bytes, the plan takes {each.peak_bytes}"
    if len(pools) < len(plan.pools) or (pools and sum(each.peak_bytes for each in plan.pools) != plan.peak_bytes):
        yield "the pools together are not what the plan takes"
    if len(plan.tasks) != count:
        yield f"{count} tasks have names, and {len(plan.tasks)} are described"
    for each in buffers:
        if not each.output and (each.pool not in pools if pools else each.pool):
            yield f"the buffer {each.name} is in the pool {each.pool or 'of no name'}, which there is not"
        if each.size < 0 or each.offset < 0 or not 0 <= each.first <= each.last < max(count, 1):
            yield f"the buffer {each.name} has {each.size} bytes at {each.offset} in tasks {each.first}-{each.last}"
    for number, value in enumerate(plan.values):
        if not 0 <= value.buffer < len(buffers) or value.size < 0:
            yield f"value {number} has {value.size} bytes in buffer {value.buffer} of {len(buffers)}"
    for number, task in enumerate(plan.tasks):
        for access in (*task.reads, *task.writes):
            if not 0 <= access.value < len(plan.values) or not 0 <= access.start <= access.end:
                yield f"task {number} touches bytes {access.start} to {access.end} of value {access.value}"
        if any(not 0 <= place < len(task.writes) for place in task.in_place):
            yield f"task {number} writes {len(task.writes)} values, and number {max(task.in_place)} in place"
        read = {access.value for access in task.reads}
        if any(
            not 0 <= each.write < len(task.writes) or each.read not in read or each.below < 0 for each in task.trails
        ):
            yield f"task {number} writes behind what it does not read"
        if (
            task.kind not in _KINDS
            or any(count < 0 for count in task.regions)
            or bool(task.regions) != (task.kind in ("if", "loop"))
        ):
            yield f"task {number}, of the kind {task.kind}, has regions of {list(task.regions)} tasks"
            return
    ends = list(_blocks(plan.tasks, 0, len(plan.tasks)))
    if any(end > len(plan.tasks) for end in ends):
        yield "a branch or a loop has more tasks than there are"


def _blocks(tasks: Sequence[TaskInfo], first: int, end: int) -> Iterator[int]:
    """Where each region of the tasks `first` to before `end` ends, those in regions, too."""
    number = first
    while number < end:
        begin = number + 1
        for count in tasks[number].regions:
            yield begin + count
            if begin + count <= len(tasks):
                yield from _blocks(tasks, begin, begin + count)
            begin += count
        number = begin


def _overlaps(proof: _Proof) -> Iterator[str]:
    """Buffers that are outside of their memory, or have a byte in common while both are in use."""
    plan = proof.plan
    sizes = {Memory(pool=pool): size for pool, size in plan.arenas.items()}
    sizes |= {Memory(each.output): each.size for each in plan.outputs if each.name == each.output}
    for each in _buffers(plan):
        if each.offset + each.size > sizes.get(_memory(each), 0) or each.offset % max(plan.alignment, 1):
            yield f"the buffer {each.name} at {each.offset} is outside of its memory, or not aligned"
        if each.kept and (each.first, each.last) != (0, max(len(plan.order) - 1, 0)):
            yield f"the buffer {each.name} is kept from call to call, and in use only in {each.first}-{each.last}"
    for one, other in combinations(sorted(_buffers(plan), key=lambda each: each.first), 2):
        both = (
            Span(_memory(one), one.offset, one.offset + one.size),
            Span(_memory(other), other.offset, other.offset + other.size),
        )
        if other.first > one.last or not both[0].meets(both[1]):
            continue
        common = range(max(one.first, other.first), min(one.last, other.last) + 1)
        if len(common) > 1 or not proof.hands_over(common[0], one, other):
            yield f"{one.name} and {other.name} are both in use in task {common[0]}, and overlap"


def _wrong_sizes(info: ModelInfo) -> Iterator[str]:
    """Sizes that are not those of what there is: of the arena, the callers' outputs, and the buffers of rings."""
    plan, sizes = info.plan, {each.name: each.size for each in _buffers(info.plan)}
    if plan.peak_bytes != info.workspace_bytes:
        yield f"the plan takes {plan.peak_bytes} bytes, the arena has {info.workspace_bytes}"
    # what has no elements counts as a byte, so that it has an address of its own
    callers = {each.name: max(bytes_of(each), 1) for each in info.outputs if -1 not in each.shape}
    for each in plan.outputs:
        if each.offset + each.size > callers.get(each.output, each.offset + each.size):
            yield f"the buffer {each.name} takes {each.size} bytes of {each.output}, which has {callers[each.output]}"
    for ring in (ring for roll in plan.rolls for ring in roll.rings):
        if not 0 < ring.rows <= ring.of or ring.rows * ring.row_bytes > sizes.get(ring.buffer, 0):
            yield f"{ring.rows} rows of {ring.row_bytes} bytes are not in {ring.buffer}, of {sizes.get(ring.buffer, 0)}"


def _wrong_tensors(info: ModelInfo) -> Iterator[str]:
    """Inputs, outputs and states in the arena that are in no buffer which is in use when the caller writes or reads
    them."""
    last = max(len(info.plan.order) - 1, 0)
    for tensors, first, end in ((info.inputs, True, False), (info.outputs, False, True), (info.states, True, True)):
        for each in tensors:
            if each.offset is None:
                continue
            span = Span(Memory(pool=each.pool), each.offset, each.offset + max(1, bytes_of(each)))
            if not any(
                buffer.pool == each.pool
                and buffer.offset <= span.start
                and span.end <= buffer.offset + buffer.size
                and (not first or buffer.first == 0)
                and (not end or buffer.last == last)
                for buffer in info.plan.buffers
            ):
                yield f"{each.name} is at {each.offset}, where no buffer has it when callers do"


def bytes_of(tensor: TensorInfo | BufferArgument) -> int:
    """Of a tensor; 0 where an extent is of the run time."""
    return 0 if -1 in tensor.shape else prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize


@dataclass
class _Strip:
    """Bytes that every access has all of, or none."""

    holds: set[int] = field(default_factory=set[int])
    """The values that may be there."""
    lost: set[int] = field(default_factory=set[int])
    """Those that may have been there, and are overwritten since."""

    def write(self, value: int) -> None:
        self.lost |= self.holds
        self.lost.discard(value)
        self.holds = {value}


State = dict[Memory, list[_Strip]]
"""The strips of each memory, in order."""


@dataclass
class _Proof:
    plan: PlanInfo
    found: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        cuts: dict[Memory, set[int]] = {}
        for task in self.plan.tasks:
            for access in (*task.reads, *task.writes):
                span = span_of(self.plan, access)
                cuts.setdefault(span.memory, set()).update((span.start, span.end))
        self._cuts = {memory: sorted(found) for memory, found in cuts.items()}
        self._touched: dict[int, list[int]] = {}
        """The tasks that touch a value."""
        for number, task in enumerate(self.plan.tasks):
            for access in (*task.reads, *task.writes):
                self._touched.setdefault(access.value, []).append(number)

    def _strips(self, span: Span) -> slice:
        cuts = self._cuts[span.memory]
        return slice(bisect_left(cuts, span.start), bisect_left(cuts, span.end))

    def hands_over(self, number: int, one: BufferInfo, other: BufferInfo) -> bool:
        """Whether a task reads a value of the first of two buffers, and writes one of the second over it, in place or
        behind what it reads."""
        buffers, task = _buffers(self.plan), self.plan.tasks[number]
        behind = (
            (read, written)
            for place, written in enumerate(task.writes)
            for read in task.reads
            if self._trails(task, place, read)
        )
        return any(
            buffers[self.plan.values[read.value].buffer] is one
            and buffers[self.plan.values[written.value].buffer] is other
            for read, written in (*self._in_place(task), *behind)
        )

    def _trails(self, task: TaskInfo, place: int, read: AccessInfo) -> bool:
        """Whether a task writes something so far below the value that it reads that it overwrites what is read."""
        start = span_of(self.plan, replace(read, start=0)).start
        written = span_of(self.plan, task.writes[place])
        return any(
            (each.write, each.read) == (place, read.value) and written.start + each.below <= start
            for each in task.trails
        )

    def _in_place(self, task: TaskInfo) -> Iterator[tuple[AccessInfo, AccessInfo]]:
        """The values that a task reads, and writes in the same bytes."""
        for place in task.in_place:
            span = span_of(self.plan, task.writes[place])
            for read in task.reads:
                if span_of(self.plan, read) == span:
                    yield read, task.writes[place]

    def run(self, given: Sequence[Span], outputs: Sequence[Span]) -> Iterator[str]:
        """Go through all tasks; sentences about what is not there, or not any more, `outputs` in the arena at the
        end. Inputs and states in the arena, which are there from the start, are `given`."""
        tasks = self.plan.tasks
        state = {memory: [_Strip() for _ in cuts] for memory, cuts in self._cuts.items()}
        written = {access.value for task in tasks for access in task.writes}
        for task in tasks:
            for access in task.reads:
                buffer = _buffers(self.plan)[self.plan.values[access.value].buffer]
                span = span_of(self.plan, access)
                if buffer.kept or (access.value not in written and any(span.within(each) for each in given)):
                    self._write(state, access)
        for number, task in enumerate(tasks):
            self._task(number, task)
        self._through(0, len(tasks), state)
        for number, value in enumerate(self.plan.values):
            buffer = _buffers(self.plan)[value.buffer]
            if number in written and (buffer.kept or (buffer.output and buffer.output == buffer.name)):
                self._read(state, AccessInfo(number, 0, value.size), "the end", nothing=True)
        for span in outputs:
            there = [each.holds for each in state.get(span.memory, [])[self._strips(span)] if each.holds]
            if there and not set.intersection(*there):
                self.found.append(f"the output at {span.start} is several values at the end")
        yield from self.found

    def _task(self, number: int, task: TaskInfo) -> None:
        """A task alone: within values and their lives, and what it writes apart from all else that it touches."""
        plan = self.plan
        for access in (*task.reads, *task.writes):
            value = plan.values[access.value]
            buffer = _buffers(plan)[value.buffer]
            if access.end > min(value.size, buffer.size):
                self.found.append(f"task {number} touches {access.end} bytes of {buffer.name}, which has {buffer.size}")
            if not buffer.first <= number <= buffer.last:
                lives = f"in use in tasks {buffer.first}-{buffer.last}"
                self.found.append(f"task {number} touches {buffer.name}, which is {lives}")
        in_place = [written for _, written in self._in_place(task)]
        if len({written.value for written in in_place}) < len(task.in_place):
            self.found.append(f"task {number} writes in place what it does not read there")
        for place, written in enumerate(task.writes):
            span = span_of(plan, written)
            for read in task.reads:
                same = span_of(plan, read) == span and (place in task.in_place or read.value == written.value)
                apart = same or read.value == written.value or self._trails(task, place, read)
                if span_of(plan, read).meets(span) and not apart:
                    self.found.append(f"task {number} writes over what it reads")
            # parts of one value are apart
            others = (each for each in task.writes[place + 1 :] if each.value != written.value)
            if any(span_of(plan, other).meets(span) for other in others):
                self.found.append(f"task {number} writes two results to one place")

    def _write(self, state: State, access: AccessInfo) -> None:
        span = span_of(self.plan, access)
        for strip in state[span.memory][self._strips(span)]:
            strip.write(access.value)

    def _read(self, state: State, access: AccessInfo, who: str, *, nothing: bool = False) -> None:
        span = span_of(self.plan, access)
        for strip in state.get(span.memory, [])[self._strips(span)]:
            if access.value in strip.lost:
                others = [f"value {each} of {self._buffer(each)}" for each in sorted(strip.holds - {access.value})]
                self._misses(access, who, f"{' or '.join(others) or 'another value'} is there")
            elif access.value not in strip.holds and not nothing:
                self._misses(access, who, "nothing is there yet")

    def _misses(self, access: AccessInfo, who: str, why: str) -> None:
        self.found.append(f"{who} reads value {access.value} of {self._buffer(access.value)}: {why}")

    def _buffer(self, value: int) -> str:
        return _buffers(self.plan)[self.plan.values[value].buffer].name

    def _through(self, first: int, end: int, state: State) -> None:
        """Change `state` as the tasks `first` to before `end` do."""
        number = first
        while number < end:
            task, begin = self.plan.tasks[number], number + 1
            blocks: list[tuple[int, int]] = []
            for count in task.regions:
                blocks.append((begin, begin + count))
                begin += count
            for access in task.reads:
                self._read(state, access, f"task {number}")
            if task.kind == "if":
                ways = [_copied(state) for _ in blocks[1:]]
                for block, way in zip(blocks, (state, *ways), strict=True):
                    self._through(*block, way)
                for way in ways:
                    _merge(state, way)
            elif task.kind == "loop":
                self._loop(blocks, state)
            for access in task.writes:
                self._write(state, access)
            number = begin

    def _loop(self, blocks: Sequence[tuple[int, int]], state: State) -> None:
        """As often as it may run: of several regions the first decides whether it goes on. What is touched in there
        alone is new each time."""
        first, end = blocks[0][0], blocks[-1][1]
        own = {value for value, tasks in self._touched.items() if first <= tasks[0] and tasks[-1] < end}
        changes = True
        while changes:
            after = _copied(state, own)
            for block in blocks:
                self._through(*block, after)
            changes = _merge(state, after)
        if len(blocks) > 1:
            self._through(*blocks[0], state)


def _copied(state: State, but: AbstractSet[int] = frozenset()) -> State:
    """Another state like it, `but` some values."""
    return {memory: [_Strip(each.holds - but, each.lost - but) for each in strips] for memory, strips in state.items()}


def _merge(state: State, other: State) -> bool:
    """Add to `state` what is another way's; whether that changes it."""
    changes = False
    for memory, strips in state.items():
        for strip, each in zip(strips, other[memory], strict=True):
            changes |= not (each.holds <= strip.holds and each.lost <= strip.lost)
            strip.holds |= each.holds
            strip.lost |= each.lost
    return changes
