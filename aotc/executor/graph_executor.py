"""The questions and timers of TVM's GraphExecutor, and how a model shows itself, for any object that has inputs and
outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Self

from aotc.executor.tensors import Named, position
from aotc.executor.timing import Repeats, Timing
from aotc.model.arguments import checks_kinds, require
from aotc.model.labels import Labels, is_text, with_labels


class GraphExecutor(ABC):
    """A model that can be asked about its inputs and outputs, and timed."""

    _labels: Mapping[str, Labels] = MappingProxyType({})
    """Of outputs that calls return as text."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name, an identifier."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Named]:
        """The inputs in order."""

    @property
    @abstractmethod
    def outputs(self) -> Sequence[Named]:
        """The outputs in order."""

    @abstractmethod
    def _note(self) -> str:
        """The line below its tensors on the page of a notebook."""

    def labelled(self) -> Self:
        """This instance, whose calls from now on return class labels that are text as arrays of text, not as numbers;
        bound calls, and what `set_input` and `run` work on, keep numbers."""
        self._labels = {each.name: each.labels for each in self.outputs if each.labels and is_text(each.dtype)}
        return self

    def _answer(self, results: dict[str, Any]) -> dict[str, Any]:
        """The results of a call as callers get them."""
        return results | {name: with_labels(results[name], labels) for name, labels in self._labels.items()}

    def __repr__(self) -> str:
        sides = (", ".join(map(str, tensors)) for tensors in (self.inputs, self.outputs))
        return f"<{type(self).__name__} {self.name}: {' -> '.join(sides)}>"

    def _repr_html_(self) -> str:
        """A table of the tensors."""
        rows = "".join((*_rows("input", self.inputs), *_rows("output", self.outputs)))
        head = "".join(f"<th>{title}</th>" for title in ("", "name", "dtype", "shape"))
        return (
            f"<table><caption>{type(self).__name__} <b>{escape(self.name)}</b></caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{escape(self._note())}</p>"
        )

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
        return self.inputs[self._input(index)].name

    def _input(self, which: str | int) -> int:
        return position(self.inputs, which, "input")

    def _output(self, which: str | int) -> int:
        return position(self.outputs, which, "output")

    def _placed(self, named: Mapping[str, Any], which: str | int | None = None, value: Any = None) -> dict[int, Any]:
        """Values by the positions of inputs: those of a call by name, and perhaps one by name or position."""
        values = {self._input(name): each for name, each in named.items()}
        if which is not None:
            place = self._input(which)
            if place in values:
                raise TypeError(f"two values for {self.inputs[place].name!r}")
            values[place] = value
        return values

    @checks_kinds
    def time_evaluator(
        self,
        func_name: str | int = "run",
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
    ) -> Callable[..., Timing]:
        """A function that times `repeat` runs of `number` calls, in seconds: of `run` on the inputs set with
        `set_input`, or of another function of the module on the arguments that it is given.

        `time_evaluator("run", dev, number=10)` and the others are the arguments of TVM (`Repeats` says what they do);
        `time_evaluator(10, 3)` is short for `number` and `repeat`. Raises ValueError, KeyError where there is no such
        function, TypeError for what is no device.
        """
        if isinstance(func_name, int):
            number, func_name = func_name, "run"
            repeat, dev = (dev, None) if isinstance(dev, int) else (repeat, dev)
        elif isinstance(dev, int):
            raise TypeError(f"dev is {dev}; a device is a tuple, as aotc.cpu()")
        cooldown = cooldown_interval_ms, repeats_to_cooldown
        repeats = Repeats(number, repeat, min_repeat_ms, limit_zero_time_iterations, *cooldown, cache_flush_bytes)
        return self._evaluator(func_name, dev, repeats)

    @abstractmethod
    def _evaluator(self, function: str, device: Any, repeats: Repeats) -> Callable[..., Timing]:
        """The timer of a function of the module on a device."""


def _index(tensors: Sequence[Named], name: str) -> int:
    require("name", name, str)
    return next((place for place, tensor in enumerate(tensors) if tensor.name == name), -1)


def _rows(side: str, tensors: Sequence[Named]) -> Iterator[str]:
    for each in tensors:
        extents = ["..."] if each.shape is None else ["?" if n is None else str(n) for n in each.shape]
        cells = (side, each.name, each.dtype, " x ".join(extents) or "scalar")
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
