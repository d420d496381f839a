"""`--state`: outputs that are inputs of the next call, noted on a module as it is after `import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp

from aotc.dialects.aot.contract import Argument, arguments_of, entry, results_of, set_arguments, set_results
from aotc.dialects.dtypes import extended
from aotc.errors import Problem, UsageError

if TYPE_CHECKING:
    from aotc.model.weight_store import WeightStore

Array = np.ndarray[Any, Any]


def mark_states(module: ModuleOp, states: Mapping[str, str], values: Mapping[str, Array], store: WeightStore) -> None:
    """Say of the entry which results, by name, are which arguments at the next call.

    `values` are what arguments are at first; zeros of those that have none. Raises UsageError with one problem for each
    two that cannot be.
    """
    if not states:
        return
    main = entry(module)
    arguments, results = arguments_of(main), results_of(main)
    inputs = {each.name: place for place, each in enumerate(arguments)}
    outputs = {each.name: place for place, each in enumerate(results)}
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    problems: list[Problem] = []
    shared = Counter(states.values())
    for output, source in states.items():
        flag = f"--state {output}={source}"
        if output not in outputs:
            problems.append(Problem("unknown-output", flag, f"the model has no output {output}", _there_are(results)))
        if source not in inputs:
            problems.append(Problem("unknown-input", flag, f"the model has no input {source}", _there_are(arguments)))
        if shared[source] > 1:
            others = ", ".join(name for name, other in states.items() if other == source)
            why = f"{source} would have the next values {others}"
            problems.append(Problem("mismatched-state", flag, why, "choose one"))
        if output not in outputs or source not in inputs:
            continue
        value, argument = end.operands[outputs[output]], main.args[inputs[source]]
        if value is argument:
            why = f"{output} is the input {source} itself, which never changes"
            problems.append(Problem("mismatched-state", flag, why))
        elif value.type != argument.type:
            kinds = [_kind(given, each.type) for given, each in ((output, value), (source, argument))]
            problems.append(Problem("mismatched-state", flag, " and ".join(kinds), "a state has one type and shape"))
    if problems:
        raise UsageError(problems)
    for output, source in states.items():
        results[outputs[output]].state_of = inputs[source]
        if (value := values.get(source)) is not None and np.any(value.reshape(-1).view(np.uint8)):
            arguments[inputs[source]].initial = store.add(f"state_{source}", extended(value.reshape(-1)))
    set_arguments(main, arguments)
    set_results(main, results)


def _there_are(tensors: list[Argument]) -> str:
    return "there are " + (", ".join(each.name or "" for each in tensors) or "none")


def _kind(name: str, kind: object) -> str:
    assert isinstance(kind, TensorType)
    return f"{name} is {kind.element_type}{list(kind.get_shape())}"
