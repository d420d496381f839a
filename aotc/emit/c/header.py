"""NAME.h: what an application must know of a compiled model, for C and C++.

Macros for everything that is a number or a name (so that they serve static arrays and the preprocessor), prototypes,
and the model's descriptor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from aotc.dialects.dtypes import numpy_dtype
from aotc.emit.c.contents.preamble import head
from aotc.emit.c.syntax.c_types import F32, dtype_ctype, float_literal
from aotc.emit.c.syntax.text import comment_text, string_literal
from aotc.model import conventions
from aotc.model.metadata import ModelInfo, TensorInfo

ABI_VERSION = 1
"""Counts incompatible changes of what a header promises."""


@dataclass(frozen=True)
class Prototype:
    """An exported function: result type, symbol, and its parameters as declarations."""

    result: str
    symbol: str
    parameters: tuple[str, ...]

    def declaration(self, name: str | None = None) -> str:
        """`int32_t f(const float *x)`; with `name`, that instead of the symbol."""
        return f"{self.result} {name or self.symbol}({', '.join(self.parameters) or 'void'})"


@dataclass(frozen=True)
class Descriptor:
    """The model's public table: its symbol, its C type, and for a typed model the function that it points to."""

    symbol: str
    ctype: str
    run: Prototype | None

    def declaration(self) -> str:
        """The declaration, after that of the type where the model has one of its own."""
        type_ = ""
        if self.run is not None:
            type_ = (
                "typedef struct {\n"
                f"  {self.run.declaration('(*run_func)')};\n"
                "  uint32_t num_input_tensors;\n"
                "  uint32_t num_output_tensors;\n"
                f"}} {self.ctype};\n"
            )
        return f"{type_}extern const {self.ctype} {self.symbol};\n"


def header_text(
    info: ModelInfo, prototypes: Sequence[Prototype], descriptors: Sequence[Descriptor], includes: Sequence[str] = ()
) -> str:
    """The header of the model `info` with these exported functions and descriptors."""
    prefix = f"AOTC_{info.name.upper()}"
    headers = ["<stdint.h>", *(f'"{name}"' for name in includes)]
    parameters = " ".join(parameter for prototype in prototypes for parameter in prototype.parameters)
    if "bool " in parameters:
        headers.insert(0, "<stdbool.h>")
    sections = [
        f"{head(info)}#ifndef {prefix}_H_\n#define {prefix}_H_\n",
        "".join(f"#include {header}\n" for header in headers),
        _model_macros(prefix, info),
        *(_tensor_macros(f"{prefix}_INPUT_{i}", "Input", i, tensor) for i, tensor in enumerate(info.inputs)),
        *(_tensor_macros(f"{prefix}_OUTPUT_{i}", "Output", i, tensor) for i, tensor in enumerate(info.outputs)),
        *(_tensor_macros(f"{prefix}_STATE_{i}", "State", i, tensor) for i, tensor in enumerate(info.states)),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *(f"{_purpose(info, prototype.symbol)}{prototype.declaration()};\n" for prototype in prototypes),
        *(f"/* The descriptor. */\n{descriptor.declaration()}" for descriptor in descriptors),
        _supported_declaration(info),
        _workspace_declaration(prefix, info),
        _weights_declaration(prefix, info),
        "#ifdef __cplusplus\n}\n#endif\n",
        _aliases(info, descriptors),
        f"#endif /* {prefix}_H_ */\n",
    ]
    return "\n".join(section for section in sections if section)


def _model_macros(prefix: str, info: ModelInfo) -> str:
    macros = {
        "ABI_VERSION": str(ABI_VERSION),
        "NAME": string_literal(info.name),
        "NUM_INPUTS": str(len(info.inputs)),
        "NUM_OUTPUTS": str(len(info.outputs)),
        **({} if info.plan.pools else {"WORKSPACE_SIZE": str(info.workspace_bytes)}),
        "WORKSPACE_ALIGNMENT": str(info.workspace_alignment),
        **{f"POOL_{each.name.upper()}_SIZE": str(each.peak_bytes) for each in info.plan.pools},
        "WEIGHTS_SIZE": str(info.weights_bytes),
        "IO_SIZE": str(info.io_bytes),
    }
    if info.states:
        macros["NUM_STATES"] = str(len(info.states))
    start = "POOL" if info.plan.pools else "workspace"
    offset = f", OFFSET from the start of the {start}" if info.io == "workspace" or info.states else ""
    layers = sum(len(roll.layers) for roll in info.plan.rolls)
    rolled = f"\n * For little RAM {layers} layers are computed row by row, which NAME.json lists." if layers else ""
    rows = "; at most ROWS of NUM_ROWS come at once" if info.streamed is not None else ""
    about = f"/* SIZE and ALIGNMENT are in bytes, LENGTH in elements{offset}{rows}.{rolled} */\n"
    return about + _defines(prefix, macros)


