"""The options of a compilation as keyword arguments: typed, each with a sentence for help()."""

import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from re import Match
from typing import Annotated, Any, Final, Literal, TypedDict, TypeVar, get_type_hints

from aotc.errors import AotcError
from aotc.model.arguments import checks_kinds, require
from aotc.pipeline.options import CHOICES, KINDS, SINGULAR, CompileOptions

Optimize = Literal["0", "1", "2", "3", "s", 0, 1, 2, 3]
PathLike = str | os.PathLike[str]
Size = int | str
"""Bytes, or text such as "16K"."""


class InProcessOptions(TypedDict, total=False):
    """The arguments of `aotc.compile`, each with a sentence in the terms of the command, what stands for its value
    there, and where the command takes it otherwise, its sentence of that."""

    name: Annotated[str | None, "the model's name in files and symbols (default: the file's)", "NAME"]
    target: Annotated[
        str, "a name from `aotc targets` or triple[:cpu[:features]], perhaps with caches: host@l2=512K,l3=8M", "TARGET"
    ]
    interface_api: Annotated[
        Literal["packed", "c", "micro", ""], "convention of the entry (default: packed with --runtime host, else c)"
    ]
    operator_api: Annotated[
        Literal["packed", "cpacked", "unpacked", ""],
        "convention of the operators inside (default: cpacked behind a packed entry of --runtime host, else unpacked)",
    ]
    runtime: Annotated[Literal["c", "host"], "who calls it: bare C, or the host executor"]
    workspace: Annotated[Literal["internal", "caller"], "the arena is a static array, or the caller's"]
    weights: Annotated[Literal["embedded", "external", "caller"], "in the file, in NAME.weights.bin, or the caller's"]
    io: Annotated[
        Literal["caller", "workspace", "quantized", "workspace,quantized"],
        "inputs and outputs are the caller's, or at offsets of the workspace; quantized: as integers, where the model "
        "quantises them first and dequantises them last",
        "caller|workspace|quantized|workspace,quantized",
    ]
    executor: Annotated[
        Literal["aot", "vm"], "the entry is compiled to code, or to bytecode that a machine runs (docs/vm.md)"
    ]
    operator_arguments: Annotated[Literal["tensors", "values", "pointers"], "what cpacked operators are given"]
    resource_handle: Annotated[
        bool, "give a `c` entry and its operators a handle of the application's as last argument"
    ]
    packed_wrapper: Annotated[bool, "export a packed entry beside a typed one"]
    export_operators: Annotated[bool, "give the operators external linkage"]
    optimize: Annotated[Optimize, "how hard to optimise; s: prefer small code"]
    accuracy: Annotated[
        Literal["fast", "strict"],
        "whether faster algorithms may round differently, by at most 1e-4 of the greatest result",
    ]
    requantize: Annotated[
        Literal["exact", "fixed", "tflite"],
        "round sums of integers as onnxruntime does; or without vectors in TFLite's fixed-point arithmetic, which may "
        "be one unit off; or compute a .tflite model as TFLite's reference kernels do, which is its default",
    ]
    offload: Annotated[
        str | Sequence[str],
        "code generators of other packages that may claim operators, asked in this order (docs/artifacts.md)",
        "NAME,...",
    ]
    tuned: Annotated[
        PathLike | None,
        "follow the table of this name that `aotc tune` wrote",
        "TABLE.json",
        "follow what `aotc tune` has measured (default table: that of this machine)",
    ]
    profile: Annotated[bool, "count what each call of a kernel takes"]
    threads: Annotated[
        int, "have N threads run a call together, on targets with POSIX threads; results do not change", "N"
    ]
    dims: Annotated[
        Mapping[str, int | Literal["any"]],
        'fix symbolic dimensions: {"batch": 4}; "any": leave it open',
        "NAME=SIZE",
        "fix a symbolic dimension",
    ]
    input_shapes: Annotated[
        Mapping[str, Sequence[int]],
        'fix shapes of inputs: {"x": (1, 3, 224, 224)}',
        "INPUT=SIZE,...",
        "fix the shape of an input",
    ]
    constants: Annotated[
        Mapping[str, Any],
        'make inputs constants: {"n": 4}; "any": compile for each value of a call',
        "INPUT=VALUE|FILE.npz",
        "make an input a constant: a number, a list as [1, 2], or the array of its name in a file",
    ]
    state: Annotated[
        Mapping[str, str],
        'keep outputs as inputs of the next call: {"h_out": "h_in"}',
        "OUTPUT=INPUT",
        "keep an output inside, as an input of the next call; callers see neither (docs/state.md)",
    ]
    stream: Annotated[
        Mapping[str, int],
        'take inputs by rows, at most so many at once: {"x": 8}',
        "INPUT=ROWS",
        "take an input by rows, at most so many at once; there is never all of it in RAM (docs/stream.md)",
    ]
    input_layouts: Annotated[
        Mapping[str, str],
        'axes of inputs as callers have them: {"x": "nhwc"}',
        "INPUT=LAYOUT",
        "the axes of an input as callers have them: nhwc, nwc, ndhwc, nchw, ncw or ncdhw",
    ]
    output_layouts: Annotated[
        Mapping[str, str],
        'axes of outputs as callers have them: {"y": "nhwc"}',
        "OUTPUT=LAYOUT",
        "the axes of an output as callers have them",
    ]
    pools: Annotated[
        Mapping[str, Any],
        'place buffers in memories of a size, the most used in the fastest: {"dtcm": "64K,speed=1"}',
        "NAME=SIZE[,speed=N]",
        "place buffers in memories, the most used in the fastest: speed is the cycles of an access (docs/memory.md)",
    ]
    pins: Annotated[
        Mapping[str, str],
        'buffers, as `aotc plan` names them, that must be in a pool: {"conv_1": "dtcm"}',
        "TENSOR=POOL",
        "have a buffer, as `aotc plan` names it, in this pool",
    ]
    weights_pool: Annotated[
        str | None, "where embedded weights are meant to be: in C, AOTC_WEIGHTS_NAME stands before them", "NAME"
    ]
    max_constants: Annotated[Size, "what is computed of constants, or of nothing, in bytes (default: 256M)", "SIZE"]
    max_folded: Annotated[
        Size, "a constant made of a smaller one to save computing it in each call, in bytes (default: 64K)", "SIZE"
    ]
    max_nodes: Annotated[int, "nodes that calls of functions are expanded to", "N"]
    check_indices: Annotated[
        bool, "fail with status -1 where an index of the inputs is out of range (default: clamped, or not written)"
    ]
    start_at: Annotated[str | None, "the model is the IR after this phase", "PHASE"]
    dump_phases: Annotated[PathLike | None, "write the IR after every phase into this folder", "DIR"]
    print_ir_after_all: Annotated[bool, "print the IR after every pass"]
    verify_each: Annotated[bool, "verify after every pass, not only every phase"]
    time_passes: Annotated[bool, "say how long each pass took"]


