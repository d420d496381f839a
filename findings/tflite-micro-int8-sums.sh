#!/bin/sh
# TFLite Micro: int8 ADD_N and CUMSUM subtract the zero point once too often, and DIV makes 1 of 0 / 4.
#
# Guess before: ADD_N as several ADDs, CUMSUM as its sums, each within one unit of the real result; DIV within one unit.
# Seen (tflite-micro 0.dev20261023182759): with scale 1 and zero point 10 of inputs and output the sum of two zeros, 10
# and 10, is 0, which stands for -10; CUMSUM of three zeros is 0, 0, 0 in the place of 10, 10, 10. DIV with scales 1 and
# zero points 0: 0 / 4 is 1, 1 / 8 is 127, -1 / 8 is -128. The sums begin with 0 less the zero point, scaled; DIV shifts
# right by 32 and more, which C leaves open, and x86 takes by its low 5 bits.
# To know: who wants the interpreter's bits must begin sums so, and cannot have DIV's, which differ from one processor
# to another.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ai-edge-litert==2.3.0 tflite-micro==0.dev20261023182759 flatbuffers numpy
"$folder/venv/bin/python" - 2>/dev/null <<'END'
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from tflite_micro import runtime


def tensor(name, shape, zero, kind=schema.TensorType.INT8, buffer=0):
    made = schema.TensorT()
    made.name, made.shape, made.type, made.buffer = name, shape, kind, buffer
    if kind == schema.TensorType.INT8:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale, made.quantization.zeroPoint = [1.0], [zero]
    return made


def run(name, inputs, zero, axis=False):
    """One node on inputs of one shape; with an axis 0 behind them."""
    made, graph, node, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    known = schema.BufferT()
    known.data = np.zeros(4, np.uint8)
    made.version, made.subgraphs, made.operatorCodes, made.buffers = 3, [graph], [code], [schema.BufferT(), known]
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    shape, count = list(inputs[0].shape), len(inputs)
    graph.tensors = [tensor(f"x{k}", shape, zero) for k in range(count)]
    if axis:
        graph.tensors.append(tensor("axis", [1], 0, schema.TensorType.INT32, 1))
    graph.tensors.append(tensor("y", shape, zero))
    graph.inputs, graph.outputs, graph.operators = list(range(count)), [len(graph.tensors) - 1], [node]
    node.inputs, node.outputs = list(range(len(graph.tensors) - 1)), [len(graph.tensors) - 1]
    options = {"ADD_N": "AddNOptions", "CUMSUM": "CumsumOptions", "DIV": "DivOptions"}[name]
    node.builtinOptions = getattr(schema, f"{options}T")()
    node.builtinOptionsType = getattr(schema.BuiltinOptions, options)
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    interpreter = runtime.Interpreter.from_bytes(bytes(builder.Output()), arena_size=1 << 16)
    for place, value in enumerate(inputs):
        interpreter.set_input(value, place)
    interpreter.invoke()
    return interpreter.get_output(0).tolist()


tens = np.full(3, 10, np.int8)
found = {"ADD_N": run("ADD_N", [tens, tens], 10), "CUMSUM": run("CUMSUM", [tens], 10, axis=True)}
found["DIV"] = run("DIV", [np.array([0, 1, -1], np.int8), np.array([4, 8, 8], np.int8)], 0)
print(found)
assert found["ADD_N"] == found["CUMSUM"] == [0, 0, 0], "sums of zeros were -10"
assert found["DIV"][0] == 1, "0 / 4 was 1"
END
