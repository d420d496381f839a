"""Extents as expressions: one form for equal sums, and the values that the expressions have."""

from __future__ import annotations

from itertools import product

import pytest

from aotc.model.extents import Extent, OpenTensor, divided, exact_quotient, is_natural, product_of, value_of

N, W = Extent.of("n"), Extent.of("w")


def test_equal_sums_are_equal_values() -> None:
    assert (N + 1) * (N - 1) == N * N - 1 and N + W - N == W and 2 * N - N - N == 0 and hash(N + W) == hash(W + N)
    assert N + 1 != N + 2 and N * W == W * N and 3 - N == -(N - 3)


def test_what_is_a_number_is_one() -> None:
    for found in (N - N, N * 0 + 4, (N + 1) - N):
        assert isinstance(found, int)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8])
def test_quotients_are_rounded_down(divisor: int) -> None:
    """Whatever form they are brought into: whole parts before the quotient, quotients of quotients, products."""
    forms = [N - 5, 3 * N + 7, N * W, divided(N + 1, 2) + 1, divided(N - 1, 2), 4 * N + 2 * W - 9, 5]
    for form, n, w in product(forms, (0, 1, 2, 7, 12), (0, 3, 10)):
        extents = {"n": n, "w": w}
        assert value_of(divided(form, divisor), extents) == value_of(form, extents) // divisor


def test_quotients_by_extents() -> None:
    assert divided(N * W * 6, N * 2) == 3 * W
    assert value_of(divided(N * 5 + 3, W), {"n": 4, "w": 7}) == 23 // 7
    with pytest.raises(ZeroDivisionError):
        divided(N, 0)


def test_exact_quotients_are_seen_or_not_told() -> None:
    assert exact_quotient(N * W * 384, N * W * 12) == 32 and exact_quotient(12, 4) == 3
    assert exact_quotient(N + 1, N + 1) == 1 and exact_quotient(N * W + 2 * N, N) == W + 2
    for dividend, divisor in ((N, 2), (N + 1, N), (13, 4), (N * 3, N * 2), (4, 0)):
        assert exact_quotient(dividend, divisor) is None


def test_what_is_surely_natural() -> None:
    assert is_natural(N * W + 3) and is_natural(divided(N + 1, 2)) and is_natural(0)
    assert not is_natural(N - 1) and not is_natural(divided(N - 3, 2)) and not is_natural(-1)


def test_symbols_and_text() -> None:
    size = divided(W + 1, 2) * 3 + N * N - 4
    assert isinstance(size, Extent) and size.symbols == {"n", "w"}
    assert str(size) == "n*n + 3*((w + 1)//2) - 4" and str(divided(divided(W + 1, 2), 4)) == "(w + 1)//8"
    assert str(OpenTensor("x", "float32", (N, 3, None))) == "float32[n, 3, ?]"
    assert str(OpenTensor("x", "int64", None)) == "int64[...]"
    assert product_of([2, N, W]) == 2 * N * W and product_of([]) == 1
    with pytest.raises(KeyError):
        value_of(size, {"n": 1})
    with pytest.raises(TypeError):
        N + 1.5  # type: ignore[operator]
