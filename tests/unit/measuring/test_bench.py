"""`aotc bench`: that it measures what it says, never how long that takes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import prefork
import pytest

from aotc.compiler.driver import in_process, lower
from aotc.emit.llvm.jit import host_object
from aotc.errors import AotcError, UsageError
from aotc.machines.targets import lookup
from aotc.measuring.bench import rounds
from aotc.measuring.bench.peers import OTHERS
from aotc.measuring.bench.rounds import Result, Rounds, parse_peers, ratio, run_peers
from aotc.measuring.profiling import CallProfile, Processor, Profile, compile_profiled, processor, profile
from aotc.pipeline.options import CompileOptions

AOTC = Path(sys.executable).with_name("aotc")
MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
QUICK = Rounds(count=2, seconds=0.001, runs=2)
ROUTES = ("aotc", "aotc shared", "aotc C")


def _json(*arguments: str | Path) -> dict[str, object]:
    command = prefork.commands() / "aotc"
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_profile_covers_every_call_and_node() -> None:
    found = profile(str(MODEL), CompileOptions(), seconds=0.01)
    compilation = lower(str(MODEL), in_process(CompileOptions()))
    assert len(found.calls) == sum(kernel.calls for kernel in compilation.info().kernels)
    nodes = {node for call in found.calls for node in call.nodes}
    assert nodes == {node for kernel in compilation.info().kernels for node in kernel.nodes}
    assert all(call.seconds >= 0 for call in found.calls) and found.seconds > 0
    assert max(call.operations for call in found.calls) > 100_000, "the convolution"


def test_profiled_code_computes_the_same() -> None:
    profiled = compile_profiled(str(MODEL), CompileOptions())
    shape, dtype = profiled.model.inputs[0].shape, profiled.model.inputs[0].dtype
    x = np.random.default_rng(0).integers(-128, 127, shape).astype(dtype)
    import aotc

    plain = aotc.compile(str(MODEL))(x)
    counted = profiled.model(x)
    assert all(np.array_equal(plain[name], counted[name]) for name in plain)
    assert (profiled.counters > 0).all()


def test_without_it_nothing_is_counted() -> None:
    options = in_process(CompileOptions())
    image = host_object(lower(str(MODEL), options))
    assert b"_profile" not in image
    assert b"_profile" in host_object(lower(str(MODEL), dataclasses.replace(options, profile=True)))


def test_processor_is_measured_in_plausible_units() -> None:
    assert 1e8 < processor().peak < 1e13
    assert 1e-11 < processor().seconds_per_tick < 1e-6


def test_kernels_are_compared_with_the_peak_of_their_type() -> None:
    vnni, none = (Processor(1e11, 1e-9, narrow) for narrow in (4.0, 0.5))
    assert vnni.peak_of("float32") == vnni.peak_of("int16") == 1e11
    assert vnni.peak_of("int8") == vnni.peak_of("uint8") == 4e11
    assert none.peak_of("int8") == 5e10
    unit = lookup("host").vectors
    assert unit is None or processor().narrow == 4 / unit.dot.least_cycles / unit.tiles.multipliers
    (dtypes,) = {tuple(call.dtype for call in compile_profiled(str(MODEL), CompileOptions()).calls)}
    assert {"uint8", "int8"} & {*dtypes}
    calls = [CallProfile("f", (), 800, dtype, None, 1e-9) for dtype in ("float32", "int8")]
    assert [Profile((), vnni).share_of_peak(call) for call in calls] == pytest.approx([8.0, 2.0])


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Peers have processes that are forked, for tests whose point is not the start of an interpreter for each."""
    monkeypatch.setattr(rounds, "_WORKER", (str(prefork.commands() / "bench-worker"),))


@pytest.fixture(scope="module")
def by_every_route() -> dict[str, Result]:
    """All our routes against a peer."""
    pytest.importorskip("onnxruntime")
    return run_peers(str(MODEL), [*ROUTES, "onnxruntime"], CompileOptions(), QUICK)


@pytest.mark.parametrize("route", ROUTES)
def test_peers_agree(route: str, by_every_route: dict[str, Result]) -> None:
    for result in (by_every_route[route], by_every_route["onnxruntime"]):
        assert result.error is None and len(result.rounds) == QUICK.count
        assert result.difference is not None and result.difference < 0.01
        assert result.overhead_seconds is not None


@pytest.mark.usefixtures("forked")
def test_a_model_that_cannot_be_compiled_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    with pytest.raises(AotcError) as caught:
        run_peers(str(broken), ["aotc"], CompileOptions(), QUICK)
    assert caught.value.problems and caught.value.exit_code == 3


