"""The result of an instruction in numpy, by its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np

from aotc.machines.instructions.rows import Instruction, Lanes
from aotc.machines.instructions.values import Group, Operation, Value, bits_of

Array = np.ndarray[Any, Any]

_KINDS: Final = {"s": "i", "u": "u", "f": "f"}
_FUNCTIONS: Final[dict[Operation, Callable[..., Array]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "select": np.where,
}


def numpy_type(dtype: str) -> np.dtype[Any]:
    """numpy's type."""
    return np.dtype(bool) if dtype == "b1" else np.dtype(f"{_KINDS[dtype[0]]}{bits_of(dtype) // 8}")


class ArrayValue(Value):
    """Many numbers at once; the last axis is lanes."""

    def __init__(self, array: Array, dtype: str) -> None:
        super().__init__(dtype)
        self.array = array.astype(numpy_type(dtype), copy=False)

    @property
    def lanes(self) -> int:
        return self.array.shape[-1]

    def made(self, name: Operation, dtype: str, *operands: Self) -> Self:
        arrays = [each.array for each in operands]
        if name == "reinterpret":
            return type(self)(np.ascontiguousarray(arrays[0]).view(numpy_type(dtype)), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            converts = name == "convert"
            return type(self)(arrays[0].astype(numpy_type(dtype)) if converts else _FUNCTIONS[name](*arrays), dtype)

    def number(self, value: float, dtype: str) -> Self:
        if dtype[0] in "su":  # wraps
            return type(self)(np.full_like(self.array, 1, dtype=np.int64) * int(value), dtype)
        return type(self)(np.full_like(self.array, value, dtype=numpy_type(dtype)), dtype)

    def shuffle(self, lanes: Sequence[int], other: Self | None = None) -> Self:
        array = self.array if other is None else np.concatenate((self.array, other.array), axis=-1)
        return type(self)(array[..., list(lanes)], self.dtype)

    def among(self, group: Group[Self]) -> Self:
        values = np.stack([each.array for each in group], axis=-1)
        found = np.take_along_axis(values, self.array[..., None].astype(np.intp), axis=-1)
        return type(self)(found[..., 0], group[0].dtype)


def evaluate(row: Instruction, operands: Sequence[Array]) -> Array:
    """The result of registers, as arrays whose last axis is lanes; the bits of operands of integers are read as the
    instruction reads them."""
    arguments = [_split(array, form) for array, form in zip(operands, row.group[0], strict=True)]
    found = row.meaning(*arguments)
    lanes = [found] if isinstance(found, Value) else found
    flat = (value for each in lanes for value in ([each] if isinstance(each, Value) else each))
    arrays = [each.array for each in flat if isinstance(each, ArrayValue)]
    return np.stack(arrays, axis=-1).reshape(*operands[0].shape[:-1], row.result.count)


def _split(array: Array, form: Lanes) -> ArrayValue | Group[ArrayValue]:
    """Of a register the values of all groups: each, or each of those in a group."""
    typed = np.ascontiguousarray(array).view(numpy_type(form.dtype))
    values = [ArrayValue(typed[..., lane :: form.count], form.dtype) for lane in range(form.count)]
    return values[0] if form.count == 1 else Group(values)
