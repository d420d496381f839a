"""The interface of `onnx.backend`: `aotc.backend.prepare(model).run([x])`.

The module is the backend, as the onnx package's own runner takes it: `onnx.backend.test.BackendTest(aotc.backend,
__name__)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, defs, helper
from onnx.backend import base

from aotc.compiler.driver import compile
from aotc.compiler.dynamic.dispatch import exact
from aotc.compiler.dynamic.model import DynamicModel
from aotc.errors import CompileError
from aotc.executor import CompiledModel
from aotc.model.arguments import checks_kinds


class Prepared(base.BackendRep):
    """A model, ready to run; `model` is the compiled model behind it."""

    def __init__(self, model: CompiledModel | DynamicModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, a tuple that knows their names, for inputs in order, by name, or for the only one.

        Raises TypeError for a wrong dtype or number of arrays, ValueError for a wrong name or shape.
        """
        if kwargs:
            raise TypeError(f"a run has no option {', '.join(kwargs)}")
        given = (inputs,) if isinstance(inputs, Mapping) or not isinstance(inputs, list | tuple) else inputs
        results = exact(self.model(*given), self.model.outputs)
        return _outputs(tuple(results))(*results.values())


@lru_cache(maxsize=64)
def _outputs(names: tuple[str, ...]) -> Any:
    """The class of tuples whose elements are called by the names of outputs."""
    return base.namedtupledict("Outputs", list(names))


class Backend(base.Backend):
    """Models are compiled for the processor; options are those of `aotc.compile`."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` takes the model, which is tried: some of what is not supported shows only late."""
        try:
            cls.prepare(model, device, **kwargs)
        except (CompileError, ValueError):
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Compile a model. Raises as `aotc.compile`, and ValueError for another device than CPU."""
        if not cls.supports_device(device):
            raise ValueError(f"device {device}; models run on CPU")
        return Prepared(compile(model, **kwargs))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """`prepare` and `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    @checks_kinds
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node for its inputs, in order without those that are left out, or by name.

        Their types follow from the inputs'; `outputs_info` is not needed. `opset_version` is the version of the node's
        domain (default: the newest there is, 1 for a domain that onnx does not know).
        """
        names = [name for name in dict.fromkeys(node.input) if name]
        values = inputs if isinstance(inputs, Mapping) else dict(zip([n for n in node.input if n], inputs, strict=True))
        arrays = {name: np.asarray(values[name]) for name in names}
        taken = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in arrays.items()
        ]
        results = [ValueInfoProto(name=name, type=TypeProto()) for name in node.output if name]
        known = defs.onnx_opset_version() if node.domain in ("", "ai.onnx") else 1
        opset = helper.make_opsetid(node.domain, kwargs.pop("opset_version", known))
        graph = helper.make_graph([node], node.op_type or "node", taken, results)
        return cls.run_model(helper.make_model(graph, opset_imports=[opset]), arrays, device, **kwargs)

    @classmethod
    @checks_kinds
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device: "CPU", or "CPU:0"."""
        return device in ("CPU", "CPU:0")


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
