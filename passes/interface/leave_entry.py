"""Leave the entry to bytecode: it is only declared, and with it what the application calls, whatever these did.

```mlir
func.func private @aotc_kws_run(%x: !aot.ptr<i8>, %y: !aot.ptr<i8>) -> i32 attributes {aot.entry, ..} { .. }
func.func @aotc_kws_run_packed(%args: !aot.ptr<i8>, ..) -> i32 attributes {..} {
  ..
  %s = func.call @aotc_kws_run(%data, %data_1) : ..
  func.return %s
}
```
becomes
```mlir
func.func private @aotc_kws_run(!aot.ptr<i8>, !aot.ptr<i8>) -> i32 attributes {aot.entry, ..}
func.func @aotc_kws_run_packed(!aot.ptr<i8>, ..) -> i32 attributes {..}
```
A machine runs the function of bytecode that `convert-entry-to-vm` has made of the entry, behind the same symbol. What
is known of the arguments stays, and so do descriptors, metadata and operators.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import arguments_of, entry, functions, model_name, set_arguments
from aotc.model.conventions import entry_symbol


class LeaveEntryPass(ModulePass):
    name = "leave-entry"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main, called = entry(op), entry_symbol(model_name(op), "packed")
        for function in functions(op):
            if function is main or function.sym_name.data == called:
                _only_declare(function)


def _only_declare(function: FuncOp) -> None:
    arguments = arguments_of(function)
    function.properties.pop("arg_attrs", None)
    old = function.body
    function.detach_region(old)
    function.add_region(Region())
    old.erase()
    set_arguments(function, arguments)
