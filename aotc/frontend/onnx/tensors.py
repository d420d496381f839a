"""ONNX tensors as numpy arrays: views onto the bytes of the model, or maps of the files beside it; and attributes."""

from __future__ import annotations

import math
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, TypeProto, helper, numpy_helper
from xdsl.dialects.builtin import FixedBitwidthType

from aotc.dialects.dtypes import ELEMENT_TYPES, DType, element_type, is_encoded, numpy_dtype
from aotc.model.limits import MAX_ELEMENTS
from aotc.model.weight_store import Array

_CODES = {helper.tensor_dtype_to_np_dtype(code).name: code for code in helper.get_all_tensor_dtypes()}
DTYPES: dict[int, str] = {_CODES[name]: name for name in ELEMENT_TYPES}
"""ONNX data type -> name of an element type, for the ones the compiler knows."""

ONNX_TYPES = {element_type(name): code for code, name in DTYPES.items()}
"""The reverse, from graph element types."""

UNSUPPORTED: dict[int, str] = {
    TensorProto.STRING: "text has no fixed size, and compiled models have no heap",
    TensorProto.COMPLEX64: "there is no complex arithmetic, in onnxruntime neither",
    TensorProto.COMPLEX128: "there is no complex arithmetic, in onnxruntime neither",
}
"""ONNX data types that the compiler will not have, and why."""


class TensorError(Exception):
    """A tensor is malformed or of a type there is no support for; the message says how, the caller says where."""


def type_name(code: int) -> str:
    """The name of an ONNX data type, for messages: "float32", "int4", "string"..."""
    return DTYPES.get(code) or (
        TensorProto.DataType.Name(code).lower() if code in TensorProto.DataType.values() else f"number {code}"
    )


def dtype_of(code: int) -> DType:
    """The numpy dtype of an ONNX data type; TensorError where the compiler has none."""
    if code not in DTYPES:
        why = f": {UNSUPPORTED[code]}" if code in UNSUPPORTED else ""
        raise TensorError(f"tensors of type {type_name(code)} are not supported{why}")
    return numpy_dtype(DTYPES[code])


def _bits(dtype: DType) -> int:
    """How many bits an element takes in raw data, where elements of less than a byte follow each other without gaps."""
    kind = element_type(dtype)
    return kind.bitwidth if is_encoded(kind) and isinstance(kind, FixedBitwidthType) else 8 * dtype.itemsize


