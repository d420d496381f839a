"""The legality table (D3, D28, D29), the symbols (C1, C2, D18), and what cannot become a pointer (D10)."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from legality import legal, table
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

import aotc
from aotc.dialects.aot.contract import weight_offsets
from aotc.emit.c.source import CSource
from aotc.errors import CompileError, UsageError
from aotc.model.conventions import (
    CHOICES,
    INTERFACE_APIS,
    OPERATOR_APIS,
    RULES,
    RUNTIMES,
    WEIGHTS,
    WORKSPACES,
    Conventions,
    entry_symbol,
    model_symbol,
    operator_symbol,
    require_identifier,
)
from aotc.model.weight_store import WeightStore
from aotc.passes.interface.buffers_to_pointers import BuffersToPointersPass
from aotc.passes.interface.place_weights import PlaceWeightsPass
from aotc.passes.interface.select_calling_convention import SelectCallingConventionPass
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PassRunner

ABI = Path(__file__).parents[3] / "docs" / "abi.md"


def parse(text: str) -> tuple[Context, ModuleOp]:
    """A module of every dialect there is, and its context."""
    ctx = Context(allow_unregistered=True)
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, dialect)
    return ctx, Parser(ctx, text).parse_module()


def test_d5_the_output_for_the_executor_is_packed_inside_and_out_by_default() -> None:
    """A0 + C0 for the host's runtime; bare C gets typed pointers, one .c and one .h without it (D17, D21, A22)."""
    host, bare = CompileOptions.of(runtime="host"), CompileOptions.of()
    assert (host.interface_api, host.operator_api) == ("packed", "cpacked")
    assert (bare.interface_api, bare.operator_api) == ("c", "unpacked")
    typed = CompileOptions.of(runtime="host", interface_api="c")
    assert (typed.interface_api, typed.operator_api) == ("c", "unpacked")
    for interface in INTERFACE_APIS:
        for runtime in RUNTIMES:
            chosen = CompileOptions.of(interface_api=interface, runtime=runtime)
            Conventions(chosen.interface_api, chosen.operator_api, chosen.runtime).check()


def test_d5_packed_output_runs_in_the_executor(tmp_path: Path) -> None:
    model = Path(__file__).parents[2] / "models" / "data" / "kws_int8" / "model.onnx"
    aotc.compile_to(model, tmp_path, name="m", emit=("shared", "c"), runtime="host")
    text = (tmp_path / "m.c").read_text()
    assert "aotc_m_run_packed(void *args, void *arg_type_ids, int32_t num_args" in " ".join(text.split())
    loaded = aotc.load(tmp_path / "m.so")
    assert loaded.metadata.interface_api == "packed" and loaded.metadata.operator_api == "cpacked"
    feed = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in loaded.inputs}
    expected = aotc.compile(model)(feed)
    for name, value in loaded(feed).items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize(
    "choice",
    [
        Conventions("c", "cpacked"),  # A1 outside, A0 inside
        Conventions("micro", "packed"),
        Conventions("packed", "unpacked", "host"),  # D28: the host runtime refuses unpacked
        Conventions("packed", "cpacked", "host", linkable=False),  # D28: packed where a module cannot be linked
        Conventions("packed", "unpacked", "c", linkable=False),
        Conventions("c", "unpacked", "host", weights="external"),
        Conventions("packed", "unpacked", operator_arguments="values"),  # A1 + C0 where others could see it
    ],
)
def test_d28_illegal_combinations_are_refused_with_reason_and_way_out(choice: Conventions) -> None:
    with pytest.raises(UsageError) as caught:
        choice.check()
    assert caught.value.exit_code == 2
    assert all(
        problem.what.startswith(("--", "a module")) and problem.why and problem.fix for problem in caught.value.problems
    )


def test_d3_the_interface_page_is_what_is_legal() -> None:
    allowed: dict[tuple[str, str], set[str]] = {}
    for choice in legal():
        choice.check()
        allowed.setdefault((choice.interface_api, choice.runtime), set()).add(choice.operator_api)
    assert allowed == {
        ("c", "c"): {"unpacked"},
        ("c", "host"): {"unpacked"},
        ("micro", "c"): {"unpacked"},
        ("micro", "host"): {"unpacked"},
        ("packed", "c"): {"unpacked", "cpacked", "packed"},
        ("packed", "host"): {"cpacked", "packed"},
    }
    assert {choice.operator_api for choice in legal(linkable=False)} == {"packed"}


