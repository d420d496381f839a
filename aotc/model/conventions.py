"""Which interface, operator convention, runtime, workspace and weights go together, and the symbols they end in.

One table: the driver refuses what is not in it, docs/abi.md shows it, the tests walk it (tests/support/legality.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aotc.errors import Problem, UsageError
from aotc.model.naming import c_identifier

INTERFACE_APIS: Final = ("c", "micro", "packed")
OPERATOR_APIS: Final = ("unpacked", "cpacked", "packed")
RUNTIMES: Final = ("c", "host")
WORKSPACES: Final = ("internal", "caller")
WEIGHTS: Final = ("embedded", "external", "caller")
OPERATOR_ARGUMENTS: Final = ("tensors", "values", "pointers")
IO: Final = ("caller", "workspace")

CALL_PACKED: Final = "AOTCCallPacked"
"""The runtime function that looks an operator up and calls it: the registry, a name, then the packed arguments."""
THREADS_RUN: Final = "aotc_threads_run"
"""The runtime function that has the threads of a pool do the shares of one function's phases."""


@dataclass(frozen=True)
class Conventions:
    """One choice of every option that decides how a model and its operators are called.

    `linkable` is false where a module of the model cannot be linked with the rest (it is loaded, or lives elsewhere),
    so that its operators can only be found by name at run time.
    """

    interface_api: str = "c"
    operator_api: str = "unpacked"
    runtime: str = "c"
    workspace: str = "internal"
    weights: str = "embedded"
    linkable: bool = True
    operator_arguments: str = "tensors"
    """The arguments of `cpacked` operators: DLTensors, or to measure what those cost, data pointers in AOTCValues or in
    a bare array. Not part of the tables below: nothing outside the model ever sees it."""
    io: str = "caller"
    """Where inputs and outputs are: the caller's, or in the workspace."""
    threaded: bool = False
    """Whether several threads run a call together."""

    def check(self) -> None:
        """Raise UsageError with every reason why this combination is refused; return if it is legal."""
        problems = [
            Problem(
                "unknown-choice",
                flag(name, getattr(self, name)),
                "there is no such choice",
                f"use {', '.join(choices)}",
            )
            for name, choices in CHOICES.items()
            if getattr(self, name) not in choices
        ] or [rule.problem(self) for rule in RULES if rule.forbids(self)]
        if problems:
            raise UsageError(problems)


TABLE: Final[dict[str, tuple[str, ...]]] = {
    "interface_api": INTERFACE_APIS,
    "operator_api": OPERATOR_APIS,
    "runtime": RUNTIMES,
    "workspace": WORKSPACES,
    "weights": WEIGHTS,
}
CHOICES: Final = TABLE | {"operator_arguments": OPERATOR_ARGUMENTS, "io": IO}
"""By field of `Conventions`."""


def flag(field: str, *values: object) -> str:
    """The option, or what it is of a module, that gives a field of `Conventions` one of some values."""
    if field == "linkable":
        return "a module that cannot be linked"
    if field == "threaded":
        return "--threads 2 or more"
    return f"--{field.replace('_', '-')} {'|'.join(map(str, values))}"


@dataclass(frozen=True)
class Rule:
    """Combinations that are refused: all of `when` holds (field name -> values). With the reason and the way out."""

    when: dict[str, tuple[str | bool, ...]]
    why: str
    fix: str

    def forbids(self, choice: Conventions) -> bool:
        """Whether the rule refuses `choice`."""
        return all(getattr(choice, field) in values for field, values in self.when.items())

    def problem(self, choice: Conventions) -> Problem:
        """The refusal, in the user's terms."""
        options = [flag(field, getattr(choice, field)) for field in self.when]
        return Problem("option-conflict", " with ".join(options), self.why, self.fix)


RULES: Final = (
    Rule(
        {"interface_api": ("c", "micro"), "operator_api": ("cpacked", "packed")},
        "a typed entry has no argument structures to hand on, and packed operators behind it would pull in the headers "
        "that the typed entry is there to avoid",
        "use --operator-api unpacked, or --interface-api packed",
    ),
    Rule(
        {"interface_api": ("packed",), "runtime": ("host",), "operator_api": ("unpacked",)},
        "all functions of a packed module for the host have the one signature of packed functions",
        "use --operator-api cpacked, or --runtime c",
    ),
    Rule(
        {"linkable": (False,), "operator_api": ("unpacked", "cpacked")},
        "an operator that is not linked with its caller can only be found by name in the registry",
        "use --interface-api packed --operator-api packed",
    ),
    Rule(
        {"runtime": ("host",), "weights": ("external",)},
        "external weights are a symbol for the application's linker, and a library that the executor loads has none",
        "use --weights caller or embedded",
    ),
    Rule(
        {"operator_arguments": ("values", "pointers"), "operator_api": ("unpacked", "packed")},
        "packed arguments without tensors cannot be told from those with them, so that only operators which nobody but "
        "their own model calls may take them",
        "use --interface-api packed --operator-api cpacked",
    ),
    Rule(
        {"io": ("workspace",), "interface_api": ("micro", "packed")},
        "such an entry is given its tensors, and there are none to give",
        "use --interface-api c --operator-api unpacked",
    ),
    Rule(
        {"threaded": (True,), "operator_api": ("cpacked", "packed")},
        "all threads call an operator together and tell it which they are, which packed arguments have no room for",
        "use --operator-api unpacked",
    ),
)
"""Everything that is refused, with the reason. What no rule forbids is legal."""


