"""Modules of text, and what LLVM keeps of them."""

from __future__ import annotations

from string import ascii_letters

import pytest
from memory import growth

from aotc.emit.llvm.modules import parsed

_MEGABYTE = 1 << 20


def test_constants_go_with_their_module() -> None:
    def text(letter: str) -> str:
        return f'@data = constant [{_MEGABYTE} x i8] c"{letter * _MEGABYTE}"\n'

    letters = iter(ascii_letters)  # of two that are the same only one would stay
    assert growth(lambda: parsed(text(next(letters))), 3) < _MEGABYTE // 2


def test_a_module_that_is_linked_into_another_shares_its_context() -> None:
    module = parsed("declare i32 @one()\n")
    module.link_in(parsed("define i32 @one() {\n  ret i32 1\n}\n", module))
    assert not module.get_function("one").is_declaration
    copy = module.clone()
    assert "ret i32 1" in str(copy)


def test_text_that_is_none_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="parsing"):
        parsed("nonsense")
