"""Passes that need no function of a module for another one."""

from abc import abstractmethod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


class FunctionPass(ModulePass):
    """A pass that is done to one function after the other; one that is only declared has no operations."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp):
                self.function(ctx, function)

    @abstractmethod
    def function(self, ctx: Context, function: FuncOp) -> None:
        """Do it to one function."""
