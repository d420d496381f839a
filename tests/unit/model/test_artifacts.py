"""Artefacts as values, and every place to keep a set: what is read is what was kept."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_c import quick_flags

import aotc
from aotc.emit.model_library import read_model_library, read_parameters
from aotc.errors import UsageError
from aotc.measuring.routes import build_shared
from aotc.model import artifacts as model_artifacts
from aotc.model import extensions
from aotc.model.artifacts import FLASH, HOST, NATIVE, NONE, RAM, Artifact, ArtifactSet, MissingLoaderWarning, Pieces
from aotc.pipeline.options import KINDS

MODEL = Path(__file__).parents[2] / "models/data/kws_float"
ONE = Artifact("c", NATIVE, "m.c", b"int x;\n", FLASH, "cortex-m4", ("-std=c99", "-O2"))


@pytest.fixture(scope="module")
def artifacts() -> ArtifactSet:
    """F2: every kind of artefact that is made."""
    kinds = [kind for kind in KINDS if kind != "vm"]  # bytecode is of packed models: tests/unit/vm/test_emit_vm.py
    return aotc.build(MODEL / "model.onnx", name="m", emit=kinds, optimize="0")


@pytest.fixture(scope="module")
def recorded() -> tuple[dict[str, np.ndarray], np.ndarray]:
    with np.load(MODEL / "inputs.npz") as inputs, np.load(MODEL / "outputs.npz") as outputs:
        return dict(inputs.items()), next(iter(outputs.values()))


def test_f1_an_artefact_is_a_frozen_value() -> None:
    assert (ONE.codegen, ONE.loader, ONE.name, ONE.content) == ("c", "native", "m.c", b"int x;\n")
    with pytest.raises(AttributeError):
        ONE.name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    same = Artifact("c", NATIVE, "m.c", Pieces(lambda: ["int ", "x;\n"]), FLASH, "cortex-m4", ("-std=c99", "-O2"))
    assert same == ONE and hash(same) == hash(ONE) and same.read() == same.read()
    assert Artifact("c", NATIVE, "m.c", b"int y;\n", FLASH, "cortex-m4", ("-std=c99", "-O2")) != ONE


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\\b", "a\0b"])
def test_names_are_those_of_files(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a file"):
        Artifact("c", NATIVE, name, b"")


def test_f22_names_are_unique_within_a_code_generator() -> None:
    """F22: also that the file of a later one, in a folder, is no artefact's name."""
    first, other = (Artifact(codegen, "none", "m.c", b"") for codegen in ("c", "other"))
    assert [*ArtifactSet((first, other)).files] == ["m.c", "other.m.c"]
    for refused in ((first, first), (replace(first, name="other.m.c"), first, other)):
        with pytest.raises(ValueError, match=r"two artefacts are named \w*\.?m\.c"):
            ArtifactSet(refused)


def test_f3_export_and_load_are_inverse(artifacts: ArtifactSet) -> None:
    assert Artifact.load(ONE.export()) == ONE
    for artifact in artifacts:
        assert Artifact.load(artifact.export()) == artifact
    assert ArtifactSet.of_blob(artifacts.blob()) == artifacts


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_artefacts_can_be_pickled(
    make: Callable[[Any], Any], artifacts: ArtifactSet, recorded: tuple[dict[str, np.ndarray], np.ndarray]
) -> None:
    assert make(artifacts) == artifacts and make(ONE) == ONE
    assert make(Artifact("c", NATIVE, "m.c", Pieces(lambda: ["int ", "x;\n"]))).read() == b"int x;\n"
    inputs, expected = recorded
    (actual,) = make(aotc.build(MODEL / "model.onnx", name="m", emit="object")).load()(inputs).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    assert ArtifactSet.of_blob(b"") == ArtifactSet(())


def test_f17_what_is_damaged_is_refused() -> None:
    """Every byte of the frame and every length: an error, or an artefact that says so of itself."""
    blob = ONE.export()
    for end in range(len(blob)):
        with pytest.raises(ValueError):
            Artifact.load(blob[:end])
    with pytest.raises(ValueError, match="1 bytes follow"):
        Artifact.load(blob + b"x")
    for position in (*range(20), *range(len(blob) - len(ONE.read()), len(blob))):
        damaged = bytearray(blob)
        damaged[position] ^= 0x41
        with pytest.raises(ValueError):
            Artifact.load(bytes(damaged))
    for field, value in (("name", "../m.c"), ("name", 3), ("role", "attic"), ("flags", "-O2"), ("flags", [1])):
        described = json.dumps(ONE.listed() | {field: value}).encode()
        lengths = len(described).to_bytes(4, "little") + len(ONE.read()).to_bytes(8, "little")
        with pytest.raises(ValueError, match=r"^(?!.*damaged)"):
            Artifact.load(b"AOTCART2" + lengths + described + ONE.read())