def default_interface(runtime: str) -> str:
    """The default of `--interface-api`: a packed entry for the host's executor, plain C for bare C."""
    return "packed" if runtime == "host" else "c"


def default_operators(interface_api: str, runtime: str) -> str:
    """The default of `--operator-api`: packed arguments where the host runtime is to reach operators."""
    return "cpacked" if (interface_api, runtime) == ("packed", "host") else "unpacked"


# --- symbols ---------------------------------------------------------------------------------------------------------

PREFIX: Final = "aotc"
"""Every symbol of every model begins with it (docs/abi.md)."""

_SUFFIX = {"c": "", "micro": "_micro", "packed": "_packed"}
"""The convention is part of the exported symbols: a caller that was built for another one does not link."""


_RUNTIME: Final = ("micro", "packed", "runtime", "threads", "vm", "vm_format")
"""Parts of the C runtime: `aotc_threads_run` and `AOTC_PACKED_H_` are its own."""


def require_identifier(name: str) -> None:
    """Raise UsageError unless `name` can be the middle of C identifiers that are nobody else's."""
    if name.lower() in _RUNTIME:
        why = f"a part of the C runtime is called aotc_{name.lower()}"
        raise UsageError("invalid-name", f"--name {name}", why, "choose another name with --name")
    if not (name.isascii() and f"_{name}".isidentifier()):
        why = "the name becomes part of C identifiers"
        raise UsageError("invalid-name", f"--name {name}", why, "use letters, digits and _")


def entry_symbol(name: str, interface_api: str, streamed: str = "") -> str:
    """The entry function of model `name`: `aotc_kws_run`, `aotc_kws_run_micro`, `aotc_kws_run_packed`; where the input
    `streamed` comes by rows `aotc_kws_push_x`, `aotc_kws_push_x_packed`."""
    what = f"push_{c_identifier(streamed)}" if streamed else "run"
    return f"{PREFIX}_{name}_{what}{_SUFFIX[interface_api]}"


def model_symbol(name: str, interface_api: str) -> str:
    """The descriptor of model `name`: `aotc_kws_model`, `aotc_kws_model_micro`, `aotc_kws_model_packed`."""
    return f"{PREFIX}_{name}_model{_SUFFIX[interface_api]}"


def operator_symbol(name: str, kernel: str) -> str:
    """The operator `kernel` of model `name`: `aotc_kws_conv_relu_0`."""
    return f"{PREFIX}_{name}_{kernel}"


def _symbol_of(suffix: str) -> Callable[[str], str]:
    return lambda name: operator_symbol(name, suffix)


reset_symbol: Final = _symbol_of("reset")
"""The function of model `name` that gives its states their first values: `aotc_kws_reset`."""
json_symbol: Final = _symbol_of("json")
"""The JSON metadata of model `name` as a C string, in shared libraries of the host: `aotc_kws_json`."""
artifacts_symbol: Final = _symbol_of("artifacts")
"""The artefacts in a shared library for loaders: u64 of bytes, then artefacts exported one after the other."""
supported_symbol: Final = _symbol_of("supported")
"""The function of model `name` that says whether the processor has what it was compiled for."""
workspace_symbol: Final = _symbol_of("workspace")
"""The arena of model `name`, exported where inputs and outputs are in it: `aotc_kws_workspace`."""


def pool_symbol(name: str, pool: str) -> str:
    """The part of the arena of model `name` that is in a pool: `aotc_kws_pool_dtcm`; the arena where that is ""."""
    return operator_symbol(name, f"pool_{pool}") if pool else workspace_symbol(name)


def weights_macro(pool: str) -> str:
    """The macro of attributes of weights, in a pool where that has a name."""
    return f"AOTC_WEIGHTS_{pool.upper()}" if pool else "AOTC_WEIGHTS"


def pool_macro(pool: str) -> str:
    """The macro of attributes of what is in a pool, or of the arena where that is ""."""
    return f"AOTC_POOL_{pool.upper()}" if pool else "AOTC_WORKSPACE"


profile_symbol: Final = _symbol_of("profile")
"""The counters of model `name` that `profile-kernels` adds: `aotc_kws_profile`."""
weights_symbol: Final = _symbol_of("weights")
"""The weights of model `name` where they are external: `aotc_kws_weights`."""

# --- layouts: where callers have the channels of a tensor -------------------------------------------------------------

FIRST: Final = {3: "ncw", 4: "nchw", 5: "ncdhw"}
"""Channels before the spatial axes, as ONNX has them, by rank."""
LAST: Final = {3: "nwc", 4: "nhwc", 5: "ndhwc"}
"""Channels last, as TensorFlow Lite has them, by rank."""
LAYOUTS: Final = (*FIRST.values(), *LAST.values())


def from_model(layout: str) -> tuple[int, ...]:
    """Which axis of the model's tensor each axis of one in this layout is, where the model has the other one."""
    rank = len(layout)
    return (0, *range(2, rank), 1) if layout in LAST.values() else (0, rank - 1, *range(1, rank - 1))


def to_model(layout: str) -> tuple[int, ...]:
    """Which axis of a tensor in this layout each axis of the model's is."""
    rank = len(layout)
    return (0, rank - 1, *range(1, rank - 1)) if layout in LAST.values() else (0, *range(2, rank), 1)
