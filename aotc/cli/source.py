"""Textual IR that knows where each operation stands, and whatever is wrong with it as one diagnostic."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError, ShrinkException, VerifyException

from aotc.cli.diagnostics import Diagnostic, position
from aotc.dialects.constants import weight_keys
from aotc.errors import EXIT_INTERNAL, EXIT_MODEL, EXIT_USAGE, AotcError
from aotc.model.weight_store import WeightStore
from aotc.pipeline.textual_ir import IRParser
from aotc.pipeline.verification import InvalidOperation, verify

MOST_ELEMENTS = 1 << 28
"""Of a constant in the text: what is longer belongs into an npz file."""


_STRINGS = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+(?P<end>"?)')
"""Comments and strings, whose `end` is missing where they are not closed; xDSL's own expression takes time that is
exponential in the length of such a string."""

_UNDEFINED = re.compile(r"values used but not defined: \[(%[\w.$-]+)")


class InvalidIR(Exception):
    """The IR cannot be read, is invalid, or a pass cannot go on with it."""

    def __init__(self, diagnostic: Diagnostic, exit_code: int = EXIT_MODEL, *, parsing: bool = False) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic, self.exit_code, self.parsing = diagnostic, exit_code, parsing


class _Parser(IRParser):
    """Knows where operations are."""

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        self.positions: dict[Operation, int] = {}
        self._names: list[int] = []
        super().__init__(ctx, text, name)

    @property
    def offset(self) -> int:
        """The character that is read next."""
        return self._current_token.span.start

    def _parse_op_result_list(self) -> Any:
        results = super()._parse_op_result_list()
        self._names.append(self.offset)
        return results

    def parse_operation(self) -> Operation:
        operation = super().parse_operation()
        self.positions[operation] = self._names.pop()
        return operation

    def _get_op_by_name(self, name: str) -> Any:
        try:
            return super()._get_op_by_name(name)
        except ParseError:
            near = difflib.get_close_matches(name, self._known(name.partition(".")[0]))
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            self.raise_error(f"operation {name} is not registered{meant}", self._names[-1])

    def _known(self, dialect: str) -> list[str]:
        """The operations whose names a mistyped one may be."""
        names = difflib.get_close_matches(dialect, self.ctx.registered_dialect_names, n=2)
        return [op.name for name in names for op in self.ctx.get_dialect(name).operations]

    def _parse_dense_literal_type(self) -> Any:
        start = self.offset
        kind = super()._parse_dense_literal_type()
        count = math.prod(kind.get_shape())
        if count > MOST_ELEMENTS:
            self.raise_error(f"a constant of {count} elements; in text it may have {MOST_ELEMENTS}", start)
        return kind


class Source:
    """A file of IR, or a part of one in front of which as many lines are empty."""

    def __init__(self, name: str, data: bytes, *, implicit_module: bool = True) -> None:
        self._name, self._data, self._implicit = name, data, implicit_module
        self._decoded = ""
        self._positions: dict[Operation, int] = {}

    def text(self) -> str:
        """The text. Raises InvalidIR where it is none."""
        try:
            self._decoded = self._data.decode()
        except UnicodeDecodeError as error:
            before = self._data[: error.start].decode()
            line, column = position(before, len(before))
            what = f"byte {self._data[error.start]:#04x} is not UTF-8"
            raise InvalidIR(Diagnostic(self._name, line, column, what), parsing=True) from None
        return self._decoded

    def chunks(self, split: re.Pattern[str] | None) -> Iterator[Source]:
        """The parts between lines that `split` matches, each with the line numbers that it has in the file."""
        text, start = self.text(), 0
        ends = [match.span() for match in split.finditer(text)] if split is not None else []
        for end, after in [*ends, (len(text), len(text))]:
            piece = "\n" * text.count("\n", 0, start) + text[start:end]
            yield Source(self._name, piece.encode(), implicit_module=self._implicit)
            start = after

    def parse(self, ctx: Context) -> ModuleOp:
        """The module. Raises InvalidIR."""
        text = self.text()
        for string in _STRINGS.finditer(text):
            if string["end"] == "":
                raise self._invalid("this string is not closed", string.start())
        parser = None
        try:
            parser = _Parser(ctx, text, self._name)
            module = parser.parse_module(self._implicit)
            self._positions = parser.positions
            return module
        except ParseError as error:
            message, offset = (
                error.msg.replace("Could not parse entire input!", "expected an operation"),
                error.span.start,
            )
            if not re.sub(r"//.*", "", text).strip():
                message, offset = "there is no operation in it", 0
            elif (undefined := _UNDEFINED.search(message)) is not None:  # which is only known at the end
                used = re.search(rf"{re.escape(undefined[1])}(?![\w.$-])", text)
                offset = offset if used is None else used.start()
            raise self._invalid(message, offset) from None
        except RecursionError:
            message = "regions are nested more deeply than can be read"
        except (OverflowError, MemoryError):
            message = "this is too large to be held in memory"
        except Exception as error:  # a constructor or verifier of an attribute, which knows no place
            message = " ".join(str(piece) for piece in error.args) or type(error).__name__
            verified = isinstance(error, DiagnosticException)
            raise self._invalid(message, 0 if parser is None else parser.offset, parsing=not verified) from None
        raise self._invalid(message, 0 if parser is None else parser.offset) from None

    def _invalid(self, message: str, offset: int, *, parsing: bool = True) -> InvalidIR:
        line, column = position(self._decoded, offset)
        return InvalidIR(Diagnostic(self._name, line, column, message.strip()), parsing=parsing)

    def _about(self, message: str, where: Operation | None, exit_code: int = EXIT_MODEL) -> InvalidIR:
        """An error about an operation, or about the first around it that stands in the text."""
        while where is not None and where not in self._positions:
            where = where.parent_op()
        first = min(self._positions.values(), default=0)
        line, column = position(self._decoded, first if where is None else self._positions[where])
        return InvalidIR(Diagnostic(self._name, line, column, message), exit_code)

    def verify(self, module: ModuleOp, after: str | None = None) -> None:
        """Raise InvalidIR for the first operation that does not verify, `after` a pass or as it was read."""
        blame = "" if after is None else f"after the pass {after}: "
        where: Operation | None = None
        try:
            for where in module.walk():
                where.verify(verify_nested_ops=False)
            verify(module)
        except RecursionError:
            raise self._about(blame + "regions are nested more deeply than can be verified", None) from None
        except InvalidOperation as error:
            raise self._about(blame + str(error), error.operation) from None
        except Exception as error:
            if not isinstance(error, DiagnosticException | ValueError):
                what = "the module" if where is None else where.name
                fault = f"{blame}{_fault(error)} in the verifier of {what}"
                raise self._about(fault, where, EXIT_INTERNAL) from None
            raise self._about(blame + " ".join(map(str, error.args)), where) from None

    @contextmanager
    def blaming(self, name: str, module: ModuleOp, ctx: Context) -> Generator[None]:
        """Make whatever a pass raises an InvalidIR about the operation it is about, as far as that can be told."""
        try:
            yield
        except (AotcError, VerifyException, DiagnosticException) as error:
            raise self._about(
                f"the pass {name} cannot go on: {str(error).strip()}", self._at_hand(error, module)
            ) from None
        except (OSError, MemoryError, KeyboardInterrupt, ShrinkException):
            raise
        except RecursionError:
            message = f"regions are nested more deeply than the pass {name} can follow"
            raise self._about(message, None) from None
        except Exception as error:
            if isinstance(error, KeyError) and (missing := _missing_weights(module, ctx)):
                key, where = next(iter(missing.items()))
                message = f"there is no array {', '.join(missing)}; give --weights FILE.npz with it ({key})"
                raise self._about(message, where, EXIT_USAGE) from None
            message = f"{_fault(error)} in the pass {name}"
            raise self._about(message, self._at_hand(error, module), EXIT_INTERNAL) from None

    def _at_hand(self, error: Exception, module: ModuleOp) -> Operation | None:
        """The operation that was being worked on where an error was raised, or else the function that it names."""
        frames: list[Any] = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame)
            trace = trace.tb_next
        for frame in reversed(frames):
            for name in ("op", "self", "operation", "anchor"):
                value = frame.f_locals.get(name)
                if isinstance(value, Operation) and not isinstance(value, ModuleOp) and value in self._positions:
                    return value
        return _mentioned(module, str(error))


def _fault(error: Exception) -> str:
    return f"internal error ({type(error).__name__}: {error})"


def _mentioned(module: ModuleOp, message: str) -> Operation | None:
    """The first operation whose name stands in a message, or else the function whose symbol does."""
    mentioned = {each.rstrip(".") for each in re.findall(r"[\w.$-]+", message)}
    function: Operation | None = None
    for operation in module.walk():
        if "." in operation.name and operation.name in mentioned and not operation.regions:
            return operation
        symbol = operation.properties.get("sym_name")
        if function is None and getattr(symbol, "data", None) in mentioned:
            function = operation
    return function


def _missing_weights(module: ModuleOp, ctx: Context) -> dict[str, Operation]:
    """The keys that no array belongs to, and an operation that names each."""
    store = WeightStore.of(ctx)
    missing = sorted(set(weight_keys(module)) - set(store))
    users: dict[str, Operation] = {}
    for operation in module.walk():
        for attribute in (*operation.properties.values(), *operation.attributes.values()):
            for key in missing:
                if f"dense_resource<{key}>" in str(attribute):
                    users.setdefault(key, operation)
    return {key: users.get(key, module) for key in missing}
