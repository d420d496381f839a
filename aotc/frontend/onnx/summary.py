"""Facts about a model without importing it, and about what can be imported."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from onnx import NodeProto, TensorProto, ValueInfoProto, defs

from aotc.frontend.onnx import operators
from aotc.frontend.onnx.bodies import all_nodes
from aotc.frontend.onnx.control import CONTROL_FLOW
from aotc.frontend.onnx.dims import declared_shape
from aotc.frontend.onnx.load import Model
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
    names = {operators.qualified(entry.op_type, entry.domain) for entry in IMPORTERS.values()}
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
