"""Names of models as identifiers."""

from __future__ import annotations

import re

import pytest

from aotc.model.naming import MAX_LENGTH, bare_identifier, c_identifier, c_variable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "x"),
        ("serving_default_dense_input_0", "serving_default_dense_input_0"),
        ("gpu_0/data_0", "gpu_0_data_0"),
        ("input:0", "input_0"),
        ("__x__", "x"),
        ("_Bool", "Bool"),
        ("0", "n0"),
        ("été", "t"),
        ("", "unnamed"),
        ("日本", "unnamed"),
        ('x"; system("rm")', "x_system_rm"),
        ("a*/b", "a_b"),
        ("int", "int_"),
        ("class", "class_"),
        ("and", "and_"),
        ("main", "main_"),
        ("expf", "expf_"),
        ("NULL", "NULL_"),
        ("UINT32_MAX", "UINT32_MAX_"),
        ("FLT_EPSILON", "FLT_EPSILON_"),
        ("int8_t", "int8_t_"),
    ],
)
def test_c_identifiers(name: str, expected: str) -> None:
    assert c_identifier(name) == expected


def test_c_identifiers_are_unique_and_bounded() -> None:
    taken: set[str] = set()
    for name in ["a.b", "a/b", "a b", "a_b_1", "int", "int_", "int "]:
        found = c_identifier(name, taken)
        assert found not in taken and re.fullmatch("[A-Za-z][A-Za-z0-9_]*", found)
        taken.add(found)
    assert len(c_identifier("x" * 1000)) == MAX_LENGTH


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b", "a.b"),
        ("onnx::MatMul_1", "onnx__MatMul_1"),
        ("1", "_1"),
        ("", "unnamed"),
        ('a"\n>', "a___"),
        (".x", "_.x"),
    ],
)
def test_bare_identifiers(name: str, expected: str) -> None:
    assert bare_identifier(name) == expected


def test_variables_are_not_what_macros_are_called() -> None:
    names = {"UART": "uart", "I": "i", "M_PI": "m_pi", "EOF": "eof", "NULL": "null", "X": "x", "Input": "Input"}
    assert {name: c_variable(name) for name in names} == names
    assert c_variable("X", {"x"}) == "x_1"
    assert c_variable("INT") == "int_"
