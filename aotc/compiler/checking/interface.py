"""Arrays of callers and of the model where these differ: in layout, or integers in the place of real numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from aotc.dialects.dtypes import number_kind, numpy_dtype
from aotc.model.conventions import FIRST, from_model, to_model
from aotc.model.metadata import TensorInfo
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]


class Interface:
    """The inputs and outputs of a compiled model; a reference has the model's own."""

    def __init__(self, tensors: Iterable[TensorInfo], options: CompileOptions, own: Mapping[int, str] = FIRST) -> None:
        """Of the `tensors`, for a model whose `own` layouts these are."""
        self._tensors = {each.name: each for each in tensors if each.scale is not None and options.quantizes_io}
        self._inputs, self._outputs = (
            {name: layout for name, layout in layouts.items() if layout not in own.values()}
            for layouts in (options.input_layouts, options.output_layouts)
        )

    def given(self, name: str, array: Array, dtype: str) -> Array:
        """An input as the model has it, whose elements are of the type `dtype`."""
        if (layout := self._inputs.get(name)) is not None:
            array = array.transpose(to_model(layout))
        info = self._tensors.get(name)
        if info is not None and info.scale is not None and number_kind(np.dtype(dtype)) == "f":
            array = ((array.astype(np.int64) - (info.zero_point or 0)) * info.scale).astype(dtype)
        return np.ascontiguousarray(array)

    def computed(self, name: str, array: Array) -> Array:
        """An output of the model as callers have it."""
        info = self._tensors.get(name)
        if info is not None and info.scale is not None:
            kind = numpy_dtype(info.dtype)
            if number_kind(kind) in "iu" and number_kind(array.dtype) == "f":
                array = (np.rint(array.astype(np.float64) / info.scale) + (info.zero_point or 0)).astype(kind)
        layout = self._outputs.get(name)
        return array if layout is None else np.ascontiguousarray(array.transpose(from_model(layout)))
