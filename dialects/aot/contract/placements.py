"""Facts about where weights lie that phases tell each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from aotc.dialects.aot.contract.fields import Field
from aotc.dialects.aot.contract.functions import entry, kernels
from aotc.dialects.aot.pointers import WeightOp
from aotc.dialects.dtypes import byte_width
from aotc.dialects.operations import walk

_ALIGNMENT: Final = 8
"""Bytes that suffice for every element type."""

Offsets = Mapping[str, int]
"""Where arrays of the WeightStore lie in a blob, in bytes, by key."""


@dataclass(frozen=True)
class WeightLayout:
    """The one blob that weights are in which are not embedded."""

    size: int
    alignment: int
    """Bytes that the blob and every weight in it is aligned to."""
    offsets: Offsets
    apart: bool = False
    """The entry is given a table of addresses, one for each weight in the order of the offsets, and no blob."""

    @property
    def order(self) -> list[int]:
        """The offsets in the order of the table."""
        return sorted(self.offsets.values())


WEIGHT_LAYOUT: Final = Field[WeightLayout]("aot.weight_layout")
"""On the module after `interface`, where weights are not embedded."""

EMBEDDED: Final = Field[Offsets]("aot.weights")
"""On a global after `convert-to-llvm`: it is the blob of the weights that are embedded, whose contents `aotc/emit/llvm`
patches into the object file."""

MINIMUM_BLOB: Final = 32
"""Bytes; a blob of embedded weights is at least this long, so that an object file can be searched for its beginning."""


def weight_offsets(module: ModuleOp) -> Offsets:
    """Where in the blob each weight is that is not embedded; nothing before `interface`, and where all are."""
    layout = WEIGHT_LAYOUT.get(module)
    return {} if layout is None else layout.offsets


def places_in_blob(module: ModuleOp) -> Offsets:
    """Where each weight is in one blob of them all, after `interface`: that of the model or, where they are embedded,
    the one that is written for tools."""
    if (layout := WEIGHT_LAYOUT.get(module)) is not None:
        return layout.offsets
    offsets: dict[str, int] = {}
    end = 0
    for key, size in weight_sizes(module).items():
        offsets[key] = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = offsets[key] + size
    return offsets


def weight_sizes(module: ModuleOp) -> dict[str, int]:
    """Bytes of each weight of the model that is embedded, by key, from `bufferize` on."""
    functions: list[Operation] = [entry(module), *kernels(module)]
    kinds = {op.key.data: op.result.type for each in functions for op in walk(each) if isinstance(op, WeightOp)}
    return {key: kind.element_count() * byte_width(kind.element_type) for key, kind in kinds.items()}
