"""Facts about the model as a whole that phases tell each other: attributes of the module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, FloatAttr, ModuleOp, StringAttr, UnitAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from aotc.dialects.aot.contract.fields import Field, Mark, integer, integer_attribute, integer_of, text, text_of
from aotc.errors import CompileError
from aotc.model.metadata import BufferInfo, PlanInfo

# --- the name --------------------------------------------------------------------------------------------------------

_NAME: Final = text("aot.name")


MODEL_SHA256: Final = text("aot.model_sha256")
"""Of a module that `--stop-after` has written: the SHA-256 of the model file that it was made of."""


def model_module(functions: Sequence[Operation], name: str) -> ModuleOp:
    """A module of `functions`, for the model `name`, which is part of C identifiers."""
    module = ModuleOp(list(functions))
    _NAME.set(module, name)
    return module


def model_name(module: ModuleOp) -> str:
    """The model's name, from `import` on. Raises CompileError where there is none."""
    return _NAME.require(module, "the module")


def model_name_or(module: ModuleOp, default: str) -> str:
    """The model's name, `default` where there is none."""
    return _NAME.get(module) or default


# --- the target -------------------------------------------------------------------------------------------------------

TARGET: Final = text("aot.target")
"""The target of the module, in the syntax of `--target`, from `import` on."""


def target_of(module: ModuleOp) -> str:
    """The target of the module. Raises CompileError where it does not say so."""
    return TARGET.require(module, "the module", fix="run attach-target first")


# --- choices of select-calling-convention ----------------------------------------------------------------------------

_INTERFACE: Final = text("aot.interface")
_WORKSPACE: Final = text("aot.workspace")
_WEIGHTS: Final = text("aot.weights")
_OPERATOR_ARGUMENTS: Final = text("aot.operator_arguments")


@dataclass(frozen=True)
class Interface:
    """How a model is called; the names are those of the options (`aotc/model/conventions.py`)."""

    api: str
    """`--interface-api`."""
    workspace: str
    """`--workspace`: `internal` or `caller`."""
    weights: str
    """`--weights`: `embedded`, `external` or `caller`."""
    operator_arguments: str = "tensors"
    """Arguments of operators of the packed conventions."""


def set_interface(module: ModuleOp, chosen: Interface) -> None:
    """Record the choices that the passes of `interface` obey."""
    _INTERFACE.set(module, chosen.api)
    _WORKSPACE.set(module, chosen.workspace)
    _WEIGHTS.set(module, chosen.weights)
    _OPERATOR_ARGUMENTS.set(module, None if chosen.operator_arguments == "tensors" else chosen.operator_arguments)


def interface_api(module: ModuleOp) -> str:
    """Of `Interface`. Raises CompileError before `select-calling-convention`."""
    return _chosen(module, _INTERFACE)


def workspace_place(module: ModuleOp) -> str:
    """`Interface.workspace`. Raises CompileError before `select-calling-convention`."""
    return _chosen(module, _WORKSPACE)


def weights_place(module: ModuleOp) -> str:
    """`Interface.weights`. Raises CompileError before `select-calling-convention`."""
    return _chosen(module, _WEIGHTS)


def has_external_weights(module: ModuleOp) -> bool:
    """Whether weights are behind a symbol of another file; false where nothing is said."""
    return _WEIGHTS.get(module) == "external"


def operator_arguments(module: ModuleOp) -> str:
    """Of `Interface`."""
    return _OPERATOR_ARGUMENTS.get(module) or "tensors"


def _chosen(module: ModuleOp, field: Field[str]) -> str:
    return field.require(module, "the module", fix="run select-calling-convention first")


# --- threads ---------------------------------------------------------------------------------------------------------

_THREADS: Final = integer("aot.threads")


def threads_of(module: ModuleOp) -> int:
    """How many threads run the model together, from `loops` on; 1 where nothing is said."""
    return _THREADS.get(module) or 1


def set_threads(module: ModuleOp, threads: int) -> None:
    """Say how many threads run the model together."""
    _THREADS.set(module, threads)


# --- what of a quantised model stays in floats ------------------------------------------------------------------------


def _read_names(attribute: Attribute) -> list[str] | None:
    if not isinstance(attribute, ArrayAttr):
        return None
    return [name.data for name in attribute if isinstance(name, StringAttr)]


_IN_FLOATS: Final = Field[list[str]](
    "aot.in_floats", _read_names, lambda names: ArrayAttr([StringAttr(name) for name in names])
)


def nodes_in_floats(module: ModuleOp) -> list[str]:
    """The nodes that compute with dequantised numbers, from `graph` on."""
    return _IN_FLOATS.get(module) or []


def set_nodes_in_floats(module: ModuleOp, names: list[str]) -> None:
    """Say which nodes compute with dequantised numbers."""
    _IN_FLOATS.set(module, names or None)


# --- recorded values -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """Inputs and expected outputs of a self-test: keys of flat arrays in the WeightStore, in order of inputs and
    outputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerances: tuple[float, ...]
    """By how much the elements of each output may differ."""


