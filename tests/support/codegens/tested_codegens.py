"""Code generators that tests find as packages from outside: a relu that is linked, a negation that is called by name.

The folder is on the path of a test that wants them; beside this file is what makes it a package with entry points.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.ir import Operation

from aotc import Artifact
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.elementwise import NegOp, ReluOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.machines.targets import binding, lookup
from aotc.model.codegens import Claim, ExternalKernel, Operand

SCRATCH = 64
"""Bytes that the relu writes and reads."""


class Linked:
    """relu of float32, its operand and result with their axes reversed, plus a constant array of zeros.

    The file is for another processor than the model, and says so when it is compiled for this one.
    """

    linkable = True
    target = "x86-64-v2"
    flags = ("-std=c99", "-O1", "-march=x86-64-v2")

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        if not isinstance(op, ReluOp) or dtype_name(element_type_of(op.x)) != "float32":
            return None
        reverse = tuple(reversed(range(len(shape_of(op.x)))))
        zeros = np.zeros(SCRATCH // 4, np.float32)
        settings = {"count": prod(shape_of(op.x)), "bound": 0.0, "what": "relu"}
        return Claim("relu", [Operand(op.x, reverse), Operand(zeros)], reverse, settings, SCRATCH)

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        parts = ['#include <stdint.h>\n#ifdef __AVX2__\n#error "compiled for another target"\n#endif\n']
        for kernel in kernels:
            count = kernel.settings["count"]
            parts.append(
                f"{kernel.prototype()};\n{kernel.prototype()}\n{{\n"
                f"  for (int i = 0; i < {SCRATCH}; ++i) scratch[i] = 1;\n"
                f"  for (int i = 0; i < {count}; ++i) out[i] = (x0[i] > 0 ? x0[i] : 0) + x1[i % {SCRATCH // 4}];\n"
                f"  return scratch[{SCRATCH - 1}] - 1;\n}}\n"
            )
        return [
            Artifact(
                "test-linked", "native", f"{name}_relu.c", "\n".join(parts).encode(), "flash", self.target, self.flags
            )
        ]


class ByName:
    """-x of float32, computed in Python: a packed function that the loader of its artefact registers."""

    linkable = False

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        is_float = isinstance(op, NegOp) and dtype_name(element_type_of(op.operands[0])) == "float32"
        return Claim("neg", [Operand(op.operands[0])]) if is_float else None

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        content = json.dumps({kernel.symbol: [each.shape for each in kernel.arguments] for kernel in kernels})
        return [Artifact("test-by-name", "test-by-name", f"{name}.neg", content.encode(), "flash")]


class Objects:
    """relu and negation of float32 by LLVM, an object for each, for two processors with settings of their own."""

    linkable = True
    bodies: Mapping[str, tuple[str, str]] = {
        "relu": ("x86-64", "%p = fcmp ogt float %v, 0.0\n  %r = select i1 %p, float %v, float 0.0"),
        "neg": ("x86-64-v3", "%r = fsub float 0.0, %v"),
    }

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        if not isinstance(op, ReluOp | NegOp) or dtype_name(element_type_of(op.operands[0])) != "float32":
            return None
        settings = {"count": prod(shape_of(op.operands[0]))}
        return Claim("relu" if isinstance(op, ReluOp) else "neg", [Operand(op.operands[0])], settings=settings)

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        return [self._object(kernel, *self.bodies[kernel.kernel], name) for kernel in kernels]

    def _object(self, kernel: ExternalKernel, target: str, body: str, name: str) -> Artifact:
        text = f"""define i32 @{kernel.symbol}(ptr %x, ptr %out) {{
head:
  br label %loop
loop:
  %i = phi i64 [ 0, %head ], [ %j, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %from
  {body}
  %to = getelementptr float, ptr %out, i64 %i
  store float %r, ptr %to
  %j = add i64 %i, 1
  %more = icmp ne i64 %j, {kernel.settings["count"]}
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}"""
        image = lookup(target).machine().emit_object(binding().parse_assembly(text))
        return Artifact("test-objects", "native", f"{name}_{kernel.kernel}.o", image, "flash", target)


class Nothing:
    """Claims every relu, and gives the artefact of somebody else."""

    linkable = True

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        return Claim("relu", [Operand(op.x)]) if isinstance(op, ReluOp) else None

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        return [Artifact("c", "native", f"{name}.c", b"")]


class First(Nothing):
    """Claims whatever it is asked about, as a function of the first operand."""

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        in_order = tuple(range(len(shape_of(op.results[0]))))
        return Claim("first", [Operand(op.operands[0], in_order)], in_order)


class _Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_float)),)


_PACKED = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, ctypes.c_int32, *[ctypes.c_void_p] * 3)


def load(artifacts: Sequence[Artifact]) -> dict[str, Any]:
    """A packed function for each symbol."""
    listed = {name: shapes for artifact in artifacts for name, shapes in json.loads(artifact.read()).items()}
    return {name: _negate(prod(shapes[0])) for name, shapes in listed.items()}


def _negate(count: int) -> Any:
    def call(args: int, codes: int, given: int, value: int, code: int, handle: int) -> int:
        tensors = ctypes.cast(args, ctypes.POINTER(ctypes.POINTER(_Tensor)))
        if given != 2:
            return -1
        for index in range(count):
            tensors[1][0].data[index] = -tensors[0][0].data[index]
        return 0

    return _PACKED(call)


LINKED, BY_NAME, OBJECTS, NOTHING, FIRST = Linked(), ByName(), Objects(), Nothing(), First()
