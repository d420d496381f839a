"""How often a call is timed, by a clock that stands still but for what the call takes."""

from __future__ import annotations

import pytest

from aotc.executor import timing
from aotc.executor.timing import Repeats


class Clock:
    """Takes the place of the module `time`: each call takes so many seconds, and sleeping is written down."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now, self.calls = seconds, 0.0, 0
        self.slept: list[tuple[int, float]] = []

    def call(self) -> None:
        self.now += self.seconds
        self.calls += 1

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append((self.calls, seconds))


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(request.param)
    monkeypatch.setattr(timing, "time", made)
    return made


@pytest.mark.parametrize(
    "clock, min_repeat_ms, calls",
    [
        (0.5, 0, 2 + 2),
        (0.5, 1000, 2 + 2),
        (0.5, 1001, 2 + 3 + 3),  # 1001 / 500 + 1: enough, and the number stays
        (0.5, 4000, 2 + 9 + 9),
        (0.25, 750, 2 + 4 + 4),
    ],
    indirect=["clock"],
)
def test_e29_runs_that_are_too_short_are_of_more_calls(clock: Clock, min_repeat_ms: float, calls: int) -> None:
    """E29: as TVM does it; a result is the time of one call, however many there were."""
    found = Repeats(number=2, repeat=2, min_repeat_ms=min_repeat_ms).time(clock.call)
    assert clock.calls == 1 + calls and found.results == (clock.seconds,) * 2


@pytest.mark.parametrize("clock", [0.0], indirect=True)
def test_e29_what_takes_no_time_by_the_clock_ends(clock: Clock) -> None:
    found = Repeats(number=3, repeat=2, min_repeat_ms=5, limit_zero_time_iterations=4).time(clock.call)
    assert clock.calls == 1 + 2 * 4 * 3 and found.results == (0, 0)


@pytest.mark.parametrize("clock", [1.0], indirect=True)
def test_e29_pauses_between_runs(clock: Clock) -> None:
    Repeats(1, 5, cooldown_interval_ms=20, repeats_to_cooldown=2, cache_flush_bytes=100).time(clock.call)
    assert clock.slept == [(3, 0.02), (5, 0.02)]


@pytest.mark.parametrize("name", list(vars(Repeats())))
def test_numbers_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        Repeats(**{name: -1})
