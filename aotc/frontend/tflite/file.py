"""Reading a .tflite file: a flatbuffer, by the accessors of the package `tflite`.

A flatbuffer is tables that point at each other, and any byte of a damaged one may point anywhere. The accessors read
nothing outside of the file; here every length is compared with the file's before anything is as long, every number
that names something with how many there are, and no more is read than a file of this size can have, however often it
points at the same. So what is wrong is one `CompileError`.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import CompileError, UsageError
from aotc.frontend.tflite.storage import Level, Sparsity, unpacked
from aotc.model.limits import MAX_ELEMENTS
from aotc.model.model_file import ModelFile
from aotc.model.weight_store import Array

MAGIC = (4, b"TFL3")
"""Where in a file which bytes are."""

DTYPES = {
    "FLOAT32": "float32",
    "FLOAT16": "float16",
    "FLOAT64": "float64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
}
"""Element types that are supported, by their names in the schema."""

PACKED = {"INT4": 4, "INT2": 2}
"""The same of constants of which a byte has several, and their bits."""

_NEWER = {19: "INT2", 20: "UINT4"}
"""Element types of the schema that the package does not know."""

Table: TypeAlias = Any
"""An accessor of the package `tflite`, which has no types."""

_INDEX_SIZES = {"Int32Vector": 4, "Uint16Vector": 2, "Uint8Vector": 1}
"""The bytes of a number, of each kind of list of them."""

_MOST_AXES = 32
"""Of a tensor; kernels of TensorFlow Lite have at most eight."""

_FAULTS = (struct.error, ValueError, TypeError, IndexError, OverflowError, UnicodeDecodeError, AttributeError)
"""Errors of accessors where an offset leads out of the file, or to something else."""


@dataclass(frozen=True)
class Quantization:
    """The real numbers that integers stand for: each less its zero point, times its scale."""

    scales: Array
    """f32: one, or one for each index of `axis`."""
    zero_points: Array
    """i64, as many."""
    axis: int

    @property
    def is_single(self) -> bool:
        """Whether there is one scale for all elements."""
        return self.scales.size == 1


@dataclass(frozen=True)
class Tensor:
    """A tensor of a subgraph."""

    name: str
    kind: str
    """The name of its element type in the schema."""
    shape: tuple[int, ...]
    data: Array | None
    """The bytes of a constant, in the file."""
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None

    @property
    def dtype(self) -> str:
        """The name of its element type, "" where there is none that is supported."""
        if self.kind in PACKED and self.data is not None and self.sparsity is None:
            return self.kind.lower()
        return DTYPES.get(self.kind, "")

    def array(self) -> Array | None:
        """The value of a constant; None of anything else. Raises ValueError where it is sparse, and damaged."""
        if self.data is None:
            return None
        if self.kind in PACKED:
            found = unpacked(self.data, PACKED[self.kind], math.prod(self.shape))
            return found.astype(numpy_dtype(self.dtype)).reshape(self.shape)
        found = np.frombuffer(self.data, self.dtype)
        return found.reshape(self.shape) if self.sparsity is None else self.sparsity.dense(found, self.shape)


@dataclass(frozen=True)
class Operator:
    """An operator of a subgraph."""

    code: str
    """The name in the schema; of a custom operator its own."""
    is_custom: bool
    inputs: tuple[int, ...]
    """Numbers of tensors; -1 is an optional one left out."""
    outputs: tuple[int, ...]
    options: Table | None
    custom_options: bytes


@dataclass(frozen=True)
class Graph:
    """A subgraph."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A checked model."""

    name: str
    """The name of the file, without folder and ending."""
    size: int
    """Of the file, in bytes."""
    description: str
    graphs: tuple[Graph, ...]


def content_of(source: object) -> bytes | None:
    """The bytes of a source that is a .tflite file, by what it begins with; None of any other. Raises OSError."""
    if isinstance(source, ModelFile):
        data = source.content()
    elif isinstance(source, str | os.PathLike):
        return content_of(ModelFile(source))
    elif isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        return None
    place, magic = MAGIC
    return data if data[place : place + len(magic)] == magic else None


def load_model(source: object) -> Model:
    """Read and check a model: a file by its path, or the bytes of one. Raises OSError, CompileError, UsageError."""
    data = content_of(source)
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    reader = _Reader(data or b"", "the model" if path is None else path.name)
    return reader.model("model" if path is None else path.stem)


def _schema() -> ModuleType:
    try:
        import tflite  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        what = "the package tflite, which reads .tflite files, is not installed"
        raise UsageError("missing-tool", what, fix="pip install aotc[tflite]") from error
    return tflite


