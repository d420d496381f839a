"""Text before the functions of generated C: pragmas, and macros that its users may define."""

from __future__ import annotations

import textwrap

from aotc.emit.c.syntax.text import WIDTH, comment_text, sections
from aotc.model.metadata import ModelInfo

MACROS = ("AOTC_WEIGHTS", "AOTC_WORKSPACE", "AOTC_ALIGNED", "AOTC_OPERATOR", "AOTC_HELPER", "AOTC_BRANCHES")
"""Names of macros, reserved."""
TEXTS = sections("aotc.emit.c.contents", "preamble.c")
"""The texts of `preamble.c` by name. VECTOR_CONTRACTION is CONTRACTION in files with vectors: they are compiled as GNU
C, too, where GCC contracts."""


def head(info: ModelInfo) -> str:
    """The comment that a file begins with: whose it is, and where that comes from."""
    origin = info.origin
    if origin is None:
        return f"/* The model {info.name}, compiled by aotc. */\n"
    lines = [f"The model {info.name}, compiled by {origin.compiler} for {origin.target}."]
    if origin.options:
        lines += textwrap.wrap(f"Options: {' '.join(origin.options)}", WIDTH - 3, break_on_hyphens=False)
    if origin.model_sha256 is not None:
        lines.append(f"SHA-256 of the model: {origin.model_sha256}")
    return "/* " + "\n * ".join(map(comment_text, lines)) + " */\n"
