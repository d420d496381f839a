"""Extensions of the compiler by other packages: found through entry points, and left out where it is broken.

Every group is loaded here. A package that does not load, or gives something else than its group asks for, costs one
line on standard error; models that do not need it compile. What goes wrong inside code of another package later, in an
operator or a kernel strategy, is told as a problem of that package (`problem_of`), not as a fault of the compiler.

Faults of the compiler itself are explained here, too: what was being done, to which node, and where in the code it went
wrong.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from aotc.errors import AotcError, CompileError, InternalError, OutOfMemoryError, Problem

if TYPE_CHECKING:
    from xdsl.ir import Operation

UNIVERSES = "xdsl.universe"
"""Dialects, passes and targets: each entry is a `Universe` of xDSL."""
IMPORTERS = "aotc.onnx_importers"
"""ONNX operators: each entry is a module that uses `onnx_op`."""
TFLITE_IMPORTERS = "aotc.tflite_importers"
"""Custom operators of TensorFlow Lite: each entry is a module that uses `tflite_op`."""
PIPELINES = "aotc.pipelines"
"""Pipelines at the end of a phase: each entry is the text of one, its name that of the phase."""
KERNELS = "aotc.kernels"
"""Kernel strategies: each entry is a mapping from operator classes to sequences of them."""
CODEGENS = "aotc.codegens"
"""Code generators: each entry is an `aotc.model.codegens.CodeGenerator`, its name what `--offload` calls it."""
TARGETS = "aotc.targets"
"""Targets: each entry is an `aotc.machines.targets.Target`, its name the target's; looked up there."""
LOADERS = "aotc.loaders"
"""Loaders of artefacts: each entry is an `aotc.model.artifacts.Loader`, its name what artefacts call it."""
INSPECTORS = "aotc.inspectors"
"""Views of artefacts: each entry is a function from an artefact to text; its name says of which (`CODEGEN.METHOD` or
`.SUFFIX.METHOD`)."""
SOURCES = "aotc.sources"
"""Sources of models: each entry is an `aotc.frontend.objects.sources.ObjectSource`, its name the package whose objects
it takes; looked up there."""
GROUPS = (UNIVERSES, IMPORTERS, TFLITE_IMPORTERS, PIPELINES, KERNELS, CODEGENS, TARGETS)
"""Groups that decide what a model is compiled to."""

_OURS = ("aotc", "xdsl")
"""Packages whose faults are nobody else's."""

Loaded = TypeVar("Loaded")
Check = Callable[[EntryPoint, Any], "str | None"]
"""Says what is wrong with what an entry point loaded to; None: nothing."""


@dataclass(frozen=True)
class Broken:
    """A package of which something does not load, and the first reason."""

    package: str
    why: str

    def __str__(self) -> str:
        return f"the package {self.package} does not load ({self.why})"


_broken: dict[str, Broken] = {}


def broken() -> tuple[Broken, ...]:
    """The packages of which something was left out so far."""
    return tuple(_broken.values())


