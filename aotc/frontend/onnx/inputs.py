"""The inputs of a graph as tensors of static shape."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType

from aotc.dialects.dtypes import element_type
from aotc.errors import CompileError, Problem
from aotc.frontend.onnx.bodies import readers
from aotc.frontend.onnx.dims import fix_shapes
from aotc.frontend.onnx.tensors import TensorError, dtype_of


@dataclass(frozen=True)
class Input:
    """An input of a graph, and the tensors that it is by name: one, or those of a sequence."""

    name: str
    tensors: Mapping[str, TensorType]
    is_sequence: bool


@dataclass(frozen=True)
class _Parts:
    """The tensors of each input, the inputs that are sequences, and what stands against them."""

    tensors: dict[str, list[ValueInfoProto]]
    sequences: set[str]
    problems: list[Problem]

    def all(self) -> list[ValueInfoProto]:
        """Every tensor in order."""
        return [value for values in self.tensors.values() for value in values]


def input_tensors(
    graph: GraphProto, known: Container[str], input_shapes: Mapping[str, Sequence[int]]
) -> list[ValueInfoProto]:
    """The tensors that the inputs of `read_inputs` are. Raises CompileError."""
    parts = _parts(graph, known, input_shapes)
    if parts.problems:
        raise CompileError(parts.problems)
    return parts.all()


def _parts(graph: GraphProto, known: Container[str], input_shapes: Mapping[str, Sequence[int]]) -> _Parts:
    problems: list[Problem] = []
    parts: dict[str, list[ValueInfoProto]] = {}
    sequences: set[str] = set()
    for value in graph.input:
        if value.name in known:
            continue
        kind = _given(value.type)
        if not kind.HasField("sequence_type"):
            parts[value.name] = [ValueInfoProto(name=value.name, type=kind)]
            continue
        sequences.add(value.name)
        parts[value.name] = _items(value.name, kind.sequence_type.elem_type, input_shapes)
        if not parts[value.name]:
            what = f"input {value.name!r} is a sequence of unknown length"
            fix = f"say what it has with --input-shape {value.name}_0=N,... --input-shape {value.name}_1=N,..."
            problems.append(Problem("unknown-length", what, "each tensor of it is an input of the compiled model", fix))
    found = _Parts(parts, sequences, problems)
    for value in found.all():
        try:
            if not value.type.HasField("tensor_type"):
                raise TensorError("only tensors, sequences and optionals of them are supported as inputs")
            dtype_of(value.type.tensor_type.elem_type)
        except TensorError as error:
            problems.append(Problem("unsupported-input", f"input {value.name!r}: {error}"))
    return found


def read_inputs(
    graph: GraphProto, known: Container[str], dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
) -> list[Input]:
    """The inputs that are not among the `known` names. An optional is taken as given.

    A sequence is as many tensors as `input_shapes` has for it, called NAME_0, NAME_1 and so on. Raises CompileError
    with every problem found, which is an OpenShapesError where that is the only one; UsageError as `fix_shapes`.
    """
    parts = _parts(graph, known, input_shapes)
    try:
        shapes = fix_shapes(parts.all(), dims, input_shapes, readers(graph.node))
    except CompileError as error:
        if not parts.problems:
            raise
        raise CompileError([*parts.problems, *error.problems]) from None
    if parts.problems:
        raise CompileError(parts.problems)

    def kind_of(value: ValueInfoProto) -> TensorType:
        return TensorType(element_type(dtype_of(value.type.tensor_type.elem_type)), shapes[value.name])

    return [
        Input(name, {value.name: kind_of(value) for value in values}, name in parts.sequences)
        for name, values in parts.tensors.items()
    ]


def _given(kind: TypeProto) -> TypeProto:
    """A type without the optional around it."""
    while kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    return kind


def _items(name: str, kind: TypeProto, names: Container[str]) -> list[ValueInfoProto]:
    """The tensors of a sequence; what a symbol stands for may differ between them."""
    found: list[ValueInfoProto] = []
    while f"{name}_{len(found)}" in names:
        value = ValueInfoProto(name=f"{name}_{len(found)}", type=kind)
        for dim in value.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
        found.append(value)
    return found
