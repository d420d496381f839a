"""Which memory the kernels of generated C are called with: its text is read, and compared with the memory plan.

The pointers that a call has into the arena, or into an output, are those that the plan says, in its order: constant
ones where it says that the kernel reads, others where it writes. A kernel is told with `restrict` only of what no other
pointer of a call overlaps, and touches no more bytes than the plan has for it. The array of the arena, or of a pool, is
as large and as aligned as the plan takes it to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from aotc.compiler.checking.plan_proof import Memory, Span, bytes_of, faults_of, span_of
from aotc.errors import UsageError
from aotc.model.conventions import pool_symbol
from aotc.model.metadata import KernelInfo, ModelInfo, TaskInfo

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation

_SIZES = {"void": 1, "bool": 1, "char": 1, "float": 4, "double": 8}
"""Bytes of C types whose names have no number of bits."""
_CAST = re.compile(r"\(\s*(?:const\s+)?\w+\s*\*\s*\)")
_LOCAL = re.compile(r"(?:const\s+)?(\w+)\s*\*\s*(?:const\s+|restrict\s+)*(\w+)\s*=\s*([^;]+);")
_HANDED = re.compile(r"\barguments\[(\d+)\] = [^;]*?(\w+);")
_TAKEN = re.compile(r"\bvoid \*\*(\w+) = \(void \*\*\)arguments;")
_PARAMETER = re.compile(r"(const\s+)?(\w+)\s*\*\s*(restrict\s+)?(\w+)")


@dataclass(frozen=True)
class _Pointer:
    """A place in memory: what it is in, by name in C, and how many bytes behind its start; None is not a constant."""

    base: str
    offset: int | None


@dataclass(frozen=True)
class _Parameter:
    constant: bool
    alone: bool
    """Whether nothing else overlaps it, as C is told."""


_Call: TypeAlias = tuple[str, list[tuple[_Parameter, _Pointer]]]
"""The kernel and its pointers."""


def calls_of(source: str, info: ModelInfo) -> tuple[list[_Call], list[str]]:
    """The calls in the entry, in order, and the names of the entry's pointers: those of inputs, then of outputs."""
    kernels = {each.symbol for each in info.kernels}
    text = re.sub(r"/\*.*?\*/", " ", source, flags=re.DOTALL)
    found: dict[str, list[_Parameter | None]] = {}
    for symbol in kernels:
        head = f" int32_t {symbol}("
        if (start := text.find(head)) < 0:
            raise UsageError("invalid-file", "the C is not that of the plan", f"the kernel {symbol} is not there")
        parameters = [_PARAMETER.match(each) for each in _arguments(text, start + len(head))]
        found[symbol] = [each and _Parameter(bool(each[1]), bool(each[3])) for each in parameters]
    calls, pointers = list[_Call](), list[str]()
    call = re.compile(rf"\b({'|'.join(sorted(kernels, key=len, reverse=True)) or 'a^'})\(")
    for name, head, body in _as_entries(_functions(text)):
        if name in kernels:
            continue
        places = {match[4]: (match[2], "") for match in _PARAMETER.finditer(head)}
        places |= {match[2]: (match[1], match[3]) for match in _LOCAL.finditer(body)}
        for match in call.finditer(body):
            given = [_pointer(each, places) for each in _arguments(body, match.end())]
            parameters = found[match[1]]
            if len(given) != len(parameters):
                why = f"{match[1]} is called with {len(given)} arguments, not {len(parameters)}"
                raise UsageError("invalid-file", "the C is not that of the plan", why)
            both = zip(parameters, given, strict=True)
            calls.append((match[1], [(each, pointer) for each, pointer in both if each is not None]))
            pointers = [each[4] for each in _PARAMETER.finditer(head)]
    return calls, pointers


