"""Partial pivoting, as every elimination here does it."""

from __future__ import annotations

from collections.abc import Callable

from aotc.dialects.builder import Builder, Scalar


def pivot_row(b: Builder, read: Callable[[Scalar, Scalar], Scalar], k: Scalar, size: int) -> Scalar:
    """The row from `k` on whose element in column `k` is greatest in magnitude, the first of these, in a matrix of
    `size` rows whose element (row, column) is `read`."""

    def greater(row: list[Scalar], best: list[Scalar]) -> list[Scalar]:
        value = b.abs(read(row[0], k))
        better = b.compare("gt", value, best[1])
        return [b.select(better, row[0], best[0]), b.select(better, value, best[1])]

    return b.reduce([(k + 1, size)], [k, b.abs(read(k, k))], greater)[0]
