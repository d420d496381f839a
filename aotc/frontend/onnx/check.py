"""Validity of a model, checked node by node so that every problem is reported and not only the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, checker

from aotc.errors import FileError, Problem
from aotc.frontend.onnx.bodies import all_nodes, node_name, ordered, subgraphs, used_names
from aotc.frontend.onnx.labels import places_of
from aotc.frontend.onnx.operators import MAX_OPSET, MIN_OPSET, OperatorSets, domain_of, operator_sets, schema_of
from aotc.frontend.onnx.tensors import TensorError, check_tensor

MIN_IR_VERSION = 3
"""Earlier models name no operator sets."""

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function of the model."""


def check_model(proto: ModelProto, folder: Path | None, payloads: Mapping[str, bytes]) -> list[Problem]:
    """Every problem of a model, before any meaning is given to its nodes.

    `payloads` is the raw data of initializers that have none. Raises FileError for external data that is not there.
    """
    if problems := list(_check_versions(proto)):
        return problems
    check = _GraphCheck(operator_sets(proto.opset_import), {function_key(f) for f in proto.functions}, folder)
    problems = check.graph(proto.graph, "the graph", frozenset(), payloads)
    if not proto.graph.output:
        problems.append(Problem("invalid-model", "the graph has no outputs", fix="the model computes nothing"))
    return problems + _check_functions(proto.functions)


def function_key(function: FunctionProto) -> FunctionKey:
    """The key by which a node calls a function of the model."""
    return domain_of(function.domain), function.name, function.overload


def called_function(node: NodeProto) -> FunctionKey:
    """The function of the model that a node calls, if it is there."""
    return domain_of(node.domain), node.op_type, node.overload


def check_node(node: NodeProto, name: str, sets: OperatorSets) -> Problem | None:
    """The onnx checker's problem with a node whose operator it knows; its subgraphs are not looked at.

    Nor at deprecated operators, which it refuses and onnxruntime takes: there the importer decides.
    """
    domain = domain_of(node.domain)
    schema = schema_of(node.op_type, domain, sets[domain]) if domain in sets else None
    if schema is None or schema.deprecated:
        return None
    context = checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = dict(sets)
    plain = node
    if next(subgraphs(node), None) is not None:
        plain = NodeProto()
        plain.CopyFrom(node)
        for graph in subgraphs(plain):
            graph.Clear()
            graph.name = "body"
    try:
        checker.check_node(plain, context)
    except checker.ValidationError as error:
        text = str(error).strip().partition("\n")[0].rstrip(". ")
        fix = "the model is invalid: export it again"
        return Problem("invalid-node", text[:300], fix=fix, node=name, op_type=node.op_type)
    return None


def check_body(
    nodes: Sequence[NodeProto], given: Iterable[str], outputs: Iterable[str], where: str, outer: frozenset[str]
) -> list[Problem]:
    """The problems of a body's names: defined twice, defined nowhere, or depending on themselves.

    `given` are the names of inputs and initializers, `outer` those of the bodies around it.
    """
    problems: list[Problem] = []
    defined = set(given)
    for position, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in defined:
                what = f"it defines {name!r}, which is defined already"
                problems.append(Problem("duplicate-name", what, node=node_name(node, position), op_type=node.op_type))
            defined.add(name)
    for position, node in enumerate(nodes):
        if missing := sorted(used_names(node) - defined - outer):
            what = f"its input {', '.join(map(repr, missing))} is defined nowhere"
            problems.append(Problem("undefined-name", what, node=node_name(node, position), op_type=node.op_type))
    problems += [
        Problem("undefined-name", f"output {name!r} of {where} is defined nowhere")
        for name in outputs
        if name not in defined and name not in outer
    ]
    _, cycle = ordered(nodes)
    if cycle and not problems:
        names = [node_name(nodes[position], position) for position in cycle]
        what = f"the nodes {' -> '.join([*names, names[0]])} of {where} depend on each other in a cycle"
        fix = "a graph must have an order in which each node follows those it reads"
        problems.append(Problem("cyclic-graph", what, fix=fix))
    return problems


