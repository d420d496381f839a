"""Messages about models that mean harm: nothing that a terminal obeys, no length without bound, each once."""

from __future__ import annotations

from aotc.errors import CompileError, Problem


def test_what_a_terminal_would_obey_is_spelt_out() -> None:
    assert str(Problem("no\x00pe", node="a\x1b[2J", op_type="Re\u202elu")) == "a\\x1b[2J (Re\\u202elu): no\\x00pe"
    assert str(Problem("größer; 大", fix="two\nlines")) == "größer; 大; two\nlines"


def test_names_without_end_are_cut_in_the_middle() -> None:
    text = str(Problem("what" * 10000, node="n", fix="do it"))
    assert len(text) < 4100 and text.startswith("n: what") and text.endswith("do it") and " ... " in text


def test_a_problem_is_said_once() -> None:
    one, other = Problem("one"), Problem("other")
    assert CompileError([one, other, one, one]).problems == (one, other)
    assert str(Problem("what", op_type="graph.add")) == "(graph.add): what"