class FileOptions(InProcessOptions, total=False):
    """The arguments of `aotc.compile_to`."""

    emit: Annotated[str | Sequence[str], ", ".join(KINDS) + " (default: c)", "KIND[,KIND...]"]
    split: Annotated[bool, "write the operators, exported, to NAME_operators.c"]
    debug_info: Annotated[
        bool, "machine code has debug information: lines of NAME.nodes, which lists the model's nodes"
    ]
    weights_section: Annotated[str | None, "linker section of the weights in objects (C: AOTC_WEIGHTS)", "NAME"]
    workspace_section: Annotated[str | None, "linker section of the workspace in objects (C: AOTC_WORKSPACE)", "NAME"]
    selftest: Annotated[PathLike | None, "add aotc_NAME_selftest(), which runs the inputs of this npz file", "IN.npz"]
    selftest_outputs: Annotated[
        PathLike | None, "what it expects (default: onnxruntime's outputs, or else our own)", "OUT.npz"
    ]
    ram: Annotated[
        Size | None,
        "the most RAM: the arena, and inputs and outputs unless they are in it (--io workspace); on cores without "
        "vectors layers are computed row by row where it takes that, or min: so that it is the least",
        "SIZE",
    ]
    flash: Annotated[
        Size | None, "the most flash: code and constants for the target, weights unless --weights caller", "SIZE"
    ]
    stack: Annotated[
        Size | None, "the most stack: the entry and all it calls on the target, without the C library", "SIZE"
    ]
    cc: Annotated[str | None, "the compiler of your C (GCC or Clang): run it to measure code and stack", "COMMAND"]
    stop_after: Annotated[str | None, "write the IR after this phase and stop", "PHASE"]
    jobs: Annotated[
        int | None,
        "have N processes compile kernels; files do not change (default: as many as cores that may be used)",
        "N",
    ]


