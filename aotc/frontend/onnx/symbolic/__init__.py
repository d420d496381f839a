"""Shapes while extents are open: what an ONNX graph computes of them, as expressions, without importing it.

`open_interface` is the way in; the modules of rules have one function for each family of operators. What no rule tells
is not known, which is no error: a model that is compiled for its extents knows its shapes without this.
"""
