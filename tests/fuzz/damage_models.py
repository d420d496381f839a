"""Damaged ONNX files: structures broken one by one, then bytes; what is wrong is refused in our words, or it runs."""

from __future__ import annotations

import contextlib
import io
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

import aotc
from aotc.cli.main import run
from fuzz.catalogue import draw
from fuzz.routes import Wrong

HUGE = (-1, 0, 1, -(2**31), 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 1 << 40, 4097)
NAMES = ("", "x" * 5000, "a\nb", "a\x00b", "../../etc/passwd", "é\u202e", "%0", "main", "int", "-", '"', "\x1b[2J")
_LARGEST = 1 << 26
"""Elements of the inputs and outputs of a model that is called; where a damaged shape has more, compiling is enough."""
PLACES = ("/dev/zero", "/etc/passwd", "../m.onnx", "none", "fifo", "", ".", "a\x00b", "a\udcff")


def _node(r: random.Random, model: ModelProto) -> NodeProto | None:
    return r.choice(model.graph.node) if model.graph.node else None


def _operator(r: random.Random, model: ModelProto) -> None:
    if node := _node(r, model):
        node.op_type = r.choice(("Relu", "Add", "Conv", "Reshape", "If", "Loop", "Cast", "", *NAMES))
        node.domain = r.choice(("", "", "ai.onnx", "com.microsoft", "x"))


def _edges(r: random.Random, model: ModelProto) -> None:
    """Operands and results swapped, doubled, left out, named like others, tied into circles."""
    node, other = _node(r, model), _node(r, model)
    if node is None or other is None:
        return
    side, names = r.choice((node.input, node.output)), [*other.input, *other.output, *NAMES]
    match r.randrange(5):
        case 0 if side:
            side[r.randrange(len(side))] = r.choice(names)
        case 1:
            side.append(r.choice(names))
        case 2 if side:
            side.pop()
        case 3:
            values = r.sample(list(side), len(side))
            side[:] = values
        case _ if node.input and other.output:
            node.input[0] = other.output[0]


def _nodes(r: random.Random, model: ModelProto) -> None:
    nodes = list(model.graph.node)
    match r.randrange(4):
        case 0 if nodes:
            del model.graph.node[r.randrange(len(nodes))]
        case 1 if nodes:
            model.graph.node.append(r.choice(nodes))
        case 2:
            r.shuffle(nodes)
            del model.graph.node[:]
            model.graph.node.extend(nodes)
        case _ if nodes:
            r.choice(nodes).name = r.choice(NAMES)


def _attribute(r: random.Random, model: ModelProto) -> None:
    node = _node(r, model)
    if node is None:
        return
    if not node.attribute or r.random() < 0.2:
        names = ("axis", "perm", "pads", "kernel_shape", "to", "group", "mode", "alpha", "value", "axes", "block_size")
        value = r.choice((r.choice(HUGE), [r.choice(HUGE)], 0.5, "x", b"\xff", [1, 2, 3]))
        node.attribute.append(helper.make_attribute(r.choice(names), value))
        return
    place = r.randrange(len(node.attribute))
    attribute = node.attribute[place]
    match r.randrange(7):
        case 0:
            del node.attribute[place]
        case 1:
            attribute.i = r.choice(HUGE)
        case 2 if attribute.ints:
            attribute.ints[r.randrange(len(attribute.ints))] = r.choice(HUGE)
        case 3:
            attribute.ints.extend(r.choice(HUGE) for _ in range(r.randrange(1, 9)))
        case 4:
            attribute.type = r.randrange(15)
        case 5:
            attribute.f = r.choice((float("nan"), float("inf"), -1e38, 0.0))
        case _:
            attribute.s = r.choice((b"", b"SAME_UPPER", b"\xff\xfe", b"x" * 100))


