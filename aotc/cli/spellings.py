"""The spellings of `mlir-opt` as those of xDSL's driver: pipelines, passes as options, dashes.

--pass-pipeline='builtin.module(cse,func.func(canonicalize))'      -p cse,canonicalize
--cse --choose-schedule='target=cortex-m4'                         -p cse,choose-schedule{target="cortex-m4"}
-split-input-file --mlir-print-debuginfo                           --split-input-file --print-debuginfo
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from aotc.errors import UsageError

SYNONYMS = {
    "--mlir-print-debuginfo": "--print-debuginfo",
    "--mlir-print-op-generic": "--print-op-generic",
    "--mlir-print-ir-after-all": "--print-ir-after-all",
    "--mlir-print-ir-before-all": "--print-ir-before-all",
    "--mlir-timing": "--time-passes",
    "--verify-each": "--verify-each=true",
}
"""Options of `mlir-opt` that are called otherwise here."""

ANCHORS = ("builtin.module", "module", "func.func", "any")
"""Operations that a pipeline of MLIR runs passes on: ours all run on the module."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_BARE = re.compile(r"[A-Za-z_][\w]*|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def normalised(arguments: Sequence[str], options: Collection[str], passes: Collection[str]) -> list[str]:
    """The command line as xDSL's driver takes it, with one `-p` for all passes. Raises UsageError.

    `options` are those that take no pass, with their dashes; `passes` the names of passes.
    """
    rest: list[str] = []
    pipeline: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        name, equals, value = argument.partition("=")
        if (
            name.startswith("-")
            and not name.startswith("--")
            and len(name) > 2
            and f"-{name}" in options | SYNONYMS.keys()
        ):
            name = f"-{name}"
        if name in ("-p", "--passes", "--pass-pipeline", "-pass-pipeline"):
            if not equals:
                value = next(pending, None)
                if value is None:
                    raise UsageError("invalid-option", f"{name} without a pipeline")
            pipeline.append(flattened(value) if name.endswith("pipeline") else value)
        elif name in SYNONYMS:
            rest.append(
                SYNONYMS[name] + equals + value if not equals else SYNONYMS[name].partition("=")[0] + equals + value
            )
        elif name in options or not name.startswith("-"):
            rest.append(name + equals + value)
        elif (called := name.lstrip("-")) in passes:
            pipeline.append(called + (f"{{{_parameters(value)}}}" if value else ""))
        else:
            rest.append(argument)
    return [*rest, "-p", ",".join(each for each in pipeline if each)] if pipeline else rest


def _parameters(text: str) -> str:
    """Options of a pass as xDSL reads them: what is neither a name nor a number stands between quotes."""
    fields: list[str] = []
    for field in text.strip().strip("{}").split():
        key, equals, value = field.partition("=")
        items = value.split(",")
        quoted = [item if _BARE.fullmatch(item) or item[:1] in "\"'" else f'"{item}"' for item in items]
        fields.append(key + equals + ",".join(quoted) if equals else key)
    return " ".join(fields)


def flattened(text: str) -> str:
    """The passes of a pipeline in MLIR's syntax, one after the other; without parentheses it is one of xDSL's."""
    passes, end = _elements(text, 0)
    if end < len(text):
        raise _error(text, end, "a ')' that closes nothing" if text[end] == ")" else "expected ','")
    return ",".join(passes)


def _elements(text: str, place: int) -> tuple[list[str], int]:
    """The passes from a place on up to what closes them, and where that is."""
    found: list[str] = []
    while True:
        place = _skipped(text, place)
        match = _NAME.match(text, place)
        if match is None:
            if (place < len(text) and text[place] != ")") or found:
                raise _error(text, place, "expected the name of a pass")
            return found, place
        name, start = match[0], place
        place = _skipped(text, match.end())
        if text[place : place + 1] == "(":
            if name not in ANCHORS:
                raise _error(text, start, f"passes run on {' or '.join(ANCHORS)}, not on {name}")
            inner, place = _elements(text, place + 1)
            if text[place : place + 1] != ")":
                raise _error(text, place, "expected ')'")
            found += inner
            place += 1
        elif text[place : place + 1] == "{":
            end = _closing(text, place)
            options = _parameters(text[place + 1 : end])
            found.append(f"{name}{{{options}}}" if options else name)
            place = end + 1
        else:
            found.append(name)
        place = _skipped(text, place)
        if text[place : place + 1] != ",":
            return found, place
        place += 1


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _closing(text: str, place: int) -> int:
    """Where the brace that opens at `place` is closed."""
    end = text.find("}", place)
    if end < 0:
        raise _error(text, place, "a '{' that nothing closes")
    return end


def _error(text: str, place: int, why: str) -> UsageError:
    return UsageError("invalid-option", f"--pass-pipeline: {why}\n  {text}\n  {' ' * place}^")