@dataclass
class _Reader:
    data: bytes
    what: str
    """The file, for messages."""
    schema: ModuleType = field(default_factory=_schema)
    read: int = 0
    """How many bytes all that was read takes at least."""

    def model(self, name: str) -> Model:
        """The whole file."""
        try:
            root = self.schema.Model.GetRootAs(self.data, 0)
            if root.Version() != 3:
                self.refuse(f"its version is {root.Version()}, not 3")
            buffers = list(self.items(root, "Buffers"))
            codes = [self.code(each) for each in self.items(root, "OperatorCodes")]
            graphs = tuple(self.graph(each, buffers, codes) for each in self.items(root, "Subgraphs"))
            if not graphs:
                self.refuse("it has no subgraph")
            return Model(name, len(self.data), self.text(root.Description()), graphs)
        except _FAULTS as error:
            if isinstance(error, UsageError):
                raise
            self.refuse(f"an offset in it leads to nothing that can be read ({error})")

    def refuse(self, why: str) -> NoReturn:
        """Stop with the one error for a damaged file."""
        fix = "make or download it again"
        raise CompileError("not-a-model", f"{self.what} is a damaged TensorFlow Lite model", why, fix)

    # --- what the format has: vectors and text ------------------------------------------------------------------------

    def length(self, table: Table, name: str, size: int) -> int:
        """The length of a vector whose elements take `size` bytes, which the file has room for."""
        count: int = getattr(table, f"{name}Length")()
        self.read += count * size
        if self.read > len(self.data) * 8:
            self.refuse(f"its {name} are longer than the file")
        return count

    def items(self, table: Table, name: str) -> Iterator[Table]:
        """The tables of a vector."""
        return map(getattr(table, name), range(self.length(table, name, 4)))

    def numbers(self, table: Table, name: str, size: int) -> Array:
        """The numbers of a vector."""
        count = self.length(table, name, size)
        return getattr(table, f"{name}AsNumpy")() if count else np.zeros(0, np.int64)

    def text(self, value: bytes | None) -> str:
        """Text, which may be missing."""
        self.read += len(value or b"")
        return (value or b"").decode(errors="replace")

    def named(self, enumeration: str, number: int) -> str:
        """The name of a number in an enumeration of the schema."""
        kinds = vars(getattr(self.schema, enumeration))
        return next((name for name, value in kinds.items() if value == number and not name.startswith("_")), "")

    # --- what a model has ---------------------------------------------------------------------------------------------

    def code(self, table: Table) -> tuple[str, bool]:
        """The name of an operator, and whether it is a custom one."""
        number = max(table.BuiltinCode(), table.DeprecatedBuiltinCode())
        name = self.named("BuiltinOperator", number) or f"number {number}"
        return (self.text(table.CustomCode()), True) if name == "CUSTOM" else (name, False)

    def graph(self, table: Table, buffers: list[Table], codes: list[tuple[str, bool]]) -> Graph:
        """A subgraph."""
        tensors = tuple(self.tensor(each, buffers) for each in self.items(table, "Tensors"))
        operators = tuple(self.operator(each, codes, len(tensors)) for each in self.items(table, "Operators"))
        ends = (self.places(table, name, len(tensors), 0) for name in ("Inputs", "Outputs"))
        return Graph(self.text(table.Name()), tensors, operators, *ends)

    def places(self, table: Table, name: str, count: int, least: int) -> tuple[int, ...]:
        """Numbers of tensors."""
        found = tuple(map(int, self.numbers(table, name, 4)))
        if not all(least <= each < count for each in found):
            self.refuse(f"its {name} name tensors that are not there")
        return found

    def tensor(self, table: Table, buffers: list[Table]) -> Tensor:
        """A tensor, with the bytes of a constant."""
        name = self.text(table.Name())
        shape = tuple(map(int, self.numbers(table, "Shape", 4)))
        is_large = math.prod(max(extent, 1) for extent in shape) >= MAX_ELEMENTS or len(shape) > _MOST_AXES
        if is_large or any(extent < 0 for extent in shape):
            self.refuse(f"the tensor {name!r} has the shape {list(shape)}")
        kind = self.named("TensorType", table.Type()) or _NEWER.get(table.Type(), f"number {table.Type()}")
        if not 0 <= table.Buffer() < len(buffers):
            self.refuse(f"the tensor {name!r} is in buffer {table.Buffer()} of {len(buffers)}")
        data = self.bytes_of(buffers[table.Buffer()])
        sparsity, bits = self.sparsity(table.Sparsity()), PACKED.get(kind) or 8 * _size(kind)
        if data is not None and sparsity is not None and kind in DTYPES:
            data = data[: len(data) // _size(kind) * _size(kind)]
        elif data is not None and bits:
            needed = -(-math.prod(shape) * bits // 8)
            if len(data) < needed:
                self.refuse(f"the tensor {name!r} has {len(data)} bytes, its shape {list(shape)} needs {needed}")
            data = data[:needed]
        quantization = self.quantization(table.Quantization(), name, shape)
        return Tensor(name, kind, shape, data, quantization, bool(table.IsVariable()), sparsity)

    def sparsity(self, table: Table | None) -> Sparsity | None:
        """Which elements of a tensor are stored; None where all are."""
        if table is None:
            return None
        order, blocks = (tuple(map(int, self.numbers(table, name, 4))) for name in ("TraversalOrder", "BlockMap"))
        return Sparsity(order, blocks, tuple(map(self.level, self.items(table, "DimMetadata"))))

    def level(self, table: Table) -> Level:
        """How an axis of a sparse tensor is stored."""
        if not table.Format():
            return int(table.DenseSize())
        return self.indices(table, "ArraySegments"), self.indices(table, "ArrayIndices")

    def indices(self, table: Table, name: str) -> Array:
        """A list of numbers of some width, i64."""
        kind = self.named("SparseIndexVector", getattr(table, f"{name}Type")())
        found = getattr(table, name)()
        if found is None or kind not in _INDEX_SIZES:
            self.refuse("a sparse tensor has no indices")
        vector = getattr(self.schema, kind)()
        vector.Init(found.Bytes, found.Pos)
        return self.numbers(vector, "Values", _INDEX_SIZES[kind]).astype(np.int64)

    def bytes_of(self, buffer: Table) -> Array | None:
        """The contents of a buffer; None of an empty one, as tensors have that are computed."""
        if offset := buffer.Offset():  # beyond the flatbuffer, as in files of more than 2 GiB
            if buffer.Size() < 0 or offset + buffer.Size() > len(self.data):
                self.refuse("the contents of a buffer lie outside of the file")
            return np.frombuffer(self.data, np.uint8, buffer.Size(), offset)
        count = buffer.DataLength()
        if count > len(self.data):
            self.refuse("a buffer is longer than the file")
        return buffer.DataAsNumpy() if count else None

    def quantization(self, table: Table | None, name: str, shape: tuple[int, ...]) -> Quantization | None:
        """The real numbers that integers of a tensor stand for; None where they stand for themselves."""
        if table is None or not (count := table.ScaleLength()):
            return None
        if table.DetailsType():
            self.refuse(f"the tensor {name!r} is quantised in another way than by scales")
        scales = self.numbers(table, "Scale", 4)
        points = self.numbers(table, "ZeroPoint", 8)
        axis = table.QuantizedDimension()
        axis = 0 if len(shape) == 1 or count == 1 else axis  # models have any number there
        fits = count == 1 or (0 <= axis < len(shape) and count == shape[axis])
        if not fits or len(points) not in (0, 1, count) or not bool((np.isfinite(scales) & (scales >= 0)).all()):
            self.refuse(f"the scales and zero points of the tensor {name!r} do not fit it")
        points = np.broadcast_to(points if len(points) else np.zeros(1, np.int64), count)
        return Quantization(scales, points, axis)

    def operator(self, table: Table, codes: list[tuple[str, bool]], count: int) -> Operator:
        """An operator, of `count` tensors."""
        if not 0 <= table.OpcodeIndex() < len(codes):
            self.refuse(f"an operator has code {table.OpcodeIndex()} of {len(codes)}")
        code, is_custom = codes[table.OpcodeIndex()]
        inputs, outputs = (self.places(table, name, count, -1) for name in ("Inputs", "Outputs"))
        custom = self.numbers(table, "CustomOptions", 1).astype(np.uint8).tobytes()
        return Operator(code, is_custom, inputs, outputs, self.options(table), custom)

    def options(self, table: Table) -> Table | None:
        """The table of options of an operator."""
        for name in ("BuiltinOptions", "BuiltinOptions2"):
            found, kind = getattr(table, name)(), self.named(name, getattr(table, f"{name}Type")())
            if found is not None and (accessor := getattr(self.schema, kind, None)) is not None:
                options = accessor()
                options.Init(found.Bytes, found.Pos)
                return options
        return None


def _size(kind: str) -> int:
    """The bytes of an element of a type; 0 of one that is not supported."""
    return np.dtype(DTYPES[kind]).itemsize if kind in DTYPES else 0


def option(options: Table | None, name: str) -> int | float | bool | None:
    """An option by its name in the schema; None where the operator has no options, or others. Raises ValueError where
    the file is damaged."""
    read: Callable[[], Any] | None = getattr(options, name, None)
    try:
        return None if read is None else read()
    except _FAULTS as error:
        raise ValueError(f"the option {name} cannot be read ({error})") from error


def text_option(options: Table | None, name: str) -> str:
    """The same of one that is text; "" where there is none."""
    value: Any = option(options, name)
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
