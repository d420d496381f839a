"""Who takes part in a benchmark: this compiler by its routes, and other runtimes where they are installed.

A peer opens a model (ahead-of-time peers compile it in the folder they are given) and binds it to inputs: what is timed
is a call without arguments on bound tensors, the cheapest that each has.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx

from aotc.compiler.checking.reference import reference_session
from aotc.compiler.driver import compile_with, lower
from aotc.compiler.lowering import in_process
from aotc.errors import AotcError
from aotc.executor import CompiledModel, compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
Inputs: TypeAlias = Mapping[str, Array]
NATIVE_C_FLAGS = ("-O3", "-march=native", "-w", "-fPIC", "-shared")


@dataclass(frozen=True)
class Job:
    """A model to open: its file, a folder for what is made of it, and how it is to run."""

    model: Path
    folder: Path
    threads: int
    options: CompileOptions


@dataclass(frozen=True)
class Session:
    """A model that is ready to run."""

    bind: Callable[[Inputs], Callable[[], object]]
    """A call on inputs."""
    run: Callable[[Inputs], Sequence[Array]]
    """The outputs in the model's order."""
    model: CompiledModel | None = None
    """The compiled model, if it is ours."""


@dataclass(frozen=True)
class Peer:
    """One way to run a model."""

    open: Callable[[Job], Session]
    """Gets a model ready. Raises AotcError, or whatever the peer raises, where it cannot be."""
    package: str = "aotc"
    """The Python package it is in."""

    def version(self) -> str | None:
        """Its version, None where it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


# --- aotc ------------------------------------------------------------------------------------------------------------


def _ours(model: CompiledModel) -> Session:
    return Session(model.bind, lambda inputs: list(model(inputs).values()), model)


def _aotc(job: Job) -> Session:
    """`aotc.compile`, in the process that runs it."""
    return _ours(compiled_in_process(lower(str(job.model), in_process(job.options))))


def _shared(job: Job) -> Session:
    """`aotc compile --emit shared`, loaded."""
    written = compile_with(str(job.model), job.folder, replace(job.options, emit=("shared",)))
    return _ours(load(_only(written.files, ".so"), threads=job.threads))


def _c(job: Job) -> Session:
    """`aotc compile --emit c`, compiled by the system's C compiler, loaded."""
    written = compile_with(str(job.model), job.folder, replace(job.options, emit=("c",)))
    return _ours(load(build_shared(_only(written.files, ".c"), NATIVE_C_FLAGS), threads=job.threads))


def _only(files: Sequence[Path], suffix: str) -> Path:
    return next(path for path in files if path.suffix == suffix)


# --- runtimes --------------------------------------------------------------------------------------------------------


def _onnxruntime(job: Job) -> Session:
    """ONNX Runtime with all its graph optimisations, inputs and outputs bound."""
    session = reference_session(str(job.model), job.threads)

    def bind(inputs: Inputs) -> Callable[[], object]:
        binding = session.io_binding()
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        for output in session.get_outputs():
            binding.bind_output(output.name, "cpu")
        return lambda: session.run_with_iobinding(binding)

    return Session(bind, lambda inputs: session.run(None, dict(inputs)))


def _openvino(job: Job) -> Session:
    """OpenVINO on the CPU in f32, activations not quantised either; `infer` stays on the calling thread."""
    openvino: Any = import_module("openvino")
    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": job.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "ENABLE_CPU_PINNING": False,
    }
    compiled = core.compile_model(core.read_model(str(job.model)), "CPU", settings)

    def bind(inputs: Inputs) -> Callable[[], object]:
        request = compiled.create_infer_request()
        for name, array in inputs.items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        return lambda: request.infer(None, share_inputs=True, share_outputs=True)

    def run(inputs: Inputs) -> Sequence[Array]:
        found = compiled(dict(inputs))
        return [np.array(found[output]) for output in compiled.outputs]

    return Session(bind, run)