def points(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their values."""
    return sorted(metadata.entry_points(group=group), key=lambda point: point.value)


def load(point: EntryPoint, check: Check) -> Any:
    """The object that an entry point loads to; None, with a warning, where it is broken. Ours raises what it raises."""
    loaded = None
    try:
        loaded = point.load()
        wrong = check(point, loaded)
    except Exception as error:
        if _is_ours(point.module):
            raise
        wrong = describe(error)
    if wrong is not None:
        leave_out(point, wrong)
    return loaded if wrong is None else None


def load_all(group: str, check: Check) -> list[tuple[EntryPoint, Any]]:
    """The objects of all entry points of a group, but the broken ones."""
    found = [(point, load(point, check)) for point in points(group)]
    return [(point, loaded) for point, loaded in found if loaded is not None]


def load_importers(package: str, group: str) -> bool:
    """Import every module of a package of importers, folders in it, too, then those that entry points of a group name;
    whether some are broken: then what their modules have registered is to go."""
    importers = import_module(package)
    for module in pkgutil.walk_packages(importers.__path__, f"{package}."):
        import_module(module.name)

    def check(point: EntryPoint, loaded: object) -> str | None:
        return None if isinstance(loaded, ModuleType) else f"a {type(loaded).__name__} is not a module"

    load_all(group, check)
    return bool(broken())


def leave_out(point: EntryPoint, why: str) -> None:
    """Warn, once for each package, that what `point` names is left out."""
    package = _package_of(point)
    if package not in _broken:
        _broken[package] = Broken(package, f"{point.value}: {why}")
        print(f"warning: {_broken[package]}; it is left out", file=sys.stderr)


def guarded(point: EntryPoint, make: Callable[[], Loaded]) -> Callable[[], Loaded]:
    """`make`, part of what `point` loaded to, whose errors name the package."""

    def guard() -> Loaded:
        try:
            return make()
        except Exception as error:
            what = f"the package {_package_of(point)} is broken"
            raise CompileError("broken-package", what, describe(error)) from error

    return make if _is_ours(point.module) else guard


def describe(error: BaseException) -> str:
    """An error in one line: its class and its message; of ours, what they say."""
    if isinstance(error, AotcError):
        return "; ".join(map(str, error.problems))
    return " ".join(f"{type(error).__name__}: {error}".split()) if str(error) else type(error).__name__


def problem_of(error: Exception) -> Problem | None:
    """The text of an unexpected `error` about the package whose operator, kernel strategy or pass it came from.

    Names the node and the operator that it was about, and the line; None where no other package took part.
    """
    from aotc.model.locations import node_names  # what finds a compiled model in the cache does without xDSL

    blame: tuple[str, Operation | None] | None = None
    line = ""
    for frame, number in walk_tb(error.__traceback__):
        blame = _blame(frame) or blame
        if _of_extension(str(frame.f_globals.get("__name__", ""))):
            line = f" ({frame.f_code.co_filename}:{number})"
    if blame is None:
        return None
    package, op = blame
    names = ", ".join(node_names(op.location)) if op is not None else ""
    operator = op.name if op is not None else ""
    root = package.split(".")[0]
    what = f"code of the package {_packages().get(root, root)} failed"
    why = describe(error) + line
    return Problem("broken-package", what, why, node=names or operator, op_type=operator if names else "")


def _blame(frame: FrameType) -> tuple[str, Operation | None] | None:
    """The package whose code a frame is, or whose operator it is about, and that operator."""
    ops = _operations(frame)
    for op in ops:
        if not _is_ours(module := type(op).__module__):
            return module, op
    for module in (type(frame.f_locals.get("self")).__module__, str(frame.f_globals.get("__name__", ""))):
        if _of_extension(module):
            return module, ops[0] if ops else None
    return None


def _operations(frame: FrameType) -> list[Operation]:
    """The operations that code of a frame is about."""
    from xdsl.ir import Operation

    return [each for name in ("self", "op") if isinstance(each := frame.f_locals.get(name), Operation)]


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in _OURS


def _of_extension(module: str) -> bool:
    return not _is_ours(module) and module.split(".")[0] in _packages()


def _packages() -> dict[str, str]:
    """The packages that take part, by the names of their modules."""
    points = [point for group in GROUPS for point in metadata.entry_points(group=group)]
    return {point.module.split(".")[0]: _package_of(point) for point in points}


def _package_of(point: EntryPoint) -> str:
    """The name under which it was installed."""
    return point.dist.name if point.dist is not None else point.module.split(".")[0]


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
    from aotc.model.locations import node_names

    nodes, operator, line = "", "", ""
    for frame, number in walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        line = f"{'/'.join(file.parts[-3:])}:{number}"
        for op in _operations(frame):
            if names := node_names(op.location):
                nodes, operator = ", ".join(names), op.name
    return nodes, operator, line
