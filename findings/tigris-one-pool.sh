#!/bin/sh
# tigris-ml: a single budget is that of the fast memory; a slow one without an end is taken to be there.
#
# Guess before: `tigris analyze -m 8K` is for a chip with 8 KiB of RAM; a second memory would be `-m 8K+4M`.
# Seen (tigris-ml 0.12.1): two convolutions of 3 x 3 with 8 channels on an int8 picture of 64 x 64, and a global average,
# take 64 KiB layer by layer, and "fit 8.00 KiB fast memory" in tiles. The pictures between them are in a slow memory:
# its peak in the report is 36 KiB, its budget 0, and `fits` is true. With `-m 8K+16K` the verdict is "needs_work".
# A plan that needs no slow memory but for input and output is one whose verdict is "ok", from 64 KiB on.
# To know: compare TiGrIS by the sum of both peaks; the budget alone is not the RAM of the chip.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tigris-ml==0.12.1 onnx==1.23.2 numpy==2.4.6
cat > "$folder/pools.py" <<'END'
import json
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

folder = sys.argv[1]
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (int8[1, 1, 64, 64] x) => (int8[1, 8, 1, 1] y)
      <float s = {0.1}, int8 z = {0}, int8[8, 1, 3, 3] v, int8[8, 8, 3, 3] w> {
        i = DequantizeLinear(v, s, z) k = DequantizeLinear(w, s, z)
        a = DequantizeLinear(x, s, z) b = Conv<pads = [1, 1, 1, 1]>(a, i) c = QuantizeLinear(b, s, z)
        d = DequantizeLinear(c, s, z) e = Conv<pads = [1, 1, 1, 1]>(d, k) f = QuantizeLinear(e, s, z)
        l = DequantizeLinear(f, s, z) m = AveragePool<kernel_shape = [64, 64]>(l) y = QuantizeLinear(m, s, z) }""")
model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 1, 3, 3), np.int8), "v"))
model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 8, 3, 3), np.int8), "w"))
model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, f"{folder}/m.onnx")
for memory in ("8K", "8K+16K", "64K"):
    done = subprocess.run([f"{folder}/venv/bin/tigris", "analyze", "--json", "-m", memory, f"{folder}/m.onnx"],
                          check=False, capture_output=True, text=True)
    found = json.loads(done.stdout)
    slow = found["slow"]
    print(memory, found["fast"]["verdict"], "slow:", slow["budget_bytes"], slow["peak_bytes"], slow["fits"])
END
"$folder/venv/bin/python" "$folder/pools.py" "$folder" > "$folder/seen"
cat "$folder/seen"
diff - "$folder/seen" <<'END'
8K tiled slow: 0 36864 True
8K+16K needs_work slow: 16384 36864 False
64K ok slow: 0 4128 True
END
echo "as described"
