"""Metadata and memory plan, read off a module that went through the passes from `plan` to `interface`."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

from aotc.dialects.aot.contract import PLAN, plan_of
from aotc.errors import CompileError
from aotc.model.metadata import BufferArgument, KernelInfo, ModelInfo, TensorInfo, from_json, to_json
from aotc.pipeline.model_info import model_info
from aotc.pipeline.phases import PassRunner

MODULE = """
builtin.module attributes {aot.name = "toy"} {
  func.func private @scale_0(%x: memref<2x4xf32>, %w: memref<4xf32>, %o: memref<2x4xf32>)
      attributes {aot.kernel, aot.in_place = [[0]]} { func.return }
  func.func private @sum_0(%x: memref<2x4xf32>, %o: memref<2xi8>) attributes {aot.kernel, aot.in_place = [[]]} {
    func.return
  }
  func.func @main(%x: memref<2x4xf32> {aot.name = "x:0", aot.dtype = "float32", aot.io = "input"},
                  %y: memref<2xi8> {aot.name = "größe", aot.dtype = "uint8", aot.io = "output",
                                    aot.scale = 0.5 : f64, aot.zero_point = -3 : i64}) attributes {aot.entry} {
    %w = aot.weight "w" : memref<4xf32>
    %a = memref.alloc() : memref<2x4xf32>
    func.call @scale_0(%x, %w, %a) : (memref<2x4xf32>, memref<4xf32>, memref<2x4xf32>) -> () loc("größe_0")
    %b = memref.alloc() : memref<2x4xf32>
    func.call @scale_0(%a, %w, %b) : (memref<2x4xf32>, memref<4xf32>, memref<2x4xf32>) -> () loc("Mul_1")
    func.call @sum_0(%b, %y) : (memref<2x4xf32>, memref<2xi8>) -> () loc(fused["Sum_2", "Cast_3"])
    func.return
  }
}
"""

INTERFACE = "select-calling-convention{{interface-api={} operator-api={} {}}},mangle-symbols,place-weights," + (
    "buffers-to-pointers,lower-calls,wrap-entry"
)


def lowered(interface_api: str, operator_api: str, more: str = "") -> ModuleOp:
    ctx = Context()
    for name, load in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, load)
    module = Parser(ctx, MODULE).parse_module()
    pipeline = "plan-memory," + INTERFACE.format(interface_api, operator_api, more)
    PassRunner(ctx, verify_each=True).run("all", pipeline, module)
    return module


@pytest.mark.parametrize(
    ("interface_api", "operator_api"),
    [("c", "unpacked"), ("micro", "unpacked"), ("packed", "unpacked"), ("packed", "cpacked"), ("packed", "packed")],
)
def test_the_same_in_every_convention(interface_api: str, operator_api: str) -> None:
    info = model_info(lowered(interface_api, operator_api))
    assert (info.name, info.interface_api, info.operator_api) == ("toy", interface_api, operator_api)
    assert info.inputs == (TensorInfo("x:0", "x_0", "float32", (2, 4)),)
    assert info.outputs == (TensorInfo("größe", info.outputs[0].symbol, "uint8", (2,), 0.5, -3),)
    assert info.outputs[0].symbol.isidentifier() and info.outputs[0].symbol.isascii()
    assert (info.workspace_bytes, info.workspace_alignment, info.weights_bytes, info.io_bytes) == (32, 16, 16, 34)
    x, w, o = (BufferArgument(name, "float32", shape) for name, shape in (("x", (2, 4)), ("w", (4,)), ("o", (2, 4))))
    (scale, total) = info.kernels
    assert scale == KernelInfo("aotc_toy_scale_0", ("größe_0", "Mul_1"), 2, 0, 64, 16, inputs=(x, w), outputs=(o,))
    o = BufferArgument("o", "int8", (2,))
    assert total == KernelInfo("aotc_toy_sum_0", ("Sum_2", "Cast_3"), 1, 0, 34, 0, inputs=(x,), outputs=(o,))
    assert info.plan.order == ("größe_0", "Mul_1", "Sum_2+Cast_3")
    assert [(b.name, b.first, b.last, b.nodes) for b in info.plan.buffers] == [("größe_0", 0, 2, ("größe_0", "Mul_1"))]
    assert from_json(to_json(info)) == info and to_json(info).isascii()


def test_weights_of_the_caller_are_as_big_as_their_blob() -> None:
    info: ModelInfo = model_info(lowered("c", "unpacked", "weights=caller workspace=caller"))
    assert (info.weights, info.weights_bytes, info.workspace, info.workspace_bytes) == ("caller", 16, "caller", 32)
    assert len(info.inputs) == len(info.outputs) == 1


def test_the_plan_survives_text() -> None:
    module = lowered("c", "unpacked")
    plan = plan_of(module)
    ctx = Context()
    for name, load in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, load)
    alone = ModuleOp([])
    PLAN.set(alone, plan)
    assert plan_of(Parser(ctx, str(alone)).parse_module()) == plan


def test_a_module_that_is_not_planned() -> None:
    with pytest.raises(CompileError, match="invalid-contract"):
        plan_of(ModuleOp([]))
