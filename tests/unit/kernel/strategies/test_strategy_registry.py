"""Schedules that strategies propose are some that they can follow, and the cheapest is chosen."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from aotc.dialects.graph.functions import FunctionOp, SqrtOp
from aotc.dialects.graph.schedules import ElementwiseSchedule, Schedule, WindowSchedule
from aotc.errors import CompileError
from aotc.machines.families import CORTEX_M4F, X86_AVX512
from aotc.machines.machine import Core, Machine
from aotc.passes.kernel import strategy
from aotc.passes.kernel.strategy import KernelStrategy, choose_schedule


class _Careless(KernelStrategy[FunctionOp]):
    SCHEDULES = (WindowSchedule,)

    def schedule(self, op: FunctionOp, machine: Machine) -> Schedule | None:
        return ElementwiseSchedule(16, 4)


class _Careful(_Careless):
    SCHEDULES = (ElementwiseSchedule,)


def _chosen(monkeypatch: pytest.MonkeyPatch, known: KernelStrategy[FunctionOp]) -> Schedule | None:
    monkeypatch.setattr(strategy, "strategies_of", lambda op_class: (known,))
    op = SqrtOp.get(Block(arg_types=[TensorType(f32, [8])]).args[0])
    return choose_schedule(op, X86_AVX512)


def test_a_schedule_must_be_of_a_kind_that_the_strategy_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _chosen(monkeypatch, _Careful()) == ElementwiseSchedule(16, 4)
    with pytest.raises(CompileError, match="broken-package"):
        _chosen(monkeypatch, _Careless())


class _Asked(KernelStrategy[FunctionOp]):
    """Proposes a schedule of so many registers, at a cost."""

    SCHEDULES = (ElementwiseSchedule,)

    def __init__(self, registers: int, cycles: float, *, on_vectors: bool) -> None:
        self.ON_VECTORS = on_vectors  # pyright: ignore[reportAttributeAccessIssue, reportConstantRedefinition]
        self._registers, self._cycles = registers, cycles

    def schedule(self, op: FunctionOp, core: Core) -> Schedule:
        return ElementwiseSchedule(1, self._registers)

    def cost(self, op: FunctionOp, schedule: Schedule, core: Core) -> float:
        return self._cycles


@pytest.mark.parametrize("core", [CORTEX_M4F, X86_AVX512], ids=lambda core: core.name)
@pytest.mark.parametrize(("costs", "chosen"), [((3, 2, 5), 2), ((2, 3, 5), 1), ((3, 0, 5), 2), ((2, 2, 2), 1)])
def test_the_cheapest_is_chosen_on_every_core(
    monkeypatch: pytest.MonkeyPatch, core: Core, costs: tuple[float, ...], chosen: int
) -> None:
    """The first of those that cost as much; those for the other kind of core are not asked."""
    on_vectors = isinstance(core, Machine)
    known = [_Asked(number, cycles, on_vectors=on_vectors) for number, cycles in enumerate(costs, 1)]
    other = _Asked(9, -1, on_vectors=not on_vectors)
    monkeypatch.setattr(strategy, "strategies_of", lambda op_class: (other, *known))
    op = SqrtOp.get(Block(arg_types=[TensorType(f32, [8])]).args[0])
    assert choose_schedule(op, core) == ElementwiseSchedule(1, chosen)
