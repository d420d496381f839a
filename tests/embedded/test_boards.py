"""Generated C and LLVM objects compute on the boards what was recorded on the host, without a heap."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.networks import Network
from measuring import BOARDS, DATA, cases, compiled, measure, report
from onnx import ModelProto
from rig import BoardError, build, run

import aotc
from aotc.cli.main import run as command

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
    (specialized,) = compiled("ic_resnet_int8", board.target, optimize="2", ram="1G", emit="c").glob("*.c")
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


@pytest.mark.parametrize("board", ["m0", "m4f", "rv32"])
def test_an_input_that_comes_by_rows_is_not_in_memory(board: str) -> None:
    """A spectrogram of 49 frames of 10 numbers, four frames at once, at little cost."""
    options: dict[str, Any] = {"optimize": "2", "ram": "min", "emit": ("c",)}
    streamed = measure(BOARDS[board], "kws_int8", "c", count=1, flags=("-O2",), stream=("input_1", 4), **options)
    assert np.array_equal(streamed.outputs[0], cases("kws_int8")[0].output)
    promised = report("kws_int8", BOARDS[board].target, stream=("input_1", 4), **options)
    assert streamed.sizes["model"].zero == promised["workspace_bytes"]
    assert promised["io_bytes"] == 4 * 10 + 12
    if board == "m4f":
        whole = measure(BOARDS[board], "kws_int8", "c", count=1, flags=("-O2",), **options)
        assert streamed.instructions <= whole.instructions * 1.02


@pytest.mark.parametrize("board", ["m4f"])
def test_layers_row_by_row_give_the_same_numbers_in_less_memory(board: str) -> None:
    """Layers are computed together where RAM is to be the least, at little cost."""
    plain, rolled = (
        measure(BOARDS[board], "ic_resnet_int8", "c", count=1, flags=("-O2",), optimize="2", ram=ram)
        for ram in ("1G", "min")
    )
    assert np.array_equal(rolled.outputs[0], cases("ic_resnet_int8")[0].output)
    assert rolled.sizes["model"].zero <= plain.sizes["model"].zero / 2
    assert rolled.instructions <= plain.instructions * 1.05


# --- canaries ---------------------------------------------------------------------------------------------------------

GAP = 32
"""Bytes of a canary."""
GUARDED = """#include "board.h"
#include "m.h"
#include <string.h>
extern uint8_t aotc_m_workspace[];
static const int32_t gaps[] = {{{gaps}}};
static uint64_t x[AOTC_M_INPUT_0_SIZE / 8 + 1], y[AOTC_M_OUTPUT_0_SIZE / 8 + 1];
int main(void)
{{
    board_read(board_open("inputs.bin", BOARD_READ), x, AOTC_M_INPUT_0_SIZE);
    memset(aotc_m_workspace, 0xa5, {size});
    if (aotc_m_run((void *)x, (void *)y) != 0) return 3;
    board_write(board_open("outputs.bin", BOARD_WRITE), y, AOTC_M_OUTPUT_0_SIZE);
    for (size_t gap = 0; gap < sizeof gaps / sizeof gaps[0]; ++gap)
        for (int32_t i = 0; i < {canary}; ++i)
            if (aotc_m_workspace[gaps[gap] + i] != 0xa5) return 4;
    return 0;
}}
"""


def layers_in_one_kernel() -> ModelProto:
    """Layers of 8 bits that are computed together: no buffer of the arena takes the place of another one."""
    g = Network(0, quantized=True)
    g.shapes["x"] = (3, 16, 12)
    x = g.same(g.real("x"), 8, 3)
    return g.giving(g.same(g.same(g.same(x, 8, 3), 8, 3), 2, 1))


def spread(folder: Path, planted: int) -> tuple[list[int], int]:
    """Put canaries between the buffers of m.c, and around them, the last `planted` bytes of each buffer among them;
    where they begin, and the bytes of the arena."""
    plan: Any = json.loads((folder / "m.json").read_text())["plan"]
    buffers = sorted(plan["buffers"], key=lambda each: each["offset"])
    assert len(buffers) > 3 and plan["rolls"]
    ends = [(each["offset"], each["offset"] + each["size"]) for each in buffers]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends)), "one takes another's place"
    places: dict[int, int] = {}
    gaps, position = [0], GAP
    for each in buffers:
        places[each["offset"]] = position
        gaps.append(position + each["size"] - planted)
        position += -(-(each["size"] + GAP) // 16) * 16
    text = (folder / "m.c").read_text()
    head, arena, body = text.partition(f"uint8_t aotc_m_workspace[{plan['peak_bytes']}];")
    assert arena
    body = re.sub(r"aotc_m_workspace\[(\d+)\]", lambda match: f"aotc_m_workspacf[{places[int(match[1])]}]", body)
    body = body.replace("aotc_m_workspace", f"&aotc_m_workspace[{places[0]}]").replace("workspacf", "workspace")
    head = head[: head.rindex("static")] + head[head.rindex("static") + len("static") :]
    (folder / "m.c").write_text(f"{head}uint8_t aotc_m_workspace[{position}];{body}")
    return gaps, position


@pytest.mark.parametrize(("board", "planted"), [("m4f", 0), ("m4f", 4), ("rv32", 0)])
def test_nothing_is_written_between_buffers(board: str, planted: int, tmp_path: Path) -> None:
    model = layers_in_one_kernel()
    aotc.compile_to(model, tmp_path, name="m", target=BOARDS[board].target, ram="min")
    gaps, size = spread(tmp_path, planted)
    main = tmp_path / "main.c"
    main.write_text(GUARDED.format(gaps=", ".join(map(str, gaps)), size=size, canary=GAP))
    x = np.random.default_rng(0).standard_normal((1, 3, 16, 12)).astype(np.float32) * 2
    (tmp_path / "inputs.bin").write_bytes(x.tobytes())
    program = build(BOARDS[board], tmp_path, model=[tmp_path / "m.c"], program=[main], flags=("-O2",))
    if planted:
        with pytest.raises(BoardError, match="exit 4"):
            run(program)
    else:
        run(program)
    (expected,) = aotc.compile(model, optimize=0)({"x": x}).values()
    found = np.frombuffer((tmp_path / "outputs.bin").read_bytes(), np.float32).reshape(expected.shape)
    assert np.array_equal(found, expected)


# --- several memories ------------------------------------------------------------------------------------------------

POOLS = {"dtcm": "8K,section=.bss.dtcm", "sram": "64K,speed=3"}

IN_POOLS = """#include "given.h"
#include "own.h"
#include <string.h>
#define GAP 64
#define ROOM(pool) (GAP + AOTC_GIVEN_POOL_##pool##_SIZE + GAP)
static const int8_t input[] = {%s}, output[] = {%s};
static uint8_t dtcm[ROOM(DTCM)] __attribute__((aligned(AOTC_GIVEN_WORKSPACE_ALIGNMENT)));
static uint8_t sram[ROOM(SRAM)] __attribute__((aligned(AOTC_GIVEN_WORKSPACE_ALIGNMENT)));

