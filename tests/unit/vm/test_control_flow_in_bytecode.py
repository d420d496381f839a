"""If, Loop and Scan by both executors: the entry compiled, and the entry in bytecode, on the same kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from control_cases import CASES, Case

import aotc
from aotc.vm import Executable, VirtualMachine


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_g1_g4_bytecode_answers_what_compiled_code_answers(case: Case, tmp_path: Path) -> None:
    packed = {"interface_api": "packed", "operator_api": "packed", "optimize": "1"}
    aotc.compile_to(case.model, tmp_path, name="m", emit="shared,vm", **packed)
    library = aotc.load(tmp_path / "m.so")
    main = VirtualMachine(Executable.load(tmp_path / "m.vm"), library)["main"]
    for feeds in case.feeds:
        expected = library(feeds)
        results = [np.zeros(tensor.shape, expected[tensor.name].dtype) for tensor in library.outputs]
        main(*(feeds[tensor.name] for tensor in library.inputs), *results)
        for tensor, result in zip(library.outputs, results, strict=True):
            assert result.tobytes() == expected[tensor.name].tobytes(), tensor.name
