"""Machines to compile for: a name, or `triple[:cpu[:features]]`, to everything LLVM and the passes need to know.

Either may end in the caches of the machine that is meant: `x86-64-v3@l2=256K,l3=4M`.

A leaf: no IR, and llvmlite is imported only by what needs it.
"""

from __future__ import annotations

import difflib
import os
import re
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aotc.errors import Problem, UsageError
from aotc.machines import families, processor
from aotc.machines.boards import BOARDS, is_xtensa, target_of_board
from aotc.machines.features import FEATURES, here, present
from aotc.machines.instructions import architecture_of, available
from aotc.machines.machine import Core, Machine, with_caches

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine


@dataclass(frozen=True)
class Target:
    """One machine. `name` is what `lookup` takes; widths are in bits, alignments in bytes."""

    name: str
    description: str
    triple: str
    cpu: str
    features: str = ""
    abi: str = ""
    """The name LLVM gives a calling convention that the triple does not decide (RISC-V: ilp32, ilp32f, lp64d)."""
    pointer_width: int = 64
    weight_alignment: int = 64
    """Alignment of each constant array: a vector register where there are some, a word on a microcontroller."""
    relocation: str = "pic"
    code_model: str = "default"
    freestanding: bool = False
    """No C library can be counted on: loops stay loops and are not turned into calls of memset and memcpy."""
    core: Core = families.HOSTED
    """The machine that kernels are scheduled for: the row of its family, of `host` with its own caches."""

    @property
    def vectors(self) -> Machine | None:
        """The core, if it has vectors; None: every kernel is computed by scalar loops."""
        return self.core if isinstance(self.core, Machine) else None

    def as_json(self) -> dict[str, Any]:
        """The rows of `aotc targets --json`: every field and, instead of the core, its vectors and caches."""
        said: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "core"}
        unit = self.vectors
        names = ("registers", "fma", "l1", "l2", "l3")
        vectors = None if unit is None else {"width": unit.vector_bytes} | {name: getattr(unit, name) for name in names}
        return said | {"vectors": vectors}

    def machine(self, optimize: int = 2, *, jit: bool = False) -> TargetMachine:
        """A new LLVM target machine; `optimize` is 0..3. UsageError where LLVM does not know the target."""
        llvm = binding()
        try:
            target = llvm.Target.from_triple(self.triple)
        except RuntimeError as error:
            raise UsageError("unsupported-target", f"--target {self.name}", str(error)) from error
        return target.create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=optimize,
            reloc=self.relocation,
            codemodel="jitdefault" if jit else self.code_model,
            jit=jit,
            abiname=self.abi,
        )

    @property
    def tune(self) -> str:
        """The processor whose timings LLVM takes for code on vectors, where those of `cpu` will not do.

        By the timings that LLVM has for Zen and for AVX-512 in general it moves so many loads ahead that the registers
        of a kernel run out. By those of Sapphire Rapids the same kernels reach 92..97 % of the peak of a Zen 5.
        """
        wide = self.triple.startswith("x86_64") and self.vectors is not None and self.vectors.vector_bytes == 64
        return "sapphirerapids" if wide else ""

    @property
    def aligns_frames(self) -> bool:
        """Whether functions on vectors align their own stack frames: registers wider than what the ABI aligns them to.

        LLVM does so only where it keeps a frame pointer; else what it spills lies across cache lines.
        """
        return self.triple.startswith("x86_64") and self.vectors is not None and self.vectors.vector_bytes > 16

    @property
    def threads(self) -> bool:
        """Whether there are POSIX threads as `aotc_threads` of the runtime takes them."""
        return "linux" in self.triple

    @cached_property
    def present(self) -> frozenset[str]:
        """The features it has, by LLVM's names: of those with rows in `FEATURES`, and those of instructions."""
        architecture = architecture_of(self.triple)
        others = () if architecture is None else architecture.others
        if is_host(self.name) and not others and (found := here()) is not None:
            return frozenset(found)
        names = [*(row.name for row in FEATURES.get(self.triple.split("-")[0], ())), *others]
        return frozenset(present(binding(), self.triple, self.cpu, self.features, self.machine(), names))

    @cached_property
    def instructions(self) -> frozenset[str]:
        """The names of the instructions with rows in `INSTRUCTIONS` that it has."""
        architecture = architecture_of(self.triple)
        return frozenset() if architecture is None else available(architecture, self.present)


