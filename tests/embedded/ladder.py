"""The footprint ladder: what each part of the packed convention costs, by compiler options alone (D25, D33)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from measuring import BOARDS, Measured, measure


@dataclass(frozen=True)
class Step:
    """A choice of conventions; each leaves something out that the one before it has."""

    name: str
    without: str
    options: dict[str, Any]

    @property
    def flags(self) -> str:
        """The options as a user writes them."""
        given = ((f"--{name.replace('_', '-')}", value) for name, value in self.options.items())
        return " ".join(flag if value is True else f"{flag} {value}" for flag, value in given)


def _packed(operators: str, **more: Any) -> dict[str, Any]:
    return {"interface_api": "packed", "operator_api": operators, **more, "export_operators": True}


STEPS = (
    Step("packed", "", _packed("packed")),
    Step("cpacked", "look-up by name", _packed("cpacked")),
    Step("values", "DLTensor", _packed("cpacked", operator_arguments="values")),
    Step("pointers", "AOTCValue", _packed("cpacked", operator_arguments="pointers")),
    Step("unpacked", "argument arrays", _packed("unpacked")),
    Step("micro", "packed entry", {"interface_api": "micro", "export_operators": True}),
    Step("typed", "entry by arrays", {"interface_api": "c", "export_operators": True}),
    Step("single unit", "operators others can call", {"interface_api": "c"}),
)


def climb(board: str, model: str, kind: str) -> tuple[Measured, ...]:
    """Each step measured on one case."""
    return tuple(measure(BOARDS[board], model, kind, count=1, **step.options) for step in STEPS)


def text(measured: Measured) -> int:
    """Code and constants of the whole program, in bytes."""
    return sum(sizes.text for sizes in measured.sizes.values())


def figures(measured: Measured) -> tuple[int, int, int]:
    """Of a program: text and peak stack in bytes, instructions of one inference."""
    return text(measured), measured.stack, measured.instructions
