"""LLVM's optimisation pipeline."""

from __future__ import annotations

from typing import Any

from aotc.machines.targets import binding


def optimize(module: Any, machine: Any, level: str, rolled: bool = False) -> None:
    """Run LLVM's pipeline of `level` ("0".."3", "s") on its module, in place; `rolled` keeps loops as they are."""
    llvm_binding = binding()
    options = llvm_binding.create_pipeline_tuning_options(speed_level=2 if level == "s" else int(level))
    if rolled or level == "s":
        options.loop_unrolling = options.loop_interleaving = options.slp_vectorization = False
    builder = llvm_binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
