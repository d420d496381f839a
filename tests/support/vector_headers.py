"""The intrinsics of a processor for generated C: reading their header once, and not for each model.

It takes GCC longer than a small model does. Generated C names it itself, and compiles without what is here.
"""

from __future__ import annotations

import atexit
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aotc.emit.c.definitions.macros import INCLUDES

_OFTEN = 2
"""To precompile a header takes as long as to read it so often."""
_NOT_COMPILED_WITH = ("-shared", "-l", "-I")
"""The beginnings of flags that are about linking, or about other headers."""
_asked = Counter[tuple[str, ...]]()


def headers_read(compiler: str, *flags: str) -> tuple[str, ...]:
    """Flags to add to these of a compiler of C that is started with them again and again in this process."""
    command = compiler, *(flag for flag in flags if not flag.startswith(_NOT_COMPILED_WITH))
    _asked[command] += 1
    return _precompiled(*command) if _asked[command] > _OFTEN else ()


@cache
def _precompiled(*command: str) -> tuple[str, ...]:
    """Nothing where the compiler has no such header, or makes nothing of it that it takes."""
    place = TemporaryDirectory(prefix="aotc-headers.")
    atexit.register(place.cleanup)
    header = Path(place.name) / "vectors.h"
    header.write_text(INCLUDES)
    (empty := header.with_name("empty.c")).write_text("")
    found = "-include", str(header)
    made = (*command, "-x", "c-header", str(header), "-o", f"{header}.gch")
    taken = (*command, *found, "-Winvalid-pch", "-Werror", "-c", str(empty), "-o", f"{empty}.o")
    works = all(subprocess.run(each, capture_output=True, check=False).returncode == 0 for each in (made, taken))
    return found if works else ()
