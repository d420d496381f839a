"""Ten words that have one meaning each, that of docs/glossary.md: `python tests/support/words.py` lists others.

A word may stand in the rooms where its meaning is at home, and elsewhere in names and phrases that mean the same, that
are plain English, or that are given from outside: by ONNX, MLIR, the ABI, the file format of bytecode, options.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ROOMS = ("aotc", "dialects", "passes", "tools")


@dataclass(frozen=True)
class Word:
    """Patterns of the paths where a word, or its plural, is at home, and of the names and, in docstrings, messages and
    comments, of the phrases that are no offence elsewhere. Without phrases, sentences are not looked at."""

    home: str
    names: str = "a^"
    phrases: str | None = None


_INTEGERS = (
    "aotc/ma(chines|thematics)|dialects/(aot/tile|graph/(packed|schedules))|passes/(integers|kernel|loops/select)"
)
WORDS = {
    "held": Word("aotc/executor/turns"),
    "seen": Word("a^"),
    "kept": Word("a^", "kept"),  # of a buffer, in metadata
    "part": Word(
        "dialects|passes/(kernel|loops|fuse|graph/quant)|aotc/(frontend|emit/(artifacts|c/))",
        "row_parts|part_offsets|part_starts",
    ),
    "pair": Word(_INTEGERS, "Tile.*PairOp", "pair-steps|prove-narrow-pairs|tile_dot_pair|narrow_pairs|in pairs on x86"),
    "word": Word(
        rf"{_INTEGERS}|dialects/(aot/(words|instr)|graph/(trees|recurrent))|passes/lower/(memory|tiles|words)|"
        "aotc/(vm|emit/c/(definitions|expressions))",
        "Word.*|is_word|words|word_builder|WORD",
        "long[|]word",
    ),
    "line": Word(
        "aotc|tools",
        ".*(CACHE|cache)_LINE|cache_line|line_buffers|.*(prefetch(ed)?|hidden)_lines",
        "[Cc]ache lines?|line buffer",
    ),
    "phase": Word(
        "aotc/(cli|pipeline|compiler|measuring|emit|model|frontend|executor|errors|machines/machine)|"
        "(dialects/aot/threads|passes/(interface/run_on|loops/(loop|split)))",
        "Phase.*|phase_operations|phases",
        "(?<!a )(?<!the )(?<!`)phases?|`?interface`? phase|any phase|the phase( `plan`)?|a phase",
    ),
    "step": Word(
        "dialects/(graph|builder|array|aot/tiles)|passes/(kernel|integers|fuse|schedule|loops|lower)|aotc/(ma|emit/c|"
        "executor|measuring|compiler|cli/veri|frontend/onnx/(importers|parts|symbolic|node|support))",
        "Step|step|steps",
        'pair-steps|(frame|stacker)_step|time steps?|(?<=[-"])steps|last step it|one step of',
    ),
    "run": Word(
        "aotc|passes/(interface|memory)|tools",
        "run|runs|_run|RunOn.*|_run_on_one_thread",
        "(?<!a )(?<!the )(?<!of )(?<!in )[Rr]uns?|the run time|run_func|_run_packed|a run(-time| of the)",
    ),
}


def offenders(word: str, path: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each use of `word` that is not of its meaning."""
    rule, upper, title = WORDS[word], word.upper(), word.capitalize()
    use = re.compile(rf"(?<![a-zA-Z]){word}s?(?![a-z])|{title}s?(?![a-z])|(?<![A-Z]){upper}S?(?![A-Z])")
    if re.match(rule.home, path) or not use.search(source):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and use.search(token.string) and not re.fullmatch(rule.names, token.string):
            yield token.start[0], token.string
        if token.type in (tokenize.STRING, tokenize.COMMENT) and rule.phrases is not None:
            for number, text in enumerate(token.string.splitlines(), token.start[0]):
                if use.search(re.sub(rf"\b({rule.phrases})\b|(?<=@)aotc\w+", "", text)):
                    yield number, text.strip()


def found() -> dict[str, list[str]]:
    """For each word the places in the sources where it has another meaning."""
    sources = {path: path.read_text() for room in _ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
    return {
        word: [
            f"{path.relative_to(ROOT)}:{line}: {text}"
            for path, source in sources.items()
            for line, text in offenders(word, str(path.relative_to(ROOT)), source)
        ]
        for word in WORDS
    }


if __name__ == "__main__":
    for each, places in found().items():
        print(f"{each}: {len(places)}", *places, sep="\n  ")
