"""A compiled model behind the names of onnxruntime's Python interface, for programs that are written for that."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard, Unpack

import numpy as np

from aotc.compiler.driver import compile
from aotc.compiler.dynamic.dispatch import exact
from aotc.compiler.dynamic.model import DynamicModel
from aotc.compiler.dynamic.specializing import Specialization
from aotc.errors import UsageError
from aotc.executor import CompiledModel, Step, load
from aotc.frontend.objects.registry import model_of
from aotc.model.arguments import checks_kinds, require
from aotc.model.extents import OpenTensor, Size, unnamed
from aotc.model.labels import is_text, with_labels
from aotc.model.metadata import TensorInfo
from aotc.pipeline.signature import InProcessOptions

if TYPE_CHECKING:
    from aotc.model.model_file import Source

PROVIDER: Final = "CPUExecutionProvider"
"""Onnxruntime's name of computing on the processor."""
_NAMES: Final = {"float32": "float", "float64": "double"}
"""The names of element types in ONNX, where they are not numpy's."""
_NO_VERSION: Final = (1 << 63) - 1
"""Onnxruntime's error for a model without a version."""
_Array = np.ndarray[Any, Any]


class SessionOptions(InProcessOptions, total=False):
    """The arguments of `aotc.compile`, with those for open shapes."""

    buckets: Sequence[int] | Mapping[str, Sequence[int]] | None
    max_shapes: int
    on_compile: Callable[[Specialization], None] | None


@dataclass(frozen=True)
class NodeArg:
    """An input or output: its name, its type as onnxruntime writes it (`tensor(float)`), its extents, none of a
    sequence; of those that are open the name, and None where there is none."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True)
class ModelMetadata:
    """Metadata of a model file; empty for a library, which keeps none of that."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = _NO_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict[str, str])


class InferenceSession:
    """`InferenceSession("model.onnx").run(None, {"x": x})`, as with onnxruntime: outputs as a list, in order.

    The model is compiled in this process, or loaded from a library that `aotc compile --emit shared` wrote. Threads may
    share a session. `session.model` is the model behind it.
    """

    @checks_kinds
    def __init__(
        self,
        path_or_bytes: Source,
        sess_options: Any = None,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        **options: Unpack[SessionOptions],
    ) -> None:
        """`options` are those of `aotc.compile`: `dims={"batch": 1}` fixes a symbolic dimension, and where some are
        open, the model is compiled for each shape that arrives.

        Of `sess_options`, an `onnxruntime.SessionOptions`, `intra_op_num_threads` counts where it is 2 or more; the
        rest is about how onnxruntime computes. `providers` are a list of what is preferred, as there; computing is on
        the processor, and ValueError is raised where `CPUExecutionProvider` is not among them. Else raises as
        `aotc.compile` and `aotc.load`.
        """
        names = [each if isinstance(each, str) else each[0] for each in providers or (PROVIDER,)]
        if PROVIDER not in names:
            raise ValueError(f"no provider {', '.join(names)}; models run on the processor, {PROVIDER}")
        threads = getattr(sess_options, "intra_op_num_threads", 0)
        if threads > 1:
            options.setdefault("threads", threads)
        if not isinstance(path_or_bytes, str | os.PathLike):
            path_or_bytes = model_of(path_or_bytes)
        self._source = path_or_bytes
        if _is_library(path_or_bytes):
            if others := sorted({*options} - {"threads"}):
                raise UsageError("option-conflict", f"{', '.join(others)} with a library", "it is compiled already")
            self.model: CompiledModel | DynamicModel = load(path_or_bytes, options.get("threads"))
        else:
            self.model = compile(path_or_bytes, **options)
        self._inputs = [_node_arg(tensor) for tensor in self.model.inputs]
        known = [each for each in self.model.outputs if isinstance(each, TensorInfo)]
        counts = {f"{each.name}_count" for each in known if each.counted_axis is not None}
        self._outputs = [_node_arg(tensor) for tensor in self.model.outputs if tensor.name not in counts]

    def __repr__(self) -> str:
        return f"<InferenceSession of {self.model!r}>"

    def get_inputs(self) -> list[NodeArg]:
        """The inputs in order."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs in order."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: initialisers are constants."""
        return []

    def get_providers(self) -> list[str]:
        """The device that computes."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """There are none."""
        return {PROVIDER: {}}

    def get_modelmeta(self) -> ModelMetadata:
        """The metadata of the model file; it is read for that. Raises OSError where it is not there any more."""
        from aotc.frontend import tflite

        if _is_library(self._source) or tflite.content_of(self._source) is not None:
            return ModelMetadata(graph_name=self.model.name)
        import onnx

        if isinstance(self._source, onnx.ModelProto):
            model = self._source
        else:
            given = self._source
            model = onnx.ModelProto.FromString(given if isinstance(given, bytes) else Path(given).read_bytes())
        return ModelMetadata(
            model.producer_name,
            model.graph.name,
            model.domain,
            model.doc_string,
            model.graph.doc_string,
            model.model_version if model.HasField("model_version") else _NO_VERSION,
            {entry.key: entry.value for entry in model.metadata_props},
        )

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: None = None
    ) -> list[Any]:
        """The outputs of these names, or all of them in order, for inputs by name: arrays, of labels that are text
        arrays of that, of ZipMap a list of dictionaries.

        Raises TypeError for a wrong dtype, ValueError for a wrong name or shape, and for `run_options`: a run has none.
        """
        if run_options is not None:
            raise ValueError("a run has no options; pass run_options=None")
        require("output_names", output_names, Sequence[str] | None)
        require("input_feed", input_feed, Mapping[str, Any])
        known = [each.name for each in self._outputs]
        names = list(output_names) if output_names else known
        if wrong := [repr(name) for name in names if name not in known]:
            raise ValueError(f"no output {', '.join(wrong)}; the outputs are {', '.join(map(repr, known))}")
        results = exact(self.model(dict(input_feed)), self.model.outputs)
        labels = {each.name: each.labels for each in self.model.outputs}
        return [with_labels(results[name], labels[name]) for name in names]

    def io_binding(self) -> IOBinding:
        """Memory of the caller's for inputs and outputs."""
        return IOBinding(self.model)

    @checks_kinds
    def run_with_iobinding(self, iobinding: IOBinding, run_options: None = None) -> None:
        """Run on the memory that was bound. Raises as `CompiledModel.bind` where some of it cannot be used."""
        if run_options is not None:
            raise ValueError("a run has no options; pass run_options=None")
        iobinding.run(self.model)


