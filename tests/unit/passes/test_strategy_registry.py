"""What strategies propose is what they can follow."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.schedules import ElementwiseSchedule, Schedule, WindowSchedule
from aotc.errors import CompileError
from aotc.machines.families import X86_AVX512
from aotc.machines.machine import Machine
from aotc.passes.kernel import strategy
from aotc.passes.kernel.strategy import KernelStrategy, choose_schedule


class _Careless(KernelStrategy[SqrtOp]):
    SCHEDULES = (WindowSchedule,)

    def schedule(self, op: SqrtOp, machine: Machine) -> Schedule | None:
        return ElementwiseSchedule(16, 4)


class _Careful(_Careless):
    SCHEDULES = (ElementwiseSchedule,)


def _chosen(monkeypatch: pytest.MonkeyPatch, known: KernelStrategy[SqrtOp]) -> Schedule | None:
    monkeypatch.setattr(strategy, "strategies_of", lambda op_class: (known,))
    op = SqrtOp.get(Block(arg_types=[TensorType(f32, [8])]).args[0])
    return choose_schedule(op, X86_AVX512)


def test_a_schedule_must_be_of_a_kind_that_the_strategy_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _chosen(monkeypatch, _Careful()) == ElementwiseSchedule(16, 4)
    with pytest.raises(CompileError, match="broken-package"):
        _chosen(monkeypatch, _Careless())
