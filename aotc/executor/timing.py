"""How long something takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


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


def measure(call: Callable[[], object], number: int = 10, repeat: int = 3) -> Timing:
    """Time `repeat` runs of `number` calls each, after one call that is not counted."""
    if number < 1 or repeat < 1:
        raise ValueError(f"number is {number} and repeat {repeat}; both must be at least 1")
    call()
    results: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            call()
        results.append((time.perf_counter() - start) / number)
    return Timing(tuple(results))