def test_f13_f18_a_folder_is_a_place_to_keep_a_set(artifacts: ArtifactSet, tmp_path: Path) -> None:
    artifacts.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {artifact.name for artifact in artifacts}
    assert ArtifactSet.read(tmp_path, "m") == ArtifactSet.read(tmp_path) == artifacts
    listing = tmp_path / "m.json"
    text = listing.read_text()
    for damaged in (text.replace('"m.o"', '"../m.o"'), text.replace('"m.o"', '"gone.o"'), "{}", "[" * 5000):
        listing.write_text(damaged)
        with pytest.raises((ValueError, OSError)):
            ArtifactSet.read(tmp_path)


def test_f18_a_model_library_keeps_every_kind(artifacts: ArtifactSet) -> None:
    archive = artifacts["m.tar"].read()
    kept = read_model_library(archive)
    assert [each.name for each in kept] == [each.name for each in artifacts if each.name != "m.tar"]
    assert all(each == artifacts[each.name] for each in kept if each.name != "m.json")
    constants = artifacts.metadata.constants
    assert constants and artifacts.metadata.weights == "embedded", "weights are in parameters/ also where code has them"
    assert len(read_parameters(archive)) >= max(each.offset for each in constants) > 0
    with pytest.raises(ValueError, match="of version 8"):
        read_model_library(archive.replace(b'"version": 7', b'"version": 8'))
    weights = read_parameters(archive)
    for part in (weights[-64:], artifacts["m.o"].read()[-64:]):
        assert archive.count(part)
        with pytest.raises(ValueError, match="damaged"):
            flipped = archive.replace(part, part[:-1] + bytes([part[-1] ^ 1]))
            read_model_library(flipped)
            read_parameters(flipped)
    for damaged in (archive[:700], archive.replace(b'"artifacts"', b'"artefacts"'), b"", b"no tar"):
        with pytest.raises(ValueError, match="not a model library"):
            read_model_library(damaged)


@pytest.mark.parametrize("weights", ["embedded", "caller"])
def test_a_flipped_byte_is_found(weights: str, tmp_path: Path) -> None:
    """Of each file of a set, and of a library and its weights where they are loaded. F13."""
    made = aotc.build(MODEL / "model.onnx", name="m", emit=("c", "shared"), weights=weights, optimize="0")
    made.write(tmp_path)
    listed = {each["name"]: each for each in json.loads((tmp_path / "m.json").read_text())["artifacts"]}
    assert {name for name, each in listed.items() if "sha256" not in each} == {"m.json"}
    assert aotc.load(tmp_path / "m.so").metadata.name == "m"
    for name, each in listed.items():
        path = tmp_path / name
        whole = path.read_bytes()
        if name == "m.json":
            continue
        assert hashlib.sha256(whole).hexdigest() == each["sha256"]
        path.unlink()  # a library is in memory as it was
        path.write_bytes(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:])
        with pytest.raises(UsageError, match=rf"{name} is damaged.*\[invalid-file\]"):
            ArtifactSet.read(tmp_path)
        if name in ("m.so", "m.weights.bin"):
            with pytest.raises(UsageError, match=rf"{name} is damaged.*\[invalid-file\]"):
                aotc.load(tmp_path / "m.so")
        path.write_bytes(whole)
    assert ArtifactSet.read(tmp_path) == made
    if weights == "embedded":  # what somebody links of the C there is none of the artefacts
        (tmp_path / "m.so").unlink()
        assert aotc.load(build_shared(tmp_path / "m.c", quick_flags())).metadata.name == "m"
    if weights == "caller":  # the library says itself what its weights are
        (tmp_path / "m.json").unlink()
        assert aotc.load(tmp_path / "m.so").metadata.weights == "caller"
        path = tmp_path / "m.weights.bin"
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises(UsageError, match="damaged"):
            aotc.load(tmp_path / "m.so")


def test_f12_f21_the_metadata_lists_what_there_is_and_how_to_build_it(artifacts: ArtifactSet) -> None:
    listed = {each["name"]: each for each in json.loads(artifacts["m.json"].text())["artifacts"]}
    assert list(listed) == [artifact.name for artifact in artifacts]
    assert listed["m.o"]["codegen"] == "llvm" and listed["m.o"]["loader"] == "native"
    assert listed["m.c"]["role"] == "flash" and listed["m.h"]["role"] == "host"
    assert {"-std=c99", "-ffp-contract=off", "-lm"} < {*listed["m.c"]["flags"]}
    board = aotc.build(MODEL / "model.onnx", target="cortex-m4f", optimize="0")
    flags = json.loads(board["model.json"].text())["artifacts"][0]["flags"]
    assert {"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard"} < {*flags}


