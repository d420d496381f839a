"""From a checked ONNX model to the `import` phase: one function of graph operations on tensors of static shape.

Functions of the model and operators that ONNX defines by others are expanded in place, those with bodies are imported
by `control`, and what remains goes through the importer table. A node that cannot be imported is noted and its outputs
poisoned, so that one run finds every such node.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot.contract import ENTRY, Argument, model_module, set_arguments, set_results
from aotc.dialects.constants import constant_op
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.errors import AotcError, CompileError, FileError, OutOfMemoryError, Problem, gathered, warn
from aotc.frontend.emitter import erase_unused, location, name_value
from aotc.frontend.onnx import operators
from aotc.frontend.onnx.bodies import needed, node_name, ordered, subgraphs
from aotc.frontend.onnx.check import called_function, check_node, function_key
from aotc.frontend.onnx.control import CONTROL_FLOW
from aotc.frontend.onnx.control.bodies import Bodies, captured
from aotc.frontend.onnx.dims import OpenShapesError, contradicts, declared_shape, read_inputs, shape_text
from aotc.frontend.onnx.labels import changed_output, output_labels, places_of, text_of, text_read, unknown_text
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.node import Bound, Node
from aotc.frontend.onnx.operators import type_mismatch
from aotc.frontend.onnx.parts.bounds import carry, misfit, refuse
from aotc.frontend.onnx.parts.sequences import OPERATORS, Given, Items, apply, type_bytes
from aotc.frontend.onnx.registry import BOUNDED, EVERYWHERE, IMPORTERS, Importer, listed, load_importers
from aotc.frontend.onnx.scopes import POISON, Poison, Scope, Value
from aotc.frontend.onnx.tensors import ONNX_TYPES, TensorError, attribute_value, read_tensor, type_name
from aotc.model import extensions
from aotc.model.limits import MOST_EXPANDED
from aotc.model.naming import c_identifier, distinct_names
from aotc.model.weight_store import WeightStore

_MOST_WARNINGS = 3

logger = logging.getLogger(__name__)


class _TooManyNodes(CompileError):
    """Unlike other problems, this one ends the import."""


def import_model(
    model: Model,
    ctx: Context,
    *,
    dims: Mapping[str, int | str] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    name: str | None = None,
    max_nodes: int = MOST_EXPANDED,
) -> builtin.ModuleOp:
    """The module of the `import` phase; constants go to the WeightStore of `ctx`.

    `dims` fixes symbolic dimensions, `input_shapes` whole inputs, by name; `name` (else the file's) becomes the C
    identifier `aot.name`. Calls of functions are expanded to at most `max_nodes` nodes, beside those of the graph.
    Raises CompileError with every problem found, UsageError for dimensions that contradict the model.
    """
    load_importers()
    return _Importer(model, WeightStore.of(ctx), max_nodes).module(dims or {}, input_shapes or {}, name or model.name)


class _Importer(Bodies):
    """The import of one model."""

    def __init__(self, model: Model, store: WeightStore, max_nodes: int) -> None:
        super().__init__(store, max_nodes)
        self.model = model
        store.given = model.proto.ByteSize()
        self.functions = {function_key(function): function for function in model.proto.functions}
        graph = model.proto.graph
        self.declared = {value.name: declared_shape(value) for value in (*graph.value_info, *graph.output)}
        self.contradictions: list[Problem] = []
        """Declarations of the model that differ from what is computed; of which only the user is told."""
        self.notes: list[Problem] = []
        """Warnings of importers about nodes that they did import."""
        self.top = Scope(operators.operator_sets(model.proto.opset_import), self.block)
        self.text = text_of(graph)
        self.labels = output_labels(graph)

    def module(
        self, dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]], name: str
    ) -> builtin.ModuleOp:
        """The whole model as a module."""
        graph = self.model.proto.graph
        scope = self.top
        scope.tensors.update({tensor.name: tensor for tensor in graph.initializer})
        arguments = self._arguments(graph, scope, dims, input_shapes)
        self.body(graph.node, [value.name for value in graph.output], scope)
        results, names = self._results(graph, scope)
        if self.problems:
            raise CompileError(gathered(self.problems))
        for problem in (*self.notes, *self.contradictions[:_MOST_WARNINGS]):
            warn(problem)
        if more := self.contradictions[_MOST_WARNINGS:]:
            warn(Problem("contradicted-shape", f"so it is with {len(more)} more values", fix="export the model again"))
        self.builder.insert(ReturnOp(*results))
        erase_unused(self.block)
        function = FuncOp(
            "main",
            builtin.FunctionType.from_lists(self.block.arg_types, [value.type for value in results]),
            Region(self.block),
        )
        set_arguments(function, arguments)
        set_results(function, [self._result(each, result) for each, result in zip(names, results, strict=True)])
        ENTRY.set(function)
        return model_module([function], c_identifier(name))

    def _arguments(
        self, graph: GraphProto, scope: Scope, dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
    ) -> list[Argument]:
        """Make the graph's inputs arguments of the block; an initializer among them is a constant."""
        try:
            inputs, types = read_inputs(graph, scope.tensors, dims, input_shapes)
        except CompileError as error:
            unsupported = self._unsupported_operators()
            if isinstance(error, OpenShapesError) and not unsupported:
                raise
            raise CompileError(gathered([*error.problems, *unsupported])) from None
        arguments: list[Argument] = []
        for given in inputs:
            values: list[SSAValue] = []
            for tensor in given.tensors:
                argument = self.block.insert_arg(types[tensor.name], len(self.block.args))
                name_value(argument, tensor.name)
                arguments.append(_tensor(tensor.name, argument))
                values.append(argument)
            scope.values[given.name] = Items(tuple(values)) if given.is_sequence else values[0]
            if not given.is_sequence:
                self.given[values[0]] = given.name
        return arguments

    def _results(self, graph: GraphProto, scope: Scope) -> tuple[list[SSAValue], list[str]]:
        """The outputs and their names; after them the counts of those whose extents are data-dependent."""
        results: list[SSAValue] = []
        names: list[str] = []
        distinct = distinct_names([declared.name for declared in graph.output])
        for name, declared in zip(distinct, graph.output, strict=True):
            value = self.lookup(declared.name, scope)
            if isinstance(value, Items):
                results += value.values
                names += [f"{name}_{place}" for place in range(len(value.values))]
            if not isinstance(value, SSAValue):
                continue
            results.append(value)
            names.append(name)
            expected = declared.type.tensor_type.elem_type
            if name in self.labels:
                self.notes.append(changed_output(name, self.labels[name], is_text=declared.name in self.text))
            if expected == TensorProto.STRING and name not in self.labels:
                self.problems.append(unknown_text(declared.name))
            elif expected not in (0, TensorProto.STRING, ONNX_TYPES[element_type_of(value)]):
                found = dtype_name(element_type_of(value))
                what = f"output {declared.name!r} is declared as {type_name(expected)} and computed as {found}"
                self.problems.append(Problem("contradicted-type", what, fix="the model is invalid: export it again"))
        for name, value in list(zip(names, results, strict=False)):
            if (bound := self.bounds.get(value)) is not None:
                results.append(bound.count)
                names.append(f"{name}_count")
        return results, names

    def _result(self, name: str, value: SSAValue) -> Argument:
        found = _tensor(name, value)
        if (bound := self.bounds.get(value)) is not None:
            found.counted_axis = bound.axis
        found.labels = self.labels.get(name) or None
        return found

    def _unsupported_operators(self) -> list[Problem]:
        """Problems of the nodes that are known before the shapes."""
        sets = operators.operator_sets(self.model.proto.opset_import)
        nodes = self.model.proto.graph.node
        found = (self._unknown(node, node_name(node, position), sets) for position, node in enumerate(nodes))
        return [problem for problem in found if problem is not None]

    def _unknown(self, node: NodeProto, name: str, sets: operators.OperatorSets) -> Problem | None:
        """The problem of a node whose operator nothing gives a meaning to."""
        domain = operators.domain_of(node.domain)
        opset = sets.get(domain)
        if called_function(node) in self.functions:
            return None
        if opset is not None:
            schema = operators.schema_of(node.op_type, domain, opset)
            # onnxruntime adds operators to ONNX's own set: those have no definition in any version, or in older ones
            own = not domain and operators.schema_of(node.op_type, domain, operators.MAX_OPSET) is not None
            is_there = not own or schema is not None or node.op_type in EVERYWHERE
            if (domain, node.op_type) in IMPORTERS and is_there:
                return None
            if schema is not None and (
                node.op_type in CONTROL_FLOW.keys() | OPERATORS or operators.has_definition(schema)
            ):
                return None
        return operators.unsupported(name, node.op_type, domain, opset)

    # Bodies

    def body(self, nodes: Sequence[NodeProto], outputs: Sequence[str], scope: Scope) -> None:
        """Import the nodes that the outputs depend on."""
        order, _ = ordered(nodes)
        positions, read = needed(nodes, order, outputs)
        for position in positions:
            self.imported += 1
            if self.imported > self.max_nodes + len(self.model.proto.graph.node):
                what, fix = f"functions expand to more than {self.max_nodes:,} nodes", "allow more with --max-nodes N"
                raise _TooManyNodes("too-large", what, "each call is compiled by itself", fix)
            node = nodes[position]
            prefix = scope.prefix if node.name else scope.branch or scope.prefix
            name = scope.only_name or prefix + node_name(node, position)
            outputs_read = [output if output in read else "" for output in node.output]
            for output, value in zip(outputs_read, self._node(node, name, outputs_read, scope), strict=True):
                if output:
                    scope.values[output] = value
                    name_value(value, output)
                    if scope is self.top:
                        self._compare(output, value, Problem("contradicted-shape", "", node=name, op_type=node.op_type))

    def _compare(self, output: str, value: Value, place: Problem) -> None:
        """Note where a value has another shape than the model declares."""
        declared = self.declared.get(output)
        if isinstance(value, SSAValue) and contradicts(declared, shape_of(value)):
            what = f"the model declares {output!r} as {shape_text(declared)}"
            why = f"it is computed as {list(shape_of(value))}"
            self.contradictions.append(replace(place, what=what, why=why))

    def _node(self, node: NodeProto, name: str, outputs: Sequence[str], scope: Scope) -> Sequence[Value]:
        """The values of a node's outputs, those that are read; what goes wrong is noted, and all are poisoned."""
        inputs = [self.lookup(name, scope) for name in node.input]
        operands = [value for value in inputs if not isinstance(value, Poison)]
        poisoned: list[Value] = [POISON] * len(outputs)
        problem = self._unknown(node, name, scope.sets) or text_read(node, name, self.text if scope is self.top else ())
        if problem is not None:
            self.problems.append(problem)
            return poisoned
        if len(operands) < len(inputs):
            return poisoned
        try:
            values = [*self._dispatch(node, name, operands, outputs, scope), *[None] * len(outputs)][: len(outputs)]
        except (FileError, OutOfMemoryError, _TooManyNodes):
            raise
        except AotcError as error:
            self.problems += error.problems
        except (ShapeError, TensorError) as error:
            self.problems.append(Problem("invalid-node", str(error), node=name, op_type=node.op_type))
        except OSError as error:
            raise FileError("unusable-file", str(error), node=name, op_type=node.op_type) from error
        except MemoryError as error:
            what = "there is not enough memory to import it"
            raise OutOfMemoryError("out-of-memory", what, str(error), node=name, op_type=node.op_type) from error
        except Exception as error:
            logger.debug("importing %s (%s)", name, node.op_type, exc_info=True)
            if (problem := extensions.problem_of(error)) is None:
                what, fix = "the node cannot be imported", "its attributes or inputs may be malformed"
                problem = Problem("invalid-node", what, extensions.describe(error), fix)
            self.problems.append(replace(problem, node=name, op_type=node.op_type))
        else:
            missing = [output for output, value in zip(outputs, values, strict=True) if output and value is None]
            if not missing:
                return values
            what = f"its output {', '.join(map(repr, missing))} is not supported"
            self.problems.append(Problem("unsupported-output", what, node=name, op_type=node.op_type))
        return poisoned

    def _dispatch(
        self,
        node: NodeProto,
        name: str,
        inputs: Sequence[Given],
        outputs: Sequence[str],
        scope: Scope,
    ) -> Sequence[Value]:
        """Give the node its meaning: a function of the model, a branch, an importer, or the ONNX definition."""
        domain = operators.domain_of(node.domain)
        if (function := self.functions.get(called_function(node))) is not None:
            return self._function(function, node, name, inputs)
        opset = scope.sets[domain]
        # A definition by ONNX may be of an operator set that allows an operator fewer types than what it defines.
        newest = operators.MAX_OPSET if scope.only_name else opset
        tensors = [value if isinstance(value, SSAValue) else None for value in inputs]
        if not domain and (node.op_type in OPERATORS or any(isinstance(value, Items) for value in inputs)):
            if not any(subgraphs(node)):
                return [apply(self._checked(node, name, tensors, outputs, opset), inputs)]
        elif mismatch := type_mismatch(node.op_type, domain, newest, tensors):
            raise CompileError("invalid-type", mismatch, node=name, op_type=node.op_type)
        bounds = [None if value is None else self.bounds.get(value) for value in tensors]
        if not domain and next(subgraphs(node), None) is not None and (found := [each for each in bounds if each]):
            refuse(self._checked(node, name, tensors, outputs, opset), found)
        if node.op_type in CONTROL_FLOW and not domain:
            return CONTROL_FLOW[node.op_type](self, node, name, inputs, scope, opset).values()
        if (importer := IMPORTERS.get((domain, node.op_type))) is not None:
            checked = self._checked(node, name, tensors, outputs, opset)
            return self._of_parts(importer, checked, bounds) if any(bounds) else listed(importer(checked))
        return self._definition(node, name, inputs, scope.sets)

    def _of_parts(self, importer: Importer, node: Node, bounds: Sequence[Bound | None]) -> Sequence[Value]:
        """The values of a node that reads some with data-dependent extents."""
        given = list(node.inputs)
        bounded = None if node.domain else BOUNDED.get(node.op_type)
        try:
            if bounded is not None and (whole := bounded(node, bounds)) is not None:
                return whole
            found = listed(importer(node))
        except CompileError as error:
            if wrong := [each for each in error.problems if each.id in ("invalid-shape", "invalid-value")]:
                node.inputs = given
                misfit(node, bounds, wrong[0])
            raise
        results = [value for value in found if value is not None]
        if (bound := carry(node, bounds, results)) is not None:
            self.bounds.update(dict.fromkeys(results, bound))
        return found

    def _checked(
        self, node: NodeProto, name: str, inputs: Sequence[SSAValue | None], outputs: Sequence[str], opset: int
    ) -> Node:
        """A node as importers see it."""
        return Node(
            name=name,
            op_type=node.op_type,
            domain=operators.domain_of(node.domain),
            opset=opset,
            inputs=list(inputs),
            outputs=list(outputs),
            attributes={each.name: attribute_value(each, self.model.folder) for each in node.attribute},
            builder=self.builder,
            store=self.store,
            location=location(name),
            bounds=self.bounds,
            names=self.given,
            notes=self.notes,
        )

    def _function(
        self, function: FunctionProto, node: NodeProto, name: str, inputs: Sequence[Given]
    ) -> Sequence[Value]:
        """The body of a function of the model, in place."""
        sets = operators.operator_sets(function.opset_import)
        bound = {attribute.name: attribute for attribute in (*function.attribute_proto, *node.attribute)}
        nodes = [operators.bind_attributes(inner, bound) for inner in function.node]
        scope = Scope(sets, self.block, f"{name}/")
        problems = [
            problem
            for position, inner in enumerate(nodes)
            if called_function(inner) not in self.functions
            and (problem := check_node(inner, f"{name}/{node_name(inner, position)}", sets)) is not None
        ]
        if problems:
            raise CompileError(problems)
        return self._expand(function, nodes, inputs, scope)

    def _definition(
        self, node: NodeProto, name: str, inputs: Sequence[Given], sets: operators.OperatorSets
    ) -> Sequence[Value]:
        """The body of the function that ONNX defines the operator by, in place.

        A body that names no version of an operator set has that of the node's.
        """
        domain = operators.domain_of(node.domain)
        opset = sets[domain]
        schema = operators.schema_of(node.op_type, domain, opset)
        types = [type_bytes(value) for value in inputs]
        function = None if schema is None else operators.definition(schema, node, opset, types)
        if schema is None or function is None:
            raise CompileError(operators.unsupported(name, node.op_type, domain, opset))
        bound = {
            attribute.name: attribute.default_value
            for attribute in schema.attributes.values()
            if attribute.default_value.type != AttributeProto.UNDEFINED
        }
        bound |= {attribute.name: attribute for attribute in node.attribute}
        nodes = [operators.bind_attributes(inner, bound) for inner in function.node]
        mark = len(self.problems)
        values = self._expand(
            function,
            nodes,
            inputs,
            Scope({**sets, **operators.imported_sets(function.opset_import)}, self.block, only_name=name),
        )
        # The nodes inside have no names of their own: the first problem stands for all.
        for problem in self.problems[mark : mark + 1]:
            why = f"ONNX defines {node.op_type} by {problem.op_type}"
            self.problems[mark:] = [replace(problem, op_type=node.op_type, why=problem.why or why)]
        return values

    def _expand(
        self, function: FunctionProto, nodes: Sequence[NodeProto], inputs: Sequence[Given], scope: Scope
    ) -> Sequence[Value]:
        formal = dict.fromkeys(function.input)
        scope.values.update(formal)
        scope.values.update(zip(formal, inputs, strict=False))
        self.body(nodes, function.output, scope)
        return [self.lookup(output, scope) for output in function.output]

    # Values

    def lookup(self, name: str, scope: Scope) -> Value:
        """The value that `name` stands for; an initializer becomes a constant when it is first read."""
        if not name:
            return None
        if name in scope.values:
            return scope.values[name]
        if name in scope.tensors:
            value = self._initializer(scope.tensors[name], scope)
            return scope.values.setdefault(name, value)
        if scope.outer is None:
            return None  # only an output that the producing node leaves out is not there: names were checked
        value = self.lookup(name, scope.outer)
        inside = captured(value, scope)
        if isinstance(value, SSAValue) and isinstance(inside, SSAValue) and (bound := self.bounds.get(value)):
            count = captured(bound.count, scope)
            assert isinstance(count, SSAValue)
            self.bounds[inside] = replace(bound, count=count)
        return inside

    def _initializer(self, tensor: TensorProto, scope: Scope) -> Value:
        payload = self.model.payloads.get(tensor.name) if scope.outer is None else None
        try:
            is_text = tensor.name in self.text and scope.outer is None
            array = places_of(tensor) if is_text else read_tensor(tensor, self.model.folder, payload)
        except TensorError as error:
            self.problems.append(Problem("invalid-data", str(error), node=f"initializer {tensor.name!r}"))
            return POISON
        except OSError as error:
            raise FileError("unusable-file", str(error), node=f"initializer {tensor.name!r}") from error
        # What reads it may be in a region, where the constants of bodies around it cannot be.
        builder = self.builder if scope.block is self.block else Builder(InsertPoint.at_end(scope.block))
        value = builder.insert(constant_op(array, tensor.name, self.store)).result
        name_value(value, tensor.name)
        return value


def _tensor(name: str, value: SSAValue) -> Argument:
    return Argument(name=name, dtype=dtype_name(element_type_of(value)))
