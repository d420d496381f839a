"""Faults of the compiler itself: what was being done, to which node, and where in the code it went wrong."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb

from aotc.errors import AotcError, InternalError, OutOfMemoryError, Problem
from aotc.model.extensions import describe

_FIX = "this is a fault of aotc: please report it, with what --crash-report DIR writes"


@contextmanager
def explained(during: str, phase: str = "") -> Generator[None]:
    """Make what is nobody's to mend but ours an InternalError, and a MemoryError an OutOfMemoryError; `during` is what
    is being done."""
    try:
        yield
    except (AotcError, OSError):
        raise
    except MemoryError as error:
        nodes, operator, _ = _place(error)
        what = f"there is not enough memory for {during}"
        raise OutOfMemoryError("out-of-memory", what, str(error), node=nodes, op_type=operator) from error
    except Exception as error:
        raise internal_error(error, during, phase) from error


def internal_error(error: Exception, during: str, phase: str = "") -> InternalError:
    """The InternalError that stands for `error`: it names the node and the operator that code was about, if any."""
    nodes, operator, line = _place(error)
    what = f"internal error in {during}"
    return InternalError(Problem("internal-error", what, f"{describe(error)} ({line})", _FIX, nodes, operator), phase)


def _place(error: Exception) -> tuple[str, str, str]:
    """Where `error` was raised: the nodes and the operator that code was about, if any, and the line."""
    from xdsl.ir import Operation

    from aotc.model.locations import node_names

    nodes, operator, line = "", "", ""
    for frame, number in walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        line = f"{'/'.join(file.parts[-3:])}:{number}"
        for subject in (frame.f_locals.get(name) for name in ("self", "op")):
            if isinstance(subject, Operation) and (names := node_names(subject.location)):
                nodes, operator = ", ".join(names), subject.name
    return nodes, operator, line