def test_f20_artefacts_are_kept_apart_by_target(artifacts: ArtifactSet) -> None:
    board = aotc.build(MODEL / "model.onnx", name="b", target="cortex-m4f", emit="c,object", optimize="0")
    both = ArtifactSet((*artifacts, *board))
    assert {target: {each.name for each in group} for target, group in both.by_target().items()} == {
        "host": {each.name for each in artifacts},
        "cortex-m4f": {each.name for each in board},
    }


def test_f4_f6_what_is_linked_is_what_runs(
    artifacts: ArtifactSet, recorded: tuple[dict[str, np.ndarray], np.ndarray], tmp_path: Path
) -> None:
    """Native code is linked before it first runs, and the exported library is the one that runs."""
    feeds, expected = recorded
    code = aotc.build(MODEL / "model.onnx", name="m", emit="object", optimize="0")
    library = code.export_library(tmp_path / "other-name.so")
    assert library.read_bytes() == artifacts["m.so"].read()
    answers = [each(feeds) for each in (code.load(), aotc.load(library), artifacts.load(), code.jit())]
    for answer in answers:
        (output,) = answer.values()
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
        assert np.array_equal(output, next(iter(answers[0].values())))


def test_f6_f11_c_is_linked_where_there_is_no_object(
    artifacts: ArtifactSet, recorded: tuple[dict[str, np.ndarray], np.ndarray]
) -> None:
    """F11: and where there is one, the file of C beside it is not compiled at all."""
    feeds, expected = recorded
    source = ArtifactSet(tuple(each for each in artifacts if each.name in ("m.c", "m.h", "m.json")))
    wrong = replace(artifacts["m.c"], content=b"#error not compiled\n")
    both = ArtifactSet((wrong, artifacts["m.json"], artifacts["m.o"]))
    for found in (source, both):
        (output,) = found.load()(feeds).values()
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(aotc.CompileError, match=r"(?s)m\.c.*\[failed-tool\]"):
        ArtifactSet((wrong, artifacts["m.json"])).load()


