"""B24, D25: code, constants, RAM and stack of a model on its target, and budgets for them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

import aotc
from aotc.emit.footprint import CallTree
from aotc.emit.llvm.costs import Frame, frames, object_sizes
from aotc.errors import BudgetError, UsageError
from aotc.machines.compilers import compiler_flags, helper_stack
from aotc.machines.targets import binding, lookup
from aotc.model.metadata import from_json

MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
READS_STACK = 4096

# --- frames ----------------------------------------------------------------------------------------------------------

SOURCE = """
declare float @library(float)
define internal float @aligned(float %x) nounwind uwtable noinline {
  %a = alloca [64 x i32], align 32
  store volatile float %x, ptr %a
  %y = load volatile float, ptr %a
  %r = call float @library(float %y)
  %z = fadd float %r, 1.0
  ret float %z
}
define float @large(float %x) nounwind uwtable {
  %a = alloca [3000 x i32], align 4
  store volatile float %x, ptr %a
  %r = call float @aligned(float %x)
  %z = fmul float %r, %x
  ret float %z
}
define float @leaf(float %x) nounwind uwtable {
  %a = alloca [16 x i32], align 4
  store volatile float %x, ptr %a
  %y = load volatile float, ptr %a
  ret float %y
}
"""


@pytest.mark.parametrize(
    "target", ["x86-64", "x86-64-v3", "aarch64", "armv7", "cortex-m0", "cortex-m4f", "rv32imc", "rv64gc", "wasm32"]
)
def test_frames_of_every_kind_of_target(target: str) -> None:
    chosen = lookup(target)
    module = binding().parse_assembly(SOURCE)
    module.triple = chosen.triple
    found = frames(chosen.machine().emit_assembly(module))
    assert set(found) == {"aligned", "large", "leaf"}
    sizes = {name: frame.size for name, frame in found.items()}
    assert None not in sizes.values()
    assert 12000 <= (sizes["large"] or 0) <= 12000 + 64
    assert 256 + 31 <= (sizes["aligned"] or 0) <= 256 + 31 + 64, "aligned as unluckily as can be"
    assert 64 <= (sizes["leaf"] or 0) <= 64 + 16, "below the stack pointer on x86-64"
    assert "library" in found["aligned"].calls and "aligned" in found["large"].calls
    soft = {"cortex-m0": "__aeabi_fmul", "rv32imc": "__mulsf3"}
    assert found["large"].calls == tuple(sorted({"aligned", soft.get(target, "aligned")}))
    assert found["leaf"].calls == ()


def test_scalable_vectors_have_no_bound() -> None:
    source = """