def _as_entries(functions: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Functions that several threads call have their pointers from a table: they are given those that the entry, which
    follows, writes there."""
    found = list(functions)
    for (name, head, body), (_, entry, caller) in zip(found, [*found[1:], ("", "", "")], strict=True):
        table = _TAKEN.search(body)
        if table is not None:
            head = entry
            for match in _HANDED.finditer(caller):
                body = body.replace(f"{table[1]}[{match[1]}]", match[2])
        yield name, head, body


def _functions(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, parameters and body of each function: its braces are alone at the beginning of lines."""
    end = 0
    while (begin := text.find("\n{\n", end)) >= 0:
        heads = list(re.finditer(r"^[a-zA-Z][\w *]*?(\w+)\(", text[end:begin], re.MULTILINE))
        head = text[end + heads[-1].end() : begin] if heads else ""
        end = text.find("\n}", begin)
        if heads and end >= 0:
            yield heads[-1][1], head, text[begin:end]
        if end < 0:
            return


def _arguments(text: str, start: int) -> list[str]:
    """The texts between commas from `start`, behind an opening parenthesis, to the one that closes it."""
    depth, begin, found = 0, start, list[str]()
    for place in range(start, len(text)):
        char = text[place]
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif char == ")" or (char == "," and not depth):
            found.append(text[begin:place].strip())
            begin = place + 1
            if char == ")":
                return [each for each in found if each]
    raise UsageError("invalid-file", "the C is not that of the plan", "a call has no end")


def _pointer(text: str, places: dict[str, tuple[str, str]]) -> _Pointer:
    """Where an expression points to, through the parameters and variables of the function."""
    text = _CAST.sub("", text).strip()
    match = re.fullmatch(r"&?\(?(\w+)\)?(?:\[(.*)\])?", text) or re.fullmatch(r"\(?(\w+) \+ (.*?)\)?", text)
    if match is None:
        return _Pointer(text, None)
    name, index = match[1], match[2]
    kind, value = places.get(name, ("", ""))
    outer = _pointer(value, {each: found for each, found in places.items() if each != name}) if value else None
    base, before = (name, 0) if outer is None else (outer.base, outer.offset)
    if index is None:
        return _Pointer(base, before)
    number = re.fullmatch(r"(\d+)[uUlL]*", index)
    if number is None or before is None:
        return _Pointer(base, None)
    return _Pointer(base, before + int(number[1]) * _size(kind or "uint8_t"))


def _size(kind: str) -> int:
    bits = re.search(r"\d+", kind)
    return int(bits[0]) // 8 if bits else _SIZES.get(kind, 1)


def source_of(compilation: Compilation) -> str | None:
    """The C of a model after the last phase; None where none calls kernels with pointers."""
    from aotc.emit.c.files import emit_c

    info = compilation.info()
    if info.operator_api != "unpacked" or info.executor != "aot":
        return None
    written = emit_c(compilation.module, compilation.store, info)[f"{info.name}.c"]
    return written if isinstance(written, str) else "".join(map(str, written))


def checked_plan(info: ModelInfo, source: str | None) -> tuple[int, list[str]]:
    """How many calls of the C `source` were read, None or C without pointers having none, and what is wrong with the
    memory plan, or not so in the C; a sentence each."""
    faults = faults_of(info)
    if faults or source is None or info.operator_api != "unpacked" or info.executor != "aot":
        return 0, faults
    return compare_calls(source, info)


def compare_calls(source: str, info: ModelInfo) -> tuple[int, list[str]]:
    """How many calls the C has, and what is not as the plan of `info` says, a sentence each. Raises UsageError where
    it is another model's."""
    calls, names = calls_of(source, info)
    tasks = [(number, task) for number, task in enumerate(info.plan.tasks) if task.kind == "call"]
    if len(calls) != len(tasks):
        return len(calls), [f"the C calls {len(calls)} kernels, the plan has {len(tasks)}"]
    arenas = list(info.plan.arenas)
    memories = {pool_symbol(info.name, pool): Memory(pool=pool) for pool in arenas}
    outputs = [Memory(output=each.name) for each in info.outputs if each.offset is None]
    before = sum(each.offset is None for each in info.inputs)
    given = [Memory(pool=pool) for pool in arenas] if info.workspace == "caller" else []
    memories |= dict(zip(names[before:], (*outputs, *given), strict=False))
    kernels = {each.symbol: each for each in info.kernels}
    found = [] if info.workspace == "caller" else list(_too_small(source, info))
    for (symbol, pointers), (number, task) in zip(calls, tasks, strict=True):
        inside = [
            (place, each, _Place(memories[pointer.base], pointer.offset))
            for place, (each, pointer) in enumerate(pointers)
            if pointer.base in memories
        ]
        spans = _in_order(task, info, [(each, at) for _, each, at in inside])
        for what, constant, accesses in (("reads", True, task.reads), ("writes", False, task.writes)):
            wanted = [span_of(info.plan, each) for each in accesses]
            given = [at for (_, _, at), (taken, _) in zip(inside, spans, strict=True) if taken is constant]
            if len(given) != len(wanted):
                found.append(f"call {number} {what} {len(given)} places, the plan says {len(wanted)}")
            for span, at in zip(wanted, given, strict=False):
                if not at.is_at(span):
                    here, there = f"{at.memory} at {at.offset}", f"{span.memory} at {span.start}"
                    found.append(f"call {number} {what} {here}, the plan says {there}")
        known = [span for _, span in spans]
        found += _sharing(number, [each for _, each, _ in inside], known)
        found += _too_large(number, kernels[symbol], [place for place, *_ in inside], known, len(pointers))
    return len(calls), found


def _too_small(source: str, info: ModelInfo) -> Iterator[str]:
    """Arrays that have fewer bytes, or are less aligned, than the plan says."""
    for pool, size in info.plan.arenas.items():
        array = re.search(rf"AOTC_ALIGNED\((\d+)\) uint8_t {pool_symbol(info.name, pool)}\[(\d+)\];", source)
        alignment, length = (0, 0) if array is None else (int(array[1]), int(array[2]))
        if size and (length < size or alignment % info.plan.alignment or not alignment):
            here, there = f"{length} bytes aligned by {alignment}", f"{size} by {info.plan.alignment}"
            yield f"{Memory(pool=pool)} has {here} in C, the plan takes {there}"


@dataclass(frozen=True)
class _Place:
    """Where a pointer points to; None is not a constant."""

    memory: Memory
    offset: int | None

    def is_at(self, span: Span) -> bool:
        return self.memory == span.memory and self.offset in (None, span.start)


def _in_order(
    task: TaskInfo, info: ModelInfo, pointers: Sequence[tuple[_Parameter, _Place]]
) -> list[tuple[bool, Span | None]]:
    """For each pointer into planned memory whether it is one of those that are read, and its bytes by the plan. Scratch
    memory that a kernel does not use after all is constant in C."""
    kept = {access.value for each in info.plan.tasks for access in each.reads}
    left = {True: list(task.reads), False: list(task.writes)}
    found: list[tuple[bool, Span | None]] = []
    for each, at in pointers:
        reads, writes = left[True], left[False]
        is_read = bool(reads) and at.is_at(span_of(info.plan, reads[0]))
        is_scratch = bool(writes) and writes[0].value not in kept and at.is_at(span_of(info.plan, writes[0]))
        taken = each.constant and (is_read or not is_scratch)
        found.append((taken, span_of(info.plan, left[taken].pop(0)) if left[taken] else None))
    return found


def _sharing(number: int, parameters: Sequence[_Parameter], spans: Sequence[Span | None]) -> Iterator[str]:
    """Pointers that a kernel is told nothing else overlaps, and something does."""
    for one, (parameter, span) in enumerate(zip(parameters, spans, strict=True)):
        for other, (second, each) in enumerate(zip(parameters, spans, strict=True)):
            is_promised = (parameter.alone or second.alone) and not (parameter.constant and second.constant)
            if one < other and span is not None and each is not None and span.meets(each) and is_promised:
                yield f"call {number} is told that two of its pointers do not overlap, which do"


def _too_large(
    number: int, kernel: KernelInfo, places: Sequence[int], spans: Sequence[Span | None], count: int
) -> Iterator[str]:
    """Arguments, of `count` pointers those in `places`, that have more bytes for the kernel than the plan has."""
    arguments = (*kernel.inputs, *kernel.outputs)
    if len(arguments) != count:  # one function for several shapes
        return
    for place, span in zip(places, spans, strict=True):
        if span is not None and (size := bytes_of(arguments[place])) > span.end - span.start:
            yield f"call {number} touches {size} bytes of {arguments[place].name}, the plan has {span.end - span.start}"
