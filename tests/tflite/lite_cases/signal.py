"""Operators of TFLite Micro's audio front end; inputs of a case are calls in a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lite_model import TYPES, Tensor

from lite_cases.case import Case, constant, random, single, tensor
from lite_cases.products import FLOAT


def flexbuffer(**options: Any) -> bytes:
    """Options of a custom operator."""
    from flatbuffers import flexbuffers

    return bytes(flexbuffers.Dumps(options))


def _custom(name: str, code: str, inputs: list[Tensor], outputs: list[Tensor], near: float = 0, **more: Any) -> Case:
    ranges = more.pop("ranges", None)
    return single(name, code, [*inputs], outputs, custom=flexbuffer(**more), tolerance=near, ranges=ranges)


def transforms() -> Iterator[Case]:
    """SignalRfft, SignalIrfft and SignalFftAutoScale."""
    for dtype in ("int16", "int32", "float32"):
        near = FLOAT if dtype == "float32" else 0
        whole: Any = {"ranges": {"x0": (-(2**31), 2**31 - 1)}} if dtype == "int32" else {}
        for length, given in ((16, 16), (64, 60), (512, 480), (48, 48), (40, 40)):
            ends = [tensor((1, given), dtype)], [tensor((1, length + 2), dtype)]
            options: Any = {"T": TYPES[dtype], "fft_length": length}
            yield _custom(f"rfft-{length}-{dtype}", "SignalRfft", *ends, near, **options, **whole)
            ends = [tensor((1, length + 2), dtype)], [tensor((1, length), dtype)]
            yield _custom(f"irfft-{length}-{dtype}", "SignalIrfft", *ends, near, **options, **whole)
    for name, few in (("loud", (-32767, 32767)), ("quiet", (-90, 70)), ("silent", (0, 1))):
        outs = [tensor((32,), "int16"), tensor((), "int32")]
        yield _custom(
            f"fft_auto_scale-{name}", "SignalFftAutoScale", [tensor((32,), "int16")], outs, ranges={"x0": few}
        )


def banks() -> Iterator[Case]:
    """SignalWindow, SignalEnergy and what is done with channels of energies."""
    weights = constant(random("window").integers(0, 4096, 32).astype(np.int16))
    yield _custom("window", "SignalWindow", [tensor((1, 32), "int16"), weights], [tensor((1, 32), "int16")], shift=12)
    weights = constant(random("window").integers(-30000, 30000, 16).astype(np.int16))
    ends = [tensor((3, 16), "int16"), weights], [tensor((3, 16), "int16")]
    yield _custom("window-rows", "SignalWindow", *ends, shift=11)
    ends = [tensor((34,), "int16")], [tensor((17,), "uint32")]
    yield _custom("energy", "SignalEnergy", *ends, start_index=0, end_index=17)
    widths, rng = np.array([3, 4, 5, 4], np.int16), random("bank")
    starts = np.array([1, 4, 8, 13], np.int16)
    rows = [starts, np.cumsum(widths).astype(np.int16) - widths, widths]
    tables = [constant(rng.integers(0, 4096, 16).astype(np.int16)) for _ in range(2)]
    given = [tensor((20,), "uint32"), *tables, *(constant(row.astype(np.int16)) for row in rows)]
    few = {"x0": (0, 2**31)}
    yield _custom("filter_bank", "SignalFilterBank", given, [tensor((3,), "uint64")], num_channels=3, ranges=few)
    for name, most in (("large", 2**60), ("small", 70_000)):
        given = [tensor((12,), "uint64"), tensor((), "int32")]
        few = {"x0": (0, most), "x1": (0, 5)}
        root = "SignalFilterBankSquareRoot"
        yield _custom(f"filter_bank_square_root-{name}", root, given, [tensor((12,), "uint32")], ranges=few)
    for name, most in (("large", 2**31), ("small", 60)):
        few = {"x0": (0, most)}
        ends = [tensor((12,), "uint32")], [tensor((12,), "int16")]
        options = {"input_correction_bits": 1, "output_scale": 1600}
        yield _custom(f"filter_bank_log-{name}", "SignalFilterBankLog", *ends, ranges=few, **options)
    for clamping in (True, False):
        outs = [tensor((8,), "uint32"), tensor((8,), "uint32")]
        options = {
            "alternate_one_minus_smoothing": 15892, "alternate_smoothing": 492, "clamping": clamping,
            "min_signal_remaining": 819, "num_channels": 8, "one_minus_smoothing": 15892, "smoothing": 492,
            "smoothing_bits": 10, "spectral_subtraction_bits": 14,
        }  # fmt: skip
        name = f"spectral_subtraction-{'clamped' if clamping else 'free'}"
        code = "SignalFilterBankSpectralSubtraction"
        yield _custom(name, code, [tensor((8,), "uint32")], outs, ranges={"x0": (0, 90_000)}, **options)
    table = random("pcan").integers(0, 20_000, 128)
    table[3::4], table[5::4] = 0, -table[5::4] // 9
    given = [tensor((8,), "uint32"), tensor((8,), "uint32"), constant(table.astype(np.int16))]
    few = {"x0": (0, 60_000), "x1": (0, 2**28)}
    yield _custom("pcan", "SignalPCAN", given, [tensor((8,), "uint32")], ranges=few, snr_shift=6)


def streams() -> Iterator[Case]:
    """SignalDelay, SignalFramer, SignalStacker and SignalOverlapAdd."""
    for length in (3, 8, 13):
        ends = [tensor((2, 8), "int16")], [tensor((2, 8), "int16")]
        yield _custom(f"delay-{length}", "SignalDelay", *ends, delay_length=length)
    outs = [tensor((1, 2, 12), "int16"), tensor((), "bool")]
    yield _custom("framer", "SignalFramer", [tensor((1, 16), "int16")], outs, frame_size=12, frame_step=8, prefill=True)
    # Without what is to its right each stack is complete; the output of one that is not keeps what was in memory.
    outs = [tensor((16,), "int16"), tensor((), "bool")]
    yield _custom(
        "stacker", "SignalStacker", [tensor((4,), "int16")], outs,
        num_channels=4, stacker_left_context=3, stacker_right_context=0, stacker_step=1,
    )  # fmt: skip
    for dtype in ("int16", "float32"):
        ends = [tensor((1, 3, 12), dtype)], [tensor((3, 8), dtype)]
        options: Any = {"T": TYPES[dtype], "frame_step": 8}
        yield _custom(f"overlap_add-{dtype}", "SignalOverlapAdd", *ends, 1e-6 if dtype == "float32" else 0, **options)


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from transforms()
    yield from banks()
    yield from streams()
