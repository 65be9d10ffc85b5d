"""The sheets of a handout: all steps, no answer beside its question, the truth in the answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from gradviz.export.worksheet import answer_text, letter, worksheet
from gradviz.trace import Trace, open_trace


@pytest.fixture
def trace(recorded: Callable[[str], Path]) -> Trace:
    return open_trace(recorded("accumulation"))


def test_every_step_has_its_sheet(trace: Trace) -> None:
    made = worksheet(trace)
    assert [sheet.step for sheet in made.sheets] == list(range(trace.steps + 1)) and made.left_out == 0
    assert made.sheets[2].line == trace.header.source.splitlines()[5]


def test_a_question_is_about_the_step_after(trace: Trace) -> None:
    made = worksheet(trace)
    asked = [sheet for sheet in made.sheets if sheet.question]
    assert len(asked) > trace.steps / 3 and all(s.question is not None and s.question.step == s.step + 1 for s in asked)
    kinds = [q.kind for q in made.answers]
    assert len(set(kinds)) > 4 and not any(a == b for a, b in pairwise(kinds))


def test_answers_are_the_truth_with_its_letter(trace: Trace) -> None:
    for asked in worksheet(trace, "zh").answers:
        assert answer_text(asked) == f"{letter(asked.truth)}) {asked.choices[asked.truth].text}"


def test_a_long_recording_is_thinned_out(trace: Trace) -> None:
    made = worksheet(trace, most=10)
    steps = [sheet.step for sheet in made.sheets]
    assert len(steps) == 10 and steps[0] == 0 and steps[-1] == trace.steps and made.left_out == trace.steps - 9


def test_an_empty_recording_has_one_sheet() -> None:
    made = worksheet(Trace())
    assert len(made.sheets) == 1 and made.answers == ()
