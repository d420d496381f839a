"""Every supported operator takes every element type that its newest ONNX definition allows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from harness import Array, with_known
from node_suite.cases import node_cases
from onnx import ModelProto, TensorProto, defs, numpy_helper
from onnx.defs import OpSchema
from xdsl.context import Context

from aotc.dialects.dtypes import number_kind, numpy_dtype
from aotc.errors import CompileError
from aotc.frontend.onnx import import_model, load_model, supported_operators
from aotc.frontend.onnx.operators import MAX_OPSET
from aotc.frontend.onnx.tensors import DTYPES, UNSUPPORTED

TYPES = {f"tensor({TensorProto.DataType.Name(code).lower()})": code for code in DTYPES}
REFUSED = {f"tensor({TensorProto.DataType.Name(code).lower()})" for code in UNSUPPORTED}

EXCEPTIONS = {
    ("Attention", "T1"): "ONNX's own definition multiplies Q, K and V of different types, which MatMul does not take",
    ("Attention", "T2"): "the same",
    ("BitCast", "T1"): "the example's result has elements of 32 bits: those of other widths have other shapes",
    ("Col2Im", "T", "bool"): "overlapping columns are added, and the standard does not say what a sum of booleans is",
    **{
        ("GridSample", "T1", dtype): "the standard does not say to which integer an interpolation rounds"
        for dtype in ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
    },
    ("Scan", "V"): "the example's body adds, which Add does not do with every type",
    ("DequantizeLinear", "T2", "float8_e8m0fnu"): "without output_dtype the result has the scale's type, no result's",
}
"""Operator, type variable and type (or all) that the compiler refuses, and why."""


@dataclass(frozen=True)
class Example:
    """A node of the standard's cases with its inputs."""

    model: ModelProto
    feed: dict[str, Array]
    schema: OpSchema

    def variables(self) -> dict[str, list[str]]:
        """The type variables of the inputs, with the inputs that have them."""
        found: dict[str, list[str]] = {}
        for position, name in enumerate(self.model.graph.node[0].input):
            if name in self.feed:
                found.setdefault(self._parameter(position).type_str, []).append(name)
        return found

    def allowed(self, variable: str) -> set[str]:
        """The types that a variable stands for, as ONNX writes them."""
        return {kind for parameter in self.schema.inputs if parameter.type_str == variable for kind in parameter.types}

    def _parameter(self, position: int) -> OpSchema.FormalParameter:
        return self.schema.inputs[min(position, len(self.schema.inputs) - 1)]

    def retyped(self, names: list[str], code: int) -> ModelProto:
        """The model with inputs `names` of another type; all inputs but the first are known, as shapes must be."""
        model = ModelProto()
        model.CopyFrom(self.model)
        for value in model.graph.input:
            if value.name in names:
                value.type.tensor_type.elem_type = code
        dtype = numpy_dtype(DTYPES[code])
        feed = {name: _as(array, dtype) if name in names else array for name, array in self.feed.items()}
        return with_known(model, feed, [name for name in list(feed) if name != next(iter(feed)) or not feed[name].size])


def _as(array: Array, dtype: np.dtype) -> Array:  # pyright: ignore[reportMissingTypeArgument]
    """The values of `array`, those that the type has; fractions become integers."""
    with np.errstate(all="ignore"):
        if number_kind(dtype) in "iu":
            limits = ml_dtypes.iinfo(dtype)
            wide = np.nan_to_num(array.astype(np.float64), nan=1, posinf=3, neginf=1)
            return np.clip(wide, max(float(limits.min), -(2.0**31)), min(float(limits.max), 2.0**31)).astype(dtype)
        return array.astype(np.float64).astype(dtype)


@cache
def examples() -> dict[str, Example]:
    """The first of the standard's cases of each supported operator that the compiler imports."""
    wanted, found = set(supported_operators()), dict[str, Example]()
    for case in node_cases():
        assert case.model is not None
        graph = case.model.graph
        name = graph.node[0].op_type
        if name in found or name not in wanted or len(graph.node) != 1 or graph.node[0].domain or case.model.functions:
            continue
        codes = [value.type.tensor_type.elem_type for value in graph.input]
        if any(code not in DTYPES for code in codes):
            continue
        arrays = [
            numpy_helper.to_array(x) if isinstance(x, TensorProto) else np.asarray(x) for x in case.data_sets[0][0]
        ]
        model = ModelProto()
        model.CopyFrom(case.model)
        model.opset_import[0].version, model.ir_version = MAX_OPSET, 13
        for value in model.graph.output:
            value.type.Clear()
        schema = defs.get_schema(name, MAX_OPSET)
        feed = dict(zip((value.name for value in graph.input), arrays, strict=False))
        try:
            import_model(load_model(with_known(model, feed, list(feed)[1:])), Context())
        except CompileError:
            continue
        found[name] = Example(model, feed, schema)
    return found


def test_there_are_examples() -> None:
    assert len(examples()) > 140


@pytest.mark.parametrize("op_type", sorted(examples()))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_allowed_type_is_imported(op_type: str) -> None:
    example = examples()[op_type]
    refused: list[str] = []
    for variable, names in example.variables().items():
        allowed = {kind for kind in example.allowed(variable) if kind.startswith("tensor(")}
        assert allowed <= TYPES.keys() | REFUSED, "a type the compiler has never heard of"
        for kind in sorted(allowed & TYPES.keys()):
            dtype = DTYPES[TYPES[kind]]
            if (op_type, variable) in EXCEPTIONS or (op_type, variable, dtype) in EXCEPTIONS:
                continue
            try:
                import_model(load_model(example.retyped(names, TYPES[kind])), Context())
            except CompileError as error:
                refused.append(f"{variable} = {dtype}: {error}")
    assert not refused