def _tensor_macros(prefix: str, what: str, position: int, tensor: TensorInfo) -> str:
    elements = prod(tensor.shape)
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    macros = {
        "NAME": string_literal(tensor.name),
        "TYPE": dtype_ctype(tensor.dtype).text,
        "DTYPE": string_literal(tensor.dtype),
        "NDIM": str(len(tensor.shape)),
        "SHAPE": "{" + (", ".join(map(str, tensor.shape)) or "0") + "}",
        "LENGTH": str(elements),
        "SIZE": str(elements * numpy_dtype(tensor.dtype).itemsize),
    }
    if tensor.offset is not None:
        macros["OFFSET"] = str(tensor.offset)
    if tensor.pool:
        macros["POOL"] = string_literal(tensor.pool)
    if tensor.scale is not None:
        macros["SCALE"] = float_literal(tensor.scale, F32)
        macros["ZERO_POINT"] = str(tensor.zero_point or 0)
    if tensor.layout:
        macros["LAYOUT"] = string_literal(tensor.layout)
    if tensor.rows is not None:
        macros |= {"ROWS": str(tensor.rows.most), "NUM_ROWS": str(tensor.rows.count)}
        macros |= {"ROW_LENGTH": str(elements // tensor.rows.count), "ROW_SIZE": str(tensor.rows.bytes)}
    if tensor.labels:
        shown = (string_literal(each) if isinstance(each, str) else str(each) for each in tensor.labels)
        macros["NUM_LABELS"] = str(len(tensor.labels))
        macros["LABELS"] = "{" + ", ".join(shown) + "}"
    comment = comment_text(f"{what} {position}: {tensor.name}, {tensor.dtype} {shape}")
    return f"/* {comment} */\n" + _defines(prefix, macros)


def _defines(prefix: str, macros: dict[str, str]) -> str:
    return "".join(f"#define {prefix}_{name} {value}\n" for name, value in macros.items())


def _purpose(info: ModelInfo, symbol: str) -> str:
    """A comment that says what an exported function does."""
    purposes = {
        conventions.operator_symbol(info.name, "selftest"): (
            "/* Runs the model on recorded inputs. 0: the outputs are as recorded; n > 0: their n-th element is not;\n"
            " * n < 0: the model failed with that status. */\n"
        ),
        conventions.reset_symbol(info.name): (
            "/* Gives the states their first values: before the first run, and to begin again. Between runs the\n"
            " * workspace keeps them, each at its OFFSET. Returns 0. */\n"
            if info.states
            else "/* Forgets the rows that have come: before the first ones, and to begin again. Returns 0. */\n"
        ),
        **{kernel.symbol: "/* An operator. Returns 0 on success. */\n" for kernel in info.kernels},
        info.entry("packed"): (
            "/* Runs the model on packed arguments: inputs, outputs, then what the caller supplies.\n"
            " * Returns 0 on success. */\n"
        ),
        info.entry("micro"): (
            "/* Runs the model: inputs[i] and outputs[i] point to the tensors described above.\n"
            " * Returns 0 on success. */\n"
        ),
    }
    if symbol in purposes:
        return purposes[symbol]
    if info.streamed is not None:
        return (
            f"/* Takes the next rows of {comment_text(info.streamed.name)}, and computes what they allow.\n"
            " * 0: more rows are to come; 1: the outputs are there, and the next rows are the first of the next run;\n"
            " * -1: less than 1 row or more than ROWS, -2: more than are to come, and nothing was done.\n"
            " * All other tensors must be the same from the first rows to the last. */\n"
        )
    if info.io == "workspace":
        return "/* Runs the model once on the inputs in the workspace and overwrites them. Returns 0 on success. */\n"
    return (
        "/* Runs the model once on row-major tensors as described above; outputs must not overlap other tensors.\n"
        " * Returns 0 on success. */\n"
    )


def _supported_declaration(info: ModelInfo) -> str:
    if not info.features:
        return ""
    names = comment_text(", ".join(info.features))
    return (
        "/* Whether the processor has what the model was compiled for, else it must not be run: 1 if so, 0 if not, -1\n"
        f" * where that cannot be found out. That is {names}. */\n"
        f"int32_t {conventions.supported_symbol(info.name)}(void);\n"
    )


def _workspace_declaration(prefix: str, info: ModelInfo) -> str:
    if info.io != "workspace" or info.workspace != "internal":
        return ""
    sizes = {"": "WORKSPACE_SIZE"} | {each.name: f"POOL_{each.name.upper()}_SIZE" for each in info.plan.pools}
    arrays = [
        f"extern unsigned char {conventions.pool_symbol(info.name, pool)}[{prefix}_{sizes[pool]}];\n"
        for pool, size in info.plan.arenas.items()
        if size or not pool
    ]
    return f"/* Inputs and outputs are here, each at its OFFSET. */\n{''.join(arrays)}"


def _weights_declaration(prefix: str, info: ModelInfo) -> str:
    if info.weights != "external":
        return ""
    size = f"{prefix}_WEIGHTS_SIZE" if info.weights_bytes else "1"
    array = f"{conventions.weights_symbol(info.name)}[{size}]"
    return f"/* {info.name}.weights.bin, which the application links. */\nextern const unsigned char {array};\n"


def _aliases(info: ModelInfo, descriptors: Sequence[Descriptor]) -> str:
    """The name without the convention, where no descriptor bears it."""
    plain = conventions.model_symbol(info.name, "c")
    if not descriptors or any(descriptor.symbol == plain for descriptor in descriptors):
        return ""
    return f"#define {plain} {descriptors[0].symbol}\n"
