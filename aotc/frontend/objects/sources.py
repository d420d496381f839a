"""Sources of models: what makes an ONNX model of an object that another package made.

One is found by the name of a package in the entry point group `aotc.sources`: that of the object's class, or of one of
its base classes. So nothing of a package is imported, and no source of its objects, before there is an object of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from aotc.errors import AotcError, CompileError, UsageError
from aotc.model import extensions
from aotc.model.model_file import Source

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Examples:
    """Notes of callers on an object's inputs, in the terms of the object's own package."""

    inputs: Any = None
    """`example_inputs`: one array or tensor, several in order, or by name; None: not given."""
    shapes: Any = None
    """`dynamic_shapes`: which axes of them are open, and what these are called; None: not given."""

    @property
    def are_given(self) -> bool:
        """Whether anything is said."""
        return self.inputs is not None or self.shapes is not None

    @property
    def positional(self) -> tuple[Any, ...]:
        """The inputs that are given in order."""
        if self.inputs is None or isinstance(self.inputs, Mapping):
            return ()
        return tuple(self.inputs) if isinstance(self.inputs, tuple | list) else (self.inputs,)

    @property
    def axes(self) -> list[Mapping[int, str]]:
        """Of each input that is given in order its open axes and their names."""
        shapes = (None,) * len(self.positional) if self.shapes is None else self.shapes
        return [open_axes(each) for each in shapes]

    @property
    def named(self) -> dict[str, Any]:
        """The inputs that are given by name."""
        return dict(self.inputs) if isinstance(self.inputs, Mapping) else {}


def open_axes(given: Mapping[int, str] | Sequence[str | None] | None) -> Mapping[int, str]:
    """Axis -> name, of a mapping or of a name or None for each axis, as `dynamic_shapes` has it of an input."""
    if isinstance(given, Mapping):
        return given
    return {axis: name for axis, name in enumerate(given or ()) if name is not None}


NO_EXAMPLES = Examples()


class ObjectSource(Protocol):
    """The objects of one kind, and the way from them to a model."""

    def takes(self, given: object) -> bool:
        """Whether a model can be made of an object. It may look at the names of classes (`is_of`)."""
        ...

    def model_of(self, given: Any, examples: Examples) -> ModelProto:
        """The ONNX model of an object that it takes. Raises AotcError; any other error is told as one of the converter
        (`converting` does that)."""
        ...


def is_model(given: object) -> TypeGuard[Source | bytearray | memoryview]:
    """Whether it is a model, or the path of one, and not an object that one is made of."""
    if isinstance(given, str | os.PathLike | bytes | bytearray | memoryview):
        return True
    from onnx import ModelProto

    return isinstance(given, ModelProto)


def is_of(given: object, package: str, *names: str) -> bool:
    """Whether the class of an object, or a base class, is one of these names in a package."""
    return any(_package(base) == package and base.__name__ in names for base in type(given).__mro__)


def packages_of(given: object, examples: Examples) -> list[str]:
    """The packages of an object's classes, the most derived first; of a function of Python those of its example
    inputs."""
    leaves = (*examples.positional, *examples.named.values()) if type(given).__name__ == "function" else ()
    classes = [base for each in (given, *leaves) for base in type(each).__mro__]
    return list(dict.fromkeys(_package(base) for base in classes))


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def installed(package: str) -> Iterator[ObjectSource]:
    """The sources that other packages have for objects of one. One that does not load is left out, with a warning."""
    for point in extensions.points(extensions.SOURCES):
        if point.name == package and (found := extensions.load(point, _fault)) is not None:
            yield found


def _fault(point: EntryPoint, loaded: Any) -> str | None:
    missing = [name for name in ("takes", "model_of") if not callable(getattr(loaded, name, None))]
    return f"it has no {' and no '.join(missing)}" if missing else None


def needed(package: str, what: str) -> Any:
    """The module of a package that `what` cannot become a model without. Raises UsageError where it is missing."""
    with converting(what, package):
        return import_module(package)


@contextmanager
def converting(what: str, converter: str) -> Generator[None]:
    """Inside, a package that cannot be imported is a UsageError that names it; any other error is a CompileError that
    says what the converter said."""
    try:
        yield
    except AotcError:
        raise
    except ImportError as error:
        package = (error.name or converter).partition(".")[0]
        missing = f"a model of {what} is made with {package}, which cannot be imported"
        raise UsageError("missing-tool", missing, str(error), f"pip install {package}") from error
    except Exception as error:
        raise CompileError(
            "failed-tool", f"{converter} makes no model of {what}", extensions.describe(error)
        ) from error


def of_class(given: object) -> str:
    """An object in a message, by the name of its class."""
    return f"a {type(given).__name__}"


Convert = Callable[[Any, Examples], "ModelProto"]


@dataclass(frozen=True)
class ByClass:
    """A source that takes objects by the names of classes in a package."""

    package: str
    names: tuple[str, ...]
    convert: Convert

    def takes(self, given: object) -> bool:
        """Whether a class of the object has one of the names."""
        return is_of(given, self.package, *self.names)

    def model_of(self, given: Any, examples: Examples) -> ModelProto:
        """The model that the converter makes of it."""
        return self.convert(given, examples)
