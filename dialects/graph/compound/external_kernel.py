"""Kernels that code generators from outside make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i8,
)
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def, var_result_def

from aotc.dialects.attributes import to_attribute
from aotc.dialects.graph.interfaces import GraphOp, ShapeError, shape_of, tensor_type
from aotc.dialects.properties import unit_prop
from aotc.model.codegens import Setting


@irdl_op_definition
class ExternalOp(GraphOp):
    """The operations of a kernel of the code generator `codegen`: `graph.external %x {codegen = "blas", kernel =
    "gemm"}`.

    Only that generator knows how, from `kernel` and `settings`; the type of the result is what it says. A second result
    is scratch memory, which nothing reads. `by_name` says that the kernel is found by its name at run time.
    """

    name = "graph.external"
    inputs = var_operand_def(TensorType)
    codegen = prop_def(StringAttr)
    kernel = prop_def(StringAttr)
    settings = prop_def(DictionaryAttr, default_value=DictionaryAttr({}))
    by_name = unit_prop()
    result = result_def(TensorType)
    scratch = var_result_def(TensorType)

    @staticmethod
    def make(
        codegen: str,
        kernel: str,
        inputs: Sequence[SSAValue],
        result: TensorType,
        settings: Mapping[str, Setting],
        *,
        scratch_bytes: int = 0,
        by_name: bool = False,
    ) -> ExternalOp:
        """The operation with such a result."""
        return ExternalOp(
            operands=[inputs],
            result_types=[result, [TensorType(i8, [scratch_bytes])] if scratch_bytes else []],
            properties={
                "codegen": StringAttr(codegen),
                "kernel": StringAttr(kernel),
                "settings": DictionaryAttr({name: to_attribute(settings[name]) for name in sorted(settings)}),
                **({"by_name": UnitAttr()} if by_name else {}),
            },
        )

    def infer_types(self) -> Sequence[TensorType]:
        if len(self.scratch) > 1:
            raise ShapeError("there is more than one scratch buffer")
        for value in self.scratch:
            if tensor_type(value).get_element_type() != i8 or len(shape_of(value)) != 1:
                raise ShapeError(f"a scratch buffer is bytes, found {value.type}")
        return [tensor_type(value) for value in self.results]


def setting_values(settings: DictionaryAttr) -> dict[str, Setting]:
    """Settings as Python values."""
    found: dict[str, Setting] = {}
    for name, value in settings.data.items():
        if isinstance(value, IntegerAttr | FloatAttr):
            found[name] = value.value.data
        elif isinstance(value, StringAttr):
            found[name] = value.data
        elif isinstance(value, DenseArrayBase):
            found[name] = tuple(int(each) for each in value.get_values())
        else:
            raise ShapeError(f"the setting {name} cannot be {value}")
    return found
