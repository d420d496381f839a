"""Expansions to instructions of processors, evaluated in numpy by the meanings of instructions."""

from __future__ import annotations

from aotc.machines.expansions.vocabulary import Processor
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.evaluation import ArrayValue, evaluate

TARGETS = (
    *("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86_64-linux-gnu:cascadelake", "x86_64-linux-gnu:alderlake"),
    "x86_64-linux-gnu:arrowlake",
    *("aarch64", "aarch64-linux-gnu:neoverse-n1", "aarch64-linux-gnu:neoverse-v1", "wasm32-simd128", "rv64gcv"),
)


class Evaluating(Processor[ArrayValue]):
    """Instructions that are evaluated; `used` are their names."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names)
        self.used: set[str] = set()

    def apply(self, name: str, *operands: ArrayValue) -> ArrayValue:
        assert self.has(name)
        self.used.add(name)
        found = evaluate(INSTRUCTIONS[name], [each.array for each in operands])
        return ArrayValue(found, INSTRUCTIONS[name].result.dtype)