_VECTOR_ADDITIONS: Final[tuple[tuple[str, tuple[Machine, ...]], ...]] = (
    (r"\tv?addps\t.*zmm", (families.X86_AVX512,)),
    (r"\tv?addps\t", (families.X86_AVX2, families.X86_SSE)),
    (r"\tfadd\tv", (families.ARM64_NEON,)),
    (r"\tvadd\.f32\tq", (families.ARM32_NEON,)),
    (r"\tvfadd\.vv\t", (families.RISCV_V,)),
    (r"\tf32x4\.add", (families.WASM_SIMD,)),
    (r"\txvaddsp ", (families.POWER_VSX,)),
    (r"\tx?vfadd\.s\t", (families.LOONGARCH_LASX, families.LOONGARCH_LSX)),
)
"""How an addition of vectors of f32 looks in assembly, and of which families it may be; registers differ in width."""


def probed_vectors(target: Target) -> Machine | None:
    """The machine that LLVM computes vectors on for `target`: of hosted machines in general, and of WebAssembly.

    A sum of sixteen f32 is compiled: as many instructions as it takes, so wide are the registers.
    """
    if target.triple.startswith("i") or (target.freestanding and not target.triple.startswith("wasm")):
        return None
    kind = "<16 x float>"
    text = (
        f"define {kind} @sum({kind} %x, {kind} %y) {{\n  %s = fadd {kind} %x, %y\n  ret {kind} %s\n}}\n"
        f"define {kind} @fma({kind} %x, {kind} %y) {{\n"
        f"  %s = call {kind} @llvm.fma.v16f32({kind} %x, {kind} %y, {kind} %x)\n  ret {kind} %s\n}}\n"
        f"declare {kind} @llvm.fma.v16f32({kind}, {kind}, {kind})"
    )
    module = binding().parse_assembly(text)
    module.triple = target.triple
    assembly = target.machine().emit_assembly(module)
    for pattern, rows in _VECTOR_ADDITIONS:
        if count := len(re.findall(pattern, assembly)):
            # RISC-V adds whole groups of registers in one instruction.
            row = rows[0] if len(rows) == 1 else next(each for each in rows if each.vector_bytes == 64 // count)
            zen = int(target.cpu.removeprefix("znver")) if target.cpu.startswith("znver") else 0
            row = replace(families.of_vendor(row, zen=zen), fma="fmaf" not in assembly)
            return row.with_instructions(target.instructions)
    return None


_bare = partial(Target, pointer_width=32, weight_alignment=4, relocation="static", freestanding=True)


def _arm(name: str, arch: str, description: str, features: str = "", *, cpu: str, hard: bool = False) -> Target:
    triple = f"{arch}-none-unknown-eabi{'hf' if hard else ''}"
    return _bare(name, description, triple, cpu, features, core=families.FAMILIES[name])


def _riscv32(name: str, description: str, features: str, abi: str, core: Core) -> Target:
    triple = "riscv32-unknown-unknown-elf"
    return _bare(name, description, triple, "generic-rv32", features, abi, code_model="medium", core=core)


def _riscv64(name: str, description: str, features: str, core: Core) -> Target:
    triple = "riscv64-unknown-linux-gnu"
    return Target(name, description, triple, "generic-rv64", f"+m,+a,+f,+d,+c{features}", "lp64d", core=core)


def _wasm(name: str, description: str, features: str, core: Core) -> Target:
    return _bare(name, description, "wasm32-unknown-unknown", "generic", features, weight_alignment=16, core=core)


_X86, _ARMV7 = "x86_64-unknown-linux-gnu", "armv7-unknown-linux-gnueabihf"
_NO_FPU = "-fpregs"

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        Target("x86-64", "64-bit x86, any (SSE2)", _X86, "x86-64", core=families.X86_SSE),
        Target("x86-64-v2", "64-bit x86 with SSE4.2", _X86, "x86-64-v2", core=families.X86_SSE4),
        Target("x86-64-v3", "64-bit x86 with AVX2 and FMA", _X86, "x86-64-v3", core=families.X86_AVX2),
        Target("x86-64-v4", "64-bit x86 with AVX-512", _X86, "x86-64-v4", "-prefer-256-bit", core=families.X86_AVX512),
        Target("aarch64", "64-bit Arm, Linux", "aarch64-unknown-linux-gnu", "generic", core=families.ARM64_NEON),
        Target("armv7", "32-bit Arm with NEON, Linux", _ARMV7, "generic", "+neon", "", 32, core=families.ARM32_NEON),
        _riscv64("rv64gc", "64-bit RISC-V, Linux", "", families.RISCV64),
        _riscv64("rv64gcv", "64-bit RISC-V with vectors, Linux", ",+v", families.RISCV_V),
        _arm("cortex-m0", "thumbv6m", "Arm Cortex-M0/M0+, no FPU", cpu="cortex-m0"),
        _arm("cortex-m3", "thumbv7m", "Arm Cortex-M3, no FPU", cpu="cortex-m3"),
        _arm("cortex-m4", "thumbv7em", "Arm Cortex-M4 with DSP, no FPU", _NO_FPU, cpu="cortex-m4"),
        _arm("cortex-m4f", "thumbv7em", "Arm Cortex-M4 with DSP, single precision FPU", cpu="cortex-m4", hard=True),
        _arm("cortex-m7", "thumbv7em", "Arm Cortex-M7, single precision FPU", "-fp64", cpu="cortex-m7", hard=True),
        _arm("cortex-m33", "thumbv8m.main", "Arm Cortex-M33 with DSP and FPU", cpu="cortex-m33", hard=True),
        _arm("cortex-m55", "thumbv8.1m.main", "Arm Cortex-M55 with Helium (MVE)", cpu="cortex-m55", hard=True),
        _riscv32("rv32imc", "32-bit RISC-V, no FPU, no atomics", "+m,+c", "ilp32", families.RISCV32),
        _riscv32("rv32imac", "32-bit RISC-V, no FPU", "+m,+a,+c", "ilp32", families.RISCV32),
        _riscv32("rv32imafc", "32-bit RISC-V, single precision FPU", "+m,+a,+f,+c", "ilp32f", families.RISCV32_F),
        _wasm("wasm32", "WebAssembly", "", families.WASM),
        _wasm("wasm32-simd128", "WebAssembly with 128-bit vectors", "+simd128", families.WASM_SIMD),
    )
}
"""Targets by name; `host` is one more, made at run time."""