def test_legal_and_refused_are_each_others_complement() -> None:
    chosen = set(legal())
    for interface in INTERFACE_APIS:
        for operators in OPERATOR_APIS:
            for runtime in RUNTIMES:
                for workspace in WORKSPACES:
                    for weights in WEIGHTS:
                        choice = Conventions(interface, operators, runtime, workspace, weights)
                        if choice in chosen:
                            choice.check()
                        else:
                            with pytest.raises(UsageError):
                                choice.check()


def _followed(choice: Conventions, advice: str) -> Conventions:
    """A choice changed as an advice says: `--option value`, once or more."""
    fields = {f"--{name.replace('_', '-')}": name for name in CHOICES}
    return replace(choice, **{fields[word]: value for word, value in pairwise(advice.split()) if word in fields})


@pytest.mark.parametrize(
    ("given", "io"), [(given, "caller") for given in CHOICES["operator_arguments"]] + [("tensors", "workspace")]
)
def test_d28_a_way_out_is_legal(given: str, io: str) -> None:
    """A choice that one rule alone forbids is legal after one of the things that it advises."""
    tried = 0
    for interface, operators, runtime in product(INTERFACE_APIS, OPERATOR_APIS, RUNTIMES):
        choice = Conventions(interface, operators, runtime, operator_arguments=given, io=io)
        forbidding = [rule for rule in RULES if rule.forbids(choice)]
        if len(forbidding) == 1:
            changed = [_followed(choice, advice) for advice in forbidding[0].fix.split(", or ")]
            assert not all(any(rule.forbids(each) for rule in RULES) for each in changed), choice
            tried += 1
    assert tried


def test_all_problems_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        Conventions("c", "packed", "host", weights="external").check()
    assert len(caught.value.problems) == 2


def test_unknown_choice_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"--interface-api tvm.*\[unknown-choice\]"):
        Conventions("tvm").check()


def test_d28_the_table_is_the_documentation() -> None:
    assert table() in ABI.read_text(encoding="utf-8")


def test_every_symbol_carries_prefix_name_and_convention() -> None:
    assert [entry_symbol("kws", api) for api in INTERFACE_APIS] == [
        "aotc_kws_run",
        "aotc_kws_run_micro",
        "aotc_kws_run_packed",
    ]
    assert len({model_symbol("kws", api) for api in INTERFACE_APIS}) == 3
    assert operator_symbol("kws", "conv_0") == "aotc_kws_conv_0"


@pytest.mark.parametrize("name", ["", "a-b", "a b", "é", "a.b"])
def test_a_name_that_is_no_identifier_is_refused(name: str) -> None:
    if name:
        with pytest.raises(UsageError):
            require_identifier(name)
    require_identifier("2layers_v1")


def test_a_name_of_the_runtime_is_refused() -> None:
    runtime = {path.stem.removeprefix("aotc_") for path in (Path(aotc.__file__).parent / "runtime").glob("aotc_*.h*")}
    for name in (*runtime, "Threads"):
        with pytest.raises(UsageError, match="invalid-name"):
            require_identifier(name)


