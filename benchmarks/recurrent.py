"""Times recurrent networks of two layers, a sequence a call, beside ONNX Runtime and OpenVINO with one thread.

`python benchmarks/recurrent.py`: LSTM and GRU with states in and out, then the LSTM as `quantize_dynamic` writes it,
which OpenVINO does not read.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import aotc

UNITS = 256
LAYERS = 2
ROUNDS = 40
CALLS = 10
GATES = {"LSTM": 4, "GRU": 3}


def network(kind: str, steps: int) -> onnx.ModelProto:
    """Layers of UNITS on as many inputs."""
    random, count = np.random.default_rng(0), GATES[kind] * UNITS
    graph = onnx.GraphProto(name=kind)
    graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "axes"))
    graph.input.append(helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, [steps, 1, UNITS]))
    for layer in range(LAYERS):
        for name, shape in {"W": (1, count, UNITS), "R": (1, count, UNITS), "B": (1, 2 * count)}.items():
            values = random.uniform(-1 / 16, 1 / 16, shape).astype(np.float32)
            graph.initializer.append(numpy_helper.from_array(values, f"{name}{layer}"))
        states = [f"{state}{layer}" for state in ("h", "c")[: GATES[kind] - 2]]
        for state in states:
            graph.input.append(helper.make_tensor_value_info(state, onnx.TensorProto.FLOAT, [1, 1, UNITS]))
            graph.output.append(helper.make_tensor_value_info(f"{state}_out", onnx.TensorProto.FLOAT, [1, 1, UNITS]))
        given = [f"x{layer}", f"W{layer}", f"R{layer}", f"B{layer}", "", *states]
        more: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
        made = [f"y{layer}", *(f"{state}_out" for state in states)]
        graph.node.append(helper.make_node(kind, given, made, hidden_size=UNITS, **more))
        graph.node.append(helper.make_node("Squeeze", [f"y{layer}", "axes"], [f"x{layer + 1}"]))
    graph.output.append(helper.make_tensor_value_info(f"x{LAYERS}", onnx.TensorProto.FLOAT, [steps, 1, UNITS]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def least(calls: list[Callable[[], object]]) -> list[float]:
    """The least time of each in microseconds, in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                found[number] = min(found[number], (time.perf_counter() - start) * 1e6)
    return found


def measure(name: str, path: Path, reads: bool = True, scale: float = 1.0, shift: float = 0.0) -> str:
    """A row of the table; `reads`: OpenVINO reads the model. Floats have the deviation `scale` and the mean `shift`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    feed = {each.name: drawn(random, each.type, each.shape, scale, shift) for each in session.get_inputs()}
    bound = session.io_binding()
    for key, value in feed.items():
        bound.bind_cpu_input(key, value)
    for each in session.get_outputs():
        bound.bind_output(each.name, "cpu")
    calls: list[Callable[[], object]] = [aotc.compile(path).bind(feed), lambda: session.run_with_iobinding(bound)]
    if reads:
        calls.append(by_openvino(path, feed))
    ours, *theirs = least(calls)
    cells = [f"{each:.1f}" for each in theirs] + ["-"] * (2 - len(theirs))
    return f"| {name} | {ours:.1f} | {' | '.join(cells)} | {ours / min(theirs):.2f} |"


def drawn(random: np.random.Generator, kind: str, shape: list[int], scale: float, shift: float) -> np.ndarray:
    """Values of an input: numbers of tokens, or floats."""
    return np.ones(shape, np.int64) if "int64" in kind else random.normal(shift, scale, shape).astype(np.float32)


def by_openvino(path: Path, feed: dict[str, np.ndarray]) -> Callable[[], object]:
    """A call of OpenVINO on the calling thread, in f32, without copies of inputs and outputs."""
    core = openvino.Core()
    settings: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    request = core.compile_model(core.read_model(str(path)), "CPU", settings).create_infer_request()
    for key, value in feed.items():
        request.set_tensor(key, openvino.Tensor(value, shared_memory=True))
    return lambda: request.infer(None, share_inputs=True, share_outputs=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in GATES:
            for steps in (1, 50):
                path, quantized = Path(folder) / f"{kind}{steps}.onnx", Path(folder) / f"{kind}{steps}q.onnx"
                onnx.save(network(kind, steps), path)
                print(measure(f"{kind}, {steps} steps", path), flush=True)
                if kind == "LSTM":
                    quantize_dynamic(path, quantized, weight_type=QuantType.QInt8)
                    print(measure(f"{kind}, {steps} steps, weights of 8 bits", quantized, reads=False), flush=True)


if __name__ == "__main__":
    main()
