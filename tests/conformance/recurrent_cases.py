"""Recurrent layers with options drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cases import onnx_type
from harness import Array
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
PARAMETERS = {
    "Relu": "",
    "Tanh": "",
    "Sigmoid": "",
    "Softsign": "",
    "Softplus": "",
    "Affine": "ab",
    "LeakyRelu": "a",
    "ThresholdedRelu": "a",
    "ScaledTanh": "ab",
    "HardSigmoid": "ab",
    "Elu": "a",
}
"""Activations, and which of alpha and beta each has."""


@dataclass(frozen=True)
class Layer:
    """One node and its inputs; those of run time are X, lengths and states."""

    op_type: str
    opset: int
    attributes: dict[str, Any]
    inputs: dict[str, Array]
    constants: dict[str, Array]

    def __str__(self) -> str:
        shapes = "-".join(f"{name}{'x'.join(map(str, x.shape))}" for name, x in self.inputs.items())
        return f"{self.op_type}-{self.opset}-{shapes}-{sorted(self.constants)}-{self.attributes}".replace(" ", "")


INPUTS = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")


def draw(random: np.random.Generator, op_type: str, dtype: str = "float32", **chosen: Any) -> Layer:
    """A layer with random options; `chosen` are sizes (steps, batch, inputs, units) and attributes that are not."""

    def flip(chance: float = 0.5) -> bool:
        return bool(random.random() < chance)

    steps, batch, inputs, units = (
        chosen.pop(name, int(random.integers(1, most)))
        for name, most in {"steps": 6, "batch": 5, "inputs": 7, "units": 21}.items()
    )
    opset = int(random.choice([7, 14, 22]))
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    count, gates = 2 if direction == "bidirectional" else 1, GATES[op_type]
    attributes: dict[str, Any] = {"hidden_size": units, "direction": direction}
    layout = opset >= 14 and flip(0.3)
    if layout:
        attributes["layout"] = 1
    if flip(0.4):
        attributes["clip"] = float(np.float32(random.uniform(0.2, 1.5)))
    if flip(0.6):
        names = [str(name) for name in random.choice(list(PARAMETERS), count * ACTIVATIONS[op_type])]
        attributes["activations"] = names
        if flip() or {"Affine", "ScaledTanh", "ThresholdedRelu"} & {*names}:
            alphas = [float(random.uniform(0.2, 0.8)) for name in names if "a" in PARAMETERS[name]]
            betas = [float(random.uniform(0.2, 0.8)) for name in names if "b" in PARAMETERS[name]]
            attributes |= {"activation_alpha": alphas} if alphas else {}
            attributes |= {"activation_beta": betas} if betas else {}
    if op_type == "LSTM" and flip(0.3):
        attributes["input_forget"] = 1
    if op_type == "GRU" and flip():
        attributes["linear_before_reset"] = 1
    attributes |= chosen

    def values(*shape: int) -> Array:
        return random.uniform(-0.7, 0.7, shape).astype(dtype)

    state = (batch, count, units) if layout else (count, batch, units)
    given = {"X": values(*((batch, steps, inputs) if layout else (steps, batch, inputs)))}
    constants = {"W": values(count, gates * units, inputs), "R": values(count, gates * units, units)}
    if flip(0.7):
        constants["B"] = values(count, 2 * gates * units)
    if flip(0.4):
        given["sequence_lens"] = random.integers(0, steps + 1, batch).astype(np.int32)
    if flip(0.6):
        given["initial_h"] = values(*state)
    if op_type == "LSTM":
        if flip(0.6):
            given["initial_c"] = values(*state)
        if flip(0.4):
            constants["P"] = values(count, 3 * units)
    both = [(name, into, other) for into, other in ((given, constants), (constants, given)) for name in into]
    for name, into, other in both:
        if name != "X" and flip(0.15):
            other[name] = into.pop(name)
    return Layer(op_type, opset, attributes, given, constants)


def time_first(layer: Layer) -> Layer:
    """The same layer with layout 0, which onnxruntime has: its Y is [T, D, B, H] in place of [B, T, D, H]."""
    if not layer.attributes.get("layout"):
        return layer

    def moved(tensors: dict[str, Array]) -> dict[str, Array]:
        batched = ("X", "initial_h", "initial_c")
        return {name: np.ascontiguousarray(x.swapaxes(0, 1)) if name in batched else x for name, x in tensors.items()}

    attributes = {name: value for name, value in layer.attributes.items() if name != "layout"}
    return replace(layer, attributes=attributes, inputs=moved(layer.inputs), constants=moved(layer.constants))


def batch_first(layer: Layer, outputs: Sequence[Array]) -> list[Array]:
    """The outputs of `time_first(layer)` as those of `layer`."""
    if not layer.attributes.get("layout"):
        return list(outputs)
    y, *states = outputs
    return [y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)]


def model(layers: list[Layer]) -> tuple[ModelProto, dict[str, Array]]:
    """One model of all layers, of one version of the operator set, and its inputs."""
    (opset,) = {layer.opset for layer in layers}
    nodes, outputs = [], []
    feed: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    for number, layer in enumerate(layers):
        feed |= {f"{name}{number}": value for name, value in layer.inputs.items()}
        constants |= {f"{name}{number}": value for name, value in layer.constants.items()}
        known = layer.inputs.keys() | layer.constants.keys()
        own = INPUTS if layer.op_type == "LSTM" else INPUTS[:6]
        names = [f"{name}{number}" if name in known else "" for name in own]
        results = [f"{name}{number}" for name in ("Y", "Y_h", "Y_c")[: 3 if layer.op_type == "LSTM" else 2]]
        nodes.append(helper.make_node(layer.op_type, names, results, **layer.attributes))
        outputs += results
    graph = helper.make_graph(
        nodes,
        "recurrent",
        [helper.make_tensor_value_info(name, onnx_type(x.dtype.name), x.shape) for name, x in feed.items()],
        [ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), feed
