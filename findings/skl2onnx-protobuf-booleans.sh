#!/bin/sh
# skl2onnx: histogram gradient boosting converts or not by the version of protobuf, which neither it nor onnx pins.
#
# Guess before: what pip installs today converts every tree ensemble of scikit-learn, or refuses some by name.
# Seen (skl2onnx 1.20.0, onnx 1.23.2, scikit-learn 1.9.1): with protobuf 7.36.2, which pip takes, RandomForestRegressor
# converts and HistGradientBoostingRegressor is a ValueError "Unable to create node" that lists 15 attributes; its cause
# is the TypeError "Expected an int, got a boolean". With protobuf 6.33.0 and all else equal both convert. skl2onnx
# writes nodes_missing_value_tracks_true as booleans of Python, which protobuf took for integers until 7.
# To know: a scikit-learn model that cannot be converted may only need an older protobuf; the message does not say so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cat > "$folder/convert.py" <<'END'
import numpy as np
from skl2onnx import to_onnx
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

x = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
for model in (RandomForestRegressor(3), HistGradientBoostingRegressor(max_iter=3)):
    try:
        to_onnx(model.fit(x, x[:, 0]), x[:1])
        print(type(model).__name__, "converts")
    except ValueError as error:
        print(type(model).__name__, f"{type(error.__cause__).__name__}:", error.__cause__)
END
packages="skl2onnx==1.20.0 onnx==1.23.2 scikit-learn==1.9.1 numpy"
for protobuf in 6.33.0 7.36.2; do
    # shellcheck disable=SC2086
    "$folder/venv/bin/pip" install -q $packages "protobuf==$protobuf"
    echo "protobuf $protobuf"
    "$folder/venv/bin/python" -W ignore "$folder/convert.py"
done > "$folder/seen"
cat "$folder/seen"
diff - "$folder/seen" <<'END'
protobuf 6.33.0
RandomForestRegressor converts
HistGradientBoostingRegressor converts
protobuf 7.36.2
RandomForestRegressor converts
HistGradientBoostingRegressor TypeError: Field onnx.AttributeProto.ints: Expected an int, got a boolean.
END
echo "as described"
