"""Names and positions of inputs and outputs in models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from aotc.executor.tensors import Named, position
from aotc.model.arguments import require


class NamesAndPositions(ABC):
    """The questions of TVM's GraphExecutor about inputs and outputs, for any object that has these."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Named]:
        """The inputs in order."""

    @property
    @abstractmethod
    def outputs(self) -> Sequence[Named]:
        """The outputs in order."""

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.inputs)

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self.outputs)

    def get_input_index(self, name: str) -> int:
        """The position of an input, -1 where there is none of that name, as GraphExecutor has it."""
        return _index(self.inputs, name)

    def get_output_index(self, name: str) -> int:
        """The position of an output, -1 where there is none of that name."""
        return _index(self.outputs, name)

    def get_input_name(self, index: int) -> str:
        """The name of the input at a position."""
        return self.inputs[position(self.inputs, index, "input")].name


def _index(tensors: Sequence[Named], name: str) -> int:
    require("name", name, str)
    return next((place for place, tensor in enumerate(tensors) if tensor.name == name), -1)
