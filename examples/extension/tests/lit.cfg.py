"""lit configuration: aotc-opt, with this package installed, comes from the running interpreter's environment."""
# ruff: noqa: F821  (lit defines `config`)

import os
import sys

import lit.formats

config.name = "aotc-signal"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
if "PYTHONPATH" in os.environ:
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
