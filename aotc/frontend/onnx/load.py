"""Reading a model file: one clear error for each way it can be none; the weights out of protobuf's hands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, NodeProto, TensorProto

from aotc.errors import CompileError, Problem
from aotc.frontend.objects.registry import model_of
from aotc.frontend.onnx.bodies import all_nodes, subgraphs
from aotc.frontend.onnx.check import check_model
from aotc.frontend.onnx.tensors import external_place
from aotc.model.model_file import ModelFile, Source

_FORMATS: tuple[tuple[int, bytes, str, str], ...] = (
    (4, b"TFL3", "a TensorFlow Lite model", "its shapes are fixed: `aotc.compile` takes it"),
    (0, b"PK\x03\x04", "an archive, as torch.save, Keras and numpy write", "load it there and export it as ONNX"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes", "load it there and export it as ONNX"),
    (0, b"\x80\x02", "a pickle, as torch.save and scikit-learn write", "load it there and export it as ONNX"),
    (0, b"\x80\x04", "a pickle", "load it where it was made and export it as ONNX"),
    (0, b"GGUF", "a GGUF file", "export the model it was made from as ONNX"),
    (0, b"\x7fELF", "machine code", "`aotc inspect` shows it, `aotc.load` loads a library"),
)
"""Where in a file which bytes are, of what, and what to do."""


def serialized(source: object) -> bytes:
    """The bytes of a model that is no file. Raises as `model_of`."""
    found = model_of(source)
    assert not isinstance(found, str | os.PathLike)
    return found if isinstance(found, bytes) else found.SerializeToString()


def not_a_model(data: bytes, what: str) -> Problem:
    """The problem of a file that is none of a model, by what it is instead."""
    for place, magic, kind, fix in _FORMATS:
        if data[place : place + len(magic)] == magic:
            return Problem("not-a-model", f"{what} is {kind}, not an ONNX model", fix=fix)
    start = data[:4096].decode(errors="ignore")
    if all(character.isprintable() or character.isspace() for character in start):
        fix = "give a binary .onnx file; IR needs --start-at PHASE"
        return Problem("not-a-model", f"{what} is a text file, not an ONNX model", fix=fix)
    return Problem("not-a-model", f"{what} is not an ONNX model, or is truncated", fix="export or download it again")


KEEP_LIMIT = 256
"""Raw data of up to this many bytes stays in the protobuf message."""


@dataclass(frozen=True)
class Model:
    """A checked model. The raw data of large initializers is not in `proto` but in `payloads`."""

    proto: ModelProto
    name: str = "model"
    """The name of the file, without folder and ending."""
    folder: Path | None = None
    """Where external data may lie; None for a model that is not from a file."""
    payloads: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Initializer name -> raw data."""


def load_model(source: Source) -> Model:
    """Read and check a model: a file by its path, the bytes of one, or a ModelProto (which stays as it is).

    Raises OSError where the file (or one with external data) cannot be read, CompileError with every problem found
    where it holds no valid model, and as `model_of`.
    """
    source = model_of(source)
    if isinstance(source, ModelProto):
        return _checked(source, "model", None, "the model")
    if isinstance(source, bytes):
        return _checked(_parsed(source, "the model"), "model", None, "the model")
    file = source if isinstance(source, ModelFile) else ModelFile(source)
    path = file.path
    proto = _parsed(file.take(), path.name)
    return _checked(proto, path.stem, path.parent, path.name)


def _parsed(data: bytes, what: str) -> ModelProto:
    if not data:
        raise CompileError("not-a-model", f"{what} is empty", fix="it should be an ONNX model")
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        raise CompileError(not_a_model(data, what)) from None
    if not proto.HasField("graph") or not proto.ir_version:
        raise CompileError(not_a_model(data, what))
    return proto


def _checked(proto: ModelProto, name: str, folder: Path | None, what: str) -> Model:
    try:
        slim, payloads = _without_payloads(proto)
        _require_text(slim)
    except UnicodeError:
        fix = "the file may be damaged"
        raise CompileError("not-a-model", f"{what} holds a name that is not UTF-8", fix=fix) from None
    if problems := check_model(slim, folder, payloads):
        raise CompileError(problems)
    return Model(slim, name, folder, payloads)


def _without_payloads(proto: ModelProto) -> tuple[ModelProto, dict[str, bytes]]:
    """The parts of `proto` that matter without the raw data of its large initializers, and that data by initializer
    name.

    A copy, because what is cleared in a message stays in its memory until the whole message goes.
    """
    payloads: dict[str, bytes] = {}
    slim = ModelProto()
    _copy(proto, slim, but={"graph", "training_info", "metadata_props"})
    slim.graph.SetInParent()
    _copy(proto.graph, slim.graph, but={"initializer", "quantization_annotation", "metadata_props"})
    for tensor in proto.graph.initializer:
        copy = slim.graph.initializer.add()
        data = tensor.raw_data
        large = len(data) > KEEP_LIMIT and tensor.name not in payloads
        _copy(tensor, copy, but={"raw_data"} if large else set())
        if large:
            payloads[tensor.name] = data
    return slim, payloads


def _copy(source: Message, target: Message, but: set[str]) -> None:
    """Copy the fields of `source` that are set into the empty `target`, all `but` some and documentation."""
    for descriptor, value in source.ListFields():
        if descriptor.name in but or descriptor.name == "doc_string":
            continue
        if descriptor.is_repeated:
            getattr(target, descriptor.name).extend(value)
        elif descriptor.message_type is not None:
            getattr(target, descriptor.name).CopyFrom(value)
        else:
            setattr(target, descriptor.name, value)


def _require_text(message: Message) -> None:
    """Raise UnicodeError where a name in `message` is not UTF-8: protobuf then gives bytes for a string."""
    for descriptor, value in message.ListFields():
        values = value if descriptor.is_repeated else [value]
        if descriptor.message_type is not None:
            for inner in values:
                _require_text(inner)
        elif descriptor.type == FieldDescriptor.TYPE_STRING and any(isinstance(text, bytes) for text in values):
            raise UnicodeError


def external_files(model: Model) -> dict[str, Path]:
    """Location, as the model says it -> file. Raises TensorError or OSError where the importer would not read one."""
    found: dict[str, Path] = {}
    nodes = [*model.proto.graph.node, *(node for function in model.proto.functions for node in function.node)]
    for tensor in (*model.proto.graph.initializer, *_of_nodes(nodes)):
        if tensor.data_location == TensorProto.EXTERNAL:
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
            found[location] = external_place(tensor, model.folder)[0]
    return dict(sorted(found.items()))


def _of_nodes(nodes: list[NodeProto]) -> Iterator[TensorProto]:
    for node in all_nodes(nodes):
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
        for graph in subgraphs(node):
            yield from graph.initializer
