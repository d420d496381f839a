#!/bin/sh
# onnxruntime 1.32.0: linear Resize of integers cuts its results off; the reference of onnx 1.23.2 rounds them.
#
# Guess before: round to nearest, as antialiased and cubic Resize of uint8 do elsewhere (OpenCV, Pillow, TFLite).
# Seen: [0, 7] times 4 is 0 0 0.875 2.625 4.375 6.125 7 7 in float32; int8, uint8 and int32 give 0 0 0 2 4 6 7 7 in
# onnxruntime and 0 0 1 3 4 6 7 7 in the reference: pictures become darker by half a step on average.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy
"$folder/venv/bin/python" - <<'END'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

scales = numpy_helper.from_array(np.array([1, 1, 1, 4], np.float32), "scales")
print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
for kind, dtype in ((TensorProto.INT8, np.int8), (TensorProto.UINT8, np.uint8), (TensorProto.INT32, np.int32)):
    x = helper.make_tensor_value_info("x", kind, [1, 1, 1, 2])
    y = helper.make_tensor_value_info("y", kind, [1, 1, 1, 8])
    graph = helper.make_graph([helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")], "g", [x], [y], [scales])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    given = {"x": np.array([[[[0, 7]]]], dtype)}
    ours = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)[0].ravel().tolist()
    reference = ReferenceEvaluator(model).run(None, given)[0].ravel().tolist()
    print(np.dtype(dtype).name, ours, reference)
    assert ours == [0, 0, 0, 2, 4, 6, 7, 7] and reference == [0, 0, 1, 3, 4, 6, 7, 7]
END