_ENVIRONMENTS = ("eabi", "eabihf", "gnueabi", "gnueabihf", "musleabi", "musleabihf", "elf", "macho", "coff")


@lru_cache(maxsize=64)
def lookup(spec: str) -> Target:
    """The target called `spec`, of ours or of a package, that of a chip or a board, or the one that
    `triple[:cpu[:features]]` describes; `@l2=512K` and the like behind it say how large its caches are.

    Raises UsageError with near matches for an unknown name, and for a triple, a processor or a feature that LLVM does
    not know, or a triple that is big-endian (constants are stored little-endian).
    """
    base, at, caches = spec.partition("@")
    if at:
        target = lookup(base)
        return replace(target, name=spec, core=with_caches(target.core, spec, caches))
    if spec == "host":
        return _host()
    if (target := TARGETS.get(spec) or installed_target(spec, Target)) is not None:
        return target
    if (core := target_of_board(spec)) is not None:
        return TARGETS[core]
    if is_xtensa(spec):
        fix = "generate C for a core of its kind (--target rv32imafc --emit c), and compile that with its own compiler"
        why = "its cores are Xtensa, which LLVM does not know"
        raise UsageError("unsupported-target", f"--target {spec}", why, fix)
    triple, _, rest = spec.partition(":")
    if "-" not in triple or triple in TARGETS or triple == "host":
        raise _unknown(spec)
    return _described(spec, triple, *rest.partition(":")[::2])