def test_f10_a_library_carries_all_that_other_loaders_need(
    artifacts: ArtifactSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F10: a loader finds every artefact that names it in one group, in order, each field as it was."""
    carried = (
        Artifact("x", "zebra", "m.1", b"one", FLASH, "cortex-m4", ("-O1", "-g")),
        Artifact("y", "ant", "m.2", b"", HOST),
        Artifact("x", "zebra", "m.3", bytes(range(256)) * 9, RAM, "", ("-x",)),
        Artifact("z", "zebra", "m.4", b"four"),
    )
    seen: dict[str, list[tuple[object, ...]]] = {}

    def loader(name: str, group: Sequence[Artifact]) -> Callable[[Sequence[Artifact]], dict[str, object]]:
        def load(given: Sequence[Artifact]) -> dict[str, object]:
            seen[name] = [astuple(each) for each in given]
            return {}

        return load

    monkeypatch.setattr(model_artifacts, "_loader", loader)
    whole = ArtifactSet((carried[0], artifacts["m.o"], *carried[1:3], artifacts["m.json"], carried[3]))
    with pytest.warns(MissingLoaderWarning, match=r"m\.(1|2)"):
        library = whole.export_library(tmp_path / "m.so")
    expected = {"ant": [astuple(carried[1])], "zebra": [astuple(carried[each]) for each in (0, 2, 3)]}
    for load in (
        lambda: aotc.load(library),
        lambda: ArtifactSet((artifacts["m.so"], *carried, artifacts["m.json"])).load(),
    ):
        seen.clear()
        load()
        assert seen == expected and list(seen) == ["ant", "zebra"]


def test_f7_code_for_one_process_runs_and_says_why_it_is_no_library(
    recorded: tuple[dict[str, np.ndarray], np.ndarray], tmp_path: Path
) -> None:
    feeds, expected = recorded
    made = aotc.build(MODEL / "model.onnx", name="m", loader="jit")
    np.testing.assert_allclose(next(iter(made.load()(feeds).values())), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(aotc.UsageError, match=r"m\.o.*\[not-linkable\]"):
        made.export_library(tmp_path / "m.so")
    assert not (tmp_path / "m.so").exists()
    made.write(tmp_path)
    again = ArtifactSet.read(tmp_path)
    assert again == made and b"\x7fELF" in again["m.o"].read()[:4]
    np.testing.assert_allclose(next(iter(again.load()(feeds).values())), expected, rtol=1e-4, atol=1e-5)


def test_f5_loaders_have_all_their_artefacts_at_once_and_in_the_order_of_their_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F5: whatever the order of the set; what each gives is added to the host, and ours are left to the host."""

    class Host:
        def __init__(self) -> None:
            self.added: list[str] = []

        def add(self, functions: Mapping[str, object]) -> None:
            self.added += functions

        def model(self) -> list[str]:
            return self.added

    seen: list[tuple[str, list[str]]] = []

    def loader(name: str, group: Sequence[Artifact]) -> Callable[[Sequence[Artifact]], dict[str, object]]:
        def load(given: Sequence[Artifact]) -> dict[str, object]:
            assert given == group
            seen.append((name, [each.name for each in given]))
            return {f"{name}.f": None}

        return load

    monkeypatch.setattr(model_artifacts, "_loader", loader)
    made = [("zebra", "1"), ("ant", "2"), ("zebra", "3"), (NATIVE, "m.o"), ("mole", "4"), (NONE, "m.h")]
    found = ArtifactSet(tuple(Artifact("x", each, name, b"") for each, name in made)).loaded_on(Host())
    assert seen == [("ant", ["2"]), ("mole", ["4"]), ("zebra", ["1", "3"])]
    assert found == ["ant.f", "mole.f", "zebra.f"]


def test_f23_a_loader_that_is_not_installed_is_said_when_a_library_is_made(
    artifacts: ArtifactSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F23: by a warning, for the library may run where it is; loading is an error then."""
    installed = EntryPoint("mole", "nowhere:load", "aotc.loaders")
    monkeypatch.setattr(extensions, "points", lambda group: [installed] if group == "aotc.loaders" else [])
    loaders = {"m.1": "ant", "m.2": "mole", "m.3": "ant"}
    others = [Artifact("x", loader, name, b"") for name, loader in loaders.items()]
    made = ArtifactSet((artifacts["m.o"], artifacts["m.json"], *others))
    with pytest.warns(MissingLoaderWarning) as caught:
        library = made.export_library(tmp_path / "m.so")
    (said,) = [str(each.message) for each in caught if each.category is MissingLoaderWarning]
    assert "m.1, m.3" in said and "'ant'" in said and "[unknown-loader]" in said and "m.2" not in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ArtifactSet((*made.artifacts[:2], others[1])).export_library(tmp_path / "other.so")
        with pytest.raises(aotc.UsageError, match=r"m\.1, m\.3.*\[unknown-loader\]"):
            aotc.load(library)


def test_jit_asks_for_an_object(artifacts: ArtifactSet) -> None:
    source = ArtifactSet(tuple(each for each in artifacts if each.name in ("m.c", "m.h", "m.json")))
    with pytest.raises(aotc.UsageError, match="not-loadable"):
        source.jit()


@pytest.mark.parametrize("options", [{"split": True}, {"weights": "external"}, {"split": True, "weights": "external"}])
def test_f7_all_objects_and_the_weights_are_run_in_memory(
    options: dict[str, Any], recorded: tuple[dict[str, np.ndarray], np.ndarray]
) -> None:
    feeds, expected = recorded
    found = aotc.build(MODEL / "model.onnx", name="m", emit="object", optimize="0", **options).jit()(feeds)
    np.testing.assert_allclose(next(iter(found.values())), expected, rtol=1e-4, atol=1e-5)


def test_f7_what_finds_operators_by_name_is_linked() -> None:
    packed: dict[str, Any] = {"interface_api": "packed", "operator_api": "packed", "runtime": "host"}
    artifacts = aotc.build(MODEL / "model.onnx", name="m", emit="object", optimize="0", **packed)
    with pytest.raises(aotc.UsageError, match="not-loadable"):
        artifacts.jit()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loader": "jit", "target": "cortex-m4"}, "option-conflict"),
        ({"loader": "other"}, "unknown-choice"),
        ({"stop_after": "graph"}, "wrong-function"),
    ],
)
def test_what_cannot_be_built_is_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(aotc.UsageError, match=why):
        aotc.build(MODEL / "model.onnx", **options)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("target", ["host", "x86-64"])
def test_sets_of_every_level_of_vectors_run_at_the_default_level(target: str, emit: str) -> None:
    model = MODEL.with_name("kws_int8")
    with np.load(model / "inputs.npz") as inputs, np.load(model / "outputs.npz") as outputs:
        found = aotc.build(model / "model.onnx", target=target, emit=emit).load()(dict(inputs.items()))
        assert all(np.array_equal(array, outputs[name]) for name, array in found.items())


def test_threads_are_linked_with_the_code(recorded: tuple[dict[str, np.ndarray], np.ndarray]) -> None:
    """The pool of threads is in the object; beside C it is a file of its own."""
    feeds, expected = recorded
    both = aotc.build(MODEL / "model.onnx", name="m", threads=2)
    source = ArtifactSet(tuple(each for each in both if each.name != "m.o"))
    for model in (both.jit(), both.load(), source.load()):
        np.testing.assert_allclose(next(iter(model(feeds).values())), expected, rtol=1e-4, atol=1e-5)
