"""Facts about a model without importing it, and the support of each ONNX operator: from which versions on, with which
element types, within which limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from onnx import NodeProto, TensorProto, ValueInfoProto, defs
from onnx.defs import OpSchema

from aotc.frontend.onnx import operators
from aotc.frontend.onnx.bodies import all_nodes
from aotc.frontend.onnx.control import CONTROL_FLOW
from aotc.frontend.onnx.dims import declared_shape
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.operators import MAX_OPSET, ONNX_NAMES, REFUSED, domain_of, qualified
from aotc.frontend.onnx.parts.sequences import OPERATORS
from aotc.frontend.onnx.registry import IMPORTERS, load_importers
from aotc.frontend.onnx.tensors import dtype_of, raw_size, type_name, type_proto


def summarize(model: Model) -> dict[str, Any]:
    """A model as it is in its file, as plain data: name, producer, opsets, inputs, outputs, operators, sizes in bytes.

    In the shape of an input or output a symbol is a string and an open dimension None; no shape at all is None.
    `operators` counts the nodes of the main graph.
    """
    graph = model.proto.graph
    constants = {tensor.name for tensor in graph.initializer}
    counts = Counter(operators.qualified(node.op_type, operators.domain_of(node.domain)) for node in graph.node)
    elements = [(tensor.data_type, math.prod(tensor.dims)) for tensor in graph.initializer]
    return {
        "name": model.name,
        "producer": f"{model.proto.producer_name} {model.proto.producer_version}".strip(),
        "ir_version": model.proto.ir_version,
        "opsets": {
            domain or "ai.onnx": number for domain, number in operators.imported_sets(model.proto.opset_import).items()
        },
        "inputs": [_tensor(value) for value in graph.input if value.name not in constants],
        "outputs": [_tensor(value) for value in graph.output],
        "operators": dict(sorted(counts.items())),
        "functions": [
            operators.qualified(function.name, operators.domain_of(function.domain))
            for function in model.proto.functions
        ],
        "parameters": sum(count for _, count in elements),
        "weights_bytes": sum(
            raw_size(dtype_of(TensorProto.INT64 if code == TensorProto.STRING else code), count)
            for code, count in elements  # of text there are numbers
        ),
    }


def supported_operators() -> list[str]:
    """The operators that can be imported, sorted, with their domain unless it is that of ONNX.

    Those with an importer, and those that ONNX (in its newest version known) defines by others that can be imported.
    """
    load_importers()
    names = {operators.qualified(op_type, domain) for domain, op_type in IMPORTERS}
    schemas = sorted({schema.name for schema in defs.get_all_schemas() if not schema.domain})
    names.update(OPERATORS)
    names.update(name for name in schemas if _importable(name, operators.MAX_OPSET, frozenset()))
    return sorted(names)


def _importable(op_type: str, opset: int, inside: frozenset[str]) -> bool:
    """Whether an ONNX operator has an importer, or a definition of such; tried with float inputs where it depends."""
    if op_type in CONTROL_FLOW.keys() | OPERATORS or ("", op_type) in IMPORTERS:
        return True
    schema = operators.schema_of(op_type, "", opset)
    if schema is None or schema.deprecated or not operators.has_definition(schema) or op_type in inside:
        return False
    inputs = [f"input_{position}" for position in range(schema.min_input)]
    node = NodeProto(op_type=op_type, input=inputs, output=["output"])
    floats = type_proto(TensorProto.FLOAT, (1, 1))
    function = operators.definition(schema, node, opset, [floats.SerializeToString()] * len(inputs))
    if function is None:  # what was tried is no example of its inputs or attributes
        return op_type not in operators.REFUSED
    sets = operators.imported_sets(function.opset_import)
    return all(
        not inner.domain and _importable(inner.op_type, sets.get("", opset), inside | {op_type})
        for inner in all_nodes(function.node)
    )


def _tensor(value: ValueInfoProto) -> dict[str, Any]:
    shape = declared_shape(value)
    return {
        "name": value.name,
        "dtype": type_name(value.type.tensor_type.elem_type),
        "shape": None if shape is None else list(shape),
    }


_BOUNDED = (
    "the result has a data-dependent extent: it is as long as that may be, and a further output `NAME_count` says how"
    " much of it is valid; what comes after that is -1 in indices; operators that treat each part by itself,"
    " put lists of parts together or cut them into smaller ones, reductions, running sums, scatters and bodies of"
    " control flow may read it"
)
_GENERATOR = (
    "SplitMix64 of the element's position and the seed; without a seed, one that follows from the node's name: every"
    " run gives the same numbers"
)
_SEQUENCE = (
    "sequences have a known length; one among the inputs is the inputs `NAME_0`, `NAME_1` and so on, as many as"
    " `--input-shape` names, one among the outputs is as many outputs"
)
_OPTIONAL = "an optional among the inputs is taken as given"
_TEXT = (
    "labels that are text become their positions; what they are is in the header and the metadata, and operators that"
    " only move elements may read them"
)
_MATRIX = (
    "products with constant matrices: the weights grow with the length times the sum of its two nearest factors, with "
    "the square of a prime length"
)


def _constant(what: str) -> str:
    return f"{what} must be known when compiling: a constant of the model, or `--constant`"


_NOTES = {
    _constant("every input"): "MelWeightMatrix",
    _constant("image_shape and block_shape"): "Col2Im",
    _constant("output_shape"): "MaxUnpool",
    _constant("scales, sizes and the region"): "Resize",
    _constant("start, limit and delta"): "Range com.microsoft.Range",
    _constant("the axes"): "Squeeze Unsqueeze",
    _constant("the axis"): "CumProd CumSum com.microsoft.ExpandDims",
    _constant("the depth"): "OneHot",
    _constant("the pads"): "Pad com.microsoft.Pad",
    _constant("the repeats"): "Tile",
    _constant("the scales"): "Upsample",
    _constant("the shape"): "CenterCropPad ConstantOfShape Expand Reshape",
    _constant("the sizes"): "Split",
    _BOUNDED: "Compress NonZero",
    _GENERATOR: "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    _OPTIONAL: "Optional OptionalGetElement OptionalHasElement",
    _SEQUENCE: "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
    "SequenceLength SequenceMap",
    _TEXT: "ai.onnx.ml.LinearClassifier ai.onnx.ml.SVMClassifier ai.onnx.ml.TreeEnsembleClassifier",
    "an experiment of before ONNX 1.0, as onnxruntime has it": "Affine Crop DynamicSlice ImageScaler "
    "ParametricSoftplus Scale ScaledTanh",
    f"{_MATRIX}; {_constant('length and axis')}": "DFT",
    f"in training {_GENERATOR}": "Dropout",
    "integers and booleans with the mode nearest; between them ONNX does not say how to round": "GridSample",
    "where the condition is not known when compiling, branches of different shapes are both computed, and may "
    "differ along one axis: the result has a data-dependent extent; with a loop in a branch, or along more axes, the "
    "condition must be known": "If",
    "what is stacked needs a trip count that is known when compiling; where a condition may end the loop "
    "before, it is as long as that, zeros from a further output `NAME_count` on, and operators that treat each part "
    "by itself, reductions, running sums and scatters may read it": "Loop",
    f"{_BOUNDED}; the bound is lower where max_output_boxes_per_class is known when compiling": "NonMaxSuppression",
    f"{_MATRIX}; {_constant('frame_step and frame_length')}": "STFT",
    f"{_constant('axes and steps')}, and starts and ends, or how far apart they are: a call of such a window "
    "fails where ONNX would take fewer elements; along one axis they may be data-dependent, and so is then the "
    "extent of the result": "Slice",
    f"{_SEQUENCE}; {_constant('the sizes')}": "SplitToSequence",
    "of numbers, not of strings": "TfIdfVectorizer",
    "where K is known only when the model runs, the result has a data-dependent extent": "TopK",
    f"{_BOUNDED}; the time grows with the square of the number of elements": "Unique",
    "of text that is a constant the result has positions, as labels of classifiers": "ai.onnx.ml.ArrayFeatureExtractor",
    "keys are numbers; values that are text become positions, as labels of classifiers": "ai.onnx.ml.LabelEncoder",
    "the maps become a table of their values; the keys of its columns are in the header and the "
    "metadata": "ai.onnx.ml.ZipMap",
    "of a batch each row's states are rounded alone, onnxruntime rounds those "
    "of rows that one thread computes together": "com.microsoft.DynamicQuantizeLSTM",
}

LIMITS = {operator: note for note, operators in _NOTES.items() for operator in operators.split()}
"""ONNX operator -> what is to be known of it."""

SHORT = {
    "bfloat16": "bf16",
    "double": "f64",
    "float": "f32",
    "float16": "f16",
}
"""Names of element types as they are on the page."""

_ORDER = list(ONNX_NAMES.values())


@dataclass(frozen=True)
class Support:
    """A row of the page."""

    operator: str
    """With its domain unless it is that of ONNX."""
    versions: tuple[int, ...]
    """The versions of its operator set that changed it; none where ONNX has no such operator."""
    types: tuple[str, ...]
    """The element types of the first input (or output) that the standard allows and the compiler has."""
    limits: str
    refused: str = ""
    """Why the compiler has no meaning for it, and what to do instead; empty where it has."""

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def support() -> list[Support]:
    """Every operator that can be imported, and every one of ONNX that cannot; by domain and name."""
    load_importers()
    known = set(supported_operators())
    schemas: dict[str, list[OpSchema]] = {}
    for schema in defs.get_all_schemas_with_history():
        domain = domain_of(schema.domain)
        if not domain or (domain, schema.name) in IMPORTERS:
            schemas.setdefault(qualified(schema.name, domain), []).append(schema)
    rows = [_row(name, schemas.get(name, []), name in known) for name in sorted({*schemas, *known})]
    return [row for row in rows if row is not None]


def _row(name: str, schemas: list[OpSchema], known: bool) -> Support | None:
    newest = max(schemas, key=lambda schema: schema.since_version, default=None)
    if newest is not None and newest.since_version > MAX_OPSET:
        return None
    versions = tuple(sorted(schema.since_version for schema in schemas if not schema.deprecated))
    if not known and (newest is None or newest.deprecated):
        return None
    types = () if newest is None else tuple(dict.fromkeys(_types(newest)))
    if known:
        return Support(name, versions, types, LIMITS.get(name, ""))
    refusal = REFUSED.get(name)
    return Support(name, versions, types, "", "no importer" if refusal is None else "; ".join(refusal))


def _types(schema: OpSchema) -> Iterator[str]:
    parameters = [*schema.inputs, *schema.outputs]
    allowed = set(parameters[0].types) if parameters else set[str]()
    for name in _ORDER:
        if f"tensor({name})" in allowed or f"seq(tensor({name}))" in allowed:
            yield SHORT.get(name, name)


def text_of(row: Support) -> str:
    """A row as lines for a terminal."""
    lines = [row.operator]
    if row.refused:
        lines.append(f"  not supported: {row.refused}")
    if row.versions:
        lines.append(f"  versions  {', '.join(map(str, row.versions))}")
    if row.types:
        lines.append(f"  types     {', '.join(row.types)}")
    if row.limits:
        lines.append(f"  limits    {row.limits}")
    return "\n".join(lines)
