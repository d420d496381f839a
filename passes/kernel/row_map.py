"""The rows of an operand that are needed for rows of a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.loop_builder import LoopBuilder

Steps: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""A number for each step."""


@dataclass(frozen=True)
class RowMap(ABC):
    """How rows of a result depend on those of an operand: both grow, or stay, with the other."""

    axis: int
    """Of the operand, that along which its rows lie."""
    unit: int = field(default=1, kw_only=True)
    """How many neighbours along that axis are of a row."""

    @property
    @abstractmethod
    def extent(self) -> int:
        """How many rows the operand has."""

    @abstractmethod
    def available(self, rows: Steps) -> Steps:
        """How many rows can be computed where so many of the operand are there, those behind the last one included."""

    @abstractmethod
    def available_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        """As `available`, where kernels run."""

    @abstractmethod
    def first(self, rows: Steps) -> Steps:
        """The first row of the operand that is needed where so many are computed."""

    @abstractmethod
    def first_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        """As `first`, where kernels run."""
