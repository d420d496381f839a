"""From a model of floats to one of narrow integers: onnxruntime's quantiser, with what our kernels like best.

Weights are symmetric, one scale for each channel, so that sums need no correction by activations. Activations have a
zero point, which is folded into biases, and are unsigned where the target multiplies unsigned bytes by signed ones, as
x86 does, else signed. Where two such products are added in 16 bits (x86 without VNNI) weights have 7 bits, so that no
two of them saturate. Before that, batch normalisation is folded into weights, and constants are computed.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import onnx
import onnx.version_converter
from onnx import ModelProto, NodeProto

from aotc.errors import AotcError, CompileError, UsageError
from aotc.machines.targets import lookup
from aotc.measuring.precision.data import inputs_of, read_model, samples
from aotc.model.extensions import describe

METHODS: Final = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
"""How ranges of activations are found, by name; and what onnxruntime calls it."""
WEIGHTS: Final = ("int8", "int4")
_OPSETS: Final = {"int8": 13, "int4": 21}
"""Of scales for each channel, and of integers of 4 bits."""


@dataclass(frozen=True)
class Quantized:
    """A model on integers, and its nodes."""

    model: ModelProto
    integers: int
    """Nodes that compute on integers."""
    floats: tuple[tuple[str, str], ...]
    """Name and operator of nodes that still compute on floats."""


class _Reader:
    """Samples as onnxruntime's calibration asks for them."""

    def __init__(self, given: Iterator[Mapping[str, Any]]) -> None:
        self._given = given

    def get_next(self) -> Mapping[str, Any] | None:
        """The inputs of the next sample; None after the last."""
        return next(self._given, None)


def quantize(
    path: Path,
    data: str,
    *,
    target: str = "host",
    weights: str = "int8",
    method: str = "minmax",
    most: int | None = None,
    floats: Sequence[str] = (),
    report: Callable[[str], None] | None = None,
) -> Quantized:
    """The model of a file with narrow integers, in QuantizeLinear and DequantizeLinear, calibrated on at most `most`
    samples of `data`; nodes whose names are in `floats` stay as they are. `report` hears what is being done.

    Raises OSError, UsageError where onnxruntime is missing, a node is not there or samples do not fit, CompileError
    where onnxruntime refuses the model.
    """
    said = report or (lambda text: None)
    tools, shapes = _tool("quantization"), _tool("quantization.shape_inference")
    described = lookup(target)
    with tempfile.TemporaryDirectory() as folder:
        plain, made = Path(folder, "plain.onnx"), Path(folder, "made.onnx")
        with _refusing(path):
            said("folding normalisation and constants")
            _prepared(shapes, path, plain, _OPSETS[weights], folder)
            model = onnx.load(plain)
            _require_nodes(model, floats)
            said("calibrating")
            inputs = inputs_of(model)
            reader = _Reader(_told(samples(data, inputs, stop=most), said))
            is_x86 = described.triple.startswith(("x86", "i386", "i686"))
            tools.quantize_static(
                plain,
                made,
                reader,
                quant_format=tools.QuantFormat.QDQ,
                per_channel=True,
                reduce_range=is_x86 and not any("vnni" in each for each in described.present),
                activation_type=tools.QuantType.QUInt8 if is_x86 else tools.QuantType.QInt8,
                weight_type=tools.QuantType.QInt4 if weights == "int4" else tools.QuantType.QInt8,
                calibrate_method=getattr(tools.CalibrationMethod, METHODS[method]),
                nodes_to_exclude=list(floats),
                extra_options={"WeightSymmetric": True, "ActivationSymmetric": False},
            )
        found = onnx.load(made)
    compute = [node for node in found.graph.node if node.op_type not in _CASTS]
    left = _left(found, compute)
    return Quantized(found, len(compute) - len(left), tuple((node.name, node.op_type) for node in left))


_CASTS: Final = ("QuantizeLinear", "DequantizeLinear")


def _left(model: ModelProto, compute: Sequence[NodeProto]) -> list[NodeProto]:
    """Nodes that read or give numbers for which there are no integers; an activation that follows a node on integers is
    computed with it."""
    makers = {name: node for node in model.graph.node for name in node.output}
    read = {name for node in model.graph.node if node.op_type == "QuantizeLinear" for name in node.input}
    results = {each.name for each in model.graph.output}
    real = {each.name for each in model.graph.initializer if each.data_type in _REAL}
    real |= {each.name for each in model.graph.input}
    activated = {node.input[0] for node in compute if node.op_type in _ACTIVATIONS and read & {*node.output}}

    def reads(node: NodeProto) -> bool:
        of = [makers[name] for name in node.input if name in makers]
        if node.op_type in _ACTIVATIONS and of and reads(of[0]):
            return True
        return bool(of) and all(each.op_type == "DequantizeLinear" for each in of) and not real & {*node.input}

    gives = read | results | activated
    return [node for node in compute if not (reads(node) and gives.issuperset(name for name in node.output if name))]


_REAL: Final = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
_ACTIVATIONS: Final = ("Relu", "Clip")


def _told(found: Iterator[Any], said: Callable[[str], None]) -> Iterator[Mapping[str, Any]]:
    for number, sample in enumerate(found, 1):
        said(f"calibrating, sample {number}")
        yield sample.inputs


def _prepared(shapes: Any, path: Path, plain: Path, opset: int, folder: str) -> None:
    """The model with shapes, at least of an opset, without what is folded."""
    model = read_model(path)
    known = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)
    source = path
    if known < opset:
        source = Path(folder, "newer.onnx")
        onnx.save(onnx.version_converter.convert_version(model, opset), source)
    with contextlib.redirect_stdout(None):
        shapes.quant_pre_process(source, plain, skip_symbolic_shape=True)


def _require_nodes(model: ModelProto, names: Sequence[str]) -> None:
    there = {node.name for node in model.graph.node}
    if unknown := [name for name in names if name not in there]:
        why = "it may be folded into another, or has no name"
        raise UsageError("unknown-operator", f"--keep-float {', '.join(unknown)}: no such node", why)


def _tool(name: str) -> Any:
    try:
        logging.disable(logging.WARNING)
        return import_module(f"onnxruntime.{name}")
    except ImportError as error:
        what = "onnxruntime quantises models, and is not installed"
        raise UsageError("missing-tool", what, str(error), "pip install aotc[quantize]") from error
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def _refusing(path: Path) -> Generator[None]:
    """Inside, what onnxruntime says is told as its refusal."""
    logging.disable(logging.WARNING)
    try:
        yield
    except (AotcError, OSError):
        raise
    except Exception as error:
        raise CompileError("failed-tool", f"onnxruntime does not quantise {path.name}", describe(error)) from error
    finally:
        logging.disable(logging.NOTSET)
