"""The cache is not trusted: entries that are not what was written, folders of others, models that name odd files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import aotc
from aotc.compiler import cache
from aotc.errors import CompileError, UsageError

SOURCE = """<ir_version: 8, opset_import: ["" : 18]>
kept (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"""
X = np.array([1, 2], np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file."""
    onnx.save(onnx.parser.parse_model(SOURCE), tmp_path / "kept.onnx")
    return tmp_path / "kept.onnx"


def flipped(path: Path) -> None:
    """One bit of the file is another."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncated(path: Path) -> None:
    """Half of the file is missing."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


def joined(path: Path) -> None:
    """There is one file more."""
    (path.parent / "more").write_bytes(b"")


def linked(path: Path) -> None:
    """The file is a link to what it was."""
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to("../elsewhere")


def piped(path: Path) -> None:
    """The file is a pipe that nobody writes to."""
    path.unlink()
    os.mkfifo(path)


DAMAGES = [flipped, truncated, emptied, removed, joined, linked, piped]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [".info.json", ".digests.json", ".artifacts.json", "kept.o", "kept.weights.bin"])
def test_a_damaged_entry_is_made_again(damage: Callable[[Path], None], name: str, folder: Path, model: Path) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    whole = {path.name: path.read_bytes() for path in entry.iterdir()}
    damage(entry / name)
    assert cache.find(entry.name) is None
    assert aotc.compile(model)(X)["y"].tolist() == [2, 4]
    found = cache.find(entry.name)
    assert found is not None and {path.name: path.read_bytes() for path in entry.iterdir()} == whole


@pytest.mark.parametrize("damage", [flipped, truncated])
def test_damaged_files_are_made_again(
    damage: Callable[[Path], None], folder: Path, model: Path, tmp_path: Path
) -> None:
    first = aotc.compile_to(model, tmp_path / "a", emit="c")
    (entry,) = folder.iterdir()
    damage(entry / "kept.c")
    second = aotc.compile_to(model, tmp_path / "b", emit="c")
    assert [path.read_bytes() for path in first.files] == [path.read_bytes() for path in second.files]
    assert (entry / "kept.c").read_bytes() == first.files[0].read_bytes()


@pytest.mark.parametrize("digests", ["[]", "{}", '{"entry": 1, "files": {}}', '{"files": [1]}', "[" * 100_000, "\xff"])
def test_digests_that_are_none(digests: str, folder: Path, model: Path) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    (entry / ".digests.json").write_bytes(digests.encode("latin-1"))
    assert cache.find(entry.name) is None and not entry.exists()


def test_an_entry_of_another_name_is_none(folder: Path, model: Path) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    other = 64 * "a"
    entry.rename(folder / other)
    assert cache.find(other) is None and list(folder.iterdir()) == []


def test_large_files_are_kept_whole(folder: Path) -> None:
    content = bytes(range(256)) * 5000
    cache.store(64 * "a", {"large": content, "empty": b""})
    found = cache.find(64 * "a")
    assert found is not None and found["large"][:] == content and found["empty"] == b""
    truncated(folder / (64 * "a") / "large")
    assert cache.find(64 * "a") is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(
    mode: int, folder: Path, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    folder.chmod(mode)
    assert cache.find(entry.name) is None
    assert aotc.compile(model)(X)["y"].tolist() == [2, 4]
    said = capfd.readouterr().err
    assert said.count("is not used: others can write it") == 1 and str(folder) in said
    cache.store(64 * "b", {"x": b""})
    assert list(folder.iterdir()) == [entry]
    with pytest.raises(UsageError, match="no-folder"):
        cache.tuning_table()
    folder.chmod(0o700)
    assert cache.find(entry.name) is not None


def test_an_entry_that_others_can_write_is_none(folder: Path, model: Path) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    entry.chmod(0o777)
    assert cache.find(entry.name) is None


def test_a_folder_of_another_user_is_not_used(
    folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.find(entry.name) is None and "belongs to another user" in capfd.readouterr().err


def test_the_folder_is_the_users_own(folder: Path, model: Path) -> None:
    before = os.umask(0)
    try:
        aotc.compile(model)
    finally:
        os.umask(before)
    (entry,) = folder.iterdir()
    modes = (
        {path.stat().st_mode & 0o777 for path in (folder, entry)},
        {p.stat().st_mode & 0o777 for p in entry.iterdir()},
    )
    assert modes == ({0o700}, {0o600})


def test_an_entry_that_is_a_link_is_none(folder: Path, model: Path, tmp_path: Path) -> None:
    aotc.compile(model)
    (entry,) = folder.iterdir()
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert cache.find(entry.name) is None


# Models


def external(path: Path, location: bytes) -> Path:
    """A model whose weight is in the file `location`."""
    model = onnx.parser.parse_model(SOURCE)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "?" * len(location)
    path.write_bytes(model.SerializeToString().replace(b"?" * len(location), location))
    return path


def test_a_pipe_as_external_data_is_refused(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = external(tmp_path / "m.onnx", b"pipe")
    script = f"import aotc; aotc.compile({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=600)
    assert "'pipe' is not a file" in done.stderr


@pytest.mark.parametrize("location", [b"\xff\xfe", b"../kept.onnx", b"/etc/passwd", b".", b"missing"])
def test_what_the_importer_refuses_is_not_read(location: bytes, folder: Path, model: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises((CompileError, OSError)):
        aotc.compile(external(inner / "m.onnx", location))
    assert not folder.exists()


def test_external_data_in_a_branch_counts(folder: Path, tmp_path: Path) -> None:
    source = """<ir_version: 8, opset_import: ["" : 18]> m (float[2] x) => (float[2] y) <bool c = {1}> {
      y = If (c) <then_branch = a () => (float[2] t) <float[2] w = {1, 2}> { t = Add(x, w) },
                  else_branch = b () => (float[2] e) { e = Neg(x) }>
    }"""
    model = onnx.parser.parse_model(source)
    tensor = model.graph.node[0].attribute[0].g.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "w.bin"
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    results: list[list[float]] = []
    for weights in ([1, 2], [3, 4]):
        (tmp_path / "w.bin").write_bytes(np.array(weights, np.float32).tobytes())
        results.append(aotc.compile(tmp_path / "m.onnx")(X)["y"].tolist())
    assert results == [[2, 4], [4, 6]] and len(list(folder.iterdir())) == 2


def test_a_pipe_is_read_once(folder: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        str(Path(sys.executable).with_name("aotc")),
        "compile",
        "/dev/stdin",
        "--name",
        "m",
        "-o",
        str(out),
        "--json",
    ]
    for _ in range(2):
        done = subprocess.run(command, input=model.read_bytes(), capture_output=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["report"]["name"] == "m"
    assert len(list(folder.iterdir())) == 1
