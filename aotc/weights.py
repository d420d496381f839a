"""The WeightStore: every constant of a model, by key, outside the IR.

IR refers to an array as `dense_resource<key>`; the bytes stay here as read-only numpy views, usually straight onto the
model file's own buffer. A store belongs to one xDSL `Context`, so that passes reach it without a global.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from xdsl.context import Context

Array = np.ndarray[Any, Any]

_SLOT = "_aotc_weights"
"""Where a `Context` (not hashable, so no weak dictionary) keeps its store."""


class WeightStore:
    """Named, read-only, C-contiguous arrays. Keys are unique; equal arrays may share memory but keep their names."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    @staticmethod
    def of(ctx: Context) -> WeightStore:
        """The store of this compilation, created empty at first use."""
        return vars(ctx).setdefault(_SLOT, WeightStore())

    def attach(self, ctx: Context) -> None:
        """Make this the store of `ctx`."""
        vars(ctx)[_SLOT] = self

    def add(self, hint: str, array: Array) -> str:
        """Store `array` under `hint` or, where that is taken, under `hint` with a number; returns the key."""
        key, number = hint, 0
        while key in self._arrays:
            if self._arrays[key] is array:
                return key
            number += 1
            key = f"{hint}_{number}"
        view = np.asarray(array, order="C").view()
        view.flags.writeable = False
        self._arrays[key] = view
        return key

    def __getitem__(self, key: str) -> Array:
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
