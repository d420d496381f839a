"""Average pooling in integers gives what floats give: all pairs of bytes, and windows at borders, with ties that the
rounding errors of floats decide, in C and in LLVM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from case_model import Array, CaseModel, CaseRuns, tensor

from aotc.passes.graph.quantization.pooling import Means

PAIRS = np.stack(np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)), -1).reshape(1, 1, -1).astype(np.int8)
IMAGE = np.random.default_rng(0).integers(-128, 128, (2, 3, 21, 21)).astype(np.int8)


@dataclass(frozen=True)
class Pool:
    """Windows over PAIRS or IMAGE."""

    scale: float
    target: float
    point: int
    zero_point: int
    side: int
    stride: int
    pad: int = 0
    include_pad: bool = False
    bounds: tuple[int, int] = (-128, 127)
    point_is_float: bool = False

    @property
    def x(self) -> Array:
        return PAIRS if self.side == 2 else IMAGE

    @property
    def rank(self) -> int:
        return self.x.ndim - 2

    @property
    def means(self) -> Means:
        greatest = max(self.point + 128, 127 - self.point)
        scales = np.float32(self.scale), np.float32(self.target)
        return Means(scales[0], greatest, scales[1], self.zero_point, *self.bounds, self.point_is_float)

    def sums(self) -> tuple[Array, Array]:
        """The sums of f32, element by element, and how many elements each has."""
        real = np.float32(self.scale) * (self.x.astype(np.float32) - np.float32(self.point))
        pads = [(0, 0), (0, 0), *[(self.pad, self.pad)] * self.rank]
        real, inside = np.pad(real, pads), np.pad(np.ones(self.x.shape, int), pads, constant_values=self.include_pad)
        extent = (real.shape[-1] - self.side) // self.stride + 1
        total = np.zeros((*real.shape[:2], *[extent] * self.rank), np.float32)
        count = np.zeros(total.shape, int)
        for place in np.ndindex(*[self.side] * self.rank):
            at = (..., *(slice(p, p + self.stride * extent - self.stride + 1, self.stride) for p in place))
            total, count = total + real[at], count + inside[at]
        return total, count

    def expected(self) -> Array:
        total, count = self.sums()
        quotient = total / count.astype(np.float32) / np.float32(self.target)
        point = np.float32(self.zero_point)
        value = np.rint(quotient + point) if self.point_is_float else np.rint(quotient) + point
        return np.clip(value, *self.bounds).astype(np.int8)


POOLS = (
    Pool(0.1, 0.1, 0, 0, 2, 2),
    Pool(0.1, 0.1, 7, -3, 2, 2, point_is_float=True),
    Pool(0.0371, 0.0371, -128, -127, 2, 2),
    Pool(3.3, 1.65, 12, 5, 2, 2, bounds=(5, 100)),
    Pool(0.0123, 0.0171, 3, -128, 2, 2),
    Pool(0.0123, 0.0071, -20, 1, 3, 2, 1),
    Pool(0.7, 0.7, 1, 11, 3, 1, 1),
    Pool(0.7, 0.7, -100, 13, 4, 3, 2, include_pad=True, point_is_float=True),
    Pool(0.25, 0.5, 0, 0, 5, 4),
    Pool(0.031, 0.031, 9, -9, 20, 1),
)


def model(route: str) -> CaseModel:
    """A kernel for each pool."""
    made = CaseModel("averaged")
    for number, pool in enumerate(POOLS):
        expected = pool.expected()
        counts = sorted({int(each) for each in np.unique(pool.sums()[1])})
        found = pool.means.averages(counts)
        assert found is not None
        inputs = {"x": pool.x, "f": found.factors, "m": found.middles}
        kinds = [made.input(f"{name}{number}", array) for name, array in inputs.items()]
        given = [f"%{name}{number}" for name in inputs]
        numbers = {"x_zero_point": pool.point, "mantissa": found.mantissa, "fraction": found.fraction}
        numbers |= {"guard": found.guard, "zero_point": pool.zero_point}
        numbers |= dict(zip(("low", "high"), pool.bounds, strict=True))
        lists = {"counts": counts, "kernel": [pool.side], "strides": [pool.stride], "dilations": [1]}
        lists |= {"pads": [pool.pad, pool.pad]}
        text = [f"{name} = {value}" for name, value in numbers.items()]
        text += [
            f"{name} = array<i64: {', '.join(map(str, each if name == 'counts' else each * pool.rank))}>"
            for name, each in lists.items()
        ]
        text += ["include_pad = true"] if pool.include_pad else []
        kind = tensor(expected.shape, "i8")
        made.body.append(
            f"%r{number} = graph.fixed_average_pool {', '.join(given)} {{{', '.join(text)}, to = i8}}"
            f" : ({', '.join(kinds)}) -> {kind}"
        )
        made.output(f"r{number}", f"%r{number}", kind)
    return made


results = CaseRuns(model)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(POOLS)))
def test_averages_are_those_of_floats(route: str, number: int) -> None:
    np.testing.assert_array_equal(results(route)[f"r{number}"], POOLS[number].expected())


def test_rounding_errors_decide_some() -> None:
    """Which is what exact sums cannot."""
    pool = POOLS[0]
    exact = np.rint(PAIRS.reshape(-1, 2).astype(np.int64).sum(1) / 2)
    assert (exact != pool.expected().reshape(-1)).any()


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("count", [1, 2, 6, 9, 49])
def test_the_least_sum_is_just_enough(pool: Pool, count: int) -> None:
    least, levels = pool.means.least(count), np.arange(pool.bounds[0] + 1, pool.bounds[1] + 1)
    assert (pool.means.result(least, count) >= levels).all()
    assert (pool.means.result(np.nextafter(least, np.float32(-np.inf)), count) < levels).all()


@pytest.mark.parametrize(
    ("pool", "counts"),
    [
        (Pool(2.0**-120, 2.0**-120, 0, 0, 2, 2), [4]),  # products of floats lose bits
        (Pool(0.1, 0.1, 0, 0, 2, 2, bounds=(3, 3)), [4]),  # one integer has no middle
        (Pool(0.1, 0.1, 0, 0, 2, 2), [1 << 15]),  # rounded factors are too far off
        (Pool(1000.0, 0.1, 0, 0, 2, 2), [4]),  # here, too
        (Pool(0.1, 1e6, 0, 0, 2, 2), [4]),  # and there is none
        (Pool(0.1, 0.1, 0, 0, 2, 2), [4, 6, 8, 10, 12, 14, 16]),  # more middles than floats take in code
    ],
)
def test_other_means_have_no_such_integers(pool: Pool, counts: list[int]) -> None:
    assert pool.means.averages(counts) is None


def test_floats_decide_an_eighth_of_the_sums_at_most() -> None:
    """Those near the middle between two integers: of 45 elements of at most 234, 64 units each, exactly an eighth."""
    found = Means(np.float32(64), 234, np.float32(1), 0, -128, 127, False).averages([45])
    assert found is not None and 8 * found.guard == 1 << found.fraction
    assert Means(np.float32(64), 235, np.float32(1), 0, -128, 127, False).averages([45]) is None
