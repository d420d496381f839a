"""Attributes of nodes as Python values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnx import AttributeProto

from aotc.frontend.onnx.tensors import TensorError, read_tensor


def attribute_value(attribute: AttributeProto, folder: Path | None) -> Any:
    """A number, a string, an array, or a list of them, or a type; `folder` is where the model lies.

    Raises TensorError for other kinds, and as `read_tensor`.
    """
    match attribute.type:
        case AttributeProto.FLOAT:
            return attribute.f
        case AttributeProto.INT:
            return attribute.i
        case AttributeProto.STRING:
            return attribute.s.decode("utf-8", "replace")
        case AttributeProto.TENSOR:
            return read_tensor(attribute.t, folder)
        case AttributeProto.FLOATS:
            return list(attribute.floats)
        case AttributeProto.INTS:
            return list(attribute.ints)
        case AttributeProto.STRINGS:
            return [text.decode("utf-8", "replace") for text in attribute.strings]
        case AttributeProto.TENSORS:
            return [read_tensor(tensor, folder) for tensor in attribute.tensors]
        case AttributeProto.TYPE_PROTO:
            return attribute.tp
        case _:
            kind = AttributeProto.AttributeType.Name(attribute.type).lower()
            raise TensorError(f"attribute {attribute.name!r} of type {kind} is not supported")
