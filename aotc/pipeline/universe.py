"""Every dialect, pass and target of the project, by name and loaded when first used.

This is the entry point `xdsl.universe`: it makes them appear in `aotc-opt` and in `xdsl-opt`. A package from outside
adds its own universe the same way. Each row is one line; a unit test loads them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from xdsl.universe import XDSL_UNIVERSE, Universe

from aotc.model import extensions


def _lazy(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)


UNIVERSE = Universe(
    all_dialects={
        "aot": _lazy("aotc.dialects.aot", "AOT"),
        "graph": _lazy("aotc.dialects.graph", "GRAPH"),
        "llvm_ext": _lazy("aotc.dialects.llvm_ext", "LLVM_EXT"),
        "vm": _lazy("aotc.dialects.vm", "VM"),
    },
    all_passes={
        # graph
        "attach-target": _lazy("aotc.passes.graph.attach_target", "AttachTargetPass"),
        "annotate-quantization": _lazy("aotc.passes.graph.annotate_quantization", "AnnotateQuantizationPass"),
        "infer-shapes": _lazy("aotc.passes.graph.infer_shapes", "InferShapesPass"),
        "fold-constants": _lazy("aotc.passes.graph.fold_constants", "FoldConstantsPass"),
        "simplify-control-flow": _lazy("aotc.passes.graph.simplify_control_flow", "SimplifyControlFlowPass"),
        "fold-batch-norm": _lazy("aotc.passes.graph.fold_batch_norm", "FoldBatchNormPass"),
        "raise-functions": _lazy("aotc.passes.graph.raise_functions", "RaiseFunctionsPass"),
        "raise-normalization": _lazy("aotc.passes.graph.raise_normalization", "RaiseNormalizationPass"),
        "note-floats": _lazy("aotc.passes.graph.note_floats", "NoteFloatsPass"),
        "tabulate-quantized": _lazy("aotc.passes.graph.tabulate_quantized", "TabulateQuantizedPass"),
        "fix-arithmetic": _lazy("aotc.passes.graph.fix_arithmetic", "FixArithmeticPass"),
        "fix-softmax": _lazy("aotc.passes.graph.fix_softmax", "FixSoftmaxPass"),
        "fix-requantization": _lazy("aotc.passes.graph.fix_requantization", "FixRequantizationPass"),
        "raise-quantization": _lazy("aotc.passes.graph.raise_quantization", "RaiseQuantizationPass"),
        "eliminate-transposes": _lazy("aotc.passes.graph.eliminate_transposes", "EliminateTransposesPass"),
        "absorb-transposes": _lazy("aotc.passes.graph.absorb_transposes", "AbsorbTransposesPass"),
        "shrink-constants": _lazy("aotc.passes.graph.shrink_constants", "ShrinkConstantsPass"),
        # integers
        "center-weights": _lazy("aotc.passes.integers.center_weights", "CenterWeightsPass"),
        "divide-transposed": _lazy("aotc.passes.integers.divide_transposed", "DivideTransposedPass"),
        "multiply-in-floats": _lazy("aotc.passes.integers.multiply_in_floats", "MultiplyInFloatsPass"),
        "flip-signs": _lazy("aotc.passes.integers.flip_signs", "FlipSignsPass"),
        "prove-fractions": _lazy("aotc.passes.integers.prove_fractions", "ProveFractionsPass"),
        "bound-sums": _lazy("aotc.passes.integers.bound_sums", "BoundSumsPass"),
        "flatten-positions": _lazy("aotc.passes.integers.flatten_positions", "FlattenPositionsPass"),
        "pair-steps": _lazy("aotc.passes.integers.pair_steps", "PairStepsPass"),
        "prove-narrow-pairs": _lazy("aotc.passes.integers.prove_narrow_pairs", "ProveNarrowPairsPass"),
        # schedule
        "offload-operations": _lazy("aotc.passes.schedule.offload_operations", "OffloadOperationsPass"),
        "flush-subnormals": _lazy("aotc.passes.schedule.flush_subnormals", "FlushSubnormalsPass"),
        "round-weights": _lazy("aotc.passes.schedule.round_weights", "RoundWeightsPass"),
        "choose-algorithms": _lazy("aotc.passes.schedule.choose_algorithms", "ChooseAlgorithmsPass"),
        "choose-schedule": _lazy("aotc.passes.schedule.choose_schedule", "ChooseSchedulePass"),
        "branch-trees": _lazy("aotc.passes.schedule.branch_trees", "BranchTreesPass"),
        "count-votes": _lazy("aotc.passes.schedule.count_votes", "CountVotesPass"),
        "project-inputs": _lazy("aotc.passes.schedule.project_inputs", "ProjectInputsPass"),
        "widen-operands": _lazy("aotc.passes.schedule.widen_operands", "WidenOperandsPass"),
        "assign-layouts": _lazy("aotc.passes.schedule.assign_layouts", "AssignLayoutsPass"),
        # fuse
        "divide-scratch": _lazy("aotc.passes.fuse.divide_scratch", "DivideScratchPass"),
        "tile-and-fuse": _lazy("aotc.passes.fuse.tile_and_fuse", "TileAndFusePass"),
        "fuse-epilogues": _lazy("aotc.passes.fuse.fuse_epilogues", "FuseEpiloguesPass"),
        "fuse-prologues": _lazy("aotc.passes.fuse.fuse_prologues", "FuseProloguesPass"),
        "fuse-elementwise": _lazy("aotc.passes.fuse.fuse_elementwise", "FuseElementwisePass"),
        "count-operations": _lazy("aotc.passes.fuse.count_operations", "CountOperationsPass"),
        "outline-kernels": _lazy("aotc.passes.fuse.outline_kernels", "OutlineKernelsPass"),
        # memory
        "bufferize": _lazy("aotc.passes.memory.bufferize", "BufferizePass"),
        "plan-memory": _lazy("aotc.passes.memory.plan_memory", "PlanMemoryPass"),
        # loops
        "convert-graph-to-loops": _lazy("aotc.passes.loops.convert_graph_to_loops", "ConvertGraphToLoopsPass"),
        "serialize-parallel-loops": _lazy("aotc.passes.loops.serialize_parallel_loops", "SerializeParallelLoopsPass"),
        "recompute-indices": _lazy("aotc.passes.loops.recompute_indices", "RecomputeIndicesPass"),
        "simplify-functions": _lazy("aotc.passes.loops.simplify_functions", "SimplifyFunctionsPass"),
        "move-invariants": _lazy("aotc.passes.loops.move_invariants", "MoveInvariantsPass"),
        "split-parallel-loops": _lazy("aotc.passes.loops.split_parallel_loops", "SplitParallelLoopsPass"),
        "expand-math": _lazy("aotc.passes.loops.expand_math", "ExpandMathPass"),
        "split-fma": _lazy("aotc.passes.loops.split_fma", "SplitFmaPass"),
        "unroll-tiles": _lazy("aotc.passes.loops.unroll_tiles", "UnrollTilesPass"),
        "select-instructions": _lazy("aotc.passes.loops.select_instructions", "SelectInstructionsPass"),
        # interface
        "select-calling-convention": _lazy(
            "aotc.passes.interface.select_calling_convention", "SelectCallingConventionPass"
        ),
        "mangle-symbols": _lazy("aotc.passes.interface.mangle_symbols", "MangleSymbolsPass"),
        "place-weights": _lazy("aotc.passes.interface.place_weights", "PlaceWeightsPass"),
        "buffers-to-pointers": _lazy("aotc.passes.interface.buffers_to_pointers", "BuffersToPointersPass"),
        "lower-calls": _lazy("aotc.passes.interface.lower_calls", "LowerCallsPass"),
        "run-on-threads": _lazy("aotc.passes.interface.run_on_threads", "RunOnThreadsPass"),
        "add-reset": _lazy("aotc.passes.interface.add_reset", "AddResetPass"),
        "add-selftest": _lazy("aotc.passes.interface.add_selftest", "AddSelftestPass"),
        "merge-kernels": _lazy("aotc.passes.interface.merge_kernels", "MergeKernelsPass"),
        "wrap-entry": _lazy("aotc.passes.interface.wrap_entry", "WrapEntryPass"),
        "leave-entry": _lazy("aotc.passes.interface.leave_entry", "LeaveEntryPass"),
        "profile-kernels": _lazy("aotc.passes.interface.profile_kernels", "ProfileKernelsPass"),
        # lower
        "convert-entry-to-vm": _lazy("aotc.passes.lower.convert_entry_to_vm", "ConvertEntryToVMPass"),
        "allocate-registers": _lazy("aotc.passes.lower.allocate_registers", "AllocateRegistersPass"),
        "convert-to-llvm": _lazy("aotc.passes.lower.convert_to_llvm", "ConvertToLLVMPass"),
    },
    all_targets={
        "c": _lazy("aotc.emit.c.files", "CTarget"),
        "llvm-text": _lazy("aotc.emit.llvm.ir", "LLVMTextTarget"),
    },
)


@cache
def multiverse() -> Universe:
    """Every installed universe, and ours in a checkout that is not installed.

    What two universes define is taken from the first one (xDSL's and ours come first); the others are left out."""
    found = extensions.load_all(extensions.UNIVERSES, _check)
    merged = Universe()
    others = [(point, universe) for point, universe in found if universe not in (UNIVERSE, XDSL_UNIVERSE)]
    for universe in (XDSL_UNIVERSE, UNIVERSE):
        _add(merged, universe, lambda make: make)
    for point, universe in others:
        if (clash := _clash(merged, universe)) is not None:
            extensions.leave_out(point, clash)
        else:
            _add(merged, universe, lambda make, point=point: extensions.guarded(point, make))
    return merged


_TABLES = ("all_dialects", "all_passes", "all_targets")


def _check(point: EntryPoint, loaded: object) -> str | None:
    return None if isinstance(loaded, Universe) else f"a {type(loaded).__name__} is not an xdsl.universe.Universe"


def _clash(merged: Universe, universe: Universe) -> str | None:
    taken = [name for table in _TABLES for name in getattr(universe, table) if name in getattr(merged, table)]
    return f"{', '.join(taken)} is defined by another package" if taken else None


def _add(merged: Universe, universe: Universe, wrap: Callable[[Callable[[], Any]], Callable[[], Any]]) -> None:
    for table in _TABLES:
        getattr(merged, table).update({name: wrap(make) for name, make in getattr(universe, table).items()})
