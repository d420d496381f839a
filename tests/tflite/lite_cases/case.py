"""One small model, and the inputs it is tried with."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from lite_model import Array, Graph, Tensor, write

RANDOM_INPUTS = 20
_REAL, _PLAIN = (-8.0, 8.0), (-10_000, 10_000)


@dataclass(frozen=True)
class Case:
    """A model, who says what it computes (a name of `ORACLES`), how near floats must be, and what inputs may be."""

    name: str
    graphs: Sequence[Graph]
    oracle: str = "micro"
    tolerance: float = 0
    """Greatest difference of floats, relative to the greatest output; 0 for equal bits."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Least and greatest element of inputs by name: else of their types, and of floats and plain int32 a few."""
    metadata: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def model(self) -> bytes:
        """The file."""
        return write(self.graphs, metadata=self.metadata)

    @property
    def codes(self) -> list[str]:
        """The operators of all subgraphs, each once, in order."""
        return list(dict.fromkeys(each.code for graph in self.graphs for each in graph.operators))

    @cached_property
    def calls(self) -> list[list[Array]]:
        """Inputs of several calls in a row: 20 random ones, and least, greatest, zero, ramp and alternating."""
        rng, graph = np.random.default_rng(zlib.crc32(self.name.encode())), self.graphs[0]
        tensors = [next(each for each in graph.tensors if each.name == name) for name in graph.inputs]
        return [[self._filled(each, rng, kind) for each in tensors] for kind in range(RANDOM_INPUTS + 5)]

    def _filled(self, tensor: Tensor, rng: np.random.Generator, kind: int) -> Array:
        shape, dtype = tensor.shape, np.dtype(tensor.dtype)
        if dtype.kind == "b":
            return [rng.integers(0, 2, shape) > 0, np.zeros(shape, bool), np.ones(shape, bool)][max(0, kind - 19) % 3]
        low, high = self._range(tensor, dtype)
        zero = np.clip(tensor.zero if tensor.scale is not None else 0, low, high)
        count = int(np.prod(shape))
        if kind < RANDOM_INPUTS:
            real = rng.uniform(low, high, shape)
            return (real if dtype.kind == "f" else rng.integers(int(low), int(high), shape, endpoint=True)).astype(
                dtype
            )
        flat = {
            20: lambda: np.full(count, low),
            21: lambda: np.full(count, high),
            22: lambda: np.full(count, zero),
            23: lambda: np.linspace(low, high, count),
            24: lambda: np.resize([low, high], count),
        }[kind]()
        return flat.reshape(shape).astype(dtype)

    def _range(self, tensor: Tensor, dtype: np.dtype[Any]) -> tuple[float, float]:
        if tensor.name in self.ranges:
            return self.ranges[tensor.name]
        if dtype.kind == "f":
            return _REAL
        if dtype.itemsize > 2 and tensor.scale is None:
            return _PLAIN
        return np.iinfo(dtype).min, np.iinfo(dtype).max


def tensor(shape: Sequence[int], dtype: str, scale: Any = None, zero: Any = 0, **more: Any) -> Tensor:
    """A tensor whose name its place in a node gives it."""
    return Tensor("", tuple(shape), dtype, scale, zero, **more)


def constant(data: Any, dtype: str | None = None, scale: Any = None, zero: Any = 0, **more: Any) -> Tensor:
    """A constant."""
    array = np.asarray(data)
    return Tensor("", array.shape, dtype or array.dtype.name, scale, zero, data=array, **more)


def indices(*values: int) -> Tensor:
    """A constant of int32 along one axis: axes, shapes and the like."""
    return constant(np.array(values, np.int32))


def single(
    name: str,
    code: str,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[Tensor],
    *,
    oracle: str = "micro",
    tolerance: float = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    **options: Any,
) -> Case:
    """A model of one node; its tensors are named x0, x1, .. and y0, y1, ..; constants are no inputs of the model."""
    graph = Graph()
    for letter, tensors in (("x", inputs), ("y", outputs)):
        for index, each in enumerate(tensors):
            if each is not None:
                each.name = f"{letter}{index}"
                graph.tensors.append(each)
    names = [None if each is None else each.name for each in inputs]
    graph.op(code, names, [each.name for each in outputs], **options)
    given = [each.name for each in inputs if each is not None and each.data is None and not each.variable]
    graph.ends(given, [each.name for each in outputs])
    return Case(name, [graph], oracle, tolerance, ranges or {})


def random(name: str) -> np.random.Generator:
    """Numbers that depend on the name of a case alone."""
    return np.random.default_rng(zlib.crc32(f"weights of {name}".encode()))