HINTS: Final = get_type_hints(FileOptions, include_extras=True)
"""The types of all options, annotated."""
NOT_IN_PROCESS: Final = tuple(name for name in HINTS if name not in InProcessOptions.__annotations__)
"""Options without a meaning for a model that is called where it is compiled."""


Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(keywords: type) -> Callable[[Function], Function]:
    """Show every option in the signature of a function that takes them as `**options`, describe it at its end, and have
    it refuse arguments of the wrong kind. `keywords` is the TypedDict that types them."""
    hints = {name: hint for name, hint in HINTS.items() if name in keywords.__annotations__}

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        shown = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        described: list[str] = []
        for field in fields(CompileOptions):
            if (hint := hints.get(field.name)) is None:
                continue
            default = field.default if field.default_factory is MISSING else field.default_factory()
            kind = inspect.Parameter.KEYWORD_ONLY
            shown.append(inspect.Parameter(field.name, kind, default=default, annotation=hint.__origin__))
            described.append(f"{field.name}: {python_terms(hint.__metadata__[0])}")
        by_itself = checks_kinds(function)

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            for name, value in named.items():
                if name in hints:
                    require(name, value, hints[name])
            return by_itself(*given, **named)

        call.__signature__ = own.replace(parameters=shown)  # pyright: ignore[reportAttributeAccessIssue]
        documentation = inspect.cleandoc(function.__doc__ or "")
        call.__doc__ = f"{documentation}\n\nOptions:\n{textwrap.indent(chr(10).join(described), '    ')}"
        return call  # pyright: ignore[reportReturnType]

    return decorate


_WRITTEN: dict[str, Callable[[str], str]] = {
    "input_shapes": lambda text: f"({text.replace(',', ', ')}{'' if ',' in text else ','})",
    **dict.fromkeys(("state", "input_layouts", "output_layouts", "pools", "pins"), lambda text: f'"{text}"'),
}
"""How values of entries are written that are not numbers."""

_ENTRY = re.compile(
    r"--(dim|input-shape|constant|state|stream|input-layout|output-layout|pool|pin)"
    r"(?: ([^\s=:;]+)(?:=(\[[^\]]*\]|[\w,]*,\.\.\.|[^\s;:]*[^\s;:,.]))?)?"
)
_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ([\w|.-]*[\w-]))?")
_NAMES = frozenset(field.name for field in fields(CompileOptions))


@contextmanager
def in_python_terms() -> Generator[None]:
    """Let errors name the keywords of `compile` and `compile_to` instead of flags of the command."""
    try:
        yield
    except AotcError as error:
        sentences = ("what", "why", "fix")
        error.problems = tuple(
            replace(problem, **{key: python_terms(getattr(problem, key)) for key in sentences})
            for problem in error.problems
        )
        error.args = ("\n".join(map(str, error.problems)),)
        raise


def python_terms(text: str) -> str:
    """`--dim n=4` as `dims={"n": 4}`, `--interface-api c` as `interface_api="c"`, and so on."""
    return _FLAG.sub(_keyword, _ENTRY.sub(_entry, text))


def _entry(match: Match[str]) -> str:
    keyword = next(name for name, singular in SINGULAR.items() if singular == match[1])
    if match[2] is None:
        return keyword
    if match[3] is None:
        return f"{keyword} {match[2]}"
    return f'{keyword}={{"{match[2]}": {_WRITTEN.get(keyword, str)(match[3])}}}'


def _keyword(match: Match[str]) -> str:
    name, value = match[1].replace("-", "_"), match[2]
    if name not in _NAMES:
        return match[0]
    if value is not None and (value.isdigit() or value.isupper()):  # a number, or what stands for one, as N
        return f"{name}={value}"
    if value is None:
        return name
    # Whether it is a value of the option, and not what the message goes on with.
    is_text = name == "target" or (name == "emit" and value in KINDS) or (name == "cc" and "-" in value)
    if is_text or {*value.split("|")} & {*CHOICES.get(name, ())}:
        return f'{name}="{value}"'
    return f"{name} {value}"
