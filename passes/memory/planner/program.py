"""A program as the memory planner sees it: storages, and tasks that read and write them. No IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """Who owns a storage."""

    ARENA = "arena"
    """Ours to place."""
    OUTPUT = "output"
    """The caller's: defined only when the program is done, so it may serve as scratch before, within one run."""
    FIXED = "fixed"
    """Inputs and weights: never written."""
    STATE = "state"
    """Ours to place, and kept from the end of the program to its next start: it shares memory with nothing."""


@dataclass(frozen=True)
class Storage:
    """A piece of memory of `size` bytes; only storages of its own `kind` (element type) can move into an output.

    In the arena, one may be full before the first task (`from_start`) or needed after the last (`to_end`).
    """

    size: int
    role: Role
    kind: str = ""
    from_start: bool = False
    to_end: bool = False


@dataclass(frozen=True)
class Access:
    """Bytes `start` to `end` (exclusive) of a storage."""

    storage: int
    start: int
    end: int

    def overlaps(self, other: Access) -> bool:
        """Whether both touch a common byte."""
        return self.storage == other.storage and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Task:
    """One call. `in_place`: (written storage, read storage) of equal size, the first of which may take over the
    memory of the second if that dies here; the better first. `trails`: (written storage, read storage, bytes), the
    first of which may begin so many bytes or more below the second, and overlap it, if that dies here. A task that is
    `pushed` is one of several runs of the program, between which what is in use then stays."""

    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    trails: tuple[tuple[int, int, int], ...] = ()
    pushed: bool = False

    @property
    def storages(self) -> tuple[int, ...]:
        """Every storage the task touches, once each, in order of mention."""
        return tuple(dict.fromkeys(access.storage for access in (*self.reads, *self.writes)))


@dataclass(frozen=True)
class Program:
    """Storages, and the tasks in one valid order."""

    storages: tuple[Storage, ...]
    tasks: tuple[Task, ...]

    def predecessors(self) -> list[list[int]]:
        """For each task the earlier ones that must stay before it: both touch a byte that one of them writes."""
        reads: list[list[tuple[int, Access]]] = [[] for _ in self.storages]
        writes: list[list[tuple[int, Access]]] = [[] for _ in self.storages]
        result: list[list[int]] = []
        for number, task in enumerate(self.tasks):
            before = {i for access in task.reads for i, other in writes[access.storage] if access.overlaps(other)}
            for access in task.writes:
                earlier = (*reads[access.storage], *writes[access.storage])
                before.update(i for i, other in earlier if access.overlaps(other))
            for access in task.reads:
                reads[access.storage].append((number, access))
            for access in task.writes:
                writes[access.storage].append((number, access))
            result.append(sorted(before))
        return result

    def stays(self, order: Sequence[int], first: int, last: int) -> bool:
        """Whether what is in use between two positions in `order` is so from one run of the program to the next."""
        return any(self.tasks[number].pushed for number in order[first : last + 1])

    def lifetimes(self, order: Sequence[int]) -> dict[int, tuple[int, int]]:
        """First and last position in `order` at which each storage is used, if at all; the end of the program is one
        position after its last."""
        lifetimes: dict[int, tuple[int, int]] = {}
        for position, number in enumerate(order):
            for storage in self.tasks[number].storages:
                lifetimes[storage] = (lifetimes.get(storage, (position, position))[0], position)
        for number, storage in enumerate(self.storages):
            if storage.from_start:
                lifetimes[number] = (0, lifetimes.get(number, (0, 0))[1])
            if storage.role is Role.STATE:
                lifetimes[number] = (0, len(order))
            if storage.to_end:
                lifetimes[number] = (lifetimes.get(number, (0, 0))[0], len(order))
        return lifetimes
