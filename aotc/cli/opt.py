"""`aotc-opt`: the xDSL optimiser driver over every installed universe.

Adds to `xdsl-opt` what our passes need: `--weights FILE.npz` (written by `aotc compile --dump-phases`) for
IR with `dense_resource` constants, and `--help-pass NAME`, the documentation of a pass.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from aotc.errors import EXIT_USAGE, AotcError
from aotc.model.weights import WeightStore
from aotc.pipeline.textual_ir import IRPrinter
from aotc.pipeline.universe import UNIVERSE, multiverse


@dataclass(frozen=True)
class IRTarget(MLIRTarget):
    """xDSL's output of IR, with constants that are read back as they were."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if self.syntax_highlight:
            super().emit(ctx, module, output)
            return
        printer = IRPrinter(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)


class AotcOpt(xDSLOptMain):
    """xDSL's driver under our name; dialects and passes come from the installed universes."""

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.prog = "aotc-opt"
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        arg_parser.epilog = "passes of aotc:\n" + _pass_table()
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument("--weights", type=Path, metavar="FILE.npz", help="arrays behind dense_resource keys")
        arg_parser.add_argument("--help-pass", metavar="NAME", help="print the documentation of a pass and exit")

    def register_all_dialects(self) -> None:
        for name, load in multiverse().all_dialects.items():
            self.ctx.register_dialect(name, load)

    def register_all_passes(self) -> None:
        for name, load in multiverse().all_passes.items():
            self.register_pass(name, load)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets |= multiverse().all_targets | {"mlir": lambda: IRTarget}

    def setup_pipeline(self) -> None:
        if self.args.help_pass is not None:
            print(_documentation(self.args.help_pass))
            sys.exit(0)
        if self.args.weights is not None:
            WeightStore.load(self.args.weights).attach(self.ctx)
        self.ctx.load_registered_dialect("builtin")  # prints the keys of constants that passes have made
        try:
            super().setup_pipeline()
        except (ValueError, ArgSpecParseError, AotcError) as error:
            print(f"error: {str(error).strip()}", file=sys.stderr)
            sys.exit(EXIT_USAGE)


def _ours() -> dict[str, type[ModulePass]]:
    return {name: load() for name, load in UNIVERSE.all_passes.items()}


def _module_documentation(pass_class: type[ModulePass]) -> str:
    return inspect.getdoc(inspect.getmodule(pass_class)) or inspect.getdoc(pass_class) or ""


def _pass_table() -> str:
    """One line a pass: its name and the first sentence of its documentation."""
    if not {"-h", "--help"} & set(sys.argv):
        return ""
    return "\n".join(
        f"  {name:32} {' '.join(_module_documentation(item).split(chr(10) * 2)[0].split())}"
        for name, item in sorted(_ours().items())
    )


def _documentation(name: str) -> str:
    passes = multiverse().all_passes
    if name not in passes:
        sys.exit(f"error: no pass {name}; aotc-opt --help lists them")
    return _module_documentation(passes[name]())


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the command."""
    AotcOpt(description="Run passes of aotc on IR in MLIR's textual format", args=args).run()


__all__ = ["AotcOpt", "main"]
