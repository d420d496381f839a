#!/bin/sh
# One int8 fully connected layer, x times a factor, has four results in four interpreters of TensorFlow Lite.
#
# Guess before: one rule, at most a difference at exact ties (x.5), as gemmlowp's papers describe it.
# Seen (tflite-micro 0.dev20261023182759; ai-edge-litert 2.3.0: reference kernels, its own without a delegate, XNNPACK):
# 1 x 0.25 is 1 0 1 0; 127 x 0.2 = 25.4 is 26 25 26 25; -3 x 0.25 = -0.75 is -1 -1 0 -1; 5 x 0.5 is 3 3 3 2;
# -5 x 0.5 is -2 -3 -2 -2. TFLite Micro rounds twice, after the product (ties up) and after the shift (ties away from
# 0), LiteRT's reference once, ties away from 0, its optimised kernels twice, both ties up, XNNPACK once, ties to even.
# To know: results of an int8 model are bits of one interpreter; the errors of two roundings are not only at ties.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ai-edge-litert==2.3.0 tflite-micro==0.dev20261023182759 flatbuffers numpy
"$folder/venv/bin/python" - 2>/dev/null <<'END'
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_micro import runtime


def tensor(name, shape, scale, buffer):
    made = schema.TensorT()
    made.name, made.shape, made.type, made.buffer = name, shape, schema.TensorType.INT8, buffer
    made.quantization = schema.QuantizationParametersT()
    made.quantization.scale, made.quantization.zeroPoint = [scale], [0]
    return made


def model(factor):
    """x times 1, whose scale is the factor."""
    made, graph, node, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    weights = schema.BufferT()
    weights.data = np.array([1], np.uint8)
    made.version, made.subgraphs, made.operatorCodes, made.buffers = 3, [graph], [code], [schema.BufferT(), weights]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FULLY_CONNECTED
    graph.tensors = [tensor("x", [1, 1], 1.0, 0), tensor("w", [1, 1], factor, 1), tensor("y", [1, 1], 1.0, 0)]
    graph.inputs, graph.outputs, graph.operators = [0], [2], [node]
    node.inputs, node.outputs, node.builtinOptions = [0, 1, -1], [2], schema.FullyConnectedOptionsT()
    node.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def micro(data, x):
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
    interpreter.set_input(x, 0)
    interpreter.invoke()
    return interpreter.get_output(0).item()


def lite(data, x, kind):
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kind, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).item()


KINDS = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO)
SEEN = {
    (1, 0.25): [1, 0, 1, 0], (127, 0.2): [26, 25, 26, 25], (-3, 0.25): [-1, -1, 0, -1], (5, 0.5): [3, 3, 3, 2],
    (-5, 0.5): [-2, -3, -2, -2],
}
found = {}
for (number, factor) in SEEN:
    data, x = model(factor), np.array([[number]], np.int8)
    found[number, factor] = [micro(data, x), *(lite(data, x, kind) for kind in KINDS)]
print({f"{number} x {factor}": each for (number, factor), each in found.items()})
assert found == SEEN, "the rules changed"
END
