"""OpenBLAS as a code generator of aotc: large float32 products on the host call `cblas_sgemm`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import scipy_openblas32
from xdsl.context import Context
from xdsl.ir import Operation

from aotc import Artifact
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.machines.targets import is_host
from aotc.model.codegens import Claim, ExternalKernel, Operand

LEAST = 1 << 22
"""Multiplications below which a product is left to the compiler, which fuses what follows."""

_HEAD = """\
#include <stdint.h>

/* The symbol of the package scipy-openblas32. */
void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc);
"""
_ROW_MAJOR, _TRANSPOSED = 101, {0: 111, 1: 112}


class Blas:
    """Claims float32 products for this machine; a batch is one call for each of its products."""

    linkable = True

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        if not isinstance(op, MatMulOp) or not is_host(target):
            return None
        if any(dtype_name(element_type_of(value)) != "float32" for value in (op.lhs, op.rhs, op.result)):
            return None
        _, m, n, k = op.sizes()
        lhs, rhs = (math.prod(shape_of(value)[:-2]) for value in (op.lhs, op.rhs))
        batch = math.prod(shape_of(op.result)[:-2])
        transposed = op.transpose_lhs, op.transpose_rhs
        if rhs == 1 and not transposed[0]:  # one matrix for all of the batch is one product
            m, lhs, batch = m * lhs, 1, 1
        if {lhs, rhs} - {1, batch} or batch * m * n * k < LEAST:
            return None
        settings = {"sizes": (batch, m, n, k), "steps": (int(lhs > 1) * m * k, int(rhs > 1) * k * n)}
        settings["transposed"] = tuple(map(int, transposed))
        return Claim("gemm", [Operand(op.lhs), Operand(op.rhs)], None, settings)

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        folder = scipy_openblas32.get_lib_dir()
        flags = ("-std=c99", "-O2", f"-L{folder}", f"-l{scipy_openblas32.get_library()}", f"-Wl,-rpath,{folder}")
        content = "\n".join([_HEAD, *map(_function, kernels)]).encode()
        return [Artifact("blas", "native", f"{name}_blas.c", content, "flash", target, flags)]


def _function(kernel: ExternalKernel) -> str:
    (batch, m, n, k), (a_step, b_step), (a, b) = (kernel.settings[key] for key in ("sizes", "steps", "transposed"))
    unused = ["  (void)resource_handle;\n"] * kernel.handle
    left, right = f"x0 + (int64_t)i * {a_step}, {m if a else k}", f"x1 + (int64_t)i * {b_step}, {k if b else n}"
    return f"""\
{kernel.prototype()};

{kernel.prototype()}
{{
{"".join(unused)}  for (int i = 0; i < {batch}; ++i)
    scipy_cblas_sgemm({_ROW_MAJOR}, {_TRANSPOSED[a]}, {_TRANSPOSED[b]}, {m}, {n}, {k}, 1.0f, {left},
                      {right}, 0.0f, out + (int64_t)i * {m * n}, {n});
  return 0;
}}
"""


CODEGEN = Blas()
"""The entry point."""
