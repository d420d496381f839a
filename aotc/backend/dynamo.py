"""The backend of torch.compile: `torch.compile(model, backend="aotc")`, found by the entry point group
`torch_dynamo_backends`.

Dynamo hands over graphs of operations of torch, several of a model where there is Python that it does not trace between
them. Each becomes an ONNX model by torch's exporter, with its parameters and buffers as constants, and is compiled for
the shapes of its calls. The module is imported by torch alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aotc.compiler.driver import compile, to_onnx
from aotc.errors import AotcError, CompileError, UsageError
from aotc.executor import CompiledModel
from aotc.model.dlpack import to_dlpack
from aotc.model.limits import MAX_SHAPES

torch: Any = sys.modules.get("torch")
_Module: Any = torch.nn.Module if torch else object
_Function: Any = torch.autograd.Function if torch else object


def compile_graph(
    graph: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Callable[..., Any]:
    """The function in place of a graph that dynamo hands over with its `inputs`: tensors, and integers that are open.

    `options` are those of `aotc.compile`, and `fallback`: whether torch itself runs graphs that cannot be compiled,
    with a warning that says why (default), or that is an error. Gradients are those of torch: where they are needed,
    they are computed of the graph. Raises UsageError for a mode: there is none.
    """
    if mode is not None:
        raise UsageError("option-conflict", f"mode={mode!r} with backend='aotc'", "there are options, and no modes")
    return Graph(graph, inputs, dict(options or {}))


class Graph:
    """A graph, compiled when it is called, for the shapes and open integers of each call."""

    def __init__(self, graph: Any, inputs: Sequence[Any], options: dict[str, Any]) -> None:
        self._graph = graph
        self._fallback = bool(options.pop("fallback", True))
        self._options = options
        places = [node.meta.get("tensor_dict") or {} for node in graph.graph.nodes if node.op == "placeholder"]
        self._weights = [place for place, each in enumerate(places) if "_dynamo_static_input_type" in each]
        """The places of parameters and buffers, which are constants while nobody changes them."""
        self._is_open = any(not isinstance(each, torch.Tensor) for each in inputs)
        self._marks: list[Any] = []
        """Marks of the weights when code was made."""
        self._changes = 0
        self._made: dict[Any, Callable[..., Any]] = {}
        self._written: list[int] = []
        """The places of inputs that the graph writes."""

    def __call__(self, *inputs: Any) -> Any:
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
            return Recomputed.apply(self, *inputs)
        return self.code(inputs)(*inputs)

    def code(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The function in place of the graph for such inputs, without gradients; it is compiled where it is new."""
        marks = [_mark(inputs[place]) for place in self._weights]
        if marks != self._marks:
            self._renew(marks, inputs)
        key = tuple([x.shape if isinstance(x, torch.Tensor) else int(x) for x in inputs]) if self._is_open else None
        if key not in self._made:
            if len(self._made) >= MAX_SHAPES:
                self._made.pop(next(iter(self._made)))
            self._made[key] = self._compiled(inputs)
        return self._made[key]

    def original(self, *inputs: Any) -> Any:
        """The results that torch computes."""
        return self._graph(*inputs)

    def apart(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs; of those that the graph writes copies."""
        return [each.detach().clone() if place in self._written else each for place, each in enumerate(inputs)]

    def _renew(self, marks: list[Any], inputs: Sequence[Any]) -> None:
        """Take weights as they are now; those that change again and again are inputs from then on."""
        self._changes += bool(self._made)
        if self._changes > 1:
            self._weights, marks = [], []
        self._marks = marks
        self._made.clear()

    def _compiled(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The code for these inputs: the graph itself, where it cannot be compiled."""
        sample, self._written = _tried(self._graph, inputs)
        weights = [place for place in self._weights if place not in self._written]
        try:
            code = _compiled(_Closed(self._graph, inputs, weights, self._written), sample, inputs, self._options)
            _require_same(code(*self.apart(inputs)), sample)
            return code
        except AotcError as error:
            if not self._fallback:
                raise
            warnings.warn(f"torch itself runs a graph: {error}", stacklevel=3)
            return self.original


def _tried(graph: Any, inputs: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    """The results that torch computes on copies of the inputs, and the places of the inputs that it writes."""
    copies: list[Any] = [each.detach().clone() if isinstance(each, torch.Tensor) else int(each) for each in inputs]
    versions = [each._version if isinstance(each, torch.Tensor) else each for each in copies]
    with torch.no_grad():
        results = graph(*copies)
    return results, [
        place
        for place, (each, version) in enumerate(zip(copies, versions, strict=True))
        if isinstance(each, torch.Tensor) and (each._version != version or not torch.equal(each, inputs[place]))
    ]


def _require_same(found: Sequence[Any], sample: Sequence[Any]) -> None:
    """Raise CompileError where floats are not those of torch: its exporter has batch normalisation that learns compute
    as if it did not."""
    for value, right in zip(found, sample, strict=True):
        if isinstance(right, torch.Tensor) and right.is_floating_point() and right.numel():
            value, right = value.double(), right.double()
            most = 1e-2 * float(right.nan_to_num(0, 0, 0).abs().max())
            if not torch.allclose(value, right, rtol=1e-2, atol=most, equal_nan=True):
                what = "the graph that torch.onnx.export writes computes something else than torch"
                raise CompileError("failed-tool", what, "it may have layers in training mode")


def _mark(weight: Any) -> Any:
    """Equal while it is the same tensor, which nobody has written."""
    return id(weight), None if weight.is_inference() else weight._version


class _Closed(_Module):
    """A graph as a module of the tensors that change; it returns its tensors, and behind them inputs that it wrote."""

    def __init__(self, graph: Any, inputs: Sequence[Any], weights: Sequence[int], written: Sequence[int]) -> None:
        super().__init__()
        self.graph, self.written, self.count = graph, list(written), len(inputs)
        self.numbers = {place: int(each) for place, each in enumerate(inputs) if not isinstance(each, torch.Tensor)}
        self.free = [place for place in range(self.count) if place not in weights and place not in self.numbers]
        for place in weights:
            self.register_buffer(f"weight_{place}", inputs[place].detach(), persistent=False)

    def forward(self, *free: Any) -> Any:
        given: dict[int, Any] = dict(zip(self.free, free, strict=True)) | self.numbers
        given = given | {place: given[place].clone() for place in self.written}
        found = self.graph(*(given[at] if at in given else getattr(self, f"weight_{at}") for at in range(self.count)))
        return (*(each for each in found if isinstance(each, torch.Tensor)), *(given[place] for place in self.written))


def _compiled(
    closed: _Closed, sample: Sequence[Any], inputs: Sequence[Any], options: Mapping[str, Any]
) -> Callable[..., list[Any]]:
    """The code of a graph whose results are like a sample. Raises AotcError."""
    free, written = closed.free, closed.written
    with torch.no_grad():
        made = to_onnx(closed.eval(), example_inputs=tuple(inputs[place].detach() for place in free))
        model = compile(made, **options)
    names = [tensor.name for tensor in model.outputs]
    is_plain = all(_is_numpys(tensor.dtype) for tensor in (*model.inputs, *model.outputs))
    layout = [None if isinstance(each, torch.Tensor) else each for each in sample]
    is_tensor = [isinstance(each, torch.Tensor) for each in sample]

    def run(*given: Any) -> list[Any]:
        arrays = [given[place].detach() for place in free]
        if is_plain:
            arrays = [each.numpy() for each in arrays]
            results = model.computed(arrays) if isinstance(model, CompiledModel) else model(*arrays)
            found = [torch.from_numpy(results[name]) for name in names]
        else:
            results = model(*arrays)
            found = [torch.from_dlpack(to_dlpack(results[name])) for name in names]
        for place, value in zip(written, found[len(found) - len(written) :], strict=True):
            given[place].copy_(value)
        tensors = iter(found)
        return [next(tensors) if known else value for known, value in zip(is_tensor, layout, strict=True)]

    return run


def _is_numpys(dtype: str) -> bool:
    return dtype == "bool" or dtype.startswith(("int", "uint", "float16", "float32", "float64"))


class Recomputed(_Function):
    """A call of a graph whose gradients torch computes, of the graph that it traced."""

    @staticmethod
    def forward(ctx: Any, graph: Graph, *inputs: Any) -> Any:
        """The results of the compiled graph."""
        code = graph.code(inputs)
        ctx.graph, ctx.inputs = graph, graph.apart(inputs)
        return tuple(code(*inputs))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Those of the inputs, None where an input has none."""
        inputs = [
            copy.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
            for copy, x in zip(ctx.graph.apart(ctx.inputs), ctx.inputs, strict=True)
        ]
        with torch.enable_grad():
            results = ctx.graph.original(*inputs)
        known = [
            (result, gradient)
            for result, gradient in zip(results, gradients, strict=True)
            if gradient is not None and isinstance(result, torch.Tensor) and result.requires_grad
        ]
        asked = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
        ends, starts = [result for result, _ in known], [gradient for _, gradient in known]
        found = iter(torch.autograd.grad(ends, asked, starts, allow_unused=True))
        return (None, *(next(found) if isinstance(x, torch.Tensor) and x.requires_grad else None for x in inputs))
