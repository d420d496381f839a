"""Costs of sums of products of 8-bit integers: a machine as its dot product makes it."""

from __future__ import annotations

from dataclasses import replace

from aotc.machines.machine import Machine


def dot_machine(machine: Machine) -> Machine:
    """The machine, less the registers that widened factors take."""
    return replace(machine, registers=machine.registers - machine.dot.registers)