define void @f(ptr %p, ptr %q) nounwind uwtable {
  %a = alloca <vscale x 4 x i32>
  %v = load <vscale x 4 x i32>, ptr %p
  store volatile <vscale x 4 x i32> %v, ptr %a
  ret void
}"""
    chosen = lookup("rv64gcv")
    module = binding().parse_assembly(source)
    module.triple = chosen.triple
    assert frames(chosen.machine().emit_assembly(module))["f"].size is None


def test_the_deepest_path() -> None:
    tree = CallTree(
        {
            "entry": Frame(10, ("a", "b", "expf", "registry", "weights")),
            "a": Frame(100, ()),
            "b": Frame(20, ("c",)),
            "c": Frame(90, ("expf",)),
            "operator": Frame(500, ()),
            "unknown": Frame(5, ("vector",)),
            "vector": Frame(None, ()),
        },
        data={"weights"},
    )
    assert (tree.stack("entry").size, tree.stack("entry").path) == (120, ("entry", "b", "c"))
    assert tree.library_calls("entry") == ("expf", "registry")
    by_name = CallTree(tree.frames, {"registry": ("operator",)})
    assert (by_name.stack("entry").size, by_name.stack("entry").path) == (510, ("entry", "operator"))
    assert (tree.stack("unknown").size, tree.stack("unknown").path) == (None, ("unknown", "vector"))


# --- footprints ------------------------------------------------------------------------------------------------------


def footprint(tmp_path: Path, model: Path | ModelProto = MODEL, **options: object) -> aotc.model.metadata.Footprint:
    info = aotc.compile_to(model, tmp_path, name="m", **options).info
    assert info is not None and info.footprint is not None
    assert from_json((tmp_path / "m.json").read_text()) == info, "the report says the same"
    return info.footprint


def test_the_sizes_are_those_of_the_object(tmp_path: Path) -> None:
    found = footprint(tmp_path, emit="object", target="cortex-m0")
    image = (tmp_path / "m.o").read_bytes()
    assert not found.estimate and found.target == "cortex-m0"
    with binding().ObjectFileRef.from_data(image) as file:
        sizes = [each.size() for each in file.sections() if each.is_text()]
    assert 0 <= found.text_bytes - sum(sizes) < 4 * len(sizes), "sections are aligned to 4 bytes at most"
    assert found.text_bytes >= sum(each.text_bytes or 0 for each in found.functions) > 0
    assert found.constants_bytes >= 16720 and found.data_bytes == 0
    assert found.flash_bytes == found.text_bytes + found.constants_bytes
    assert object_sizes(image).zeroed == json.loads((tmp_path / "m.json").read_text())["workspace_bytes"]
    assert found.library_calls == ("__aeabi_lmul",), "a quantised model needs no floating point in software"
    assert found.stack_path[0] == "aotc_m_run" and found.functions[-1].symbol == "aotc_m_run"
    assert found.stack_bytes == _frames(found), "a product of 64 bits is not the deepest"


def _frames(found: aotc.model.metadata.Footprint) -> int:
    """Of our own functions on the deepest path."""
    return sum(each.frame_bytes or 0 for each in found.functions if each.symbol in found.stack_path)


def test_the_stack_of_library_functions_counts(tmp_path: Path) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> m (float[8] x) => (float[8] y) { y = Mul(x, x) }'
    )
    found = footprint(tmp_path, model, emit="object", target="cortex-m0")
    *_, last = found.stack_path
    helper = helper_stack("thumbv6m-none-eabi", last)
    assert last == "__aeabi_fmul" and helper
    assert found.stack_bytes == helper + _frames(found)


def test_c_for_a_target_has_an_estimate_and_c_for_nobody_has_none(tmp_path: Path) -> None:
    estimate = footprint(tmp_path, target="cortex-m4")
    assert estimate.estimate
    made = footprint(tmp_path, target="cortex-m4", emit="object")
    assert (estimate.text_bytes, estimate.stack_bytes) == (made.text_bytes, made.stack_bytes)
    assert estimate.stack_margin_bytes > 24 and made.stack_margin_bytes == 0, "another compiler makes other frames"
    info = aotc.compile_to(MODEL, tmp_path).info
    assert info is not None and info.footprint is None


def test_shared_libraries_are_measured_for_a_stack_budget_only(tmp_path: Path) -> None:
    assert footprint(tmp_path, emit="shared").functions == ()
    assert footprint(tmp_path, emit="shared", stack="1M").stack_bytes is not None


def test_weights_count_for_flash_unless_the_caller_has_them(tmp_path: Path) -> None:
    flash = {
        weights: footprint(tmp_path, target="cortex-m0", weights=weights).flash_bytes
        for weights in ("embedded", "external", "caller")
    }
    assert abs(flash["embedded"] - flash["external"]) < 256
    assert flash["embedded"] - flash["caller"] > 16000


def test_packed_operators_are_on_the_stack_of_the_entry(tmp_path: Path) -> None:
    found = footprint(tmp_path, target="cortex-m4", interface_api="packed", operator_api="packed")
    assert found.stack_path[:2] == ("aotc_m_run_packed", "aotc_m_run") and len(found.stack_path) > 2
    assert "AOTCCallPacked" in found.library_calls


def test_d32_sections_of_objects(tmp_path: Path) -> None:
    """D32: where objects have weights and workspace."""
    options = {"weights_section": ".flash.model", "workspace_section": ".ccm"}
    found = footprint(tmp_path, emit="object", target="cortex-m4", **options)
    with binding().ObjectFileRef.from_path(str(tmp_path / "m.o")) as file:
        names = [each.name() for each in file.sections()]
    assert b".flash.model" in names and b".ccm" in names
    assert found.constants_bytes >= 16720, "by what they are, not what they are called"
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.compile_to(MODEL, tmp_path, weights_section=".flash")


def test_the_order_of_kinds_changes_nothing(tmp_path: Path) -> None:
    """Code generation changes LLVM's module."""
    for folder, kinds in {"a": "llvm-ir,object,asm", "b": "asm,object,llvm-ir"}.items():
        aotc.compile_to(MODEL, tmp_path / folder, emit=kinds, target="cortex-m0", name="m")
    for name in ("m.ll", "m.o", "m.s", "m.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize("route", ["object", "c"])
def test_the_bound_holds_and_is_close(route: str, tmp_path: Path) -> None:
    """Paint the stack below main, run, look how far down the paint is gone. No library function is called."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    nodes.append(helper.make_node("MatMul", ["b", "w"], ["y"]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 32]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weights, "w")])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    found = footprint(tmp_path, path, emit=route, **({"cc": "gcc", "optimize": 0} if route == "c" else {}))
    assert found.library_calls == () and found.stack_bytes is not None
    (tmp_path / "main.c").write_text(
        f"""
#include "m.h"
#include <stdio.h>
enum {{ SIZE = {READS_STACK} }};
static float x[16 * 32], y[16 * 32];
static __attribute__((noinline)) void paint(void) {{
  volatile unsigned char below[SIZE];
  for (int i = 0; i < SIZE; ++i) below[i] = 0xA5;
}}
static __attribute__((noinline)) int painted(void) {{
  volatile unsigned char below[SIZE];
  int i = 0;
  while (i < SIZE && below[i] == 0xA5) ++i;
  return i;
}}
int main(void) {{
  paint();
  int status = aotc_m_run(x, y);
  printf("%d", SIZE - painted());
  return status;
}}
"""
    )
    if route == "c":
        as_measured = ["gcc", *compiler_flags(lookup("host"), "0"), "-c", str(tmp_path / "m.c")]
        subprocess.run([*as_measured, "-o", str(tmp_path / "m.o")], check=True)
    command = ["gcc", "-O1", "-w", f"-I{tmp_path}", str(tmp_path / "main.c"), str(tmp_path / "m.o")]
    subprocess.run([*command, "-o", str(tmp_path / "main")], check=True)
    used = int(subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout)
    slack = 32  # between the end of `below` and the stack pointer in main
    assert used <= found.stack_bytes + slack
    assert used >= found.stack_bytes // 2, "a bound that says something"


# --- budgets ---------------------------------------------------------------------------------------------------------


def refusal(tmp_path: Path, **options: object) -> str:
    with pytest.raises(BudgetError) as refused:
        aotc.compile_to(MODEL, tmp_path / "out", name="m", **options)
    assert not (tmp_path / "out").exists(), "nothing is written"
    assert refused.value.exit_code == 1
    return "\n".join(str(problem) for problem in refused.value.problems)


def test_a_budget_that_fails_names_who_is_at_fault(tmp_path: Path) -> None:
    ram = refusal(tmp_path, ram="2K")
    assert "ram allows 2,048" in ram and "Relu" in ram and "at step" in ram
    flash = refusal(tmp_path, flash="1K", target="cortex-m4")
    assert "flash allows 1,024" in flash and "add_1_W_q" in flash and "aotc_m_" in flash and "-Os" in flash
    stack = refusal(tmp_path, stack=8, target="cortex-m4")
    assert "stack allows 8" in stack and "aotc_m_run 8 calls aotc_m_" in stack
    packed = refusal(tmp_path, stack=8, target="cortex-m4", interface_api="packed", operator_api="cpacked")
    assert 'operator_api="unpacked"' in packed
    assert "name the machine with target" in refusal(tmp_path, flash="1K"), "the host's code is a poor guess"


def test_what_is_quantised_is_not_to_be_quantised(tmp_path: Path) -> None:
    """The model of the example has weights of 8 bits; without these it would be told to quantise them."""
    refused = refusal(tmp_path, ram=1, flash=1, target="cortex-m4")
    assert "quantise" not in refused and "make those tensors smaller" in refused and 'weights="caller"' in refused
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in "xy")
    floats = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight]), ir_version=8)
    with pytest.raises(BudgetError) as problems:
        aotc.compile_to(floats, tmp_path / "floats", name="m", ram=1, flash=1, target="cortex-m4")
    assert all("quantise" in str(problem) for problem in problems.value.problems)


def test_every_budget_that_fails_is_reported_at_once(tmp_path: Path) -> None:
    assert refusal(tmp_path, ram=1, flash=1, stack=1, target="cortex-m0").count("allows 1") == 3


def test_budgets_that_are_just_met(tmp_path: Path) -> None:
    """Of small code, for which no budget finds anything smaller."""
    small = {"target": "cortex-m4", "optimize": "s"}
    found = footprint(tmp_path, **small)
    exact = {"ram": found.ram_bytes, "flash": found.flash_bytes, "stack": found.most_stack_bytes or 0}
    aotc.compile_to(MODEL, tmp_path, name="m", **small, **exact)  # pyright: ignore[reportArgumentType]
    for budget, size in exact.items():
        refusal(tmp_path, **small, **{budget: size - 1})


def test_inputs_and_outputs_in_the_workspace_are_not_counted_twice(tmp_path: Path) -> None:
    info = aotc.compile_to(MODEL, tmp_path, io="workspace").info
    assert info is not None
    aotc.compile_to(MODEL, tmp_path, io="workspace", ram=info.workspace_bytes)


# --- pipelines -------------------------------------------------------------------------------------------------------


def test_pipelines_that_name_nothing() -> None:
    from aotc.pipeline.phases import make_passes

    with pytest.raises(UsageError, match="unknown-pass"):
        make_passes("fuse-epilogue")
    for pipeline in ("plan-memory{order=given", "plan-memory{colour=red}", "plan-memory{alignment=x}"):
        with pytest.raises(UsageError, match="invalid-option"):
            make_passes(pipeline)
