"""Calls of a model with open shapes: to what was compiled for their extents, which is made and kept as they arrive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from aotc.compiler.dynamic.buckets import Buckets, Given, cut, padded
from aotc.compiler.dynamic.interface import Array, Interface, Shapes, is_known, shape_at
from aotc.compiler.dynamic.specializing import Recipe, Specialization
from aotc.errors import AotcError, Problem, UsageError
from aotc.executor.tensors import as_array
from aotc.vm import Executable, VirtualMachine, VMError

if TYPE_CHECKING:
    from aotc.executor import CompiledModel
    from aotc.model.metadata import TensorInfo

logger = logging.getLogger(__name__)

_MOST_ROUTES = 4096
"""Shapes of calls that are remembered; with buckets there are more of them than of what is compiled."""


@dataclass(eq=False)
class _Kept:
    """A model that is compiled for fixed shapes."""

    model: CompiledModel
    used: int
    """When it was called last, on a clock of calls."""


@dataclass(frozen=True)
class _Route:
    """How calls with inputs of some shapes are answered."""

    kept: _Kept
    is_plain: bool
    """The compiled model has these shapes, and its outputs are exact."""
    padded: Shapes
    """The shapes of its inputs."""
    outputs: Mapping[str, tuple[int, ...]]
    """The shapes of outputs that are longer than what was asked for."""

    def run(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """The outputs for arrays of these shapes, each as long as the data say."""
        model = self.kept.model
        if self.is_plain:
            return model(*arrays)
        results = model(*(padded(array, shape) for array, shape in zip(arrays, self.padded, strict=True)))
        for name, shape in self.outputs.items():
            results[name] = cut(results[name], shape)
        return exact(results, model.outputs)


def exact(results: dict[str, Array], outputs: Sequence[TensorInfo]) -> dict[str, Array]:
    """`results` of a compiled model, where outputs that are as long as they may become are cut to what there is of
    them, and the counts are left out."""
    for tensor in outputs:
        if tensor.counted_axis is not None:
            found = results[tensor.name]
            there = int(results.pop(f"{tensor.name}_count"))
            results[tensor.name] = found[(*(slice(None),) * tensor.counted_axis, slice(there))].copy()
    return results


class Dispatcher:
    """What all instances of a model with open shapes share. Threads may call it at the same time; what is new to it is
    compiled by one of them, while calls of known shapes go on."""

    def __init__(
        self,
        recipe: Recipe,
        interface: Interface,
        buckets: Given,
        max_shapes: int,
        on_compile: Callable[[Specialization], None] | None,
    ) -> None:
        """Raises UsageError for buckets that cannot be, and fewer than one shape."""
        if max_shapes < 1:
            raise UsageError(Problem(f"max_shapes={max_shapes}", why="what is called has to be kept", fix="1 or more"))
        self.name = recipe.name
        self.interface = interface
        self.buckets = Buckets.checked(buckets, interface)
        self._recipe = recipe
        self._max_shapes = max_shapes
        self._on_compile = on_compile
        self._clock = count()
        self._routes: dict[Shapes, _Route] = {}
        self._kept: dict[Shapes, _Kept] = {}
        self._turn = RLock()
        """Held while something is compiled, or the machine runs, which serves one call at a time."""
        self._machine: VirtualMachine | None = None

    def call(self, values: Sequence[Any]) -> dict[str, Array]:
        """The outputs for inputs in order. Raises TypeError, ValueError, and as compiling does."""
        arrays = [value if isinstance(value, np.ndarray) else as_array(value) for value in values]
        route = self._routes.get(tuple([array.shape for array in arrays]))  # a list is faster than a generator
        if route is None:
            return self._first(arrays)
        route.kept.used = next(self._clock)
        return route.kept.model(*arrays) if route.is_plain else route.run(arrays)

    def at(self, extents: Mapping[str, int]) -> CompiledModel:
        """The compiled model that serves calls with these open dimensions. Raises UsageError, ValueError, and as
        compiling does."""
        return self._route(self.interface.shapes_at(extents), dict(extents)).kept.model

    def bound(self, values: Sequence[Any]) -> tuple[CompiledModel, list[Array]]:
        """The compiled model that has the shapes of these inputs, and the inputs as arrays.

        Raises as `call`, and ValueError where a bucket is larger, or outputs are as long as the data say: a bound call
        has its outputs where they are.
        """
        arrays = [value if isinstance(value, np.ndarray) else as_array(value) for value in values]
        shapes = tuple(array.shape for array in arrays)
        route = self._route(shapes, self.interface.extents_in(arrays))
        if route.padded != shapes:
            raise ValueError(
                f"{self.name} is compiled for the next bucket; bind inputs of its shapes, or call the model"
            )
        if not route.is_plain:
            raise ValueError(f"outputs of {self.name} are as long as the data say; call the model, or bind `at(..)`")
        return route.kept.model, arrays

    @property
    def kept(self) -> list[Shapes]:
        """The shapes of inputs that there is code for, the least recently used first."""
        with self._turn:
            return sorted(self._kept, key=lambda shapes: self._kept[shapes].used)

    # The first call of some shapes

    def _first(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """A call through bytecode. What it needs is compiled before, so that errors are what they are."""
        self._route(tuple(array.shape for array in arrays), self.interface.extents_in(arrays))
        with self._turn:
            try:
                return self._running()["main"](*arrays)
            except VMError as error:
                if isinstance(error.__cause__, AotcError) and not isinstance(error.__cause__, VMError):
                    raise error.__cause__ from None
                raise

    def _running(self) -> VirtualMachine:
        """The machine that runs the entry, made when it is needed."""
        from aotc.compiler.dynamic.program import program

        if self._machine is None:
            self._machine = VirtualMachine(program(self.interface, self.name), self.functions())
        return self._machine

    @property
    def executable(self) -> Executable:
        """The entry as bytecode."""
        with self._turn:
            return self._running().executable

    def functions(self) -> dict[str, Callable[..., Any]]:
        """What the bytecode calls."""
        return {f"{self.name}.kernels": self._kernels}

    def _kernels(self, *operands: Any) -> dict[str, Array]:
        """Compute on inputs; outputs that are given are written, and among those that are returned."""
        interface = self.interface
        inputs = operands[: len(interface.inputs)]
        known = [tensor for tensor in interface.outputs if is_known(tensor)]
        outputs = operands[len(inputs) : len(inputs) + len(known)]
        extents = dict(zip(interface.dims, operands[len(inputs) + len(outputs) :], strict=True))
        route = self._route(tuple(each.shape for each in inputs), extents)
        route.kept.used = next(self._clock)
        results = route.run(inputs)
        for tensor, given in zip(known, outputs, strict=True):
            given[...] = results[tensor.name]
            results[tensor.name] = given
        return results

    def _route(self, shapes: Shapes, extents: Mapping[str, int]) -> _Route:
        """How calls of these shapes are answered, where the open dimensions are `extents`."""
        with self._turn:
            if (route := self._routes.get(shapes)) is not None:
                return route
            rounded = self.buckets.rounded(extents)
            inside = shapes if rounded == extents else self.interface.shapes_at(rounded)
            kept, news = self._kept.get(inside), None
            if kept is None:
                kept, news = self._compiled(inside, rounded)
            cuts = {} if inside == shapes else self._cuts(extents, rounded)
            counted = any(tensor.counted_axis is not None for tensor in kept.model.outputs)
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            route = self._routes[shapes] = _Route(kept, inside == shapes and not counted, inside, cuts)
        if news is not None:
            logger.info("%s for %s in %.3f s", self.name, _listing(news.extents), news.seconds)
            if self._on_compile is not None:
                self._on_compile(news)
        return route

    def _cuts(self, extents: Mapping[str, int], rounded: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs that are longer where the dimensions are `rounded`."""
        pairs = {each.name: (shape_at(each, extents), shape_at(each, rounded)) for each in self.interface.outputs}
        return {name: shape for name, (shape, longer) in pairs.items() if shape is not None and shape != longer}

    def _compiled(self, shapes: Shapes, extents: Mapping[str, int]) -> tuple[_Kept, Specialization]:
        names = [tensor.name for tensor in self.interface.inputs]
        model, seconds, from_cache = self._recipe.compiled(dict(zip(names, shapes, strict=True)))
        self._compare(model.outputs, extents)
        while len(self._kept) >= self._max_shapes:
            oldest = min(self._kept, key=lambda each: self._kept[each].used)
            gone = self._kept.pop(oldest)
            self._routes = {key: route for key, route in self._routes.items() if route.kept is not gone}
        kept = self._kept[shapes] = _Kept(model, next(self._clock))
        return kept, Specialization(extents, seconds, from_cache)

    def _compare(self, outputs: Sequence[TensorInfo], extents: Mapping[str, int]) -> None:
        """Forget what the model declares of outputs and does not compute. Raises UsageError where buckets need it."""
        found = {tensor.name: tensor for tensor in outputs}
        wrong: list[str] = []
        for tensor in self.interface.outputs:
            actual = found.get(tensor.name)
            shape = shape_at(tensor, extents)
            if shape is not None and (actual is None or actual.shape != shape or actual.counted_axis is not None):
                wrong.append(tensor.name)
                computed = "a sequence" if actual is None else list(actual.shape)
                what = f"the model declares the output {tensor.name!r} as {tensor}, and computes {computed}"
                if self.buckets.of:
                    fix = "leave out the buckets, or export the model again"
                    raise UsageError(Problem(what, why="what is padded could not be cut off", fix=fix))
                logger.warning("%s: %s", self.name, what)
        if wrong:
            left = [replace(each, shape=None) if each.name in wrong else each for each in self.interface.outputs]
            self.interface, self._machine = replace(self.interface, outputs=tuple(left)), None


def _listing(extents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {extent}" for name, extent in extents.items()) or "its shapes"
