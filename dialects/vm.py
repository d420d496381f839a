"""The vm dialect: bytecode of the virtual machine as IR, before it is numbers.

What bytecode computes is `!vm.reg`, a value in a register; `allocate-registers` says which, `!vm.reg<3>`, and until
then values are in SSA form like everywhere. What stands in an instruction itself is `!vm.inline`: an integer, a
constant, the state of the machine. Calls name packed functions, whoever has them when the machine is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FunctionType,
    IntAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Dialect,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_result_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.operations import PureOp
from aotc.dialects.properties import int_prop, integer


@irdl_attr_definition
class RegisterType(ParametrizedAttribute, TypeAttribute):
    """A value in a register: `!vm.reg`, or `!vm.reg<3>` once it is known which."""

    name = "vm.reg"
    number: IntAttr | NoneAttr = param_def()

    def __init__(self, number: int | IntAttr | NoneAttr | None = None) -> None:
        if number is None:
            number = NoneAttr()
        super().__init__(IntAttr(number) if isinstance(number, int) else number)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return (NoneAttr(),)
        number = parser.parse_integer(allow_negative=False)
        parser.parse_punctuation(">")
        return (IntAttr(number),)

    def print_parameters(self, printer: Printer) -> None:
        if isinstance(self.number, IntAttr):
            printer.print_string(f"<{self.number.data}>")


@irdl_attr_definition
class InlineType(ParametrizedAttribute, TypeAttribute):
    """A value that stands in the instruction: an integer, a constant, the state of the machine."""

    name = "vm.inline"


REGISTER = RegisterType()


def register_of(value: SSAValue) -> int | None:
    """The register that a value is in; None where that is not known, or it is in none."""
    kind = value.type
    return kind.number.data if isinstance(kind, RegisterType) and isinstance(kind.number, IntAttr) else None


# --- values in instructions ------------------------------------------------------------------------------------------


@irdl_op_definition
class ImmediateOp(PureOp):
    """An integer: `vm.immediate 10`."""

    name = "vm.immediate"
    value = int_prop()
    result = result_def(InlineType)
    assembly_format = "$value attr-dict"

    def __init__(self, value: int) -> None:
        super().__init__(properties={"value": integer(value)}, result_types=[InlineType()])


@irdl_op_definition
class ConstantOp(PureOp):
    """A tensor, `vm.constant dense_resource<w> : tensor<4xf32>`, or a data type, `vm.constant f32`."""

    name = "vm.constant"
    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr | TypeAttribute)
    result = result_def(InlineType)
    assembly_format = "$value attr-dict"

    def __init__(self, value: Attribute) -> None:
        super().__init__(properties={"value": value}, result_types=[InlineType()])


@irdl_op_definition
class PlaceOp(PureOp):
    """A tensor at a fixed place of the machine's workspace: `vm.place 64 : memref<1x8xf32>`, in bytes."""

    name = "vm.place"
    offset = int_prop()
    kind = prop_def(MemRefType)
    result = result_def(InlineType)
    assembly_format = "$offset `:` $kind attr-dict"

    def __init__(self, offset: int, kind: MemRefType) -> None:
        super().__init__(properties={"offset": integer(offset), "kind": kind}, result_types=[InlineType()])

    def verify_(self) -> None:
        if self.offset < 0 or not self.kind.has_static_shape():
            raise VerifyException("a place is some bytes behind the start of the workspace, and of a known shape")


@irdl_op_definition
class StateOp(PureOp):
    """The state of the machine, which built-in functions take: `vm.state`."""

    name = "vm.state"
    result = result_def(InlineType)
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[InlineType()])


# --- instructions ----------------------------------------------------------------------------------------------------


