"""How long something takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from aotc.model.arguments import require

GROWTH: Final = 1.618
"""By how much more calls are timed, at least, where those before took too little time."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one result for each repeat."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the results."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Median of the results."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """The fastest repeat."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The slowest repeat."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation of the results, 0 for a single one."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        return f"median {self.median * 1e6:.1f} us, mean {self.mean * 1e6:.1f} us, min {self.min * 1e6:.1f} us"


@dataclass(frozen=True)
class Repeats:
    """A timing: `repeat` runs of `number` calls each, of more where such a run takes less than `min_repeat_ms`.

    A run that takes no time at all by the clock is taken `limit_zero_time_iterations` times at most. After each
    `repeats_to_cooldown` runs nothing happens for `cooldown_interval_ms`; before each run `cache_flush_bytes` are
    written. These are the arguments of TVM's `time_evaluator`, with its defaults. Raises ValueError.
    """

    number: int = 10
    repeat: int = 1
    min_repeat_ms: float = 0
    limit_zero_time_iterations: int = 100
    cooldown_interval_ms: float = 0
    repeats_to_cooldown: int = 1
    cache_flush_bytes: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            require(each.name, getattr(self, each.name), {"int": int, "float": float}[str(each.type)])
        for name in ("number", "repeat", "limit_zero_time_iterations", "repeats_to_cooldown"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("min_repeat_ms", "cooldown_interval_ms", "cache_flush_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 0")

    def time(self, call: Callable[[], object]) -> Timing:
        """The timing of `call`, after one that is not counted."""
        call()
        flushed = np.zeros(self.cache_flush_bytes, np.uint8)
        number, results = self.number, list[float]()
        for done in range(1, self.repeat + 1):
            flushed += 1
            seconds, number = self._run(call, number)
            results.append(seconds / number)
            if self.cooldown_interval_ms and done % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
        return Timing(tuple(results))

    def _run(self, call: Callable[[], object], number: int) -> tuple[float, int]:
        """How long a run took that was long enough, and of how many calls it was."""
        without_time = 0
        while True:
            start = time.perf_counter()
            for _ in range(number):
                call()
            seconds = time.perf_counter() - start
            without_time += seconds == 0
            if seconds * 1e3 >= self.min_repeat_ms or without_time >= self.limit_zero_time_iterations:
                return seconds, number
            if seconds:
                number = int(max(self.min_repeat_ms / (seconds * 1e3 / number) + 1, number * GROWTH))
