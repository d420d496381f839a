"""The operators of a model, and what ONNX itself says about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from onnx import AttributeProto, FunctionProto, NodeProto, OperatorSetIdProto, TensorProto, defs
from onnx.defs import OpSchema
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import element_type_of
from aotc.errors import Problem
from aotc.frontend.onnx.tensors import DTYPES
from aotc.model import extensions

MIN_OPSET, MAX_OPSET = 1, 28
"""The versions of the ai.onnx operator set that the importers know."""


class Refusal(NamedTuple):
    """Why an operator cannot be imported, and what to do instead."""

    why: str
    instead: str


_STRINGS = Refusal("text has no fixed size, and compiled models have no heap", "do this before the model, on the host")

REFUSED: dict[str, Refusal] = {
    "Gradient": Refusal("graphs are not differentiated", "export the gradient as a graph of its own"),
    "ImageDecoder": Refusal(
        "a compressed picture has no size until it is read", "decode it before the model, and give the model its pixels"
    ),
    "RegexFullMatch": _STRINGS,
    "StringConcat": _STRINGS,
    "StringNormalizer": _STRINGS,
    "StringSplit": _STRINGS,
}
"""ONNX operators without a meaning here."""

OperatorSets = Mapping[str, int]
"""domain -> version; the ONNX domain is the empty string."""

_ML, _MICROSOFT, _BLOCKED = "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"


@cache
def _implied() -> OperatorSets:
    """The operator sets that onnxruntime gives a model which does not import them, in their newest versions."""
    ml = max(schema.since_version for schema in defs.get_all_schemas() if schema.domain == _ML)
    return {"": MAX_OPSET, _ML: ml, _MICROSOFT: 1}


def domain_of(domain: str) -> str:
    """The domain with "ai.onnx" written as the empty string, as everywhere here."""
    return "" if domain == "ai.onnx" else domain


def imported_sets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """The imported versions by domain."""
    return {domain_of(entry.domain): entry.version for entry in imports}


def operator_sets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """The versions by domain, those included that need no import."""
    return {**_implied(), **imported_sets(imports)}


def qualified(op_type: str, domain: str) -> str:
    """An operator's name with its domain, for messages."""
    return f"{domain}.{op_type}" if domain else op_type


@lru_cache(maxsize=4096)
def schema_of(op_type: str, domain: str, opset: int) -> OpSchema | None:
    """The ONNX definition of an operator at a version, None where there is none."""
    try:
        return defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None


def has_definition(schema: OpSchema) -> bool:
    """Whether ONNX defines the operator by other operators."""
    found: Any = schema  # the stubs of onnx lack these attributes
    return found.has_function or found.has_context_dependent_function


def definition(schema: OpSchema, node: NodeProto, opset: int, types: Sequence[bytes]) -> FunctionProto | None:
    """The function that ONNX defines an operator by, for this node and these (serialized) types of its inputs."""
    found: Any = schema
    if found.has_function:
        version = _closest(found.function_opset_versions, opset)
        return FunctionProto.FromString(found.get_function_with_opset_version(version))
    if found.has_context_dependent_function:
        version = _closest(found.context_dependent_function_opset_versions, opset)
        try:
            body = found.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        except (ValueError, RuntimeError):  # attributes that the builder of the function cannot do with
            return None
        return FunctionProto.FromString(body) if body else None
    return None


def bind_attributes(node: NodeProto, bound: Mapping[str, AttributeProto]) -> NodeProto:
    """`node` of a function's body with its references to the function's attributes replaced by `bound`."""
    with_graphs = AttributeProto.GRAPH, AttributeProto.GRAPHS
    if not any(attribute.ref_attr_name or attribute.type in with_graphs for attribute in node.attribute):
        return node
    result = NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if (value := bound.get(attribute.ref_attr_name)) is not None:
                copy = result.attribute.add()
                copy.CopyFrom(value)
                copy.name = attribute.name
            continue
        copy = result.attribute.add()
        copy.CopyFrom(attribute)
        for graph in [copy.g] if copy.type == AttributeProto.GRAPH else copy.graphs:
            for inner in graph.node:
                inner.CopyFrom(bind_attributes(inner, bound))
    return result


def unsupported(node: str, op_type: str, domain: str, opset: int | None) -> Problem:
    """The problem of an operator that nothing gives a meaning to; a package that does not load might have."""
    what, why, fix = _unsupported(op_type, domain, opset)
    why = "; ".join(filter(None, [why, *map(str, extensions.broken())]))
    return Problem("unsupported-operator", what, why, fix, node, op_type)


def _unsupported(op_type: str, domain: str, opset: int | None) -> tuple[str, str, str]:
    """The parts of that problem: the thing that is missing, the reason, and the way out."""
    full = qualified(op_type, domain)
    if opset is None:
        what = f"the model imports no version of the operator set {domain!r}"
        return what, "", "add it to opset_import, or remove the node"
    is_known = schema_of(op_type, domain, opset) is not None
    if (refusal := REFUSED.get(op_type)) is not None and is_known:
        return f"operator {full} is not supported", refusal.why, refusal.instead
    if domain:
        why = f"no importer is installed for the domain {domain!r}"
        fix = (
            "install a package with one (entry point aotc.onnx_importers), or export the model with standard operators"
        )
        if domain in _implied():
            why, fix = "", f"`aotc ops` lists those of {domain} that are; {fix}"
        elif domain == _BLOCKED:
            why = "onnxruntime has written the model for one processor"
            fix = "have it written with at most ORT_ENABLE_EXTENDED optimisations"
        return f"operator {full} (version {opset}) is not supported", why, fix
    if schema_of(op_type, domain, MAX_OPSET) is None:
        fix = "give a custom operator a domain and an importer (entry point aotc.onnx_importers)"
        return f"operator {op_type} is not supported", "ONNX has none of that name", fix
    if not is_known:
        what = f"operator {op_type} does not exist in opset {opset}"
        return what, "", "export the model again with an opset that has it"
    fix = "`aotc ops` lists what is; an importer can come from a package (entry point aotc.onnx_importers)"
    return f"operator {op_type} (opset {opset}) is not supported", "", fix


def _closest(versions: Sequence[int], opset: int) -> int:
    """The newest of `versions` that is not newer than the model, else the oldest: a body names its own operator set."""
    return max((version for version in versions if version <= opset), default=min(versions))


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
