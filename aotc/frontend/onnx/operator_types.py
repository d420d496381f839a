"""The types ONNX allows an operator, checked before its importer sees the node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from onnx import TensorProto
from onnx.defs import OpSchema
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import element_type_of
from aotc.frontend.onnx.operators import schema_of
from aotc.frontend.onnx.tensors import DTYPES

ONNX_NAMES = {name: TensorProto.DataType.Name(code).lower() for code, name in DTYPES.items()}
"""ONNX's name of an element type: float, not float32."""


@lru_cache(maxsize=4096)
def _formal_types(op_type: str, domain: str, opset: int) -> tuple[list[tuple[str, frozenset[str], bool]], bool]:
    """(type variable, allowed types, whether repetitions agree) of each input; whether the last one repeats."""
    schema = schema_of(op_type, domain, opset)
    if schema is None:
        return [], False
    formal: list[tuple[str, frozenset[str], bool]] = []
    for parameter in schema.inputs:
        formal.append((parameter.type_str, frozenset(parameter.types), parameter.is_homogeneous))
    repeats = bool(schema.inputs) and schema.inputs[-1].option == OpSchema.FormalParameterOption.Variadic
    return formal, repeats


def type_mismatch(op_type: str, domain: str, opset: int, inputs: Sequence[SSAValue | None]) -> str:
    """The problem with the element types of `inputs` for this operator, or the empty string."""
    formal, repeats = _formal_types(op_type, domain, opset)
    if not formal:
        return ""
    bound: dict[str, str] = {}
    for position, value in enumerate(inputs):
        if value is None:
            continue
        if position >= len(formal) and not repeats:
            return f"it has {len(inputs)} inputs, the operator takes {len(formal)}"
        variable, allowed, homogeneous = formal[min(position, len(formal) - 1)]
        name = dtype_name(element_type_of(value))
        if f"tensor({ONNX_NAMES[name]})" not in allowed:
            names = ", ".join(sorted(kind.removeprefix("tensor(").removesuffix(")") for kind in allowed))
            return f"input {position} has type {name}, the operator takes {names} in opset {opset}"
        if homogeneous and bound.setdefault(variable, name) != name:
            return f"input {position} has type {name}, another of the same kind {bound[variable]}"
    return ""
