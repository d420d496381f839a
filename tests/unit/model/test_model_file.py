"""A model file is read once, whenever that begins."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from aotc.errors import CompileError
from aotc.model import model_file
from aotc.model.model_file import ModelFile

CONTENT = bytes(range(256)) * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("digest_first", [False, True])
def test_content_and_digest(tmp_path: Path, ahead: bool, digest_first: bool) -> None:
    (tmp_path / "model.onnx").write_bytes(CONTENT)
    file = ModelFile(tmp_path / "model.onnx")
    if ahead:
        file.read_ahead()
    if digest_first:
        assert file.digest() == DIGEST
    assert file.content() == CONTENT
    assert file.take() == CONTENT
    assert file.digest() == DIGEST


def test_a_pipe_is_read_once() -> None:
    end, start = os.pipe()
    os.write(start, b"a model")
    os.close(start)
    file = ModelFile(f"/dev/fd/{end}")
    file.read_ahead()
    assert file.digest() == hashlib.sha256(b"a model").hexdigest()
    assert file.take() == file.content() == b"a model"
    os.close(end)


def test_what_goes_wrong_ahead_is_raised_where_the_content_is_asked_for(tmp_path: Path) -> None:
    file = ModelFile(tmp_path / "missing.onnx")
    file.read_ahead()
    with pytest.raises(FileNotFoundError):
        file.digest()
    with pytest.raises(FileNotFoundError):
        file.content()


def test_of_a_pipe_that_is_too_long_nothing_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "PROTOBUF_LIMIT", 8)
    end, start = os.pipe()
    os.write(start, b"123456789 and more")
    os.close(start)
    file = ModelFile(f"/dev/fd/{end}")
    file.read_ahead()
    for read in (file.digest, file.content, file.take):
        with pytest.raises(CompileError, match="too-large"):
            read()
    os.close(end)
