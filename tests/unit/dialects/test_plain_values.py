"""Properties of operations as plain values: what is read, set and given, and what stands in the IR for it."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from aotc.dialects.properties import (
    bool_prop,
    float_prop,
    int_prop,
    opt_bool_prop,
    opt_float_prop,
    opt_int_prop,
    unit_prop,
)


class Base(IRDLOperation):
    """A field may stand in a base class."""

    width = int_prop()


@irdl_op_definition
class AllOp(Base):
    name = "test.all"
    axis = int_prop(1)
    epsilon = float_prop()
    upper = bool_prop(False)
    group = opt_int_prop()
    clip = opt_float_prop()
    reverse = opt_bool_prop()
    narrow = unit_prop()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$width attr-dict"


def parsed(text: str) -> AllOp:
    context = Context()
    context.load_dialect(Dialect("test", [AllOp], []))
    op = Parser(context, text).parse_operation()
    assert isinstance(op, AllOp)
    op.verify()
    return op


def test_what_is_absent_has_its_default() -> None:
    op = parsed("test.all 4 {epsilon = 0.5 : f64}")
    assert (op.width, op.axis, op.epsilon, op.upper) == (4, 1, 0.5, False)
    assert (op.group, op.clip, op.reverse, op.narrow) == (None, None, False, False)
    assert set(op.properties) == {"width", "epsilon", "axis", "upper"}
    assert str(op) == "test.all 4 {epsilon = 5.000000e-01 : f64}"


def test_what_is_written_is_read_and_written_again() -> None:
    text = (
        "test.all 4 {axis = 2 : i64, epsilon = 5.000000e-01 : f64, upper = true, group = 3 : i64, "
        "clip = 1.000000e+00 : f64, reverse = true, narrow}"
    )
    op = parsed(text)
    assert (op.axis, op.upper, op.group, op.clip, op.reverse, op.narrow) == (2, True, 3, 1.0, True, True)
    assert set(str(op)[12:-1].split(", ")) == set(text[12:-1].split(", "))


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("width", 7, IntegerAttr(7, i64)),
        ("epsilon", 2.0, FloatAttr(2.0, 64)),
        ("upper", False, BoolAttr.from_bool(False)),
        ("group", 0, IntegerAttr(0, i64)),
        ("group", None, None),
        ("clip", 0.0, FloatAttr(0.0, 64)),
        ("reverse", True, BoolAttr.from_bool(True)),
        ("reverse", False, None),
        ("narrow", True, UnitAttr()),
        ("narrow", False, None),
    ],
)
def test_what_is_set_is_an_attribute(name: str, value: object, attribute: Attribute | None) -> None:
    op = parsed("test.all 4 {epsilon = 0.5 : f64, group = 3 : i64, clip = 1.0 : f64, reverse = true, narrow}")
    setattr(op, name, value)
    assert op.properties.get(name) == attribute
    assert getattr(op, name) == value


def test_a_flag_that_is_written_as_false_does_not_hold() -> None:
    assert not parsed("test.all 4 {epsilon = 0.5 : f64, reverse = false}").reverse


@pytest.mark.parametrize("wrong", ["axis = 2 : i32", "clip = 1 : i64", "narrow = true", "reverse"])
def test_attributes_of_other_kinds_are_refused(wrong: str) -> None:
    with pytest.raises((VerifyException, ParseError)):
        parsed(f"test.all 4 {{epsilon = 0.5 : f64, {wrong}}}")


def test_the_definition_is_that_of_the_property() -> None:
    definition = AllOp.get_irdl_definition()
    assert set(definition.properties) == {"width", *["axis", "epsilon", "upper", "group", "clip", "reverse", "narrow"]}
    assert IntegerAttr(1, i32) != definition.properties["axis"].default_value == IntegerAttr(1, i64)
