"""Small models in ONNX's textual syntax, and their import."""

from __future__ import annotations

from typing import Any

import onnx.parser
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from aotc.frontend.onnx import import_model, load_model
from aotc.model.weight_store import WeightStore

HEADER = '<ir_version: 10, opset_import: ["" : 17]>'


def parse(graph: str, functions: str = "", header: str = HEADER) -> ModelProto:
    """A model from the text of its graph, such as `g (float[2] x) => (float[2] y) { y = Relu(x) }`."""
    return onnx.parser.parse_model(f"{header}\n{graph}\n{functions}")


class Imported:
    """A model after import: the module, verified, and its weights."""

    def __init__(self, source: ModelProto | str, **options: Any) -> None:
        ctx = Context()
        self.module: ModuleOp = import_model(load_model(source), ctx, **options)
        self.module.verify()
        self.store = WeightStore.of(ctx)
        function = self.module.body.block.first_op
        assert isinstance(function, FuncOp)
        self.function = function

    @property
    def operations(self) -> list[Operation]:
        """The entry's operations, without constants and terminator."""
        ops = list(self.function.body.block.ops)
        return [op for op in ops[:-1] if op.name != "graph.constant"]

    @property
    def names(self) -> list[str]:
        """Their names without the dialect's."""
        return [op.name.removeprefix("graph.") for op in self.operations]
