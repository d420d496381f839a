"""Calls of a model with open shapes: to what was compiled for their extents, which is made and kept as they arrive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aotc.compiler.dynamic.interface import Array, Buckets, Given, Interface, Shapes, cut, is_known, padded, shape_at
from aotc.compiler.dynamic.specializing import Recipe, Specialization
from aotc.errors import AotcError, CompileError, UsageError
from aotc.executor.tensors import as_array
from aotc.executor.turns import reentrant_turn
from aotc.model.dlpack import dtype_of
from aotc.model.extents import OpenTensor
from aotc.model.metadata import TensorInfo
from aotc.vm import Executable, VirtualMachine, VMError

if TYPE_CHECKING:
    from aotc.executor import CompiledModel

logger = logging.getLogger(__name__)

_MOST_ROUTES = 4096
"""Shapes of calls that are remembered; with buckets there are more of them than of what is compiled."""


Key: TypeAlias = "tuple[tuple[int, ...] | bytes, ...]"
"""The shapes of all inputs, and behind them the values of those whose values are compiled for."""


@dataclass(eq=False)
class _Cached:
    """A model that is compiled for fixed shapes."""

    model: CompiledModel
    shapes: Shapes
    used: int
    """When it was called last, on a clock of calls."""


@dataclass(frozen=True)
class _Route:
    """How calls with inputs of some shapes are answered."""

    cached: _Cached
    is_plain: bool
    """The compiled model has these inputs, and its outputs are exact."""
    inputs: Sequence[tuple[int, tuple[int, ...]]]
    """Of its inputs: which of the caller's, and the shape."""
    outputs: Mapping[str, tuple[int, ...]]
    """The shapes of outputs that are longer than what was asked for."""

    def run(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """The outputs for arrays of these shapes, data-dependent extents exact."""
        model = self.cached.model
        if self.is_plain:
            return model(*arrays)
        results = model(*(padded(arrays[place], shape) for place, shape in self.inputs))
        for name, shape in self.outputs.items():
            results[name] = cut(results[name], shape)
        return exact(results, model.outputs)


def exact(results: dict[str, Array], outputs: Sequence[TensorInfo | OpenTensor]) -> dict[str, Array]:
    """`results` of a compiled model, where outputs of data-dependent extents are cut to what is valid of them, and
    the counts are left out."""
    for tensor in outputs:
        if isinstance(tensor, TensorInfo) and tensor.counted_axis is not None:
            found = results[tensor.name]
            there = int(results.pop(f"{tensor.name}_count"))
            results[tensor.name] = found[(*(slice(None),) * tensor.counted_axis, slice(there))].copy()
    return results


class Dispatcher:
    """The state that all instances of a model with open shapes share. Threads may call it at the same time; what is new
    to it is compiled by one of them, while calls of known shapes go on."""

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
            raise UsageError("out-of-range", f"max_shapes={max_shapes}", "what is called has to be kept", "1 or more")
        self.name = recipe.name
        self.interface = interface
        self.buckets = Buckets.checked(buckets, interface)
        self._recipe = recipe
        self._max_shapes = max_shapes
        self._on_compile = on_compile
        self._suggested = False
        self._clock = count()
        self._values = self._places()
        """The places of the inputs whose values are compiled for."""
        self.names = [each.name for each in interface.inputs]
        """Of the inputs."""
        self._dtypes = [dtype_of(each.dtype) for each in interface.inputs]
        self._routes: dict[Key, _Route] = {}
        self._cached: dict[Key, _Cached] = {}
        self._turn = reentrant_turn()
        """Held while something is compiled, or the machine runs, which serves one call at a time."""
        self._machine: VirtualMachine | None = None

    def call(self, values: Sequence[Any]) -> dict[str, Array]:
        """The outputs for inputs in order. Raises TypeError, ValueError, and as compiling does."""
        arrays = [value if isinstance(value, np.ndarray) else as_array(value) for value in values]
        key: Key = tuple([array.shape for array in arrays])  # a list is faster than a generator
        route = self._routes.get(_key(key, arrays, self._values) if self._values else key)
        if route is None:
            return self._first(arrays)
        route.cached.used = next(self._clock)
        if route.is_plain and [array.dtype for array in arrays] == self._dtypes:
            return route.cached.model.computed(arrays)
        return route.run(arrays)

    def at(self, extents: Mapping[str, int]) -> CompiledModel:
        """The compiled model that serves calls with these open dimensions. Raises UsageError, ValueError, and as
        compiling does."""
        if self._values:
            names = ", ".join(self.interface.inputs[place].name for place in self._values)
            fix = "call the model, which compiles for them"
            raise UsageError("open-values", f"the values of {names} are open", fix=fix)
        shapes = self.interface.shapes_at(extents)
        return self._route(shapes, shapes, {}, dict(extents)).cached.model

    def bound(self, values: Sequence[Any]) -> tuple[CompiledModel, list[Array]]:
        """The compiled model that has the shapes of these inputs, and the inputs as arrays.

        Raises as `call`, and ValueError where a bucket is larger, or extents of outputs are data-dependent: a bound
        call has its outputs where they are.
        """
        arrays = [as_array(value) for value in values]
        route = self._route_of(arrays)
        if any(arrays[place].shape != shape for place, shape in route.inputs):
            raise ValueError(
                f"{self.name} is compiled for the next bucket; bind inputs of its shapes, or call the model"
            )
        if any(tensor.counted_axis is not None for tensor in route.cached.model.outputs):
            raise ValueError(f"outputs of {self.name} have data-dependent extents; call the model, or bind `at(..)`")
        return route.cached.model, [arrays[place] for place, _ in route.inputs]

    @property
    def cached(self) -> list[Shapes]:
        """The shapes of inputs that there is code for, the least recently used first."""
        with self._turn:
            return [each.shapes for each in sorted(self._cached.values(), key=lambda each: each.used)]

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights of all that is kept, each once."""
        return self._recipe.weights.nbytes

    # The first call of some shapes

    def _first(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """A call through bytecode. What it needs is compiled before, so that errors are what they are."""
        self._route_of(arrays)
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
        """Functions that the bytecode calls."""
        return {f"{self.name}.kernels": self._kernels}

    def _kernels(self, *operands: Any) -> dict[str, Array]:
        """Compute on inputs; outputs that are given are written, and among those that are returned. The extents behind
        them are those of the inputs, for kernels that are not compiled for each."""
        interface = self.interface
        inputs = operands[: len(interface.inputs)]
        known = [tensor for tensor in interface.outputs if is_known(tensor)]
        outputs = operands[len(inputs) : len(inputs) + len(known)]
        route = self._route_of(inputs)
        route.cached.used = next(self._clock)
        results = route.run(inputs)
        for tensor, given in zip(known, outputs, strict=True):
            given[...] = results[tensor.name]
            results[tensor.name] = given
        return results

    def _route_of(self, arrays: Sequence[Array]) -> _Route:
        """How a call with these inputs is answered. Raises TypeError, ValueError, and as compiling does."""
        extents = self.interface.extents_in(arrays)
        shapes = tuple(array.shape for array in arrays)
        while True:
            places = self._values
            values = {self.interface.inputs[place].name: arrays[place] for place in places}
            try:
                return self._route(_key(shapes, arrays, places), shapes, values, extents)
            except CompileError as error:
                if not self._follow(error.waits_for) and places == self._values:
                    raise

    def _follow(self, names: Sequence[str]) -> bool:
        """From now on compile for the values of these inputs, too; whether that is new."""
        with self._turn:
            if self._recipe.values.issuperset(names):
                return False
            self._recipe.values |= {*names}
            self._values = self._places()
            self._routes.clear()
            self._cached.clear()
            return True

    def _places(self) -> list[int]:
        return [place for place, each in enumerate(self.interface.inputs) if each.name in self._recipe.values]

    def _route(self, key: Key, shapes: Shapes, values: Mapping[str, Array], extents: Mapping[str, int]) -> _Route:
        """How calls of a key are answered: inputs of these shapes, some of these values, in which the open dimensions
        are `extents`."""
        with self._turn:
            if (route := self._routes.get(key)) is not None:
                return route
            rounded = self.buckets.rounded(extents)
            inside = shapes if rounded == extents else self.interface.shapes_at(rounded)
            name: Key = (*inside, *key[len(shapes) :])
            cached, news = self._cached.get(name), None
            if cached is None:
                news = self._compiled(name, inside, values, rounded)
                cached = self._cached[name]
            longer = [each for each in self.interface.outputs if shape_at(each, extents) != shape_at(each, rounded)]
            cuts = {each.name: shape for each in longer if (shape := shape_at(each, extents)) is not None}
            counted = any(tensor.counted_axis is not None for tensor in cached.model.outputs)
            given = [(place, shape) for place, shape in enumerate(inside) if self.names[place] not in values]
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            is_plain = inside == shapes and not counted and not values
            route = self._routes[key] = _Route(cached, is_plain, given, cuts)
        if news is not None:
            shown = ", ".join(f"{name} = {extent}" for name, extent in news.extents.items()) or "its shapes"
            logger.info("%s for %s in %.3f s", self.name, shown, news.seconds)
            if self._on_compile is not None:
                self._on_compile(news)
        return route

    def _compiled(
        self, key: Key, shapes: Shapes, values: Mapping[str, Array], extents: Mapping[str, int]
    ) -> Specialization:
        """Compile for shapes and values, and keep it in the place of the least recently used."""
        given = {name: shape for name, shape in zip(self.names, shapes, strict=True) if name not in values}
        model, seconds, from_cache = self._recipe.compiled(given, values)
        self._compare(model.outputs, extents)
        if len(self._cached) >= self._max_shapes:
            self._suggest_buckets(shapes)
        while len(self._cached) >= self._max_shapes:
            gone = self._cached.pop(min(self._cached, key=lambda each: self._cached[each].used))
            self._routes = {each: route for each, route in self._routes.items() if route.cached is not gone}
        self._cached[key] = _Cached(model, shapes, next(self._clock))
        return Specialization(extents, seconds, from_cache)

    def _suggest_buckets(self, shapes: Shapes) -> None:
        """Say once that code for a shape makes room for that of another, where the extents may be rounded up."""
        if self._suggested or self.buckets.of or all(each.shapes == shapes for each in self._cached.values()):
            return
        self._suggested = True
        example = ", ".join(f"{name!r}: [64, 128, ..]" for name in self.interface.dims)
        logger.warning(
            "%s: more shapes arrive than the %d that code is kept for, and each is compiled for; max_shapes "
            "keeps more, and buckets={%s} rounds extents up, where the model has a mask or computes each place alone",
            self.name,
            self._max_shapes,
            example,
        )

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
                    raise UsageError("untraceable-extent", what, "what is padded could not be cut off", fix)
                logger.warning("%s: %s", self.name, what)
        if wrong:
            left = [replace(each, shape=None) if each.name in wrong else each for each in self.interface.outputs]
            self.interface, self._machine = replace(self.interface, outputs=tuple(left)), None


def _key(shapes: Key, arrays: Sequence[Array], places: Sequence[int]) -> Key:
    return (*shapes, *(arrays[place].tobytes() for place in places))
