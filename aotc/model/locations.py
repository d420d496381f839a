"""Locations: the names of the ONNX nodes that an operation computes.

An imported operation carries `loc("Conv_0")`, one made of several carries `loc(fused["Conv_0", "Relu_1"])`.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, FusedLoc, LocationAttr, NameLoc, NoneAttr
from xdsl.ir import Attribute


def leaves(location: Attribute) -> list[Attribute]:
    """The known locations that `location` is fused from, in order."""
    if isinstance(location, FusedLoc):
        assert isinstance(location.locations, ArrayAttr)
        return [leaf for each in location.locations for leaf in leaves(each)]
    return [] if location == UNKNOWN_LOC else [location]


def fuse_locations(locations: Iterable[LocationAttr]) -> LocationAttr:
    """One location for what computes several, each part once in order of appearance."""
    distinct = list(dict.fromkeys(leaf for location in locations for leaf in leaves(location)))
    match distinct:
        case []:
            return UNKNOWN_LOC
        case [NameLoc() as only]:
            return only
        case _:
            return FusedLoc(ArrayAttr(distinct), NoneAttr())


def node_names(location: LocationAttr) -> tuple[str, ...]:
    """The node names in `location`, in order."""
    return tuple(leaf.desc.data for leaf in leaves(location) if isinstance(leaf, NameLoc))
