"""`aotc-opt`: the optimiser driver of xDSL over every installed universe, for those who write IR and passes.

What is wrong with IR is said with file:line:column and a caret, never with frames of Python. Beyond `xdsl-opt` it has
`--weights FILE.npz` (written by `aotc compile --dump-phases`) for IR with `dense_resource` constants, `--help-pass
NAME`, and the spellings of `mlir-opt` (`aotc.cli.spellings`).

Exit codes: 0 done; 1 diagnostics are not those expected (`--verify-diagnostics`); 2 usage; 3 the IR is invalid or a
pass cannot go on; 4 a file cannot be read or written; 70 a fault of a pass; 130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn
from zipfile import BadZipFile

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.exceptions import ArgSpecParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from aotc.cli.diagnostics import expectations, unexpected
from aotc.cli.endings import ending, heed_interrupts
from aotc.cli.source import InvalidIR, Source
from aotc.cli.spellings import normalised
from aotc.errors import EXIT_OK, EXIT_USAGE, EXIT_WRONG, FileError, Problem, UsageError
from aotc.model.weight_store import WeightStore
from aotc.pipeline.compilation import uncollected
from aotc.pipeline.phases import make_passes
from aotc.pipeline.textual_ir import IRPrinter
from aotc.pipeline.universe import UNIVERSE, multiverse

_SPLIT = re.compile(r"^[ \t]*// -----.*$", re.MULTILINE)


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


class _Parser(argparse.ArgumentParser):
    """Usage errors in the project's form, with what was perhaps meant."""

    names: Sequence[str] = ()
    """Of options and of passes that are options."""

    def error(self, message: str) -> NoReturn:
        unknown = message.partition("unrecognized arguments: ")[2].split()
        near = difflib.get_close_matches(f"--{unknown[0].partition('=')[0].lstrip('-')}", self.names) if unknown else []
        meant = f"did you mean {' or '.join(near)}?" if near else ""
        self.exit(EXIT_USAGE, f"error: {Problem('usage', message, why=meant, fix='see aotc-opt --help')}\n")


