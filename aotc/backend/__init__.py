"""The compiler behind interfaces of others: of `onnx.backend`, and of torch.compile, `backend="aotc"` (dynamo.py).

The package is a backend as `onnx.backend` has it: `aotc.backend.prepare(model).run([x])`, and
`onnx.backend.test.BackendTest(aotc.backend, __name__)` is the onnx package's own runner.
"""

from aotc.backend.onnx_backend import (
    Backend,
    Prepared,
    is_compatible,
    prepare,
    run_model,
    run_node,
    supports_device,
)

__all__ = ["Backend", "Prepared", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]
