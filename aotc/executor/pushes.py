"""Rows of an input that come one after the other: `CompiledModel.push`, and `stream` over all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aotc.executor.native import Array, NativeModel
from aotc.executor.step import Workspaces
from aotc.executor.tensors import as_array
from aotc.model.metadata import RowsInfo, TensorInfo


class Pushes:
    """The rows that one instance of a model has been given since it gave outputs, and what else it computes with."""

    def __init__(self, native: NativeModel, workspaces: Workspaces) -> None:
        streamed = native.info.streamed
        if streamed is None or streamed.rows is None:
            raise TypeError(f"{native.info.name} takes no input by rows; compile it with stream={{NAME: ROWS}}")
        self.tensor: TensorInfo = streamed
        self.rows: RowsInfo = streamed.rows
        self._native, self._workspaces = native, workspaces
        self._place = native.info.inputs.index(streamed)
        self._given: Sequence[Array] = ()
        self._outputs: Sequence[Array] = ()

    @property
    def others(self) -> tuple[TensorInfo, ...]:
        """The inputs that come as a whole."""
        return tuple(tensor for tensor in self._native.info.inputs if tensor is not self.tensor)

    def begin(self, others: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Say what the rows from the first to the last are computed with, and where results go."""
        self._given, self._outputs = others, outputs

    def checked(self, value: Any, dtype: np.dtype[Any]) -> Array:
        """Rows as an array of the rank of the input, contiguous; the axes in front of them, of one position each, may
        be left out. Raises TypeError, ValueError."""
        array, name, axis = as_array(value), self.tensor.name, self.rows.axis
        row = self.tensor.shape[axis + 1 :]
        if array.dtype != dtype:
            raise TypeError(f"rows of {name!r} have dtype {array.dtype}, expected {dtype}")
        if array.ndim == len(row) + 1:
            array = array.reshape((1,) * axis + array.shape)
        if array.ndim != len(self.tensor.shape) or array.shape[:axis] != (1,) * axis or array.shape[axis + 1 :] != row:
            raise ValueError(
                f"rows of {name!r} have shape {list(array.shape)}, expected {['n', *row]}".replace("'", "")
            )
        count, came = array.shape[axis], self._workspaces.came
        if not 1 <= count <= self.rows.most:
            raise ValueError(f"{count} rows of {name!r}; 1 to {self.rows.most} come at once")
        if came + count > self.rows.count:
            raise ValueError(f"{count} rows of {name!r} behind {came}; there are {self.rows.count}")
        return np.ascontiguousarray(array)

    def push(self, rows: Array) -> Sequence[Array] | None:
        """Go on with checked rows; the outputs where these are the last ones. Raises RunError."""
        inputs = [*self._given[: self._place], rows, *self._given[self._place :]]
        return self._outputs if self._workspaces.push(inputs, self._outputs) else None


def each_run(model: Any, rows: Iterable[Any], others: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """The outputs of one run after the other of a model that is given `rows`, some at a time. Raises ValueError where
    they end within a run."""
    for some in rows:
        if (outputs := model.push(some, **others)) is not None:
            yield outputs
    if came := model.rows_pushed:
        raise ValueError(f"the rows end within a run: {came} have come since the last outputs")
