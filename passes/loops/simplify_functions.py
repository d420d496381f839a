"""Canonicalise each function, compute what is equal once, and drop what nobody uses.

Before:
```mlir
%0 = arith.addi %c2, %c3 : index
%1 = arith.muli %i, %0 : index
%2 = arith.muli %i, %0 : index
%3 = arith.addi %1, %2 : index
```
After:
```mlir
%0 = arith.constant 5 : index
%1 = arith.muli %i, %0 : index
%3 = arith.addi %1, %1 : index
```
The same as `canonicalize,cse` on bodies of functions: the folders and patterns of all operations, equal operations
where one is defined before the other, equal reads with no write between them. Hardly anything can be folded in loops
that have just been written, so each function is walked once for each of the three, and again only where something was
folded or a pattern applied.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache

from xdsl import traits
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.folder import Folder
from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from aotc.dialects.operations import is_terminator, walk
from aotc.passes.loops.function_pass import FunctionPass


class SimplifyFunctionsPass(FunctionPass):
    name = "simplify-functions"

    def function(self, ctx: Context, function: FuncOp) -> None:
        while _canonicalize(function, ctx):
            pass
        for block in function.body.blocks:
            _Elimination().block(block)
            _drop_unused(block)


# --- folders and patterns --------------------------------------------------------------------------------------------


def _canonicalize(function: FuncOp, ctx: Context) -> bool:
    """Fold, or apply a pattern to, each operation once; whether anything changed."""
    candidates = [op for op in walk(function) if _folds(type(op)) or _patterns(type(op))]
    changed = False
    for op in candidates:
        if op.parent is None:  # erased with another one
            continue
        rewriter = PatternRewriter(op)
        if _folds(type(op)) and (folded := Folder(ctx).try_fold(op)) is not None:
            values, new = folded
            rewriter.replace(op, new, values)
        else:
            for pattern in _patterns(type(op)):
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    break
        changed |= rewriter.has_done_action
    return changed


@cache
def _folds(kind: type[Operation]) -> bool:
    return kind.has_trait(traits.HasFolder) and not kind.has_trait(traits.ConstantLike)


@cache
def _patterns(kind: type[Operation]) -> Sequence[RewritePattern]:
    found = kind.get_traits_of_type(traits.HasCanonicalizationPatternsTrait)
    return [pattern for trait in found for pattern in trait.get_patterns(kind)]


# --- common subexpressions -------------------------------------------------------------------------------------------


class _Effect(IntEnum):
    """The effect of an operation on memory; several have the largest of theirs."""

    NONE = 0
    READ = 1
    ALLOCATE = 2
    """Allocates: each execution gives other memory."""
    ANY = 3


class _Elimination:
    """Common subexpression elimination of a function in one walk: `_known` are the operations whose results are
    available."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], list[Operation]] = {}
        self._writes = 0

    def block(self, block: Block) -> _Effect:
        """Replace operations by equal ones before them; returns the effect of those that remain."""
        new: list[list[Operation]] = []
        total = _Effect.NONE
        for op in list(block.ops):
            effect = _effect(op, [self.block(inner) for region in op.regions for inner in region.blocks])
            total = max(total, effect)
            if effect is _Effect.ANY:
                self._writes += 1
            if effect > _Effect.READ or is_terminator(type(op)):
                continue
            operands = tuple(op.operands)
            key = (type(op), *(operands or op.properties.values()))
            if effect is _Effect.READ:  # equal only if nothing can have been written in between
                key = (block, self._writes, *key)
            candidates = self._known.setdefault(key, [])
            if (known := next((each for each in candidates if _equal(each, op)), None)) is None:
                candidates.append(op)
                new.append(candidates)
                continue
            for old, result in zip(op.results, known.results, strict=True):
                old.replace_all_uses_with(result)
            Rewriter.erase_op(op)
        for candidates in new:
            candidates.pop()
        return total


