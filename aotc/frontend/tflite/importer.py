"""From a checked .tflite model to the `import` phase: one function of graph operations on tensors of static shape.

An operator that cannot be imported is noted and its outputs poisoned, so that one run finds every such operator.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot.contract import ENTRY, Argument, model_module, set_arguments, set_results
from aotc.dialects.constants import constant_op
from aotc.dialects.dtypes import dtype_name, element_type
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.dialects.graph.structure import YieldOp
from aotc.errors import AotcError, CompileError, InternalError, OutOfMemoryError, Problem, gathered, warn
from aotc.frontend.emitter import Tensor, erase_unused, location, name_value
from aotc.frontend.tflite import file
from aotc.frontend.tflite.node import Calls, First, Handle, Node, Value
from aotc.frontend.tflite.registry import IMPORTERS, MOVING, REMEMBERING, Result, load_importers
from aotc.frontend.tflite.states import States
from aotc.model import extensions
from aotc.model.limits import MOST_EXPANDED
from aotc.model.naming import c_identifier, distinct_names
from aotc.model.weight_store import Array, WeightStore

logger = logging.getLogger(__name__)


def import_model(model: file.Model, ctx: Context, *, name: str | None = None, real: bool = False) -> builtin.ModuleOp:
    """The module of the `import` phase; constants go to the WeightStore of `ctx`.

    `name` (else the file's) becomes the C identifier `aot.name`. Quantised operators compute as TFLite's reference
    kernels, or where they are to be `real` with the numbers that integers stand for, and are raised as those of ONNX
    models are. Raises CompileError with every problem found.
    """
    load_importers()
    return _Importer(model, WeightStore.of(ctx), real=real).module(name or model.name)


def summarize(model: file.Model) -> dict[str, Any]:
    """A model as it is in its file, as plain data: name, inputs, outputs, operators, sizes in bytes."""
    graph = model.graphs[0]
    constants = {id(each.data): each for one in model.graphs for each in one.tensors if each.data is not None}
    return {
        "name": model.name,
        "producer": model.description,
        "inputs": [_tensor(graph.tensors[place]) for place in graph.inputs],
        "outputs": [_tensor(graph.tensors[place]) for place in graph.outputs],
        "operators": dict(sorted(Counter(each.code for one in model.graphs for each in one.operators).items())),
        "functions": [one.name for one in model.graphs[1:]],
        "parameters": sum(math.prod(each.shape) for each in constants.values()),
        "weights_bytes": sum(each.data.size for each in constants.values() if each.data is not None),
    }


def _tensor(tensor: file.Tensor) -> dict[str, Any]:
    return {"name": tensor.name, "dtype": tensor.dtype or tensor.kind.lower(), "shape": list(tensor.shape)}


def names_of(model: file.Model) -> tuple[list[str], list[str]]:
    """The names of inputs and of outputs, each once."""
    graph = model.graphs[0]
    given = [graph.tensors[place].name or f"tensor_{place}" for place in (*graph.inputs, *graph.outputs)]
    distinct = distinct_names(given)
    return distinct[: len(graph.inputs)], distinct[len(graph.inputs) :]


class _Importer(Calls):
    """The import of one model."""

    def __init__(self, model: file.Model, store: WeightStore, *, real: bool) -> None:
        self.model, self.store, self.real = model, store, real
        store.given = model.size
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self.graph = model.graphs[0]
        self.values: dict[int, Value | None] = {}
        """By the number of the tensor; None of an operator that could not be imported."""
        self.states = States(self.block)
        self.active = [0]
        """The subgraphs that are imported, each called by the one before it."""
        self.imported = 0
        """Operators that have been imported."""

    def module(self, name: str) -> builtin.ModuleOp:
        """The whole model as a module."""
        inputs, outputs = names_of(self.model)
        arguments = [self._argument(place, given) for place, given in zip(self.graph.inputs, inputs, strict=True)]
        found = self._outputs()
        for variable in self.states.mismatched():
            what = f"the variable {variable!r} is written with another type or shape than it is read with"
            self.problems.append(Problem("contradicted-type", what, fix="make the model again"))
        if self.problems:
            raise CompileError(gathered(self.problems))
        for problem in self.notes:
            warn(problem)
        results = [value for value in found if value is not None]
        self.builder.insert(end := ReturnOp(*results))
        more, following, declared_next = self.states.finish([*inputs, *outputs], self.store)
        end.operands = results = [*end.operands, *following]
        erase_unused(self.block)
        kind = builtin.FunctionType.from_lists(self.block.arg_types, [value.type for value in results])
        function = FuncOp("main", kind, Region(self.block))
        set_arguments(function, [*arguments, *more])
        declared = [
            self._described(given, self.graph.tensors[place])
            for given, place in zip(outputs, self.graph.outputs, strict=True)
        ]
        set_results(function, [*declared, *declared_next])
        ENTRY.set(function)
        return model_module([function], c_identifier(name))

    def _outputs(self) -> list[SSAValue | None]:
        """Import the operators of the graph; its outputs."""
        for place, operator in enumerate(self.graph.operators):
            self._operator(operator, place)
        return [self._output(place) for place in self.graph.outputs]

    # --- subgraphs ----------------------------------------------------------------------------------------------------

    def called(self, node: Node, index: int, given: Sequence[SSAValue]) -> list[SSAValue] | None:
        """The outputs of a subgraph, computed where the import is."""
        count = len(self.model.graphs)
        node.require(0 < index < count, "invalid-model", f"it calls subgraph {index} of {count}")
        node.require(index not in self.active, "invalid-model", f"subgraph {index} calls itself")
        graph = self.model.graphs[index]
        kinds = [
            TensorType(element_type(each.dtype), each.shape) for each in map(graph.tensors.__getitem__, graph.inputs)
        ]
        fits = kinds == [value.type for value in given]
        node.require(fits, "invalid-model", f"subgraph {index} has inputs of other types than it is called with")
        outer = self.graph, self.values
        self.graph, self.values = graph, {}
        self.active.append(index)
        for place, value in zip(graph.inputs, given, strict=True):
            self.values[place] = Value(graph.tensors[place], value)
        try:
            found = self._outputs()
        finally:
            self.graph, self.values = outer
            self.active.pop()
        results = [value for value in found if value is not None]
        return results if len(results) == len(found) else None

    def region(
        self, kinds: Sequence[Attribute], fill: Callable[[list[SSAValue]], list[SSAValue] | None]
    ) -> Region | None:
        """A region with arguments of these types, and what `fill` computes of them yielded."""
        block = Block(arg_types=kinds)
        outer = self.block, self.builder, self.decides
        self.block, self.builder, self.decides = block, Builder(InsertPoint.at_end(block)), True
        try:
            results = fill(list(block.args))
        finally:
            self.block, self.builder, self.decides = outer
        if results is None:
            return None
        block.add_op(YieldOp(results))
        erase_unused(block)
        return Region(block)

    def beginning(self, node: Node, index: int) -> None:
        """Give variables the first values that a subgraph writes."""
        node.require(not self.decides, "unsupported-operator", "it is called in a subgraph that may not run")
        outer, self.begins = self.begins, True
        try:
            self.called(node, index, [])
        finally:
            self.begins = outer

    # --- values -------------------------------------------------------------------------------------------------------

    def _argument(self, place: int, name: str) -> Argument:
        """Make an input an argument of the block."""
        tensor = self.graph.tensors[place]
        if not tensor.dtype or tensor.kind in file.PACKED:
            what = f"input {name!r} has elements of type {tensor.kind}"
            self.problems.append(Problem("unsupported-type", what))
            self.values[place] = None
            return Argument(name=name, dtype="float32")
        if 0 in tensor.shape:
            self.problems.append(Problem("empty-input", f"input {name!r} has no elements", f"{list(tensor.shape)}"))
        argument = self.block.insert_arg(TensorType(element_type(tensor.dtype), tensor.shape), len(self.block.args))
        name_value(argument, name)
        self.values[place] = Value(tensor, argument)
        return self._described(name, tensor)

    def _described(self, name: str, tensor: file.Tensor) -> Argument:
        found = Argument(name=name, dtype=tensor.dtype)
        if (numbers := tensor.quantization) is not None and numbers.is_single:
            found.scale, found.zero_point = float(numbers.scales.item()), int(numbers.zero_points.item())
        return found

    def _output(self, place: int) -> SSAValue | None:
        """The value of an output; None where a problem says why there is none."""
        value = self._value(place)
        if value is None:
            if place not in self.values:
                what = f"output {self.graph.tensors[place].name!r} is computed by no operator"
                self.problems.append(Problem("invalid-model", what, fix="make or download the model again"))
            return None
        if value.handle is not None:
            what, fix = f"output {self.graph.tensors[place].name!r} is a variable", "let its value be the output"
            self.problems.append(Problem("unsupported-type", what, fix=fix))
            return None
        return self._node(None, "", place, [value]).input(0)

    def _value(self, place: int) -> Value | None:
        """A tensor of the model; None where it is not there (yet), or could not be imported."""
        tensor = self.graph.tensors[place]
        if place not in self.values and tensor.is_variable and tensor.dtype and tensor.data is None:
            return Value(tensor, is_memory=True)  # anew each time: operators change it
        if place not in self.values and tensor.data is not None and tensor.dtype:
            known = self._known(tensor)
            self.values[place] = Value(tensor, known=known, constant=lambda array: self._constant(array, tensor))
        return self.values.get(place)

    def _known(self, tensor: file.Tensor) -> Array | None:
        if tensor.sparsity is not None:
            self.store.count_computed(math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize, tensor.name)
        try:
            return tensor.array()
        except ValueError as error:
            what, fix = f"the sparse tensor {tensor.name!r} is damaged", "make or download the model again"
            raise CompileError("not-a-model", what, str(error), fix) from error

    def _constant(self, array: Array, tensor: file.Tensor) -> SSAValue:
        op = constant_op(np.ascontiguousarray(array).reshape(array.shape), tensor.name, self.store)
        value = self.builder.insert(op).result
        name_value(value, tensor.name)
        return value

    def _node(self, operator: file.Operator | None, name: str, place: int, inputs: Sequence[Value | None]) -> Node:
        outputs = (place,) if operator is None else operator.outputs
        results = [self.graph.tensors[each] for each in outputs if each >= 0]
        return Node(
            name=name or results[0].name,
            op_type="" if operator is None else operator.code,
            outputs=[each.name for each in results] or [""],
            builder=self.builder,
            store=self.store,
            location=location(name or results[0].name),
            notes=self.notes,
            inputs=list(inputs),
            results=results,
            options=None if operator is None else operator.options,
            custom_options=b"" if operator is None else operator.custom_options,
            calls=self,
            real=self.real and operator is not None and operator.code not in MOVING,
        )

    def _operator(self, operator: file.Operator, place: int) -> None:
        """Import an operator; what goes wrong is noted, and its outputs are poisoned."""
        outputs = [each for each in operator.outputs if each >= 0]
        first = self.graph.tensors[outputs[0]].name.partition(";")[0] if outputs else ""
        name = first or f"{operator.code.lower()}_{place}"
        if len(self.active) > 1:
            name = f"{self.graph.name or f'subgraph_{self.active[-1]}'}/{name}"
        self.imported += 1
        if self.imported > MOST_EXPANDED + len(self.model.graphs[0].operators):
            what = f"subgraphs expand to more than {MOST_EXPANDED:,} operators"
            raise CompileError("too-large", what, "each call is compiled by itself", "", name, operator.code)
        try:
            given = [None if each < 0 else self._value(each) for each in operator.inputs]
        except CompileError as error:
            self.problems += [replace(each, node=name, op_type=operator.code) for each in error.problems]
            self.values.update(dict.fromkeys(outputs))
            return
        found = self._unsupported(operator, outputs)
        is_poisoned = any(each >= 0 and self._value(each) is None for each in operator.inputs)
        self.values.update(dict.fromkeys(outputs))
        if found is not None:
            self.problems.append(replace(found, node=name, op_type=operator.code))
        if found is not None or is_poisoned:
            return
        try:
            node = self._node(operator, name, place, given)
            made = IMPORTERS[operator.code](node)
            values = list(made) if isinstance(made, Sequence) else [made]
            node.require_outputs(len(values))
            for each, tensor, value in zip(outputs, node.results, values, strict=True):
                self.values[each] = None if value is None else self._result(node, tensor, value)
        except (InternalError, OutOfMemoryError):
            raise
        except AotcError as error:
            self.problems += [
                replace(each, node=each.node or name, op_type=each.op_type or operator.code) for each in error.problems
            ]
        except ShapeError as error:
            self.problems.append(Problem("invalid-node", str(error), node=name, op_type=operator.code))
        except MemoryError as error:
            what = "there is not enough memory to import it"
            raise OutOfMemoryError("out-of-memory", what, str(error), node=name, op_type=operator.code) from error
        except Exception as error:
            logger.debug("importing %s (%s)", name, operator.code, exc_info=True)
            if (problem := extensions.problem_of(error)) is None:
                raise extensions.internal_error(error, f"the import of {name!r} ({operator.code})") from error
            self.problems.append(replace(problem, node=name, op_type=operator.code))

    def _unsupported(self, operator: file.Operator, outputs: Sequence[int]) -> Problem | None:
        """The problem of an operator that nothing gives a meaning to, or of a tensor of it."""
        if operator.code not in IMPORTERS:
            what, fix = "the operator is not supported", "compute it outside of the model"
            if operator.is_custom:
                what = "the custom operator is not supported"
                fix = "install a package with an importer of it (entry point aotc.tflite_importers)"
            return Problem("unsupported-operator", what, fix=fix)
        remembers = operator.code in REMEMBERING
        if not outputs and not remembers:
            return Problem("invalid-model", "it has no output", fix="make or download the model again")
        for place in (*operator.inputs, *outputs):
            if place >= 0 and not (tensor := self.graph.tensors[place]).dtype:
                if remembers and tensor.kind == "RESOURCE":
                    continue
                what = f"the tensor {tensor.name!r} has elements of type {tensor.kind}"
                return Problem("unsupported-type", what, "there are no kernels for them")
        for place in operator.inputs:
            if place >= 0 and self._value(place) is None and place not in self.values:
                what = f"it reads the tensor {self.graph.tensors[place].name!r}, which no operator before it computes"
                return Problem("invalid-model", what, fix="make or download the model again")
        return None

    def _result(self, node: Node, tensor: file.Tensor, made: Result) -> Value:
        """An output of an operator; quantised again where the operator was given real numbers."""
        if isinstance(made, Handle):
            return Value(tensor, handle=made)
        is_first = isinstance(made, First)
        value = made.value if isinstance(made, First) else made
        value = value.value if isinstance(value, Tensor) else value
        assert value is not None
        if node.real and tensor.quantization is not None and tensor.dtype != "float32":
            scale, point = node.quantization(tensor)
            given = node.constant(np.asarray(scale)), node.constant(np.array(point, tensor.dtype))
            value = node.emit("quantize", value, *given, axis=0, block_size=0, to=element_type(tensor.dtype))
        shape = shape_of(value)
        shape = tuple(shape[axis] for axis in (0, 2, 3, 1)) if is_first else shape
        if shape != tensor.shape or element_type_of(value) != element_type(tensor.dtype):
            what = f"the model declares {tensor.name!r} as {tensor.dtype} {list(tensor.shape)}"
            why = f"it is computed as {dtype_name(element_type_of(value))} {list(shape)}"
            raise CompileError("contradicted-type", what, why, "make the model again", node.name, node.op_type)
        name_value(value, tensor.name)
        return Value(tensor, first=value) if is_first else Value(tensor, last=value)
