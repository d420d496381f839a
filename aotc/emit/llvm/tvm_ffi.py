"""The calling convention of apache-tvm-ffi for shared libraries of packed models (`tvm_ffi.ll`)."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from aotc.emit.llvm.modules import optimize, parsed
from aotc.emit.llvm.syntax import bytes_text
from aotc.machines.targets import Target
from aotc.model.dlpack import HANDLE_CODE, TENSOR_CODE
from aotc.model.metadata import ModelInfo, TensorInfo


def tvm_ffi_object(info: ModelInfo, target: Target) -> bytes | None:
    """An object that exports the packed entry of the model `info` as functions of apache-tvm-ffi; None for another
    entry, on 32 bits, and where an input comes by rows: such a function has no status that says that more are to
    come."""
    if info.interface_api != "packed" or target.pointer_width != 64 or info.streamed is not None:
        return None
    handles = [what for what in ("workspace", "weights") if getattr(info, what) == "caller"]
    takes = [*map(_described, info.inputs), *(f"{_described(each)} for the result" for each in info.outputs)]
    takes += [f"a pointer to the {what}" for what in handles]
    refused = f"{info.name} takes {', '.join(takes) or 'nothing'}; tensors in main memory, contiguous"
    code = files("aotc.emit.llvm").joinpath("tvm_ffi.ll").read_text(encoding="utf-8")
    text = Template(code).substitute(
        triple=target.triple,
        refused=_constant(refused),
        failed=_constant(f"{info.name} did not do its work"),
        entry=info.entry("packed"),
        count=len(takes),
        some=max(1, len(takes)),
        tensors=len(info.tensors),
        tensor_code=TENSOR_CODE,
        handle_code=HANDLE_CODE,
    )
    machine = target.machine(2)
    module = parsed(text)
    optimize(module, machine, "s")
    return machine.emit_object(module)


def _described(tensor: TensorInfo) -> str:
    return f"{tensor.name} {tensor.dtype}{list(tensor.shape)}"


def _constant(text: str) -> str:
    content = text.encode() + b"\0"
    return f"[{len(content)} x i8] {bytes_text(content)}"
