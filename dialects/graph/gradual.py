"""Reductions that take an operand slice after slice, as it comes: between two slices there are only partial results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import ParallelOp


@dataclass(frozen=True)
class GradualSlices:
    """The positions along an axis of the first operand that are reduced one after the other, at equal distances."""

    axis: int
    first: int
    step: int
    count: int


class GradualOp(ParallelOp, ABC):
    """Each element of the result reduces elements of the first operand; those of a slice are neighbours in the order
    in which they are combined, so that partial results after whole slices lead to the same bits."""

    @abstractmethod
    def slices(self) -> GradualSlices | None:
        """The slices that every element of the result reduces; None where elements do not reduce the same ones."""

    @abstractmethod
    def start(self, b: Builder) -> list[Scalar]:
        """The partial results before the first slice."""

    @abstractmethod
    def after(
        self, b: Builder, index: Sequence[Scalar], number: Scalar, reads: Sequence[Reader], partial: list[Scalar]
    ) -> list[Scalar]:
        """The partial results for the element at `index` after the slice with a number."""

    @abstractmethod
    def total(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], partial: list[Scalar]) -> Scalar:
        """The element at `index` from the partial results after all slices; reads all operands but the first."""