def raw_size(dtype: DType, count: int) -> int:
    """Bytes of raw data that `count` elements take."""
    return -(-count * _bits(dtype) // 8)


def _unpacked(data: Array, dtype: DType, count: int) -> Array:
    """Elements of less than a byte, the first in the lowest bits, as bytes."""
    bits = _bits(dtype)
    group = math.lcm(bits, 8) // 8
    """As many bytes as hold whole elements."""
    columns = np.pad(data, (0, -data.size % group)).reshape(-1, group).astype(np.uint32)
    joined = np.bitwise_or.reduce(columns << np.arange(0, 8 * group, 8, dtype=np.uint32), axis=1)
    elements = joined[:, None] >> np.arange(0, 8 * group, bits, dtype=np.uint32)
    return (elements & ((1 << bits) - 1)).astype(np.uint8).reshape(-1)[:count].view(dtype)


def type_proto(code: int, shape: tuple[int, ...]) -> TypeProto:
    """The ONNX description of a tensor type."""
    proto = TypeProto()
    proto.tensor_type.elem_type = code
    for extent in shape:
        proto.tensor_type.shape.dim.add().dim_value = extent
    proto.tensor_type.shape.SetInParent()
    return proto


def check_shape(shape: tuple[int, ...]) -> int:
    """The number of elements of `shape`; TensorError where an extent is negative or there are too many."""
    if any(extent < 0 for extent in shape):
        raise TensorError(f"the shape {list(shape)} has a negative dimension")
    if (count := math.prod(shape)) >= MAX_ELEMENTS:
        raise TensorError(f"the shape {list(shape)} has {count} elements, 2^31 or more")
    return count


def check_tensor(tensor: TensorProto, folder: Path | None, payload: bytes | None = None) -> None:
    """Raise TensorError (or OSError for a file that is not there) where `read_tensor` would; reads no elements."""
    dtype = dtype_of(tensor.data_type)
    count = check_shape(tuple(tensor.dims))
    if tensor.HasField("segment"):
        raise TensorError("tensors in segments are not supported")
    if tensor.data_location == TensorProto.EXTERNAL:
        external_place(tensor, folder)
        return
    if payload is not None or tensor.HasField("raw_data"):
        found = len(tensor.raw_data if payload is None else payload)
        if found != raw_size(dtype, count):
            raise TensorError(
                f"it has {found} bytes of data, its shape {list(tensor.dims)} of {dtype.name} needs "
                f"{raw_size(dtype, count)}"
            )
        return
    found, per_entry = len(getattr(tensor, helper.tensor_dtype_to_field(tensor.data_type))), _per_entry(dtype)
    if found != -(-count // per_entry):
        of = f"entries of {per_entry}" if per_entry > 1 else "elements of"
        raise TensorError(f"it has {found} {of} {dtype.name}, its shape {list(tensor.dims)} needs {count}")


def read_tensor(tensor: TensorProto, folder: Path | None, payload: bytes | None = None) -> Array:
    """The value of a tensor, read-only, of its shape. `payload` is its raw data where that was taken out of it.

    `folder` is where the model lies: external data is found only inside it. Raises TensorError, OSError.
    """
    check_tensor(tensor, folder, payload)
    dtype, shape = dtype_of(tensor.data_type), tuple(tensor.dims)
    count = math.prod(shape)
    if count == 0:
        return np.empty(shape, dtype)
    packed = _bits(dtype) < 8
    stored = np.dtype(np.uint8) if dtype == np.bool_ or packed else dtype
    size = raw_size(dtype, count)
    if tensor.data_location == TensorProto.EXTERNAL:
        path, offset = external_place(tensor, folder)
        array = np.asarray(np.memmap(path, stored, "r", offset, (size // stored.itemsize,)))
    elif payload is not None or tensor.HasField("raw_data"):
        array = np.frombuffer(tensor.raw_data if payload is None else payload, stored)
    else:
        array, packed = numpy_helper.to_array(tensor), False
    array = _unpacked(array, dtype, count) if packed else array
    # A byte that is neither 0 nor 1 is no bool: numpy and C disagree on what it means.
    array = (array != 0) if dtype == np.bool_ else array
    return array.reshape(shape)


def _per_entry(dtype: DType) -> int:
    """Elements that an entry of int32_data holds: those of 2 and 4 bits fill a byte of it."""
    return 8 // _bits(dtype) if _bits(dtype) < 6 else 1


def external_place(tensor: TensorProto, folder: Path | None) -> tuple[Path, int]:
    """The file and the offset of the bytes of an external tensor; never outside of `folder`, never past the end of the
    file.

    Raises TensorError, OSError.
    """
    size = raw_size(dtype_of(tensor.data_type), check_shape(tuple(tensor.dims)))
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise TensorError(f"its data is in the file {location!r}, and the model was not read from a folder")
    path = _inside(folder, location)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    except ValueError:
        raise TensorError(f"the offset or length of its data in {location!r} is not a number") from None
    if length != size:
        raise TensorError(f"it has {length} bytes of data in {location!r}, its shape {list(tensor.dims)} needs {size}")
    available = path.stat().st_size
    if offset < 0 or offset + size > available:
        raise TensorError(
            f"its data should be {size} bytes at offset {offset} of {location!r}, which has only {available} bytes"
        )
    return path, offset


def _inside(folder: Path, location: str) -> Path:
    windows = PureWindowsPath(location)
    if not location or "\0" in location:
        raise TensorError("the location of its external data is missing or malformed")
    if windows.drive or windows.root or ".." in windows.parts:
        raise TensorError(f"its external data {location!r} leads out of the model's folder")
    path = (folder / location).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise TensorError(f"its external data {location!r} is a link that leads out of the model's folder")
    if not path.exists():
        raise FileNotFoundError(f"its external data {location!r} is not in the model's folder")
    if not path.is_file():
        raise TensorError(f"its external data {location!r} is not a file")
    return path


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
