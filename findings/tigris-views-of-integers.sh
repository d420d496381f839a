#!/bin/sh
# tigris-ml: where a view stands beside QuantizeLinear decides whether an int8 model is read.
#
# Guess before: a Reshape or Flatten moves no element, so it may stand on either side of QuantizeLinear, or between
# DequantizeLinear and Gemm; int8 models of MLPerf Tiny, converted to ONNX, are read.
# Seen (tigris-ml 0.12.1, onnx 1.23.2): an average pool, a view and a product, equal in all results by onnx.reference.
# With the view between a DequantizeLinear and a QuantizeLinear of its own, as torch's exporters write it after
# quantisation, there is a plan. With the view on the integers, as tf2onnx writes it, `tigris analyze` ends in a KeyError
# with the name of the tensor. With the view between DequantizeLinear and Gemm it refuses: Flatten reads int8 and writes
# float32.
# To know: a model that TiGrIS cannot read may only need its views wrapped in a pair of their own.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tigris-ml==0.12.1 onnx==1.23.2 numpy==2.4.6
cat > "$folder/views.py" <<'END'
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ON_INTEGERS = "r = Flatten(p) f = DequantizeLinear(r, s, z)"
BEFORE_THE_PRODUCT = "d = DequantizeLinear(p, s, z) f = Flatten(d)"
IN_A_PAIR = "d = DequantizeLinear(p, s, z) v = Flatten(d) r = QuantizeLinear(v, s, z) f = DequantizeLinear(r, s, z)"
folder, found = sys.argv[1], []
given = np.random.default_rng(0).integers(-128, 128, (1, 4, 8, 8), np.int8)
for name, view in (("pair", IN_A_PAIR), ("integers", ON_INTEGERS), ("before", BEFORE_THE_PRODUCT)):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 19]>
        g (int8[1, 4, 8, 8] x) => (int8[1, 3] y) <float s = {{0.1}}, int8 z = {{0}}, int8[3, 4] w> {{
            a = DequantizeLinear(x, s, z) b = AveragePool<kernel_shape = [8, 8]>(a) p = QuantizeLinear(b, s, z)
            {view} k = DequantizeLinear(w, s, z) c = Gemm<transB = 1>(f, k) y = QuantizeLinear(c, s, z) }}""")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(12, dtype=np.int8).reshape(3, 4), "w"))
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model, full_check=True)
    found += ReferenceEvaluator(model).run(None, {"x": given})
    onnx.save(model, f"{folder}/{name}.onnx")
    done = subprocess.run([f"{folder}/venv/bin/tigris", "analyze", "-m", "16K", f"{folder}/{name}.onnx"],
                          capture_output=True, text=True)
    told = (done.stdout + done.stderr).splitlines()
    print(name, next(each for each in told if each.startswith(("fits", "cannot", "KeyError"))), sep=": ")
print("results are equal:", all(map(np.array_equal, found, found[1:])))
END
"$folder/venv/bin/python" "$folder/views.py" "$folder" > "$folder/seen"
cat "$folder/seen"
diff - "$folder/seen" <<'END'
pair: fits 16.00 KiB fast memory, 1 stage
integers: KeyError: 'p'
before: cannot compile: Flatten reads int8 and writes float32; it has to keep the dtype
results are equal: True
END
echo "as described"
