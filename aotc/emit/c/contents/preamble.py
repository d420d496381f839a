"""Text before the functions of generated C: pragmas, and macros that its users may define."""

from __future__ import annotations

import re
import textwrap
from importlib.resources import files

from aotc.emit.c.syntax.text import WIDTH, comment_text
from aotc.model.metadata import ModelInfo

MACROS = ("AOTC_WEIGHTS", "AOTC_WORKSPACE", "AOTC_ALIGNED", "AOTC_OPERATOR", "AOTC_HELPER", "AOTC_BRANCHES")
"""Names of macros, reserved."""
TEXTS: dict[str, str] = dict(
    re.findall(
        r"^// ([A-Z_]+)\n(.*?)(?=^// |\Z)",
        files("aotc.emit.c.contents").joinpath("preamble.c").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
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
