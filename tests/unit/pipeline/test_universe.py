"""Every lazy row of the universe loads and keeps its name."""

from __future__ import annotations

import pytest

from aotc.pipeline.universe import UNIVERSE


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_dialects))
def test_dialect_loads(name: str) -> None:
    assert UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_pass_loads_and_its_file_bears_its_name(name: str) -> None:
    loaded = UNIVERSE.all_passes[name]()
    assert loaded.name == name
    assert loaded.__module__.rpartition(".")[2] == name.replace("-", "_")


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_targets))
def test_target_loads(name: str) -> None:
    assert UNIVERSE.all_targets[name]().name == name


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_pass_is_documented_by_a_sentence_and_by_ir(name: str) -> None:
    import sys

    documentation = sys.modules[UNIVERSE.all_passes[name]().__module__].__doc__ or ""
    first = documentation.split("\n\n")[0]
    assert first.endswith((".", ":")), first
    assert documentation.count("```mlir") >= 2, "before and after"
