"""Text of C, whatever it says: comments and strings, lines that fit, names, declarations that nothing mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

_NAME = re.compile(r"[A-Za-z_]\w*")

WIDTH = 110
"""Columns; longer expressions are split, longer argument lists wrapped."""


def comment_text(text: str) -> str:
    """`text` as it may stand in a C comment: printable ASCII that neither ends the comment nor opens one."""
    shown = "".join(
        c
        if c.isascii() and c.isprintable() and c != "\\"
        else c.encode("unicode_escape").decode().replace("\\\\", "\\x5c")
        for c in text
    )
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def string_literal(text: str | bytes) -> str:
    """`text` (UTF-8 if it is a string) as a C string literal: escaped to printable ASCII, without trigraphs."""
    escaped: list[str] = []
    for byte in text.encode() if isinstance(text, str) else text:
        char = chr(byte)
        if char in '"\\?':
            escaped.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            escaped.append(char)
        else:
            escaped.append(f"\\{byte:03o}")
    return '"' + "".join(escaped) + '"'


def wrapped(head: str, items: Sequence[str], tail: str) -> list[str]:
    """`head item, item, ... tail` on as few lines as fit, continued below the first item."""
    lines, line = [], head
    indent = " " * (len(head) if len(head) < 60 else len(head) - len(head.lstrip()) + 8)
    for position, item in enumerate(items):
        piece = item + (tail if position == len(items) - 1 else ",")
        if len(line) + len(piece) > WIDTH and line.strip() and line != head:
            lines.append(line.rstrip())
            line = indent
        line += piece if line in (head, indent) else f" {piece}"
    if not items:
        line += tail
    return [*lines, line]


def names_of(lines: Iterable[str]) -> set[str]:
    """Every identifier and keyword in `lines` of C."""
    return set(_NAME.findall("\n".join(lines)))


def without_unused(lines: Sequence[str], declarations: Mapping[str, str]) -> list[str]:
    """`lines` without the declarations (text: name) whose names nothing in their blocks mentions.

    A value may have users in the IR and none in C: those whose ranges decide them are not printed. Blocks are told
    apart by their indentation.
    """
    used: list[str] = []
    blocks: list[tuple[int, set[str]]] = []  # the names below, by indentation, the innermost block last
    for line in reversed(lines):
        text = line.lstrip()
        indent = len(line) - len(text)
        names: set[str] = set()
        while blocks and blocks[-1][0] >= indent:
            names |= blocks.pop()[1]
        blocks.append((indent, names))
        name = declarations.get(text)
        if name is not None and name not in names:
            continue
        names |= names_of([line])
        if name is not None:
            names.discard(name)
        used.append(line)
    return used[::-1]


def sections(package: str, name: str) -> dict[str, str]:
    """The texts in a file of a package, each by the name on the line `// NAME` above it."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return dict(re.findall(r"^// ([A-Z_]+)\n(.*?)(?=^// |\Z)", text, re.MULTILINE | re.DOTALL))
