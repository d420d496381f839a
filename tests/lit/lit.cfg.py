"""lit configuration: tests are .mlir files with RUN lines; tools come from the running interpreter's environment."""
# ruff: noqa: F821  (lit defines `config`)

import os
import sys

import lit.formats

SUPPORT = os.path.join(os.path.dirname(os.path.dirname(__file__)), "support")
sys.path.insert(0, SUPPORT)
import prefork  # noqa: E402

config.name = "aotc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(__file__), "Output")
config.environment["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
# lit hands on few variables; this one may name another checkout than the installed. With a package of code generators.
CODEGENS = os.path.join(SUPPORT, "codegens")
config.environment["PYTHONPATH"] = os.pathsep.join(path for path in (os.environ.get("PYTHONPATH"), CODEGENS) if path)
config.environment["AOTC_CACHE_DIR"] = ""
config.environment["PYTHONWARNINGS"] = os.environ.get("PYTHONWARNINGS", "error")
# An interpreter that has imported everything runs the commands: they are many, and small. `make mutants` has its own.
COMMANDS = os.environ.get("AOTC_TEST_COMMANDS") or str(prefork.commands(config.environment))
config.environment["PATH"] = os.pathsep.join((COMMANDS, config.environment["PATH"]))
