"""Options by which GCC and Clang compile for a target."""

from __future__ import annotations

from aotc.machines.targets import Target


def host_flags(optimize: str) -> tuple[str, ...]:
    """Flags of this processor and level."""
    return f"-O{optimize}", "-march=native"


def compiler_flags(target: Target, optimize: str) -> tuple[str, ...]:
    """Flags of processor and level; none of the processor where a target has no name, for its user knows them."""
    return host_flags(optimize) if target.name == "host" else (f"-O{optimize}", *_processor_flags(target))


def _processor_flags(target: Target) -> tuple[str, ...]:
    if target.name.startswith("cortex-m"):
        has_float = target.triple.endswith("hf")
        core = ("-mthumb", f"-mcpu={target.cpu}", f"-mfloat-abi={'hard' if has_float else 'soft'}")
        return (*core, "-mfpu=fpv5-sp-d16") if "-fp64" in target.features.split(",") else core
    if target.name.startswith("rv"):
        return (f"-march={target.name}", f"-mabi={target.abi}")
    if target.name.startswith("x86-64"):
        return (f"-march={target.name}",)
    if target.name == "armv7":
        return ("-march=armv7-a", "-mfpu=neon", "-mfloat-abi=hard")
    if target.name.startswith("wasm32"):
        return (f"--target={target.triple}", *(("-msimd128",) if target.vectors is not None else ()))
    return ()