@lru_cache(maxsize=64)
def core_of(spec: str) -> Core:
    """The core of a target, of the host without LLVM where the operating system says what it has. As `lookup`."""
    base, at, caches = spec.partition("@")
    if at and base == "host":
        return with_caches(core_of(base), spec, caches)
    if spec != "host":
        return lookup(spec).core
    if (found := processor.vector_registers()) is not None:
        width, registers, fma = found
        row = families.of_host(width, registers, zen=processor.zen()).with_instructions(instructions_of("host"))
        return replace(row, fma=fma, **processor.caches())
    llvm = binding()
    host = Target(spec, "", llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return replace(probed_vectors(host) or host.core, **processor.caches())


def instructions_of(spec: str) -> frozenset[str]:
    """The instructions of a target, of the host without LLVM where the operating system says what it has. As
    `lookup`."""
    architecture, found = architecture_of(processor.architecture()), here()
    if not is_host(spec) or architecture is None or architecture.others or found is None:
        return lookup(spec).instructions
    return available(architecture, found)


def is_host(spec: str) -> bool:
    """Whether a target is this machine, perhaps with other caches."""
    return spec.partition("@")[0] == "host"


def machine_of(spec: str) -> Machine | None:
    """The core of a target, which decides schedules; None where it has no vectors. As `lookup`."""
    core = core_of(spec)
    return core if isinstance(core, Machine) else None


def named_targets() -> list[Target]:
    """`host` and every target of the table."""
    return [_host(), *TARGETS.values()]


def targets_table() -> str:
    """The text of `aotc targets`: a line for each target."""
    rows = [("NAME", "TRIPLE", "CPU", "VECTORS", "DESCRIPTION")]
    rows += [(each.name, each.triple, each.cpu, _vectors_text(each), each.description) for each in named_targets()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    for name in dict.fromkeys(BOARDS.values()):
        boards = ", ".join(board for board, target in BOARDS.items() if target == name)
        lines += textwrap.wrap(f"{name}: {boards}", 118, initial_indent="", subsequent_indent="  ")
    lines[len(rows) : len(rows)] = ["", "or a chip or a board of these families, which stands for its core:"]
    return "\n".join([*lines, "", "or triple[:cpu[:features]], e.g. aarch64-linux-gnu:neoverse-v1:+sve", ""])


def _vectors_text(target: Target) -> str:
    return "-" if target.vectors is None else f"{target.vectors.registers} x {8 * target.vectors.vector_bytes} bits"


@lru_cache(maxsize=1)
def binding() -> Any:
    """`llvmlite.binding` with every target initialised."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


@lru_cache(maxsize=1)
def _host() -> Target:
    llvm = binding()
    core = core_of("host")
    features = llvm.get_host_cpu_features().flatten()
    return Target(
        "host",
        "this machine, every feature it has",
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        # Which LLVM does for some processors with AVX-512.
        f"{features},-prefer-256-bit" if isinstance(core, Machine) and core.vector_bytes == 64 else features,
        core=core,
    )


def _described(spec: str, triple: str, cpu: str, features: str) -> Target:
    tokens = triple.split("-")
    if len(tokens) == 3 and tokens[2] in _ENVIRONMENTS:  # LLVM itself takes the third part for an operating system
        tokens.insert(2, "unknown")
        triple = "-".join(tokens)
    elif len(tokens) == 3 and tokens[1] in ("linux", "none") and tokens[0] != "wasm32":
        tokens.insert(1, "unknown")
        triple = "-".join(tokens)
    try:
        binding().Target.from_triple(triple)
    except RuntimeError:
        raise _unknown(spec) from None
    if unclear := [each for each in features.split(",") if each and each[0] not in "+-"]:  # LLVM would end the process
        fix = f"write {','.join(f'+{each}' for each in unclear)} or {','.join(f'-{each}' for each in unclear)}"
        raise UsageError("invalid-option", f"--target {spec}", "a feature is there or not", fix)
    machine, said = listened(Target(spec, "", triple, cpu, features).machine)
    if refused := dict.fromkeys(re.findall(r"^('.*' is not a recognized \w+) for this target", said, re.MULTILINE)):
        raise UsageError([Problem("unsupported-target", f"--target {spec}", each) for each in refused])
    data = str(machine.target_data)
    if data.startswith("E"):
        raise UsageError("unsupported-target", f"--target {spec}", "it is big-endian", "choose a little-endian target")
    if re.search(r"(^|-)P[1-9]", data):
        why = "its functions have an address space of their own, which the tables of a model cannot point into"
        raise UsageError("unsupported-target", f"--target {spec}", why, "choose a target with one address space")
    width = 32 if "p:32:" in data else 16 if "p:16:" in data else 64
    bare = any(token in ("none", "elf", "eabi", "eabihf") for token in tokens) or tokens[0].startswith("wasm")
    target = Target(
        spec,
        "",
        triple,
        cpu,
        features,
        pointer_width=width,
        weight_alignment=4 if bare and width < 64 else 64,
        relocation="static" if bare else "pic",
        code_model="medium" if bare and triple.startswith("riscv") else "default",
        freestanding=bare,
    )
    return replace(target, core=probed_vectors(target) or (families.BARE if bare else families.HOSTED))


def _unknown(spec: str) -> UsageError:
    near = difflib.get_close_matches(spec, ["host", *TARGETS], n=3, cutoff=0.5)
    fix = f"did you mean {' or '.join(near)}?" if near else "`aotc targets` lists them"
    return UsageError("unknown-target", f"--target {spec}", "there is no such target", fix)


_T = TypeVar("_T")

_listening: Final = threading.Lock()
"""Standard error is one for all threads."""


def listened(make: Callable[[], _T]) -> tuple[_T, str]:
    """The result of `make`, and what LLVM prints on standard error meanwhile: all that it does about a processor or a
    feature it does not know, before it goes on without or ends the process."""
    import tempfile

    with _listening, tempfile.TemporaryFile() as stream:
        try:
            saved = os.dup(2)
        except OSError:  # standard error is closed
            saved = None
        os.dup2(stream.fileno(), 2)
        try:
            made = make()
        finally:
            if saved is None:
                os.close(2)
            else:
                os.dup2(saved, 2)
                os.close(saved)
        stream.seek(0)
        return made, stream.read().decode(errors="replace")


Loaded = TypeVar("Loaded")


def installed_target(name: str, kind: type[Loaded]) -> Loaded | None:
    """The target called `name`, an object of `kind`; None where no package has one.

    Raises UsageError for another object, and where it does not load.
    """
    for point in metadata.entry_points(group="aotc.targets", name=name):
        try:
            if isinstance(found := point.load(), kind):
                return found
            why = f"a {type(found).__name__} is no target"
        except Exception as error:
            why = str(error)
        raise UsageError("broken-package", f"--target {name}", f"{point.value}: {why}")
    return None
