"""Estimators and pipelines of scikit-learn, through skl2onnx; boosted trees inside of pipelines through onnxmltools."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from onnx import ModelProto

from aotc.errors import UsageError
from aotc.frontend.objects.sources import ByClass, Examples, converting, needed, of_class

_TREES = 3
"""The version of ai.onnx.ml whose trees all converters write."""
ROWS = "batch"
"""The name of the open dimension, how many rows are predicted at once."""


def model_of(given: Any, examples: Examples) -> ModelProto:
    """The model of an estimator: one matrix as input, of the example's element type (float32 without one), or where it
    is a table one input for each column. Rows are open."""
    what = of_class(given)
    skl2onnx = needed("skl2onnx", what)
    initial = initial_types(given, examples)
    _register_boosted()
    with converting(what, "skl2onnx"):
        opsets = {"": skl2onnx.__max_supported_opset__, "ai.onnx.ml": _TREES}
        model = skl2onnx.to_onnx(given, initial_types=initial, target_opset=opsets)
    return named_rows(model)


def initial_types(given: Any, examples: Examples) -> list[tuple[str, Any]]:
    """The names and types of inputs, as skl2onnx and onnxmltools have them. Raises UsageError where nothing says how
    many columns there are."""
    types: Any = needed("skl2onnx.common.data_types", of_class(given))
    rows = examples.inputs
    if examples.shapes is not None:
        why = "the rows of an estimator's inputs are open, and nothing else"
        raise UsageError("option-conflict", f"dynamic_shapes of {of_class(given)}", why, "leave them out")
    if isinstance(rows, Mapping):
        return [(name, _column(types, values)) for name, values in rows.items()]
    if hasattr(rows, "iloc") or (hasattr(rows, "columns") and hasattr(rows, "__getitem__")):
        return [(str(name), _column(types, rows[name])) for name in rows.columns]
    if isinstance(rows, tuple) and len(rows) == 1:
        rows = rows[0]
    if rows is not None:
        return [("X", _open(types, rows))]
    columns = getattr(given, "n_features_in_", None)
    if columns is None:
        fix = "fit it, or give example_inputs=X[:1]"
        raise UsageError("missing-example", f"{of_class(given)} does not know its columns", fix=fix)
    return [("X", types.FloatTensorType([None, int(columns)]))]


def _open(types: Any, rows: Any) -> Any:
    """The type of an input like some rows, whose number is open."""
    import numpy as np

    array = np.asarray(rows)
    return type(types.guess_data_type(array)[0][1])([None, *array.shape[1:]])


def _column(types: Any, values: Any) -> Any:
    """The type of an input for one column of a table."""
    import numpy as np

    array = np.asarray(values)
    return types.StringTensorType([None, 1]) if array.dtype.kind in "OUS" else _open(types, array.reshape(-1, 1))


def named_rows(model: ModelProto) -> ModelProto:
    """The model, whose first axes that have neither extent nor name are called ROWS."""
    for value in (*model.graph.input, *model.graph.output):
        axes = value.type.tensor_type.shape.dim
        if axes and not axes[0].dim_value and not axes[0].dim_param:
            axes[0].dim_param = ROWS
    return model


_BOOSTED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "lightgbm": {
        "LGBMClassifier": ("lightgbm.operator_converters.LightGbm", "convert_lightgbm"),
        "LGBMRegressor": ("lightgbm.operator_converters.LightGbm", "convert_lightgbm"),
    },
    "xgboost": {
        "XGBClassifier": ("xgboost.operator_converters.XGBoost", "convert_xgboost"),
        "XGBRFClassifier": ("xgboost.operator_converters.XGBoost", "convert_xgboost"),
        "XGBRegressor": ("xgboost.operator_converters.XGBoost", "convert_xgboost"),
        "XGBRFRegressor": ("xgboost.operator_converters.XGBoost", "convert_xgboost"),
    },
}
"""Package -> class -> the module of onnxmltools.convert, and the function in it, that converts an estimator."""


def _register_boosted() -> None:
    """Tell skl2onnx how boosted trees are converted, of the packages that this program uses. Raises UsageError where
    onnxmltools is missing."""
    for package, classes in _BOOSTED.items():
        if (module := sys.modules.get(package)) is None:
            continue
        for name, (home, function) in classes.items():
            _register(getattr(module, name), home, function)


def _register(kind: type, home: str, function: str) -> None:
    what = f"a {kind.__name__}"
    shapes = needed("skl2onnx.common.shape_calculator", what)
    convert = getattr(needed(f"onnxmltools.convert.{home}", what), function)
    is_classifier = kind.__name__.endswith("Classifier")
    side = "classifier" if is_classifier else "regressor"
    options: dict[str, Any] = {"nocl": [True, False], "zipmap": [True, False, "columns"]} if is_classifier else {}
    needed("skl2onnx", what).update_registered_converter(
        kind, kind.__name__, getattr(shapes, f"calculate_linear_{side}_output_shapes"), convert, options=options
    )


SOURCES = (ByClass("sklearn", ("BaseEstimator",), model_of),)