@irdl_op_definition
class CallOp(IRDLOperation):
    """Call a function by name: `%r = vm.call "vm.builtin.add"(%a, %b) : (!vm.reg, !vm.inline) -> !vm.reg`."""

    name = "vm.call"
    callee = prop_def(StringAttr)
    arguments = var_operand_def(RegisterType | InlineType)
    result = opt_result_def(RegisterType)
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result: Attribute | None = REGISTER) -> None:
        results = [] if result is None else [result]
        super().__init__(operands=[arguments], properties={"callee": StringAttr(callee)}, result_types=[results])

    def verify_(self) -> None:
        if not self.callee.data:
            raise VerifyException("the name of a function is empty")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Return what is in a register: `vm.return %r : !vm.reg`."""

    name = "vm.return"
    value = operand_def(RegisterType)
    traits = traits_def(IsTerminator())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class GotoOp(IRDLOperation):
    """Go on at a block, with values for its arguments: `vm.goto ^head(%i : !vm.reg)`."""

    name = "vm.goto"
    arguments = var_operand_def(RegisterType)
    target = successor_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    def __init__(self, target: Block, arguments: Sequence[SSAValue] = ()) -> None:
        super().__init__(operands=[arguments], successors=[target])

    def verify_(self) -> None:
        given = [value.type for value in self.arguments]
        if given != [argument.type for argument in self.target.args]:
            raise VerifyException("the values that are passed are not those, or not in the registers, of the block")


@irdl_op_definition
class IfOp(IRDLOperation):
    """Go on at one of two blocks without arguments: `vm.if %c : !vm.reg, ^then, ^else`."""

    name = "vm.if"
    condition = operand_def(RegisterType)
    then_block = successor_def()
    else_block = successor_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$condition `:` type($condition) `,` $then_block `,` $else_block attr-dict"

    def __init__(self, condition: SSAValue, then_block: Block, else_block: Block) -> None:
        super().__init__(operands=[condition], successors=[then_block, else_block])

    def verify_(self) -> None:
        if self.then_block.args or self.else_block.args:
            raise VerifyException("vm.if passes nothing to a block; have it go to one that ends in vm.goto")


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function of an executable: `vm.func @main(%x: !vm.reg) { .. }`; it returns one value."""

    name = "vm.func"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, body: Region) -> None:
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name, _, _, region, attributes, _, _ = parse_func_op_like(parser, reserved_attr_names=("sym_name",))
        function = FuncOp(name, region)
        if attributes is not None:
            function.attributes |= attributes.data
        return function

    def print(self, printer: Printer) -> None:
        inputs = [argument.type for argument in self.args]
        kind = FunctionType.from_lists(inputs, [])
        print_func_op_like(printer, self.sym_name, kind, self.body, self.attributes, reserved_attr_names=("sym_name",))

    def verify_(self) -> None:
        if not self.body.blocks:
            raise VerifyException("a function has a body; others are called by name without declaring them")
        if any(not isinstance(each.type, RegisterType) for block in self.body.blocks for each in block.args):
            raise VerifyException("the arguments of blocks are in registers")
        numbers = [register_of(value) for value in _in_registers(self)]
        if any(number is None for number in numbers) and any(number is not None for number in numbers):
            raise VerifyException("some values have a register, and some have none")
        if numbers and numbers[0] is not None:
            self._verify_registers()

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The inputs."""
        block = self.body.blocks.first
        assert block is not None
        return block.args

    def _verify_registers(self) -> None:
        inputs = [register_of(argument) for argument in self.args]
        if inputs != list(range(len(inputs))):
            raise VerifyException("the inputs of a function are in its first registers")
        for block in self.body.blocks:
            if len({register_of(argument) for argument in block.args}) != len(block.args):
                raise VerifyException("two arguments of a block are in one register")


def _in_registers(function: FuncOp) -> list[SSAValue]:
    """Every value of a function that is in a register."""
    found: list[SSAValue] = []
    for block in function.body.blocks:
        found += block.args
        for operation in block.ops:
            found += (result for result in operation.results if isinstance(result.type, RegisterType))
    return found


def instructions(block: Block) -> list[Operation]:
    """The operations of a block that become instructions, without the values that stand in them."""
    return [each for each in block.ops if not isinstance(each, ImmediateOp | ConstantOp | PlaceOp | StateOp)]


VM = Dialect(
    "vm",
    [ImmediateOp, ConstantOp, PlaceOp, StateOp, CallOp, ReturnOp, GotoOp, IfOp, FuncOp],
    [RegisterType, InlineType],
)
