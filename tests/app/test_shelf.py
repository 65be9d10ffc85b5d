"""The lessons that come with gradviz: eleven, in order, and each true of its program."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradviz.app.shelf import shelf
from gradviz.player.lesson_check import check
from gradviz.player.lesson_markup import to_html
from gradviz.player.lesson_steps import step_of
from gradviz.player.lesson_tell import told
from gradviz.player.lessons import LANGUAGES, Lesson
from gradviz.trace import Trace


def test_eleven_lessons_with_ids_of_their_own() -> None:
    ids = [lesson.id for lesson in shelf()]
    assert len(ids) == len(set(ids)) == 11
    assert ids[0] == "one-layer"


@pytest.mark.parametrize("lesson", shelf(), ids=lambda lesson: lesson.id)
def test_each_is_true_of_its_program(lesson: Lesson, lesson_run: Callable[[str], Trace]) -> None:
    trace = lesson_run(lesson.id)
    assert check(lesson, trace) == []
    steps = [step_of(trace, point.selector) for point in lesson.checkpoints]
    assert steps == sorted(steps), "the playhead goes forward"
    for point in lesson.checkpoints:
        for language in LANGUAGES:
            said = told(trace, point, language)
            assert "{" not in said.replace("{{", "")
            assert "*" not in to_html(said).replace("*</code>", "").partition("<pre>")[0].replace(" * ", "")


def test_both_languages_ask_for_the_same_numbers() -> None:
    """A translation that lost a number, or took another, is wrong in one of the two."""
    from gradviz.player.lesson_values import templates

    for lesson in shelf():
        for point in lesson.checkpoints:
            asked = [sorted(t for _, t in templates(point.words[language].text)) for language in LANGUAGES]
            assert asked[0] == asked[1], (lesson.id, point.selector)