def _recorded_of(attribute: Attribute) -> Recorded | None:
    if (sides := _entries(attribute, "inputs outputs tolerances")) is None:
        return None
    inputs, outputs = _texts(sides["inputs"]), _texts(sides["outputs"])
    tolerances = cast(ArrayAttr[FloatAttr], sides["tolerances"])
    return Recorded(inputs, outputs, tuple(each.value.data for each in tolerances))


def _recorded_attribute(recorded: Recorded) -> Attribute:
    tolerances = ArrayAttr(FloatAttr(each, f64) for each in recorded.tolerances)
    sides = {"inputs": _strings(recorded.inputs), "outputs": _strings(recorded.outputs)}
    return DictionaryAttr({**sides, "tolerances": tolerances})


_SELFTEST: Final = "aot.selftest"
RECORDED: Final = Field[Recorded](_SELFTEST, _recorded_of, _recorded_attribute)
"""On the module, from `import` on, where it is to have a self-test."""
_SELFTEST_MARK: Final = Mark(_SELFTEST)


def mark_selftest(function: FuncOp) -> None:
    """Say that a function, after `interface`, is the self-test."""
    _SELFTEST_MARK.set(function)


# --- the memory plan -------------------------------------------------------------------------------------------------


def _plan_of(attribute: Attribute) -> PlanInfo | None:
    if (plan := _entries(attribute, "peak_bytes lower_bound_bytes optimal alignment order buffers")) is None:
        return None
    return PlanInfo(
        peak_bytes=_integer(plan["peak_bytes"]),
        lower_bound_bytes=_integer(plan["lower_bound_bytes"]),
        optimal=_integer(plan["optimal"]) != 0,
        alignment=_integer(plan["alignment"]),
        order=_texts(plan["order"]),
        buffers=tuple(map(_buffer, cast(ArrayAttr, plan["buffers"]))),
    )


def _buffer(attribute: Attribute) -> BufferInfo:
    if (given := _entries(attribute, "name offset size first last nodes")) is None:
        raise CompileError("invalid-contract", f"{attribute} is not a buffer of a plan")
    return BufferInfo(
        name=_text(given["name"]),
        offset=_integer(given["offset"]),
        size=_integer(given["size"]),
        first=_integer(given["first"]),
        last=_integer(given["last"]),
        nodes=_texts(given["nodes"]),
        kept="kept" in given,
    )


def _plan_attribute(plan: PlanInfo) -> Attribute:
    """Keys are the names of fields of `PlanInfo` and `BufferInfo`."""
    return DictionaryAttr(
        {
            "peak_bytes": integer_attribute(plan.peak_bytes),
            "lower_bound_bytes": integer_attribute(plan.lower_bound_bytes),
            "optimal": BoolAttr.from_bool(plan.optimal),
            "alignment": integer_attribute(plan.alignment),
            "order": _strings(plan.order),
            "buffers": ArrayAttr(
                DictionaryAttr(
                    {
                        "name": StringAttr(buffer.name),
                        "offset": integer_attribute(buffer.offset),
                        "size": integer_attribute(buffer.size),
                        "first": integer_attribute(buffer.first),
                        "last": integer_attribute(buffer.last),
                        "nodes": _strings(buffer.nodes),
                    }
                    | ({"kept": UnitAttr()} if buffer.kept else {})
                )
                for buffer in plan.buffers
            ),
        }
    )


_PLAN: Final = Field[PlanInfo]("aot.plan", _plan_of, _plan_attribute)


def has_plan(module: ModuleOp) -> bool:
    """Whether the phase `plan` is over."""
    return _PLAN.name in module.attributes


def plan_of(module: ModuleOp) -> PlanInfo:
    """The memory plan, from `plan` on. Raises CompileError where there is none."""
    return _PLAN.require(module, "the module", fix="run plan-memory first")


def set_plan(module: ModuleOp, plan: PlanInfo) -> None:
    """Record the memory plan."""
    _PLAN.set(module, plan)


def workspace_alignment(module: ModuleOp) -> int:
    """The alignment of the workspace in bytes, by the memory plan; 16 where there is none."""
    return plan_of(module).alignment if has_plan(module) else 16


# --- attributes of other kinds ---------------------------------------------------------------------------------------


def _entries(attribute: Attribute, keys: str) -> Mapping[str, Attribute] | None:
    """Those of a dictionary that has all of these keys."""
    if isinstance(attribute, DictionaryAttr) and {*keys.split()} <= attribute.data.keys():
        return attribute.data
    return None


def _text(attribute: Attribute) -> str:
    if (found := text_of(attribute)) is None:
        raise CompileError("invalid-contract", f"{attribute} is not a string")
    return found


def _integer(attribute: Attribute) -> int:
    if (found := integer_of(attribute)) is None:
        raise CompileError("invalid-contract", f"{attribute} is not an integer")
    return found


def _texts(attribute: Attribute) -> tuple[str, ...]:
    return tuple(map(_text, cast(ArrayAttr, attribute)))


def _strings(names: Iterable[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr(StringAttr(name) for name in names)
