"""If, Loop and Scan: control flow with regions, or in place where all is known when compiling.

A constant that a region reads is copied into it; other values of the bodies around it are captured.
"""

from aotc.frontend.onnx.control.bodies import ControlNode
from aotc.frontend.onnx.control.branches import If
from aotc.frontend.onnx.control.loops import Loop
from aotc.frontend.onnx.control.scans import Scan

CONTROL_FLOW: dict[str, type[ControlNode]] = {"If": If, "Loop": Loop, "Scan": Scan}
"""The operators of the standard that have bodies."""

__all__ = ["CONTROL_FLOW"]
