"""The results of operations on arrays, as their `element` and `loops` define them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType

from aotc.dialects.array_builder import ArrayBuilder
from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import numpy_dtype

Element = Callable[[Builder, Sequence[Scalar], Sequence[Reader]], Scalar]


def evaluate_element(element: Element, operands: Sequence[Array], result: TensorType, *, encoded: bool) -> Array:
    """The result of an operation whose elements are `element`, which reads encoded elements as they are where
    `encoded`. Raises NotEvaluable."""
    shape, kind = result.get_shape(), result.get_element_type()
    b = ArrayBuilder(math.prod(shape))
    reads = [b.reader(operand, encoded=encoded) for operand in operands]
    found = np.empty(shape, numpy_dtype(kind))

    def at(index: list[Scalar]) -> None:
        nonlocal found
        found = np.broadcast_to(b.stored(element(b, index, reads), kind), shape)

    with np.errstate(all="ignore"):
        b.parallel_for(shape, at)
    return found


def evaluate_places(element: Element, operands: Sequence[Array], result: TensorType, *, encoded: bool) -> Array:
    """As `evaluate_element`, of one that reads operands at its own place alone, at the places of arrays that broadcast.
    Raises NotEvaluable."""
    kind = result.get_element_type()
    b = ArrayBuilder(sum(operand.size for operand in operands))
    reads = [b.single(operand, encoded=encoded) for operand in operands]
    with np.errstate(all="ignore"):
        return b.stored(element(b, [b.index(0)] * len(result.get_shape()), reads), kind)


def evaluate_loops(
    loops: Callable[[Builder, Sequence[Reader], Sequence[Writer]], None],
    operands: Sequence[Array],
    results: Sequence[TensorType],
    scratch: int,
) -> list[Array]:
    """The results of an operation with a loop nest, of which the last `scratch` are buffers. Raises NotEvaluable."""
    kinds = [result.get_element_type() for result in results]
    found = [np.zeros(result.get_shape(), numpy_dtype(kind)) for result, kind in zip(results, kinds, strict=True)]
    b = ArrayBuilder()
    reads = [b.reader(operand) for operand in operands]
    reads += [b.reader(buffer, changes=True) for buffer in found[len(found) - scratch :]]
    with np.errstate(all="ignore"):
        loops(b, reads, [b.writer(array, kind) for array, kind in zip(found, kinds, strict=True)])
    return found
