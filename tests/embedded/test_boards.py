"""Generated C and LLVM objects compute on the boards what was recorded on the host, without a heap."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from measuring import BOARDS, DATA, cases, compiled, measure, report
from rig import BoardError, build, run

import aotc

KINDS = ("c", "object")
PLACES = [
    (board, model)
    for board, model in product(BOARDS, ("micro_speech_int8", "kws_int8"))
    if (board, model) != ("microbit", "kws_int8")  # its arena alone is 16,000 bytes
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("board", "model"), PLACES)
def test_outputs_match_the_recording(board: str, model: str, kind: str) -> None:
    done = measure(BOARDS[board], model, kind)
    for output, case in zip(done.outputs, cases(model), strict=True):
        assert np.array_equal(output, case.output)
    assert done.heap == 0
    assert 0 < done.stack < 512
    # What the report promises is what the linker finds: the arena and nothing else, the weights and little else.
    promised = report(model, BOARDS[board].target)
    sizes = done.sizes["model"]
    assert (sizes.zero, sizes.data) == (promised["workspace_bytes"], 0)
    assert promised["weights_bytes"] <= sizes.constants <= promised["weights_bytes"] + 512
    if kind == "object":  # the report knows the machine code, all but what the libraries need
        footprint = promised["footprint"]
        assert (sizes.code, sizes.data) == (footprint["text_bytes"], footprint["data_bytes"])
        assert done.stack <= footprint["stack_bytes"] + 128


@pytest.mark.parametrize("kind", KINDS)
def test_micro_speech_fits_a_microbit(kind: str) -> None:
    """Everything in 16 KiB of RAM: arena, input, output, the C library's variables, stack."""
    board = BOARDS["microbit"]
    done = measure(board, "micro_speech_int8", kind)
    ram = sum(sizes.data + sizes.zero for sizes in done.sizes.values()) + done.stack
    assert board.ram[1] == 16 * 1024
    assert ram <= 13 * 1024
    assert sum(sizes.text + sizes.data for sizes in done.sizes.values()) <= 32 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_layers_of_one_kind_share_a_function_where_code_is_to_be_small(kind: str) -> None:
    board = BOARDS["m4f"]
    small = measure(board, "ic_resnet_int8", kind)
    assert all(np.array_equal(a, case.output) for a, case in zip(small.outputs, cases("ic_resnet_int8"), strict=True))
    (source,) = compiled("ic_resnet_int8", board.target).glob("*.c")
    (specialized,) = compiled("ic_resnet_int8", board.target, optimize="2", emit="c").glob("*.c")
    count, most = (path.read_text().count("static AOTC_OPERATOR int32_t") for path in (source, specialized))
    assert count < most


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("board", ["m0", "m4f", "m55", "rv32"])
def test_specialized_kernels_match_the_recording(board: str, kind: str) -> None:
    done = measure(BOARDS[board], "micro_speech_int8", kind, flags=("-O2",), optimize="2")
    assert all(np.array_equal(a, case.output) for a, case in zip(done.outputs, cases("micro_speech_int8"), strict=True))


@pytest.mark.parametrize("optimize", ["-O0", "-O2", "-O3"])
def test_the_compilers_level_changes_no_bit(optimize: str) -> None:
    done = measure(BOARDS["m4f"], "micro_speech_int8", "c", flags=(optimize,))
    assert all(np.array_equal(a, case.output) for a, case in zip(done.outputs, cases("micro_speech_int8"), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("board", BOARDS)
def test_a_board_proves_itself(board: str, kind: str, tmp_path: Path) -> None:
    """`--selftest`: recorded inputs and outputs are in the program, nothing of the host is needed."""
    recorded = DATA / "micro_speech_int8"
    for expected, right in (("outputs.npz", True), ("outputs_1.npz", False)):
        folder = tmp_path / expected
        aotc.compile_to(
            *(recorded / "model.onnx", folder),
            name="speech",
            emit=("c", "object"),
            target=BOARDS[board].target,
            optimize="s",
            selftest=str(recorded / "inputs.npz"),
            selftest_outputs=str(recorded / expected),
        )
        main = folder / "main.c"
        main.write_text('#include "speech.h"\nint main(void) { return aotc_speech_selftest() != 0; }\n')
        file = folder / ("speech.c" if kind == "c" else "speech.o")
        program = build(BOARDS[board], folder, model=[file], program=[main], stack=1024)
        if right:
            run(program)
        else:
            with pytest.raises(BoardError, match="exit 1"):
                run(program)


@pytest.mark.parametrize("board", ["m4f"])
def test_layers_row_by_row_give_the_same_numbers_in_less_memory(board: str) -> None:
    """Layers are computed together where RAM is to be the least, at little cost."""
    plain, rolled = (
        measure(BOARDS[board], "ic_resnet_int8", "c", count=1, flags=("-O2",), optimize="2", ram=ram)
        for ram in (None, "min")
    )
    assert np.array_equal(rolled.outputs[0], cases("ic_resnet_int8")[0].output)
    assert rolled.sizes["model"].zero <= plain.sizes["model"].zero / 2
    assert rolled.instructions <= plain.instructions * 1.05
