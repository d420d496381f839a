"""`aotc-opt` as those who write IR meet it: places and carets, spellings of mlir-opt, exit codes, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from aotc.cli.diagnostics import Diagnostic, expectations, unexpected
from aotc.cli.opt import run
from aotc.cli.spellings import flattened, normalised
from aotc.errors import UsageError

RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
WRONG = """func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
"""
WEIGHT = """func.func @main() -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.constant dense_resource<w> : tensor<4xf32>
  %1 = graph.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""

Captured = pytest.CaptureFixture[str]


def opt(tmp_path: Path, text: str | bytes, *arguments: str) -> int:
    """The exit code on a file in.mlir of this text."""
    path = tmp_path / "in.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run([str(path), *arguments])


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ('"builtin.module"() ({ ^0: "func.return"() : () -> () }) : () -> ()', "1:25", "Invalid Block name"),
        (RELU.replace(" : (tensor", " : tensor", 1), "2:24", "function type expected"),
        (RELU.replace("graph.relu", "graph.relo"), "2:8", "did you mean graph.relu"),
        (WRONG, "2:8", "result type is tensor<5xf32>"),
        (RELU.replace("%0 : tensor<4xf32>\n}", "%9 : tensor<4xf32>\n}"), "3:15", "%9"),
        ("func.func @f() {\n %0 = graph.constant dense<1.0> : tensor<99999999x99999999xf32>\n}", "2:35", "elements"),
        ("module {" * 3000, "1:", "more deeply"),
        (b"module {\n \xb0\xed", "2:2", "0xb0 is not UTF-8"),
        (f'{RELU}// "\n"{"a" * 60}\n"', "6:1", "this string is not closed"),
        ('"a\\0"', "1:1", "this string is not closed"),
        ("", "1:1", "there is no operation"),
        ("// nothing\n", "1:1", "there is no operation"),
    ],
    ids=[
        "block",
        "type",
        "name",
        "verifier",
        "undefined",
        "huge",
        "deep",
        "bytes",
        "string",
        "escape",
        "empty",
        "comment",
    ],
)
def test_a_place_for_everything(text: str | bytes, place: str, says: str, tmp_path: Path, capsys: Captured) -> None:
    assert opt(tmp_path, text) == 3
    out, err = capsys.readouterr()
    assert err.startswith(f"{tmp_path / 'in.mlir'}:{place}") and says in err and "Traceback" not in err
    assert out == ""
    if len(err.splitlines()) > 1:
        message, line, caret = err.splitlines()[:3]
        assert message.split(":")[3:4] == [" error"] and caret.strip() == "^" and len(caret) <= len(line) + 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["none.mlir"], 4, "none.mlir: No such file"),
        (["."], 4, "Is a directory"),
        (["in.mlir", "-o", "none/out.mlir"], 4, "none/out.mlir"),
        (["in.mlir", "--weights", "none.npz"], 4, "none.npz"),
        (["in.mlir", "--weights", "in.mlir"], 4, "not an npz file"),
        (["in.mlir", "-p", "fold-constant"], 2, "did you mean fold-constants"),
        (["in.mlir", "-p", "attach-target{tagret=host}"], 2, "target"),
        (["in.mlir", "-p", "cse{"], 2, "cannot be read"),
        (["in.mlir", "--canonicalise"], 2, "did you mean --canonicalize"),
        (["in.mlir", "--pass-pipeline"], 2, "without a pipeline"),
        (["in.mlir", "--pass-pipeline=builtin.module(cse"], 2, "expected ')'"),
        (["in.mlir", "-t", "mlri"], 2, "did you mean mlir"),
        (["in.mlir", "--help-pass", "csee"], 2, "did you mean cse"),
        (["in.mlir", "--fold-constants"], 2, "in.mlir:2:8: error: there is no array w; give --weights FILE.npz"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(
    arguments: list[str], code: int, says: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(WEIGHT)
    try:
        assert run(arguments) == code
    except SystemExit as error:  # argparse's own
        assert error.code == code
    out, err = capsys.readouterr()
    assert says in err and "Traceback" not in err and not out
    assert [path.name for path in tmp_path.iterdir()] == ["in.mlir"]


def test_a_fault_of_a_pass_is_no_traceback(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    from aotc.passes.graph.fold_constants import FoldConstantsPass

    def broken(*_: object) -> None:
        raise IndexError("main has no such index")

    monkeypatch.setattr(FoldConstantsPass, "apply", broken)
    assert opt(tmp_path, "\n" + RELU, "--fold-constants") == 70
    err = capsys.readouterr().err
    assert "in.mlir:2:1: error: internal error (IndexError: main has no such index) in the pass fold-constants" in err
    assert "Traceback" not in err


def test_spellings_of_mlir(tmp_path: Path, capsys: Captured) -> None:
    pipeline = "--pass-pipeline=builtin.module(cse, func.func(canonicalize, fold-constants))"
    assert opt(tmp_path, RELU, pipeline, "--mlir-print-debuginfo", "-mlir-print-ir-after-all", "--dce") == 0
    out, err = capsys.readouterr()
    assert "loc(" in out
    headers = [
        line.split("(")[1].split(")")[0] for line in err.splitlines() if line.startswith("// -----// IR Dump After")
    ]
    assert headers == ["cse", "canonicalize", "fold-constants", "dce"]
    assert opt(tmp_path, RELU, "--attach-target=target=x86-64-v3", "--choose-schedule", "--print-ir-before-all") == 0
    assert "IR Dump Before ChooseSchedulePass (choose-schedule)" in capsys.readouterr().err


def test_pipelines() -> None:
    assert flattened("builtin.module(a,func.func(b{x=1 y=cortex-m4},c{}),d)") == 'a,b{x=1 y="cortex-m4"},c,d'
    assert flattened("a{path=out/x.json}") == 'a{path="out/x.json"}'
    assert flattened("builtin.module()") == "" and flattened("a , b") == "a,b"
    for text, place in (("a)", 1), ("a,,b", 2), ("a{x", 1), ("b.c(a)", 0), ("builtin.module(a", 16), ("a b", 2)):
        with pytest.raises(UsageError) as error:
            flattened(text)
        assert str(error.value).splitlines()[-1] == "  " + " " * place + "^ [invalid-option]"


def test_arguments() -> None:
    options, passes = ["--target", "--split-input-file", "-p", "--print-debuginfo"], ["cse", "fold"]
    given = [
        "-split-input-file",
        "--cse",
        "x.mlir",
        "-fold=a=b-c d=1",
        "-p",
        "cse",
        "--unknown",
        "--mlir-print-debuginfo",
    ]
    rest = ["--split-input-file", "x.mlir", "--unknown", "--print-debuginfo"]
    assert normalised(given, options, passes) == [*rest, "-p", 'cse,fold{a="b-c" d=1},cse']
    assert normalised(["x.mlir"], options, passes) == ["x.mlir"]


def test_expectations() -> None:
    source = "\n".join(
        [
            "// expected-error@+1 {{one}} expected-warning@+1 {{two}}",
            "x // expected-note {{three}}",
            "// expected-error@below 2 {{four}}",
            "// expected-remark@below {{five}}",
            "y",
            "// expected-error@above {{six}}",
            "// expected-error@unknown {{seven}}",
            "// expected-error-re@-1 {{a.b {{[0-9]+}} c}}",
        ]
    )
    found = [(each.line, each.about, each.severity, each.text) for each in expectations(source)]
    assert found == [
        (1, 2, "error", "one"),
        (1, 2, "warning", "two"),
        (2, 2, "note", "three"),
        (3, 5, "error", "four"),
        (3, 5, "error", "four"),
        (4, 5, "remark", "five"),
        (6, 5, "error", "six"),
        (7, 0, "error", "seven"),
        (8, 7, "error", "a.b {{[0-9]+}} c"),
    ]
    last = expectations(source)[-1]
    assert last.matches(Diagnostic("f", 7, 1, "xx a.b 42 c")) and not last.matches(Diagnostic("f", 7, 1, "aXb 42 c"))


def test_what_was_expected_and_what_was_not() -> None:
    expected = expectations("// expected-error@+1 {{one}}\n\n// expected-error@+1 {{two}}\n")
    produced = [
        Diagnostic("f", 2, 3, "number one"),
        Diagnostic("f", 2, 3, "number one"),
        Diagnostic("f", 4, 1, "other"),
    ]
    assert [str(each) for each in unexpected("f", produced, expected)] == [
        "f:2:3: error: unexpected error: number one",
        "f:4:1: error: unexpected error: other",
        'f:3:4: error: expected error "two" was not produced',
    ]


def test_what_was_expected_of_another_line_or_kind() -> None:
    expected = expectations("// expected-error@+1 {{one}}\n\n// expected-warning@+1 {{two}}\n")
    produced = [Diagnostic("f", 3, 1, "number one"), Diagnostic("f", 4, 1, "number two")]
    assert [str(each).split(": ", 1)[1] for each in unexpected("f", produced, expected)] == [
        "error: unexpected error: number one",
        "error: unexpected error: number two",
        'error: expected error "one" was not produced',
        'error: expected warning "two" was not produced',
    ]


def test_long_lines_and_control_characters_are_not_shown() -> None:
    shown = Diagnostic("f", 1, 151, "what").with_source("a" * 150 + "\x1b[2J" + "b" * 150).splitlines()
    assert len(shown[1]) <= 106 and shown[1][len(shown[2]) - 1] == "?" and "\x1b" not in shown[1]


def test_unexpected_diagnostics_are_an_error(tmp_path: Path, capsys: Captured) -> None:
    met = WRONG.replace("  %0", "  // expected-error@+1 {{result type}}\n  %0")
    assert opt(tmp_path, met, "--verify-diagnostics") == 0
    assert opt(tmp_path, met.replace("result type", "result kind"), "--verify-diagnostics") == 1
    err = capsys.readouterr().err
    assert "unexpected error: " in err and 'expected error "result kind" was not produced' in err
    assert opt(tmp_path, met.replace("tensor<5xf32>", "tensor<4xf32>"), "--verify-diagnostics") == 1
    # without expectations it is as xdsl-opt has it: the errors are the output
    assert opt(tmp_path, WRONG, "--verify-diagnostics") == 0
    assert "result type is tensor<5xf32>" in capsys.readouterr().out
