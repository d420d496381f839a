"""Boosted trees of LightGBM, XGBoost and CatBoost: estimators through skl2onnx, boosters through onnxmltools, CatBoost
through its own export."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnx import ModelProto

from aotc.frontend.objects import estimators
from aotc.frontend.objects.sources import ByClass, Examples, converting, needed, of_class


def _of_lightgbm(given: Any, examples: Examples) -> ModelProto:
    return _of_booster(given, given.num_feature(), examples, "lightgbm", zipmap=True)


def _of_xgboost(given: Any, examples: Examples) -> ModelProto:
    return _of_booster(given, given.num_features(), examples, "xgboost")


def _of_booster(given: Any, columns: int, examples: Examples, library: str, **options: Any) -> ModelProto:
    """The model of a booster, which knows its columns, and takes float32."""
    what = of_class(given)
    tools = needed("onnxmltools", what)
    types = needed("onnxmltools.convert.common.data_types", what)
    if examples.inputs is None:
        initial = [("X", types.FloatTensorType([None, columns]))]
    else:
        initial = estimators.initial_types(given, examples)
    with converting(what, "onnxmltools"):
        model = getattr(tools, f"convert_{library}")(given, initial_types=initial, **options)
    return estimators.named_rows(model)


def _of_catboost(given: Any, examples: Examples) -> ModelProto:
    what = of_class(given)
    with TemporaryDirectory() as folder, converting(what, "CatBoost.save_model"):
        path = Path(folder, "model.onnx")
        given.save_model(str(path), format="onnx")
        model = ModelProto.FromString(path.read_bytes())
    return estimators.named_rows(model)


SOURCES = (
    ByClass("lightgbm", ("LGBMModel",), estimators.model_of),
    ByClass("lightgbm", ("Booster",), _of_lightgbm),
    ByClass("xgboost", ("XGBModel",), estimators.model_of),
    ByClass("xgboost", ("Booster",), _of_xgboost),
    ByClass("catboost", ("CatBoost",), _of_catboost),
)
