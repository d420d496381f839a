"""Sums of products of narrow integers on tiles, as IR and in numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ROWS, COLUMNS, DEPTH = 5, 2, 7
"""Registers of a tile, and groups of elements that are summed up; of the last group half is in memory."""


@dataclass(frozen=True)
class DotCase:
    """Factors of `bits`, in registers of `lanes` sums."""

    bits: int
    unsigned: tuple[bool, bool]
    narrow: bool
    lanes: int
    complement: bool = False
    pair: bool = False
    """Whether two groups are added up at a time."""

    @property
    def group(self) -> int:
        """Products of a lane."""
        return 32 // self.bits

    def arrays(self) -> tuple[Array, Array, Array]:
        """Rows, columns and sums with extreme values; sums wrap."""
        random = np.random.default_rng(self.bits + self.lanes)
        a, b = (
            random.choice(
                [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 77 % (np.iinfo(kind).max + 1), np.iinfo(kind).max - 1],
                shape,
            ).astype(kind)
            for kind, shape in zip(
                (f"{'u' if unsigned else 'i'}{self.bits // 8}" for unsigned in self.unsigned),
                ((ROWS, DEPTH * self.group - self.group // 2), (DEPTH, COLUMNS * self.lanes * self.group)),
                strict=True,
            )
        )
        if self.pair:  # the extremes of what two pairs may be together
            extremes = _COMPLEMENTED if self.complement else _PLAIN
            fours = random.choice(extremes, (-(-DEPTH // 2), b.shape[1] // 2))  # [pairs of groups, halves, 4]
            halves = fours.reshape(len(fours), -1, 2, 2).swapaxes(1, 2).reshape(-1, b.shape[1])
            b = halves[:DEPTH].astype(np.int8)
        elif self.narrow and not any(self.unsigned):  # all but -128
            b = np.maximum(b, -np.iinfo(np.int8).max)
        elif self.narrow:  # |b| + |b'| <= 128 in each pair, the extremes among them
            pairs = b.reshape(-1, 2).astype(np.int16)
            first = random.choice([-128, 128 - 1, -64, 64, 0, 5, 100], len(pairs)).astype(np.int16)
            pairs[:, 0] = first
            pairs[:, 1] = random.choice([-1, 1], len(pairs)) * np.minimum(128 - np.abs(first), 127)
            b = pairs.astype(np.int8).reshape(b.shape)
        return a, b, np.full((ROWS, COLUMNS * self.lanes), np.iinfo(np.int32).max - 9, np.int32)

    def expected(self) -> Array:
        """The results of the sums."""
        a, b, sums = self.arrays()
        padded = np.zeros((ROWS, DEPTH * self.group), np.int64)
        padded[:, : a.shape[1]] = a
        padded -= 128 if self.complement and self.unsigned[0] else 0
        weight = b.astype(np.int64).reshape(DEPTH, -1, self.group).swapaxes(1, 2).reshape(DEPTH * self.group, -1)
        if self.complement:
            return (sums + padded @ weight + np.minimum(weight, 0).sum(axis=0)).astype(np.int32)
        return (sums + padded @ weight).astype(np.int32)

    def body(self) -> str:
        """IR on %m0, %m1, %m2, buffers of the arrays, with %c0 .. %c9."""
        kind, group, wide = f"i{self.bits}", self.group, self.lanes * self.group
        a, b, sums = (
            f"memref<{'x'.join(map(str, each.shape))}x{k}>"
            for each, k in zip(self.arrays(), (kind, kind, "i32"), strict=True)
        )
        flags = [name for name, given in zip(("lhs_unsigned", "rhs_unsigned"), self.unsigned, strict=True) if given]
        flags += ["narrow_pairs"] if self.narrow else []
        flags += ["complement"] if self.complement else []
        factors, tile = f"vector<{ROWS}x{COLUMNS}x{wide}x{kind}>", f"vector<{ROWS}x{COLUMNS}x{self.lanes}xi32>"

        def step(k: str, sum_: str, result: str, more: str) -> str:
            return f"""
              %at{result} = arith.muli {k}, %group : index
              %x{result} = aot.tile_load %m0[%c0, %at{result}]
                  {{strides = array<i64: {DEPTH * group - group // 2}, 0, 0>, group = {group} : i64{more}}}
                  : {a} -> {factors}
              %w{result} = aot.tile_load %m1[{k}, %c0] {{strides = array<i64: 0, {wide}, 1>}} : {b} -> {factors}
              %{result} = aot.tile_dot %x{result}, %w{result}, {sum_} {{{", ".join(flags)}}} : {factors}, {tile}"""

        def pair(k: str, sum_: str, result: str) -> str:
            first, second = step(k, sum_, "first", ""), step("%second", sum_, "next", "")
            flags = ", ".join(["lhs_unsigned"] * self.unsigned[0] + ["complement"] * self.complement)
            return f"""
              %second = arith.addi {k}, %c1 : index
              {first.rsplit("%first =", 1)[0]}
              {second.rsplit("%next =", 1)[0]}
              %{result} = aot.tile_dot_pair %xfirst, %wfirst, %xnext, %wnext, {sum_} {{{flags}}} : {factors}, {tile}"""

        place = f"{{strides = array<i64: {COLUMNS * self.lanes}, {self.lanes}, 1>}}"
        return f"""
            %group = arith.constant {group} : index
            %pace = arith.constant {1 + self.pair} : index
            %start = aot.tile_load %m2[%c0, %c0] {place} : {sums} -> {tile}
            %last = arith.constant {DEPTH - 1} : index
            %sum = scf.for %k = %c0 to %last step %pace iter_args(%acc = %start) -> ({tile}) {{
              {pair("%k", "%acc", "both") if self.pair else step("%k", "%acc", "both", "")}
              scf.yield %both : {tile}
            }}
            {step("%last", "%sum", "total", f", valid = {group - group // 2} : i64")}
            aot.tile_store %total, %m2[%c0, %c0] {place} : {tile}, {sums}"""


_PLAIN = ((127, 1, 0, 0), (-128, 0, 127, 1), (-64, -64, 64, 64), (32, 32, 32, 32), (0, 128 - 1, -128, 1), (0, 0, 0, 0))
"""Four weights each that meet in 16 bits: of one sign at most 128 in magnitude together."""
_COMPLEMENTED = ((-128, 127, 0, 0), (127, 127, 1, 0), (-128, 0, 0, -127), (64, -64, 64, 63), (0, -127, -128, 0))
"""At most 255 in magnitude together."""


def dot_cases(lanes: int) -> Iterator[DotCase]:
    """Every combination of signs."""
    for bits in (8, 16):
        for unsigned in ((False, False), (True, False), (False, True), (True, True)):
            yield DotCase(bits, unsigned, False, lanes)
    yield DotCase(8, (True, False), True, lanes)
    yield DotCase(8, (False, False), True, lanes)
    yield DotCase(8, (False, False), False, lanes, complement=True)
    yield DotCase(8, (True, False), False, lanes, complement=True)
    yield DotCase(8, (True, False), True, lanes, pair=True)
    yield DotCase(8, (True, False), False, lanes, complement=True, pair=True)
    yield DotCase(8, (False, False), False, lanes, complement=True, pair=True)
