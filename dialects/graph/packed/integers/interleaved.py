"""Rows of weights side by side, in the order in which cores without vectors sum up several of them at once.

A kernel keeps the sums of some outputs in registers, and at each step takes the next weight, or the next word of four,
of each. With their weights next to each other one pointer goes through all of them, once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, ShapeError, element_type_of, shape_of


@dataclass(frozen=True)
class Interleaving:
    """Where weight e of row s of an output lies, of `outputs` with `rows` of `run` weights each.

    Blocks of `columns` outputs follow each other, the last one narrower. In a block, row after row: words of `word`
    weights, one of each output; the last word of each has what is left.
    """

    outputs: int
    rows: int
    run: int
    columns: int
    word: int

    @property
    def depth(self) -> int:
        """The weights of an output."""
        return self.rows * self.run

    @property
    def whole(self) -> int:
        """The weights of a row that are in whole words."""
        return self.run // self.word * self.word

    @property
    def full(self) -> int:
        """The outputs that are in blocks of `columns`."""
        return self.outputs // self.columns * self.columns

    def within(self, width: int, column: int, element: int) -> int:
        """The place in its row of weight `element` of output `column` of a block of `width`."""
        if element < self.whole:
            return (element // self.word * width + column) * self.word + element % self.word
        return self.whole * width + column * (self.run - self.whole) + element - self.whole

    def place(self, b: Builder, output: Scalar, row: Scalar, element: Scalar) -> Scalar:
        """Where a weight lies."""
        columns, one = b.index(self.columns), b.index(self.word)
        block = output / columns
        column = b.rem(output, columns)
        width: Scalar = columns
        if self.full < self.outputs:
            in_full = b.compare("lt", output, self.full)
            tail = b.index(self.outputs - self.full)
            width = b.select(in_full, columns, tail) if self.full else tail
        base = block * (self.columns * self.depth) + row * self.run * width
        if self.word == 1:
            return base + element * width + column
        short = base + self.whole * width + column * (self.run - self.whole) + (element - self.whole)
        if not self.whole:
            return short
        worded = base + (element / one * width + column) * self.word + b.rem(element, one)
        if self.whole == self.run:
            return worded
        return b.select(b.compare("lt", element, self.whole), worded, short)

    def order(self) -> Array:
        """For each place, the weight that lies there, counted through [outputs, rows, run]."""
        flat = np.arange(self.outputs * self.depth).reshape(self.outputs, self.rows, self.run)
        parts: list[Array] = []
        for start in range(0, self.outputs, self.columns):
            block = flat[start : start + self.columns]
            worded = block[..., : self.whole].reshape(len(block), self.rows, -1, self.word)
            words = worded.transpose(1, 2, 0, 3).reshape(self.rows, -1)
            short = block[..., self.whole :].transpose(1, 0, 2).reshape(self.rows, -1)
            parts.append(np.concatenate([words, short], axis=1).reshape(-1))
        return np.concatenate(parts) if parts else flat.reshape(-1)


@irdl_op_definition
class InterleaveWordsOp(ElementOp):
    """Weights [M, S, R], S rows of R for each of M outputs, in the order of `Interleaving`: [M * S * R]."""

    name = "graph.interleave_words"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)
    columns = prop_def(IntegerAttr[I64])
    word = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    @property
    def interleaving(self) -> Interleaving:
        """The order."""
        outputs, rows, run = shape_of(self.x)
        return Interleaving(outputs, rows, run, self.columns.value.data, self.word.value.data)

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        if len(shape) != 3:
            raise ShapeError(f"the weights must be [outputs, rows, run], found {list(shape)}")
        check_interleaving(self.columns.value.data, self.word.value.data)
        return [TensorType(element_type_of(self.x), [math.prod(shape)])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [np.ascontiguousarray(operands[0].reshape(-1)[self.interleaving.order()])]

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        (place,), order = index, self.interleaving
        block = place / max(order.columns * order.depth, 1)
        rest = place - block * (order.columns * order.depth)
        width = b.index(order.columns)
        if order.full < order.outputs:
            tail = b.index(order.outputs - order.full)
            width = b.select(b.compare("lt", block, order.full // order.columns), width, tail) if order.full else tail
        row = rest / (width * order.run)
        rest = rest - row * width * order.run

        def at(column: Scalar, element: Scalar) -> list[Scalar]:
            return [reads[0]([block * order.columns + column, row, element])]

        def single() -> list[Scalar]:
            element = rest / width
            return at(rest - element * width, element)

        def short() -> list[Scalar]:
            left, after = order.run - order.whole, rest - width * order.whole
            column = after / left
            return at(column, after - column * left + order.whole)

        def worded() -> list[Scalar]:
            number = rest / order.word
            step = number / width
            return at(number - step * width, step * order.word + b.rem(rest, b.index(order.word)))

        if order.word == 1:
            return single()[0]
        if not order.whole:
            return short()[0]
        if order.whole == order.run:
            return worded()[0]
        return b.when(b.compare("lt", rest, width * order.whole), worded, short)[0]


def check_interleaving(columns: int, word: int) -> None:
    """Raise ShapeError unless both are positive."""
    if columns < 1 or word < 1:
        raise ShapeError(f"columns and the elements of a word must be positive, found {columns} and {word}")
