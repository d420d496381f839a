"""Code generators from outside: what they claim of a model, and the kernels that they are asked for.

One is found by its name in the entry point group `aotc.codegens`. It is asked twice. While a model is compiled it
claims operations (`claim`), each claim for one kernel; the compiler keeps a declaration of that kernel, shares it among
all claims that are alike, and calls it. Once symbols and signatures are known it is asked for the code (`generate`), as
artefacts. docs/artifacts.md has the ABI of such a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from aotc.errors import UsageError
from aotc.model import extensions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from xdsl.context import Context
    from xdsl.ir import Operation, SSAValue

    from aotc.model.artifacts import Artifact

Setting: TypeAlias = "int | float | str | tuple[int, ...]"
"""Notes of a code generator to itself about a kernel."""


@dataclass(frozen=True)
class Operand:
    """An operand of a kernel: a tensor of the model, or an array that becomes one of its constants."""

    value: SSAValue | NDArray[np.generic]
    permutation: tuple[int, ...] | None = None
    """Which axis of the value each axis of the memory is, as of `numpy.transpose`; None: the value's own, row-major."""


@dataclass(frozen=True)
class Claim:
    """Operations that one kernel of a code generator computes instead of the compiler."""

    kernel: str
    """The kind of kernel, part of its symbol."""
    operands: Sequence[Operand]
    permutation: tuple[int, ...] | None = None
    """How the result lies in memory, as of an operand."""
    settings: Mapping[str, Setting] = field(default_factory=dict[str, "Setting"])
    """All else that decides the code. Claims of equal kinds, types and settings share a kernel."""
    scratch_bytes: int = 0
    """Memory that the kernel may use while it runs."""


@dataclass(frozen=True)
class ExternalArgument:
    """One pointer that a kernel is given."""

    use: Literal["operand", "result", "scratch"]
    dtype: str
    """The elements, as "int8"; of the model's booleans "bool"."""
    shape: tuple[int, ...]
    alignment: int
    """Bytes of which the address is a multiple."""


@dataclass(frozen=True)
class ExternalKernel:
    """A kernel that a code generator is to define under a symbol."""

    symbol: str
    kernel: str
    """The kind, and `settings`, as in the claim."""
    settings: Mapping[str, Setting]
    arguments: tuple[ExternalArgument, ...]
    handle: bool = False
    """Whether the application's resource handle follows the pointers."""
    nodes: tuple[str, ...] = ()
    """The ONNX nodes that it computes."""

    def prototype(self) -> str:
        """The declaration in C of a kernel that is linked, without the semicolon.

        Parameters are x0, x1, .. for operands, out for the result, scratch, and resource_handle.
        """
        given: list[str] = []
        for place, argument in enumerate(self.arguments):
            kind = _C_TYPES.get(argument.dtype, f"{argument.dtype}_t")
            constant = "const " if argument.use == "operand" else ""
            name = {"operand": f"x{place}", "result": "out"}.get(argument.use, argument.use)
            given.append(f"{constant}{kind} *{name}")
        given += ["void *resource_handle"] * self.handle
        return f"int32_t {self.symbol}({', '.join(given)})"


_C_TYPES = {"float32": "float", "float64": "double", "bool": "_Bool", "float16": "uint16_t", "bfloat16": "uint16_t"}


class CodeGenerator(Protocol):
    """Computes some operations by code of its own; an entry of the group `aotc.codegens` is one."""

    linkable: bool
    """Whether its kernels are linked with the model. Else they are called by name, as packed functions, which the
    loader of its artefacts registers."""

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        """Its operations instead of `op`, and of others that only `op` needs; None: nothing.

        Called for each operation that something reads, the last one first, in the phase `offload`: quantised
        operations are on integers, nothing is laid out yet. `ctx` holds the constants
        (`aotc.dialects.constants.known_array`). Nothing may be changed.
        """
        ...

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        """Artefacts that define `kernels` of the model `name`. Raises CompileError."""
        ...


def code_generator(name: str) -> CodeGenerator:
    """The installed code generator of a name. Raises UsageError where there is none or it does not load."""
    points = extensions.points(extensions.CODEGENS)
    for point in points:
        if point.name == name and (found := extensions.load(point, _check)) is not None:
            return cast(CodeGenerator, found)
    names = ", ".join(sorted({point.name for point in points})) or "none"
    why = f"no installed package has such a code generator; there are: {names}"
    fix = f"install the package with the entry point {name!r} of the group {extensions.CODEGENS}"
    raise UsageError("unknown-code-generator", f"--offload {name}", why, fix)


def _check(point: EntryPoint, loaded: Any) -> str | None:
    missing = [each for each in ("linkable", "claim", "generate") if not hasattr(loaded, each)]
    return f"a {type(loaded).__name__} is not a code generator: it has no {', '.join(missing)}" if missing else None
