"""The cost of tests: `pytest --cpu-time N` prints the N tests, functions and files of the most processor time.

That is user and system time of the process of the tests, of its threads, and of all processes that come from it, those
that still run included. A loaded machine makes a test wait, but hardly makes it cost more: two such lists can be
compared, where those of `--durations` cannot. What several tests share counts for the first one of them. What is left,
imports and the collection of tests for the most part, has a line of its own. `--cpu-time-file=FILE` writes the seconds
of every test as it ends.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PROPERTY = "cpu_time"


def spent() -> float:
    """Seconds of processor time of this process and of all that come from it, so far.

    Processes that still run are counted in ticks of the kernel, 10 ms as a rule; those that nobody waits for are lost.
    """
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usages) + sum(map(_running, _children(os.getpid())))


def _running(process: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) * _TICK + sum(map(_running, _children(process)))
    return 0.0


def _children(process: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError):
                yield from map(int, Path(f"/proc/{process}/task/{thread}/children").read_bytes().split())


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("processor time")
    group.addoption("--cpu-time", type=int, metavar="N", help="print the N tests of the most processor time")
    group.addoption("--cpu-time-file", metavar="FILE", help="with a `=`: write the processor time of each test")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.cpu_time is not None or config.option.cpu_time_file:
        path = None if hasattr(config, "workerinput") else config.option.cpu_time_file
        config.pluginmanager.register(_Counting(path), "counting_cpu_time")


class _Counting:
    """Where a test runs its seconds go into the last of its reports, and are collected where reports arrive."""

    def __init__(self, path: str | None) -> None:
        self._start = 0.0
        self._seconds: dict[str, float] = {}
        self._file = open(path, "w", buffering=1, encoding="utf-8") if path else None  # noqa: SIM115

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._start = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            report.user_properties.append((_PROPERTY, spent() - self._start))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                assert isinstance(value, float)
                self._seconds[report.nodeid] = value
                self._write(report.nodeid, value)

    def _write(self, name: str, seconds: float) -> None:
        if self._file:
            print(f"{seconds:.4f}\t{name}", file=self._file)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        in_tests = sum(self._seconds.values())
        rest = {"all tests": in_tests, "outside of tests": spent() - in_tests}
        for what, seconds in self._tables():
            terminalreporter.section(f"processor time of {what}, in seconds")
            for name, value in sorted(seconds.items(), key=lambda item: -item[1])[: config.option.cpu_time or 0]:
                terminalreporter.write_line(f"{value:8.2f} {name}")
        for name, value in rest.items():
            self._write(name, value)
            terminalreporter.write_line(f"{value:8.2f} {name}")

    def pytest_unconfigure(self) -> None:
        if self._file:
            self._file.close()

    def _tables(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        yield "tests", self._seconds
        for what, end in (("functions", "["), ("files", "::")):
            sums: dict[str, float] = defaultdict(float)
            for name, seconds in self._seconds.items():
                sums[name.partition(end)[0]] += seconds
            yield what, sums
