"""The inputs of a graph: from their declared shapes, symbols and all, to the static ones it is compiled for; those that
become constants of the model by `--constant`, and the other way round."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from onnx import GraphProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType

from aotc.dialects.dtypes import element_type, number_kind
from aotc.errors import CompileError, Problem, UsageError, warn
from aotc.frontend.onnx.bodies import readers
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.tensors import TensorError, check_shape, dtype_of, raw_size, read_tensor
from aotc.model.known_tensors import KnownTensor
from aotc.model.weight_store import Array

Extent = int | str | None
"""A dimension as the model declares it: fixed, a symbol, or nothing."""


class OpenShapesError(CompileError):
    """Dimensions, or values, of inputs are open, and nothing else is known to stand in the way."""

    def __init__(self, problem: Problem, inputs: Sequence[str]) -> None:
        super().__init__(problem)
        self.inputs = tuple(inputs)
        """Their names."""


def declared_shape(value: ValueInfoProto) -> tuple[Extent, ...] | None:
    """The shape of an input or output as the model declares it; None where it declares not even a rank."""
    kind = value.type.tensor_type
    return tuple(map(_extent, kind.shape.dim)) if kind.HasField("shape") else None


def contradicts(declared: Sequence[Extent] | None, shape: Sequence[int]) -> bool:
    """Whether a value of `shape` is not as declared."""
    if declared is None or len(declared) != len(shape):
        return declared is not None
    return any(isinstance(extent, int) and extent != size for extent, size in zip(declared, shape, strict=True))


def shape_text(shape: Sequence[Extent] | None) -> str:
    """A declared shape for messages: `[batch, 3, ?]`."""
    return "of unknown rank" if shape is None else f"[{', '.join('?' if e is None else str(e) for e in shape)}]"


def resolved_shapes(
    inputs: Sequence[ValueInfoProto], dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[Extent, ...] | None]:
    """The shape of every input, by name, as far as the model and the options say.

    `dims` are the values of symbols, "any" where one is meant to be open; `input_shapes` whole shapes by input name,
    which also fix the symbols in them. Raises UsageError where these contradict the model or each other.
    """
    declared = {value.name: declared_shape(value) for value in inputs}
    problems = list(_unknown_names(declared, dims, input_shapes))
    symbols: dict[str, int] = {}
    for name, value in dims.items():
        if isinstance(value, int):
            if value < 1:
                problems.append(Problem("out-of-range", f"--dim {name}={value}: a dimension is at least 1"))
            symbols[name] = value
    for name, given in input_shapes.items():
        problems += _bind(name, declared.get(name), given, symbols)
    if problems:
        raise UsageError(problems)
    resolved: dict[str, tuple[Extent, ...] | None] = {}
    for name, shape in declared.items():
        known = input_shapes.get(name, shape)
        resolved[name] = None if known is None else tuple(symbols.get(e, e) if isinstance(e, str) else e for e in known)
    return resolved


def fix_shapes(
    inputs: Sequence[ValueInfoProto],
    dims: Mapping[str, int | str],
    input_shapes: Mapping[str, Sequence[int]],
    readers: Mapping[str, str] | None = None,
) -> dict[str, tuple[int, ...]]:
    """The static shape of every input, by name.

    `dims` and `input_shapes` are those of `resolved_shapes`, `readers` the nodes that read inputs, for messages.
    Raises UsageError as `resolved_shapes`, OpenShapesError where something stays open; an input without elements costs
    a warning, since an exporter may have meant an open dimension.
    """
    resolved = resolved_shapes(inputs, dims, input_shapes)
    fixed = {
        name: tuple(extent for extent in shape or () if isinstance(extent, int)) for name, shape in resolved.items()
    }
    open_inputs = {name: shape for name, shape in resolved.items() if shape is None or len(fixed[name]) < len(shape)}
    if open_inputs:
        declared = {value.name: declared_shape(value) for value in inputs}
        raise OpenShapesError(_open_problem(open_inputs, declared), list(open_inputs))
    _check_sizes(fixed, readers or {})
    return fixed


def _extent(dim: TensorShapeProto.Dimension) -> Extent:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param if dim.dim_param not in ("", "?") else None


def _unknown_names(
    declared: Mapping[str, tuple[Extent, ...] | None],
    dims: Mapping[str, int | str],
    input_shapes: Mapping[str, Sequence[int]],
) -> list[Problem]:
    symbols = sorted({e for shape in declared.values() for e in shape or () if isinstance(e, str)})
    known = f"it has {', '.join(symbols)}" if symbols else "it has none"
    problems = [
        Problem("unknown-dimension", f"--dim {name}={value}: no input has a dimension of that name", fix=known)
        for name, value in dims.items()
        if name not in symbols
    ]
    return problems + [
        Problem(
            "unknown-input",
            f"--input-shape {name}: there is no such input",
            fix=f"the inputs are {', '.join(declared)}",
        )
        for name in input_shapes
        if name not in declared
    ]


def _bind(name: str, shape: tuple[Extent, ...] | None, given: Sequence[int], symbols: dict[str, int]) -> list[Problem]:
    """Check a shape given for an input against the declared one, and note the values of the symbols in it."""
    option = f"--input-shape {name}={','.join(map(str, given))}"
    if any(extent < 0 for extent in given):
        return [Problem("out-of-range", f"{option}: a dimension is at least 0")]
    if shape is None:
        return []
    if len(shape) != len(given):
        what = f"{option}: the input has {len(shape)} dimensions, not {len(given)}: {shape_text(shape)}"
        return [Problem("mismatched-shape", what)]
    problems: list[Problem] = []
    for extent, value in zip(shape, given, strict=True):
        if isinstance(extent, int) and extent != value:
            problems.append(Problem("mismatched-shape", f"{option}: the model fixes the shape {shape_text(shape)}"))
            break
        if isinstance(extent, str) and symbols.setdefault(extent, value) != value:
            what = f"{option}: {extent} is {value} here and {symbols[extent]} elsewhere"
            problems.append(Problem("mismatched-shape", what))
    return problems


def _open_problem(
    resolved: Mapping[str, tuple[Extent, ...] | None], declared: Mapping[str, tuple[Extent, ...] | None]
) -> Problem:
    """One problem for all inputs with open dimensions, and the options that close them."""
    missing = dict.fromkeys(e for shape in resolved.values() for e in shape or () if isinstance(e, str))
    options = [f"--dim {symbol}=N" for symbol in missing]
    for name, shape in resolved.items():
        if shape is None:
            options.append(f"--input-shape {name}=N,...")
        elif None in shape:
            example = ",".join(str(extent if isinstance(extent, int) and extent else "N") for extent in shape)
            options.append(f"--input-shape {name}={example}")
    return Problem(
        "open-shapes",
        "the shapes of these inputs are open: "
        + ", ".join(f"{name} {shape_text(declared[name])}" for name in resolved),
        fix=f"fix them with {' '.join(options)}",
    )


def _check_sizes(shapes: Mapping[str, tuple[int, ...]], readers: Mapping[str, str]) -> None:
    problems: list[Problem] = []
    for name, shape in shapes.items():
        try:
            if check_shape(shape) == 0 and name in readers:
                what = f"input {name!r} has no elements: its shape is {list(shape)}"
                warn(Problem("empty-input", what, f"{readers[name]} reads it"))
        except TensorError as error:
            problems.append(Problem("unsupported-input", f"input {name!r}: {error}"))
    if problems:
        raise CompileError(problems)


@dataclass(frozen=True)
class Input:
    """An input of a graph, and the tensors that it is: one, or those of a sequence."""

    name: str
    tensors: Sequence[ValueInfoProto]
    is_sequence: bool


def input_tensors(
    graph: GraphProto, known: Container[str], input_shapes: Mapping[str, Sequence[int]]
) -> list[ValueInfoProto]:
    """The tensors that the inputs of `read_inputs` are. Raises CompileError."""
    inputs, problems = _declared(graph, known, input_shapes)
    if problems:
        raise CompileError(problems)
    return [value for given in inputs for value in given.tensors]


def _declared(
    graph: GraphProto, known: Container[str], input_shapes: Mapping[str, Sequence[int]]
) -> tuple[list[Input], list[Problem]]:
    """The inputs, and what stands against them."""
    problems: list[Problem] = []
    inputs: list[Input] = []
    for value in graph.input:
        if value.name in known:
            continue
        kind = _given(value.type)
        if not kind.HasField("sequence_type"):
            inputs.append(Input(value.name, [ValueInfoProto(name=value.name, type=kind)], False))
            continue
        inputs.append(Input(value.name, _items(value.name, kind.sequence_type.elem_type, input_shapes), True))
        if not inputs[-1].tensors:
            what = f"input {value.name!r} is a sequence of unknown length"
            fix = f"say what it has with --input-shape {value.name}_0=N,... --input-shape {value.name}_1=N,..."
            problems.append(Problem("unknown-length", what, "each tensor of it is an input of the compiled model", fix))
    for value in (tensor for given in inputs for tensor in given.tensors):
        try:
            if not value.type.HasField("tensor_type"):
                raise TensorError("only tensors, sequences and optionals of them are supported as inputs")
            dtype_of(value.type.tensor_type.elem_type)
        except TensorError as error:
            problems.append(Problem("unsupported-input", f"input {value.name!r}: {error}"))
    return inputs, problems


def read_inputs(
    graph: GraphProto, known: Container[str], dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
) -> tuple[list[Input], dict[str, TensorType]]:
    """The inputs that are not among the `known` names, and the types of their tensors. An optional is taken as given.

    A sequence is as many tensors as `input_shapes` has for it, called NAME_0, NAME_1 and so on. Raises CompileError
    with every problem found, which is an OpenShapesError where that is the only one; UsageError as `fix_shapes`.
    """
    inputs, problems = _declared(graph, known, input_shapes)
    tensors = [value for given in inputs for value in given.tensors]
    try:
        shapes = fix_shapes(tensors, dims, input_shapes, readers(graph.node))
    except CompileError as error:
        if not problems:
            raise
        raise CompileError([*problems, *error.problems]) from None
    if problems:
        raise CompileError(problems)
    codes = {value.name: value.type.tensor_type.elem_type for value in tensors}
    return inputs, {name: TensorType(element_type(dtype_of(code)), shapes[name]) for name, code in codes.items()}


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


def freeze(model: Model, constants: Mapping[str, KnownTensor | Literal["any"]]) -> Model:
    """The model with the inputs `constants`, by name, as initializers of these values.

    Raises UsageError where there is no such input, or it has another type or shape; OpenShapesError where one is meant
    to be a constant whose value is not known yet.
    """
    if not constants:
        return model
    graph = model.proto.graph
    known = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in known}
    problems: list[Problem] = []
    waiting: list[str] = []
    tensors: list[TensorProto] = []
    payloads = dict(model.payloads)
    for name, constant in constants.items():
        if name not in inputs:
            what = f"--constant {name}: there is no such input"
            problems.append(Problem("unknown-input", what, fix=f"there are {', '.join(inputs)}"))
            continue
        if not isinstance(constant, KnownTensor):
            waiting.append(name)
            continue
        try:
            array = _typed(constant, inputs[name])
        except TensorError as error:
            problems.append(Problem("mismatched-constant", f"--constant {name}: {error}"))
            continue
        code = inputs[name].type.tensor_type.elem_type
        tensors.append(TensorProto(name=name, data_type=code, dims=array.shape))
        payloads[name] = array.tobytes()
    if problems:
        raise UsageError(problems)
    if waiting:
        options = " ".join(f"--constant {name}=VALUE" for name in waiting)
        problem = Problem("open-values", f"the values of {', '.join(waiting)} are open", fix=f"fix them with {options}")
        raise OpenShapesError(problem, waiting)
    proto = type(model.proto)()
    proto.CopyFrom(model.proto)
    proto.graph.initializer.extend(tensors)
    return replace(model, proto=proto, payloads=payloads)


def release(model: Model, names: Collection[str]) -> tuple[Model, dict[str, Array]]:
    """The model where those of `names` that are inputs and initializers at once are inputs only, and their values.

    Raises CompileError where such a value cannot be read.
    """
    inputs = {value.name for value in model.proto.graph.input}
    found: dict[str, Array] = {}
    for tensor in model.proto.graph.initializer:
        if tensor.name in inputs and tensor.name in names:
            try:
                found[tensor.name] = read_tensor(tensor, model.folder, model.payloads.get(tensor.name))
            except TensorError as error:
                raise CompileError("invalid-data", f"the initializer {tensor.name!r}: {error}") from error
    if not found:
        return model, found
    proto = type(model.proto)()
    proto.CopyFrom(model.proto)
    remaining = [tensor for tensor in proto.graph.initializer if tensor.name not in found]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(remaining)
    return replace(model, proto=proto), found


def _typed(constant: KnownTensor, value: ValueInfoProto) -> Array:
    """The array for the input `value`; raises TensorError where it cannot be that."""
    dtype = dtype_of(value.type.tensor_type.elem_type)
    if raw_size(dtype, 2) != 2 * dtype.itemsize:
        raise TensorError(f"inputs of type {dtype.name} cannot be given")
    try:
        given = np.array(constant.values).reshape(constant.shape)
        with np.errstate(all="ignore"):
            array = given.astype(dtype) if given.size else np.empty(constant.shape, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise TensorError(f"it is not of {dtype.name}: {error}") from None
    if number_kind(dtype) != "f" and given.size and not np.array_equal(array.astype(given.dtype), given):
        raise TensorError(f"its values are not {dtype.name}")
    declared = declared_shape(value)
    if contradicts(declared, array.shape):
        raise TensorError(f"its shape is {list(array.shape)}, that of the input {shape_text(declared)}")
    return array
