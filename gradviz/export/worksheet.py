"""What a handout holds: for each step what is said about it, then the question about the next one; answers apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.explain import narrate
from gradviz.explain.asking import Asker
from gradviz.explain.narration import Narration
from gradviz.explain.questions import Question, kinds_at, question
from gradviz.player.quiz import Asked, pick
from gradviz.trace import Trace

MOST = 60
"""Of a longer recording so many steps are printed: all but these would be a book."""
LETTERS = "abcdefgh"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One step. `question` is about the step after it: its answer is not on this sheet."""

    step: int
    line: str
    """The program's line that the step belongs to, "" where it is not known."""
    narration: Narration
    question: Question | None


@dataclass(frozen=True, slots=True)
class Worksheet:
    """All sheets in order. `left_out` steps of the recording are on none of them."""

    sheets: tuple[Sheet, ...]
    left_out: int

    @property
    def answers(self) -> tuple[Question, ...]:
        """The questions that are asked, in order."""
        return tuple(sheet.question for sheet in self.sheets if sheet.question is not None)


def worksheet(trace: Trace, language: str = "en", most: int = MOST) -> Worksheet:
    """The sheets of a recording: its steps, or of a long one `most` that lie evenly."""
    steps = _chosen(trace, most)
    past: list[Asked] = []
    sheets = []
    for step in steps:
        kind = pick(kinds_at(trace, step + 1), step + 1, "lecture", past)
        asked = question(trace, step + 1, kind, language) if kind else None
        if asked is not None:
            past.append(Asked(asked.step, asked.kind, right=True))
        sheets.append(Sheet(step, line_of(trace, step), narrate(trace, step, language), asked))
    return Worksheet(tuple(sheets), trace.steps + 1 - len(steps))


def line_of(trace: Trace, step: int) -> str:
    """The text of the line that the program was at."""
    span = trace.span(step) if trace.steps else None
    return Asker(trace, step, "en").line(span)


def _chosen(trace: Trace, most: int) -> list[int]:
    everything = range(trace.steps + 1)
    if len(everything) <= most:
        return list(everything)
    return sorted({int(step) for step in np.linspace(0, trace.steps, most).round()})


def letter(choice: int) -> str:
    """How a choice is called on paper."""
    return LETTERS[choice]


def answer_text(asked: Question) -> str:
    """The right choice with its letter."""
    return f"{letter(asked.truth)}) {asked.choices[asked.truth].text}"
