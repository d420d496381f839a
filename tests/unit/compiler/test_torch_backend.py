"""The backend of torch.compile: registered as PyTorch asks, and right on graphs of every kind, where torch is there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROGRAM = """
import warnings, torch
from torch import nn
from aotc.backend.dynamo import compile_graph
from aotc.errors import AotcError

def same(model, compiled, *inputs):
    a, b = model(*inputs), compiled(*inputs)
    for x, y in zip(a, b, strict=True):
        if isinstance(x, torch.Tensor):
            assert x.dtype == y.dtype and torch.allclose(x.float(), y.float(), rtol=1e-4, atol=1e-5), (x, y)
        else:
            assert x == y

class Net(nn.Module):  # writes a buffer, has a break, returns a number and a type that numpy lacks
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(1))
    def forward(self, x):
        self.calls.add_(1)
        y = self.norm(self.linear(x)) + self.calls
        torch._dynamo.graph_break()
        return y.relu(), y.shape[0], x.to(torch.bfloat16) * 2

def nets():
    torch.manual_seed(0)
    mine = Net().eval()
    other = Net().eval()
    other.load_state_dict(mine.state_dict())
    return mine, other

options = {"fallback": False}
mine, other = nets()
compiled = torch.compile(other, backend=compile_graph, options=options)
for grad in (False, True):
    with torch.set_grad_enabled(grad):
        for rows in (2, 3, 5, 2):
            same(mine, compiled, torch.randn(rows, 4))
            assert torch.equal(mine.calls, other.calls)
with torch.no_grad():  # weights that change, again and again
    for _ in range(4):
        for each in (mine, other):
            each.linear.weight.mul_(1.5)
        same(mine, compiled, torch.randn(3, 4))
for mode in (False, True):  # gradients, and statistics that are learned once a call: torch's exporter has none
    if mode:
        torch._dynamo.reset()
        compiled = torch.compile(other, backend=compile_graph)
        warnings.simplefilter("ignore")
    for each in (mine, other):
        each.train(mode)
        each.zero_grad()
    x = torch.randn(6, 4, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    mine(x)[0].pow(2).sum().backward()
    compiled(y)[0].pow(2).sum().backward()
    assert torch.allclose(x.grad, y.grad, atol=1e-4) and x.grad.abs().sum() > 0
    for a, b in zip(mine.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-3, atol=1e-4)
    for a, b in zip(mine.buffers(), other.buffers(), strict=True):
        assert torch.allclose(a, b)

def strange(x):
    return (torch.linalg.svdvals(x.reshape(2, 2)),)

try:
    torch.compile(strange, backend=compile_graph, options=options)(torch.ones(4))
    raise SystemExit("singular values were compiled")
except AotcError:
    torch._dynamo.reset()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    same(strange, torch.compile(strange, backend=compile_graph), torch.ones(4))
assert any("torch itself runs a graph" in str(each.message) for each in said)
try:
    compile_graph(None, [], mode="max-autotune")
    raise SystemExit("there is no such mode")
except ValueError:
    print("done")
"""


def test_the_backend_is_registered_as_pytorch_asks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["entry-points"]["torch_dynamo_backends"]["aotc"].split(":")
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    assert f"\ndef {function}(" in Path(spec.origin).read_text(encoding="utf-8")


def test_graphs_of_dynamo() -> None:
    pytest.importorskip("torch", reason="torch is not installed: its graphs are not tried")
    pytest.importorskip("onnxscript", reason="no onnxscript")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("done\n"), done.stderr
