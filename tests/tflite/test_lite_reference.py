"""The numpy reference of each operator against the interpreters, by the table of cases."""

from __future__ import annotations

import numpy as np
import pytest
from lite_cases import CASES
from lite_model import Array
from lite_oracle import ORACLES
from lite_reference import REFERENCES, Reference

RESOLVER = (
    "ABS", "ADD", "ADD_N", "ARG_MAX", "ARG_MIN", "ASSIGN_VARIABLE", "AVERAGE_POOL_2D", "BATCH_MATMUL",
    "BATCH_TO_SPACE_ND", "BROADCAST_ARGS", "BROADCAST_TO", "CALL_ONCE", "CAST", "CEIL", "CONCATENATION", "CONV_2D",
    "COS", "CUMSUM", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE", "DIV", "DYNAMIC_UPDATE_SLICE", "ELU",
    "EMBEDDING_LOOKUP", "EQUAL", "EXP", "EXPAND_DIMS", "FILL", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "FULLY_CONNECTED",
    "GATHER", "GATHER_ND", "GREATER", "GREATER_EQUAL", "HARD_SWISH", "IF", "L2_NORMALIZATION", "L2_POOL_2D",
    "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOG", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "LOGISTIC", "LOG_SOFTMAX",
    "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM", "MIRROR_PAD", "MUL", "NEG", "NOT_EQUAL", "PACK", "PAD", "PADV2",
    "PRELU", "QUANTIZE", "READ_VARIABLE", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6", "RESHAPE",
    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "ROUND", "RSQRT", "SELECT_V2", "SHAPE", "SIN", "SLICE",
    "SOFTMAX", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQRT", "SQUARE", "SQUARED_DIFFERENCE",
    "SQUEEZE", "STRIDED_SLICE", "SUB", "SUM", "SVDF", "TANH", "TRANSPOSE", "TRANSPOSE_CONV",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNPACK", "VAR_HANDLE", "WHILE", "ZEROS_LIKE", "CIRCULAR_BUFFER", "SignalDelay",
    "SignalEnergy", "SignalFftAutoScale", "SignalFilterBank", "SignalFilterBankLog",
    "SignalFilterBankSpectralSubtraction", "SignalFilterBankSquareRoot", "SignalFramer", "SignalIrfft",
    "SignalOverlapAdd", "SignalPCAN", "SignalRfft", "SignalStacker", "SignalWindow", "TFLite_Detection_PostProcess",
)  # fmt: skip
"""Operators of TFLite Micro's resolver, as the package of PyPI has it, but DECODE and the one of Ethos-U."""


def assert_near(found: Array, expected: Array, tolerance: float) -> None:
    """Types and shapes are the same, and all bits unless there is a tolerance: of the greatest output."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if tolerance and expected.dtype.kind == "f":
        finite = expected[np.isfinite(expected)]
        most = float(np.abs(finite).max(initial=0)) * tolerance
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=most)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if REFERENCES.keys() >= set(case.codes)])
def test_reference(name: str) -> None:
    case = CASES[name]
    oracle, reference = ORACLES[case.oracle](case.model), Reference(case.graphs)
    for inputs in case.calls:
        for found, expected in zip(reference(*inputs), oracle(*inputs), strict=True):
            assert_near(found, expected, case.tolerance)


@pytest.mark.parametrize("code", RESOLVER)
def test_every_operator_has_a_reference_and_cases(code: str) -> None:
    assert code in REFERENCES and any(code in case.codes for case in CASES.values())