def _tensor(r: random.Random, model: ModelProto) -> None:
    tensors = list(model.graph.initializer) + [
        attribute.t for node in model.graph.node for attribute in node.attribute if attribute.HasField("t")
    ]
    if not tensors:
        model.graph.initializer.append(
            TensorProto(name=r.choice(NAMES), data_type=r.randrange(30), dims=[r.choice(HUGE)])
        )
        return
    tensor = r.choice(tensors)
    match r.randrange(7):
        case 0:
            tensor.data_type = r.randrange(32)
        case 1 if tensor.dims:
            tensor.dims[r.randrange(len(tensor.dims))] = r.choice(HUGE)
        case 2:
            tensor.dims.append(r.choice((0, 1, 2, -1, 1 << 40)))
        case 3:
            tensor.raw_data = tensor.raw_data[: r.randrange(len(tensor.raw_data) + 1)]
        case 4:
            numbers = np.frombuffer(tensor.raw_data[: len(tensor.raw_data) // 8 * 8], np.int64).copy()
            if numbers.size:
                numbers[r.randrange(numbers.size)] = r.choice(HUGE)
                tensor.raw_data = numbers.tobytes()
        case 5:
            tensor.data_location = TensorProto.EXTERNAL
            entries = {
                "location": r.choice(PLACES),
                "offset": str(r.choice(HUGE)),
                "length": r.choice(("9", "x", "-1")),
            }
            for key, value in entries.items():
                with contextlib.suppress(ValueError, UnicodeEncodeError):  # of what protobuf will not write
                    tensor.external_data.add(key=key, value=value)
        case _:
            tensor.name = r.choice(NAMES)


def _value(r: random.Random, model: ModelProto) -> None:
    values = [*model.graph.input, *model.graph.output]
    if not values:
        return
    value = r.choice(values)
    kind = value.type.tensor_type
    match r.randrange(6):
        case 0:
            kind.elem_type = r.randrange(32)
        case 1 if kind.shape.dim:
            r.choice(kind.shape.dim).dim_value = r.choice(HUGE)
        case 2 if kind.shape.dim:
            r.choice(kind.shape.dim).dim_param = r.choice(NAMES)
        case 3:
            kind.ClearField("shape")
        case 4:
            value.name = r.choice(NAMES)
        case _:
            value.ClearField("type")


def _header(r: random.Random, model: ModelProto) -> None:
    match r.randrange(5):
        case 0 if model.opset_import:
            model.opset_import[0].version = r.choice((*HUGE, 6, 7, 99))
        case 1:
            model.opset_import.append(helper.make_opsetid(r.choice(("", "ai.onnx", "x")), r.choice((1, 13, 21, 99))))
        case 2:
            model.ir_version = r.choice((0, 1, 3, 99, 2**31))
        case 3:
            del model.opset_import[:]
        case _:
            model.graph.name = r.choice(NAMES)


def _nested(r: random.Random, model: ModelProto) -> None:
    """The graph within an attribute of its own node, functions that call each other or themselves."""
    if r.random() < 0.5:
        node = model.graph.node.add(op_type=r.choice(("If", "Loop", "Scan")), input=["x0"], output=["nested"])
        inner = model.graph
        for _ in range(r.choice((1, 2, 30))):
            copy = type(inner)()
            copy.CopyFrom(inner)
            del node.attribute[:]
            for name in ("then_branch", "else_branch", "body"):
                node.attribute.append(helper.make_attribute(name, copy))
            if copy.ByteSize() > 1 << 18:
                break
        return
    function = helper.make_function(
        "f", "F", ["x"], ["y"], [helper.make_node(r.choice("FG"), ["x"], ["y"], domain="f")], []
    )
    other = helper.make_function("f", "G", ["x"], ["y"], [helper.make_node("F", ["x"], ["y"], domain="f")], [])
    model.functions.extend((function, other))
    model.opset_import.append(helper.make_opsetid("f", 1))
    if node := _node(r, model):
        node.op_type, node.domain = "F", "f"


DAMAGES: tuple[Callable[[random.Random, ModelProto], None], ...] = (
    *(_operator, _edges, _edges, _nodes, _attribute, _attribute, _attribute, _tensor, _tensor, _value, _value),
    *(_header, _nested),
)


def _bytes(r: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(r.randint(1, 4)):
        if not changed:
            break
        place = r.randrange(len(changed))
        match r.randrange(4):
            case 0 | 1:
                changed[place] = r.randrange(256)
            case 2:
                del changed[place : place + r.randint(1, 8)]
            case _:
                changed[place:place] = changed[place : place + r.randint(1, 32)]
    return bytes(changed)


def damaged(seed: int) -> bytes:
    """A model file with something wrong in it, most probably."""
    r = random.Random(seed)
    model = draw(seed).model()
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        with contextlib.suppress(ValueError, TypeError, UnicodeEncodeError):  # of what protobuf will not hold
            r.choice(DAMAGES)(r, model)
    data = model.SerializeToString()
    return _bytes(r, data) if r.random() < 0.3 else data


def damaged_model(seed: int) -> str:
    """A damaged file through `aotc.compile` and a call, or through a command: an answer, or a refusal in our words."""
    data = damaged(seed)
    return by_command(seed, data) if seed % 4 == 0 else in_process(data)


def in_process(data: bytes) -> str:
    """Compile and call, open dimensions being 2. Raises whatever is none of our errors, and Wrong for an error that
    says nothing."""
    try:
        model = aotc.compile(data, optimize="0" if len(data) % 2 else "2")
        if isinstance(model, aotc.DynamicModel):
            model = model.at(dict.fromkeys(model.dims, 2))
    except aotc.AotcError as error:
        _said(str(error))
        return "refused"
    if sum(math.prod(each.shape) for each in (*model.inputs, *model.outputs)) > _LARGEST:
        return "compiled, too large to call"
    feed: dict[str, Any] = {each.name: np.ones(each.shape, each.dtype) for each in model.inputs}
    model(feed)
    return "compiled"


def by_command(seed: int, data: bytes) -> str:
    """`aotc compile`, `check`, `plan` or `inspect` of the file: its exit code, one line an error, nothing left."""
    Path("m.onnx").write_bytes(data)
    os.mkfifo("fifo")
    command = ("compile", "check", "plan", "inspect")[seed // 4 % 4]
    arguments = [command, "m.onnx", *(["-o", "out"] if command == "compile" else [])]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
        if code not in (0, 2, 3, 4) or "Traceback" in err.getvalue():
            raise Wrong(f"aotc {command}: exit {code}: {err.getvalue()[:2000]}")
        if code:
            said = (line for line in err.getvalue().splitlines() if not line.startswith("warning: "))
            if not next(said, "").startswith("error: "):
                raise Wrong(f"aotc {command}: exit {code} without an error: {err.getvalue()[:500]!r}")
            _said(err.getvalue())
            if Path("out").exists():
                raise Wrong(f"aotc {command}: exit {code}, and files are left")
    finally:
        for path in (*Path("out").glob("*"), Path("m.onnx"), Path("fifo")):
            path.unlink(missing_ok=True)
        if Path("out").is_dir():
            Path("out").rmdir()
    return f"{command}: exit {code}"


def _said(message: str) -> None:
    """Raise Wrong for a message that says nothing, or that a terminal would obey."""
    if not message.strip() or "\x1b" in message or "\x00" in message:
        raise Wrong(f"a message not fit to be shown: {message[:300]!r}")
    if len(message) > 20000:
        raise Wrong(f"a message of {len(message)} characters")