@pytest.mark.usefixtures("forked")
def test_a_peer_that_fails_does_not_stop_the_others() -> None:
    results = run_peers(str(MODEL), ["aotc", "emx"], CompileOptions(), QUICK, threads=2)
    assert "one thread" in str(results["emx"].error) and results["aotc"].error is None


@pytest.mark.usefixtures("forked")
def test_outputs_of_other_sizes_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    found = rounds._Worker.outputs.fget
    assert found is not None
    monkeypatch.setattr(
        rounds._Worker,
        "outputs",
        property(lambda self: [*found(self), np.zeros(1)] if self._peer == "aotc C" else found(self)),
    )
    results = run_peers(str(MODEL), ["aotc", "aotc C"], CompileOptions(), QUICK)
    assert "other sizes" in str(results["aotc C"].error) and len(results["aotc"].rounds) == QUICK.count
    with pytest.raises(AotcError, match="failed-tool"):
        run_peers(str(MODEL), ["aotc C", "onnxruntime"], CompileOptions(), QUICK)


def test_what_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--rounds 0.*\[out-of-range\]"):
        Rounds(count=0)
    missing = tmp_path / "inputs.npz"
    with pytest.raises(FileNotFoundError):
        run_peers(str(MODEL), ["aotc"], CompileOptions(), QUICK, inputs=str(missing))
    assert not missing.exists(), "it is not made up"
    done = subprocess.run([AOTC, "bench", MODEL, "--profile", "--against", "all"], capture_output=True, check=False)
    assert done.returncode == 2 and b"--profile with --against" in done.stderr


def test_ratio_is_taken_within_rounds() -> None:
    ours, theirs = Result("a", rounds=[1.0, 2.0, 4.0]), Result("b", rounds=[2.0, 4.0, 8.0])
    assert ratio(theirs, ours) == 2.0


def test_names_of_peers() -> None:
    with pytest.raises(UsageError, match="unknown-choice"):
        parse_peers("tensorflow")
    assert set(parse_peers("all")) <= set(OTHERS)


def test_command_prints_json() -> None:
    timed = _json("bench", MODEL, "--rounds", "1", "--seconds", "0.001", "--json")
    assert {"seconds", "overhead_seconds", "threads", "peers"} <= set(timed)
    profiled = _json("bench", MODEL, "--profile", "--json")
    assert {"seconds", "peak_gflops", "kernels"} <= set(profiled)
    kernels = profiled["kernels"]
    assert isinstance(kernels, list)
    wanted = {"symbol", "nodes", "operations", "seconds", "share", "gflops", "share_of_peak", "dtype"}
    assert all(wanted <= set(kernel) for kernel in kernels)
    assert sum(kernel["share"] for kernel in kernels) == pytest.approx(1.0)


def test_networks_of_the_benchmark_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks")
    from networks import MODELS, write

    for name in ("mlp3", "kws_dscnn", "bert_tiny"):
        assert name in MODELS
        path = write(name, tmp_path)
        first = path.read_bytes()
        path.unlink()
        assert write(name, tmp_path).read_bytes() == first


def test_report_shows_ratios_and_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks")
    from report import write_report

    def result(peer: str, *rounds: float) -> Result:
        return Result(peer, "1", rounds=list(rounds), difference=1e-6, overhead_seconds=1e-6)

    measured = {
        "net": {
            "aotc shared": result("aotc shared", 1.0, 2.0, 3.0),
            "aotc C": result("aotc C", 1.1, 2.2, 3.3),
            "onnxruntime": result("onnxruntime", 2.0, 4.0, 6.0),
            "ncnn": Result("ncnn", "1", error="cannot"),
        }
    }
    about = {"processor": "P", "peak_gflops": 1.0, "c_compiler": "cc", "real_time_priority": True, "rounds": 3}
    about |= {"system": "S on M", "date": "2001-02-03", "vectors": {"width": 64, "registers": 32}}
    write_report(tmp_path, about | {"versions": {"aotc": "1"}}, measured, ["onnxruntime", "ncnn"])
    page = (tmp_path / "cpu.md").read_text()
    assert "| net | 0.500 | onnxruntime | 1.100 | 0.500 |  | 1e-06 |" in page
    assert "| geometric mean | 0.500 |" in page
    assert "P, one core with real-time priority, vectors of 512 bits, 1 GFLOP/s in f32 (measured); S on M" in page
    assert "2001-02-03" in page
    assert json.loads((tmp_path / "cpu.json").read_text())["models"]["net"]["ncnn"]["error"] == "cannot"
