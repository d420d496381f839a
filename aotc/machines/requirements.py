"""Features that code for a target may ask of a processor, and whether this machine has them."""

from __future__ import annotations

from aotc.machines.features import FEATURES, here
from aotc.machines.targets import Target, lookup


def needed(spec: str) -> tuple[str, ...]:
    """The features that code for target `spec` may use beyond the base of its architecture, where a program can ask for
    them: on x86-64, and on Linux."""
    if spec == "host" and (found := here()) is not None:
        return found
    target = lookup(spec)
    rows = FEATURES.get(target.triple.split("-")[0], ())
    if not rows or target.freestanding or not (target.triple.startswith("x86_64") or "linux" in target.triple):
        return ()
    return tuple(row.name for row in rows if row.name in target.present)


def runnable(spec: str) -> Target:
    """The target `spec` if this machine runs code for it, else `host`."""
    target, host, known = lookup(spec), lookup("host"), here()
    runs = target.triple == host.triple and known is not None and {*needed(spec)} <= {*known}
    return target if runs else host
