"""Whether a lesson is true of its program: every selector means a step, every template has an answer, no number is
made up, and the program raises what the lesson says it raises."""

from __future__ import annotations

from gradviz.player.lesson_steps import SelectorError, step_of, tensor_named
from gradviz.player.lesson_values import TemplateError, answered, given_numbers, templates, typed_numbers
from gradviz.player.lessons import Checkpoint, Lesson, Problem, Words
from gradviz.trace import Trace


def check(lesson: Lesson, trace: Trace) -> list[Problem]:
    """What is wrong with a lesson, given the recording of its program and actions; in the order of the lines."""
    problems = [*_ends(lesson, trace)]
    for checkpoint in lesson.checkpoints:
        try:
            step = step_of(trace, checkpoint.selector)
        except SelectorError as error:
            problems.append(Problem(checkpoint.line, str(error)))
            continue
        problems += _selection(checkpoint, trace, step)
        for words in checkpoint.words.values():
            problems += _words(words, trace, step)
    return sorted(problems, key=lambda problem: problem.line)


def _ends(lesson: Lesson, trace: Trace) -> list[Problem]:
    """The program and the actions end as the lesson says."""
    raised = [fault for fault in trace.faults if not fault.caught]
    codes = tuple(fault.code for fault in raised)
    if codes != lesson.raises:
        told = "; ".join(f"{f.code} ({f.type}: {f.message.strip().splitlines()[0]})" for f in raised if f.message)
        said = ", ".join(lesson.raises) or "nothing"
        return [Problem(1, f"The program raises {told or ', '.join(codes) or 'nothing'}, and the head says {said}.")]
    if not trace.complete:
        return [Problem(1, trace.damage or "The recording of the program has no end.")]
    return []


def _selection(checkpoint: Checkpoint, trace: Trace, step: int) -> list[Problem]:
    if checkpoint.select and tensor_named(trace, checkpoint.select, step) is None:
        return [Problem(checkpoint.line, f"No tensor is called {checkpoint.select} at “{checkpoint.selector}”.")]
    return []


def _words(words: Words, trace: Trace, step: int) -> list[Problem]:
    problems = []
    for position, template in templates(words.text):
        try:
            answered(trace, step, template)
        except TemplateError as error:
            problems.append(Problem(_line(words, position), str(error)))
    typed = list(typed_numbers(words.text))
    given = given_numbers(trace.at(step)) if typed else set()
    for position, number in typed:
        if number not in given:
            text = (
                f"The number {number} is typed and the run does not give it here: write a template, as in {{grad w}}."
            )
            problems.append(Problem(_line(words, position), text))
    return problems


def _line(words: Words, position: int) -> int:
    return words.line + words.text.count("\n", 0, position)
