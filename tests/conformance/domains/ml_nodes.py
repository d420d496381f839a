"""Nodes of ai.onnx.ml but tree ensembles, with their inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Array
from onnx import helper

_random = np.random.default_rng(11)


def real(*shape: int) -> Array:
    return _random.normal(size=shape).astype(np.float32)


def floats(count: int) -> list[float]:
    return real(count).tolist()


@dataclass(frozen=True)
class Case:
    """One node: its inputs and attributes."""

    op_type: str
    inputs: tuple[Array, ...]
    attributes: dict[str, Any]
    outputs: int = 1
    version: int = 3

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.attributes.items() if isinstance(value, str | int)]
        return "-".join([self.op_type, *(x.dtype.name + "x".join(map(str, x.shape)) for x in self.inputs), *words])


def case(op_type: str, *inputs: Array, outputs: int = 1, version: int = 3, **attributes: Any) -> Case:
    return Case(op_type, inputs, attributes, outputs, version)


TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
X = real(9, 4)
INTEGERS = _random.integers(-3, 4, (5, 4))
CLOSE_TO_ONE_HALF = (0.5 + 0.1 * real(9, 3)).clip(0.1, 0.9)
HOLES = np.where(_random.random((6, 3)) < 0.4, np.nan, real(6, 3)).astype(np.float32)
IDENTITY = np.eye(3, dtype=np.float32).reshape(-1).tolist()


def linear() -> list[Case]:
    found = [
        case("LinearRegressor", X, coefficients=floats(4 * t), intercepts=i, targets=t)
        for t in (1, 3)
        for i in (floats(t), None)
    ]
    for transform in TRANSFORMS:
        given = {"post_transform": transform}
        found += [
            case("LinearRegressor", CLOSE_TO_ONE_HALF, coefficients=IDENTITY, targets=3, **given),
            case("LinearRegressor", CLOSE_TO_ONE_HALF, coefficients=[1.0, 0.0, 0.0], **given),
            case("LinearClassifier", CLOSE_TO_ONE_HALF, outputs=2, coefficients=IDENTITY, intercepts=[0.0] * 3,
                 classlabels_ints=[4, 0, 9], **given),
        ]  # fmt: skip
        if transform != "PROBIT":  # of which onnxruntime leaves the second column as it finds it
            found.append(
                case("LinearClassifier", X, outputs=2, coefficients=floats(4), intercepts=[0.1],
                     classlabels_ints=[7, 2], **given)
            )  # fmt: skip
    found += [
        case(
            "LinearClassifier", x, outputs=2, coefficients=floats(12), intercepts=floats(3), classlabels_ints=[0, 1, 2]
        )
        for x in (X.astype(np.float64), INTEGERS, INTEGERS.astype(np.int32), X[0])
    ]
    return found


def machines() -> list[Case]:
    found: list[Case] = []
    parameters = [0.3, 0.5, 2.0]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        given = {"kernel_type": kernel, "kernel_params": parameters}
        found.append(
            case(
                "SVMRegressor", X, coefficients=floats(5), support_vectors=floats(20), n_supports=5, rho=[0.2], **given
            )
        )
        for classes in (2, 3, 4):
            sizes = [2, 3, 1, 2][:classes]
            pairs = classes * (classes - 1) // 2
            model = {
                "coefficients": floats((classes - 1) * sum(sizes)),
                "support_vectors": floats(sum(sizes) * 4),
                "vectors_per_class": sizes,
                "rho": floats(pairs),
                "classlabels_ints": [5, 3, 8, 0][:classes],
                **given,
            }
            found.append(case("SVMClassifier", X, outputs=2, **model))
            platt = {"prob_a": (-1 - _random.random(pairs)).tolist(), "prob_b": floats(pairs)}
            found.append(case("SVMClassifier", X, outputs=2, **model, **platt))
    # onnxruntime wants what has a default
    plain = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    rbf = {"kernel_type": "RBF", "kernel_params": [0.2, 0.0, 0.0]}
    for transform in TRANSFORMS[:4]:
        for classes in (2, 3):
            model = {
                "coefficients": floats(4 * classes),
                "rho": [0.1],
                "classlabels_ints": [5, 3, 8][:classes],
                **plain,
            }
            found.append(case("SVMClassifier", X, outputs=2, post_transform=transform, **model))
        two = {
            "vectors_per_class": [1, 2],
            "rho": [0.1],
            "classlabels_ints": [6, 7],
            "support_vectors": floats(12),
            **rbf,
        }
        found.append(case("SVMClassifier", X, outputs=2, coefficients=floats(3), post_transform=transform, **two))
    positive = np.abs(real(8)).tolist()
    found.append(
        case("SVMClassifier", X, outputs=2, coefficients=positive, rho=[0.0], classlabels_ints=[5, 3], **plain)
    )
    found.append(case("SVMRegressor", X, coefficients=floats(4), rho=[0.2], **plain))
    found.append(case("SVMRegressor", X, coefficients=floats(4), rho=[0.2], one_class=1, **plain))
    found.append(
        case("SVMClassifier", INTEGERS, outputs=2, coefficients=floats(8), rho=[0.2], classlabels_ints=[5, 3], **plain)
    )
    return found


def features() -> list[Case]:
    zero_row = X.copy()
    zero_row[2] = 0
    small = INTEGERS.astype(np.int32)
    found = [
        case("Normalizer", x, norm=n)
        for n in ("MAX", "L1", "L2")
        for x in (zero_row, X[0], INTEGERS, small, X.astype(np.float64))
    ]
    found += [
        case("Scaler", x, offset=o, scale=s)
        for x in (X, INTEGERS, small, X.astype(np.float64))
        for o, s in ((floats(4), floats(4)), ([0.5], [2.0]))
    ]
    found += [
        case("Binarizer", X, threshold=0.25),
        case("Imputer", HOLES, imputed_value_floats=floats(3), replaced_value_float=np.nan),
        case("Imputer", HOLES, imputed_value_floats=[1.5], replaced_value_float=np.nan),
        case("Imputer", X, imputed_value_floats=floats(4), replaced_value_float=float(X[1, 1])),
        case("Imputer", INTEGERS, imputed_value_int64s=[7, 8, 9, 10], replaced_value_int64=2),
        case("OneHotEncoder", INTEGERS, cats_int64s=[-3, 0, 2]),
        case("OneHotEncoder", (2 * X).astype(np.float64), cats_int64s=[0, 1, -1]),
        case("OneHotEncoder", INTEGERS[0], cats_int64s=[1, 1, 2]),
        case("FeatureVectorizer", X, X[:, :2], inputdimensions=[4, 2]),
        case("FeatureVectorizer", X, X[:, :2], inputdimensions=[3, 5]),
        case("FeatureVectorizer", INTEGERS, inputdimensions=[4]),
        case("FeatureVectorizer", X[0], X[1], inputdimensions=[4, 4]),
        case("ArrayFeatureExtractor", X, np.array([3, 0, 3])),
        case("ArrayFeatureExtractor", INTEGERS[0], np.array([[1, 2]])),
        case("ArrayFeatureExtractor", real(2, 3, 4).astype(np.float64), np.array([1])),
    ]
    keys = _random.permutation(np.arange(-20, 20))[:13].tolist()
    asked = _random.integers(-20, 20, (6, 5))
    found += [
        case("LabelEncoder", asked, keys_int64s=keys, values_int64s=list(range(13)), default_int64=-5),
        case("LabelEncoder", asked, keys_int64s=keys, values_floats=floats(13)),
        case("LabelEncoder", asked, keys_int64s=[3], values_int64s=[1]),
        case("LabelEncoder", asked, keys_int64s=[3, -4], values_int64s=[1, 2]),
        case("LabelEncoder", HOLES, keys_floats=[0.5, 1.5], values_floats=[1.0, 2.0], default_float=9.5),
    ]
    tensors = {
        "keys_tensor": helper.make_tensor("k", 11, [4], [1.0, 2.5, np.nan, -3.0]),
        "values_tensor": helper.make_tensor("v", 11, [4], [0.5, 1.5, 3.5, 2.5]),
        "default_tensor": helper.make_tensor("d", 11, [1], [-1.0]),
    }
    found.append(case("LabelEncoder", np.array([1.0, 2.5, 7, -3, np.nan]), version=4, **tensors))
    return found
