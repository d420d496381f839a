"""TFLite Micro's arithmetic in numpy, operator by operator: a specification that is tested against its interpreter.

`Reference(graphs)` runs a model of `lite_model` by the functions that these modules register with `computes`; integers
come out bit for bit, floats as near as their sums allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from lite_model import Graph

from lite_reference.fixed import Array
from lite_reference.nodes import REFERENCES, Memory

_MODULES = """
    arithmetic comparisons control curves functions movement pools products quantization recurrent reductions resizing
    signal streams detection
"""
for _module in _MODULES.split():
    import_module(f"lite_reference.{_module}")


class Reference:
    """A model of subgraphs in numpy, called as the interpreters of `lite_oracle` are."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = graphs
        self.reset()

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs of a call."""
        return self._memory.run(0, inputs)

    def reset(self) -> None:
        """Make states what they were at first."""
        self._memory = Memory(self._graphs)


__all__ = ["REFERENCES", "Reference"]