def _equal(a: Operation, b: Operation) -> bool:
    """Whether two operations of one class with the same operands compute the same."""
    return (
        a.properties == b.properties
        and a.attributes == b.attributes
        and a.results.types == b.results.types
        and all(x.is_structurally_equivalent(y) for x, y in zip(a.regions, b.regions, strict=True))
    )


def _effect(op: Operation, inside: Iterable[_Effect]) -> _Effect:
    """The effect of an operation whose regions have the effects `inside`."""
    if not op.regions:
        return _own_effect(op)
    effect = max(inside, default=_Effect.NONE)
    return effect if _is_recursive(type(op)) else _Effect.ANY


@cache
def _is_recursive(kind: type[Operation]) -> bool:
    return kind.has_trait(traits.RecursiveMemoryEffect)


_KINDS = {traits.MemoryEffectKind.READ: _Effect.READ, traits.MemoryEffectKind.ALLOC: _Effect.ALLOCATE}
_own_effects: dict[type[Operation], _Effect] = {}


def _own_effect(op: Operation) -> _Effect:
    """The effect of an operation without regions, which depends on its class only."""
    kind = type(op)
    if kind not in _own_effects:
        effects = traits.get_effects(op)
        each = [_KINDS.get(effect.kind, _Effect.ANY) for effect in effects or ()]
        _own_effects[kind] = _Effect.ANY if effects is None else max(each, default=_Effect.NONE)
    return _own_effects[kind]


# --- dead code -------------------------------------------------------------------------------------------------------


def _drop_unused(block: Block) -> _Effect:
    """Erase operations without uses and effects, users first; returns the effect of those that remain."""
    total = _Effect.NONE
    for op in reversed(list(block.ops)):
        effect = _effect(op, [_drop_unused(inner) for region in op.regions for inner in region.blocks])
        if isinstance(op, scf.ForOp | scf.WhileOp) and (places := _unread(op)):
            op = _without(op, places)
            effect = _effect(op, [_drop_unused(inner) for region in op.regions for inner in region.blocks])
        unused = all(result.first_use is None for result in op.results)
        if unused and effect is not _Effect.ANY and not is_terminator(type(op)):
            Rewriter.erase_op(op)
        else:
            total = max(total, effect)
    return total


def _carriers(op: scf.ForOp | scf.WhileOp) -> list[tuple[Block, int, int]]:
    """The blocks of a loop that are given what it carries: from which argument on, and from which operand of the
    terminator on they hand it on."""
    if isinstance(op, scf.ForOp):
        return [(op.body.block, 1, 0)]
    return [(op.before_region.block, 0, 1), (op.after_region.block, 0, 0)]


def _unread(op: scf.ForOp | scf.WhileOp) -> list[int]:
    """Which of the values that a loop carries from one iteration to the next nobody reads."""
    count, carriers = len(op.results), _carriers(op)
    if any(len(block.args) - first != count for block, first, _ in carriers):
        return []

    def is_read(place: int) -> bool:
        ends = {(block.last_op, place + skipped) for block, _, skipped in carriers}
        values = [op.results[place], *(block.args[place + first] for block, first, _ in carriers)]
        return any((use.operation, use.index) not in ends for value in values for use in value.uses)

    return [place for place in range(count) if not is_read(place)]


def _without(op: scf.ForOp | scf.WhileOp, places: Sequence[int]) -> Operation:
    """The loop without the values that it carries at `places`, instead of it."""
    for block, first, skipped in _carriers(op):
        end = block.last_op
        assert end is not None
        end.operands = [value for k, value in enumerate(end.operands) if k - skipped not in places]
        for place in reversed(places):
            block.erase_arg(block.args[place + first])
    first, regions = len(op.operands) - len(op.results), [op.detach_region(region) for region in list(op.regions)]
    new = type(op).create(
        operands=[value for k, value in enumerate(op.operands) if k - first not in places],
        result_types=[result.type for k, result in enumerate(op.results) if k not in places],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    new.location = op.location
    results = iter(new.results)
    Rewriter.replace_op(op, new, [None if k in places else next(results) for k in range(len(op.results))])
    return new
