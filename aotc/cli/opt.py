"""`aotc-opt`: the xDSL optimiser driver over every installed universe."""

from __future__ import annotations

import argparse

from xdsl.xdsl_opt_main import xDSLOptMain


class AotcOpt(xDSLOptMain):
    """xDSL's driver under our name; dialects and passes come from the installed universes."""

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.prog = "aotc-opt"
        super().register_all_arguments(arg_parser)


def main() -> None:
    """Entry point of the command."""
    AotcOpt(description="Run passes of aotc on IR in MLIR's textual format").run()


__all__ = ["AotcOpt", "main"]
