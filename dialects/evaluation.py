"""The results of operations on arrays, as their `element` and `loops` define them; None where that is not evaluable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType

from aotc.dialects.array_builder import ArrayBuilder, NotEvaluable
from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import numpy_dtype

Element = Callable[[Builder, Sequence[Scalar], Sequence[Reader]], Scalar]
_Result = TypeVar("_Result")


def evaluate_element(element: Element, operands: Sequence[Array], result: TensorType, *, encoded: bool) -> Array | None:
    """The result of an operation whose elements are `element`, which reads encoded elements as they are where
    `encoded`; it may still have to be broadcast."""
    shape, kind = result.get_shape(), result.get_element_type()
    b = ArrayBuilder(math.prod(shape))

    def computed() -> Array:
        found = np.empty(shape, numpy_dtype(kind))
        reads = [b.reader(operand, encoded=encoded) for operand in operands]

        def at(index: list[Scalar]) -> None:
            nonlocal found
            found = b.stored(element(b, index, reads), kind)

        b.parallel_for(shape, at)
        return found

    return _evaluated(computed)


def evaluate_places(element: Element, operands: Sequence[Array], result: TensorType, *, encoded: bool) -> Array | None:
    """As `evaluate_element`, of one that reads operands at its own place alone, at the places of arrays that
    broadcast."""
    b = ArrayBuilder(sum(operand.size for operand in operands))
    index = [b.index(0)] * len(result.get_shape())

    def computed() -> Array:
        reads = [b.single(operand, encoded=encoded) for operand in operands]
        return b.stored(element(b, index, reads), result.get_element_type())

    return _evaluated(computed)


def evaluate_loops(
    loops: Callable[[Builder, Sequence[Reader], Sequence[Writer]], None],
    operands: Sequence[Array],
    results: Sequence[TensorType],
    scratch: int,
) -> list[Array] | None:
    """The results of an operation with a loop nest, of which the last `scratch` are buffers."""
    kinds = [result.get_element_type() for result in results]
    found = [np.zeros(result.get_shape(), numpy_dtype(kind)) for result, kind in zip(results, kinds, strict=True)]
    b = ArrayBuilder()

    def computed() -> list[Array]:
        reads = [b.reader(operand) for operand in operands]
        reads += [b.reader(buffer, changes=True) for buffer in found[len(found) - scratch :]]
        loops(b, reads, [b.writer(array, kind) for array, kind in zip(found, kinds, strict=True)])
        return found

    return _evaluated(computed)


def _evaluated(compute: Callable[[], _Result]) -> _Result | None:
    try:
        with np.errstate(all="ignore"):
            return compute()
    except NotEvaluable:
        return None
