"""Many small models as one: to compile that takes far less time than to compile each of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from harness import Feed
from onnx import ModelProto
from onnx.compose import add_prefix

_FIELDS = ("node", "input", "output", "initializer", "sparse_initializer", "value_info")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class HasModel(Protocol):
    """A case of a model."""

    @property
    def model(self) -> ModelProto:
        """Its model."""
        ...


def batches(items: Iterable[_Item], kind: Callable[[_Item], Hashable], size: int) -> list[list[_Item]]:
    """The items in order, at most `size` in each list, which are all of one kind."""
    alike: dict[Hashable, list[_Item]] = {}
    for item in items:
        alike.setdefault(kind(item), []).append(item)
    return [found[start : start + size] for found in alike.values() for start in range(0, len(found), size)]


def imported(case: HasModel) -> Hashable:
    """Which operator sets a model imports, in which version of the format: merged are only models alike in that."""
    sets = sorted((entry.domain, entry.version) for entry in case.model.opset_import)
    return case.model.ir_version, *sets


def prefixed(model: ModelProto, prefix: str) -> ModelProto:
    """A copy of a model in which all names begin with `prefix`."""
    return add_prefix(model, prefix, rename_functions=True)


def merged(models: Iterable[ModelProto]) -> ModelProto:
    """One model of all side by side, which import the same operator sets and have no names in common."""
    first, *others = models
    whole = ModelProto()
    whole.CopyFrom(first)
    for model in others:
        whole.functions.extend(model.functions)
        for field in _FIELDS:
            getattr(whole.graph, field).extend(getattr(model.graph, field))
    return whole


def computed(
    parts: Sequence[tuple[ModelProto, Feed]], compute: Callable[[ModelProto, Feed], Mapping[str, _Result]]
) -> list[dict[str, _Result] | None]:
    """The results of `compute` for the outputs of each model on its feed, from all of them as one model.

    Where one of them stands in the way, its half of them is tried by halves; None for the one, which is to be computed
    alone.
    """
    if len(parts) == 1:
        return [None]
    named = [(f"{number}/", *part) for number, part in enumerate(parts)]
    feed = {prefix + name: value for prefix, _, given in named for name, value in given.items()}
    try:
        found = compute(merged(prefixed(model, prefix) for prefix, model, _ in named), feed)
    except Exception:  # whatever it is, it belongs to one of them
        half = len(parts) // 2
        return computed(parts[:half], compute) + computed(parts[half:], compute)
    return [
        {name: found[prefix + name] for name in _with_counts(model) if prefix + name in found}
        for prefix, model, _ in named
    ]


def _with_counts(model: ModelProto) -> list[str]:
    """The names of the outputs, and behind them those of counts of data-dependent extents."""
    names = [output.name for output in model.graph.output]
    return names + [f"{name}_count" for name in names]
