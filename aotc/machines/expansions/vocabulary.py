"""The vocabulary of expansions: the instructions that there are, applied to values of any kind."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Generic, TypeVar

from aotc.machines.instructions.values import Value

V = TypeVar("V", bound=Value)


class Processor(ABC, Generic[V]):
    """The instructions `names` on values of class V."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)

    def has(self, name: str) -> bool:
        """Whether there is an instruction."""
        return name in self.names

    @abstractmethod
    def apply(self, name: str, *operands: V) -> V:
        """The result of an instruction that there is."""