class IOBinding:
    """Which memory inputs are read from and outputs written to, tensor by tensor. Nothing is copied; labels are the
    numbers that the compiled model has for them."""

    def __init__(self, model: CompiledModel | DynamicModel) -> None:
        self._model = model
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, _Array | None] = {}
        self._step: Step | None = None

    @checks_kinds
    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Read an input from an array, or anything with `__dlpack__`."""
        self._inputs[name], self._step = arr_on_cpu, None

    @checks_kinds
    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Read an input from the memory at an address, which the caller keeps; `element_type` is a numpy type."""
        self.bind_cpu_input(name, _memory_at(device_type, device_id, element_type, shape, buffer_ptr))

    @checks_kinds
    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Write an output to the memory at an address, which the caller keeps; without one, to a new array."""
        if buffer_ptr is None:
            _require_cpu(device_type, device_id)
            self._outputs[name] = None
        else:
            if element_type is None or shape is None:
                raise ValueError(f"memory for {name!r} without its element_type and shape")
            self._outputs[name] = _memory_at(device_type, device_id, element_type, shape, buffer_ptr)
        self._step = None

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs, self._step = {}, None

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs, self._step = {}, None

    def copy_outputs_to_cpu(self) -> list[_Array]:
        """Copies of the outputs that were bound, in that order. Raises ValueError before the first run."""
        if self._step is None:
            raise ValueError("no run with this binding yet")
        found = exact(dict(self._step.outputs), self._model.outputs)
        return [found[name].copy() for name in self._outputs]

    def run(self, model: CompiledModel | DynamicModel) -> None:
        """A call of `model`, whose binding this is."""
        if model is not self._model:
            raise ValueError("the binding is another session's")
        if self._step is None:
            given = {name: array for name, array in self._outputs.items() if array is not None}
            known = {tensor.name for tensor in model.outputs}
            if wrong := [repr(name) for name in self._outputs if name not in known]:
                raise ValueError(f"no output {', '.join(wrong)}")
            self._step = model.bind(self._inputs, outputs=given)
        self._step()


def _is_library(source: Source) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, str | os.PathLike) and Path(source).suffix == ".so"


def _node_arg(tensor: TensorInfo | OpenTensor) -> NodeArg:
    name = _NAMES.get(tensor.dtype, tensor.dtype.replace("_", ""))
    if tensor.labels and not is_text(tensor.dtype):
        key = "string" if isinstance(tensor.labels[0], str) else "int64"
        return NodeArg(tensor.name, f"seq(map({key},tensor({name})))", [])
    if tensor.labels:
        name = "string"
    extents = [_extent(tensor.name, axis, extent) for axis, extent in enumerate(tensor.shape or ())]
    if isinstance(tensor, TensorInfo) and tensor.counted_axis is not None:
        extents[tensor.counted_axis] = None
    return NodeArg(tensor.name, f"tensor({name})", extents)


def _extent(tensor: str, axis: int, extent: Size | None) -> int | str | None:
    if extent is None or isinstance(extent, int):
        return extent
    return None if str(extent) == unnamed(tensor, axis) else str(extent)


def _require_cpu(device_type: str, device_id: int) -> None:
    if (device_type, device_id) != ("cpu", 0):
        raise ValueError(f"memory on {device_type}:{device_id}; models run on cpu:0")


def _memory_at(device_type: str, device_id: int, element_type: Any, shape: Sequence[int], address: int) -> _Array:
    _require_cpu(device_type, device_id)
    dtype = np.dtype(element_type)
    size = prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B")
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)
