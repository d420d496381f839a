"""Every legal combination of conventions, and the table of docs/abi.md that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from aotc.model.conventions import INTERFACE_APIS, RULES, RUNTIMES, TABLE, Conventions, flag


def legal(linkable: bool = True) -> Iterator[Conventions]:
    """Every legal combination, in the order of the tables."""
    for values in product(*TABLE.values()):
        choice = Conventions(**dict(zip(TABLE, values, strict=True)), linkable=linkable, threaded=False)
        if not any(rule.forbids(choice) for rule in RULES):
            yield choice


def table() -> str:
    """The legality table as Markdown: operator conventions by interface and runtime, then what is refused and why."""
    lines = [
        "| `--interface-api` | `--runtime` | `--operator-api` allowed | when a module is not linkable |",
        "|---|---|---|---|",
    ]
    for interface, runtime in product(INTERFACE_APIS, RUNTIMES):
        row = [f"`{interface}`", f"`{runtime}`"]
        for linkable in (True, False):
            found = [c.operator_api for c in legal(linkable) if (c.interface_api, c.runtime) == (interface, runtime)]
            row.append(", ".join(dict.fromkeys(found)) or "none")
        lines.append(f"| {' | '.join(row)} |")
    lines += ["", "| refused | because | instead |", "|---|---|---|"]
    for rule in RULES:
        when = " and ".join(flag(field, *values) for field, values in rule.when.items()).replace("|", "\\|")
        lines.append(f"| {when} | {rule.why} | {rule.fix} |")
    return "\n".join(lines) + "\n"
