"""Leaving the first QUANTIZE and the last DEQUANTIZE of a model to its caller."""

from dataclasses import replace

from aotc.frontend.tflite.file import Graph, Model, Operator


def leave_quantization(model: Model) -> Model:
    """The model whose inputs are integers where a QUANTIZE is all that reads them, and whose outputs are what a
    DEQUANTIZE makes them of; their names stay."""
    graph, *others = model.graphs
    for place in graph.inputs:
        readers = [each for each in graph.operators if place in each.inputs]
        if [each.code for each in readers] == ["QUANTIZE"] and place not in graph.outputs:
            graph = _exchanged(graph, readers[0], place, readers[0].outputs[0])
    for place in graph.outputs:
        makers = [each for each in graph.operators if place in each.outputs and each.code == "DEQUANTIZE"]
        if len(makers) == 1 and (given := makers[0].inputs[0]) not in (*graph.inputs, *graph.outputs):
            is_read = any(place in each.inputs for each in graph.operators)
            graph = _exchanged(graph, None if is_read else makers[0], place, given)
    return replace(model, graphs=(graph, *others))


def _exchanged(graph: Graph, gone: Operator | None, place: int, other: int) -> Graph:
    """The graph with another tensor as input or output, under the name that it had, without an operator."""
    tensors = list(graph.tensors)
    tensors[other] = replace(tensors[other], name=tensors[place].name)
    ends = [tuple(other if each == place else each for each in some) for some in (graph.inputs, graph.outputs)]
    operators = tuple(each for each in graph.operators if each is not gone)
    return replace(graph, tensors=tuple(tensors), operators=operators, inputs=ends[0], outputs=ends[1])
