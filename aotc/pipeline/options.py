"""Everything a user can ask of a compilation, as one frozen value; parsing and checking of its parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from aotc.errors import Problem, UsageError
from aotc.machines.targets import machine_of
from aotc.model import conventions
from aotc.model.arguments import is_truth
from aotc.model.conventions import default_interface, default_operators
from aotc.model.known_tensors import KnownTensor
from aotc.model.limits import MOST_COMPUTED, MOST_EXPANDED, MOST_FOLDED, Pool
from aotc.pipeline.entries import ENTRIES, is_pool_name, parse_size

if TYPE_CHECKING:
    from aotc.model.metadata import KernelForms

KINDS = ("c", "header", "llvm-ir", "asm", "object", "static", "shared", "mlf", "vm")
"""The values of `--emit`."""

NATIVE_KINDS = frozenset(("llvm-ir", "asm", "object", "static", "shared"))
"""Those that LLVM makes."""

CODE_KINDS = frozenset(("c", "object", "static", "shared"))
"""Those that are linked, or are a library."""

CHOICES: dict[str, tuple[str, ...]] = conventions.CHOICES | {
    "io": ("caller", "workspace", "quantized", "workspace,quantized"),
    "optimize": ("0", "1", "2", "3", "s"),
    "accuracy": ("fast", "strict"),
    "requantize": ("exact", "fixed", "tflite"),
    "executor": ("aot", "vm"),
}
"""Options of fixed choice, by field name."""

SINGULAR = {
    "dims": "dim",
    "input_shapes": "input-shape",
    "constants": "constant",
    "state": "state",
    "stream": "stream",
    "input_layouts": "input-layout",
    "output_layouts": "output-layout",
    "pools": "pool",
    "pins": "pin",
}
"""Flags that are given once for each entry of a mapping, by field name."""

INTERNAL = frozenset(("forms", "chosen_ram", "weights_apart"))
"""Fields of the options that the compiler sets itself."""

MOST_THREADS = 64
"""As `AOTC_THREADS_MAX` of the runtime says."""

ANY_RAM = 1 << 40
"""Bytes that any model fits into."""

_HARDLY = 7
"""Thousandths of the instructions of a program that do not matter: a hundredth, less what an estimate misses."""


def flag(name: str) -> str:
    """The flag of a field."""
    return f"--{SINGULAR.get(name, name).replace('_', '-')}"


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compilation; the interface page of the documentation describes each."""

    name: str | None = None
    emit: tuple[str, ...] = ("c",)
    target: str = "host"
    interface_api: str = ""
    """Empty: what suits the runtime (`aotc.model.conventions.default_interface`)."""
    operator_api: str = ""
    """Empty: what suits interface and runtime (`aotc.model.conventions.default_operators`)."""
    runtime: str = "c"
    workspace: str = "internal"
    weights: str = "embedded"
    io: str = "caller"
    """Where inputs and outputs are, and whether the caller has integers where the model quantises floats at once."""
    executor: str = "aot"
    """Whether the entry is compiled to code, or to bytecode which a machine runs."""
    operator_arguments: str = "tensors"
    resource_handle: bool = False
    packed_wrapper: bool = False
    export_operators: bool = False
    split: bool = False
    debug_info: bool = False
    """Whether machine code has debug information, whose lines are the model's nodes; not in C."""
    weights_section: str | None = None
    workspace_section: str | None = None
    selftest: str | None = None
    selftest_outputs: str | None = None
    optimize: str = "2"
    accuracy: str = "fast"
    """Whether faster algorithms may round differently, by up to 1e-4 of the greatest result, or no sum may change."""
    requantize: str = ""
    """How sums of integers become narrow integers: as onnxruntime rounds; without vectors as TFLite rounds, at
    most one unit apart, and then all means by sums of integers; of a .tflite model all arithmetic as TFLite's reference
    kernels. Empty: the model's own, `tflite` of a .tflite model, `exact` of any other."""
    offload: tuple[str, ...] = ()
    """Code generators from outside, by name, that may claim operations; asked in this order."""
    tuned: str | None = None
    """A table of measured decisions that `aotc tune` wrote; without one, results depend on no measurement."""
    profile: bool = False
    """Whether the code counts what each call of a kernel takes (`aotc.measuring.profiling`); not in C."""
    threads: int = 1
    """How many threads run a call together; results do not depend on it."""
    check_indices: bool = False
    """Whether a call fails with a status where an index known only at run time is out of range."""
    dims: Mapping[str, int | Literal["any"]] = field(default_factory=dict[str, "int | Literal['any']"])
    """Values of symbolic dimensions; "any" says that one is meant to be open."""
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    constants: Mapping[str, KnownTensor | Literal["any"]] = field(
        default_factory=dict[str, "KnownTensor | Literal['any']"]
    )
    """Inputs that are constants of the compiled model; "any" says that a model is meant to be compiled for each value
    that arrives."""
    state: Mapping[str, str] = field(default_factory=dict[str, str])
    """Outputs, by name, that the workspace keeps as inputs of the next call, neither of which callers see."""
    stream: Mapping[str, int] = field(default_factory=dict[str, int])
    """Inputs, by name, that callers hand over by rows, at most so many at once."""
    input_layouts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Layouts (`aotc.model.conventions`) that callers give inputs in, by name; the model's own where there is none."""
    output_layouts: Mapping[str, str] = field(default_factory=dict[str, str])
    """As `input_layouts`, of outputs."""
    pools: Mapping[str, Pool] = field(default_factory=dict[str, Pool])
    """The memories that buffers are placed in, by name; one arena, of any size, where there are none."""
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The pools that buffers must be in, by their names in the memory plan."""
    weights_pool: str | None = None
    """The memory that embedded weights are meant to be in, perhaps one of `pools`."""
    max_constants: int = MOST_COMPUTED
    """Bytes that constants which the compiler computes, by importing and folding, may take beside the model's own."""
    max_folded: int = MOST_FOLDED
    """Bytes of a constant that folding may make of fewer elements; what is larger is computed in each call."""
    max_nodes: int = MOST_EXPANDED
    """How many nodes calls of functions may be expanded to, beside those of the model's graph."""
    weights_apart: bool = False
    """Of code in this process: each weight has an address of its own, so that what is compiled of one model for several
    shapes has weights in common. No choice of users."""
    forms: KernelForms | None = None
    """Forms of kernels that fit the budget of flash; None: fast ones, or with -Os small ones. No choice of users."""
    ram: int | str | None = None
    """The most bytes of RAM, or "min": as few as there can be."""
    chosen_ram: int | None = None
    """The bytes of RAM that layers row by row are chosen for; None: `ram`. Fewer where offsets need more than was
    estimated, `ANY_RAM` for the fastest program. No choice of users."""
    flash: int | None = None
    stack: int | None = None
    cc: str | None = None
    """The command that C is compiled with, which measures code and stack; None: they are estimated."""
    stop_after: str | None = None
    start_at: str | None = None
    dump_phases: str | None = None
    print_ir_after_all: bool = False
    verify_each: bool = False
    time_passes: bool = False
    jobs: int | None = None
    """How many processes compile kernels at the same time, on which no result depends; None: one for each core that
    this process may use."""

    def __post_init__(self) -> None:
        if not self.interface_api:
            default = "packed" if self.has_bytecode else default_interface(self.runtime)
            object.__setattr__(self, "interface_api", default)
        if not self.operator_api:
            default = default_operators(self.interface_api, self.runtime)
            given = "cpacked" if self.has_bytecode and self.interface_api == "packed" else default
            object.__setattr__(self, "operator_api", given)
        problems = [
            Problem("unknown-choice", f"{flag(name)} {value}", "unknown value", "choose from " + ", ".join(choices))
            for name, choices in CHOICES.items()
            if (value := getattr(self, name)) not in (*choices, getattr(CompileOptions, name))
        ]
        problems += [
            Problem("unknown-choice", f"--emit {kind}", "unknown kind", "choose from " + ", ".join(KINDS))
            for kind in self.emit
            if kind not in KINDS
        ]
        if not self.emit:
            problems.append(Problem("invalid-option", "--emit is empty", fix="choose from " + ", ".join(KINDS)))
        if self.jobs is not None and self.jobs < 1:
            fix = "leave it out, or use --jobs 1"
            problems.append(Problem("out-of-range", f"--jobs {self.jobs}", "not 1 or more", fix))
        if not 1 <= self.threads <= MOST_THREADS:
            problems.append(Problem("out-of-range", f"--threads {self.threads}", f"not from 1 to {MOST_THREADS}"))
        problems += [Problem("option-conflict", what, why, fix) for asked, what, why, fix in self._conflicts() if asked]
        problems += self._executor_problems()
        if problems:
            raise UsageError(problems)

    def _conflicts(self) -> Iterator[tuple[object, str, str, str]]:
        """Options of two kinds: whether they are asked for together; which, why that cannot be, and what to do."""
        asked = self.selftest_outputs is not None and self.selftest is None
        yield asked, "--selftest-outputs without --selftest", "outputs belong to inputs", ""
        why = "a packed entry is given its tensors, and with --io workspace there are none to give"
        asked = self.io_place == "workspace" and self.packed_wrapper
        yield asked, "--io workspace with --packed-wrapper", why, "use --io caller"
        is_native, emitted = bool(NATIVE_KINDS & {*self.emit}), f"with --emit {','.join(self.emit)}"
        for name in ("weights", "workspace"):
            section = getattr(self, f"{name}_section")
            asked = section is not None and not is_native
            yield asked, f"--{name}-section {section}", "no object is written", f"in C, define AOTC_{name.upper()}"
        asked, fix = self.debug_info and not is_native, "give -g to the compiler of the C"
        yield asked, f"--debug-info {emitted}", "no machine code is made", fix
        asked = self.cc is not None and "c" not in self.emit
        yield asked, f"--cc {self.cc} {emitted}", "it compiles the C that is generated, and none is", "use --emit c"
        why = "a profile runs the model in the memory of this process, and those kernels are linked"
        flags = f"--offload {','.join(self.offload)} with a profile"
        yield self.offload and self.profile, flags, why, "leave out the code generators"
        has_threads, threads = self.threads > 1, f"--threads {self.threads}"
        why = "an operator is called by all threads of the model's entry together, not by the application"
        yield has_threads and self.export_operators, f"{threads} with --export-operators", why, "use --threads 1"
        why = "kernels are timed on one thread"
        yield has_threads and self.profile, f"{threads} with a profile", why, "use --threads 1"
        yield from self._stream_conflicts()
        yield from self._pool_conflicts()
        if self.has_bytecode:
            vm = "--executor vm" if self.executor == "vm" else "--emit vm"
            why, fix = "bytecode calls operators with tensors, as packed functions", "use --interface-api packed"
            asked = self.operator_api == "unpacked" or self.operator_arguments != "tensors"
            yield asked, vm, why, f"{fix} --operator-api cpacked"
            yield (
                self.io_place == "workspace",
                f"{vm} with --io workspace",
                "it is given its tensors",
                "use --io caller",
            )
            why = "the workspace of bytecode lives as long as a call"
            yield self.state, f"{vm} with --state", why, "leave out either: hand the states on yourself"
            yield self.stream, f"{vm} with --stream", why, "compile to code"
            yield has_threads, f"{vm} with {threads}", "bytecode calls operators on one thread", "use --threads 1"

    def _stream_conflicts(self) -> Iterator[tuple[object, str, str, str]]:
        """As `_conflicts`, of inputs that come by rows."""
        flags = ", ".join(f"--stream {name}={rows}" for name, rows in self.stream.items())
        asked = bool(self.stream)
        why = "rows of one input come at a time, and a call has no place for those of another"
        yield len(self.stream) > 1, flags, why, "choose one"
        why = "an array of pointers does not say how many rows come"
        yield asked and self.interface_api == "micro", f"{flags} with --interface-api micro", why, "use c or packed"
        why = "the rows are the caller's, so that no input lies in the workspace"
        yield asked and self.io_place == "workspace", f"{flags} with --io workspace", why, "use --io caller"
        why = "which rows there are is known to one thread"
        yield asked and self.threads > 1, f"{flags} with --threads {self.threads}", why, "use --threads 1"
        yield asked and self.profile, f"{flags} with a profile", "it counts whole calls", "leave out either"
        yield (
            asked and self.optimize == "0",
            f"{flags} with -O0",
            "no layers are computed row by row",
            "use -O1 or more",
        )

    def _pool_conflicts(self) -> Iterator[tuple[object, str, str, str]]:
        """As `_conflicts`, of memories that buffers are placed in."""
        asked, flags = bool(self.pools), " ".join(f"--pool {name}={pool}" for name, pool in self.pools.items())
        names = [name.upper() for name in self.pools]
        twice = next((name for name in self.pools if names.count(name.upper()) > 1), "")
        yield twice, flags, f"macros of two pools would have the name of {twice}", "choose other names"
        fix = "use --threads 1"
        yield asked and self.threads > 1, f"{flags} with --threads {self.threads}", "a host has one memory", fix
        yield asked and self.has_bytecode, f"{flags} with bytecode", "the machine has memory of its own", "use code"
        given = self.workspace == "caller" and (self.interface_api == "packed" or self.packed_wrapper)
        why, fix = "packed arguments have one workspace", "use --workspace internal, or --interface-api c"
        yield asked and given, f"{flags} with packed arguments and --workspace caller", why, fix
        choices = ", ".join(self.pools) or "those that --pool names"
        for tensor, pool in self.pins.items():
            yield pool not in self.pools, f"--pin {tensor}={pool}", f"there is no pool {pool}", f"choose from {choices}"
        flags_of_weights, given = f"--weights-pool {self.weights_pool}", self.weights_pool is not None
        why, fix = "the application says where they are", "use --weights embedded"
        yield given and self.weights != "embedded", f"{flags_of_weights} with --weights {self.weights}", why, fix
        why, fix = "a pool's name is part of names in C: letters, digits and underscores", "choose another name"
        yield given and not is_pool_name(self.weights_pool or ""), flags_of_weights, why, fix
        why, fix = "each pool has a section of its own", "write --pool NAME=SIZE,section=NAME"
        yield asked and self.workspace_section is not None, f"{flags} with --workspace-section", why, fix
        why = "a self-test has its outputs at the end of one arena"
        yield asked and self.selftest is not None, f"{flags} with --selftest", why, "leave out either"

    @property
    def io_place(self) -> str:
        """Where inputs and outputs are: "caller" or "workspace"."""
        return self.io.partition(",")[0] if self.io != "quantized" else "caller"

    @property
    def quantizes_io(self) -> bool:
        """Whether the first quantizations and the last dequantizations are the caller's."""
        return "quantized" in self.io

    @property
    def changes_interface(self) -> bool:
        """Whether inputs or outputs are perhaps not as the model has them."""
        return self.quantizes_io or self.has_layouts

    @property
    def has_layouts(self) -> bool:
        """Whether callers have layouts that are perhaps not the model's."""
        return bool(self.input_layouts or self.output_layouts)

    @property
    def known_constants(self) -> dict[str, KnownTensor]:
        """The constants that have a value."""
        return {name: value for name, value in self.constants.items() if isinstance(value, KnownTensor)}

    @property
    def vector_bytes(self) -> int | None:
        """Of the vector registers that kernels are written for: the target's, where code is to be fast; else None."""
        machine = machine_of(self.target) if self.optimize in ("1", "2", "3") else None
        return None if machine is None else machine.vector_bytes

    @property
    def most_ram(self) -> int:
        """The bytes of RAM that layers row by row are chosen for; 0: as few as there can be."""
        return self.chosen_ram or (self.ram if isinstance(self.ram, int) else 0)

    @property
    def rolls(self) -> bool:
        """Whether layers may be computed row by row, where kernels are in a core's registers: for a budget of RAM, or
        to need less where that takes hardly any time, unless code is to be small or pools are a budget of their own."""
        asked, apart = self.ram is not None or self.chosen_ram is not None, self.forms is not None or bool(self.pools)
        allowed = self.optimize != "0" if asked else self.optimize in ("2", "3") and not apart
        return allowed and self.threads == 1 and machine_of(self.target) is None

    @property
    def most_slower(self) -> int:
        """How many thousandths more instructions the program of the least RAM may take; 0: `most_ram` decides."""
        return _HARDLY if self.ram is None and self.chosen_ram is None else 0

    @property
    def is_vectorized(self) -> bool:
        """Whether kernels are written for vector registers."""
        return self.vector_bytes is not None

    @property
    def is_small(self) -> bool:
        """Whether code is to be small rather than fast."""
        return self.optimize == "s"

    @property
    def exports_operators(self) -> bool:
        """Whether kernels are called from other files, or by a machine."""
        return self.export_operators or self.split or self.has_bytecode

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks at each pass, so that all run in order, in one process."""
        return bool(self.dump_phases or self.print_ir_after_all or self.verify_each or self.time_passes)

    @property
    def has_bytecode(self) -> bool:
        """Whether the entry is compiled to bytecode, for the machine or beside the code."""
        return self.executor == "vm" or "vm" in self.emit

    def _executor_problems(self) -> list[Problem]:
        """Features for which a machine between the application and the operators has no room."""
        if self.executor != "vm":
            return []
        others = {
            "interface_api": ("packed", "the machine is given its tensors as packed functions are"),
            "workspace": ("internal", "the machine has memory of its own"),
            "weights": ("embedded", "they are part of the bytecode"),
            "packed_wrapper": (False, "its entry is packed"),
            "resource_handle": (False, "packed functions have one anyway"),
            "selftest": (None, "it calls an entry that is compiled"),
            "profile": (False, "it counts in an entry that is compiled"),
            "offload": ((), "what makes kernels from outside does not make them packed functions"),
            "ram": (None, "what the machine needs is not measured"),
            "flash": (None, "what the machine needs is not measured"),
            "stack": (None, "what the machine needs is not measured"),
            "cc": (None, "it compiles the operators alone, and not the machine"),
        }
        problems: list[Problem] = []
        for name, (allowed, why) in others.items():
            if (value := getattr(self, name)) != allowed:
                option = "a profile" if name == "profile" else flag(name)
                given = "" if isinstance(value, bool) else f" {','.join(value) if isinstance(value, tuple) else value}"
                fix = f"use {option} {allowed}" if isinstance(allowed, str) else f"leave out {option}"
                what = f"{option}{given} with --executor vm"
                problems.append(Problem("option-conflict", what, why, f"{fix}, or --executor aot"))
        return problems

    @staticmethod
    def of(base: CompileOptions | None = None, **changes: Any) -> CompileOptions:
        """Options from keyword arguments, strings where the command line has strings; TypeError on an unknown one."""
        known = {item.name for item in fields(CompileOptions)} - INTERNAL
        for name in changes:
            if name not in known:
                raise TypeError(f"unknown option {name!r}; there are {', '.join(sorted(known))}")
        changes = {name: _plain(value) for name, value in changes.items()}
        for name in ("emit", "offload"):
            if isinstance(given := changes.get(name), str):
                changes[name] = tuple(each.strip() for each in given.split(",") if each.strip())
            elif given is not None:
                changes[name] = tuple(given)
        for size in ("ram", "flash", "stack", "max_constants", "max_folded"):
            if isinstance(value := changes.get(size), str) and (size, value) != ("ram", "min"):
                changes[size] = parse_size(value, f"{flag(size)} {value}")
        for name, entry in ENTRIES.items():
            if given := changes.get(name):
                changes[name] = {str(key): entry(key, value) for key, value in dict(given).items()}
        if (level := changes.get("optimize")) is not None:
            changes["optimize"] = str(level)
        return CompileOptions(**changes) if base is None else replace(base, **changes)


def _plain(value: Any) -> Any:
    """Integers and truth values of any kind, and paths, as Python's own."""
    if is_truth(value):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value
