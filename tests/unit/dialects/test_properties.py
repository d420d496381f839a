"""`GraphOp.get` with properties of the wrong kind."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import BoolAttr, TensorType, UnitAttr, f32, i8, i32
from xdsl.ir import Block

from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.packed.integers.dot_products import ZeroPointBiasOp

LHS, RHS = Block(arg_types=[TensorType(f32, [3, 4]), TensorType(f32, [5, 4])]).args
WEIGHT, BIAS = Block(arg_types=[TensorType(i8, [2, 4]), TensorType(i32, [2])]).args


def _bias(complement: object) -> ZeroPointBiasOp:
    none: list[int] = []
    given = {"extents": none, "strides": none, "pads": none, "dilations": none, "complement": complement}
    return ZeroPointBiasOp.get(WEIGHT, BIAS, zero_point=0, **given)


def test_flags_of_both_kinds() -> None:
    assert MatMulOp.get(LHS, RHS, transpose_rhs=True).properties["transpose_rhs"] == BoolAttr.from_bool(True)
    assert "transpose_lhs" not in MatMulOp.get(LHS, RHS, transpose_lhs=False, transpose_rhs=True).properties
    assert _bias(True).properties["complement"] == UnitAttr()
    assert "complement" not in _bias(False).properties
    assert "complement" not in _bias(None).properties


@pytest.mark.parametrize("given", [1, "yes", UnitAttr()])
def test_a_flag_of_another_kind_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"graph\.matmul: the property transpose_rhs wants a bool, and is given"):
        MatMulOp.get(LHS, RHS, transpose_rhs=given)


@pytest.mark.parametrize("given", [1, BoolAttr.from_bool(True)])
def test_a_unit_is_there_or_not(given: object) -> None:
    with pytest.raises(TypeError, match=r"the property complement wants a bool, and is given"):
        _bias(given)


def test_other_properties_say_what_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"graph\.matmul: the property lhs_zero_point wants .*, and is given 1\.5"):
        MatMulOp.get(LHS, RHS, lhs_zero_point=1.5)


def test_a_property_that_there_is_not() -> None:
    with pytest.raises(TypeError, match=r"graph\.matmul has no property transposed"):
        MatMulOp.get(LHS, RHS, transposed=True)