MODULE = """
builtin.module attributes {{aot.name = "m"}} {{
  func.func @main() attributes {{aot.entry}} {{
    func.return
  }}
  func.func private @k_0(%a: {type}) attributes {{aot.kernel}} {{
    %c0 = arith.constant 0 : index
    {body}
    func.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        (
            "memref<4xf32, strided<[?]>>",
            "%0 = memref.load %a[%c0] : memref<4xf32, strided<[?]>>",
            "known at run time only",
        ),
        (
            "memref<4xf32, affine_map<(d0) -> (d0 * 2)>>",
            "%0 = memref.load %a[%c0] : memref<4xf32, affine_map<(d0) -> (d0 * 2)>>",
            "not strided",
        ),
        (
            "memref<?xf32>",
            '%0 = "memref.cast"(%a) : (memref<?xf32>) -> memref<4xf32>',
            "static row-major",
        ),
        (
            "memref<?xf32>",
            '%i = "test.op"() : () -> index\n    %0 = memref.dim %a, %i : memref<?xf32>',
            "not constant",
        ),
        ("index", "", "not a buffer"),
    ],
)
def test_d10_what_a_pointer_cannot_carry_is_a_named_error(kind: str, body: str, why: str) -> None:
    ctx, module = parse(MODULE.format(type=kind, body=body))
    SelectCallingConventionPass().apply(ctx, module)
    with pytest.raises(CompileError, match=f"argument 0 of k_0.*{why}.*not-a-pointer"):
        BuffersToPointersPass().apply(ctx, module)


def test_external_weights_are_one_blob_of_the_arrays_bytes() -> None:
    import numpy as np

    ctx, module = parse(
        """
        builtin.module attributes {aot.name = "m"} {
          func.func @main() attributes {aot.entry} {
            %0 = aot.weight "a" : memref<3xi8>
            %1 = aot.weight "b" : memref<2xf32>
            func.return
          }
        }
        """
    )
    store = WeightStore.of(ctx)
    store.add("a", np.array([1, 2, 3], np.int8))
    store.add("b", np.array([1, -1], np.float32))
    SelectCallingConventionPass(weights="caller").apply(ctx, module)
    PlaceWeightsPass().apply(ctx, module)
    expected = bytes([1, 2, 3, 0, 0, 0, 0, 0]) + np.array([1, -1], np.float32).tobytes()
    assert store.blob(weight_offsets(module)) == expected


def test_abi_page_has_every_structure_field_and_constant() -> None:
    """E10-E12, B2, B5, D1: docs/abi.md, the runtime headers and the compiler's structures say the same."""
    from aotc.dialects.aot import STRUCTS

    header = (ABI.parents[1] / "aotc" / "runtime" / "aotc_packed.h").read_text(encoding="utf-8")
    page = ABI.read_text(encoding="utf-8")
    c_names = {"AOTCModel": "aotc_model_t"}
    for struct, fields in STRUCTS.items():
        if struct == "AOTCTypedModel":  # declared by each model's header
            continue
        name = c_names.get(struct, struct)
        body = re.search(rf"typedef (?:struct|union) {{([^}}]*)}} {name};", header)
        assert body is not None, name
        declared = re.findall(r"[\s*](\w+);", re.sub(r"/\*.*?\*/", "", body[1]))
        wanted = list(dict.fromkeys(field.split(".")[0] for field in fields))
        assert declared == wanted or struct == "AOTCValue", struct
        for field in wanted:
            assert f"`{field}`" in page, f"{name}.{field}"


OPEN = """
builtin.module attributes {aot.name = "m"} {
  func.func private @sum_0(%x: memref<?x?xf32>, %y: memref<1xi32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.dim %x, %c0 : memref<?x?xf32>
    %b = memref.dim %x, %c1 : memref<?x?xf32>
    %d = arith.subi %a, %b : index
    %v = arith.index_cast %d : index to i32
    memref.store %v, %y[%c0] : memref<1xi32>
    func.return
  }
  func.func @main(%x: memref<?x?xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"},
                  %y: memref<1xi32> {aot.name = "y", aot.dtype = "int32", aot.io = "output"}) attributes {aot.entry} {
    func.call @sum_0(%x, %y) : (memref<?x?xf32>, memref<1xi32>) -> ()
    func.return
  }
}
"""

CALLER = """
#include <stdio.h>
#include "aotc_packed.h"
int32_t aotc_m_run_packed(void *, void *, int32_t, void *, void *, void *);
int main(void) {
  float x[1];
  int32_t y = 0, codes[2] = {kAOTCDLTensorHandle, kAOTCDLTensorHandle}, code;
  const int64_t rows[] = {7, 0, (int64_t)1 << 31, ((int64_t)1 << 32) + 7, -1};
  int64_t outer[2] = {0, 5}, inner[1] = {1};
  DLTensor tensors[2] = {{x, {1, 0}, 2, {2, 32, 1}, outer, 0, 0}, {&y, {1, 0}, 1, {0, 32, 1}, inner, 0, 0}};
  AOTCValue values[2], returned;
  values[0].v_handle = &tensors[0], values[1].v_handle = &tensors[1];
  for (int i = 0; i < 5; ++i) {
    outer[0] = rows[i];
    int status = aotc_m_run_packed(values, codes, 2, &returned, &code, 0);
    printf("%d %d\\n", status, status ? 0 : (int)y);
  }
  return 0;
}
"""


def test_d27_open_extents_of_a_packed_entry_are_those_of_the_tensors(tmp_path: Path) -> None:
    """In the order of the callee's arguments; what is no i32 is refused."""
    ctx, module = parse(OPEN)
    passes = "select-calling-convention{interface-api=packed},mangle-symbols,place-weights,buffers-to-pointers"
    PassRunner(ctx, verify_each=True).run("interface", f"{passes},lower-calls,wrap-entry", module)
    (tmp_path / "m.c").write_text("".join(CSource(module, WeightStore()).text()))
    (tmp_path / "main.c").write_text(CALLER)
    runtime = Path(aotc.__file__).parent / "runtime"
    command = ["gcc", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{runtime}", "m.c", "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["0 2", "0 -5", "-1 0", "-1 0", "-1 0", ""]