def _ncnn(job: Job) -> Session:
    """ncnn in f32, on a model that pnnx has converted."""
    ncnn: Any = import_module("ncnn")
    copy = job.folder / "m.onnx"
    onnx.save(onnx.load(str(job.model)), str(copy))  # one file, whatever was beside it
    _run([_tool("pnnx"), str(copy), "fp16=0"])
    parameters = job.folder / "m.ncnn.param"
    if any(mark in parameters.read_text() for mark in ("pnnx.", "\nTensor.")):
        raise AotcError("failed-tool", "pnnx leaves operators unconverted")
    net = ncnn.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = job.threads, False
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, name, False)
    if net.load_param(str(parameters)) or net.load_model(str(job.folder / "m.ncnn.bin")):
        raise AotcError("failed-tool", "ncnn cannot load what pnnx wrote")
    shapes = _output_shapes(job.model)

    def call(inputs: Sequence[Any]) -> list[Any]:
        extractor = net.create_extractor()
        for number, value in enumerate(inputs):
            extractor.input(f"in{number}", value)
        return [extractor.extract(f"out{number}")[1] for number in range(len(shapes))]

    def bind(inputs: Inputs) -> Callable[[], list[Any]]:
        bound = [ncnn.Mat(np.ascontiguousarray(array[0])).clone() for array in inputs.values()]
        return lambda: call(bound)

    def run(inputs: Inputs) -> Sequence[Array]:
        return [np.array(value).reshape(shape) for value, shape in zip(bind(inputs)(), shapes, strict=True)]

    return Session(bind, run)


_LARGEST = 32 << 20
"""Bytes of a model for emx-onnx-cgen: weights are written as text."""


def _emx(job: Job) -> Session:
    """emx-onnx-cgen, another generator of C, compiled by the system's C compiler with `-Ofast`."""
    if job.threads != 1 or job.model.stat().st_size > _LARGEST:
        raise AotcError("too-large", "one thread and models of 32 MB at most")
    source, library = job.folder / "net.c", job.folder / "net.so"
    settings = ("--model-name", "net", "--restrict-arrays", "--large-weight-threshold", "0")
    _run([_tool("emx-onnx-cgen"), "compile", str(job.model), str(source), *settings])
    flags = ["-Ofast", *NATIVE_C_FLAGS[1:]]
    _run(["cc", *flags, *map(str, sorted(job.folder.glob("*.c"))), "-o", str(library), "-lm"])
    function = ctypes.CDLL(str(library)).net
    function.restype = None
    graph = onnx.load(str(job.model), load_external_data=False).graph
    outputs = [
        np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
        for info, shape in zip(graph.output, _output_shapes(job.model), strict=True)
    ]

    def bind(inputs: Inputs) -> Callable[[], object]:
        arrays = [*map(np.ascontiguousarray, inputs.values()), *outputs]
        arguments = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]  # which keep them alive
        return lambda: function(*arguments)

    def run(inputs: Inputs) -> Sequence[Array]:
        bind(inputs)()
        return [array.copy() for array in outputs]

    return Session(bind, run)


def _output_shapes(model: Path) -> list[tuple[int, ...]]:
    graph = onnx.load(str(model), load_external_data=False).graph
    return [tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim) for info in graph.output]


def _tool(name: str) -> str:
    """A command that was installed beside this Python, or is found elsewhere."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name


def _run(command: Sequence[str]) -> None:
    """Run a command of a peer's; raises AotcError with what it said last."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise AotcError("missing-tool", f"{command[0]} is not installed") from error
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise AotcError("failed-tool", f"{Path(command[0]).name} failed", " | ".join(said[-3:])[:400])


OTHERS: dict[str, Peer] = {
    "onnxruntime": Peer(_onnxruntime, "onnxruntime"),
    "openvino": Peer(_openvino, "openvino"),
    "ncnn": Peer(_ncnn, "ncnn"),
    "emx": Peer(_emx, "emx-onnx-cgen"),
}
PEERS: dict[str, Peer] = {"aotc": Peer(_aotc), "aotc shared": Peer(_shared), "aotc C": Peer(_c)} | OTHERS
"""By name."""
