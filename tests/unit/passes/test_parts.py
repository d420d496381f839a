"""Into how many parts kernels with scratch buffers are divided, and what belongs to each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aotc.machines.families import WASM_SIMD, X86_AVX2
from aotc.passes.kernel.costs.product_cost import BlockedWork, Parts, choose_parts

MANY_ROWS = BlockedWork(
    rows=16, block_rows=2, panels=8, transform_cycles=2e4, product_cycles=1e5, weight_cycles=1e3, transformed=1 << 20
)


def test_rows_are_divided_where_weights_are_small() -> None:
    assert choose_parts(X86_AVX2, MANY_ROWS, 2) == Parts(rows=2)
    assert choose_parts(X86_AVX2, MANY_ROWS, 8) == Parts(rows=8)


def test_panels_are_divided_where_fetching_the_weight_takes_long() -> None:
    work = replace(MANY_ROWS, block_rows=16, weight_cycles=1e7)
    assert choose_parts(X86_AVX2, work, 2) == Parts(panels=2)


def test_both_are_divided_where_neither_is_enough() -> None:
    work = replace(MANY_ROWS, rows=4, panels=4)
    assert choose_parts(X86_AVX2, work, 8) in (Parts(4, 2), Parts(2, 4))


def test_rows_that_stay_together_are_not_divided() -> None:
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, together=16), 2) == Parts(panels=2)
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, together=16, panels=1), 2) == Parts()
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, together=8), 2) == Parts(rows=2)
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, together=10), 2) == Parts(panels=2)  # ten rows and six


def test_what_has_fewer_parts_than_threads_is_one() -> None:
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, rows=1, panels=1), 2) == Parts()
    assert choose_parts(X86_AVX2, replace(MANY_ROWS, rows=2, panels=3), 5) == Parts()


def test_uneven_parts_are_worse_than_waiting_where_that_costs_little() -> None:
    work = replace(MANY_ROWS, rows=3, block_rows=3, panels=3, transformed=1000)
    assert choose_parts(X86_AVX2, work, 2) == Parts()
    assert X86_AVX2.threads is not None
    dear = replace(X86_AVX2, threads=replace(X86_AVX2.threads, phase_operations=10**6))
    assert choose_parts(dear, work, 2) != Parts()


def test_what_others_wrote_is_read_slowly() -> None:
    work = replace(MANY_ROWS, rows=3, block_rows=3, panels=3)
    assert choose_parts(X86_AVX2, replace(work, transformed=100 << 20), 2) != Parts()


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_or_a_machine_without_threads_has_one_part(threads: int) -> None:
    machine = X86_AVX2 if threads == 1 else replace(WASM_SIMD, threads=None)
    work = replace(MANY_ROWS, rows=1, panels=1)
    assert choose_parts(machine, work, threads) == Parts()
