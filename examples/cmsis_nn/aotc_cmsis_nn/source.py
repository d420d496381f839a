"""C that calls CMSIS-NN's kernels with the sizes and numbers of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import Template

from aotc.model.codegens import ExternalKernel


def file_of(kernels: Sequence[ExternalKernel]) -> str:
    """One file with every kernel."""
    return "\n".join(["#include <arm_nnfunctions.h>\n", *map(_function, kernels)])


def _function(kernel: ExternalKernel) -> str:
    nodes = ", ".join(name.replace("*/", "* /") for name in kernel.nodes)
    body = _BODIES[kernel.kernel](kernel)
    unused = ["  (void)resource_handle;\n"] * kernel.handle
    return f"{kernel.prototype()};\n\n/* {nodes} */\n{kernel.prototype()}\n{{\n{''.join(unused)}{body}}}\n"


def _dims(shape: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, shape))}}}"


def _pair(kernel: ExternalKernel, name: str) -> tuple[int, int]:
    """A setting of two integers."""
    found = kernel.settings[name]
    assert isinstance(found, tuple)
    first, second = found
    return first, second


def _tile(kernel: ExternalKernel, name: str) -> str:
    height, width = _pair(kernel, name)
    return f"{{{width}, {height}}}"


def _clamp(kernel: ExternalKernel) -> str:
    low, high = _pair(kernel, "clamp")
    return f"{{{low}, {high}}}"


def _scratch(kernel: ExternalKernel) -> tuple[str, int]:
    """The buffer, and its bytes."""
    given = kernel.arguments[-1]
    return ("scratch", given.shape[0]) if given.use == "scratch" else ("0", 0)


_CONV = Template("""\
  const cmsis_nn_dims input = $input, filter = $filter, bias = {1, 1, 1, $outputs}, output = $output;
  const $params params = {$input_offset, $output_offset,$multiplier $stride, $padding, $dilation, $clamp};
  const cmsis_nn_per_channel_quant_params numbers = {(int32_t *)x3, (int32_t *)x4};
  const cmsis_nn_context context = {$scratch, $size};
  if (${function}_get_buffer_size(&params, &input, &filter, &output) > $size)
    return -1;
  return (int32_t)$function(&context, &params, &numbers, &input, x0, &filter, x1, &bias, x2, &output, out);
""")

_FULLY_CONNECTED = Template("""\
  const cmsis_nn_dims input = {$rows, 1, 1, $depth}, filter = {$depth, 1, 1, $outputs}, bias = {1, 1, 1, $outputs};
  const cmsis_nn_dims output = {$rows, 1, 1, $outputs};
  const cmsis_nn_fc_params params = {$input_offset, 0, $output_offset, $clamp};
  const cmsis_nn_quant_params numbers = {(int32_t *)x3, (int32_t *)x4, $per_channel};
  const cmsis_nn_context context = {$scratch, $size};
  const int32_t needed = arm_fully_connected_s8_get_buffer_size(&filter);
  if (needed > $size)
    return -1;
  if (needed > 0 && arm_vector_sum_s8(context.buf, $depth, $outputs, x1, $input_offset, 0, x2) != ARM_CMSIS_NN_SUCCESS)
    return -1;
  return (int32_t)arm_fully_connected_wrapper_s8(&context, &params, &numbers, &input, x0, &filter, x1, &bias, x2,
                                                 &output, out);
""")

_POOL = Template("""\
  const cmsis_nn_dims input = $input, filter = {1, $height, $width, 1}, output = $output;
  const cmsis_nn_pool_params params = {$stride, $padding, $clamp};
  const cmsis_nn_context context = {$scratch, $size};
$check  return (int32_t)$function(&context, &params, &input, x0, &filter, &output, out);
""")


def _conv(kernel: ExternalKernel) -> str:
    x, weight, *_ = kernel.arguments
    output = next(each.shape for each in kernel.arguments if each.use == "result")
    depthwise = kernel.kernel == "depthwise"
    scratch, size = _scratch(kernel)
    settings = kernel.settings
    return _CONV.substitute(
        input=_dims(x.shape),
        filter=_dims(weight.shape),
        output=_dims(output),
        outputs=output[-1],
        params="cmsis_nn_dw_conv_params" if depthwise else "cmsis_nn_conv_params",
        multiplier=f" {output[-1] // x.shape[-1]}," if depthwise else "",
        input_offset=settings["input_offset"],
        output_offset=settings["output_offset"],
        stride=_tile(kernel, "stride"),
        padding=_tile(kernel, "padding"),
        dilation=_tile(kernel, "dilation"),
        clamp=_clamp(kernel),
        scratch=scratch,
        size=size,
        function="arm_depthwise_conv_wrapper_s8" if depthwise else "arm_convolve_wrapper_s8",
    )


def _fully_connected(kernel: ExternalKernel) -> str:
    (rows, depth), (outputs, _) = (each.shape for each in kernel.arguments[:2])
    scratch, size = _scratch(kernel)
    settings = {name: kernel.settings[name] for name in ("input_offset", "output_offset", "per_channel")}
    sizes = {"rows": rows, "depth": depth, "outputs": outputs}
    return _FULLY_CONNECTED.substitute(sizes, scratch=scratch, size=size, clamp=_clamp(kernel), **settings)


def _pool(kernel: ExternalKernel) -> str:
    x = kernel.arguments[0]
    output = next(each.shape for each in kernel.arguments if each.use == "result")
    height, width = _pair(kernel, "kernel")
    scratch, size = _scratch(kernel)
    mean = kernel.kernel == "mean_pool"
    needed = f"arm_avgpool_s8_get_buffer_size({output[2]}, {x.shape[3]})"
    return _POOL.substitute(
        input=_dims(x.shape),
        output=_dims(output),
        height=height,
        width=width,
        stride=_tile(kernel, "stride"),
        padding=_tile(kernel, "padding"),
        clamp=_clamp(kernel),
        scratch=scratch,
        size=size,
        check=f"  if ({needed} > {size})\n    return -1;\n" if mean else "",
        function="arm_avgpool_s8" if mean else "arm_max_pool_s8",
    )


_BODIES: dict[str, Callable[[ExternalKernel], str]] = {
    "conv": _conv,
    "depthwise": _conv,
    "fully_connected": _fully_connected,
    "mean_pool": _pool,
    "max_pool": _pool,
}
