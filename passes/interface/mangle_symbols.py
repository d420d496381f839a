"""Give every function of the model its final C symbol: prefix, model name, and for the entry its convention.

```mlir
func.func @main(...) attributes {aot.entry, aot.convention = #aot<convention micro>} { func.call @relu_0(...) ... }
func.func private @relu_0(...) attributes {aot.kernel}
func.func private @expf(f32) -> f32
```
becomes, for a model `kws`, with external declarations left alone, but for those of kernels,
```mlir
func.func @aotc_kws_run(...) attributes {aot.entry, ...} { func.call @aotc_kws_relu_0(...) ... }
func.func private @aotc_kws_relu_0(...) attributes {aot.kernel}
func.func private @expf(f32) -> f32
```
The entry is still the typed function here; `wrap-entry` adds the wrapper of another convention under its own symbol.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import entry, functions, is_kernel, model_name, streamed_of
from aotc.dialects.operations import walk
from aotc.model.conventions import entry_symbol, operator_symbol, require_identifier


@dataclass(frozen=True)
class MangleSymbolsPass(ModulePass):
    name = "mangle-symbols"

    export_operators: bool = False
    """Give the operators external linkage, for files that are compiled apart."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name, main = model_name(op), entry(op)
        require_identifier(name)
        symbols: dict[str, str] = {}
        for function in functions(op):
            if not function.is_declaration or is_kernel(function):
                old = function.sym_name.data
                symbols[old] = (
                    entry_symbol(name, "c", streamed_of(main)) if function is main else operator_symbol(name, old)
                )
                function.properties["sym_name"] = StringAttr(symbols[old])
                if self.export_operators and not function.is_declaration:
                    function.properties.pop("sym_visibility", None)
        for call in walk(op):
            if isinstance(call, CallOp) and (new := symbols.get(call.callee.string_value())):
                call.properties["callee"] = SymbolRefAttr(new)
