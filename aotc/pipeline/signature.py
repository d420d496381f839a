"""The options of a compilation as keyword arguments: typed, each with a sentence for help()."""

import functools
import inspect
import os
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_type_hints

from aotc.model.arguments import checks_kinds, require
from aotc.pipeline.options import INTERNAL, CompileOptions

Optimize = Literal["0", "1", "2", "3", "s", 0, 1, 2, 3]
PathLike = str | os.PathLike[str]
Size = int | str
"""Bytes, or text such as "16K"."""


class InProcessOptions(TypedDict, total=False):
    """The arguments of `aotc.compile`."""

    name: Annotated[str | None, "the model's name in symbols (default: the file's)"]
    target: Annotated[str, "a name from `aotc targets` or triple[:cpu[:features]]"]
    interface_api: Annotated[Literal["packed", "c", "micro", ""], "convention of the entry"]
    operator_api: Annotated[Literal["packed", "cpacked", "unpacked", ""], "convention of the operators inside"]
    runtime: Annotated[Literal["c", "host"], "who calls it: bare C, or the host executor"]
    workspace: Annotated[Literal["internal", "caller"], "the arena is a static array, or the caller's"]
    weights: Annotated[Literal["embedded", "external", "caller"], "in the code, in NAME.weights.bin, or the caller's"]
    io: Annotated[Literal["caller", "workspace"], "inputs and outputs are the caller's, or in the workspace"]
    executor: Annotated[Literal["aot", "vm"], "the entry is compiled to code, or to bytecode that a machine runs"]
    operator_arguments: Annotated[Literal["tensors", "values", "pointers"], "what cpacked operators are given"]
    resource_handle: Annotated[bool, "give a `c` entry and its operators a handle of the application's"]
    packed_wrapper: Annotated[bool, "export a packed entry beside a typed one"]
    export_operators: Annotated[bool, "give the operators external linkage"]
    optimize: Annotated[Optimize, "how hard to optimise; s: prefer small code"]
    accuracy: Annotated[Literal["fast", "strict"], "whether faster algorithms may round differently, by 1e-4"]
    requantize: Annotated[Literal["exact", "fixed"], "round sums without vectors as onnxruntime, or as TFLite"]
    offload: Annotated[str | Sequence[str], "code generators of other packages that may claim operators"]
    tuned: Annotated[PathLike | None, "follow the table of this name that `aotc tune` wrote"]
    profile: Annotated[bool, "count what each call of a kernel takes"]
    threads: Annotated[int, "have so many threads run a call together; results do not change"]
    dims: Annotated[Mapping[str, int | Literal["any"]], 'fix symbolic dimensions: {"batch": 4}; "any": leave it open']
    input_shapes: Annotated[Mapping[str, Sequence[int]], 'fix shapes of inputs: {"x": (1, 3, 224, 224)}']
    constants: Annotated[Mapping[str, Any], 'make inputs constants: {"n": 4}; "any": compile for each value of a call']
    state: Annotated[Mapping[str, str], 'keep outputs as inputs of the next call: {"h_out": "h_in"}']
    max_constants: Annotated[Size, 'the most that constants computed by the compiler may take: bytes, or "256M"']
    max_nodes: Annotated[int, "the most nodes that calls of functions are expanded to"]
    check_indices: Annotated[bool, "return a status where an index of the inputs is out of range"]
    start_at: Annotated[str | None, "the source is the IR after this phase"]
    dump_phases: Annotated[PathLike | None, "write the IR after every phase into this folder"]
    print_ir_after_all: Annotated[bool, "print the IR after every pass"]
    verify_each: Annotated[bool, "verify after every pass, not only every phase"]
    time_passes: Annotated[bool, "keep how long each pass took"]


class FileOptions(InProcessOptions, total=False):
    """The arguments of `aotc.compile_to`."""

    emit: Annotated[str | Sequence[str], "kinds of artefacts: c, header, object, shared, ..."]
    split: Annotated[bool, "write the operators, exported, to NAME_operators.c"]
    weights_section: Annotated[str | None, "linker section of the weights in objects"]
    workspace_section: Annotated[str | None, "linker section of the workspace in objects"]
    selftest: Annotated[PathLike | None, "add aotc_NAME_selftest(), which runs the inputs of this npz file"]
    selftest_outputs: Annotated[PathLike | None, "what it expects (default: onnxruntime's outputs, or else our own)"]
    ram: Annotated[Size | None, 'the most RAM it may take: bytes, or "16K"']
    flash: Annotated[Size | None, "the most code and constants"]
    stack: Annotated[Size | None, "the most stack"]
    cc: Annotated[str | None, "measure code and stack of the C with this compiler"]
    stop_after: Annotated[str | None, "write the IR after this phase and stop"]
    jobs: Annotated[int | None, "how many processes compile kernels (default: as many as cores that may be used)"]


Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(keywords: type, without: Collection[str] = ()) -> Callable[[Function], Function]:
    """Show every option in the signature of a function that takes them as `**options`, describe it at its end, and have
    it refuse arguments of the wrong kind.

    `keywords` is the TypedDict that types them; `without` are fields of CompileOptions that the function refuses.
    """
    hints = get_type_hints(keywords, include_extras=True)

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        shown = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        described: list[str] = []
        for field in fields(CompileOptions):
            if field.name in without or field.name in INTERNAL:
                continue
            hint = hints.get(field.name)
            kind, sentence = (field.type, "") if hint is None else (hint.__origin__, hint.__metadata__[0])
            default = field.default if field.default_factory is MISSING else field.default_factory()
            shown.append(
                inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            )
            described.append(f"{field.name}: {sentence}" if sentence else field.name)
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
