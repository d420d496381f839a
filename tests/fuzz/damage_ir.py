"""Damaged IR: the text of a model after any phase with tokens changed, through `aotc-opt` and its passes."""

from __future__ import annotations

import contextlib
import io
import random
import re
from functools import cache
from pathlib import Path

from aotc.cli.opt import run
from aotc.compiler.driver import in_process, lower
from aotc.errors import AotcError
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, pipeline_of
from aotc.pipeline.textual_ir import ir_text
from fuzz.catalogue import draw
from fuzz.routes import Wrong, source

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[%@#!^]?[\w.$-]+|[^\s\w]')
NUMBERS = ("0", "-1", "1", "4294967296", "9223372036854775807", "-9223372036854775808", "1e400", "0x7FC00000", "nan")
WORDS = (
    *(
        "f32",
        "i1",
        "index",
        "tensor<?xf32>",
        "tensor<4xf32>",
        "memref<0xi8>",
        "vector<3x5xf64>",
        "!aot.ptr<f32>",
        "none",
    ),
    *("%0", "%x", "@main", "graph.conv", "func.return", "aot.entry", "dense<1>", "unit", "{", "}", "(", ")", "->", ":"),
)
_EXITS = (0, 2, 3, 4)


@cache
def _phases() -> tuple[str, ...]:
    return tuple(phase.name for phase in PHASES)


def text_after(seed: int, phase: str) -> tuple[str, bytes]:
    """The IR of a random model after a phase, and its weights; nothing where it is refused."""
    options = in_process(CompileOptions.of(stop_after=phase))
    try:
        compilation = lower(source(draw(seed)), options)
    except AotcError:
        return "", b""
    return ir_text(compilation.module), bytes(compilation.store.to_bytes())


def _kind(token: str) -> str:
    """The kind of a token: others of it may be read in its place."""
    if token[0].isdigit() or token[0] == "-":
        return "shape" if "x" in token else "number"
    if token[0].isalpha() or token[0] == "_":
        return "operation" if "." in token else "word"
    return token[0]


def _exchanged(r: random.Random, text: str) -> str:
    """`text` with a token exchanged for one of its kind, so that it is likely to be read, and something else."""
    matches = list(TOKEN.finditer(text))
    match = r.choice([each for each in matches if _kind(each[0]) not in ",:(){}<>[]="] or matches)
    kind = _kind(match[0])
    others = sorted({each[0] for each in matches if _kind(each[0]) == kind})
    new = r.choice(others)
    if kind == "number" and r.random() < 0.5:
        new = r.choice(("0", "-1", "1", "7", "4294967296", "9223372036854775807", "-9223372036854775808"))
    elif kind == "shape" and r.random() < 0.5:
        new = re.sub(r"\d+", lambda _: r.choice(("0", "1", "3", "65537", "3000000000")), match[0], count=1)
    return text[: match.start()] + new + text[match.end() :]


def damaged(r: random.Random, text: str) -> str:
    """`text` with a few tokens or lines changed."""
    if r.random() < 0.7:
        for _ in range(r.choice((1, 1, 2))):
            text = _exchanged(r, text)
        return text
    for _ in range(r.choice((1, 1, 2, 4))):
        spans = [match.span() for match in TOKEN.finditer(text)]
        if not spans:
            break
        start, end = r.choice(spans)
        other = text[slice(*r.choice(spans))]
        token = text[start:end]
        match r.randrange(7):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + other + text[end:]
            case 2:
                text = text[:end] + " " + other + text[end:]
            case 3:
                new = r.choice(NUMBERS) if token.lstrip("-")[:1].isdigit() else r.choice(WORDS)
                text = text[:start] + new + text[end:]
            case 4:
                lines = text.split("\n")
                a, b = r.randrange(len(lines)), r.randrange(len(lines))
                lines[a], lines[b] = lines[b], lines[a]
                text = "\n".join(lines)
            case 5:
                lines = text.split("\n")
                del lines[r.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                place = r.randrange(len(text))
                text = text[:place] + chr(r.choice((0, 10, 34, 37, 64, 123, 127, 0x202E, 0x1F600))) + text[place + 1 :]
    return text


def damaged_ir(seed: int) -> str:
    """Damaged text through the passes of the phase that comes next: an exit code, and places instead of frames."""
    r = random.Random(seed)
    number = r.randrange(len(_phases()))
    text, weights = text_after(seed, _phases()[number])
    if not text:
        return "no model"
    path, store = Path("m.mlir"), Path("m.npz")
    path.write_text(damaged(r, text), errors="replace")
    store.write_bytes(weights)
    arguments = [str(path), "--weights", str(store)]
    if number + 1 < len(PHASES) and r.random() < 0.7:
        arguments += ["-p", pipeline_of(PHASES[number + 1], in_process(CompileOptions()))]
    elif r.random() < 0.3:
        arguments += ["-t", r.choice(("c", "llvm-text"))]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
    finally:
        path.unlink(missing_ok=True)
        store.unlink(missing_ok=True)
    message = err.getvalue()
    if code not in _EXITS or "Traceback" in message:
        raise Wrong(f"{' '.join(arguments)}: exit {code}: {message[:3000]}")
    if code == 3 and re.match(r"m\.mlir:\d+:\d+: error: ", message) is None:
        raise Wrong(f"no place: {message[:500]}")
    return f"exit {code}"
