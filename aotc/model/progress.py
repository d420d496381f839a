"""The progress of a compilation, for whoever watches: passes that take kernel after kernel say which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from xdsl.context import Context

_SLOT = "_aotc_progress"
"""Where a `Context` keeps it, as it keeps the WeightStore."""

Item = TypeVar("Item")
Report = Callable[[str], None]
"""Hears a line each time something else begins."""


class Progress:
    """Tells the phase, and within it which kernel of how many; tells nobody where nobody listens."""

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self._phase = ""

    @staticmethod
    def of(ctx: Context) -> Progress:
        """That of this compilation."""
        return vars(ctx).setdefault(_SLOT, Progress())

    def attach(self, ctx: Context) -> None:
        """Make this the progress of `ctx`."""
        vars(ctx)[_SLOT] = self

    def phase(self, name: str) -> None:
        """A phase begins."""
        self._phase = name
        if self._report is not None:
            self._report(name)

    def kernels(self, items: Sequence[Item]) -> Iterator[Item]:
        """Each of these kernels in turn, said to be at hand."""
        for number, item in enumerate(items, 1):
            self.kernel(number, len(items))
            yield item

    def kernel(self, number: int, count: int) -> None:
        """A kernel is at hand."""
        if self._report is not None:
            self._report(f"{self._phase}: kernel {number} of {count}")


__all__ = ["Progress", "Report"]
