"""`--flash` as a goal: between code that is small and code that is fast, a form for each kernel.

The model is compiled with all kernels fast, and where that is within the budget, this is it. Else also with all of them
small, and with fast ones that share functions: what code takes is measured as `--flash` measures it, by LLVM or the
compiler of `--cc`, and instructions are estimated (`instructions.py`). Of these three programs the forms are chosen
(`choice.py`), the model is compiled with them and measured, and what was wrong is corrected by choosing again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aotc.compiler.fitting.choice import FAST, SHARED, SMALL, Form, Program, Unit, choose, instructions
from aotc.compiler.fitting.instructions import instructions_of_calls
from aotc.dialects.aot.contract import entry, kernel_calls
from aotc.model.locations import node_names
from aotc.model.metadata import FlashGoal, KernelForms
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import CORE, has_phase

if TYPE_CHECKING:
    from aotc.emit.artifacts import Emission

Lowered = Callable[[CompileOptions], "Emission"]
_ROUNDS: Final = 4
"""How often forms are chosen, at most."""
_CLOSE: Final = 0.01
"""The share of the budget that may be left where forms are not chosen again."""


def fitted(options: CompileOptions, lowered: Lowered) -> Emission:
    """The model compiled as `lowered` does it: as it is, or with forms of kernels for which it fits `options.flash`;
    where none do, with the smallest ones."""
    fast = lowered(options)
    if options.flash is None or not _is_chosen(options) or _size(fast) <= options.flash:
        return fast
    if options.ram is None and fast.uncompiled.plan.rolls:  # kernels that roll have little code in common
        fast = lowered(replace(options, forms=KernelForms((), ())))
        if _size(fast) <= options.flash:
            return fast
    if fast.info.operator_api != "unpacked":
        return fast
    return _Search(options, options.flash, lowered, fast).best()


def _is_chosen(options: CompileOptions) -> bool:
    """Whether kernels may have several forms: on a core without vectors, where they are chosen in this compilation."""
    return CORE.holds(options) and not options.is_small and has_phase(options, "schedule")


def _size(emission: Emission) -> int:
    footprint = emission.info.footprint
    assert footprint is not None
    return footprint.flash_bytes


@dataclass(frozen=True)
class _Calls:
    """The calls of kernels by an entry: of each the names of nodes that no other call has, or all of its names; which
    function it calls; its instructions."""

    names: list[frozenset[str]]
    symbols: list[str]
    instructions: list[float]

    @staticmethod
    def of(emission: Emission) -> _Calls:
        compilation = emission.compilation
        calls = kernel_calls(compilation.module)
        counted = instructions_of_calls(compilation.module, compilation.options.target)
        named = [node_names(call.location) for call in calls]
        often = Counter(name for names in named for name in {*names})
        own = [frozenset(name for name in names if often[name] == 1) or frozenset(names) for names in named]
        return _Calls(own, [call.callee.string_value() for call in calls], [counted.get(each, 0.0) for each in calls])

    def form(self, numbers: list[int]) -> Form:
        symbols = frozenset(self.symbols[number] for number in numbers)
        return Form(symbols, len(numbers), sum(self.instructions[number] for number in numbers))


class _Search:
    """The search for forms of one model."""

    def __init__(self, options: CompileOptions, allowed: int, lowered: Lowered, fast: Emission) -> None:
        self._options, self._allowed, self._lowered = options, allowed, lowered
        names = tuple(dict.fromkeys(name for each in _Calls.of(fast).names for name in sorted(each)))
        self._small = self._compiled(KernelForms(names, ()))
        # at -O1 fast kernels are shared
        shared = fast if options.optimize == "1" else self._compiled(KernelForms((), names))
        emissions = {SMALL: self._small, SHARED: shared, FAST: fast}
        calls = [_Calls.of(emissions[form]) for form in sorted(emissions)]
        self._programs = [_program(emissions[form]) for form in sorted(emissions)]
        groups = _joined([each for one in calls for each in one.names])
        self._names: list[tuple[str, ...]] = []
        self._units: list[Unit] = []
        for group in groups:
            own = [[n for n, names in enumerate(one.names) if names & group] for one in calls]
            self._names.append(tuple(sorted(group)))
            self._units.append([one.form(numbers) for one, numbers in zip(calls, own, strict=True)])

    def best(self) -> Emission:
        """The model that fits, of the fewest instructions that were found; the smallest where nothing does."""
        limit, allowed = float(self._allowed), self._allowed
        tried: set[tuple[int, ...]] = set()
        found: list[tuple[float, int, Emission]] = []
        for number in range(_ROUNDS):
            forms = choose(self._units, self._programs, limit)
            if forms is None or forms in tried:
                break
            tried.add(forms)
            emission = self._compiled(self._kernel_forms(forms))
            rest = allowed - _size(emission)
            if rest >= 0:
                found.append((instructions(self._units, forms), number, emission))
            if 0 <= rest <= _CLOSE * allowed:
                break
            limit += rest
        slower, _, emission = min(found, key=lambda each: each[:2], default=(self._instructions(SMALL), 0, self._small))
        fastest = max(self._instructions(FAST), 1.0)
        totals = self._programs[FAST].total, self._programs[SMALL].total
        ratios = slower / fastest, self._instructions(SMALL) / fastest
        emission.info = replace(
            emission.info, flash_goal=FlashGoal(allowed, *totals, *(round(each, 3) for each in ratios))
        )
        return emission

    def _instructions(self, form: int) -> float:
        return instructions(self._units, [form] * len(self._units))

    def _compiled(self, forms: KernelForms) -> Emission:
        return self._lowered(replace(self._options, forms=forms))

    def _kernel_forms(self, forms: tuple[int, ...]) -> KernelForms:
        named: defaultdict[int, list[str]] = defaultdict(list)
        for names, form in zip(self._names, forms, strict=True):
            named[SHARED if form == FAST and self._options.optimize == "1" else form] += names
        return KernelForms(tuple(named[SMALL]), tuple(named[SHARED]))


def _program(emission: Emission) -> Program:
    footprint, module = emission.info.footprint, emission.compilation.module
    assert footprint is not None
    sizes: Counter[str] = Counter()
    for function in footprint.functions:
        sizes[function.symbol.partition(".")[0]] += function.text_bytes or 0  # of clones, too
    around = sizes[entry(module).sym_name.data] / max(len(kernel_calls(module)), 1)
    return Program(sizes, around, footprint.flash_bytes)


def _joined(sets: list[frozenset[str]]) -> list[frozenset[str]]:
    """The sets, those with a common element as one, in order of their first."""
    found: list[frozenset[str]] = []
    for each in filter(None, sets):
        common = [group for group in found if group & each]
        if common:
            found[found.index(common[0])] = each.union(*common)
            found = [group for group in found if group not in common[1:]]
        else:
            found.append(each)
    return found
