"""How the loops of a kernel are divided among threads: chunks, times, and who waits for whom."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from aotc.compiler.lowering import new_context
from aotc.machines.machine import ThreadCosts
from aotc.passes.loops.loop_reads import Reads, weights_of
from aotc.passes.loops.loop_shares import Alone, Chunk, Cut, Indivisible, Shares
from aotc.pipeline.textual_ir import IRParser

COSTS = ThreadCosts(phase_operations=4000, shared_bytes=1 / 4, weight_bytes=8, most_time=0.9)
ROW, TABLE = "memref<4096xf32>", "memref<64x4096xf32>"
ALIAS = " {aot.may_alias}"


def loop(extents: dict[str, int], body: str) -> str:
    """A parallel loop from 0 on."""
    count = len(extents)
    bounds = ", ".join(["%c0"] * count + [f"%c{extent}" for extent in extents.values()] + ["%c1"] * count)
    variables = ", ".join(f"%{name}: index" for name in extents)
    return f"""
        "scf.parallel"({bounds}) <{{operandSegmentSizes = array<i32: {count}, {count}, {count}, 0>}}> ({{
        ^bb0({variables}):
          {body}
          scf.reduce
        }}) : ({", ".join(["index"] * 3 * count)}) -> ()"""


def load(name: str, buffer: str, *indices: str, kind: str = ROW) -> str:
    return f"\n%{name} = memref.load %{buffer}[{', '.join(f'%{index}' for index in indices)}] : {kind}"


def store(name: str, buffer: str, *indices: str, kind: str = ROW) -> str:
    return f"\nmemref.store %{name}, %{buffer}[{', '.join(f'%{index}' for index in indices)}] : {kind}"


def read(text: str) -> ModuleOp:
    return IRParser(new_context(), text, "kernel.mlir").parse_module()


def shares(body: str, threads: int = 2, weights: str = "", **buffers: str) -> Shares:
    """Of a kernel with these arguments, with the constants that it names, of which some are weights."""
    numbers = sorted({int(number) for number in re.findall(r"%c(\d+)\b", body)})
    constants = "\n".join(f"%c{number} = arith.constant {number} : index" for number in numbers)
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in buffers.items())
    text = f"func.func private @f({arguments}) attributes {{aot.kernel}} {{ {constants} {body}\nfunc.return }}"
    function = next(op for op in read(text).ops if isinstance(op, FuncOp))
    constant: set[SSAValue] = {argument for argument in function.args if argument.name_hint in weights.split()}
    return Shares(function, threads, Reads(function, COSTS, constant))


def chunks(found: Shares, block: Block | None = None) -> list[Chunk]:
    """Those of the kernel, or of a block."""
    return found.chunks[found.function.body.block if block is None else block]


def ways(found: Shares) -> list[str]:
    """How each chunk of the kernel is done."""
    return [how if isinstance(how := chunk.how, str) else type(how).__name__ for chunk in chunks(found)]


def cut(found: Shares) -> Cut:
    """That of the first chunk."""
    how = chunks(found)[0].how
    assert isinstance(how, Cut)
    return how


def time(found: Shares) -> float:
    """That of all but the return."""
    return found.time - 1


def copy(source: str, target: str, name: str = "j", extent: int = 4096) -> str:
    """A loop that copies a row."""
    return loop({name: extent}, load(f"v{name}", source, name) + store(f"v{name}", target, name))


# --- which dimensions are split ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "threads", "dimensions"),
    [
        ((20, 21), 21, 1),  # the longest share is 1.05 of the average one
        ((19, 21), 21, 2),  # of 19 iterations it is more
        ((3, 1), 2, 1),  # another dimension does not help
        ((3, 5), 2, 2),
    ],
)
def test_dimensions_are_the_fewest_that_divide_evenly(sizes: tuple[int, int], threads: int, dimensions: int) -> None:
    body = loop(dict(zip("ij", sizes, strict=True)), store("c", "y", "j"))
    found = cut(shares(f"%c = arith.constant 1.0 : f32 {body}", threads, y=ROW))
    assert (found.start, found.dimensions) == (0, dimensions)


def test_inner_loops_are_split_only_where_that_is_worth_it() -> None:
    body = loop({"i": 32, "j": 36}, load("v", "w", "j", kind="memref<256xf32>"))
    assert cut(shares(body, weights="w", w="memref<256xf32>")).start == 0  # takes 1216 of 1280 operations, 0.95 of it
    body = loop({"i": 32, "j": 36}, load("v", "w", "j", kind="memref<257xf32>"))
    assert cut(shares(body, weights="w", w="memref<257xf32>")).start == 1


@pytest.mark.parametrize(("extent", "threads", "expected"), [(5, 2, 8 * 2 + 2), (4, 4, 3 * 2 + 2 / 4)])
def test_shares_of_merged_loops_differ_in_the_first_one_that_has_an_iteration_for_each(
    extent: int, threads: int, expected: float
) -> None:
    """Only if they differ in the second one, too, a thread reads a share of what that reads."""
    body = loop({"i": 3, "j": extent}, load("v", "w", "j", kind="memref<4xf32>"))
    found = shares(body, threads, "w", w="memref<4xf32>")
    assert cut(found) == Cut(0, 2, 3 * extent, 0)
    assert time(found) == expected


# --- times ------------------------------------------------------------------------------------------------------------


def test_a_sequential_loop_takes_its_iterations() -> None:
    inner = loop({"j": 4096}, load("v", "x", "j"))
    found = shares(f"scf.for %i = %c0 to %c3 step %c1 {{ {inner} }}", weights="x", x=ROW)
    assert time(found) == 3 * 2048 * 2 + 4096 * 4 / 8 / 2
    assert ways(found) == ["entered"]


def test_a_condition_takes_what_is_in_it_once() -> None:
    inner = loop({"j": 4096}, load("v", "x", "j"))
    found = shares(f"%b = arith.constant true scf.if %b {{ {inner} }}", weights="x", x=ROW)
    assert time(found) == 2048 * 2 + 4096 * 4 / 8 / 2
    assert ways(found) == ["entered"]


def rows(count: int, rest: str) -> str:
    """Loops over rows, in each of which all of %x is read, and something else is done."""
    inner = loop({"j": 4095}, load("v", "x", "j") + store("v", "y", "i", "j", kind=TABLE))
    return loop({"i": count}, inner + rest)


ALONE = load("w", "x", "c4095") + store("w", "y", "i", "c4095", kind=TABLE)


@pytest.mark.parametrize(
    ("count", "threads", "rest", "each"),
    [
        (24, 2, ALONE, 1 + 1 / 2),  # threads take turns with the store
        (2, 2, ALONE, 1 + 1 / 2),
        (3, 2, ALONE, 1 + 2 / 3),  # one of them has two of three
        (25, 4, ALONE, 1 + 7 / 25),
        (2, 3, ALONE, 2),  # not all of them have one
        (24, 2, load("w", "x", "c4095"), 1),  # all of them do what only reads
        (24, 2, load("w", "z", "c1") + store("w", "u", "c1"), 1 + 1 / 2),
    ],
)
def test_threads_take_turns_with_what_one_does_in_each_iteration(
    count: int, threads: int, rest: str, each: float
) -> None:
    found = shares(rows(count, rest), threads, "z", x=ROW, y=TABLE, z=ROW, u=ROW)
    assert ways(found) == ["entered"]
    (inner, *_) = chunks(found, chunks(found)[0].operations[0].regions[0].block)
    assert isinstance(inner.how, Cut)
    assert time(found) == count * (-(-4095 // threads) * 3 + each)


def test_the_loop_in_whose_iterations_threads_take_turns_is_the_innermost_that_has_enough() -> None:
    inner = loop({"k": 4095}, load("v", "x", "k") + store("v", "y", "i", "k", kind=TABLE))
    middle = loop({"j": 2}, inner + ALONE)
    found = shares(loop({"i": 24}, middle + load("u", "x", "c1")), 3, x=ROW, y=TABLE)
    (outer,) = chunks(found)
    entered = chunks(found, outer.operations[0].regions[0].block)[0]
    *_, alone = chunks(found, entered.operations[0].regions[0].block)
    assert (outer.how, entered.how) == ("entered", "entered")
    assert isinstance(alone.how, Alone)
    assert alone.how.turn == (outer.operations[0].regions[0].block.args[0], 1)


def test_a_buffer_is_shared_only_if_all_of_its_loads_are() -> None:
    both = load("u", "w", "c1") + load("v", "w", "j")
    assert time(shares(loop({"j": 4096}, both), weights="w", w=ROW)) == 2048 * 3 + 4096 * 4 / 8
    assert time(shares(loop({"j": 4096}, load("v", "w", "j")), weights="w", w=ROW)) == 2048 * 2 + 4096 * 4 / 8 / 2


def test_what_a_condition_computes_and_does_not_yield_is_no_part_of_an_index() -> None:
    chosen = "%b = arith.constant true %n = scf.if %b -> (index) { %dead = arith.addi %OF, %c1 : index scf.yield %GIVEN"
    body = chosen + " : index } else { scf.yield %c1 : index }" + load("v", "w", "n")
    kept = body.replace("%OF", "%j").replace("%GIVEN", "%c0")
    given = body.replace("%OF", "%j").replace("%GIVEN", "%dead")
    whole, half = (shares(loop({"j": 4096}, text), weights="w", w=ROW).time for text in (kept, given))
    assert whole - half == 4096 * 4 / 8 / 2


# --- whether a loop is entered, and who waits -------------------------------------------------------------------------


def test_a_loop_is_not_entered_where_one_thread_still_reads_what_others_overwrite() -> None:
    buffers = {"x": ROW, "y": TABLE + ALIAS, "z": ROW + ALIAS, "u": ROW}
    apart = load("w", "z", "c1") + store("w", "u", "c1")
    assert ways(shares(rows(24, apart), 2, "z", **buffers)) == ["Cut"]
    assert ways(shares(rows(24, apart), 2, "z", **buffers | {"z": ROW})) == ["entered"]


@pytest.mark.parametrize(
    ("first", "second", "aliases", "wait"),
    [
        (copy("z", "u"), copy("x", "y", "k"), "yz", True),  # reads what is overwritten
        (copy("x", "y"), copy("z", "u", "k"), "yz", True),  # overwrites what is read
        (copy("x", "u"), copy("z", "v", "k"), "yz", False),  # none is overwritten
        (copy("x", "y"), copy("x", "u", "k"), "yz", False),  # none is read
        (copy("x", "y"), copy("z", "u", "k"), "z", False),
        (copy("x", "y"), copy("z", "u", "k"), "y", False),
    ],
)
def test_threads_wait_where_a_result_may_take_over_what_is_read(
    first: str, second: str, aliases: str, wait: bool
) -> None:
    buffers = {name: ROW + (ALIAS if name in aliases else "") for name in "xyzuv"}
    found = shares(first + second, 2, "", **buffers)
    assert found.conflict(*chunks(found)) == wait


def test_one_of_several_buffers_decides_whether_threads_wait() -> None:
    reads = loop({"j": 4096}, load("a", "x", "j") + load("b", "z", "j") + store("b", "u", "j"))
    writes = loop({"k": 4096}, load("e", "x", "k") + store("e", "y", "k") + store("e", "v", "k"))
    found = shares(reads + writes, x=ROW, y=ROW + ALIAS, z=ROW + ALIAS, u=ROW, v=ROW)
    assert found.conflict(*chunks(found))


@pytest.mark.parametrize(("extent", "wait"), [(4096, True), (4095, False)])
def test_a_thread_does_not_wait_for_itself(extent: int, wait: bool) -> None:
    before, after = load("a", "x", "c1") + store("a", "s", "c1"), load("b", "s", "c1") + store("b", "u", "c1")
    found = shares(before + copy("x", "y", extent=extent) + after, x=ROW, y=ROW, s=ROW, u=ROW)
    first, middle, last = chunks(found)
    assert isinstance(middle.how, Cut)
    assert (first.how, last.how) == (Alone(0), Alone(1 if wait else 0))
    assert found.conflict(first, last) == wait


# --- what one thread does ---------------------------------------------------------------------------------------------

USED = loop({"j": 4096}, store("seen", "y", "j"))
STORES = [load("a", "x", "c1") + store("a", "s", "c1"), load("b", "x", "c2") + store("b", "s", "c2")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (load("seen", "s", "c1") + "".join(STORES), ["everywhere", "Alone", "Cut"]),
        ("".join(STORES) + load("seen", "s", "c1"), ["Alone", "everywhere", "Cut"]),
        (load("seen", "x", "c1").join(STORES), ["everywhere", "Alone", "Cut"]),
    ],
)
def test_all_threads_read_before_or_after_what_one_stores(text: str, expected: list[str]) -> None:
    assert ways(shares(text + USED, x=ROW, y=ROW, s=ROW)) == expected


def test_all_threads_cannot_read_between_the_stores_of_one() -> None:
    with pytest.raises(Indivisible, match="between its stores"):
        shares(load("seen", "s", "c1").join(STORES) + USED, x=ROW, y=ROW, s=ROW)


def test_constants_are_left_to_all_threads() -> None:
    text = "%k = arith.constant 7.0 : f32" + load("a", "x", "c1") + "%m = arith.addf %a, %k : f32"
    alone, _ = chunks(shares(text + store("m", "s", "c1") + copy("x", "y"), x=ROW, y=ROW, s=ROW))
    assert [op.name for op in alone.operations] == ["memref.load", "arith.addf", "memref.store"]


# --- what cannot be divided -------------------------------------------------------------------------------------------


def test_a_loop_that_gives_a_result_is_not_split() -> None:
    total = """
        %zero = arith.constant 0.0 : f32
        %sum = "scf.parallel"(%c0, %c4096, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
        ^bb0(%i: index):
          %v = memref.load %x[%i] : memref<4096xf32>
          scf.reduce(%v : f32) {
          ^bb1(%a: f32, %b: f32):
            %add = arith.addf %a, %b : f32
            scf.reduce.return %add : f32
          }
        }) : (index, index, index, f32) -> f32
        memref.store %sum, %s[%c0] : memref<4096xf32>"""
    assert ways(shares(total + copy("x", "y"), x=ROW, y=ROW, s=ROW)) == ["Alone", "Cut"]


def test_conversions_and_remainders_touch_no_memory() -> None:
    arithmetic = "%k = arith.remui %j, %c2 : index %b = arith.constant 1 : i8 %e = arith.extsi %b : i8 to i32"
    body = loop({"j": 4096}, arithmetic + load("v", "x", "k") + store("v", "y", "j"))
    assert ways(shares(body, x=ROW, y=ROW)) == ["Cut"]


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "is_weight"), [(("%w", "%x"), False), (("%x", "%w"), False), (("%w", "%w"), True)])
def test_a_weight_is_one_in_all_calls(order: tuple[str, str], is_weight: bool) -> None:
    calls = "".join(f"func.call @f({operand}) : ({ROW}) -> ()\n" for operand in order)
    module = read(f"""
        "memref.global"() <{{sym_name = "t", type = {ROW}, initial_value, sym_visibility = "private"}}> : () -> ()
        func.func private @f(%a: {ROW}) attributes {{aot.kernel}} {{ func.return }}
        func.func @main(%x: {ROW}) {{ %w = aot.weight "w" : {ROW} {calls} func.return }}""")
    assert len(weights_of(module)) == is_weight
