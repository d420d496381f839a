"""Targets of other packages: entries of the group `aotc.targets`, found by name."""

from __future__ import annotations

from importlib import metadata
from typing import TypeVar

from aotc.errors import UsageError

Loaded = TypeVar("Loaded")


def installed_target(name: str, kind: type[Loaded]) -> Loaded | None:
    """The target called `name`, an object of `kind`; None where no package has one.

    Raises UsageError for another object, and where it does not load.
    """
    for point in metadata.entry_points(group="aotc.targets", name=name):
        try:
            if isinstance(found := point.load(), kind):
                return found
            why = f"a {type(found).__name__} is no target"
        except Exception as error:
            why = str(error)
        raise UsageError("broken-package", f"--target {name}", f"{point.value}: {why}")
    return None
