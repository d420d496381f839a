"""Sizes of caches that a user states behind the name of a target."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from aotc.errors import UsageError
from aotc.machines.machine import Core, Machine

_NAMES: Final = ("l1", "l2", "l3")


def with_caches(core: Core, spec: str, caches: str) -> Core:
    """`core` with the sizes that `caches` ("l2=512K,l3=8M") says; UsageError where it says anything else."""
    sizes: dict[str, int] = {}
    for item in caches.split(","):
        found = re.fullmatch(r"(\w+)=(\d+)([KM]?)", item)
        if found is None or found[1] not in _NAMES or not int(found[2]):
            fix = "write @l1=32K,l2=512K,l3=8M, or one of them"
            raise UsageError("invalid-option", f"--target {spec}", f"{item!r} is not the size of a cache", fix)
        sizes[found[1]] = int(found[2]) << {"": 0, "K": 10, "M": 20}[found[3]]
    if not isinstance(core, Machine):
        why = "without vectors nothing is decided by the size of a cache"
        raise UsageError("option-conflict", f"--target {spec}", why, f"use --target {spec.partition('@')[0]}")
    return replace(core, **sizes)
