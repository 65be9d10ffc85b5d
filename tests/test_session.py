"""The session: one place for state, one way to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import Trace, open_trace


@pytest.fixture
def trace(recorded: Callable[[str], Path]) -> Trace:
    return open_trace(recorded("accumulation"))


def test_listeners_hear_of_a_change_once_and_only_of_changes() -> None:
    session, heard = Session(), list[tuple[int, int]]()
    stop = session.listen(lambda old, new: heard.append((old.step, new.step)))
    session.update(step=0)
    session.update(step=3, theme="dark")
    stop()
    session.update(step=4)
    assert heard == [(0, 3)]


def test_a_listener_may_end_itself_or_change_the_view() -> None:
    session, seen = Session(), list[str]()

    def once(old: ViewState, new: ViewState) -> None:
        stop()
        session.update(search="nested")

    stop = session.listen(once)
    session.listen(lambda old, new: seen.append(new.search))
    session.update(step=1)
    assert session.view.search == "nested" and "nested" in seen


def test_a_search_is_made_once_for_each_step_and_text(trace: Trace) -> None:
    session = Session()
    assert session.hits.keys == ()
    session.begin(trace, step=trace.steps)
    session.update(search="pow")
    found = session.hits
    assert found.keys and session.hits is found
    session.update(selection=found.keys[0])
    assert session.hits is found, "nothing that it depends on has changed"
    session.update(search="nothing of this name")
    assert session.hits.keys == ()


def test_begin_takes_the_step_and_forgets_the_rest(trace: Trace) -> None:
    session = Session(ViewState(selection="op:1", playing=True))
    revision = session.view.revision
    session.begin(trace, step=10_000)
    view = session.view
    assert (view.step, view.steps, view.events) == (trace.steps, trace.steps, len(trace.events))
    assert view.selection is None and not view.playing and view.revision == revision + 1


def test_growth_is_a_change(trace: Trace) -> None:
    session, heard = Session(), list[int]()
    session.begin(Trace())
    session.listen(lambda old, new: heard.append(new.events))
    half = len(trace.events) // 2
    session.append(trace.events[:half])
    frame = session.frame
    session.append(trace.events[half:])
    session.append([])
    assert heard == [half, len(trace.events)]
    assert session.view.steps == trace.steps and session.frame is not frame


def test_the_frame_is_that_of_the_step(trace: Trace) -> None:
    session = Session()
    session.begin(trace)
    first = session.frame
    assert first is session.frame and first.step == 0
    session.update(step=5)
    assert session.frame.step == 5


def test_root_and_leaves_follow_the_recording(trace: Trace) -> None:
    session = Session()
    assert session.root is None and session.leaves == []
    session.begin(trace)
    assert session.root is not None and session.root.name == "out"
    assert [leaf.name for leaf in session.leaves] == ["inp"]


def test_a_question_is_asked_before_its_step_and_revealed_at_it(trace: Trace) -> None:
    session = Session()
    session.begin(trace)
    assert not session.ask(1), "questions are off"
    session.update(level="lecture")
    assert session.ask(1) and session.view.step == 0 and session.view.hides
    asked = session.question
    assert asked is not None
    session.choose(asked.truth)
    session.choose(99)
    assert session.view.quiz is not None and session.view.quiz.chosen == asked.truth
    session.reveal()
    assert session.view.step == 1 and not session.view.hides and session.view.asked[-1].right is True
    session.see()
    assert session.view.step == asked.reveal and session.view.quiz is not None
    session.reveal()
    assert session.view.quiz is None and session.question is None


def test_a_question_goes_when_one_moves_on_or_skips(trace: Trace) -> None:
    session = Session(ViewState(level="lecture"))
    session.begin(trace)
    assert session.ask(1)
    session.update(step=4)
    assert session.view.quiz is None and not session.view.asked
    assert session.ask(1) and session.view.step == 0
    session.skip()
    assert session.view.quiz is None and session.view.asked[-1].right is None
    assert not session.ask(1), "a skipped question does not come again"
    assert not session.ask(0) and not session.ask(trace.steps + 1)


def test_a_question_speaks_the_language_of_now(trace: Trace) -> None:
    session = Session(ViewState(level="lecture"))
    session.begin(trace)
    assert session.ask(1)
    english = session.question
    session.update(language="zh")
    chinese = session.question
    assert english is not None and chinese is not None
    assert english.prompt != chinese.prompt and english.truth == chinese.truth