static int is_whole(const uint8_t *memory, int size)
{
    for (int i = 0; i < GAP; ++i) if (memory[i] != 0xa5 || memory[size - GAP + i] != 0xa5) return 0;
    return 1;
}

int main(void)
{
    int8_t y[sizeof output];
    memset(dtcm, 0xa5, sizeof dtcm);
    memset(sram, 0xa5, sizeof sram);
    for (int turn = 0; turn < 2; ++turn) {
        if (aotc_given_run(input, y, dtcm + GAP, sram + GAP) != 0 || memcmp(y, output, sizeof y) != 0) return 3;
        if (!is_whole(dtcm, sizeof dtcm) || !is_whole(sram, sizeof sram)) return 4;
        memset(y, 0, sizeof y);
        if (aotc_own_run(input, y) != 0 || memcmp(y, output, sizeof y) != 0) return 5;
    }
    return 0;
}
"""


def test_pools_of_the_model_and_of_its_caller(tmp_path: Path) -> None:
    """The model's own are in sections, the caller's have canaries around them."""
    board = BOARDS["m4f"]
    options: dict[str, Any] = {"target": board.target, "pools": POOLS}
    aotc.compile_to(DATA / "kws_int8" / "model.onnx", tmp_path, name="given", workspace="caller", **options)
    aotc.compile_to(DATA / "kws_int8" / "model.onnx", tmp_path, name="own", **options)
    arrays = [np.load(DATA / "kws_int8" / f"{end}.npz") for end in ("inputs", "outputs")]
    values = [", ".join(map(str, archive[archive.files[0]].ravel())) for archive in arrays]
    main = tmp_path / "main.c"
    main.write_text(IN_POOLS % tuple(values))
    files = [tmp_path / "given.c", tmp_path / "own.c"]
    program = build(board, tmp_path, model=files, program=[main])
    run(program, timeout=60)
    assert program.sizes["model"].zero == 16000 and program.sizes["model"].data == 0, "sections take no flash"


TAKE_TURNS = """#include "shared.h"
#include <string.h>
static const int8_t sounds[] = {%s}, words[] = {%s}, angle[] = {%s}, sine[] = {%s};
static uint8_t dtcm[AOTC_SHARED_POOL_DTCM_SIZE + 8] __attribute__((aligned(AOTC_SHARED_POOL_DTCM_ALIGNMENT)));
static uint8_t sram[AOTC_SHARED_POOL_SRAM_SIZE + 8] __attribute__((aligned(AOTC_SHARED_POOL_SRAM_ALIGNMENT)));

int main(void)
{
    int8_t y[sizeof words], z[sizeof sine];
    memset(dtcm, 0xa5, sizeof dtcm);
    memset(sram, 0xa5, sizeof sram);
    for (int turn = 0; turn < 2; ++turn) {
        if (aotc_kws_run(sounds, y, dtcm, sram) != 0 || aotc_sine_run(angle, z, dtcm, sram) != 0) return 3;
        if (memcmp(y, words, sizeof y) != 0 || memcmp(z, sine, sizeof z) != 0) return 4;
    }
    for (int i = 1; i <= 8; ++i) if (dtcm[sizeof dtcm - i] != 0xa5 || sram[sizeof sram - i] != 0xa5) return 5;
    return 0;
}
"""


def test_models_that_take_turns_share_pools(tmp_path: Path) -> None:
    """In the memory that `aotc link-plan` says is enough."""
    values: list[str] = []
    for name, model in {"kws": "kws_int8", "sine": "hello_world_int8"}.items():
        options: dict[str, Any] = {"target": BOARDS["m4f"].target, "pools": POOLS, "workspace": "caller"}
        aotc.compile_to(DATA / model / "model.onnx", tmp_path, name=name, **options)
        arrays = [np.load(DATA / model / f"{end}.npz") for end in ("inputs", "outputs")]
        values += [", ".join(map(str, archive[archive.files[0]].ravel())) for archive in arrays]
    plans = [str(tmp_path / f"{name}.json") for name in ("kws", "sine")]
    assert command(["link-plan", *plans, "-o", str(tmp_path / "shared.h")]) == 0
    main = tmp_path / "main.c"
    main.write_text(TAKE_TURNS % tuple(values))
    model = [tmp_path / "kws.c", tmp_path / "sine.c"]
    run(build(BOARDS["m4f"], tmp_path, model=model, program=[main]), timeout=60)
