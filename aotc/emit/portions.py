"""The portions of a model's kernels as objects and C, in several processes (`aotc.pipeline.portions`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from aotc.model.progress import Progress
from aotc.pipeline.phases import PassTiming
from aotc.pipeline.portions import processes
from aotc.pipeline.workers import in_parallel

if TYPE_CHECKING:
    from aotc.emit.c.source import CSource, Printed
    from aotc.pipeline.compilation import Compilation
    from aotc.pipeline.portions import Portions


def compiled(
    compilation: Compilation, portions: Portions, source: CSource | None, meanwhile: Callable[[], object]
) -> list[bytes]:
    """Compile the portions of kernels, in as many processes as the options have `jobs`, and `meanwhile` what they do
    not need; returns their objects, none where there is no machine code.

    Their C is in `source` then, if that is given. Raises CompileError.
    """
    from aotc.emit.llvm.object import NativeCode

    options = compilation.options
    native = "shared" in options.emit
    if native:
        NativeCode(compilation, pool=False).prepare()

    def work(number: int) -> tuple[bytes, Printed | None, list[PassTiming]]:
        kernels, before = portions.kernels[number], len(compilation.timings)
        portions.finish(compilation.ctx, options, kernels)
        image = NativeCode(compilation, pool=False, only=kernels).object if native else b""
        text = None if source is None else source.printed(kernels)
        timings = compilation.timings[before:]
        del compilation.timings[before:]
        return image, text, timings

    def begun(number: int) -> None:
        """Those before it are done, or at hand elsewhere."""
        sizes = [len(kernels) for kernels in portions.kernels]
        Progress.of(compilation.ctx).kernel(sum(sizes[:number]) + 1, sum(sizes))

    compilation.store.settle()  # a process with two threads is not copied
    results = in_parallel(work, len(portions.kernels), processes(options), meanwhile, begun)
    compilation.timings += _added(timing for _, _, timings in results for timing in timings)
    for _, text, _ in results:
        if source is not None and text is not None:
            source.take(text)
    return [image for image, _, _ in results] if native else []


def _added(timings: Iterable[PassTiming]) -> list[PassTiming]:
    """Those of one pass as one."""
    found: dict[tuple[str, str], PassTiming] = {}
    for each in timings:
        total = found.setdefault((each.phase, each.pass_name), PassTiming(each.phase, each.pass_name, 0.0))
        total.seconds += each.seconds
    return list(found.values())
