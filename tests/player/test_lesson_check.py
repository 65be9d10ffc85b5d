"""What a lesson's words ask of the run, and what `check` says of a lesson that is not true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradviz.app.rehearse import rehearse
from gradviz.player.lesson_check import check
from gradviz.player.lesson_steps import step_of
from gradviz.player.lesson_values import TemplateError, fill, typed_numbers
from gradviz.player.lessons import parse
from gradviz.player.program import Program
from gradviz.trace import Trace
from tests.player.test_lessons import LESSON

PROGRAM = """import torch
a = torch.tensor([1.5, -2.0], requires_grad=True)
c = torch.eye(2)
z = (a * a).sum()
print("z is", z.item())
z.backward()
z.backward()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return rehearse(Program(PROGRAM, "p.py"))


@pytest.mark.parametrize(
    ("at", "template", "answer"),
    [
        ("line 3", "value a", "[1.5, -2]"),
        ("line 3", "value c", "[[1, 0], [0, 1]]"),
        ("line 4", "value z", "6.25"),
        ("line 4", "grad a", "None"),
        ("line 6", "grad a", "[3, -4]"),
        ("line 6", "grad a[1]", "-4"),
        ("line 6", "grad a@line 4", "None"),
        ("line 4", "grad a @ backward#1/end", "[3, -4]"),
        ("line 4", "shape c", "(2, 2)"),
        ("line 4", "size c", "4"),
        ("line 4", "dtype a", "float32"),
        ("line 4", "device a", "cpu"),
        ("line 4", "is_leaf z", "False"),
        ("line 4", "requires_grad c", "False"),
        ("line 4", "version a", "0"),
        ("line 4", "printed", "z is 6.25"),
        ("backward", "runs", "3"),
        ("backward#1/*", "in", "1"),
        ("backward#1/*", "out", "[1, 1]"),
        ("backward#1/AccumulateGrad(a)", "added a", "[3, -4]"),
    ],
)  # fmt: skip
def test_templates(trace: Trace, at: str, template: str, answer: str) -> None:
    assert fill(trace, step_of(trace, at), f"It: {{{template}}}.") == f"It: {answer}."


def test_names_of_nodes_are_those_of_this_torch(trace: Trace) -> None:
    import torch

    a = torch.ones(2, requires_grad=True)
    z = (a * a).sum()
    assert z.grad_fn is not None and z.grad_fn.next_functions[0][0] is not None
    step = step_of(trace, "line 4")
    assert fill(trace, step, "{grad_fn z} {grad_fn a} {left} {torch}") == (
        f"{z.grad_fn.name()} None {z.grad_fn.name()} {torch.__version__}"
    )
    mul = z.grad_fn.next_functions[0][0].name()
    assert fill(trace, step_of(trace, "backward#1/mul"), "{node} {saved}") == f"{mul} a"
    assert fill(
        trace, trace.steps, "{order 1}"
    ) == f"{z.grad_fn.name()}, {mul}, torch::autograd::AccumulateGrad(a)".replace("torch::autograd::", "")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("weight w", "is no template"),
        ("grad", "name of a tensor is missing"),
        ("grad q", "no tensor is called q"),
        ("value a[7]", "no place in a tensor of shape"),
        ("value a @ nowhere", "is no selector"),
        ("in", "runs no node"),
        ("added a", "does not change"),
    ],
)
def test_a_template_without_an_answer_is_said(trace: Trace, template: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said.replace("(", r"\(")):
        fill(trace, 2, f"{{{template}}}")


def test_numbers_in_prose_are_found_and_those_in_code_are_not() -> None:
    text = "1. Take 3 rows, w1 and 1-D\n2. `x[4]` is 0.5，第7步 {grad w[2]}\n```\n8\n```\n"
    assert [number for _, number in typed_numbers(text)] == ["3", "0.5", "7"]


def test_braces_and_plain_text(trace: Trace) -> None:
    assert fill(trace, 0, "{{x}} and {value a @ end}") == "{x} and [1.5, -2]"


def problems(text: str, trace: Trace) -> list[tuple[str, str]]:
    """(line of the file, sentence) of all that is wrong with a lesson, given a recording."""
    lines = text.splitlines()
    return [(lines[problem.line - 1], problem.text) for problem in check(parse(text), trace)]


GOOD = LESSON.replace("raises: freed_graph\n", "")


@pytest.fixture(scope="module")
def run() -> Trace:
    lesson = parse(GOOD)
    return rehearse(Program(lesson.program, lesson.program_name), lesson.actions)


def test_a_true_lesson_passes(run: Trace) -> None:
    assert problems(GOOD, run) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("## end", "## backward#2", "## backward#2", "backward 1 times only"),
        ("select: a", "select: q", "## end", "No tensor is called q"),
        ("{grad a}", "{grad q}", "in English: {grad q}.", "no tensor is called q"),
        ("{grad a}", "0.25", "in English: 0.25.", "The number 0.25 is typed"),
        ("seed: 3", "seed: 3\nraises: freed_graph", "---", "raises nothing, and the head says freed_graph"),
    ],
)
def test_what_is_not_true_is_said(run: Trace, old: str, new: str, line: str, said: str) -> None:
    found = problems(GOOD.replace(old, new, 1), run)
    assert any(at == line and said in text for at, text in found), found


def test_a_fault_that_the_lesson_does_not_tell_of_is_said(trace: Trace) -> None:
    ((line, said),) = [found for found in problems(GOOD, trace) if "raises" in found[1]]
    assert line == "---"
    assert said.startswith("The program raises freed_graph (RuntimeError: Trying to backward")
    assert said.endswith("and the head says nothing.")


def test_a_number_that_the_run_gives_may_be_typed(run: Trace) -> None:
    assert problems(GOOD.replace("{grad a}", "1", 1), run) == []


def test_the_command_says_file_line_and_sentence(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(LESSON.replace("raises: freed_graph\n", ""), "utf-8")
    bad.write_text(LESSON.replace("### zh", "### fr"), "utf-8")
    command = [sys.executable, "-m", "gradviz", "lesson", "check"]
    ran = subprocess.run([*command, str(good)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, f"{good}: 1 checkpoint, nothing is wrong.\n")
    ran = subprocess.run([*command, str(bad)], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert f"{bad}:{LESSON.splitlines().index('### zh') + 1}: There is no language “fr”" in ran.stdout