class AotcOpt(xDSLOptMain):
    """xDSL's driver under our name; dialects and passes come from the installed universes."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        self.available_frontends = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = Context()
        self.register_all_dialects()
        self.register_all_frontends()
        self.register_all_passes()
        self.register_all_targets()
        parser = _Parser(
            prog="aotc-opt",
            description="Run passes of aotc on IR in MLIR's textual format",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="passes of aotc, which are options too:\n" + _pass_table(),
            allow_abbrev=False,
        )
        self.register_all_arguments(parser)
        options = [name for action in parser._actions for name in action.option_strings]  # pyright: ignore[reportPrivateUsage]
        parser.names = [*options, *(f"--{name}" for name in self.available_passes)]
        given = sys.argv[1:] if args is None else args
        self.args = parser.parse_args(normalised(given, options, self.available_passes))
        target = self.args.target.partition("{")[0]
        if target not in self.available_targets:
            near = difflib.get_close_matches(target, self.available_targets)
            fix = f"did you mean {' or '.join(near)}?" if near else "choose from " + ", ".join(self.available_targets)
            raise UsageError("unknown-choice", f"--target {target}", "unknown target", fix)
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        self.setup_pipeline()

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument("--weights", type=Path, metavar="FILE.npz", help="arrays behind dense_resource keys")
        arg_parser.add_argument("--help-pass", metavar="NAME", help="print the documentation of a pass and exit")
        arg_parser.add_argument("--pass-pipeline", metavar="TEXT", help="passes in MLIR's syntax: builtin.module(cse)")
        for when in ("before", "after"):
            arg_parser.add_argument(
                f"--print-ir-{when}-all", action="store_true", help=f"print the IR {when} every pass to standard error"
            )

    def register_all_dialects(self) -> None:
        for name, load in multiverse().all_dialects.items():
            self.ctx.register_dialect(name, load)

    def register_all_passes(self) -> None:
        for name, load in multiverse().all_passes.items():
            self.register_pass(name, load)

    def register_all_targets(self) -> None:
        self.available_targets |= multiverse().all_targets | {"mlir": lambda: IRTarget}

    def setup_pipeline(self) -> None:
        """Make the passes. Raises AotcError."""
        self._passes: list[ModulePass] = [] if self.args.help_pass is not None else list(make_passes(self.args.passes))
        if self.args.weights is not None:
            try:
                WeightStore.load(self.args.weights).attach(self.ctx)
            except (ValueError, EOFError, BadZipFile, AttributeError) as error:
                what = f"{self.args.weights} is not an npz file of weights"
                raise FileError("invalid-file", what, str(error)) from None
        self.ctx.load_registered_dialect("builtin")  # prints the keys of constants that passes have made

    @uncollected()
    def process(self) -> int:
        """Read, run the passes, write; returns the exit code. Raises AotcError and OSError."""
        if self.args.help_pass is not None:
            print(_documentation(self.args.help_pass))
            return EXIT_OK
        name = self.args.input_file or "<stdin>"
        data = sys.stdin.buffer.read() if self.args.input_file is None else Path(name).read_bytes()
        whole = Source(name, data, implicit_module=not self.args.no_implicit_module)
        try:
            text = whole.text()
        except InvalidIR as error:
            print(error.diagnostic.with_source(data.decode(errors="replace")), file=sys.stderr)
            return error.exit_code
        expected = expectations(text) if self.args.verify_diagnostics else []
        produced: list[InvalidIR] = []
        printed: list[str] = []
        for chunk in whole.chunks(_SPLIT if self.args.split_input_file else None):
            try:
                printed.append(self._chunk(chunk))
            except InvalidIR as error:
                produced.append(error)
                if not expected and self._is_printed(error):  # as xdsl-opt does, for FileCheck
                    printed.append(error.diagnostic.with_source(text) + "\n")
        if expected:
            diagnostics = [error.diagnostic for error in produced]
            wrong = unexpected(name, diagnostics, expected)
            for each in wrong:
                print(each.with_source(text), file=sys.stderr)
            return EXIT_WRONG if wrong else EXIT_OK
        errors = [error for error in produced if not self._is_printed(error)]
        for error in errors:
            print(error.diagnostic.with_source(text), file=sys.stderr)
        if errors and not self.args.split_input_file:
            return errors[0].exit_code
        self._write("// -----\n".join(printed))
        return errors[0].exit_code if errors else EXIT_OK

    def _is_printed(self, error: InvalidIR) -> bool:
        """Whether an error in a file without expectations goes where the IR goes."""
        return self.args.parsing_diagnostics if error.parsing else self.args.verify_diagnostics

    def _chunk(self, chunk: Source) -> str:
        """The output for one module. Raises InvalidIR."""
        module = chunk.parse(self.ctx)
        if not self.args.disable_verify:
            chunk.verify(module)
        for item in self._passes:
            if self.args.print_ir_before_all:
                self._dump(module, "Before", item)
            start = time.perf_counter()
            with chunk.blaming(item.name, module, self.ctx):
                item.apply(self.ctx, module)
            if self.args.time_passes:
                print(f"{(time.perf_counter() - start) * 1e3:10.1f} ms  {item.name}", file=sys.stderr)
            if not self.args.disable_verify:
                chunk.verify(module, item.name)
            if self.args.print_ir_after_all:
                self._dump(module, "After", item)
            if self.args.print_between_passes and item is not self._passes[-1]:
                print(f"IR after {item.name}:\n{_text(module)}\n\n\n")
        with chunk.blaming(f"target {self.args.target}", module, self.ctx):
            return self.output_resulting_program(module)

    def _dump(self, module: ModuleOp, when: str, item: ModulePass) -> None:
        """The header is that of `mlir-opt`."""
        print(f"// -----// IR Dump {when} {type(item).__name__} ({item.name}) //----- //", file=sys.stderr)
        print(_text(module), file=sys.stderr)

    def _write(self, text: str) -> None:
        if self.args.output_file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            Path(self.args.output_file).write_text(text)


def _text(module: ModuleOp) -> str:
    from io import StringIO

    stream = StringIO()
    IRPrinter(stream).print_op(module)
    return stream.getvalue()


def _module_documentation(pass_class: type[ModulePass]) -> str:
    return inspect.getdoc(inspect.getmodule(pass_class)) or inspect.getdoc(pass_class) or ""


def _pass_table() -> str:
    """One line a pass: its name and the first sentence of its documentation."""
    if not {"-h", "--help"} & set(sys.argv):
        return ""
    return "\n".join(
        f"  {name:32} {' '.join(_module_documentation(item).split(chr(10) * 2)[0].split())}"
        for name, item in sorted((name, load()) for name, load in UNIVERSE.all_passes.items())
    )


def _documentation(name: str) -> str:
    passes = multiverse().all_passes
    if name not in passes:
        near = difflib.get_close_matches(name, passes)
        fix = f"did you mean {' or '.join(near)}?" if near else "aotc-opt --help lists them"
        raise UsageError("unknown-pass", f"no pass {name}", fix=fix)
    return _module_documentation(passes[name]())


def run(args: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    try:
        return AotcOpt(args).process()
    except ArgSpecParseError as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        return EXIT_USAGE
    except ShrinkException:
        print("Success, can shrink")  # what the reducer `shrinkray` is told (`--shrink`)
        return EXIT_OK
    except (Exception, KeyboardInterrupt) as error:
        if (code := ending(error)) is None:
            raise
        return code


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the command."""
    heed_interrupts()
    sys.exit(run(args))
