"""Facts about the model as a whole that phases tell each other: attributes of the module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from aotc.dialects.aot.contract.fields import Field, Mark
from aotc.model.limits import Pool
from aotc.model.metadata import FoldedChannels, KernelForms, PlanInfo

# --- the name --------------------------------------------------------------------------------------------------------

_NAME: Final = Field[str]("aot.name")

MODEL_SHA256: Final = Field[str]("aot.model_sha256")
"""Of a module that `--stop-after` has written: the SHA-256 of the model file that it was made of."""


def model_module(functions: Sequence[Operation], name: str) -> ModuleOp:
    """A module of `functions`, for the model `name`, which is part of C identifiers."""
    module = ModuleOp(list(functions))
    _NAME.set(module, name)
    return module


def model_name(module: ModuleOp) -> str:
    """The model's name, from `import` on. Raises CompileError where there is none."""
    return _NAME.require(module)


def model_name_or(module: ModuleOp, default: str) -> str:
    """The model's name, `default` where there is none."""
    return _NAME.get(module) or default


# --- the target -------------------------------------------------------------------------------------------------------

TARGET: Final = Field[str]("aot.target", fix="run attach-target first")
"""The target of the module, in the syntax of `--target`, from `import` on."""


def target_of(module: ModuleOp) -> str:
    """The target of the module. Raises CompileError where it does not say so."""
    return TARGET.require(module)


# --- choices of select-calling-convention ----------------------------------------------------------------------------

_BEFORE: Final = "run select-calling-convention first"
INTERFACE: Final = Field[str]("aot.interface", _BEFORE)
"""`--interface-api`; this and the names of the next three are those of `aotc/model/conventions.py`."""
WORKSPACE: Final = Field[str]("aot.workspace", _BEFORE)
"""`--workspace`: `internal` or `caller`."""
WEIGHTS: Final = Field[str]("aot.weights", _BEFORE)
"""`--weights`: `embedded`, `external` or `caller`."""
OPERATOR_ARGUMENTS: Final = Field[str]("aot.operator_arguments")
"""Of operators of the packed conventions; absent: `tensors`."""


def operator_arguments(module: ModuleOp) -> str:
    """`OPERATOR_ARGUMENTS`, `tensors` where nothing is said."""
    return OPERATOR_ARGUMENTS.get(module) or "tensors"


# --- threads ---------------------------------------------------------------------------------------------------------

THREADS: Final = Field[int]("aot.threads")
"""How many threads run the model together, from `loops` on."""


def threads_of(module: ModuleOp) -> int:
    """How many threads run the model together; 1 where nothing is said."""
    return THREADS.get(module) or 1


# --- what of a quantised model stays in floats, and what of it is not computed ---------------------------------------

IN_FLOATS: Final = Field[Sequence[str]]("aot.in_floats")
"""The nodes that compute with dequantised numbers, from `graph` on; nothing where there are none."""

FOLDED_CHANNELS: Final = Field[Sequence[FoldedChannels]]("aot.folded_channels")
"""The nodes of which some channels are not computed, from `graph` on; nothing where there are none."""

# --- forms of kernels ------------------------------------------------------------------------------------------------

FORMS: Final = Field[KernelForms]("aot.forms")
"""From `import` on, where kernels have forms of their own in a budget of flash: which are small, and which shared."""


def form_of(forms: KernelForms | None, nodes: Iterable[str]) -> str:
    """The form of a kernel of some nodes: "small", "shared", or nothing for a fast one of its own."""
    for form in ("small", "shared") if forms is not None else ():
        if not {*nodes}.isdisjoint(getattr(forms, form)):
            return form
    return ""


# --- recorded values -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """Inputs and expected outputs of a self-test: keys of flat arrays in the WeightStore, in order of inputs and
    outputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerances: Sequence[float]
    """By how much the elements of each output may differ."""


_SELFTEST: Final = "aot.selftest"
RECORDED: Final = Field[Recorded](_SELFTEST)
"""On the module, from `import` on, where it is to have a self-test."""
SELFTEST: Final = Mark(_SELFTEST)
"""On a function, after `interface`: it is the self-test."""

# --- memories ---------------------------------------------------------------------------------------------------------

POOLS: Final = Field[Sequence[Pool]]("aot.pools")
"""`--pool`: the memories that buffers are placed in, from `import` on; nothing where there is one arena."""

PINS: Final = Field[Mapping[str, str]]("aot.pins")
"""`--pin`: the pools that buffers must be in, by their names in the memory plan; nothing where there are none."""
WEIGHTS_POOL: Final = Field[str]("aot.weights_pool")
"""`--weights-pool`: the memory that embedded weights are meant to be in, from `import` on."""

# --- the memory plan -------------------------------------------------------------------------------------------------

PLAN: Final = Field[PlanInfo]("aot.plan", fix="run plan-memory first")
"""From `plan` on."""


def has_plan(module: ModuleOp) -> bool:
    """Whether the phase `plan` is over."""
    return PLAN.name in module.attributes


def plan_of(module: ModuleOp) -> PlanInfo:
    """The memory plan, from `plan` on. Raises CompileError where there is none."""
    return PLAN.require(module)


def sections_of(module: ModuleOp) -> dict[str, str]:
    """The linker section of each pool that has one, by the memory plan."""
    pools = plan_of(module).pools if has_plan(module) else ()
    return {each.name: each.section for each in pools if each.section}


def workspace_alignment(module: ModuleOp) -> int:
    """The alignment of the workspace in bytes, by the memory plan; 16 where there is none."""
    return plan_of(module).alignment if has_plan(module) else 16