@dataclass(frozen=True)
class _GraphCheck:
    """The check of a graph and those inside it."""

    sets: OperatorSets
    functions: set[FunctionKey]
    folder: Path | None

    def graph(
        self, graph: GraphProto, where: str, outer: frozenset[str], payloads: Mapping[str, bytes]
    ) -> list[Problem]:
        inputs = [value.name for value in graph.input]
        initializers = [tensor.name for tensor in graph.initializer]
        outputs = [value.name for value in graph.output]
        problems = [
            *_repeated(inputs, "input", where),
            *_repeated(initializers, "initializer", where),
            *_nameless(outputs, "output", where),
        ]
        for tensor in graph.initializer:
            problems += self._tensor(tensor, payloads.get(tensor.name), is_outermost=not outer)
        for tensor in graph.sparse_initializer:
            what = f"initializer {tensor.values.name!r} is sparse"
            problems.append(Problem("unsupported-type", what, fix="store it as a dense tensor"))
        problems += check_body(graph.node, [*inputs, *initializers], outputs, where, outer)
        visible = outer.union(inputs, initializers, *(node.output for node in graph.node))
        for position, node in enumerate(graph.node):
            name = node_name(node, position)
            if called_function(node) not in self.functions and (problem := check_node(node, name, self.sets)):
                problems.append(problem)
            for inner in subgraphs(node):
                problems += self.graph(inner, f"a subgraph of {name}", visible, {})
        return problems

    def _tensor(self, tensor: TensorProto, payload: bytes | None, is_outermost: bool) -> Iterator[Problem]:
        what = f"initializer {tensor.name!r}"
        try:
            if is_outermost and tensor.data_type == TensorProto.STRING:  # labels
                places_of(tensor)
            else:
                check_tensor(tensor, self.folder, payload)
        except TensorError as error:
            yield Problem("invalid-data", str(error), node=what)
        except OSError as error:
            raise FileError("unusable-file", str(error), node=what) from error


def _check_versions(proto: ModelProto) -> Iterator[Problem]:
    if proto.ir_version > onnx.IR_VERSION:
        what = f"the model has IR version {proto.ir_version}, newer than {onnx.IR_VERSION}"
        yield Problem("unsupported-version", what, fix="export it with an older IR version")
    elif proto.ir_version < MIN_IR_VERSION:
        what = f"the model has IR version {proto.ir_version}, older than {MIN_IR_VERSION}"
        yield Problem("unsupported-version", what, fix="export it again")
    elif not proto.opset_import:
        yield Problem("invalid-model", "the model imports no operator set", "it may be truncated", "export it again")
    versions: dict[str, set[int]] = {}
    for entry in proto.opset_import:
        versions.setdefault(domain_of(entry.domain), set()).add(entry.version)
    for domain, found in versions.items():
        if len(found) > 1:
            numbers = ", ".join(map(str, sorted(found)))
            what = f"the model imports the operator set {domain or 'ai.onnx'!r} as {numbers}"
            yield Problem("duplicate-name", what, fix="keep one")
    for entry in proto.opset_import:
        if not domain_of(entry.domain) and not MIN_OPSET <= entry.version <= MAX_OPSET:
            what = f"the model uses opset {entry.version} of ai.onnx, supported are {MIN_OPSET} to {MAX_OPSET}"
            yield Problem("unsupported-version", what, fix="convert it with onnx.version_converter, or export it again")


def _check_functions(functions: Sequence[FunctionProto]) -> list[Problem]:
    counts = Counter(function_key(function) for function in functions)
    problems = [
        Problem("duplicate-name", f"the function {key[1]} is defined {n} times") for key, n in counts.items() if n > 1
    ]
    calls: dict[FunctionKey, list[FunctionKey]] = {}
    for function in functions:
        where = f"the function {function.name}"
        problems += check_body(function.node, function.input, function.output, where, frozenset())
        called = {called_function(node) for node in all_nodes(function.node)}
        calls[function_key(function)] = sorted(called & counts.keys())
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        names = " -> ".join(key[1] for key in reversed(error.args[1]))
        problems.append(Problem("cyclic-graph", f"the functions {names} call each other without end"))
    return problems


def _nameless(names: Sequence[str], kind: str, where: str) -> Iterator[Problem]:
    if not all(names):
        yield Problem("invalid-model", f"an {kind} of {where} has no name")


def _repeated(names: Sequence[str], kind: str, where: str) -> Iterator[Problem]:
    yield from _nameless(names, kind, where)
    for name, count in Counter(names).items():
        if name and count > 1:
            what = f"{kind} {name!r} of {where} is there {count} times"
            yield Problem("duplicate-name", what, fix="names must be unique")
