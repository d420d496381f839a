"""The origin of compiled files, in these files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

from aotc.model.limits import Pool
from aotc.model.metadata import Origin
from aotc.model.model_file import ModelFile, Source
from aotc.model.version import VERSION
from aotc.pipeline.options import SINGULAR, CompileOptions, flag

_ELSEWHERE: Final = ("name", "emit", "target")
"""Options that files say otherwise."""
_NOTHING: Final = (
    *(
        "forms",
        "chosen_ram",
        "ram",
        "flash",
        "stack",
        "cc",
        "stop_after",
        "dump_phases",
        "print_ir_after_all",
        "verify_each",
        "time_passes",
    ),
    "jobs",
)
"""Options that decide nothing of the code; budgets only where forms or rows of kernels were chosen for them."""
_FILES: Final = ("selftest", "selftest_outputs")
"""Files whose content is in the code, and whose paths are nobody's business."""
_LONGEST: Final = 64
"""Characters of a constant's values; more are given as a digest."""


def origin_of(source: Source, options: CompileOptions) -> Origin:
    """The origin of what is compiled from `source`. Raises OSError, CompileError where the file cannot be read."""
    if options.start_at is not None:
        digest = None
    elif isinstance(source, str | os.PathLike):
        digest = (source if isinstance(source, ModelFile) else ModelFile(source)).digest()
    else:  # as it was given, or as a ModelProto would be written
        content = source if isinstance(source, bytes) else source.SerializeToString(deterministic=True)
        digest = hashlib.sha256(content).hexdigest()
    return Origin(f"aotc {VERSION}", options.target, tuple(_spelled(options)), digest)


def _spelled(options: CompileOptions) -> list[str]:
    """The options that decide the code and are not as by default, as on the command line. No path is among them."""
    default, found = CompileOptions(), list[str]()
    decided = (*(() if options.forms is None else ("flash",)), *(("ram",) if options.rolls else ()))
    for name, standard in vars(default).items():
        value = getattr(options, name)
        if value == standard or (name in (*_ELSEWHERE, *_NOTHING) and name not in decided):
            continue
        if name == "optimize":
            found.append(f"-O{value}")
        elif name in SINGULAR:
            keys = value if name == "pools" else sorted(value)  # whose order is that of arguments
            found += [f"{flag(name)} {key}={_text(value[key])}" for key in keys]
        elif value is True or name in _FILES:
            found.append(flag(name))
        elif name == "tuned":
            found.append(f"{flag(name)} sha256:{hashlib.sha256(Path(value).read_bytes()).hexdigest()}")
        elif name == "offload":
            found.append(f"{flag(name)} {','.join(value)}")
        else:
            found.append(f"{flag(name)} {value}")
    return found


def _text(value: Any) -> str:
    if isinstance(value, int | str | Pool):
        return str(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    text = json.dumps(value.values[0] if not value.shape else list(value.values))
    return text if len(text) <= _LONGEST else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
