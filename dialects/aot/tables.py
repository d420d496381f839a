"""Constant tables at module level: descriptors, metadata, registries."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.types import PtrType, StructType
from aotc.dialects.operations import PureOp


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A constant table of scalars, or of structures with their fields in order; private means static.

    `aot.global @shapes : i64 = [1, 8] {sym_visibility = "private"}`;
    `aot.global @aotc_kws_model_packed : !aot.struct<"AOTCModel"> = [[@aotc_kws_run_packed, 1, 1, @metadata]]`.
    A scalar is an integer; a pointer is a string, a symbol (a function, or a table's first element), or `unit`: null.
    """

    name = "aot.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(SymbolNameConstraint())
    element = prop_def(StructType | IntegerType)
    values = prop_def(ArrayAttr[Attribute])
    traits = traits_def(SymbolOpInterface())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `:` $element `=` $values attr-dict"

    def __init__(
        self,
        symbol: str,
        element: StructType | IntegerType,
        values: Sequence[Attribute],
        visibility: str | None = "private",
    ) -> None:
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(symbol),
            "element": element,
            "values": ArrayAttr(values),
        }
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        super().__init__(properties=properties)

    def verify_(self) -> None:
        for value in self.values:
            if isinstance(self.element, IntegerType):
                if not isinstance(value, IntegerAttr):
                    raise VerifyException(f"{value} is not an integer")
                continue
            kinds = self.element.fields.items()
            if not isinstance(value, ArrayAttr) or len(value) != len(kinds):
                raise VerifyException(f"{value} has not the {len(kinds)} fields of {self.element.struct.data}")
            for given, (field, kind) in zip(value, kinds, strict=True):
                pointer = isinstance(given, StringAttr | BytesAttr | SymbolRefAttr | UnitAttr)
                if not (pointer if isinstance(kind, PtrType) else isinstance(given, IntegerAttr)):
                    raise VerifyException(f"{given} is not a value for the field {field} of {self.element.struct.data}")


def integers(kind: IntegerType, *values: int) -> list[Attribute]:
    """Integers of one type, as `aot.global` takes them."""
    return [IntegerAttr(value, kind) for value in values]


@irdl_op_definition
class SymbolOp(PureOp):
    """The address of a table's first element: `aot.symbol @functions : !aot.ptr<!aot.struct<"AOTCFunctionEntry">>`."""

    name = "aot.symbol"
    symbol = prop_def(SymbolRefAttr)
    result = result_def(PtrType)
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, result_type: PtrType) -> None:
        super().__init__(properties={"symbol": SymbolRefAttr(symbol)}, result_types=[result_type])
