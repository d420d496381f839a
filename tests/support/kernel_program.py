"""Run IR of kernels in this process: through LLVM, and through C and gcc."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from vector_headers import headers_read
from xdsl.dialects.builtin import ModuleOp

from aotc.compiler.lowering import new_context
from aotc.emit.c.source import CSource
from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.jit import load_object
from aotc.emit.llvm.modules import parsed
from aotc.machines.targets import lookup
from aotc.model.weight_store import WeightStore
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, PassRunner, pipeline_of
from aotc.pipeline.textual_ir import IRParser
from aotc.pipeline.verification import verify

Array = np.ndarray[Any, Any]
Kernel = Callable[..., None]
"""Takes arrays, inputs and outputs as the function has them."""


ENTRY = "aotc_model_run"
"""The symbol of a model of one kernel after `as_loops`."""
DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "i8": "int8",
    "ui8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
"""Element types as users see them."""


def lowered(text: str, pipeline: str) -> ModuleOp:
    """The module after the passes of `pipeline`."""
    ctx = new_context()
    module = IRParser(ctx, text, "kernel.mlir").parse_module()
    PassRunner(ctx).run("test", pipeline, module)
    return module


def as_loops(text: str) -> ModuleOp:
    """A module of the `plan` phase after the phases behind it."""
    options = CompileOptions.of(interface_api="c", operator_api="unpacked", io="caller")
    last = [pipeline_of(phase, options) for phase in PHASES if phase.name in ("loops", "interface")]
    return lowered(text, ",".join(last))


def on_tiles(module: ModuleOp) -> ModuleOp:
    """A module after the `loops` phase, in which every kernel that has a schedule must be on tiles."""
    plain = [
        str(op.attributes["aot.scalar_fallback"]) for op in module.walk() if "aot.scalar_fallback" in op.attributes
    ]
    assert not plain, plain
    return module


def _callable(function: Any, keep: object) -> Kernel:
    def call(*arrays: Array, keep: object = keep) -> None:
        assert all(array.flags.c_contiguous for array in arrays)
        assert function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)) == 0

    return call


def all_through_llvm(module: ModuleOp, symbols: Sequence[str], target: str | None = "host") -> dict[str, Kernel]:
    """The exported functions `symbols` of a module as it is after the `interface` phase; code for `target`, None for
    any 64-bit machine."""
    converted = ConvertToLLVMPass().convert(module.clone(), target)
    verify(converted)
    ir = parsed(llvm_ir(converted))
    ir.verify()
    library = load_object(lookup("host").machine(2).emit_object(ir), list(symbols))
    kind = ctypes.CFUNCTYPE(ctypes.c_int32)
    return {symbol: _callable(kind(library.address(symbol)), library) for symbol in symbols}


def through_llvm(module: ModuleOp, symbol: str, target: str | None = "host") -> Kernel:
    """The same of one function."""
    return all_through_llvm(module, [symbol], target)[symbol]


def all_through_c(
    module: ModuleOp, symbols: Sequence[str], folder: Path, flags: Sequence[str] = ("-Og", "-march=native")
) -> dict[str, Kernel]:
    """The functions through C and gcc, which works in `folder`."""
    (folder / "unit.c").write_text("".join(CSource(module, WeightStore()).text()))
    command = ("gcc", "-std=c99", "-ffp-contract=off", "-fPIC", *flags)
    made = (*headers_read(*command), "-shared", "unit.c", "-o", "unit.so", "-lm")
    subprocess.run([*command, *made], check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "unit.so"))
    return {symbol: _callable(getattr(library, symbol), None) for symbol in symbols}


def through_c(module: ModuleOp, symbol: str, folder: Path, flags: Sequence[str] = ("-Og", "-march=native")) -> Kernel:
    """The same of one function."""
    return all_through_c(module, [symbol], folder, flags)[symbol]


def kernel(op: str, operands: Sequence[str], results: Sequence[str]) -> str:
    """A model of one kernel, as it is after the `plan` phase: `op` computes %r0, .. from %x0, ..; types are shapes with
    element types, such as 2x3xf32."""
    names = [f"x{n}" for n in range(len(operands))], [f"r{n}" for n in range(len(results))]
    typed = list(zip(names[0] + names[1], [*operands, *results], strict=True))
    signature = ", ".join(f"%{name}_m: memref<{kind}>" for name, kind in typed)
    entry = ", ".join(
        f'%{name}_m: memref<{kind}> {{aot.name = "{name}", aot.dtype = "{DTYPES[kind.split("x")[-1]]}", '
        f'aot.io = "{"input" if name[0] == "x" else "output"}"}}'
        for name, kind in typed
    )
    reads = "\n".join(
        f"%{name} = bufferization.to_tensor %{name}_m : memref<{kind}> to tensor<{kind}>"
        for name, kind in zip(names[0], operands, strict=True)
    )
    writes = "\n".join(
        f"bufferization.materialize_in_destination %{name} in %{name}_m : (tensor<{kind}>, memref<{kind}>) -> ()"
        for name, kind in zip(names[1], results, strict=True)
    )
    arguments = ", ".join(f"%{name}_m" for name, _ in typed)
    kinds = ", ".join(f"memref<{kind}>" for _, kind in typed)
    return f"""
    builtin.module attributes {{aot.name = "model"}} {{
      func.func private @kernel({signature}) attributes {{aot.kernel, aot.in_place = [[]]}} {{
        {reads}
        {op}
        {writes}
        func.return
      }}
      func.func @main({entry}) attributes {{aot.entry}} {{
        func.call @kernel({arguments}) : ({kinds}) -> ()
        func.return
      }}
    }}"""
